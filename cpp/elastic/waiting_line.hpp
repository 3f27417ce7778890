#pragma once

#include <algorithm>
#include <compare>
#include <cstdint>
#include <span>
#include <vector>

#include "base/clone.hpp"
#include "base/infinity.hpp"
#include "base/time.hpp"
#include "elastic/elastic_jobs.hpp"
#include "elastic/lines_by_need.hpp"

namespace gpusched {

/// The minimum GPUs that a job can run on.
struct LeastGpus {
  TypeMask together = 0;    ///< types that hold the job only in combination; 0: one type does
  std::vector<Part> parts;  ///< of each type, or of those together; never empty

  /// GPUs of its narrowest configuration.
  [[nodiscard]] int narrowest() const noexcept;
  /// Whether what is left in the present decision is enough for it.
  [[nodiscard]] bool is_left(const ElasticJobs& jobs) const noexcept;

  auto operator<=>(const LeastGpus&) const = default;
};

/// An upper bound on the ratios of some waiting jobs until a job joins. The ratio of a job is (time
/// since its arrival + remaining time) / time alone: it grows by 1 / time alone, and the maximum
/// grows at most as fast as the fastest of all.
class RatioBound {
 public:
  template <class Entry>
  void add(const Entry& /*entry*/) noexcept {
    is_known_ = false;
  }
  /// Restarts the bound at `now`. `job_ticks`: the number of jobs summed over the ticks so far, if
  /// the mean of that number over the life of each job (`concurrency`) is measured too.
  void begin(Time now, double job_ticks) noexcept {
    *this = {};
    is_known_ = true;
    from_ = now;
    job_ticks_ = job_ticks;
  }
  void tell(double ratio, double alone, int gpus, double concurrency) noexcept {
    concurrency_ = std::min(concurrency_, concurrency);
    ratio_ = std::max(ratio_, ratio);
    growth_ = std::max(growth_, 1.0 / alone);
    per_gpu_ = std::max(per_gpu_, ratio / gpus);
    growth_per_gpu_ = std::max(growth_per_gpu_, 1.0 / (alone * gpus));
  }

  [[nodiscard]] double ratio(Time now) const noexcept { return at(now, ratio_, growth_); }
  /// The lowest concurrency, and since when.
  [[nodiscard]] double concurrency() const noexcept { return concurrency_; }
  [[nodiscard]] double job_ticks() const noexcept { return job_ticks_; }
  [[nodiscard]] Time from() const noexcept { return from_; }
  /// Over the job's GPUs.
  [[nodiscard]] double per_gpu(Time now) const noexcept {
    return at(now, per_gpu_, growth_per_gpu_);
  }

 private:
  [[nodiscard]] double at(Time now, double then, double growth) const noexcept {
    constexpr double kRounding = 1.0 + 1e-9;
    if (!is_known_) return kInfinity;
    return kRounding * (then + growth * static_cast<double>((now - from_).count()));
  }

  bool is_known_ = false;
  Time from_{0};
  double ratio_ = 0;
  double growth_ = 0;
  double per_gpu_ = 0;
  double growth_per_gpu_ = 0;
  double concurrency_ = kInfinity;
  double job_ticks_ = 0;
};

/// The jobs without GPUs, by a key that does not change while they wait, then by JobId; one line
/// per need, so that jobs that cannot fit are skipped together.
class WaitingLine {
 public:
  using Lines = LinesByNeed<LeastGpus, Ref<ElasticJobs::Job>, RatioBound>;
  using Entry = Lines::Entry;

  void clear() noexcept { lines_.clear(); }
  [[nodiscard]] bool empty() const noexcept { return lines_.empty(); }
  [[nodiscard]] const Lines& lines() const noexcept { return lines_; }

  /// Adds jobs without GPUs; `key` gives their order.
  template <class Jobs, class Key>
  void add(const Jobs& jobs, Key key) {
    for (ElasticJobs::Job* job : jobs) append(*job, key(*job));
    lines_.settle();
  }

  /// Removes a waiting job that has ended.
  void forget(ElasticJobs::Job& job) { remove(job); }

  /// After ElasticJobs::apply, of those that were touched: those that hold GPUs now leave, those that
  /// lost theirs come back.
  template <class Key>
  void update(std::span<const Ref<ElasticJobs::Job>> touched, Key key) {
    for (ElasticJobs::Job* job : touched) {
      if (job->held.empty() == job->is_waiting) continue;
      if (job->is_waiting) {
        remove(*job);
      } else {
        append(*job, key(*job));
      }
    }
    lines_.settle();
  }

  /// The waiting jobs, merged with other sorted jobs: of the waiting ones only those that fit into
  /// the GPUs left, which must not grow during the walk.
  class Walk {
   public:
    Walk(const ElasticJobs& jobs, const WaitingLine& waiting, std::span<const Entry> others)
        : jobs_(&jobs), waiting_(waiting.lines_), others_(others) {}
    /// The next one; null if there is none, or nothing is left.
    [[nodiscard]] ElasticJobs::Job* next() {
      if (jobs_->all_left() == 0) return nullptr;
      return next([&](const LeastGpus& need) { return need.is_left(*jobs_); });
    }
    /// The same for waiting jobs: the next one with a need that `fits`.
    template <class Fits>
    [[nodiscard]] ElasticJobs::Job* next(Fits fits) {
      const Entry* waiting = waiting_.first(fits);
      if (!others_.empty() && (waiting == nullptr || others_.front() < *waiting)) {
        ElasticJobs::Job* const job = others_.front().item;
        others_ = others_.subspan(1);
        return job;
      }
      if (waiting == nullptr) return nullptr;
      ElasticJobs::Job* const job = waiting->item;
      waiting_.pop();
      return job;
    }

   private:
    const ElasticJobs* jobs_;
    Lines::Walk waiting_;
    std::span<const Entry> others_;
  };

 private:
  void append(ElasticJobs::Job& job, std::int64_t key);
  void remove(ElasticJobs::Job& job);

  Lines lines_;
  LeastGpus need_;
};

/// Takes their GPUs back from those that hold some, unless they pay for a restart, and appends these
/// jobs to `line` in the order of `key`: they are candidates like those that wait.
template <class Key>
void take_back(const State& state, ElasticJobs& jobs, std::vector<WaitingLine::Entry>& line,
               Key key) {
  jobs.take_all_back();
  for (ElasticJobs::Job* job : jobs.holders()) {
    if (ElasticJobs::is_restarting(state, *job)) {
      for (const Part& part : job->held) jobs.retain(part.type, part.gpus);
      continue;
    }
    jobs.drop(*job);
    line.push_back({key(*job), job->id, job});
  }
  std::sort(line.begin(), line.end());
}

}  // namespace gpusched
