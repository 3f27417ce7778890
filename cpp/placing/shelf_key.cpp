#include "placing/shelf_key.hpp"

#include <algorithm>
#include <bit>

#include "base/wrapping.hpp"

namespace gpusched {

void describe(const Occupancy& free, ServerId server, Likeness likeness, ShelfKey& out) {
  out.assign({free.cluster().type(server), free.cluster().gpus(server)});
  if (likeness == Likeness::masks) {
    const GpuMask mask = free.free_mask(server);
    out.push_back(static_cast<std::int32_t>(static_cast<std::uint32_t>(mask)));
    out.push_back(static_cast<std::int32_t>(static_cast<std::uint32_t>(mask >> 32)));
  } else {
    out.push_back(free.free_gpus(server));
  }
  auto begin = std::ssize(out);
  if (free.has_demands()) {
    for (GpuMask rest = free.shared_mask(server); rest != 0; rest &= rest - 1) {
      out.push_back(free.free_milli(server, std::countr_zero(rest)));
    }
    std::sort(out.begin() + begin, out.end());
  }
  if (likeness != Likeness::hosted) return;
  out.push_back(0);  // no GPU has as little left, and no gang has that shape
  begin = std::ssize(out);
  for (const Hosted& own : free.hosted(server)) out.push_back(own.shape);
  std::sort(out.begin() + begin, out.end());
}

GPUSCHED_WRAPS_AROUND std::size_t ShelfKeyHash::operator()(const ShelfKey& key) const noexcept {
  std::uint64_t hash = key.size();
  for (const std::int32_t value : key) {
    hash = (hash ^ static_cast<std::uint32_t>(value)) * 0x9e3779b97f4a7c15ULL;
    hash ^= hash >> 32;
  }
  return static_cast<std::size_t>(hash);
}

}  // namespace gpusched
