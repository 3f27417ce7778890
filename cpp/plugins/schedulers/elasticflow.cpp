#include "base/registry.hpp"
#include "elastic/promising_scheduler.hpp"

namespace gpusched {
namespace {

/// Powers of two per slot, in the order of deadlines.
class ElasticFlow final : public PromisingScheduler {
 public:
  explicit ElasticFlow(const Parameters& parameters)
      : PromisingScheduler({.slot = parameters.seconds("slot_s"),
                            .own_width_only = false,
                            .is_pinned = parameters.text("types") == "pinned",
                            .by_slack = false,
                            .is_firm = false,
                            .by_batch = parameters.text("admission") == "batch"}) {}

  static std::vector<ParameterInfo> parameters() {
    return {{.name = "slot_s",
             .fallback = 300.0,
             .help = "seconds of a slot: GPUs are promised for whole ones",
             .minimum = 1,
             .maximum = 1e9},
            {.name = "types",
             .fallback = std::string("ordered"),
             .help = "ordered: on the type where the job needs the fewest GPU slots; pinned: each "
                     "job on the type where it is fastest, and on no other",
             .choices = {"ordered", "pinned"}},
            {.name = "admission",
             .fallback = std::string("single"),
             .help = "single: each job as it comes; batch: all jobs of a slot as it ends, and none "
                     "of them if one cannot be met, as the authors' program",
             .choices = {"single", "batch"}}};
  }
};

}  // namespace

GPUSCHED_REGISTER(
    Scheduler, ElasticFlow, .name = "elasticflow",
    .summary = "The least share that meets each deadline, and spare GPUs where they save most.",
    .source = "Gu et al., ElasticFlow, ASPLOS 2023; the choice of types is ours.",
    .differs =
        "What spare GPUs save is estimated, where the paper plans anew; a job stays on one type, and "
        "one that is turned down runs as best effort, on no more GPUs than its own.",
    .flags = {Flag::preemptive, Flag::elastic, Flag::deadlines, Flag::clairvoyant},
    .preemption =
        {.at_arrivals = true,
         .at_finishes = true,
         .period = "slot_s",
         .reason = "It decides when something arrives or finishes and at the boundaries of slots."},
    .parameters = ElasticFlow::parameters())

}  // namespace gpusched
