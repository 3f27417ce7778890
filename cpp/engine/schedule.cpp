#include "engine/schedule.hpp"

#include <vector>

#include "base/hash.hpp"

namespace gpusched {

Status Schedule::status(JobId job) const noexcept {
  switch (records_[job].phase) {
    case Phase::held:
    case Phase::waiting:
    case Phase::running:
      break;
    case Phase::finished:
      return Status::finished;
    case Phase::rejected:
      return Status::rejected;
    case Phase::cancelled:
      return Status::cancelled;
    case Phase::killed:
      return Status::killed;
    case Phase::failed:
      return Status::failed;
  }
  return Status::unfinished;
}

std::vector<std::int64_t> Schedule::rejects() const {
  std::vector<std::int64_t> numbers;
  for (JobId job = 0; job < num_jobs_; ++job) {
    if (records_[job].phase != Phase::rejected) continue;
    numbers.push_back(job);
    numbers.push_back(static_cast<std::int64_t>(records_[job].reason));
  }
  return numbers;
}

std::string Schedule::digest() const {
  Sha256 hash;
  for (const IntervalRow& row : intervals()) {
    hash.update(row.job);
    hash.update(row.start_us);
    hash.update(row.end_us);
    hash.update(row.server);
    hash.update(static_cast<std::int64_t>(row.mask));
  }
  for (const std::int64_t number : rejects()) hash.update(number);
  return hash.hex_digest();
}

}  // namespace gpusched
