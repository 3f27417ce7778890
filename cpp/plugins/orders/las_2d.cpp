#include <algorithm>
#include <bit>
#include <limits>
#include <string>
#include <vector>

#include "base/check.hpp"
#include "base/registry.hpp"
#include "seams/order.hpp"

namespace gpusched {
namespace {

/// Discretised two-dimensional LAS: a job sinks through queues as its attained GPU time passes
/// the limits; inside a queue first come, first served.
class DiscreteLas final : public Order {
 public:
  explicit DiscreteLas(const Parameters& parameters)
      : by_entry_(parameters.text("inside") == "entry"), promote_(parameters.number("promote")) {
    for (const double limit : parameters.list("limits")) {
      limits_.push_back(ticks_of_seconds(limit, "limits").count());
    }
    if (!std::is_sorted(limits_.begin(), limits_.end()) ||
        std::adjacent_find(limits_.begin(), limits_.end()) != limits_.end()) {
      fail_input("policy 2d-las: parameter limits must ascend");
    }
    entry_bits_ = 62 - static_cast<int>(std::bit_width(limits_.size()));
  }

  [[nodiscard]] KeyLifetime lifetime() const override {
    return promote_ > 0 ? KeyLifetime::clock : KeyLifetime::service;
  }
  [[nodiscard]] bool has_crossings() const override { return true; }
  [[nodiscard]] bool remembers() const override { return by_entry_ || promote_ > 0; }
  [[nodiscard]] bool takes_turns() const override { return promote_ > 0; }

  void rank(const QueueView& view, std::span<const JobId> jobs, std::span<double> key) override {
    if (view.now() != last_decision_) {
      last_decision_ = view.now();
      ++num_decisions_;
      if (num_decisions_ >> entry_bits_ != 0) {
        fail_input("policy 2d-las: with " + std::to_string(limits_.size()) +
                   " limits a run may take fewer than 2^" + std::to_string(entry_bits_) +
                   " decisions");
      }
    }
    if (by_entry_ || promote_ > 0) seen_.resize(view.state().jobs().num_jobs());
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      if (promote_ > 0) promote_starved(view, jobs[i]);
      const std::size_t queue = queue_of(work(view, jobs[i]));
      key[i] = exact_key(static_cast<std::int64_t>(queue << entry_bits_ | entry(jobs[i], queue)));
    }
  }

  [[nodiscard]] bool has_lines(const State& state) const override {
    return state.speed().is_fixed() && !remembers();
  }
  [[nodiscard]] KeyLine line(const QueueView& view, JobId job) const override {
    const auto queue = static_cast<std::int64_t>(queue_of(work(view, job)));
    const bool sinks = view.state().is_running(job);
    return {.value = queue, .until = sinks ? next_crossing(view, job) : kNever};
  }

  [[nodiscard]] Time next_crossing(const QueueView& view, JobId job) const override {
    const std::int64_t attained = work(view, job);
    const std::size_t queue = queue_of(attained);
    if (queue == limits_.size()) return kNever;
    const Slot& run = view.state().slot(job);
    const Time progress_from = std::max(view.now(), run.start + run.cost);
    return progress_from + Time{ceil_div(limits_[queue] - attained, view.gpus(job))};
  }

 private:
  /// Where a job was last seen, only where an option needs it.
  struct Seen {
    std::size_t queue = 0;
    std::uint64_t entry = 0;          // index of the decision at which it entered its queue
    std::int64_t forgiven_ticks = 0;  // attained service before its last promotion
  };

  /// Where the job comes in its queue, before JobIds are compared.
  [[nodiscard]] std::uint64_t entry(JobId job, std::size_t queue) {
    if (!by_entry_) return 0;
    Seen& seen = seen_[job];
    if (seen.entry == 0 || seen.queue != queue) {
      seen.queue = queue;
      seen.entry = num_decisions_;
    }
    return seen.entry;
  }

  [[nodiscard]] std::int64_t work(const QueueView& view, JobId job) const {
    std::int64_t ticks = view.attained(job).count();
    if (promote_ > 0 && job < seen_.size()) ticks -= seen_[job].forgiven_ticks;
    std::int64_t product = 0;
    if (__builtin_mul_overflow(ticks, std::int64_t{view.gpus(job)}, &product)) {
      return std::numeric_limits<std::int64_t>::max();
    }
    return product;
  }

  [[nodiscard]] std::size_t queue_of(std::int64_t work) const {
    return static_cast<std::size_t>(std::upper_bound(limits_.begin(), limits_.end(), work) -
                                    limits_.begin());
  }

  void promote_starved(const QueueView& view, JobId job) {
    const State& state = view.state();
    if (state.is_running(job) || queue_of(work(view, job)) == 0) return;
    const Time attained = view.attained(job);
    const double executed = static_cast<double>(attained.count() - seen_[job].forgiven_ticks);
    const double waited = key_of(view.now() - state.record(job).idle_since);
    if (executed > 0 && waited > promote_ * executed) seen_[job].forgiven_ticks = attained.count();
  }

  std::vector<std::int64_t> limits_;
  bool by_entry_;
  double promote_;
  std::vector<Seen> seen_;
  Time last_decision_{-1};
  std::uint64_t num_decisions_ = 0;
  int entry_bits_ = 0;  // a key has the queue above them, the entry in them
};

void apply_las_preset(Parameters& parameters) {
  if (parameters.text("preset") != "lucid") return;
  parameters.preset("limits", std::vector<double>{18000});
  parameters.preset("epoch", std::string("period"));
  parameters.preset("quota", std::string("hold"));
  parameters.preset("restart", std::string("work"));
  parameters.preset("cost_s", 40.0);
  parameters.preset("wide_cost_s", 60.0);
}

}  // namespace

GPUSCHED_REGISTER(
    Order, DiscreteLas, .name = "2d-las",
    .summary = "Discretised two-dimensional LAS: queues by attained GPU time, FIFO inside.",
    .source = "Gu et al., Tiresias, NSDI 2019; preset lucid: Hu et al., Lucid, ASPLOS 2023.",
    .flags = {Flag::preemptive},
    .parameters = {{.name = "preset",
                    .fallback = std::string("tiresias"),
                    .help = "tiresias: limits 3250/7200; lucid: limit 18000, decisions each 60 s, "
                            "quota=hold, restart=work with 40 s (60 s above 8 GPUs)",
                    .choices = {"tiresias", "lucid"}},
                   {.name = "limits",
                    .fallback = std::vector<double>{3250, 7200},
                    .help = "GPU-seconds at which a job sinks into the next queue",
                    .minimum = 1e-6,
                    .maximum = 9e9},
                   {.name = "inside",
                    .fallback = std::string("submit"),
                    .help = "order inside a queue: by submit, or by entry into the queue",
                    .choices = {"submit", "entry"}},
                   {.name = "promote",
                    .fallback = 0.0,
                    .help = "back to the first queue once the present wait exceeds this many times "
                            "the executed time (0: never)",
                    .minimum = 0,
                    .maximum = 1e9},
                   turn_period()},
    .adjust = apply_las_preset)

}  // namespace gpusched
