#include "base/parameters.hpp"
#include "base/registry.hpp"
#include "seams/order.hpp"

namespace gpusched {

/// Remaining virtual work: what a machine as fast as all GPUs would still need, times their
/// number. A job that runs is ahead by the work that its restart would cost, so that it gives way
/// only to one that gains more than that.
class RemainingVirtualWorkOrder final : public Order {
 public:
  explicit RemainingVirtualWorkOrder(const Parameters& parameters)
      : cost_(parameters.seconds("cost_s")),
        wide_cost_(parameters.number("wide_cost_s") < 0 ? cost_
                                                        : parameters.seconds("wide_cost_s")),
        narrow_gpus_(parameters.integer("narrow_gpus")) {}

  [[nodiscard]] KeyLifetime lifetime() const override { return KeyLifetime::service; }

  void rank(const QueueView& view, std::span<const JobId> jobs, std::span<double> key) override {
    for (std::size_t i = 0; i < jobs.size(); ++i) key[i] = rank_of(view, jobs[i]);
  }

  [[nodiscard]] bool has_lines(const State& /*state*/) const override { return true; }
  [[nodiscard]] KeyLine line(const QueueView& view, JobId job) override {
    if (!view.state().speed().is_fixed()) {
      return {.value = ordered(rank_of(view, job)),
              .slope = view.state().is_running(job) ? -1 : 0,
              .is_loose = true,
              .is_unbounded = true};
    }
    KeyLine line = remaining_work_line(view, job);
    if (view.state().is_running(job)) line.value -= restart_cost(view.state(), job).count();
    return line;
  }

 private:
  [[nodiscard]] double rank_of(const QueueView& view, JobId job) const {
    const State& state = view.state();
    double ticks = key_of(view.remaining(job));
    if (!state.speed().is_fixed()) {
      const IterationLimits limits = state.speed().limits(job);
      ticks = ticks * (limits.min / limits.low);
    }
    if (state.is_running(job)) ticks = ticks - key_of(restart_cost(state, job));
    return static_cast<double>(view.gpus(job)) * ticks;
  }

  [[nodiscard]] Time restart_cost(const State& state, JobId job) const {
    const Time extra = state.jobs().gpus(job) > narrow_gpus_ ? wide_cost_ : cost_;
    return state.jobs().restart_cost(job) + extra;
  }

  Time cost_;
  Time wide_cost_;
  std::int64_t narrow_gpus_;
};

GPUSCHED_REGISTER(
    Order, RemainingVirtualWorkOrder, .name = "a-srpt-p",
    .summary = "Preemptive A-SRPT: least remaining virtual work; a preemption must pay.",
    .source = "Ours: the order of A-SRPT (a-srpt), with preemption.",
    .flags = {Flag::preemptive, Flag::clairvoyant},
    .preemption = {.one_per_arrival = true, .reason = kNeverOvertaken})

}  // namespace gpusched
