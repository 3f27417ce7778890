// A scheduler that does what the input says: any action on any job with any GPUs at any time. The
// engine refuses what is impossible with an InvariantError, and is whole after what it allows.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/check.hpp"
#include "base/run_control.hpp"
#include "budget.hpp"
#include "bytes.hpp"
#include "engine/schedule.hpp"
#include "runs/run_description.hpp"
#include "seams/scheduler.hpp"

namespace {

using namespace gpusched;

constexpr std::uint32_t kChecksOfActions = 500;

class Whims : public Scheduler {
 public:
  Whims(Bytes& bytes, int num_jobs, int num_servers)
      : bytes_(bytes), num_jobs_(num_jobs), num_servers_(num_servers) {
    declare({Flag::places, Flag::preemptive});
    if (bytes.below(2) == 1) declare(flags().with(Flag::elastic));
  }

  void begin(const Setup& /*setup*/) override {}

  void decide(const State& state, const Instant& /*instant*/, Actions& actions) override {
    for (int left = bytes_.below(8); left > 0; --left) act(actions);
    if (!bytes_.is_empty()) actions.wake(state.now() + Time{1 + bytes_.below(200)});
  }

 private:
  // One server or GPU more than there are: some of it is wrong on purpose.
  Allocation allocation() {
    Allocation out;
    for (int left = bytes_.below(4); left > 0; --left) {
      out.pieces.emplace_back(bytes_.below(num_servers_ + 1),
                              static_cast<GpuMask>(bytes_.below(32)));
      out.gpus += out.pieces.back().gpus;
    }
    return out;
  }

  void act(Actions& actions) {
    const auto job = static_cast<JobId>(bytes_.below(num_jobs_));
    switch (bytes_.below(5)) {
      case 0:
        return actions.start(job, allocation());
      case 1:
        return actions.preempt(job);
      case 2:
        return actions.suspend(job);
      case 3:
        (void)actions.restore(job);
        return;
      default:
        return actions.resize(job, allocation());
    }
  }

  Bytes& bytes_;
  int num_jobs_;
  int num_servers_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Bytes bytes(data, size);
  std::vector<std::int32_t> server_gpus(static_cast<std::size_t>(1 + bytes.below(3)));
  for (auto& gpus : server_gpus) gpus = 1 + bytes.below(4);
  const std::vector<std::int32_t> server_type(server_gpus.size(), 0);
  std::vector<std::int64_t> submit;
  std::vector<std::int64_t> service;
  std::vector<std::int32_t> gpus;
  for (int left = 1 + bytes.below(6); left > 0; --left) {
    submit.push_back((submit.empty() ? 0 : submit.back()) + bytes.below(100));
    service.push_back(1 + bytes.below(250));
    gpus.push_back(1 + bytes.below(5));
  }
  JobColumns columns;
  columns.submit_us = submit;
  columns.service_us = service;
  columns.gpus = gpus;
  const JobTable jobs(columns);
  const Cluster cluster(server_gpus, server_type);
  const bool elastic = bytes.below(2) == 1;
  Whims whims(bytes, static_cast<int>(submit.size()), cluster.num_servers());
  try {
    RunControl control;
    limit(control, kChecksOfActions);
    RunDescription description{.policy = &whims, .placement = std::string("consolidated")};
    if (elastic) description.speed = "amdahl";
    description.verify = true;
    DescribedRun run(jobs, cluster, description, control);
    run.simulation().run();
    (void)run.simulation().finish().digest();
  } catch (const InvalidInput&) {
  } catch (const InvariantError&) {
  } catch (const Stopped&) {
  }
  return 0;
}
