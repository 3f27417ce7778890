#include "placing/bucket_key.hpp"

#include <algorithm>
#include <bit>

namespace gpusched {

void describe(const Occupancy& free, ServerId server, Likeness likeness, BucketKey& out) {
  const GpuMask mask = free.free_mask(server);
  out.assign({free.free_gpus(server), free.cluster().type(server), free.cluster().gpus(server)});
  if (likeness == Likeness::masks) {
    out.push_back(static_cast<std::int32_t>(static_cast<std::uint32_t>(mask)));
    out.push_back(static_cast<std::int32_t>(static_cast<std::uint32_t>(mask >> 32)));
  }
  auto begin = std::ssize(out);
  if (free.has_demands()) {
    for (GpuMask rest = free.shared_mask(server); rest != 0; rest &= rest - 1) {
      out.push_back(free.free_milli(server, std::countr_zero(rest)));
    }
    std::sort(out.begin() + begin, out.end());
  }
  if (likeness != Likeness::hosted) return;
  out.push_back(0);  // no GPU has as little left, and no job has that shape
  begin = std::ssize(out);
  for (const Hosted& own : free.hosted(server)) out.push_back(own.shape);
  std::sort(out.begin() + begin, out.end());
}

}  // namespace gpusched
