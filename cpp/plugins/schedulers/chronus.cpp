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
             .help = "seconds of a lease: jobs start and stop at its multiples",
             .minimum = 1,
             .maximum = 1e9}};
  }
};

}  // namespace

GPUSCHED_REGISTER(
    Scheduler, Chronus, .name = "chronus",
    .summary = "Reserves leases for jobs with deadlines, by slack; best-effort jobs fill the rest.",
    .source = "Gao, Ye, Sun, Wen, Zhang, Chronus, SoCC 2021.",
    .differs =
        "Reserves early leases, by slack; the authors' program takes the latest ones, of large "
        "jobs first, and solves an integer program (chronus-leases). No job is profiled.",
    .flags = {Flag::preemptive, Flag::deadlines, Flag::clairvoyant},
    .preemption = {.at_arrivals = true,
                   .at_finishes = true,
                   .period = "lease_s",
                   .reason = "It decides when a job arrives or finishes and at lease boundaries."},
    .parameters = Chronus::parameters())

}  // namespace gpusched
