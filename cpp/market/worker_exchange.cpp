#include "market/worker_exchange.hpp"

#include <algorithm>
#include <utility>

#include "base/infinity.hpp"

namespace gpusched {
namespace {

// Less than this part of the mean completion time is rounding.
constexpr double kTimeGain = 1e-12;
// Below this fraction of its former value, a sum of rates has lost its precision.
constexpr double kCancelled = 0x1p-26;
// Costs by job and pair of classes beyond which pairs of jobs are gone through.
constexpr std::size_t kMaxCosts = 1 << 16;
// With this ratio of jobs to pairs of classes, pairs of jobs always cost more.
constexpr std::size_t kFewClasses = 64;
constexpr std::int32_t kNobody = -1;

}  // namespace

void Exchange::start(const MarketModel& model, std::span<const std::int32_t> counts) {
  model_ = &model;
  num_jobs_ = model.num_jobs();
  num_classes_ = model.num_classes();
  counts_.resize((num_jobs_ + 1) * num_classes_);
  std::copy_n(counts.begin(), num_jobs_ * num_classes_, counts_.begin());
  jobs_.resize(num_jobs_ + 1);
  held_.resize((num_jobs_ + 1) * num_classes_);
  num_held_.resize(num_jobs_ + 1);
  const std::span<std::int32_t> idle = row(num_jobs_);
  std::copy(model.capacity().begin(), model.capacity().end(), idle.begin());
  for (std::size_t job = 0; job < num_jobs_; ++job) {
    for (std::size_t type = 0; type < num_classes_; ++type) idle[type] -= row(job)[type];
  }
  for (std::size_t job = 0; job <= num_jobs_; ++job) refresh(job);
  total();
}

/// Recomputes everything derived from the workers of a job.
void Exchange::refresh(std::size_t job) {
  const std::span<const std::int32_t> counts = row(job);
  std::int32_t* held = held_.data() + job * num_classes_;
  std::int32_t num_held = 0;
  Job made;
  for (std::size_t type = 0; type < num_classes_; ++type) {
    if (counts[type] > 0) held[num_held++] = static_cast<std::int32_t>(type);
    if (job == num_jobs_) continue;
    made.workers += counts[type];
    made.differences += counts[type] != model_->previous(job, type);
  }
  num_held_[job] = num_held;
  if (job < num_jobs_) {
    made.rate = sum_of_rates(counts, job);
    made.seconds = model_->is_plain()
                       ? model_->plain_job_s(job, made.rate, made.workers, made.differences > 0)
                       : model_->job_s(job, counts);
  }
  jobs_[job] = made;
}

double Exchange::sum_of_rates(std::span<const std::int32_t> counts, std::size_t job) const {
  double sum = 0.0;
  for (std::size_t type = 0; type < num_classes_; ++type) {
    sum += counts[type] * model_->rate(job, type);
  }
  return sum;
}

void Exchange::total() {
  sums_ = {};
  for (std::size_t job = 0; job < num_jobs_; ++job) {
    const MarketModel::Sums own = model_->sums_of(job, jobs_[job].seconds);
    sums_.seconds += own.seconds;
    sums_.ratio += own.ratio;
    sums_.square += own.square;
  }
}

void Exchange::change(std::size_t job, std::int32_t minus, std::int32_t plus) {
  if (minus >= 0) --row(job)[static_cast<std::size_t>(minus)];
  if (plus >= 0) ++row(job)[static_cast<std::size_t>(plus)];
  refresh(job);
}

/// Seconds of a job after it gave one worker of class `minus` and got one of `plus` (-1: none).
double Exchange::after(std::size_t job, std::int32_t minus, std::int32_t plus) {
  if (job == num_jobs_) return 0.0;
  const std::span<std::int32_t> counts = row(job);
  const Job& now = jobs_[job];
  std::int32_t workers = now.workers;
  std::int32_t differences = now.differences;
  double rate = now.rate;
  const auto shift = [&](std::int32_t type, std::int32_t by) {
    const auto at = static_cast<std::size_t>(type);
    differences -= counts[at] != model_->previous(job, at);
    counts[at] += by;
    differences += counts[at] != model_->previous(job, at);
    workers += by;
    rate += by * model_->rate(job, at);
  };
  if (plus >= 0) {
    if (!(model_->rate(job, static_cast<std::size_t>(plus)) > 0.0)) return kInfinity;
    shift(plus, 1);
  }
  if (minus >= 0) shift(minus, -1);
  if (!(rate > kCancelled * now.rate)) rate = sum_of_rates(counts, job);
  double seconds = kInfinity;
  if (workers > 0) {
    seconds = model_->is_plain() ? model_->plain_job_s(job, rate, workers, differences > 0)
                                 : model_->job_s(job, counts);
  }
  if (plus >= 0) --counts[static_cast<std::size_t>(plus)];
  if (minus >= 0) ++counts[static_cast<std::size_t>(minus)];
  return seconds;
}

void Exchange::improve(bool may_resize) {
  const std::size_t nodes = num_classes_ + 1;
  const bool is_sum = model_->least_score(1.0) == 1.0;
  const bool are_few =
      (num_jobs_ + 1) * nodes * nodes <= kMaxCosts || nodes * nodes * kFewClasses <= num_jobs_;
  if (may_use_arcs_ && is_sum && are_few) {
    improve_by_arcs(may_resize);
  } else {
    improve_by_pairs(may_resize);
  }
}

double Exchange::score_after(const Move& move) {
  MarketModel::Sums sums = sums_;
  const auto replace = [&](std::size_t job, double seconds) {
    if (job == num_jobs_) return;
    const MarketModel::Sums before = model_->sums_of(job, jobs_[job].seconds);
    const MarketModel::Sums now = model_->sums_of(job, seconds);
    sums.seconds += now.seconds - before.seconds;
    sums.ratio += now.ratio - before.ratio;
    sums.square += now.square - before.square;
  };
  replace(move.first, after(move.first, move.given, move.got));
  replace(move.second, after(move.second, move.got, move.given));
  return model_->score(sums);
}

/// The best exchange of a pair. `second` may be num_jobs_: idle workers.
Exchange::Move Exchange::best_of(std::size_t first, std::size_t second, bool swaps, bool gives,
                                 bool gets) {
  Move best;
  best.score = kInfinity;
  const auto may_change = [&](std::size_t job, std::int32_t by) {
    if (job == num_jobs_) return true;
    const std::int32_t workers = jobs_[job].workers + by;
    return workers >= model_->least()[job] && workers <= model_->most()[job];
  };
  gives = gives && may_change(first, -1) && may_change(second, 1);
  gets = gets && may_change(first, 1) && may_change(second, -1);
  const auto consider = [&](std::int32_t given, std::int32_t got) {
    Move move{first, second, given, got, 0.0};
    move.score = score_after(move);
    if (move.score < best.score) best = move;
  };
  const std::span mine(held_.data() + first * num_classes_,
                       static_cast<std::size_t>(num_held_[first]));
  const std::span theirs(held_.data() + second * num_classes_,
                         static_cast<std::size_t>(num_held_[second]));
  for (const std::int32_t given : mine) {
    if (gives) consider(given, -1);
    if (!swaps) continue;
    for (const std::int32_t got : theirs) {
      if (got != given) consider(given, got);
    }
  }
  if (gets) {
    for (const std::int32_t got : theirs) consider(-1, got);
  }
  return best;
}

/// Repeatedly makes the best exchange of each pair of jobs if it lowers the score; pairs in
/// ascending order.
void Exchange::improve_by_pairs(bool may_resize) {
  changed_.assign(num_jobs_ + 1, 1);
  seen_.assign(num_jobs_ * (num_jobs_ + 1), 0);
  std::uint32_t clock = 1;
  for (bool is_better = true; is_better;) {
    is_better = false;
    for (std::size_t first = 0; first < num_jobs_; ++first) {
      for (std::size_t second = first + 1; second <= num_jobs_; ++second) {
        std::uint32_t& seen = seen_[first * (num_jobs_ + 1) + second];
        if (seen >= std::max(changed_[first], changed_[second])) continue;
        for (;;) {
          if (stop_ != nullptr) stop_->count(num_classes_ * num_classes_);
          const Move move = best_of(first, second, true, may_resize, may_resize);
          const double before = score();
          const double mean = sums_.seconds / static_cast<double>(num_jobs_);
          if (!(move.score < before - kTimeGain * mean)) break;
          change(move.first, move.given, move.got);
          change(move.second, move.got, move.given);
          total();
          if (!(score() < before)) {  // the gain was rounding
            change(move.first, move.got, move.given);
            change(move.second, move.given, move.got);
            total();
            break;
          }
          changed_[first] = changed_[second] = ++clock;
          is_better = true;
        }
        seen = clock;
      }
    }
  }
}

bool Exchange::give(std::size_t from, std::size_t to) {
  const bool is_swapped = from == num_jobs_;
  const Move best =
      best_of(is_swapped ? to : from, is_swapped ? from : to, false, !is_swapped, is_swapped);
  if (!(best.score < kInfinity)) return false;
  change(best.first, best.given, best.got);
  change(best.second, best.got, best.given);
  total();
  return true;
}

/// The cost to a job of each exchange of one class for another.
void Exchange::cost_of(std::size_t job, bool may_resize) {
  const std::size_t nodes = num_classes_ + 1;
  double* costs = cost_.data() + job * nodes * nodes;
  std::fill_n(costs, nodes * nodes, kInfinity);
  const bool is_idle = job == num_jobs_;
  const auto least = is_idle ? 0 : model_->least()[job];
  const auto most = is_idle ? model_->num_workers() : model_->most()[job];
  const auto workers = jobs_[job].workers;
  for (std::size_t given = may_resize ? 0 : 1; given < nodes; ++given) {
    const bool is_none = given == 0;
    if (is_none ? !is_idle && workers >= most : row(job)[given - 1] == 0) continue;
    for (std::size_t got = may_resize ? 0 : 1; got < nodes; ++got) {
      if (got == given || (got == 0 && !is_idle && workers <= least)) continue;
      costs[given * nodes + got] = is_idle ? 0.0
                                           : after(job, static_cast<std::int32_t>(given) - 1,
                                                   static_cast<std::int32_t>(got) - 1) -
                                                 jobs_[job].seconds;
    }
  }
}

/// Lets a job compete for an arc. Ties go to the earlier job.
void Exchange::offer(std::size_t arc, std::size_t job) {
  const std::size_t nodes = num_classes_ + 1;
  const double cost = cost_[job * nodes * nodes + arc];
  Arc& best = arcs_[arc];
  if (cost < best.cost[0]) {
    best.cost[1] = best.cost[0];
    best.job[1] = best.job[0];
    best.cost[0] = cost;
    best.job[0] = static_cast<std::int32_t>(job);
  } else if (cost < best.cost[1]) {
    best.cost[1] = cost;
    best.job[1] = static_cast<std::int32_t>(job);
  }
}

/// After the costs of a job have changed.
void Exchange::update_arcs(std::size_t job, std::size_t first) {
  const std::size_t nodes = num_classes_ + 1;
  const auto own = static_cast<std::int32_t>(job);
  for (std::size_t given = first; given < nodes; ++given) {
    for (std::size_t got = first; got < nodes; ++got) {
      const std::size_t arc = given * nodes + got;
      if (arcs_[arc].job[0] != own && arcs_[arc].job[1] != own) {
        offer(arc, job);
        continue;
      }
      arcs_[arc] = {{kInfinity, kInfinity}, {kNobody, kNobody}};
      for (std::size_t other = 0; other <= num_jobs_; ++other) offer(arc, other);
    }
  }
}

/// The cheapest ring of two or three arcs, each of another job; false if none saves anything.
bool Exchange::best_ring(std::size_t length, std::size_t first) {
  const std::size_t nodes = num_classes_ + 1;
  const double enough = -kTimeGain * sums_.seconds;
  ring_.cost = enough;
  const auto arc = [&](std::size_t given, std::size_t got) -> const Arc& {
    return arcs_[given * nodes + got];
  };
  for (std::size_t a = first; a < nodes; ++a) {
    for (std::size_t b = a + 1; b < nodes; ++b) {
      if (length == 2) {
        const Arc& to = arc(a, b);
        const Arc& back = arc(b, a);
        if (to.cost[0] + back.cost[0] >= ring_.cost) continue;
        for (std::size_t i = 0; i < 2; ++i) {
          for (std::size_t j = 0; j < 2; ++j) {
            const double cost = to.cost[i] + back.cost[j];
            if (to.job[i] == back.job[j] || cost >= ring_.cost) continue;
            ring_ = {cost, {a, b, 0}, {to.job[i], back.job[j], 0}};
          }
        }
        continue;
      }
      for (std::size_t c = a + 1; c < nodes; ++c) {  // a is the lowest node of the ring
        if (c == b) continue;
        const std::array<const Arc*, 3> arcs{&arc(a, b), &arc(b, c), &arc(c, a)};
        if (arcs[0]->cost[0] + arcs[1]->cost[0] + arcs[2]->cost[0] >= ring_.cost) continue;
        for (std::size_t choice = 0; choice < 8; ++choice) {
          const std::array<std::size_t, 3> at{choice & 1, choice >> 1 & 1, choice >> 2};
          double cost = 0.0;
          std::array<std::int32_t, 3> job{};
          for (std::size_t i = 0; i < 3; ++i) {
            cost += arcs[i]->cost[at[i]];
            job[i] = arcs[i]->job[at[i]];
          }
          if (cost >= ring_.cost || job[0] == job[1] || job[1] == job[2] || job[0] == job[2]) {
            continue;
          }
          ring_ = {cost, {a, b, c}, job};
        }
      }
    }
  }
  return ring_.cost < enough;
}

/// Applies the exchange of the i-th job of the ring; backwards: undoes it.
void Exchange::turn(std::size_t i, std::size_t length, int direction) {
  auto given = static_cast<std::int32_t>(ring_.node[i]) - 1;
  auto got = static_cast<std::int32_t>(ring_.node[(i + 1) % length]) - 1;
  if (direction < 0) std::swap(given, got);
  change(static_cast<std::size_t>(ring_.job[i]), given, got);
}

/// Repeatedly applies the best ring of two or, if there is none, of three.
void Exchange::improve_by_arcs(bool may_resize) {
  const std::size_t nodes = num_classes_ + 1;
  const std::size_t first = may_resize ? 0 : 1;
  cost_.resize((num_jobs_ + 1) * nodes * nodes);
  arcs_.assign(nodes * nodes, {{kInfinity, kInfinity}, {kNobody, kNobody}});
  for (std::size_t job = 0; job <= num_jobs_; ++job) {
    cost_of(job, may_resize);
    for (std::size_t arc = 0; arc < nodes * nodes; ++arc) offer(arc, job);
  }
  for (;;) {
    if (stop_ != nullptr) stop_->count(nodes * nodes * (nodes + num_jobs_));
    std::size_t length = 2;
    if (!best_ring(2, first)) {
      if (!best_ring(3, first)) break;
      length = 3;
    }
    const double before = score();
    for (std::size_t i = 0; i < length; ++i) turn(i, length, 1);
    total();
    if (!(score() < before)) {  // the gain was rounding
      for (std::size_t i = 0; i < length; ++i) turn(i, length, -1);
      total();
      break;
    }
    for (std::size_t i = 0; i < length; ++i) {
      cost_of(static_cast<std::size_t>(ring_.job[i]), may_resize);
    }
    for (std::size_t i = 0; i < length; ++i) {
      update_arcs(static_cast<std::size_t>(ring_.job[i]), first);
    }
  }
}

}  // namespace gpusched
