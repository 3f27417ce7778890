#include "solvers/segment_choices.hpp"

#include <cstring>
#include <span>

#include "base/infinity.hpp"
#include "solvers/lanes.hpp"

namespace gpusched {
namespace {

constexpr std::size_t kSegmentsAtOnce = 4;

/// The costs of a configuration in all segments, and what it does in them, `stride` before those of
/// the next one.
struct Choices {
  std::span<const double> costs;
  std::span<const double> done;
  std::size_t stride;
};

/// Inlined into functions that are compiled for different processors.
template <class Lanes>
[[gnu::always_inline]] inline void choose(const Choices& all, double price, double* gains,
                                          double* chosen) noexcept {
  constexpr std::size_t kInLanes = sizeof(Lanes) / sizeof(double);
  constexpr std::size_t kCount = kSegmentsAtOnce / kInLanes;
  for (std::size_t begin = 0; begin < all.stride; begin += kSegmentsAtOnce) {
    Lanes gain[kCount]{};
    Lanes choice[kCount]{};
    for (std::size_t at = begin; at < all.costs.size(); at += all.stride) {
      for (std::size_t i = 0; i < kCount; ++i) {
        Lanes cost;
        Lanes done;
        std::memcpy(&cost, &all.costs[at + i * kInLanes], sizeof(Lanes));
        std::memcpy(&done, &all.done[at + i * kInLanes], sizeof(Lanes));
        const Lanes own = price * done - cost;
        choice[i] = own > gain[i] ? done : choice[i];
        gain[i] = own > gain[i] ? own : gain[i];
      }
    }
    std::memcpy(&gains[begin], gain, sizeof(gain));
    std::memcpy(&chosen[begin], choice, sizeof(choice));
  }
}

#if defined(__x86_64__)

[[gnu::target("avx2")]] void choose_by_avx2(const Choices& all, double price, double* gains,
                                            double* chosen) noexcept {
  choose<FourLanes>(all, price, gains, chosen);
}

#endif

void choose(const Choices& all, double price, double* gains, double* chosen) noexcept {
#if defined(__x86_64__)
  if (takes_four_lanes) return choose_by_avx2(all, price, gains, chosen);
#endif
  choose<TwoLanes>(all, price, gains, chosen);
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
  choose({costs_, done_, stride_}, price, gains_.data(), chosen_.data());
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
