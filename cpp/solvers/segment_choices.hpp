#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace gpusched {

/// What each configuration costs and does in each segment of a window, whatever ran before. If what
/// is done has a price, each segment can choose for itself: the Lagrangian relaxation of a plan.
/// Stands by configuration, then segment, so that several segments are looked at together. Keeps its
/// memory.
class SegmentChoices {
 public:
  /// Of one choice in each segment, or none, together.
  struct Sum {
    double cost = 0.0;
    double done = 0.0;
  };

  /// No configuration fits anywhere.
  void open(std::size_t num_segments, std::size_t num_configurations);
  /// It fits where this is said, with a finite cost.
  void set(std::size_t segment, std::size_t configuration, double cost, double done) noexcept {
    costs_[configuration * stride_ + segment] = cost;
    done_[configuration * stride_ + segment] = done;
  }

  [[nodiscard]] double cost(std::size_t segment, std::size_t configuration) const noexcept {
    return costs_[configuration * stride_ + segment];
  }
  [[nodiscard]] double done(std::size_t segment, std::size_t configuration) const noexcept {
    return done_[configuration * stride_ + segment];
  }
  /// In each segment what gains most at the price of what is done, or nothing.
  Sum choose_at(double price);
  /// What each segment gained by its last choice.
  [[nodiscard]] std::span<const double> gains() const noexcept {
    return std::span(gains_).first(num_segments_);
  }
  /// In each segment what does most, the cheapest of it.
  [[nodiscard]] Sum choose_most() const noexcept;

 private:
  std::size_t num_segments_ = 0;
  std::size_t num_configurations_ = 0;
  std::size_t stride_ = 0;  // from a configuration to the next; nothing fits behind the segments
  std::vector<double> costs_;
  std::vector<double> done_;
  std::vector<double> gains_;
  std::vector<double> chosen_;  // what each segment does by its last choice
};

}  // namespace gpusched
