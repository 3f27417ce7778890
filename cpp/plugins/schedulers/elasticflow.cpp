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
             .help = "seconds of a slot: GPUs are reserved for whole slots",
             .minimum = 1,
             .maximum = 1e9},
            {.name = "types",
             .fallback = std::string("ordered"),
             .help = "ordered: the type on which the job needs the fewest GPU slots; pinned: "
                     "only the type on which it is fastest",
             .choices = {"ordered", "pinned"}},
            {.name = "admission",
             .fallback = std::string("single"),
             .help = "single: each job at its arrival; batch: all jobs of a slot at its end, "
                     "and none of them if one cannot be met, as in the authors' program",
             .choices = {"single", "batch"}}};
  }
};

}  // namespace

GPUSCHED_REGISTER(
    Scheduler, ElasticFlow, .name = "elasticflow",
    .summary = "The minimum share that meets each deadline; spare GPUs where they save most.",
    .source = "Gu et al., ElasticFlow, ASPLOS 2023; the choice of types is ours.",
    .differs =
        "The saving of spare GPUs is estimated (the paper replans); a job stays on one type, "
        "and one that is not admitted runs as best effort, on no more GPUs than requested.",
    .flags = {Flag::preemptive, Flag::elastic, Flag::deadlines, Flag::clairvoyant},
    .preemption = {.at_arrivals = true,
                   .at_finishes = true,
                   .period = "slot_s",
                   .reason = "It decides when a job arrives or finishes and at slot boundaries."},
    .parameters = ElasticFlow::parameters())

}  // namespace gpusched
