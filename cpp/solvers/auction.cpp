#include "solvers/auction.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "base/check.hpp"
#include "base/infinity.hpp"
#include "base/number_text.hpp"
#include "solvers/magnitudes.hpp"

namespace gpusched {
namespace {

constexpr double kFirstShare = 0.25;  // first epsilon, relative to the range of values
constexpr double kShrink = 0.2;       // from one epsilon to the next
// Minimum increment relative to a price, so that rounding takes at most a quarter of it.
constexpr double kResolution = 0x1p-48;
// Fraction of epsilon in a bid: the rest is for rounding.
constexpr double kOwnPart = 0.75;

}  // namespace

const Auction::Result& Auction::solve(std::span<const double> value,
                                      std::span<const std::int32_t> demand, int items,
                                      double epsilon) {
  if (items < 1 || value.size() != demand.size() * static_cast<std::size_t>(items)) {
    fail_input("auction: must have a value for each job and each item");
  }
  if (!(epsilon > 0) || epsilon == kInfinity) {
    fail_input("auction: epsilon must be a positive number, is " + text_of(epsilon));
  }
  num_jobs_ = demand.size();
  num_items_ = static_cast<std::size_t>(items);
  load(value, demand, epsilon);
  result_.num_bids = 0;
  price_.assign(num_items_, 0.0);
  double step = std::max(range_ * kFirstShare, epsilon);
  for (;;) {
    result_.epsilon = run(demand, step);
    if (step == epsilon || result_.epsilon > step) break;  // finer than that, no price can grow
    step = std::max(step * kShrink, epsilon);
  }
  level_prices();
  report(value);
  return result_;
}

void Auction::load(std::span<const double> value, std::span<const std::int32_t> demand,
                   double epsilon) {
  std::int64_t wanted = 0;
  for (std::size_t job = 0; job < num_jobs_; ++job) {
    if (demand[job] < 0) {
      fail_input("auction: demand of job " + std::to_string(job) + ": " +
                 std::to_string(demand[job]) + " is negative");
    }
    wanted += demand[job];
  }
  const auto num_items = static_cast<std::int64_t>(num_items_);
  if (wanted > num_items) {
    fail_input("auction: a demand of " + std::to_string(wanted) + " exceeds " +
               std::to_string(num_items) + " items");
  }
  idle_demand_ = static_cast<std::int32_t>(num_items - wanted);

  // Every job gets its number of items: subtracting its lowest value changes nothing, and keeps
  // small differences between large values.
  least_.assign(num_jobs_, 0.0);
  range_ = 0.0;
  bool is_any_forbidden = false;
  for (std::size_t job = 0; job < num_jobs_; ++job) {
    if (stop_ != nullptr) stop_->count(num_items_);
    double least = kInfinity;
    double most = -kInfinity;
    for (std::size_t item = 0; item < num_items_; ++item) {
      const double each = value[job * num_items_ + item];
      if (!(each <= kMostCost) || (each < -kMostCost && each > -kInfinity)) {
        fail_input("auction: value of job " + std::to_string(job) + ", item " +
                   std::to_string(item) + ": " + text_of(each) +
                   (std::isfinite(each) ? " is beyond 1e300" : " must be a number below infinity"));
      }
      most = std::max(most, each);
      if (each > -kInfinity) least = std::min(least, each);
      is_any_forbidden |= each == -kInfinity;
    }
    if (most == -kInfinity) continue;
    least_[job] = least;
    range_ = std::max(range_, most - least);
  }
  // So bad that the auction takes fewer of them rather than any gain elsewhere.
  const double forbidden = -static_cast<double>(num_items_ + 1) * (range_ + epsilon);
  worth_.resize((num_jobs_ + 1) * num_items_);
  for (std::size_t i = 0; i < value.size(); ++i) {
    worth_[i] = value[i] > -kInfinity ? value[i] - least_[i / num_items_] : forbidden;
  }
  if (is_any_forbidden) range_ -= forbidden;
  std::fill(worth_.begin() + static_cast<std::ptrdiff_t>(value.size()), worth_.end(), 0.0);
  offers_.reserve(num_items_);
  waiting_.reserve(num_jobs_ + 1);
}

/// Sells all items at increments of at least epsilon, from the present prices. Returns the epsilon
/// used: a later, greater one preserves the slackness of earlier sales.
double Auction::run(std::span<const std::int32_t> demand, double epsilon) {
  owner_.assign(num_items_, -1);
  missing_.assign(demand.begin(), demand.end());
  missing_.push_back(idle_demand_);
  waiting_.clear();
  for (std::size_t job = num_jobs_ + 1; job > 0;) {
    --job;
    if (missing_[job] > 0) waiting_.push_back(static_cast<std::int32_t>(job));
  }
  while (!waiting_.empty()) {
    const auto job = static_cast<std::size_t>(waiting_.back());
    waiting_.pop_back();
    bid(job, epsilon);
  }
  return epsilon;
}

/// Takes the missing number of best items, each at the price at which it is as good as the best one
/// not taken, minus epsilon.
void Auction::bid(std::size_t job, double& epsilon) {
  if (stop_ != nullptr) stop_->count(4 * num_items_);
  const auto self = static_cast<std::int32_t>(job);
  offers_.clear();
  for (std::size_t item = 0; item < num_items_; ++item) {
    if (owner_[item] == self) continue;
    offers_.push_back({worth(job, item) - price_[item], static_cast<std::int32_t>(item)});
  }
  const std::int32_t count = missing_[job];
  const auto last =
      offers_.begin() +
      std::min<std::ptrdiff_t>(count, static_cast<std::ptrdiff_t>(offers_.size()) - 1);
  std::nth_element(offers_.begin(), last, offers_.end(), [](const Offer& a, const Offer& b) {
    return a.net > b.net || (a.net == b.net && a.item < b.item);
  });
  const double next = last->net;
  for (std::int32_t i = 0; i < count; ++i) {
    const auto item = static_cast<std::size_t>(offers_[static_cast<std::size_t>(i)].item);
    const double price = worth(job, item) - next;
    epsilon = std::max(epsilon, kResolution * std::max(std::fabs(price), std::fabs(next)));
    price_[item] = price + kOwnPart * epsilon;
    const std::int32_t loser = owner_[item];
    owner_[item] = self;
    if (loser >= 0 && ++missing_[static_cast<std::size_t>(loser)] == 1) waiting_.push_back(loser);
  }
  missing_[job] = 0;
  result_.num_bids += count;
}

/// A job's best items may be far better than its worst, since its units do not bid against each
/// other: raises their prices until they are not. Then the lowest price becomes 0.
void Auction::level_prices() {
  dual_.assign(num_jobs_ + 1, -kInfinity);
  for (std::size_t job = 0; job <= num_jobs_; ++job) {
    double own = kInfinity;
    for (std::size_t item = 0; item < num_items_; ++item) {
      const double net = worth(job, item) - price_[item];
      if (owner_[item] == static_cast<std::int32_t>(job)) {
        own = std::min(own, net);
      } else {
        dual_[job] = std::max(dual_[job], net);
      }
    }
    if (dual_[job] == -kInfinity) dual_[job] = own;
  }
  for (std::size_t item = 0; item < num_items_; ++item) {
    const auto job = static_cast<std::size_t>(owner_[item]);
    price_[item] = std::max(price_[item], worth(job, item) - dual_[job]);
  }
  const double least = *std::min_element(price_.begin(), price_.end());
  for (double& price : price_) price -= least;
  for (double& dual : dual_) dual += least;
}

void Auction::report(std::span<const double> value) {
  result_.owner.assign(owner_.begin(), owner_.end());
  result_.value = 0;
  for (std::size_t item = 0; item < num_items_; ++item) {
    std::int32_t& owner = result_.owner[item];
    if (owner == static_cast<std::int32_t>(num_jobs_)) {
      owner = -1;
      continue;
    }
    const double each = value[static_cast<std::size_t>(owner) * num_items_ + item];
    if (each == -kInfinity) {
      fail_input("auction: too few allowed pairs for the demands");
    }
    result_.value += each;
  }
  result_.price.assign(price_.begin(), price_.end());
  result_.job_dual.resize(num_jobs_);
  for (std::size_t job = 0; job < num_jobs_; ++job) {
    result_.job_dual[job] = dual_[job] + least_[job];
  }
}

}  // namespace gpusched
