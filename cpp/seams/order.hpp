#pragma once

#include <bit>
#include <cstdint>
#include <span>

#include "base/flags.hpp"
#include "base/ordered.hpp"
#include "base/parameters.hpp"
#include "seams/queue_view.hpp"

namespace gpusched {

/// How long a key is valid, so that the engine recomputes no more than necessary.
enum class KeyLifetime : std::uint8_t {
  fixed,    ///< never changes after arrival
  service,  ///< changes only while the job runs
  clock,    ///< changes with time
};

/// The key of a job as a line in time, valid while the job goes on waiting or running: factor *
/// (value + slope * (t - now)) for t from now until `until`. A term shared by all jobs of an
/// instant may be omitted. On a loose line, `factor * value` is the current key, but `slope` gives
/// only the direction of `value`, which changes by at most kMostLoose per tick.
struct KeyLine {
  std::int64_t value;
  std::int32_t factor = 1;
  int slope = 0;  ///< -1, 0 or 1
  Time until = kNever;
  bool is_product = false;  ///< the key is a double, which is exact up to 2^53 alone
  bool is_loose = false;
  bool is_unbounded = false;  ///< a loose line with steps of any size
};

/// The remaining work of a job falls by at most 1 per tick; rounding at each change of its rate and
/// up to a whole tick adds less than another one.
inline constexpr int kMostLoose = 2;

/// Orders the jobs that compete for GPUs. One virtual call per decision, never one per job:
/// the loop over `jobs` lives inside the implementation.
class Order : public Flagged {
 public:
  virtual ~Order() = default;

  [[nodiscard]] virtual KeyLifetime lifetime() const { return KeyLifetime::fixed; }

  /// Writes one finite key per job. Smallest key first; ties go to the lower JobId.
  virtual void rank(const QueueView& view, std::span<const JobId> jobs, std::span<double> key) = 0;

  /// The next tick at which the key of a running job steps; kNever if it does not. Called after
  /// each decision for orders of lifetime `service`.
  [[nodiscard]] virtual Time next_crossing(const QueueView& /*view*/, JobId /*job*/) const {
    return kNever;
  }
  [[nodiscard]] virtual bool has_crossings() const { return false; }
  /// The next of all running jobs, where keys are lines; `bend`: at which the first of these bends.
  [[nodiscard]] virtual Time next_crossing_of_all(const QueueView& /*view*/, Time bend) {
    return bend;
  }

  /// Whether running makes a job permanently less urgent, so that equals take turns at each timer.
  [[nodiscard]] virtual bool takes_turns() const { return false; }

  /// Whether a rank depends on earlier calls, so that no decision may leave it out.
  [[nodiscard]] virtual bool remembers() const { return false; }

  /// Whether `line` gives the keys of this run. They then compare like those of `rank`, as long as
  /// no product exceeds 2^53. Called only at decisions, also about lines that bend at one.
  [[nodiscard]] virtual bool has_lines(const State& /*state*/) const { return false; }
  [[nodiscard]] virtual KeyLine line(const QueueView& /*view*/, JobId /*job*/) { return {0}; }
  /// At the end of a decision by lines, before the lines of the jobs that it stopped are read: the
  /// running jobs whose lines must be redrawn for the next one.
  [[nodiscard]] virtual std::span<const JobId> end_decision(const QueueView& /*view*/,
                                                            std::span<const JobId> /*stopped*/) {
    return {};
  }

  /// Whether the key is the remaining service itself, which allows the fast engine for a pool.
  [[nodiscard]] virtual bool is_remaining_service() const { return false; }
};

/// An order with a key that is a function of the view and the job.
template <class Key>
class KeyOrder final : public Order {
 public:
  [[nodiscard]] KeyLifetime lifetime() const override { return Key::kLifetime; }
  [[nodiscard]] bool is_remaining_service() const override {
    return requires { requires Key::kIsRemainingService; };
  }

  [[nodiscard]] bool takes_turns() const override {
    return requires { requires Key::kTakesTurns; };
  }

  void rank(const QueueView& view, std::span<const JobId> jobs, std::span<double> key) override {
    for (std::size_t i = 0; i < jobs.size(); ++i) key[i] = Key{}(view, jobs[i]);
  }

  [[nodiscard]] bool has_lines(const State& /*state*/) const override { return kKnowsLines; }
  [[nodiscard]] KeyLine line(const QueueView& view, JobId job) override {
    if constexpr (kKnowsLines) {
      return Key::line(view, job);
    } else {
      return Order::line(view, job);
    }
  }

 private:
  static constexpr bool kKnowsLines =
      requires(const QueueView& view, JobId job) { Key::line(view, job); };
};

/// The remaining service as a line, a loose one where speeds vary.
[[nodiscard]] inline KeyLine remaining_line(const QueueView& view, JobId job) noexcept {
  const State& state = view.state();
  const Time left = view.remaining(job);
  if (!state.is_running(job)) return {left.count()};
  if (state.has_progress()) return {.value = left.count(), .slope = -1, .is_loose = true};
  const Slot& run = state.slot(job);
  const Time paid = run.paid_at();
  if (view.now() < paid) return {.value = left.count(), .until = paid};
  if (left == kTick) return {left.count()};  // and not less, whatever was predicted
  const Time last = view.now() + (left - kTick);
  const bool bends = last + kTick < run.end();  // and is not at its end by then
  return {.value = left.count(), .slope = -1, .until = bends ? last : kNever};
}

/// GPUs times the remaining service, likewise.
[[nodiscard]] inline KeyLine remaining_work_line(const QueueView& view, JobId job) noexcept {
  KeyLine line = remaining_line(view, job);
  line.factor = view.gpus(job);
  line.is_product = true;
  return line;
}

/// The attained service as a line. It is time with GPUs, whatever the speed.
[[nodiscard]] inline KeyLine attained_line(const QueueView& view, JobId job) noexcept {
  const State& state = view.state();
  const Time attained = view.attained(job);
  if (!state.is_running(job)) return {attained.count()};
  const Slot& run = state.slot(job);
  const Time paid = run.paid_at();
  if (view.now() < paid) return {.value = attained.count(), .until = paid};
  return {.value = attained.count(), .slope = 1};
}

/// `period_s` of an order under which waiting jobs get their turn over time.
inline ParameterInfo turn_period() {
  return {.name = "period_s",
          .fallback = 60.0,
          .help =
              "seconds between decisions while a job waits; with epoch=period the only "
              "decisions",
          .minimum = 0,
          .maximum = 1e9,
          .least_positive = 1e-3};
}

/// Ticks as a number to calculate with: exact up to 2^53, where every predicted service lies.
constexpr double key_of(Time time) noexcept { return static_cast<double>(time.count()); }

/// A key that keeps any two whole numbers apart, up to 2^63 - 2^53 on both sides of 0: the number
/// as the pattern of a double, which rises with its value. Nothing can be calculated with it.
constexpr double exact_key(std::int64_t number) noexcept {
  // Bit patterns below the lowest normal double may be treated as 0.
  constexpr std::int64_t kLeastNormal = std::int64_t{1} << 52;
  const double size = std::bit_cast<double>(kLeastNormal + (number < 0 ? -number : number));
  return number < 0 ? -size : size;
}

/// The order of submission as a key.
inline double queue_key(const State& state, JobId job) noexcept {
  return state.jobs().has_requeues_back() ? static_cast<double>(state.queue_number(job))
                                          : key_of(state.jobs().submit(job));
}

/// Comes after the key of any time of a run.
inline constexpr double kLastKey = exact_key(kMaxTicks + 1);

}  // namespace gpusched
