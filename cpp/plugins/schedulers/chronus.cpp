#include "base/registry.hpp"
#include "elastic/promising_scheduler.hpp"

namespace gpusched {
namespace {

/// Leases of a fixed length for jobs of a fixed width, in the order of slack.
class Chronus final : public PromisingScheduler {
 public:
  explicit Chronus(const Parameters& parameters)
      : PromisingScheduler({.slot = parameters.seconds("lease_s"),
                            .own_width_only = true,
                            .is_pinned = false,
                            .by_slack = true,
                            .is_firm = true}) {}

  static std::vector<ParameterInfo> parameters() {
    return {{.name = "lease_s",
             .fallback = 600.0,
             .help = "seconds of a lease: jobs change at multiples of it",
             .minimum = 1,
             .maximum = 1e9}};
  }
};

}  // namespace

GPUSCHED_REGISTER(
    Scheduler, Chronus, .name = "chronus",
    .summary = "Leases set aside for jobs with deadlines, by slack; best effort fills the rest.",
    .source = "Gao, Ye, Sun, Wen, Zhang, Chronus, SoCC 2021.",
    .differs =
        "Sets leases aside early and by slack; the authors' program takes the last ones, those of wide "
        "jobs first, and asks an integer program (chronus-leases). No job is profiled.",
    .flags = {Flag::preemptive, Flag::deadlines, Flag::clairvoyant},
    .preemption =
        {.at_arrivals = true,
         .at_finishes = true,
         .period = "lease_s",
         .reason =
             "It decides when something arrives or finishes and at the boundaries of leases."},
    .parameters = Chronus::parameters())

}  // namespace gpusched
