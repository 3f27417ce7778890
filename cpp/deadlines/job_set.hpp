#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "base/ids.hpp"
#include "base/index_set.hpp"

namespace gpusched {

/// A set of jobs in their order: insertion, erasure and the next one take constant time but for
/// very many jobs.
class JobSet {
 public:
  /// An empty set over this many jobs.
  explicit JobSet(std::size_t num_jobs = 0) {
    for (std::size_t begin = 0; begin < num_jobs; begin += IndexSet::kMaxSize) {
      parts_.emplace_back(std::min(num_jobs - begin, IndexSet::kMaxSize));
    }
  }

  [[nodiscard]] bool empty() const noexcept { return count_ == 0; }
  /// A job that is not among them.
  void insert(JobId job) noexcept {
    parts_[job / IndexSet::kMaxSize].insert(job % IndexSet::kMaxSize);
    ++count_;
  }
  /// Whether it was among them.
  bool erase(JobId job) noexcept {
    IndexSet& part = parts_[job / IndexSet::kMaxSize];
    if (!part.contains(job % IndexSet::kMaxSize)) return false;
    part.erase(job % IndexSet::kMaxSize);
    --count_;
    return true;
  }
  /// The first member that is `job` or comes after it; kNoJob: none.
  [[nodiscard]] JobId at_or_after(JobId job) const noexcept {
    int last = static_cast<int>(job % IndexSet::kMaxSize) - 1;
    for (std::size_t part = job / IndexSet::kMaxSize; part < parts_.size(); ++part, last = -1) {
      const int found = parts_[part].next(last);
      if (found < 0) continue;
      return static_cast<JobId>(part * IndexSet::kMaxSize + static_cast<std::size_t>(found));
    }
    return kNoJob;
  }

 private:
  std::vector<IndexSet> parts_;  // by JobId
  std::size_t count_ = 0;
};

}  // namespace gpusched
