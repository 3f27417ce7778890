#include "base/registry.hpp"
#include "base/rng.hpp"
#include "seams/order.hpp"

namespace gpusched {

struct Lot {
  static constexpr KeyLifetime kLifetime = KeyLifetime::fixed;

  double operator()(const QueueView& view, JobId job) const noexcept {
    return to_unit(draw(view.seed(), Stream::order, job, 0));
  }
};

using LotOrder = KeyOrder<Lot>;
GPUSCHED_REGISTER(Order, LotOrder, .name = "random",
                  .summary = "Jobs in the order of seeded lots: the baseline that knows nothing.",
                  .source = "Baseline.", .flags = {Flag::skip, Flag::random})

}  // namespace gpusched
