#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "base/ids.hpp"

namespace gpusched {

/// Jobs that take turns, one behind the other in memory. Places that are left in front are given up
/// once they are as many as the jobs; what is emptied keeps its memory.
class TurnLine {
 public:
  [[nodiscard]] bool empty() const noexcept { return size() == 0; }
  [[nodiscard]] std::size_t size() const noexcept { return jobs_.size() - front_; }
  [[nodiscard]] std::span<const JobId> jobs() const noexcept {
    return std::span(jobs_).subspan(front_);
  }

  void push_back(JobId job) { jobs_.push_back(job); }
  void erase(JobId job) {
    jobs_.erase(std::find(jobs_.begin() + static_cast<std::ptrdiff_t>(front_), jobs_.end(), job));
  }
  void clear() noexcept {
    jobs_.clear();
    front_ = 0;
  }
  /// The first `num` go behind all others but for those that stay; neither change their order.
  template <class Stays>
  void rotate(std::size_t num, Stays stays) {
    const std::size_t rest = front_ + num;
    std::size_t kept = front_;
    for (std::size_t at = front_; at < rest; ++at) {
      const JobId job = jobs_[at];
      if (stays(job)) {
        jobs_[kept++] = job;
      } else {
        jobs_.push_back(job);
      }
    }
    const auto begin = jobs_.begin();
    const auto from = begin + static_cast<std::ptrdiff_t>(front_);
    front_ = rest - (kept - front_);
    std::move_backward(from, begin + static_cast<std::ptrdiff_t>(kept),
                       begin + static_cast<std::ptrdiff_t>(rest));
    if (front_ < size()) return;
    jobs_.erase(begin, begin + static_cast<std::ptrdiff_t>(front_));
    front_ = 0;
  }

 private:
  std::vector<JobId> jobs_;
  std::size_t front_ = 0;
};

}  // namespace gpusched
