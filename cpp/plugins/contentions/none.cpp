#include "base/registry.hpp"
#include "seams/contention.hpp"

namespace gpusched {
namespace {

class None final : public Contention {
 public:
  [[nodiscard]] double share(const LinkUse& use) const override { return use.bytes_per_s; }
};

}  // namespace

GPUSCHED_REGISTER(Contention, None, .name = "none",
                  .summary = "Each multi-server job gets the full bandwidth of its links.",
                  .source = "Common assumption of placement-aware simulators.",
                  .flags = {Flag::uncontended})

}  // namespace gpusched
