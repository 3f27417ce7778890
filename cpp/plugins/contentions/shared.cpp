#include <algorithm>

#include "base/parameters.hpp"
#include "base/registry.hpp"
#include "seams/contention.hpp"

namespace gpusched {
namespace {

/// Rings on a link slow each other down by f(a, k) = k + a (k - 1) with k = max(1, xi1 p): equal
/// shares, and beyond that a loss that grows with the number of rings.
class Shared final : public Contention {
 public:
  explicit Shared(const Parameters& parameters)
      : degradation_(parameters.number("degradation")), scaling_(parameters.number("scaling")) {}

  [[nodiscard]] double share(const LinkUse& use) const override {
    const double level = std::max(1.0, scaling_ * use.num_rings);
    return use.bytes_per_s / (level + degradation_ * (level - 1.0));
  }

 private:
  double degradation_;
  double scaling_;
};

}  // namespace

GPUSCHED_REGISTER(
    Contention, Shared, .name = "shared",
    .summary = "Jobs share a link equally; k of them are slowed by f(a, k) = k + a (k - 1).",
    .source = "Wang et al., INFOCOM 2020; Yu et al., MobiHoc 2022.", .flags = {Flag::interacting},
    .parameters = {{.name = "degradation",
                    .fallback = 0.0,
                    .help = "a: loss from each further job on a link, beyond its equal share",
                    .minimum = 0,
                    .maximum = 1e6},
                   {.name = "scaling",
                    .fallback = 1.0,
                    .help = "xi1: fraction of the time in which the jobs on a link communicate "
                            "at once",
                    .minimum = 1e-9,
                    .maximum = 1}})

}  // namespace gpusched
