#include "elastic/waiting_line.hpp"

#include <algorithm>
#include <bit>
#include <limits>

namespace gpusched {

void WaitingLine::append(ElasticJobs::Job& job, std::int64_t key) {
  std::int32_t least = std::numeric_limits<std::int32_t>::max();
  for (const Configuration& known : job.configurations) least = std::min(least, known.gpus);
  job.line_key = key;
  job.is_waiting = true;
  line_.push_back({key, job.id, least, &job});
}

void WaitingLine::remove(ElasticJobs::Job& job) {
  job.is_waiting = false;
  gone_.push_back({job.line_key, job.id, 0, &job});
}

void WaitingLine::settle(std::size_t size) {
  if (!gone_.empty()) {
    // Few leave: what stands between two of them moves as a block.
    std::sort(gone_.begin(), gone_.end());
    const auto old = line_.begin() + static_cast<std::ptrdiff_t>(size);
    auto to = std::lower_bound(line_.begin(), old, gone_.front());
    auto from = to + 1;
    for (std::size_t i = 1; i < gone_.size(); ++i) {
      const auto next = std::lower_bound(from, old, gone_[i]);
      to = std::move(from, next, to);
      from = next + 1;
    }
    line_.erase(std::move(from, line_.end(), to), line_.end());
    size -= gone_.size();
    gone_.clear();
  }
  if (line_.size() == size) return;
  const auto middle = line_.begin() + static_cast<std::ptrdiff_t>(size);
  if (!std::is_sorted(middle, line_.end())) std::sort(middle, line_.end());
  if (middle == line_.begin() || *(middle - 1) < *middle) return;
  const auto from = std::upper_bound(line_.begin(), middle, *middle);
  std::inplace_merge(from, middle, line_.end());
}

std::int64_t key_of(double number) noexcept { return std::bit_cast<std::int64_t>(number + 0.0); }

}  // namespace gpusched
