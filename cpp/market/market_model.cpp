#include "market/market_model.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>

#include "base/check.hpp"
#include "base/infinity.hpp"
#include "base/number_text.hpp"

namespace gpusched {
namespace {

// Makes a job whose samples exceed its workers' memory far worse than any that fits.
constexpr double kOverfull = 1e6;
// Within these all that is computed from the columns is a number, squares and cubes too.
constexpr double kLeast = 1e-30;
constexpr double kGreatest = 1e30;

std::string cell(const char* field, std::size_t row) {
  return std::string(field) + "[" + std::to_string(row) + "]";
}

void check_size(const char* field, std::size_t given, std::size_t wanted) {
  if (given == wanted) return;
  fail_input(std::string(field) + ": has " + std::to_string(given) + " values, not " +
             std::to_string(wanted));
}

void check_column(const char* field, std::span<const double> values, std::size_t size,
                  bool is_positive) {
  if (values.empty() && !is_positive) return;
  check_size(field, values.size(), size);
  for (std::size_t row = 0; row < size; ++row) {
    const double value = values[row];
    if (value >= kLeast && value <= kGreatest) continue;
    const bool is_good = std::isfinite(value) && (is_positive ? value > 0.0 : value >= 0.0);
    if (!is_good) {
      fail_input(cell(field, row) + ": " + text_of(value) + " must be " +
                 (is_positive ? "positive" : "at least 0") + " and finite");
    }
    if (value == 0.0) continue;
    fail_input(cell(field, row) + ": " + text_of(value) + " must lie between 1e-30 and 1e30" +
               (is_positive ? "" : ", or be 0"));
  }
}

void check_counts(const char* field, std::span<const std::int32_t> values, std::size_t size,
                  std::int32_t least) {
  check_size(field, values.size(), size);
  for (std::size_t row = 0; row < size; ++row) {
    if (values[row] < least) {
      fail_input(cell(field, row) + ": " + std::to_string(values[row]) + " must be at least " +
                 std::to_string(least));
    }
  }
}

template <class Value>
Value value_or(std::span<const Value> values, std::size_t row, Value other) {
  return values.empty() ? other : values[row];
}

}  // namespace

void MarketModel::check(const MatchingProblem& problem, const MatchingGoal& goal) const {
  if (problem.num_jobs < 1) fail_input("jobs: must have at least one");
  if (problem.num_classes < 1) fail_input("workers: must have at least one class");
  const auto jobs = static_cast<std::size_t>(problem.num_jobs);
  const auto classes = static_cast<std::size_t>(problem.num_classes);
  if (problem.rate.size() != jobs * classes) {
    fail_input("rates: has " + std::to_string(problem.rate.size()) + " values, not " +
               std::to_string(jobs) + " x " + std::to_string(classes));
  }
  check_column("rates", problem.rate, jobs * classes, false);
  check_counts("capacity", problem.capacity, classes, 0);
  check_column("rounds", problem.rounds, jobs, true);
  check_column("round_samples", problem.samples, jobs, true);
  check_column("gradient_bytes", problem.gradient_bytes, jobs, false);
  if (!problem.bytes_per_s.empty()) {
    check_column("bandwidth_gbps", problem.bytes_per_s, jobs, true);
  }
  check_column("waiting_s", problem.waiting_s, jobs, false);
  check_column("restart_s", problem.restart_s, jobs, false);
  check_column("max_samples", problem.max_samples, jobs * classes, false);
  if (!problem.previous.empty()) check_counts("previous", problem.previous, jobs * classes, 0);
  if (!problem.min_workers.empty()) check_counts("min_workers", problem.min_workers, jobs, 1);
  if (!problem.max_workers.empty()) check_counts("max_workers", problem.max_workers, jobs, 1);
  for (std::size_t job = 0; job < jobs; ++job) {
    const std::int32_t least = value_or(problem.min_workers, job, std::int32_t{1});
    if (!problem.max_workers.empty() && problem.max_workers[job] < least) {
      fail_input(cell("max_workers", job) + ": " + std::to_string(problem.max_workers[job]) +
                 " is less than min_workers, " + std::to_string(least));
    }
  }
  if (!(goal.beta >= 0.0 && goal.beta <= 1.0)) fail_input("beta: must lie between 0 and 1");
  if (!(goal.guard >= 0.0 && goal.guard <= 1.0)) fail_input("guard: must lie between 0 and 1");
}

/// Gives the job one more worker of its own, where it must by moving others to other classes.
bool MarketModel::place_one(const MatchingProblem& problem, std::size_t job) {
  const std::size_t classes = num_classes_;
  constexpr std::int32_t kUnseen = -2;
  before_.assign(classes, kUnseen);  // the class from which a worker's job would move; -1: ours
  by_.assign(classes, -1);
  order_.clear();
  const auto num_open =
      static_cast<std::size_t>(std::count_if(capacity_.begin(), capacity_.end(),
                                             [](std::int32_t gpus) { return gpus > 0; }));
  for (std::size_t type = 0; type < classes; ++type) {
    if (problem.rate[job * classes + type] > 0.0 && capacity_[type] > 0) {
      before_[type] = -1;
      order_.push_back(static_cast<std::int32_t>(type));
    }
  }
  std::int32_t last = -1;
  for (std::size_t next = 0; next < order_.size() && last < 0; ++next) {
    if (stop_ != nullptr) stop_->count(alone_s_.size());
    const auto type = static_cast<std::size_t>(order_[next]);
    if (free_[type] > 0) {
      last = order_[next];
      break;
    }
    for (std::size_t other = 0; other < alone_s_.size(); ++other) {
      if (order_.size() == num_open) break;  // all are seen
      if (held_[other * classes + type] == 0) continue;
      for (std::size_t to = 0; to < classes; ++to) {
        if (before_[to] == kUnseen && problem.rate[other * classes + to] > 0.0 &&
            capacity_[to] > 0) {
          before_[to] = order_[next];
          by_[to] = static_cast<std::int32_t>(other);
          order_.push_back(static_cast<std::int32_t>(to));
        }
      }
    }
  }
  if (last < 0) return false;
  --free_[static_cast<std::size_t>(last)];
  for (std::int32_t type = last;;) {
    const auto at = static_cast<std::size_t>(type);
    const std::int32_t from = before_[at];
    const std::size_t mover = from < 0 ? job : static_cast<std::size_t>(by_[at]);
    ++held_[mover * classes + at];
    if (from < 0) return true;
    --held_[mover * classes + static_cast<std::size_t>(from)];
    type = from;
  }
}

bool MarketModel::admit(const MatchingProblem& problem, std::size_t job, std::int32_t workers) {
  for (std::int32_t placed = 0; placed < workers; ++placed) {
    if (place_one(problem, job)) continue;
    for (std::size_t type = 0; type < num_classes_; ++type) {
      free_[type] += held_[job * num_classes_ + type];
      held_[job * num_classes_ + type] = 0;
    }
    return false;
  }
  return true;
}

void MarketModel::choose(const MatchingProblem& problem) {
  const auto jobs = static_cast<std::size_t>(problem.num_jobs);
  held_.assign(jobs * num_classes_, 0);
  free_.assign(capacity_.begin(), capacity_.end());
  alone_s_.assign(jobs, kInfinity);
  for (std::size_t job = 0; job < jobs; ++job) {
    double sum = 0.0;
    double count = 0.0;
    for (std::size_t type = 0; type < num_classes_; ++type) {
      const double rate = problem.rate[job * num_classes_ + type];
      if (rate > 0.0) {
        sum += rate * capacity_[type];
        count += capacity_[type];
      }
    }
    if (sum > 0.0) alone_s_[job] = problem.rounds[job] * problem.samples[job] / (sum / count);
  }
  // chosen_ holds the order first, then the chosen jobs.
  chosen_.resize(jobs);
  std::iota(chosen_.begin(), chosen_.end(), 0);
  std::sort(chosen_.begin(), chosen_.end(), [&](std::int32_t a, std::int32_t b) {
    const double one = alone_s_[static_cast<std::size_t>(a)];
    const double other = alone_s_[static_cast<std::size_t>(b)];
    return one < other || (one == other && a < b);
  });
  std::erase_if(chosen_, [&](std::int32_t index) {
    const auto job = static_cast<std::size_t>(index);
    return alone_s_[job] == kInfinity ||
           !admit(problem, job, value_or(problem.min_workers, job, std::int32_t{1}));
  });
  std::sort(chosen_.begin(), chosen_.end());
  if (chosen_.empty()) fail_input("workers: no job can run on them");
}

/// How many workers a job may have.
void MarketModel::limit(const MatchingProblem& problem) {
  const auto jobs = static_cast<std::int32_t>(num_jobs());
  const double share = static_cast<double>(num_workers_) / jobs;
  const auto guarded = static_cast<std::int32_t>(goal_.guard * share);
  std::int64_t total = 0;
  std::int64_t usable = 0;
  minimum_.resize(num_jobs());
  least_.resize(num_jobs());
  most_.resize(num_jobs());
  for (std::size_t job = 0; job < num_jobs(); ++job) {
    const auto row = static_cast<std::size_t>(chosen_[job]);
    std::int32_t possible = 0;
    for (std::size_t type = 0; type < num_classes_; ++type) {
      if (rate(job, type) > 0.0) possible += capacity_[type];
    }
    minimum_[job] = value_or(problem.min_workers, row, std::int32_t{1});
    most_[job] = std::min(value_or(problem.max_workers, row, possible), possible);
    least_[job] = std::clamp(guarded, minimum_[job], most_[job]);
    total += least_[job];
    usable += most_[job];
  }
  if (total > num_workers_) least_ = minimum_;  // the guard reserves too much
  idle_may_help_ = usable < num_workers_ || goal_.split == BatchSplit::equal || has_previous_;
  for (std::size_t job = 0; job < num_jobs() && !idle_may_help_; ++job) {
    double slowest = kInfinity;
    double fastest = 0.0;
    for (std::size_t type = 0; type < num_classes_; ++type) {
      if (capacity_[type] == 0) continue;
      slowest = std::min(slowest, rate(job, type));
      fastest = std::max(fastest, rate(job, type));
    }
    // The k + 1st worker saves work x slowest / (k fastest (k fastest + slowest)) at least and
    // costs exchange / (k (k + 1)).
    idle_may_help_ = work_[job] * slowest / (fastest * fastest) < exchange_s_[job];
  }
}

void MarketModel::load(const MatchingProblem& problem, const MatchingGoal& goal) {
  check(problem, goal);
  goal_ = goal;
  num_classes_ = static_cast<std::size_t>(problem.num_classes);
  capacity_.assign(problem.capacity.begin(), problem.capacity.end());
  std::int64_t workers = 0;
  for (const std::int32_t count : capacity_) workers += count;
  if (workers > std::numeric_limits<std::int32_t>::max() / 2)
    fail_input("capacity: too many workers");
  num_workers_ = static_cast<std::int32_t>(workers);
  choose(problem);

  const std::size_t jobs = num_jobs();
  rate_.resize(jobs * num_classes_);
  base_.resize(jobs * num_classes_);
  has_limits_ = !problem.max_samples.empty();
  max_samples_.resize(has_limits_ ? jobs * num_classes_ : 0);
  previous_.assign(jobs * num_classes_, 0);
  for (auto* column :
       {&work_, &mean_rate_, &exchange_s_, &waiting_s_, &restart_s_, &rounds_, &samples_}) {
    column->resize(jobs);
  }
  previous_workers_.resize(jobs);
  has_previous_ = false;
  for (std::size_t job = 0; job < jobs; ++job) {
    const auto row = static_cast<std::size_t>(chosen_[job]);
    double count = 0.0;
    double sum = 0.0;
    std::int32_t held = 0;
    for (std::size_t type = 0; type < num_classes_; ++type) {
      const std::size_t from = row * num_classes_ + type;
      const std::size_t to = job * num_classes_ + type;
      rate_[to] = problem.rate[from];
      base_[to] = held_[from];
      if (has_limits_) max_samples_[to] = problem.max_samples[from];
      if (!problem.previous.empty()) previous_[to] = problem.previous[from];
      held += previous_[to];
      if (rate_[to] > 0.0) {
        count += capacity_[type];
        sum += rate_[to] * capacity_[type];
      }
    }
    rounds_[job] = problem.rounds[row];
    samples_[job] = problem.samples[row];
    work_[job] = rounds_[job] * samples_[job];
    mean_rate_[job] = sum / count;
    exchange_s_[job] = 0.0;
    if (!problem.gradient_bytes.empty() && !problem.bytes_per_s.empty()) {
      exchange_s_[job] =
          rounds_[job] * (2.0 * problem.gradient_bytes[row] / problem.bytes_per_s[row]);
    }
    waiting_s_[job] = value_or(problem.waiting_s, row, 0.0);
    previous_workers_[job] = held;
    restart_s_[job] = held > 0 ? value_or(problem.restart_s, row, 0.0) : 0.0;
    has_previous_ = has_previous_ || held > 0;
  }
  equal_s_.clear();
  limit(problem);
}

bool MarketModel::is_moved(std::size_t job, std::span<const std::int32_t> counts) const noexcept {
  return !std::equal(counts.begin(), counts.end(), previous_.data() + job * num_classes_);
}

double MarketModel::fixed_s(std::size_t job, std::int32_t workers) const noexcept {
  const double width = workers;
  double seconds = waiting_s_[job] + exchange_s_[job] * (width - 1.0) / width;
  if (restart_s_[job] > 0.0 && workers != previous_workers_[job]) seconds += restart_s_[job];
  return seconds;
}

/// Seconds of computing where memory limits a worker's part: the parts grow at one pace until they
/// are full, so the classes fill in the order of limit / pace.
double MarketModel::capped_s(std::size_t job, std::span<const std::int32_t> counts,
                             std::int32_t workers) const {
  const bool is_equal = goal_.split == BatchSplit::equal;
  const double* limit = max_samples_.data() + job * num_classes_;
  double rest = samples_[job];
  double slowest = 0.0;
  double reached = 0.0;
  for (;;) {
    // The next class to be full, among those beyond the pace reached so far.
    double pace = 0.0;
    double next = kInfinity;
    double full = 0.0;
    for (std::size_t type = 0; type < num_classes_; ++type) {
      if (counts[type] == 0) continue;
      const double own = is_equal ? 1.0 : rate(job, type);
      const double end = limit[type] > 0.0 ? limit[type] / own : kInfinity;
      if (end > reached) {
        pace += counts[type] * own;
        next = std::min(next, end);
      } else {
        full += counts[type] * limit[type];
      }
    }
    if (pace == 0.0) {  // all are full
      const double over = (samples_[job] - full) / samples_[job];
      rest = samples_[job] / (mean_rate_[job] * workers);
      return over > 1e-12 ? rounds_[job] * (slowest + rest * kOverfull * (1.0 + over))
                          : rounds_[job] * slowest;
    }
    const double end = (samples_[job] - full) / pace;
    const double until = std::min(end, next);
    for (std::size_t type = 0; type < num_classes_; ++type) {
      if (counts[type] == 0) continue;
      const double own = is_equal ? 1.0 : rate(job, type);
      const double most = limit[type] > 0.0 ? limit[type] : kInfinity;
      slowest = std::max(slowest, std::min(until * own, most) / rate(job, type));
    }
    if (end <= next) return rounds_[job] * slowest;
    reached = next;
  }
}

double MarketModel::compute_s(std::size_t job, std::span<const std::int32_t> counts) const {
  std::int32_t workers = 0;
  double sum = 0.0;
  double slowest = kInfinity;
  for (std::size_t type = 0; type < num_classes_; ++type) {
    if (counts[type] == 0) continue;
    workers += counts[type];
    sum += counts[type] * rate(job, type);
    slowest = std::min(slowest, rate(job, type));
  }
  if (!(sum > 0.0)) return kInfinity;
  if (has_limits_) return capped_s(job, counts, workers);
  if (goal_.split == BatchSplit::equal) return work_[job] / (workers * slowest);
  return work_[job] / sum;
}

double MarketModel::job_s(std::size_t job, std::span<const std::int32_t> counts) const {
  const double compute = compute_s(job, counts);
  std::int32_t workers = 0;
  for (const std::int32_t count : counts) workers += count;
  if (workers == 0) return kInfinity;
  const double width = workers;
  double seconds = compute + waiting_s_[job] + exchange_s_[job] * (width - 1.0) / width;
  if (restart_s_[job] > 0.0 && is_moved(job, counts)) seconds += restart_s_[job];
  return seconds;
}

void MarketModel::set_equal_seconds(std::span<const double> seconds) {
  equal_s_.assign(seconds.begin(), seconds.end());
}

double MarketModel::fairness(const Sums& sums) const noexcept {
  if (equal_s_.empty()) return 1.0;
  return sums.ratio * sums.ratio / (static_cast<double>(num_jobs()) * sums.square);
}

double MarketModel::score(const Sums& sums) const noexcept {
  const double mean = sums.seconds / static_cast<double>(num_jobs());
  if (goal_.beta == 1.0 || equal_s_.empty()) return mean;
  const double unfair = std::max(1.0 - fairness(sums), 0.0);
  return mean * (goal_.beta + (1.0 - goal_.beta) * unfair);
}

}  // namespace gpusched
