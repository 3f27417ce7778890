#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "base/buffer.hpp"
#include "base/ids.hpp"
#include "base/time.hpp"
#include "model/job_classes.hpp"

namespace gpusched {

/// The phase of a job. The last five are final.
enum class Phase : std::uint8_t {
  held,  // not in the queue yet
  waiting,
  running,
  finished,   // with all its work done
  rejected,   // it can never run
  cancelled,  // its user took it back
  killed,     // at its time limit
  failed,     // with the last server failure that it may survive
};

/// The state of one job; two share a cache line. Written when it arrives, starts, ends or is
/// preempted; `finish` is set at the start as if the job ran to its end, and corrected when it is
/// preempted.
struct alignas(32) JobRecord {
  Time start;   ///< first start; kNever before
  Time finish;  ///< of the present run while running
  std::int32_t preemptions;
  std::int32_t num_servers;  ///< of the last allocation
  std::uint32_t slot;        ///< while running
  Phase phase;
  RejectReason reason;
  bool has_history;  ///< whether more is kept than follows from this
};
static_assert(sizeof(JobRecord) == 32);

/// Further facts. Derived from the record for a job whose only run is not interrupted, the common
/// case; stored for others.
struct JobHistory {
  Time held;        ///< time with GPUs
  Time paid;        ///< the part of `held` that went into restart costs
  Time redo;        ///< work added at the arrival and by preemptions (restart cost on work)
  Time idle_since;  ///< when it last lost its GPUs; kNever before
};

/// The records of all jobs. Memory of pasts is touched where one is kept, and not before.
class JobRecords {
 public:
  explicit JobRecords(std::size_t num_jobs)
      : records_(make_kept_buffer<JobRecord>(num_jobs)),
        histories_(make_buffer<JobHistory>(num_jobs)) {}
  /// A copy of the first `num_known`, with room for all.
  JobRecords(const JobRecords& other, std::size_t num_known, std::size_t num_jobs)
      : JobRecords(num_jobs) {
    std::copy_n(other.records_.get(), num_known, records_.get());
    for (std::size_t job = 0; job < num_known; ++job) {
      if (records_[job].has_history) histories_[job] = other.histories_[job];
    }
  }

  [[nodiscard]] JobRecord& operator[](JobId job) noexcept { return records_[job]; }
  [[nodiscard]] const JobRecord& operator[](JobId job) const noexcept { return records_[job]; }

  [[nodiscard]] JobHistory history(JobId job) const noexcept {
    const JobRecord& record = records_[job];
    if (record.has_history) return histories_[job];
    const Time held = record.start == kNever ? Time{0} : record.finish - record.start;
    return {.held = held, .paid = Time{0}, .redo = Time{0}, .idle_since = kNever};
  }
  /// From now on it is kept.
  [[nodiscard]] JobHistory& keep_history(JobId job) noexcept {
    if (!records_[job].has_history) {
      histories_[job] = history(job);
      records_[job].has_history = true;
    }
    return histories_[job];
  }

 private:
  KeptBuffer<JobRecord> records_;
  Buffer<JobHistory> histories_;
};

}  // namespace gpusched
