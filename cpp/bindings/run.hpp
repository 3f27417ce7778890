#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "base/run_control.hpp"
#include "data.hpp"
#include "engine/schedule.hpp"
#include "model/cluster.hpp"
#include "runs/run_description.hpp"

namespace gpusched::bindings {

/// A simulation with all that it borrows, but for the objects of Python: whoever makes it keeps
/// those alive.
class Run {
 public:
  Run(const OwnedJobTable& jobs, const Cluster& cluster, const RunDescription& description,
      RunControl* control);

  /// Handles all instants before the arrival of job `num_jobs`.
  void advance(std::uint64_t num_jobs);
  /// The jobs that have finished in `advance` since the last call, and when.
  std::pair<std::vector<std::int64_t>, std::vector<std::int64_t>> take_finished();
  /// Goes on to the end.
  Schedule finish();
  /// What was done until a stop, once: what held GPUs held them until then.
  Schedule so_far();

 private:
  enum class Phase : std::uint8_t { halted, working, stopped, over };

  template <class Work>
  void guarded(Work work);
  void check_open() const;

  const JobTable& jobs_;
  bool is_native_;
  // Read and written with the GIL only.
  Phase phase_ = Phase::halted;
  RunControl own_control_;
  RunControl& control_;
  std::unique_ptr<DescribedRun> run_;
  std::vector<std::int64_t> finished_;
  std::vector<std::int64_t> finish_us_;
};

}  // namespace gpusched::bindings
