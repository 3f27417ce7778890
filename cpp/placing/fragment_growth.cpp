#include "placing/fragment_growth.hpp"

#include <algorithm>
#include <limits>

namespace gpusched {

FragmentGrowth::FragmentGrowth(const Fragmentation& fragmentation, const Ask& ask) noexcept
    : fragmentation_(&fragmentation),
      gpus_(ask.workers),
      share_milli_(ask.demand.share_milli),
      cpu_asked_(ask.cpu_milli()),
      taken_(fragmentation.total_weight() * share_milli_ * gpus_) {}

std::int64_t FragmentGrowth::renew(std::size_t before, std::size_t after) noexcept {
  if (before != rank_before_) {
    usable_before_ = fragmentation_->usable(fragmentation_->row(left_->type, before), *left_);
    rank_before_ = before;
  }
  if (after != rank_after_) {
    const std::int64_t* row = fragmentation_->row(left_->type, after);
    usable_after_ = fragmentation_->usable(row, *left_);
    most_kept_ = most_kept(row);
    rank_after_ = after;
  }
  return least_ = usable_before_ - usable_after_ - most_kept_ - taken_;
}

std::int64_t FragmentGrowth::most_kept(const std::int64_t* row) const noexcept {
  const Fragmentation& all = *fragmentation_;
  if (share_milli_ == kWholeGpu) {
    return all.whole_usable(row, left_->whole_gpus - gpus_) -
           all.whole_usable(row, left_->whole_gpus);
  }
  std::int64_t most = std::numeric_limits<std::int64_t>::min();
  if (left_->whole_gpus > 0) most = kept_by_share(row, kWholeGpu);
  for (int part = 0; part < left_->num_parts; ++part) {
    const int milli = left_->parts[static_cast<std::size_t>(part)];
    if (milli >= share_milli_) most = std::max(most, kept_by_share(row, milli));
  }
  return most;
}

std::int64_t FragmentGrowth::kept_by_share(const std::int64_t* row, int gpu_milli) const noexcept {
  const Fragmentation& all = *fragmentation_;
  const std::int64_t now = gpu_milli == kWholeGpu ? all.whole_usable(row, left_->whole_gpus) -
                                                        all.whole_usable(row, left_->whole_gpus - 1)
                                                  : all.part_usable(row, gpu_milli);
  return all.part_usable(row, gpu_milli - share_milli_) - now;
}

}  // namespace gpusched
