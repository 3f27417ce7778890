#include "solvers/segment_choices.hpp"

#include <array>
#include <cstring>

#include "base/infinity.hpp"
#include "solvers/lanes.hpp"

namespace gpusched {
namespace {

using Lanes = TwoLanes;

constexpr std::size_t kInLanes = sizeof(Lanes) / sizeof(double);
constexpr std::size_t kLanesAtOnce = 2;
constexpr std::size_t kSegmentsAtOnce = kInLanes * kLanesAtOnce;

Lanes lanes_at(const double* from) noexcept {
  Lanes lanes;
  std::memcpy(&lanes, from, sizeof(lanes));
  return lanes;
}

}  // namespace

void SegmentChoices::open(std::size_t num_segments, std::size_t num_configurations) {
  num_segments_ = num_segments;
  num_configurations_ = num_configurations;
  stride_ = (num_segments + kSegmentsAtOnce - 1) / kSegmentsAtOnce * kSegmentsAtOnce;
  costs_.assign(stride_ * num_configurations, kInfinity);
  done_.assign(stride_ * num_configurations, 0.0);
  gains_.resize(stride_);
  chosen_.resize(stride_);
}

SegmentChoices::Sum SegmentChoices::choose_at(double price) {
  for (std::size_t begin = 0; begin < stride_; begin += kSegmentsAtOnce) {
    std::array<Lanes, kLanesAtOnce> gain{};
    std::array<Lanes, kLanesAtOnce> chosen{};
    for (std::size_t at = begin; at < costs_.size(); at += stride_) {
      for (std::size_t i = 0; i < kLanesAtOnce; ++i) {
        const Lanes done = lanes_at(&done_[at + i * kInLanes]);
        const Lanes own = price * done - lanes_at(&costs_[at + i * kInLanes]);
        chosen[i] = own > gain[i] ? done : chosen[i];
        gain[i] = own > gain[i] ? own : gain[i];
      }
    }
    std::memcpy(&gains_[begin], gain.data(), sizeof(gain));
    std::memcpy(&chosen_[begin], chosen.data(), sizeof(chosen));
  }
  Sum sum;
  double gained = 0.0;
  for (std::size_t segment = 0; segment < num_segments_; ++segment) {
    gained += gains_[segment];
    sum.done += chosen_[segment];
  }
  sum.cost = price * sum.done - gained;
  return sum;
}

SegmentChoices::Sum SegmentChoices::choose_most() const noexcept {
  Sum sum;
  for (std::size_t segment = 0; segment < num_segments_; ++segment) {
    Sum most;
    for (std::size_t c = 0; c < num_configurations_; ++c) {
      const Sum own{cost(segment, c), done(segment, c)};
      if (own.done < most.done || (own.done == most.done && own.cost >= most.cost)) continue;
      most = own;
    }
    sum.cost += most.cost;
    sum.done += most.done;
  }
  return sum;
}

}  // namespace gpusched
