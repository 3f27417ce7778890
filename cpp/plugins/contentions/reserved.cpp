#include "base/registry.hpp"
#include "seams/contention.hpp"

namespace gpusched {
namespace {

/// A job owns of each link the share of the GPUs behind it that it holds, used or not.
class Reserved final : public Contention {
 public:
  [[nodiscard]] double share(const LinkUse& use) const override {
    return use.bytes_per_s * use.fraction;
  }
};

}  // namespace

GPUSCHED_REGISTER(Contention, Reserved, .name = "reserved",
                  .summary = "A job's share of a link is its share of the GPUs behind it.",
                  .source = "Ours, for bounds that depend only on a job's own placement.")

}  // namespace gpusched
