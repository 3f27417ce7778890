#include "base/registry.hpp"
#include "gangs/gpu_binding_scheduler.hpp"

namespace gpusched {
namespace {

/// Small jobs first. Jobs of up to `kappa` GPUs are packed where they leave the fewest fragments,
/// larger ones go to the least busy servers.
class SjfBco final : public GpuBindingScheduler {
 public:
  explicit SjfBco(const Parameters& parameters)
      : GpuBindingScheduler({.narrow = parameters.text("tie") == "least-u"
                                           ? Packing::least_busy
                                           : Packing::fragment_aware,
                             .wide = Packing::balanced,
                             .kappa = parameters.integer("kappa"),
                             .inflation = parameters.number("lambda")},
                            parameters) {}

  static std::vector<ParameterInfo> parameters() {
    std::vector<ParameterInfo> all = GpuBindingScheduler::parameters(true);
    all.push_back({.name = "kappa",
                   .fallback = std::int64_t{8},
                   .help = "largest job size (GPUs) that is packed into fragments (FA-FFP); "
                           "larger jobs go to the least busy servers (LBSGF)",
                   .minimum = 0.0,
                   .maximum = 2147483647.0});
    all.push_back({.name = "lambda",
                   .fallback = 1.0,
                   .help = "candidate GPUs on the least busy servers, per requested GPU",
                   .minimum = 1.0,
                   .maximum = 1e6});
    all.push_back({.name = "tie",
                   .fallback = std::string("servers-first"),
                   .help = "placement of small jobs: 'servers-first': best fit on servers that "
                           "run jobs; 'least-u': on the least busy GPUs, as in the theorem",
                   .choices = {"servers-first", "least-u"}});
    return all;
  }
};

}  // namespace

GPUSCHED_REGISTER(
    Scheduler, SjfBco, .name = "sjf-bco",
    .summary =
        "Packs small jobs and balances large ones under a cap on busy time. Chooses GPUs itself.",
    .source = "Yu, Ji, Rajan, Liu, MobiHoc 2022 (arXiv 2207.07817).",
    .differs =
        "A run has no cap theta, a fixed kappa, and LBSGF counts idle GPUs for capacities; Algorithm "
        "1, which searches theta and kappa for a batch, is gpusched.online.plan.",
    .flags = {Flag::clairvoyant, Flag::places, Flag::offline}, .parameters = SjfBco::parameters())

}  // namespace gpusched
