#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "base/clone.hpp"
#include "base/registry.hpp"
#include "elastic/elastic_jobs.hpp"
#include "elastic/hysteresis.hpp"
#include "elastic/running_by_key.hpp"
#include "elastic/sorted_line.hpp"
#include "elastic/waiting_line.hpp"
#include "seams/slow_twins.hpp"

namespace gpusched {
namespace {

/// In the order of deadlines each job takes the largest width that is left, even if a smaller one
/// is faster. GPUs are given out at most once per slot, whole seconds apart. With admission, a job
/// is not admitted if it or one before it would then miss its deadline, as far as predictable.
class EdfGreatest final : public Scheduler {
 public:
  explicit EdfGreatest(const Parameters& parameters)
      : slot_(parameters.seconds("slot_s")), admits_all_(!parameters.flag("admission")) {}

  void begin(const Setup& setup) override {
    jobs_.begin(setup, false, true);
    control_ = &setup.control;
    line_.clear();
    holders_.begin(takes_slow_twins);
    waiting_.clear();
    came_.clear();
    turned_down_.clear();
    decisions_.clear();
    is_due_ = false;
    num_broken_ = 0;
    last_ = kNever;
  }

  void decide(const State& state, const Instant& instant, Actions& actions) override {
    const std::size_t num_before = line_.size();
    for (const JobId job : instant.finished) {
      num_broken_ += is_promised(state, job) && state.now() > state.jobs().deadline(job) ? 1 : 0;
      leave(state, job);
    }
    jobs_.open(state, instant);
    came_.insert(came_.end(), instant.arrived.begin(), instant.arrived.end());
    if (jobs_.empty()) return;
    // The end of a job that was not admitted affects no other job.
    is_due_ = is_due_ || line_.size() < num_before || !came_.empty() || line_.empty();
    if (!is_due_) return;
    if (const Time at = next_decision(state.now()); state.now() < at) {
      actions.wake(at);
      return;
    }
    is_due_ = false;
    line_up(state);
    give_out(state, actions);
    last_ = state.now();
  }

  [[nodiscard]] bool withdraw(const State& state, JobId job) override {
    if (std::erase(came_, job) == 0) {
      const std::size_t num_before = line_.size();
      leave(state, job);
      is_due_ = is_due_ || line_.size() < num_before;
      ElasticJobs::Job& own = jobs_.job(job);
      if (own.is_waiting) waiting_.forget(own);
    }
    jobs_.forget(job);
    return true;
  }

  [[nodiscard]] std::vector<Decision> decisions() const override { return decisions_; }

  [[nodiscard]] std::vector<std::string> warnings() const override {
    if (num_broken_ == 0) return {};
    return {"edf-greatest: " + std::to_string(num_broken_) +
            " admitted jobs missed their deadlines"};
  }

 private:
  struct Entry {
    Time deadline;
    JobId id;

    friend bool operator<(const Entry& a, const Entry& b) noexcept {
      return a.deadline != b.deadline ? a.deadline < b.deadline : a.id < b.id;
    }
  };
  /// The first instant from now on that is a slot or more, and whole seconds, after the last time.
  [[nodiscard]] Time next_decision(Time now) const {
    if (last_ == kNever) return now;
    const Time whole{ceil_div((now - last_).count(), kTicksPerSecond) * kTicksPerSecond};
    return last_ + std::max(slot_, whole);
  }

  /// GPUs of a type that are free from an instant on, until the next.
  struct Step {
    Time at;
    std::int64_t free;
  };
  using Profile = std::vector<Step>;

  [[nodiscard]] static bool is_wider(const Configuration& one, const Configuration* other) {
    if (other == nullptr || one.gpus != other->gpus)
      return other == nullptr || one.gpus > other->gpus;
    return one.rate > other->rate;
  }

  /// Those without a deadline come behind all others, and those that were turned down behind these.
  [[nodiscard]] auto key_by(const State& state) const {
    return [&](const ElasticJobs::Job& job) {
      if (is_turned_down(job.id)) return kMaxTicks + 2;
      return std::min(kMaxTicks + 1, state.jobs().deadline(job.id).count());
    };
  }

  [[nodiscard]] bool is_turned_down(JobId job) const { return turned_down_.contains(job); }

  [[nodiscard]] bool is_promised(const State& state, JobId job) const {
    return !admits_all_ && state.jobs().deadline(job) != kNever && !is_turned_down(job);
  }

  void leave(const State& state, JobId id) {
    ElasticJobs::Job& job = jobs_.job(id);
    if (!job.held.empty()) holders_.erase({key_by(state)(job), id, &job});
    if (turned_down_.erase(id) == 0) line_.erase({state.jobs().deadline(id), id});
  }

  /// All arrivals, at once without admission.
  void line_up(const State& state) {
    entries_.clear();
    for (const JobId id : came_) entries_.push_back({state.jobs().deadline(id), id});
    if (admits_all_) {
      line_.insert_all(entries_);
    } else {
      for (const Entry& entry : entries_) consider(state, entry);
    }
    movers_.clear();
    for (const JobId id : came_) movers_.push_back(&jobs_.job(id));
    waiting_.add(movers_, key_by(state));
    came_.clear();
  }

  void consider(const State& state, const Entry& entry) {
    control_->check();
    line_.insert(entry);
    if (entry.deadline == kNever) return;
    const JobId id = entry.id;
    Decision decision{id, state.now(), keeps_deadlines(state), 0, state.jobs().value(id), 0, ""};
    decision.from = state.now();
    decision.until = entry.deadline;
    if (decision.is_admitted) {
      decision.reason = "it and all others end in time";
    } else {
      decision.reason = "it or another job would miss its deadline";
      line_.erase(entry);
      turned_down_.insert(id);
    }
    decisions_.push_back(decision);
  }

  /// Whether all in the line end in time, each on the greatest width that those before it leave.
  [[nodiscard]] bool keeps_deadlines(const State& state) {
    std::vector<Profile> profiles;
    for (int type = 0; type < jobs_.num_types(); ++type) {
      profiles.push_back({{state.now(), jobs_.total(type)}});
    }
    for (auto entry = line_.begin(); !entry.is_at_end() && entry->deadline != kNever; ++entry) {
      control_->check();
      const ElasticJobs::Job& job = jobs_.job(entry->id);
      if (job.is_mixed()) continue;
      if (plan(state, job, profiles) > entry->deadline) return false;
    }
    return true;
  }

  /// When the job would end, which then has its GPUs until the end of a slot.
  [[nodiscard]] Time plan(const State& state, const ElasticJobs::Job& job,
                          std::vector<Profile>& profiles) {
    auto left = static_cast<double>(state.remaining(job.id).count());
    const Time deadline = state.jobs().deadline(job.id);
    next_.assign(profiles.size(), 0);
    for (Time at = state.now();;) {
      Time until = kNever;
      for (std::size_t type = 0; type < profiles.size(); ++type) {
        const Profile& profile = profiles[type];
        while (next_[type] < profile.size() && profile[next_[type]].at <= at) ++next_[type];
        if (next_[type] < profile.size()) until = std::min(until, profile[next_[type]].at);
      }
      const Configuration* best = nullptr;
      for (const Configuration& known : job.configurations) {
        const auto type = static_cast<std::size_t>(known.type);
        if (known.gpus <= profiles[type][next_[type] - 1].free && is_wider(known, best)) {
          best = &known;
        }
      }
      if (best != nullptr) {
        const Time lasts{ceil_ticks(left / best->rate)};
        const auto type = static_cast<std::size_t>(best->type);
        if (until == kNever || lasts <= until - at) {
          const Time end = at + lasts;
          const std::int64_t slots = ceil_div((end - state.now()).count(), slot_.count());
          take(profiles[type], next_[type], at, state.now() + slots * slot_, best->gpus);
          return end;
        }
        left -= static_cast<double>((until - at).count()) * best->rate;
        take(profiles[type], next_[type], at, until, best->gpus);
      }
      if (until == kNever || until > deadline) return kNever;
      at = until;
    }
  }

  /// `from` is in the last step before `next`.
  static void take(Profile& profile, std::size_t next, Time from, Time until, int gpus) {
    auto step = profile.begin() + static_cast<std::ptrdiff_t>(next) - 1;
    if (step->at < from) step = profile.insert(step + 1, {from, step->free});
    std::int64_t free = 0;
    for (; step != profile.end() && step->at < until; ++step) {
      free = step->free;
      step->free -= gpus;
    }
    if (step == profile.end() || step->at > until) profile.insert(step, {until, free});
  }

  void give_out(const State& state, Actions& actions) {
    jobs_.take_all_back();
    holders_.give_out(jobs_, waiting_, Time{0}, limit_to_held,
                      [this](ElasticJobs::Job& job) { give(job); });
    jobs_.apply(state, actions);
    holders_.update(jobs_, jobs_.touched(), key_by(state), limit_to_held);
    waiting_.update(jobs_.touched(), key_by(state));
  }

  /// The job keeps its GPUs while they are left for it and nothing wider, or equally wide and
  /// faster, is.
  static void limit_to_held(const ElasticJobs::Job& job, Hysteresis& limits) {
    if (job.is_mixed()) return limits.forbid();
    const Configuration held{job.held_type(), job.held_gpus(), job.held_rate};
    bool is_known = false;
    for (const Configuration& known : job.configurations) {
      is_known |= known == held;
      if (is_wider(known, &held)) limits.bar(known.type, known.gpus);
    }
    if (is_known) {
      limits.hold(job.held.front());
    } else {
      limits.forbid();
    }
  }

  void give(ElasticJobs::Job& job) {
    const Configuration* best = nullptr;
    for (const Configuration& known : job.configurations) {
      if (jobs_.fits(job, known) && is_wider(known, best)) best = &known;
    }
    if (best == nullptr) return;
    // Between two that are equally wide and fast, the job keeps its own.
    const bool holds_as_good = job.held_gpus() == best->gpus && job.held_rate >= best->rate;
    if (holds_as_good && jobs_.keep(job)) return;
    jobs_.give(job, *best);
  }

  Time slot_;
  bool admits_all_;
  ElasticJobs jobs_;
  Ref<const RunControl> control_;
  SortedLine<Entry> line_;       // by (deadline, job)
  std::set<JobId> turned_down_;  // best effort, behind those in the line
  RunningByKey holders_;         // those of both that hold GPUs
  WaitingLine waiting_;          // and those that do not
  std::vector<JobId> came_;      // since GPUs were given out last
  // Of the present decision.
  std::vector<Entry> entries_;
  std::vector<std::size_t> next_;  // step of each type in a plan
  std::vector<Ref<ElasticJobs::Job>> movers_;
  std::vector<Decision> decisions_;
  std::uint64_t num_broken_ = 0;
  bool is_due_ = false;  // GPUs are to be given out
  Time last_ = kNever;  // when GPUs were given out last; kNever: not yet
};

}  // namespace

GPUSCHED_REGISTER(
    Scheduler, EdfGreatest, .name = "edf-greatest",
    .summary =
        "Earliest deadline first, each job on as many GPUs as are left for it; once per slot.",
    .source = "The rule of edf and edf-accessctrl in the program of ElasticFlow, ASPLOS 2023.",
    .differs =
        "Waits for its slot even if no job runs; the program knows when no more jobs will come, "
        "and gives out GPUs at once after the last submission.",
    .flags = {Flag::preemptive, Flag::elastic, Flag::deadlines},
    .preemption =
        {.least_run = "slot_s",
         .reason = "GPUs are given out at most once per slot, and jobs start and stop only then."},
    .parameters = {{.name = "slot_s",
                    .fallback = 60.0,
                    .help = "seconds of a slot: the minimum time between reallocations",
                    .minimum = 1,
                    .maximum = 1e9},
                   {.name = "admission",
                    .fallback = false,
                    .help = "do not admit a job if it or another would then miss its deadline; "
                            "it becomes best effort",
                    .flags = {Flag::clairvoyant}}})

}  // namespace gpusched
