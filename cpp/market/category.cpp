#include "market/category.hpp"

namespace gpusched {
namespace {

// Draws of one category before limits are put right by hand.
constexpr int kTries = 16;

}  // namespace

void Categories::begin(std::span<const std::int32_t> least, std::span<const std::int32_t> most,
                       std::int32_t workers, bool may_idle) {
  const std::size_t jobs = least.size();
  least_.assign(least.begin(), least.end());
  most_.assign(most.begin(), most.end());
  workers_ = workers;
  least_after_.assign(jobs + 1, 0);
  most_after_.assign(jobs + 1, 0);
  for (std::size_t job = jobs; job > 0;) {
    --job;
    most_[job] = std::min(most_[job], workers);
    least_after_[job] = least_after_[job + 1] + least_[job];
    most_after_[job] = std::min(most_after_[job + 1] + most_[job], workers);
  }
  may_idle_ = may_idle || most_after_[0] < workers;
}

/// No more than there are: those in which the first jobs have their most, the others their least and
/// one worker is moved from there on.
double Categories::count_nearby() const noexcept {
  std::int32_t left = workers_ - least_after_[0];
  double givers = 0.0;
  double takers = 0.0;
  for (std::size_t job = 0; job < least_.size(); ++job) {
    const std::int32_t more = std::min(most_[job] - least_[job], left);
    givers += more > 0 ? 1.0 : 0.0;
    takers += more == 0 && most_[job] > least_[job] ? 1.0 : 0.0;
    left -= more;
  }
  return 1.0 + givers * takers;
}

double Categories::count(double limit) {
  const double nearby = count_nearby();
  if (nearby > limit) return nearby;
  // ways_[n]: of the jobs so far to have n workers together beyond their least.
  const auto size = static_cast<std::size_t>(std::max(workers_ - least_after_[0], 0)) + 1;
  ways_.assign(size, 0.0);
  sums_.resize(size + 1);
  ways_[0] = 1.0;
  for (std::size_t job = 0; job < least_.size(); ++job) {
    const auto more = static_cast<std::size_t>(most_[job] - least_[job]);
    if (more == 0) continue;
    sums_[0] = 0.0;
    for (std::size_t n = 0; n < size; ++n) sums_[n + 1] = sums_[n] + ways_[n];
    for (std::size_t n = 0; n < size; ++n) {
      ways_[n] = sums_[n + 1] - sums_[n > more ? n - more : 0];
    }
  }
  if (!may_idle_) return ways_[size - 1];
  double count = 0.0;
  for (const double ways : ways_) count += ways;
  return count;
}

/// Gives `left` workers to jobs that may have more, one each in turn.
void Categories::spend(std::int32_t left, std::vector<std::int32_t>& category) const {
  for (bool is_given = true; left > 0 && is_given;) {
    is_given = false;
    for (std::size_t job = 0; job < category.size() && left > 0; ++job) {
      if (category[job] >= most_[job]) continue;
      ++category[job];
      --left;
      is_given = true;
    }
  }
}

void Categories::by_weight(std::span<const double> weight, std::vector<std::int32_t>& category) {
  const std::size_t jobs = least_.size();
  category.assign(jobs, 0);
  // A job beyond a limit keeps to it, and the others divide the rest again.
  std::int32_t left = workers_;
  for (bool is_open = true; is_open;) {
    is_open = false;
    double total = 0.0;
    for (std::size_t job = 0; job < jobs; ++job) {
      if (category[job] == 0) total += weight[job];
    }
    // Jobs below their minimum first: their workers reduce the others' parts.
    for (const bool is_low : {true, false}) {
      std::int32_t taken = 0;
      for (std::size_t job = 0; job < jobs; ++job) {
        if (category[job] > 0) continue;
        const double part = left * weight[job] / total;
        if (is_low ? part <= least_[job] : part >= most_[job]) {
          category[job] = is_low ? least_[job] : most_[job];
          taken += category[job];
        }
      }
      left -= taken;
      if (taken > 0) {
        is_open = true;
        break;
      }
    }
    if (is_open) continue;
    remainders_.clear();
    std::int32_t rest = left;
    for (std::size_t job = 0; job < jobs; ++job) {
      if (category[job] > 0) continue;
      const double part = left * weight[job] / total;
      category[job] = std::max(static_cast<std::int32_t>(part), least_[job]);
      rest -= category[job];
      remainders_.push_back({part - category[job], static_cast<std::int32_t>(job)});
    }
    std::sort(remainders_.begin(), remainders_.end(), [](const Remainder& a, const Remainder& b) {
      return a.part > b.part || (a.part == b.part && a.job < b.job);
    });
    for (const Remainder& remainder : remainders_) {
      const auto job = static_cast<std::size_t>(remainder.job);
      if (rest <= 0) break;
      if (category[job] < most_[job]) {
        ++category[job];
        --rest;
      }
    }
    left = rest;
  }
  for (std::size_t job = jobs; left < 0 && job > 0;) {  // the limits asked for more than a part
    --job;
    const std::int32_t back = std::min(category[job] - least_[job], -left);
    category[job] -= back;
    left += back;
  }
  spend(left, category);
}

/// One draw of distinct cut points (Floyd's method) among the workers beyond the minimums.
bool Categories::cut(std::uint64_t seed, std::uint64_t n, std::uint64_t& counter,
                     std::vector<std::int32_t>& category) {
  const std::size_t jobs = least_.size();
  // Parts of at least one; idle workers, at least none, are one more part that begins one lower.
  const auto parts = static_cast<std::uint64_t>(jobs) + (may_idle_ ? 1 : 0);
  const auto units = static_cast<std::uint64_t>(workers_ - least_after_[0]) + parts;
  is_cut_.assign(static_cast<std::size_t>(units) + 1, 0);
  for (std::uint64_t top = units - parts + 1; top < units; ++top) {
    const std::uint64_t at = 1 + to_below(draw(seed, Stream::category, n, counter++), top);
    is_cut_[static_cast<std::size_t>(is_cut_[static_cast<std::size_t>(at)] != 0 ? top : at)] = 1;
  }
  std::size_t job = 0;
  std::int32_t length = 0;
  bool is_within = true;
  for (std::size_t unit = 1; unit <= units && job < jobs; ++unit) {
    ++length;
    if (is_cut_[unit] == 0 && unit < units) continue;
    category[job] = length - 1 + least_[job];
    is_within = is_within && category[job] <= most_[job];
    length = 0;
    ++job;
  }
  return is_within;
}

void Categories::uniform(std::uint64_t seed, std::uint64_t n, std::vector<std::int32_t>& category) {
  category.assign(least_.size(), 0);
  std::uint64_t counter = 0;
  for (int attempt = 0; attempt < kTries; ++attempt) {
    if (cut(seed, n, counter, category)) return;
  }
  std::int32_t left = 0;
  for (std::size_t job = 0; job < category.size(); ++job) {
    if (category[job] <= most_[job]) continue;
    left += category[job] - most_[job];
    category[job] = most_[job];
  }
  spend(left, category);
}

void Categories::around(std::uint64_t seed, std::uint64_t n, std::span<const double> weight,
                        double concentration, std::vector<std::int32_t>& category) {
  const std::size_t jobs = least_.size();
  category.assign(least_.begin(), least_.end());
  sums_.resize(std::max(sums_.size(), jobs + 1));
  double total = 0.0;
  for (std::size_t job = 0; job < jobs; ++job) {
    total += weight[job];
    sums_[job] = total;
  }
  const double base = concentration * static_cast<double>(jobs);
  balls_.clear();
  std::uint64_t counter = 0;
  const std::int32_t others = std::min(workers_, most_after_[0]) - least_after_[0];
  for (std::int32_t ball = 0; ball < others; ++ball) {
    const double point = to_unit(draw(seed, Stream::category_nearby, n, counter++)) * (base + ball);
    std::size_t job = 0;
    if (point < base) {
      const auto end = sums_.begin() + static_cast<std::ptrdiff_t>(jobs);
      const auto at = std::upper_bound(sums_.begin(), end, point / base * total);
      job = std::min(static_cast<std::size_t>(at - sums_.begin()), jobs - 1);
    } else {
      const std::uint64_t which = to_below(draw(seed, Stream::category_nearby, n, counter++),
                                           static_cast<std::uint64_t>(ball));
      job = static_cast<std::size_t>(balls_[static_cast<std::size_t>(which)]);
    }
    balls_.push_back(static_cast<std::int32_t>(job));
    while (category[job] >= most_[job]) job = (job + 1) % jobs;
    ++category[job];
  }
}

}  // namespace gpusched
