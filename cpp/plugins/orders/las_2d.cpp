#include <algorithm>
#include <bit>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "base/check.hpp"
#include "base/registry.hpp"
#include "preemption/floored_crossings.hpp"
#include "seams/order.hpp"

namespace gpusched {
namespace {

/// Discretised two-dimensional LAS: a job sinks through queues as its attained GPU time passes
/// the limits; inside a queue first come, first served.
class DiscreteLas final : public Order {
 public:
  explicit DiscreteLas(const Parameters& parameters)
      : by_entry_(parameters.text("inside") == "entry"),
        lines_up_(parameters.text("inside") == "running"),
        is_floored_(parameters.text("crossing") == "floored"),
        promote_(parameters.number("promote")) {
    const std::int64_t beyond = parameters.text("sink") == "passed" ? 1 : 0;
    for (const double limit : parameters.list("limits")) {
      limits_.push_back(ticks_of_seconds(limit, "limits").count() + beyond);
    }
    if (!std::is_sorted(limits_.begin(), limits_.end()) ||
        std::adjacent_find(limits_.begin(), limits_.end()) != limits_.end()) {
      fail_input("policy 2d-las: parameter limits must ascend");
    }
    entry_bits_ = 62 - static_cast<int>(std::bit_width(limits_.size()));
  }

  [[nodiscard]] KeyLifetime lifetime() const override {
    return promote_ > 0 || lines_up_ ? KeyLifetime::clock : KeyLifetime::service;
  }
  [[nodiscard]] bool has_crossings() const override { return true; }
  [[nodiscard]] bool remembers() const override { return by_entry_ || lines_up_ || promote_ > 0; }
  [[nodiscard]] bool takes_turns() const override { return promote_ > 0; }

  void rank(const QueueView& view, std::span<const JobId> jobs, std::span<double> key) override {
    if (notes_decision(view) && lines_up_) line_up(view, jobs);
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      promote_starved(view, jobs[i]);
      key[i] = exact_key(place_of(view, jobs[i], queue_of(work(view, jobs[i]))));
    }
  }

  [[nodiscard]] bool has_lines(const State& /*state*/) const override { return true; }
  [[nodiscard]] KeyLine line(const QueueView& view, JobId job) override {
    notes_decision(view);
    promote_starved(view, job);
    const std::size_t queue = queue_of(work(view, job));
    const bool is_joining = lines_up_ && stand(view.state(), job, queue);
    const std::int64_t place = place_of(view, job, queue);
    if (is_joining) return {place};  // until the decision ends
    if (!view.state().is_running(job)) return {.value = place, .until = starves_at(view, job)};
    return {.value = place, .until = is_floored_ ? watch(view, job) : sinks_at(view, job)};
  }
  [[nodiscard]] std::span<const JobId> end_decision(const QueueView& view,
                                                    std::span<const JobId> stopped) override {
    if (!lines_up_) return {};
    return regroup(view.state(), stopped);
  }

  [[nodiscard]] Time next_crossing(const QueueView& view, JobId job) const override {
    const Time exact = sinks_at(view, job);
    if (!is_floored_ || exact == kNever) return exact;
    return FlooredCrossings::crossing(goes_on_at(view, job), left(view, job), view.gpus(job));
  }
  [[nodiscard]] Time next_crossing_of_all(const QueueView& view, Time bend) override {
    if (!is_floored_) return bend;
    return crossings_.next(view.state(), [&](JobId job) { return queue_of(work(view, job)); });
  }

 private:
  /// Where a job was last seen, only where an option needs it.
  struct Seen {
    std::size_t queue = 0;
    std::uint64_t entry = 0;  // index of the decision at which it entered its queue, or its place
    std::int64_t forgiven_ticks = 0;  // attained service before its last promotion
  };

  /// The tick at which a running job reaches its next limit; kNever if there is none.
  [[nodiscard]] Time sinks_at(const QueueView& view, JobId job) const {
    const std::int64_t attained = work(view, job);
    const std::size_t queue = queue_of(attained);
    if (queue == limits_.size()) return kNever;
    return goes_on_at(view, job) + Time{ceil_div(limits_[queue] - attained, view.gpus(job))};
  }

  [[nodiscard]] static Time goes_on_at(const QueueView& view, JobId job) {
    const Slot& run = view.state().slot(job);
    return std::max(view.now(), run.paid_at());
  }

  /// With crossing=floored: as if one GPU had all there is left to do to the next limit.
  [[nodiscard]] Time left(const QueueView& view, JobId job) const {
    const std::int64_t attained = work(view, job);
    return Time{limits_[queue_of(attained)] - attained / view.gpus(job)};
  }

  /// Watches a running job; returns when to call again.
  [[nodiscard]] Time watch(const QueueView& view, JobId job) {
    const Time exact = sinks_at(view, job);
    if (exact == kNever) return kNever;
    crossings_.add(view.state(), job, left(view, job), queue_of(work(view, job)));
    const Time from = goes_on_at(view, job);
    return view.now() < from ? from : exact;
  }

  /// Whether this is the first call of a decision.
  bool notes_decision(const QueueView& view) {
    if (remembers()) seen_.resize(view.state().jobs().num_jobs());
    if (view.now() == last_decision_) return false;
    last_decision_ = view.now();
    ++num_decisions_;
    if (num_decisions_ >> decision_bits() != 0) {
      fail_input("policy 2d-las: with " + std::to_string(limits_.size()) +
                 " limits a run may take fewer than 2^" + std::to_string(decision_bits()) +
                 " decisions");
    }
    return true;
  }

  /// The job's queue, and where it comes in it before JobIds are compared.
  [[nodiscard]] std::int64_t place_of(const QueueView& view, JobId job, std::size_t queue) {
    return static_cast<std::int64_t>(queue << entry_bits_ | entry(view.state(), job, queue));
  }

  /// Where the job comes in its queue, before JobIds are compared.
  [[nodiscard]] std::uint64_t entry(const State& state, JobId job, std::size_t queue) {
    if (!by_entry_ && !lines_up_) return state.queue_number(job);
    Seen& seen = seen_[job];
    if (lines_up_) return seen.entry;
    if (seen.entry == 0 || seen.queue != queue) {
      seen.queue = queue;
      seen.entry = num_decisions_;
    }
    return seen.entry;
  }

  /// At the start of a decision: running jobs first, then waiting ones, each in their previous
  /// order, then new jobs, then jobs that changed queues. One line serves all queues.
  void line_up(const QueueView& view, std::span<const JobId> jobs) {
    const State& state = view.state();
    if (has_numbers_) gather_line();
    std::erase_if(line_,
                  [&](JobId job) { return !state.is_running(job) && !state.is_waiting(job); });
    std::stable_partition(line_.begin(), line_.end(),
                          [&](JobId job) { return state.is_running(job); });
    const auto num_stood = static_cast<std::ptrdiff_t>(line_.size());
    for (const JobId job : jobs) {
      if (seen_[job].entry == 0) line_.push_back(job);
    }
    for (const JobId job : line_) promote_starved(view, job);
    const auto has_moved = [&](JobId job) { return seen_[job].queue != queue_of(work(view, job)); };
    const auto came = line_.begin() + num_stood;
    const auto moved =
        std::stable_partition(line_.begin(), came, [&](JobId job) { return !has_moved(job); });
    std::sort(moved, came);
    std::rotate(moved, came, line_.end());
    for (std::size_t place = 0; place < line_.size(); ++place) {
      seen_[line_[place]].queue = queue_of(work(view, line_[place]));
      seen_[line_[place]].entry = place + 1;
    }
  }

  // The same line by numbers, which jobs keep while nothing happens to them. Running jobs are
  // numbered from 1. Waiting jobs extend in both directions from the middle: downwards for stopped
  // jobs, and upwards by two per decision, for new jobs and those that change queues.

  [[nodiscard]] int decision_bits() const noexcept {
    return lines_up_ ? entry_bits_ - 2 : entry_bits_;
  }
  [[nodiscard]] std::uint64_t middle() const noexcept {
    return std::uint64_t{1} << (entry_bits_ - 1);
  }
  [[nodiscard]] bool is_among_waiting(JobId job) const noexcept {
    return seen_[job].entry >= middle() - num_stopped_;
  }

  /// Gives a job its number at this decision; returns whether it is newly running.
  bool stand(const State& state, JobId job, std::size_t queue) {
    has_numbers_ = true;
    Seen& seen = seen_[job];
    const bool is_new = seen.entry == 0;
    if (is_new || seen.queue != queue) {
      seen.queue = queue;
      seen.entry = middle() + 2 * num_decisions_ + (is_new ? 0 : 1);
    }
    if (!state.is_running(job) || !is_among_waiting(job)) return false;
    joining_.push_back(job);
    return true;
  }

  /// At the end of the decision: newly running jobs go behind the running ones, stopped jobs before
  /// the waiting ones, each in their previous order. Returns the former.
  std::span<const JobId> regroup(const State& state, std::span<const JobId> stopped) {
    joined_.clear();
    joined_.swap(joining_);
    std::erase_if(joined_, [&](JobId job) { return !state.is_running(job); });
    sort_as_they_stand(joined_);
    for (const JobId job : joined_) seen_[job].entry = ++num_joined_;
    stopped_.assign(stopped.begin(), stopped.end());
    std::erase_if(stopped_, [&](JobId job) { return is_among_waiting(job); });
    sort_as_they_stand(stopped_);
    num_stopped_ += stopped_.size();
    std::uint64_t place = middle() - num_stopped_;
    for (const JobId job : stopped_) seen_[job].entry = place++;
    return joined_;
  }

  void sort_as_they_stand(std::vector<JobId>& jobs) const {
    std::sort(jobs.begin(), jobs.end(), [&](JobId a, JobId b) {
      return seen_[a].entry != seen_[b].entry ? seen_[a].entry < seen_[b].entry : a < b;
    });
  }

  /// From here on without numbers.
  void gather_line() {
    has_numbers_ = false;
    line_.clear();
    for (JobId job = 0; job < seen_.size(); ++job) {
      if (seen_[job].entry != 0) line_.push_back(job);
    }
    sort_as_they_stand(line_);
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

  /// When a waiting job will have waited too long; kNever if it is in the first queue.
  [[nodiscard]] Time starves_at(const QueueView& view, JobId job) const {
    if (promote_ == 0 || queue_of(work(view, job)) == 0) return kNever;
    const Time executed = view.attained(job) - Time{seen_[job].forgiven_ticks};
    const double patience = promote_ * key_of(executed);
    if (executed <= Time{0} || patience >= key_of(kNever) / 2) return kNever;
    const auto ticks = static_cast<std::int64_t>(patience) + 1;  // the first that is above it
    return view.state().history(job).idle_since + Time{ticks};
  }

  void promote_starved(const QueueView& view, JobId job) {
    if (promote_ == 0 || view.state().is_running(job) || starves_at(view, job) > view.now()) return;
    seen_[job].forgiven_ticks = view.attained(job).count();
  }

  std::vector<std::int64_t> limits_;
  bool by_entry_;
  bool lines_up_;
  bool is_floored_;
  double promote_;
  std::vector<Seen> seen_;
  std::vector<JobId> line_;  // with lines_up_: in order, over all queues
  bool has_numbers_ = false;  // ordered by `entry`, not by `line_`
  std::vector<JobId> joining_;
  std::vector<JobId> joined_;
  std::vector<JobId> stopped_;
  std::uint64_t num_joined_ = 0;
  std::uint64_t num_stopped_ = 0;
  FlooredCrossings crossings_;
  Time last_decision_{-1};
  std::uint64_t num_decisions_ = 0;
  int entry_bits_ = 0;  // a key has the queue above them, the entry in them
};

void apply_las_preset(Parameters& parameters) {
  if (parameters.text("preset") == "tiresias-artefact") {
    parameters.preset("inside", std::string("running"));
    parameters.preset("crossing", std::string("floored"));
    parameters.preset("period_s", 0.0);
  }
  if (parameters.text("preset") != "lucid") return;
  parameters.preset("limits", NumberList{18000});
  parameters.preset("epoch", std::string("period"));
  parameters.preset("quota", std::string("hold"));
  parameters.preset("restart", std::string("work"));
  parameters.preset("cost_s", 40.0);
  parameters.preset("wide_cost_s", 60.0);
  parameters.preset("overrun_s", 1.0);
  parameters.preset("sink", std::string("passed"));
}

}  // namespace

GPUSCHED_REGISTER(
    Order, DiscreteLas, .name = "2d-las",
    .summary = "Discretised two-dimensional LAS: queues by attained GPU time, FIFO inside.",
    .source = "Gu et al., Tiresias, NSDI 2019; preset lucid: Hu et al., Lucid, ASPLOS 2023.",
    .differs =
        "Queues are ordered by submit and a limit acts at its exact time; the authors' program "
        "puts running jobs first and checks limits later (preset=tiresias-artefact).",
    .flags = {Flag::preemptive},
    .preemption = {.per_entry = "limits",
                   .reason = "GPUs are reassigned when a job arrives or finishes, at multiples "
                             "of the period, and when a running job crosses a limit: once for "
                             "each limit, with crossing=exact and promote=0."},
    .parameters =
        {{.name = "preset",
          .fallback = std::string("tiresias"),
          .help = "sets the defaults of other parameters; tiresias: limits 3250/7200; "
                  "tiresias-artefact: as the authors' program, inside=running, crossing=floored, "
                  "period_s=0; lucid: as the authors' program, limit 18000, sink=passed, decisions "
                  "each 60 s, quota=hold, restart=work with 40 s (60 s above 8 GPUs), overrun_s=1",
          .choices = {"tiresias", "tiresias-artefact", "lucid"}},
         {.name = "limits",
          .fallback = NumberList{3250, 7200},
          .help = "GPU-seconds at which a job is demoted to the next queue",
          .minimum = 1e-6,
          .maximum = 9e9},
         {.name = "inside",
          .fallback = std::string("submit"),
          .help = "order inside a queue: by submit; by entry into the queue; or running: "
                  "running jobs first, in their previous order, new ones last",
          .choices = {"submit", "entry", "running"}},
         {.name = "crossing",
          .fallback = std::string("exact"),
          .help = "when a running job that crosses a limit causes a decision: exact: at that "
                  "microsecond; floored: after floor((limit - executed seconds) / GPUs) seconds",
          .choices = {"exact", "floored"}},
         {.name = "sink",
          .fallback = std::string("reached"),
          .help = "whether a job is demoted when it reaches a limit or when it passes it",
          .choices = {"reached", "passed"}},
         {.name = "promote",
          .fallback = 0.0,
          .help = "a job returns to the first queue once its current wait exceeds this many "
                  "times its executed time (0: never)",
          .minimum = 0,
          .maximum = 1e9},
         turn_period()},
    .adjust = apply_las_preset)

}  // namespace gpusched
