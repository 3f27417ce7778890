#include "base/registry.hpp"
#include "seams/contention.hpp"

namespace gpusched {
namespace {

/// A gang owns of each link the share of the GPUs behind it that it holds, used or not.
class Reserved final : public Contention {
 public:
  [[nodiscard]] double share(const LinkUse& use) const override {
    return use.bytes_per_s * use.fraction;
  }
};

}  // namespace

GPUSCHED_REGISTER(Contention, Reserved, .name = "reserved",
                  .summary = "Each ring owns of a link as much as it holds of the GPUs behind it.",
                  .source = "Ours, for bounds that depend on a job's own placement alone.")

}  // namespace gpusched
