#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/registry.hpp"
#include "base/stop_check.hpp"
#include "gangs/free_servers.hpp"
#include "gangs/round_robin_groups.hpp"
#include "model/allocation.hpp"
#include "seams/scheduler.hpp"
#include "seams/state.hpp"

namespace gpusched {
namespace {

/// Time slices. Servers are handed out whole, in sets, to classes of jobs of one width. Each set has
/// a line of jobs, of which the first run, as many as it has GPUs for; at the end of a slice they go
/// behind the others. Then classes get and give back sets, too, by the GPUs that their jobs ask for.
class Gandiva final : public Scheduler {
 public:
  explicit Gandiva(const Parameters& parameters) : slice_(parameters.seconds("slice_s")) {}

  static std::vector<ParameterInfo> parameters() {
    return {{.name = "slice_s",
             .fallback = 60.0,
             .help = "seconds of a time slice: jobs take turns at its multiples",
             .minimum = 1,
             .maximum = 1e9}};
  }

  void begin(const Setup& setup) override {
    stop_.emplace(setup.control);
    free_.begin(setup.state.cluster());
    classes_.clear();
    turns_.clear();
    next_name_ = 1;
    paid_by_ = Time{0};
  }

  void decide(const State& state, const Instant& instant, Actions& actions) override {
    turns_.resize(state.num_arrived());
    for (const JobId job : instant.finished) {
      classes_[kind_of(state, job)].sets.leave(turns_[job].set, job);
      turns_[job] = {};
    }
    for (auto& [kind, own] : classes_) own.sets.settle();
    if (state.now().count() % slice_.count() == 0) end_slice(state);
    for (auto& [kind, own] : classes_) {
      own.sets.close_empty([&](TurnSet& set) { close(state, set); });
    }
    for (const JobId job : instant.arrived) {
      classes_[kind_of(state, job)].pending.push_back(job);
    }
    place_pending(state);
    carry_out(state, actions);
    if (does_anybody_wait()) actions.wake(next_multiple(state.now(), slice_));
  }

  [[nodiscard]] bool withdraw(const State& state, JobId job) override {
    Class& own = classes_[kind_of(state, job)];
    if (std::erase(own.pending, job) > 0) return true;
    own.sets.leave(*own.sets.find(job), job);
    own.sets.settle();
    return true;
  }

 private:
  /// The jobs of one width.
  struct Class {
    RoundRobinGroups sets;
    std::deque<JobId> pending;  // have no set, in the order in which they came
  };
  /// Where a job runs.
  struct Turn {
    std::uint64_t name = 0;  // of the set; 0: nowhere
    RoundRobinGroups::Index set = 0;
    std::uint64_t next = 0;  // the name of the set where it shall run
  };

  struct Ran {
    JobId job;
    std::uint64_t name;  // of the set
  };
  struct Changed {
    TurnSet* set;
    RoundRobinGroups::Index index;
    int width;
  };

  static JobKind kind_of(const State& state, JobId job) {
    return {state.request(job).types, state.jobs().gpus(job)};
  }

  void end_slice(const State& state) {
    // Else restarts that are longer than a slice could be all that jobs do.
    const bool has_paying = is_anybody_paying(state);
    if (!has_paying) share_servers(state);
    // A job that still pays for a restart has had no turn.
    for (auto& [kind, own] : classes_) {
      own.sets.take_turns([&](JobId job) { return has_paying && state.is_restarting(job); });
    }
  }

  /// The jobs running there may have to stop.
  void close(const State& state, TurnSet& set) {
    for (const JobId job : set.running) ran_.push_back({job, set.name});
    free_.give_back(state.cluster(), std::move(set.servers));
  }

  /// In the order in which they came; where one of a width has no place, all others of it have none.
  void place_pending(const State& state) {
    std::vector<std::pair<JobId, std::pair<const JobKind, Class>*>> heads;
    for (auto& known : classes_) {
      if (!known.second.pending.empty()) heads.emplace_back(known.second.pending.front(), &known);
    }
    const auto is_later = [](const auto& a, const auto& b) { return a.first > b.first; };
    std::ranges::make_heap(heads, is_later);
    while (!heads.empty()) {
      std::ranges::pop_heap(heads, is_later);
      const auto [job, known] = heads.back();
      heads.pop_back();
      auto& [kind, own] = *known;
      if (!place(state, kind, own.sets, job)) continue;
      own.pending.pop_front();
      if (own.pending.empty()) continue;
      heads.emplace_back(own.pending.front(), known);
      std::ranges::push_heap(heads, is_later);
    }
  }

  /// Sets are filled except for one job, then new ones are opened while there are servers.
  bool place(const State& state, const JobKind& kind, RoundRobinGroups& sets, JobId job) {
    stop_->count(1);
    const bool has_room = !sets.empty() && sets.first().line.size() + 1 < sets.first().capacity;
    if (!has_room) {
      if (auto found = free_.take(state.cluster(), kind)) {
        sets.open_first(next_name_++, std::move(*found), kind.second);
      } else if (sets.empty()) {
        return false;
      }
    }
    sets.join(job);
    return true;
  }

  /// As many GPUs to each class as its part of what all ask for, and no more than its jobs need.
  void share_servers(const State& state) {
    std::int64_t all = 0;
    for (const auto& [kind, own] : classes_) all += own.sets.num_jobs() * kind.second;
    if (all == 0) return;
    for (auto& [kind, own] : classes_) {
      const std::int64_t wanted = own.sets.num_jobs() * kind.second;
      if (wanted == 0) continue;
      const std::int64_t part = wanted * state.gpus_up() / all;
      const std::int64_t more = std::min(part, wanted) - own.sets.num_gpus();
      if (more > 0) {
        expand(state, kind, own.sets, ceil_div(more, kind.second));
      } else if (more < 0) {
        shrink(state, own.sets, static_cast<std::size_t>(ceil_div(-more, kind.second)));
      }
    }
  }

  /// Then all jobs of the class are dealt out again.
  void expand(const State& state, const JobKind& kind, RoundRobinGroups& sets, std::int64_t num) {
    std::vector<ServerSet> more;
    for (; num > 0; --num) {
      auto found = free_.take(state.cluster(), kind);
      if (!found) break;
      more.push_back(std::move(*found));
    }
    if (more.empty()) return;
    stop_->count(static_cast<std::size_t>(sets.num_jobs()));
    sets.expand(next_name_, more, kind.second);
    next_name_ += more.size();
  }

  /// The sets with the fewest jobs go, but never the last one.
  void shrink(const State& state, RoundRobinGroups& sets, std::size_t num) {
    std::vector<JobId> jobs;
    sets.close_first(std::min(num, sets.num_sets() - 1), [&](TurnSet& set) {
      const std::span<const JobId> line = set.line.jobs();
      jobs.insert(jobs.end(), line.begin(), line.end());
      close(state, set);
    });
    for (const JobId job : jobs) {
      stop_->count(1);
      sets.join(job);
    }
  }

  [[nodiscard]] bool is_anybody_paying(const State& state) const {
    if (state.now() > paid_by_) return false;
    bool is_any = false;
    state.for_each_running([&](const Slot& run) { is_any |= state.is_restarting(run.job); });
    return is_any;
  }

  /// Looks at those sets alone where others may have to run.
  void carry_out(const State& state, Actions& actions) {
    for (auto& [kind, own] : classes_) {
      own.sets.for_each_changed(
          [this, width = kind.second](RoundRobinGroups::Index index, TurnSet& set) {
            changed_.push_back({&set, index, width});
            for (const JobId job : set.running) ran_.push_back({job, set.name});
          });
    }
    for (const auto& [job, name] : ran_) turns_[job].next = 0;
    for (const Changed& changed : changed_) {
      stop_->count(changed.set->num_running() + 1);
      const std::span<const JobId> front =
          changed.set->line.jobs().first(changed.set->num_running());
      changed.set->running.assign(front.begin(), front.end());
      for (const JobId job : changed.set->running) turns_[job].next = changed.set->name;
    }
    stop_others(actions);
    for (const Changed& changed : changed_) {
      for (const JobId job : changed.set->running) run(state, changed, job, actions);
    }
    changed_.clear();
  }

  /// Those that ran, and shall not run where they did.
  void stop_others(Actions& actions) {
    std::erase_if(ran_, [&](const Ran& ran) {
      const Turn& turn = turns_[ran.job];
      return turn.name != ran.name || turn.next == ran.name;
    });
    for (const auto& [job, name] : ran_) {
      if (turns_[job].next != 0) {
        actions.suspend(job);
      } else {
        // At once, and not at the end of the decision: the next one takes over its slot.
        actions.preempt(job);
        turns_[job].name = 0;
      }
    }
    ran_.clear();
  }

  void run(const State& state, const Changed& changed, JobId job, Actions& actions) {
    Turn& turn = turns_[job];
    if (turn.name == changed.set->name) return;
    allocate(state, *changed.set, changed.width);
    if (turn.name == 0) {
      actions.start(job, allocation_);
    } else {
      actions.resize(job, allocation_);
    }
    turn = {changed.set->name, changed.index, changed.set->name};
    const Slot& own = state.slot(job);
    if (own.cost > Time{0}) paid_by_ = std::max(paid_by_, own.paid_at());
  }

  void allocate(const State& state, const TurnSet& set, int gpus) {
    allocation_.reset(gpus);
    for (const ServerId server : set.servers.servers) {
      const int some = std::min(gpus, state.occupancy().free_gpus(server));
      if (some == 0) continue;
      allocation_.pieces.push_back(state.occupancy().lowest_free(server, some));
      gpus -= some;
    }
  }

  [[nodiscard]] bool does_anybody_wait() const {
    return std::ranges::any_of(classes_, [](const auto& known) {
      return !known.second.pending.empty() || known.second.sets.num_waiting() > 0;
    });
  }

  Time slice_;
  std::optional<ControlCheck> stop_;
  FreeServers free_;
  std::map<JobKind, Class> classes_;
  std::vector<Turn> turns_;  // of each JobId
  std::uint64_t next_name_ = 1;
  Time paid_by_{0};  // restarts of all jobs that have run so far
  // Of the present decision.
  std::vector<Changed> changed_;
  std::vector<Ran> ran_;
  Allocation allocation_;
};

}  // namespace

GPUSCHED_REGISTER(
    Scheduler, Gandiva, .name = "gandiva",
    .summary = "Time slices: jobs of one size take turns on servers of their own.",
    .source = "Xiao et al., Gandiva, OSDI 2018, as the baseline in ElasticFlow's program.",
    .differs =
        "The rules of ElasticFlow's program, without packing and profiles, and without its "
        "charge at each decision and its idling of GPUs until the next arrival.",
    .flags = {Flag::preemptive, Flag::places},
    .preemption = {.period = "slice_s",
                   .reason =
                       "Jobs take turns, and GPUs move between sets, only at multiples of the "
                       "slice."},
    .parameters = Gandiva::parameters())

}  // namespace gpusched
