#include "floor.hpp"

#include <algorithm>
#include <cstddef>
#include <limits>

#include "heap.hpp"
#include "ring.hpp"
#include "sorted_blocks.hpp"
#include "width_classes.hpp"

namespace bench_floor {
namespace {

constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

/// The arrivals of a trace as a cursor, without the jobs that can never fit.
class Arrivals {
 public:
  Arrivals(const Trace& trace, std::int64_t num_gpus, std::span<std::int64_t> finish_us,
           std::span<std::int64_t> start_us)
      : trace_(trace), num_gpus_(num_gpus), finish_us_(finish_us), start_us_(start_us) {
    skip_rejected();
  }

  [[nodiscard]] std::int64_t next_us() const {
    return next_ < trace_.submit_us.size() ? trace_.submit_us[next_] : kNever;
  }
  [[nodiscard]] std::uint32_t job() const { return static_cast<std::uint32_t>(next_); }
  [[nodiscard]] std::int64_t gpus() const { return trace_.gpus[next_]; }
  [[nodiscard]] std::int64_t service_us() const { return trace_.service_us[next_]; }

  void advance() {
    ++next_;
    skip_rejected();
  }

 private:
  void skip_rejected() {
    while (next_ < trace_.gpus.size() && trace_.gpus[next_] > num_gpus_) {
      finish_us_[next_] = -1;
      if (!start_us_.empty()) {
        start_us_[next_] = -1;
      }
      ++next_;
    }
  }

  Trace trace_;
  std::int64_t num_gpus_;
  std::span<std::int64_t> finish_us_;
  std::span<std::int64_t> start_us_;
  std::size_t next_ = 0;
};

struct Finish {
  std::int64_t time_us;
  std::int64_t gpus;
};

struct EarlierFinish {
  bool operator()(const Finish& a, const Finish& b) const { return a.time_us < b.time_us; }
};

/// A list scheduler that does not preempt: `Queue` holds a width's jobs in the order `Before`.
template <typename Queue, typename Before>
Counts list_schedule(const Trace& trace, std::int64_t num_gpus, std::span<std::int64_t> finish_us,
                     std::span<std::int64_t> start_us) {
  Counts counts;
  Arrivals arrivals(trace, num_gpus, finish_us, start_us);
  Heap<Finish, EarlierFinish> running;
  WidthClasses<Queue> classes(trace.gpus, num_gpus);
  std::int64_t free = num_gpus;

  const auto start = [&](std::int64_t now, std::int64_t gpus, const Waiting& job) {
    const std::int64_t finish = now + job.service_us;
    free -= gpus;
    running.push({finish, gpus});
    finish_us[job.job] = finish;
    if (!start_us.empty()) {
      start_us[job.job] = now;
    }
  };

  while (true) {
    const std::int64_t arrival_us = arrivals.next_us();
    const std::int64_t finish = running.empty() ? kNever : running.top().time_us;
    const std::int64_t now = std::min(arrival_us, finish);
    if (now == kNever) {
      return counts;
    }
    if (arrival_us < finish) {
      const Waiting job{arrivals.service_us(), arrivals.job()};
      const std::int64_t gpus = arrivals.gpus();
      arrivals.advance();
      if (arrivals.next_us() != now) {
        // No job that waits fits what is free, so one arrival concerns nobody else.
        if (gpus <= free) {
          start(now, gpus, job);
        } else {
          classes.push(gpus, job);
          counts.max_waiting = std::max(counts.max_waiting, classes.num_waiting());
        }
        continue;
      }
      classes.push(gpus, job);
    } else {
      do {
        free += running.top().gpus;
        running.pop();
      } while (!running.empty() && running.top().time_us == now);
    }
    while (arrivals.next_us() == now) {
      classes.push(arrivals.gpus(), {arrivals.service_us(), arrivals.job()});
      arrivals.advance();
    }

    std::size_t num_fitting = classes.size();
    while (classes.num_waiting() > 0) {
      while (num_fitting > 0 && classes.width(num_fitting - 1) > free) {
        --num_fitting;
      }
      Waiting best;
      std::size_t best_class = 0;
      for (std::size_t index = 0; index < num_fitting; ++index) {
        const Waiting head = classes.head(index);
        const bool before = Before{}(head, best);
        best = before ? head : best;
        best_class = before ? index : best_class;
      }
      if (best.service_us == kNever) {
        break;
      }
      start(now, classes.width(best_class), classes.pop(best_class));
    }
    counts.max_waiting = std::max(counts.max_waiting, classes.num_waiting());
  }
}

/// Shortest remaining service first. The set that the greedy walk takes does not change while
/// its members age, so only arrivals and finishes need a decision; and a job that waits can
/// only be taken if it fits into what is free and what later jobs hold, so a decision reads
/// the heads of the widths and the back of the running list.
class Srtf {
 public:
  Srtf(const Trace& trace, std::int64_t num_gpus, std::span<std::int64_t> finish_us,
       std::span<std::int64_t> start_us)
      : finish_us_(finish_us),
        start_us_(start_us),
        arrivals_(trace, num_gpus, finish_us, start_us),
        waiting_(trace.gpus, num_gpus),
        free_(num_gpus) {
    std::fill(start_us.begin(), start_us.end(), -1);
  }

  Counts run() {
    while (true) {
      const std::int64_t arrival_us = arrivals_.next_us();
      const std::int64_t finish = running_.empty() ? kNever : running_.front().finish_us;
      now_ = std::min(arrival_us, finish);
      if (now_ == kNever) {
        return counts_;
      }
      bool rescan = false;
      while (!running_.empty() && running_.front().finish_us == now_) {
        free_ += running_.front().gpus;
        running_.pop_front();
        rescan = true;
      }
      while (arrivals_.next_us() == now_) {
        const Waiting job{arrivals_.service_us(), arrivals_.job()};
        const std::int64_t gpus = arrivals_.gpus();
        arrivals_.advance();
        if (!rescan && arrivals_.next_us() != now_) {
          // One arrival: nobody else can be taken unless it displaces somebody.
          if (fits_before_later_jobs(job, gpus)) {
            take(job, gpus);
          } else {
            waiting_.push(gpus, job);
          }
        } else {
          waiting_.push(gpus, job);
          rescan = true;
        }
      }
      rescan = rescan && waiting_.num_waiting() > 0;
      while (rescan || free_ < 0) {
        if (rescan) {
          take_waiting();
        }
        rescan = free_ < 0;
        if (rescan) {
          evict();
        }
      }
      counts_.max_waiting = std::max(counts_.max_waiting, waiting_.num_waiting());
    }
  }

 private:
  using Classes = WidthClasses<Heap<Waiting, ShorterService>>;

  [[nodiscard]] Running as_running(const Waiting& job, std::int64_t gpus) const {
    return {now_ + job.service_us, job.job, static_cast<std::int32_t>(gpus)};
  }

  /// Whether the jobs with smaller keys leave `gpus`: the jobs with larger keys hold what is
  /// lacking. `free_` is negative while the back of the list is over the budget.
  [[nodiscard]] bool fits_before_later_jobs(const Waiting& job, std::int64_t gpus) const {
    std::int64_t lacking = gpus - free_;
    if (lacking <= 0) {
      return true;
    }
    if (running_.empty()) {
      return false;
    }
    const Running key = as_running(job, gpus);
    auto position = running_.last();
    do {
      const Running& later = running_.at(position);
      if (!FinishesEarlier{}(key, later)) {
        return false;
      }
      lacking -= later.gpus;
      if (lacking <= 0) {
        return true;
      }
    } while (running_.step_back(position));
    return false;
  }

  void take(const Waiting& job, std::int64_t gpus) {
    const Running entry = as_running(job, gpus);
    free_ -= gpus;
    running_.insert(entry);
    finish_us_[job.job] = entry.finish_us;
    if (!start_us_.empty() && start_us_[job.job] < 0) {
      start_us_[job.job] = now_;
    }
  }

  /// Takes, in key order, every waiting job that fits before the first one over the budget.
  void take_waiting() {
    while (true) {
      Waiting best;
      std::size_t best_class = 0;
      for (std::size_t index = 0; index < waiting_.size(); ++index) {
        const Waiting& head = waiting_.head(index);
        if (head.service_us < kNever && ShorterService{}(head, best) &&
            fits_before_later_jobs(head, waiting_.width(index))) {
          best = head;
          best_class = index;
        }
      }
      if (best.service_us == kNever) {
        return;
      }
      take(waiting_.pop(best_class), waiting_.width(best_class));
    }
  }

  /// Preempts the first job at which the running total exceeds the budget.
  void evict() {
    std::int64_t before = free_;  // what the jobs up to and including `position` leave
    auto position = running_.last();
    while (before + running_.at(position).gpus < 0) {
      before += running_.at(position).gpus;
      if (!running_.step_back(position)) {
        return;
      }
    }
    const Running evicted = running_.at(position);
    running_.erase(position);
    free_ += evicted.gpus;
    waiting_.push(evicted.gpus, {evicted.finish_us - now_, evicted.job});
    ++counts_.preemptions;
  }

  std::span<std::int64_t> finish_us_;
  std::span<std::int64_t> start_us_;
  Arrivals arrivals_;
  SortedBlocks running_;
  Classes waiting_;
  Counts counts_;
  std::int64_t free_;
  std::int64_t now_ = 0;
};

}  // namespace

Counts fifo(const Trace& trace, std::int64_t num_gpus, std::span<std::int64_t> finish_us,
            std::span<std::int64_t> start_us) {
  return list_schedule<Ring<Waiting>, EarlierSubmitted>(trace, num_gpus, finish_us, start_us);
}

Counts sjf(const Trace& trace, std::int64_t num_gpus, std::span<std::int64_t> finish_us,
           std::span<std::int64_t> start_us) {
  return list_schedule<Heap<Waiting, ShorterService>, ShorterService>(trace, num_gpus, finish_us,
                                                                      start_us);
}

Counts srtf(const Trace& trace, std::int64_t num_gpus, std::span<std::int64_t> finish_us,
            std::span<std::int64_t> start_us) {
  return Srtf(trace, num_gpus, finish_us, start_us).run();
}

}  // namespace bench_floor
