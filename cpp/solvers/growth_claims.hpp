#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "base/infinity.hpp"

namespace gpusched {

/// What a job that could have one GPU more has to say for itself.
struct GrowthClaim {
  double length;   ///< its time left with what it has, in ticks
  double of_more;  ///< what it gains, as a part of what it then has
  double of_less;  ///< the same, as a part of what it has

  /// Whether it goes on instead of the one that has come so far.
  [[nodiscard]] bool passes(const GrowthClaim& so_far) const noexcept {
    return so_far.length >= length ? so_far.of_more <= of_less : of_more > so_far.of_less;
  }
};

/// Whom every claim passes,
inline constexpr GrowthClaim kNoRival{kInfinity, 0.0, 0.0};
/// and what passes nobody.
inline constexpr GrowthClaim kNoClaim{kInfinity, -1.0, -1.0};

/// Jobs without GPUs have no throughput: of those the shortest goes on.
inline constexpr GrowthClaim kOfNewcomer{kInfinity, 1.0, kInfinity};

/// GrowthClaims in a row, side by side, for several to be compared at once.
class GrowthClaims {
 public:
  [[nodiscard]] std::size_t size() const noexcept { return length_.size() - kPast; }
  [[nodiscard]] GrowthClaim operator[](std::size_t at) const noexcept {
    return {length_[at], of_more_[at], of_less_[at]};
  }
  /// More of them come to the end, which say nothing yet.
  void resize(std::size_t size) {
    for (Row* row : {&length_, &of_more_, &of_less_}) row->resize(size + kPast);
  }
  void set(std::size_t at, const GrowthClaim& claim) noexcept {
    length_[at] = claim.length;
    of_more_[at] = claim.of_more;
    of_less_[at] = claim.of_less;
  }
  /// Those from `first` to before `last` go to where `to` is the first; the ranges may overlap.
  void move(std::size_t first, std::size_t last, std::size_t to) noexcept {
    for (Row* row : {&length_, &of_more_, &of_less_}) {
      std::memmove(row->data() + to, row->data() + first, (last - first) * sizeof(double));
    }
  }

  /// Goes on with a pass, from `at` to before `end`: appends who goes on instead of the one so far, one
  /// after the other, to `chain`.
  void pass(GrowthClaim so_far, std::size_t at, std::size_t end,
            std::vector<std::uint32_t>& chain) const;

 private:
  using Row = std::vector<double>;
  static constexpr std::size_t kAtOnce = 8;
  static constexpr std::size_t kPast =
      kAtOnce - 1;  // beyond the end, where they are compared as well

  void pass_by_four(GrowthClaim so_far, std::size_t at, std::size_t end,
                    std::vector<std::uint32_t>& chain) const;

  Row length_ = Row(kPast);
  Row of_more_ = Row(kPast);
  Row of_less_ = Row(kPast);
};

}  // namespace gpusched
