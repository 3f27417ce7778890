#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "base/clone.hpp"
#include "elastic/elastic_jobs.hpp"

namespace gpusched {

/// The jobs that hold no GPUs, by a key that does not change while they wait, then by JobId. What a
/// walk asks of each stands beside it, so that those who fit nowhere cost no look at the job.
class WaitingLine {
 public:
  struct Entry {
    std::int64_t key;
    JobId id;
    std::int32_t least;  ///< GPUs that its narrowest configuration needs
    Ref<ElasticJobs::Job> job;

    friend bool operator<(const Entry& a, const Entry& b) noexcept {
      return a.key != b.key ? a.key < b.key : a.id < b.id;
    }
  };

  void clear() noexcept { line_.clear(); }
  [[nodiscard]] std::span<const Entry> all() const noexcept { return line_; }

  /// Takes up jobs that hold nothing; `key` says where they stand.
  template <class Jobs, class Key>
  void add(const Jobs& jobs, Key key) {
    const std::size_t size = line_.size();
    for (ElasticJobs::Job* job : jobs) append(*job, key(*job));
    settle(size);
  }

  /// A job that waits is no more.
  void forget(const ElasticJobs::Job& job) {
    std::erase_if(line_, [&](const Entry& entry) { return entry.id == job.id; });
  }

  /// After ElasticJobs::apply: those that hold GPUs now leave, those that lost theirs come back.
  template <class Key>
  void update(const ElasticJobs& jobs, Key key) {
    const std::size_t size = line_.size();
    for (ElasticJobs::Job* job : jobs.touched()) {
      if (job->held.empty() == job->is_waiting) continue;
      if (job->is_waiting) {
        remove(*job);
      } else {
        append(*job, key(*job));
      }
    }
    settle(size);
  }

 private:
  void append(ElasticJobs::Job& job, std::int64_t key);
  void remove(ElasticJobs::Job& job);
  /// What was appended behind `size` entries goes where it belongs, and who left goes.
  void settle(std::size_t size);

  std::vector<Entry> line_;
  std::vector<Entry> gone_;
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
    line.push_back({key(*job), job->id, 0, job});
  }
  std::sort(line.begin(), line.end());
}

/// A key in the order of numbers that are not negative.
[[nodiscard]] std::int64_t key_of(double number) noexcept;

}  // namespace gpusched
