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

/// The lowest free GPUs of the server; for a share the partly used GPU with the least left that
/// holds it, else a free one.
[[nodiscard]] Piece tight_piece(const Occupancy& free, ServerId server, const Ask& ask) noexcept;
/// The same with the most left, a free GPU above all.
[[nodiscard]] Piece loose_piece(const Occupancy& free, ServerId server, const Ask& ask) noexcept;

/// What a rule of packing has where it says nothing else. A rule scores one server by what is
/// free there and on it alone; the least score wins, the lowest server of equals:
///
///     double score(const Occupancy& free, ServerId server, const Ask& ask) const;
///
/// is asked of servers that can host the ask, and LeastScore::kNever where the rule refuses.
struct PackingRule {
  /// Whether it scores equal parts of gangs of different widths differently.
  static constexpr bool kTellsGangs = false;

  /// Whether the least score wins; else `choose` picks one of those that can host the ask.
  static constexpr bool kTakesLeast = true;

  /// Whether a score takes much longer than to tell whether the server can host the ask.
  static constexpr bool kIsCostly = false;

  /// How servers are told apart on buckets: of those that are alike, the first that has room has the
  /// least score, whatever is asked. They stand there by `standing`, then by id.
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

/// The server with the least free GPUs, whatever else it has.
struct LeastFreeGpus : PackingRule {
  [[nodiscard]] double score(const Occupancy& free, ServerId server,
                             const Ask& /*ask*/) const noexcept {
    return static_cast<double>(Capacities::free_milli(free, server));
  }
  [[nodiscard]] double least_score(int level, const Ask& /*ask*/) const noexcept {
    return static_cast<double>(kWholeGpu) * level;
  }
};

/// A rule that says what no server with so many free GPUs that can host the ask scores less than. It
/// grows with their number: servers with few are looked at first, and others seldom.
template <class Rule>
concept BoundsByLevel = requires(const Rule& rule, const Ask& ask) {
  { rule.least_score(1, ask) } -> std::same_as<double>;
};

}  // namespace gpusched
