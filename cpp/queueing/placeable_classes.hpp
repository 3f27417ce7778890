#pragma once

#include <cstdint>
#include <vector>

#include "base/clone.hpp"
#include "queueing/class_heads.hpp"
#include "seams/scheduler.hpp"

namespace gpusched {

/// The classes of waiting jobs that may fit now: those within the placement's maximum width; and of
/// the classes refused by each server alone, only those that a since changed server could host. The
/// latter is checked if jobs have demands and classes are many.
class PlaceableClasses {
 public:
  void begin(const Setup& setup, const ClassHeads& heads);

  /// Begins a walk: finds the servers that have changed since the last one ended.
  void begin_walk(const State& state);
  /// After every start in a walk.
  void measure(const State& state);
  /// All that waits has been judged by now.
  void end_walk(const State& state) noexcept;

  /// Whether any class has a head that the placement can hold.
  [[nodiscard]] bool has_any(const ClassHeads& heads) const;
  /// The lowest head of a class that may fit, or kNoKeyedJob. A job that needs more than `spare`
  /// GPUs may not exceed `longest`, as far as known.
  [[nodiscard]] KeyedJob least(const ClassHeads& heads, const State& state, ClassId& id,
                               std::int64_t spare = ClassHeads::Limit::kAny,
                               std::int64_t longest = ClassHeads::Limit::kAny) const;
  /// Whether a class that the placement refuses is refused by each server alone, which is
  /// remembered.
  [[nodiscard]] bool refuses_alone(const State& state, ClassId id) const noexcept {
    const JobClasses& classes = state.classes();
    const bool is_on_one =
        classes.gpus_per_node(id) == 0 || classes.gpus_per_node(id) == classes.gpus(id);
    return remembers_ && is_on_one &&
           classes.gpus(id) <= state.cluster().largest_server(classes.types(id));
  }

 private:
  [[nodiscard]] bool can_host(const State& state, ClassId id) const noexcept;

  Ref<Placement> placement_;
  std::vector<std::int64_t> widest_;  // that the placement can hold, of each group of classes
  bool remembers_ = false;
  std::uint64_t seen_ = 0;     // changes of servers
  bool are_too_many_ = false;  // each server may have changed
  std::vector<ServerId> changed_;
};

}  // namespace gpusched
