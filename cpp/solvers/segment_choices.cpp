#include "solvers/segment_choices.hpp"

#include <algorithm>
#include <cstring>
#include <span>

#include "base/infinity.hpp"
#include "solvers/lanes.hpp"

namespace gpusched {
namespace {

constexpr std::size_t kSegmentsAtOnce = SegmentChoices::kSegmentsAtOnce;

/// The costs of a configuration in all segments, and what it does in them, `stride` before those of
/// the next one.
struct Choices {
  std::span<const double> costs;
  std::span<const double> done;
  std::size_t stride;
};

struct Choose {
  Choices all;
  double price;
  double* gains;
  double* chosen;

  template <class Lanes>
  [[gnu::always_inline]] void operator()() const noexcept {
    constexpr std::size_t kInLanes = kNumLanes<Lanes>;
    constexpr std::size_t kCount = kSegmentsAtOnce / kInLanes;
    for (std::size_t begin = 0; begin < all.stride; begin += kSegmentsAtOnce) {
      Lanes gain[kCount]{};
      Lanes choice[kCount]{};
      for (std::size_t at = begin; at < all.costs.size(); at += all.stride) {
        for (std::size_t i = 0; i < kCount; ++i) {
          Lanes cost;
          Lanes done;
          take(cost, &all.costs[at + i * kInLanes]);
          take(done, &all.done[at + i * kInLanes]);
          const Lanes own = price * done - cost;
          choice[i] = own > gain[i] ? done : choice[i];
          gain[i] = own > gain[i] ? own : gain[i];
        }
      }
      std::memcpy(&gains[begin], gain, sizeof(gain));
      std::memcpy(&chosen[begin], choice, sizeof(choice));
    }
  }
};

struct ChooseMost {
  Choices all;
  double* costs;
  double* chosen;

  template <class Lanes>
  [[gnu::always_inline]] void operator()() const noexcept {
    for (std::size_t begin = 0; begin < all.stride; begin += kNumLanes<Lanes>) {
      Lanes least{};
      Lanes most{};
      for (std::size_t at = begin; at < all.costs.size(); at += all.stride) {
        Lanes cost;
        Lanes done;
        take(cost, &all.costs[at]);
        take(done, &all.done[at]);
        const auto is_more = (done > most) | ((done == most) & (cost < least));
        least = is_more ? cost : least;
        most = is_more ? done : most;
      }
      put(costs + begin, least);
      put(chosen + begin, most);
    }
  }
};

struct FindLeastPrice {
  Choices all;

  template <class Lanes>
  [[gnu::always_inline]] double operator()() const noexcept {
    Lanes least = Lanes{} + kInfinity;
    for (std::size_t at = 0; at < all.costs.size(); at += kNumLanes<Lanes>) {
      Lanes cost;
      Lanes done;
      take(cost, &all.costs[at]);
      take(done, &all.done[at]);
      const Lanes own = cost / done;
      least = own < least ? own : least;  // not where nothing is done for nothing
    }
    double found = kInfinity;
    for (std::size_t i = 0; i < kNumLanes<Lanes>; ++i) found = std::min(found, least[i]);
    return found;
  }
};

struct LookForCheap {
  Choices all;
  double price;
  double work;
  double limit;
  double margin;

  template <class Lanes>
  [[gnu::always_inline]] bool operator()() const noexcept {
    bool is_found = false;
    for (std::size_t at = 0; at < all.costs.size() && !is_found; at += kNumLanes<Lanes>) {
      Lanes cost;
      Lanes done;
      take(cost, &all.costs[at]);
      take(done, &all.done[at]);
      const Lanes least = (cost + price * (work - done)) * margin;
      const auto is_dear = least >= limit;
      for (std::size_t i = 0; i < kNumLanes<Lanes>; ++i) is_found = is_found || is_dear[i] == 0;
    }
    return is_found;
  }
};

/// For at most 64 configurations, by segment: a bit for each near one, and whether some are not.
struct FindNear {
  Choices all;
  double price;
  double most;
  const double* gains;
  std::uint64_t* near;
  bool* are_all;

  template <class Lanes>
  [[gnu::always_inline]] void operator()() const noexcept {
    using Bits = decltype(Lanes{} < Lanes{});
    for (std::size_t begin = 0; begin < all.stride; begin += kNumLanes<Lanes>) {
      Lanes gain;
      take(gain, gains + begin);
      Bits found{};
      Bits other{};
      Bits bit = Bits{} + 1;
      for (std::size_t at = begin; at < all.costs.size(); at += all.stride, bit <<= 1) {
        Lanes cost;
        Lanes done;
        take(cost, &all.costs[at]);
        take(done, &all.done[at]);
        const Lanes own = cost - price * done;
        const Bits is_near = own + gain <= most;
        found |= is_near & bit;
        other |= ~is_near & (cost < kInfinity);
      }
      std::memcpy(&near[begin], &found, sizeof(found));
      for (std::size_t i = 0; i < kNumLanes<Lanes>; ++i) *are_all = *are_all && other[i] == 0;
    }
  }
};

}  // namespace

void SegmentChoices::open(std::size_t num_segments, std::size_t num_configurations) {
  num_segments_ = num_segments;
  num_configurations_ = num_configurations;
  stride_ = stride_of(num_segments);
  const std::size_t size = stride_ * num_configurations;
  if (costs_.size() < size) costs_.resize(size);
  if (done_.size() < size) done_.resize(size);
  gains_.resize(stride_);
  chosen_.resize(stride_);
  chosen_costs_.resize(stride_);
}

void SegmentChoices::clear() {
  std::fill(costs_.begin(), costs_.end(), kInfinity);
  std::fill(done_.begin(), done_.end(), 0.0);
}

SegmentChoices::Sum SegmentChoices::choose_at(double price) {
  price_ = price;
  run_in_lanes(Choose{{costs(), done(), stride_}, price, gains_.data(), chosen_.data()});
  Sum sum;
  double gained = 0.0;
  for (std::size_t segment = 0; segment < num_segments_; ++segment) {
    gained += gains_[segment];
    sum.done += chosen_[segment];
  }
  sum.cost = price * sum.done - gained;
  return sum;
}

SegmentChoices::Sum SegmentChoices::choose_most() {
  run_in_lanes(ChooseMost{{costs(), done(), stride_}, chosen_costs_.data(), chosen_.data()});
  Sum sum;
  for (std::size_t segment = 0; segment < num_segments_; ++segment) {
    sum.cost += chosen_costs_[segment];
    sum.done += chosen_[segment];
  }
  return sum;
}

double SegmentChoices::least_price() const noexcept {
  return run_in_lanes(FindLeastPrice{{costs(), done(), stride_}});
}

bool SegmentChoices::is_each_dear(double price, double all, double limit,
                                  double margin) const noexcept {
  return !run_in_lanes(LookForCheap{{costs(), done(), stride_}, price, all, limit, margin});
}

bool SegmentChoices::find_near(double most) {
  near_.resize((num_configurations_ + kInSet - 1) / kInSet * stride_);
  bool are_all = true;
  for (std::size_t begin = 0; begin < num_configurations_; begin += kInSet) {
    const std::size_t count = std::min(kInSet, num_configurations_ - begin);
    const Choices some{std::span(costs_).subspan(begin * stride_, count * stride_),
                       std::span(done_).subspan(begin * stride_, count * stride_), stride_};
    run_in_lanes(
        FindNear{some, price_, most, gains_.data(), &near_[begin / kInSet * stride_], &are_all});
  }
  return are_all;
}

}  // namespace gpusched
