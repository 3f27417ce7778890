#include "engine/schedule.hpp"

#include "base/hash.hpp"

namespace gpusched {

Status Schedule::status(JobId job) const noexcept {
  switch (records_[job].phase) {
    case Phase::running:
      return Status::finished;
    case Phase::rejected:
      return Status::rejected;
    case Phase::waiting:
      break;
  }
  return Status::unfinished;
}

std::string Schedule::digest() const {
  Sha256 hash;
  for (const IntervalRow& row : log_.rows(num_jobs_)) {
    hash.update(row.job);
    hash.update(row.start_us);
    hash.update(row.end_us);
    hash.update(row.server);
    hash.update(static_cast<std::int64_t>(row.mask));
  }
  for (JobId job = 0; job < num_jobs_; ++job) {
    if (records_[job].phase != Phase::rejected) continue;
    hash.update(static_cast<std::int64_t>(job));
    hash.update(static_cast<std::int64_t>(records_[job].reason));
  }
  return hash.hex_digest();
}

}  // namespace gpusched
