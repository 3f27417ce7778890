#include "engine/schedule.hpp"

#include <vector>

#include "base/hash.hpp"

namespace gpusched {

Status Schedule::status(JobId job) const noexcept {
  switch (records_[job].phase) {
    case Phase::running:
      return Status::finished;
    case Phase::rejected:
      return Status::rejected;
    case Phase::waiting:
    case Phase::cancelled:
      break;
  }
  return Status::unfinished;
}

std::vector<std::int64_t> Schedule::digested() const {
  const std::vector<IntervalRow> rows = intervals();
  std::vector<std::int64_t> numbers(5 * rows.size());
  auto to = numbers.begin();
  for (const IntervalRow& row : rows) {
    *to++ = row.job;
    *to++ = row.start_us;
    *to++ = row.end_us;
    *to++ = row.server;
    *to++ = static_cast<std::int64_t>(row.mask);
  }
  for (JobId job = 0; job < num_jobs_; ++job) {
    if (records_[job].phase != Phase::rejected) continue;
    numbers.push_back(job);
    numbers.push_back(static_cast<std::int64_t>(records_[job].reason));
  }
  return numbers;
}

std::string Schedule::digest() const {
  Sha256 hash;
  for (const std::int64_t number : digested()) hash.update(number);
  return hash.hex_digest();
}

}  // namespace gpusched
