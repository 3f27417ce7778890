#pragma once

#include <cstdint>
#include <vector>

#include "base/ids.hpp"
#include "base/parameters.hpp"
#include "seams/placement.hpp"

namespace gpusched {

/// An order of servers as the authors' program of FGD has it, a scheduler of Kubernetes: scores
/// are whole per cent and the greatest wins; of equals the server that comes first in an order
/// that is drawn once for each run. Placements have it where their option says so.
class PercentOrder {
 public:
  static constexpr std::int64_t kMost = 100;

  explicit PercentOrder(const Parameters& parameters) : is_asked_(parameters.flag(kOption)) {}

  [[nodiscard]] bool is_asked() const noexcept { return is_asked_; }

  /// Draws the order if the option is set.
  void begin(const PlacementSetup& setup);

  /// The same as a score to minimise; no two servers have the same score.
  [[nodiscard]] double score(std::int64_t percent, ServerId server) const noexcept {
    const auto place = place_[static_cast<std::size_t>(server)];
    return static_cast<double>((kMost - percent) * num_servers_ + place);
  }

  /// The option by which a placement takes that order, and the scores of that program.
  [[nodiscard]] static ParameterInfo option(const char* scores);

 private:
  static constexpr const char* kOption = "artefact";

  bool is_asked_;
  std::int64_t num_servers_ = 0;
  std::vector<std::int64_t> place_;
};

}  // namespace gpusched
