#include "engine/schedule.hpp"

#include <bit>
#include <type_traits>
#include <vector>

#include "base/hash.hpp"

namespace gpusched {
namespace {

/// The numbers of each row, eight bytes each, least significant first.
void update(Sha256& hash, const std::vector<IntervalRow>& rows) {
  if constexpr (std::endian::native == std::endian::little) {
    // They stand so in memory, without gaps.
    static_assert(std::has_unique_object_representations_v<IntervalRow>);
    hash.update(
        {reinterpret_cast<const unsigned char*>(rows.data()), rows.size() * sizeof(IntervalRow)});
    return;
  }
  for (const IntervalRow& row : rows) {
    hash.update(row.job);
    hash.update(row.start_us);
    hash.update(row.end_us);
    hash.update(row.server);
    hash.update(static_cast<std::int64_t>(row.mask));
  }
}

}  // namespace

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

std::string Schedule::digest() const {
  Sha256 hash;
  update(hash, intervals());
  for (JobId job = 0; job < num_jobs_; ++job) {
    if (records_[job].phase != Phase::rejected) continue;
    hash.update(static_cast<std::int64_t>(job));
    hash.update(static_cast<std::int64_t>(records_[job].reason));
  }
  return hash.hex_digest();
}

}  // namespace gpusched
