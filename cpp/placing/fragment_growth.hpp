#pragma once

#include <cstddef>
#include <cstdint>

#include "model/demand.hpp"
#include "placing/fragmentation.hpp"
#include "placing/hosts.hpp"

namespace gpusched {

/// The growth of fragmentation if an ask is placed on servers with the same free GPUs, one after
/// the other: CPU-dependent parts are recomputed only if the CPU rank changes.
class FragmentGrowth {
 public:
  FragmentGrowth(const Fragmentation& fragmentation, const Ask& ask) noexcept;

  /// Enters servers with these free GPUs, which can host the ask.
  void enter(const Leftover& left) noexcept {
    left_ = &left;
    rank_before_ = rank_after_ = kNoRank;
  }

  /// The growth on a server with this much CPU, of which at most `most_cpu_milli` stays after the
  /// ask; for a share, on the best GPU. With the lowest and highest CPU of several servers: a lower
  /// bound for all of them.
  [[nodiscard]] std::int64_t least(std::int64_t cpu_milli, std::int64_t most_cpu_milli) noexcept {
    const std::size_t before = fragmentation_->rank(cpu_milli);
    const std::size_t after = fragmentation_->rank(most_cpu_milli - cpu_asked_);
    if (before == rank_before_ && after == rank_after_) return least_;
    return renew(before, after);
  }
  /// Of a server with exactly this CPU, if the share is placed on a GPU with `gpu_milli` left.
  [[nodiscard]] std::int64_t of_gpu(std::int64_t cpu_milli, int gpu_milli) noexcept {
    const std::size_t after = fragmentation_->rank(cpu_milli - cpu_asked_);
    return least(cpu_milli, cpu_milli) + most_kept_ -
           kept_by_share(fragmentation_->row(left_->type, after), gpu_milli);
  }

 private:
  static constexpr std::size_t kNoRank = ~std::size_t{0};

  std::int64_t renew(std::size_t before, std::size_t after) noexcept;
  /// The usable part of the GPUs after the ask, minus the part usable now.
  [[nodiscard]] std::int64_t most_kept(const std::int64_t* row) const noexcept;
  [[nodiscard]] std::int64_t kept_by_share(const std::int64_t* row, int gpu_milli) const noexcept;

  const Fragmentation* fragmentation_;
  int gpus_;
  int share_milli_;
  std::int64_t cpu_asked_;
  std::int64_t taken_;  // of the GPUs, weighted
  const Leftover* left_ = nullptr;
  std::size_t rank_before_ = kNoRank;
  std::size_t rank_after_ = kNoRank;
  std::int64_t usable_before_ = 0;
  std::int64_t usable_after_ = 0;  // were the GPUs as they are
  std::int64_t most_kept_ = 0;
  std::int64_t least_ = 0;
};

}  // namespace gpusched
