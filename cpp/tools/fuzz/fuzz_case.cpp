// The contents of a case: read, made a job table and a cluster, and run with the policy that it
// names. Whatever the bytes are, it is refused or runs; the seal is left out, which no mutation keeps.

#include <cstddef>
#include <cstdint>
#include <stdexcept>

#include "base/check.hpp"
#include "base/run_control.hpp"
#include "budget.hpp"
#include "case_reader.hpp"
#include "engine/schedule.hpp"
#include "runs/run_description.hpp"

namespace {

constexpr std::uint32_t kChecksOfCase = 2'000;
constexpr std::int64_t kMostGpus = 4'096;
constexpr gpusched::JobId kMostJobs = 256;

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace gpusched;
  try {
    const Case columns{UnsealedCase{{data, data + size}, true}};
    const JobTable jobs = columns.make_jobs();
    const Cluster cluster = columns.make_cluster();
    if (jobs.num_jobs() > kMostJobs || cluster.num_gpus() > kMostGpus) return 0;
    RunControl control;
    limit(control, kChecksOfCase);
    DescribedRun run(jobs, cluster, columns.description, control);
    run.simulation().run();
    (void)run.simulation().finish().digest();
  } catch (const InvalidInput&) {  // a broken rule of the engine's own is a fault and gets out
  } catch (const Stopped&) {
  }
  return 0;
}
