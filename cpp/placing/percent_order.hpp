#pragma once

#include <cstdint>
#include <vector>

#include "base/ids.hpp"
#include "base/parameters.hpp"
#include "seams/placement.hpp"

namespace gpusched {

/// An order of servers as the authors' program of FGD has it, a scheduler of Kubernetes: scores
/// are whole per cent and the greatest wins; of equals the server that comes first in an order
/// that is drawn once for each run.
class PercentOrder {
 public:
  static constexpr std::int64_t kMost = 100;

  void begin(const PlacementSetup& setup);

  /// The same as a score of which the least wins; no two servers have one.
  [[nodiscard]] double score(std::int64_t percent, ServerId server) const noexcept {
    const auto place = place_[static_cast<std::size_t>(server)];
    return static_cast<double>((kMost - percent) * num_servers_ + place);
  }

 private:
  std::int64_t num_servers_ = 0;
  std::vector<std::int64_t> place_;
};

/// The option by which a placement takes that order and the scores of that program.
[[nodiscard]] inline ParameterInfo artefact_parameter(const char* scores) {
  return {.name = "artefact",
          .fallback = false,
          .help = std::string("score as the authors' program of FGD does: ") + scores +
                  ", in whole per cent; of equals the server that comes first in an order that is "
                  "drawn for the run",
          .flags = {Flag::random}};
}

}  // namespace gpusched
