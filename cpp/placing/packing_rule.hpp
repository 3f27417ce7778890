#pragma once

#include <concepts>

#include "model/allocation.hpp"
#include "placing/bucket_key.hpp"
#include "placing/capacities.hpp"
#include "placing/hosts.hpp"
#include "placing/packing_index.hpp"
#include "seams/occupancy.hpp"
#include "seams/placement.hpp"

namespace gpusched {

/// The lowest free GPUs of the server; for a share, the fullest partly used GPU that fits it, else
/// a free one.
[[nodiscard]] Piece tight_piece(const Occupancy& free, ServerId server, const Ask& ask) noexcept;
/// The same, but the emptiest GPU, preferring a free one.
[[nodiscard]] Piece loose_piece(const Occupancy& free, ServerId server, const Ask& ask) noexcept;

/// Defaults of a packing rule. A rule scores a server only by its own free resources; the lowest
/// score wins, ties go to the lowest server:
///
///     double score(const Occupancy& free, ServerId server, const Ask& ask) const;
///
/// is called for servers that can host the ask, and returns LeastScore::kNever to refuse.
struct PackingRule {
  /// Whether equal parts of jobs of different widths get different scores.
  static constexpr bool kTellsGangs = false;

  /// Whether the lowest score wins; else `choose` picks one of the servers that can host the ask.
  static constexpr bool kTakesLeast = true;

  /// Whether a score takes much longer than checking whether the server can host the ask.
  static constexpr bool kIsCostly = false;

  /// How servers are grouped in buckets: among equal ones, the first that has room has the lowest
  /// score, for any request. They are ordered by `standing`, then by id.
  static constexpr Likeness kLikeness = Likeness::counts;
  static constexpr bool kStandsByScore = true;
  [[nodiscard]] bool has_buckets() const noexcept { return true; }
  [[nodiscard]] double standing(const Occupancy& /*free*/, ServerId /*server*/) const noexcept {
    return 0;
  }

  /// Before a run, and before each placement.
  void begin(const PlacementSetup& /*setup*/) {}
  void start(const Request& /*request*/) {}

  [[nodiscard]] Piece piece(const Occupancy& free, ServerId server, const Ask& ask) {
    return tight_piece(free, server, ask);
  }
};

/// The server with the fewest free GPUs, whatever its other resources.
struct LeastFreeGpus : PackingRule {
  [[nodiscard]] double score(const Occupancy& free, ServerId server,
                             const Ask& /*ask*/) const noexcept {
    return static_cast<double>(Capacities::free_milli(free, server));
  }
  [[nodiscard]] double least_score(int level, const Ask& /*ask*/) const noexcept {
    return static_cast<double>(kWholeGpu) * level;
  }
};

/// A rule with a lower bound on the scores of servers with this many free GPUs that can host the
/// ask. It grows with their number: servers with few are visited first, and others seldom.
template <class Rule>
concept BoundsByLevel = requires(const Rule& rule, const Ask& ask) {
  { rule.least_score(1, ask) } -> std::same_as<double>;
};

}  // namespace gpusched
