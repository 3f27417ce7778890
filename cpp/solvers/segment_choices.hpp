#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/infinity.hpp"

namespace gpusched {

/// Cost and work of each configuration in each segment of a window, whatever ran before. With a
/// price on work, each segment chooses independently: the Lagrangian relaxation of a plan. Stored
/// by configuration, then segment, so that several segments are processed together. Keeps its
/// memory.
class SegmentChoices {
 public:
  static constexpr std::size_t kSegmentsAtOnce = 4;  ///< as many lanes as a processor takes

  /// The total of one choice, or none, in each segment.
  struct Sum {
    double cost = 0.0;
    double done = 0.0;
  };

  /// The number of segments, rounded up to a multiple of the lanes.
  [[nodiscard]] static std::size_t stride_of(std::size_t num_segments) noexcept {
    return (num_segments + kSegmentsAtOnce - 1) / kSegmentsAtOnce * kSegmentsAtOnce;
  }
  /// Must then be written row by row: each configuration in all segments.
  void open(std::size_t num_segments, std::size_t num_configurations);
  /// No configuration fits anywhere.
  void clear();
  /// It fits where the cost is finite.
  void set(std::size_t segment, std::size_t configuration, double cost, double done) noexcept {
    costs_[configuration * stride_ + segment] = cost;
    done_[configuration * stride_ + segment] = done;
  }
  /// It does not fit.
  void drop(std::size_t segment, std::size_t configuration) noexcept {
    set(segment, configuration, kInfinity, 0.0);
  }

  /// Of all segments, plus padding in which no configuration fits: to be written in lanes.
  [[nodiscard]] std::span<double> costs_of(std::size_t configuration) noexcept {
    return std::span(costs_).subspan(configuration * stride_, stride_);
  }
  [[nodiscard]] std::span<double> done_of(std::size_t configuration) noexcept {
    return std::span(done_).subspan(configuration * stride_, stride_);
  }

  [[nodiscard]] std::size_t num_segments() const noexcept { return num_segments_; }
  [[nodiscard]] double cost(std::size_t segment, std::size_t configuration) const noexcept {
    return costs_[configuration * stride_ + segment];
  }
  [[nodiscard]] double done(std::size_t segment, std::size_t configuration) const noexcept {
    return done_[configuration * stride_ + segment];
  }
  /// Chooses in each segment the highest gain at this price of work, or none.
  Sum choose_at(double price);
  /// The gain of each segment from its last choice.
  [[nodiscard]] std::span<const double> gains() const noexcept {
    return std::span(gains_).first(num_segments_);
  }
  /// In each segment what does most, the cheapest of it.
  Sum choose_most();
  /// A lower bound on the cost per unit of work in any choice.
  [[nodiscard]] double least_price() const noexcept;
  /// Whether each choice costs `limit` or more, by a margin, if what it leaves of `all` is to be
  /// paid at a price.
  [[nodiscard]] bool is_each_dear(double price, double all, double limit,
                                  double margin) const noexcept;

  /// Finds the choices that gain at the price of the last ones no less than those, but for `most`.
  /// Whether they are all that fit.
  bool find_near(double most);
  /// Calls `visit(configuration)` for those of a segment that were found, in ascending order.
  template <class Visit>
  void for_each_near(std::size_t segment, Visit&& visit) const {
    for (std::size_t begin = 0; begin < num_configurations_; begin += kInSet) {
      for (std::uint64_t left = near_[begin / kInSet * stride_ + segment]; left != 0;
           left &= left - 1) {
        visit(begin + static_cast<std::size_t>(std::countr_zero(left)));
      }
    }
  }

 private:
  static constexpr std::size_t kInSet = 64;

  [[nodiscard]] std::span<const double> costs() const noexcept {
    return std::span(costs_).first(num_configurations_ * stride_);
  }
  [[nodiscard]] std::span<const double> done() const noexcept {
    return std::span(done_).first(num_configurations_ * stride_);
  }

  std::size_t num_segments_ = 0;
  std::size_t num_configurations_ = 0;
  std::size_t stride_ = 0;  // from a configuration to the next; nothing fits behind the segments
  std::vector<double> costs_;  // and room for more
  std::vector<double> done_;
  std::vector<double> gains_;
  std::vector<double> chosen_;        // what each segment does by its last choice
  std::vector<double> chosen_costs_;  // of what does most
  double price_ = 0.0;                // of the last choice
  std::vector<std::uint64_t> near_;  // of each segment a bit for each configuration, 64 together
};

}  // namespace gpusched
