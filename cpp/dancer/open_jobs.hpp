#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/ids.hpp"
#include "base/time.hpp"

namespace gpusched {

/// A job that was turned down and could still meet its deadline, with what is asked of it at each
/// border, so that nobody has to look at the job itself while it waits.
struct OpenJob {
  std::uint32_t index;  ///< of the job in the book
  JobId job;
  std::uint32_t set;  ///< of its configurations
  /// It does not run and has not since this was set down.
  bool is_at_rest;
  bool is_gone;    ///< not one of them any more
  double density;  ///< value for work
  double work;     ///< ticks of service left
  double value;
  Time deadline;
};

/// Open jobs, most urgent first. Those that came since they were put in order stand behind the
/// others, those that went keep their places until then.
class OpenJobs {
 public:
  void clear() noexcept;
  [[nodiscard]] bool empty() const noexcept { return count_ == 0; }
  /// Those that are gone among them.
  [[nodiscard]] std::span<OpenJob> all() noexcept { return all_; }
  void push_back(const OpenJob& job);
  void drop(OpenJob& job) noexcept {
    job.is_gone = true;
    --count_;
  }
  /// Drops the job that has this density here; whether it is one of them.
  [[nodiscard]] bool erase(JobId job, double density);
  /// Forgets who is gone, and puts all in order.
  void sort();

 private:
  std::vector<OpenJob> all_;
  std::size_t num_in_order_ = 0;  // from the first on
  std::size_t count_ = 0;         // that are not gone
  std::vector<OpenJob> moved_;
};

}  // namespace gpusched
