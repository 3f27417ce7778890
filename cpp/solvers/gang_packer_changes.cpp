#include <algorithm>
#include <bit>

#include "solvers/gang_packer.hpp"

namespace gpusched {

void GangPacker::hide(std::span<const GangShare> shares) {
  for (const GangShare& share : shares) {
    const auto first = gpu_.begin() + begin(share.server);
    const auto last = std::remove_if(first, first + visible_[at(share.server)],
                                     [&](auto gpu) { return (share.gpus >> gpu & 1) != 0; });
    visible_[at(share.server)] = static_cast<std::int32_t>(last - first);
    refresh(share.server);
  }
}

void GangPacker::show(std::span<const GangShare> shares) {
  for (const GangShare& share : shares) {
    const int begins = begin(share.server);
    int& size = visible_[at(share.server)];
    for (std::uint64_t rest = share.gpus; rest != 0; rest &= rest - 1) {
      const auto gpu = static_cast<std::uint8_t>(std::countr_zero(rest));
      gpu_[at(begins + size++)] = gpu;
    }
    sort(share.server);
    refresh(share.server);
  }
}

void GangPacker::sort(std::int32_t server) {
  const int begins = begin(server);
  const auto first = gpu_.begin() + begins;
  std::sort(first, first + visible_[at(server)], [&](std::uint8_t a, std::uint8_t b) {
    const double left = busy_[at(begins + a)];
    const double right = busy_[at(begins + b)];
    return left != right ? left < right : a < b;
  });
}

void GangPacker::leave(std::span<const GangShare> shares) {
  for (const GangShare& share : shares) --hosted_[at(share.server)];
}

void GangPacker::take_back(std::span<const GangShare> shares, double load) {
  leave(shares);
  for (const GangShare& share : shares) {
    for (std::uint64_t rest = share.gpus; rest != 0; rest &= rest - 1) {
      double& busy = busy_[at(begin(share.server) + std::countr_zero(rest))];
      total_[at(share.server)] -= load;
      busy -= load;
    }
    sort(share.server);
    refresh(share.server);
  }
}

}  // namespace gpusched
