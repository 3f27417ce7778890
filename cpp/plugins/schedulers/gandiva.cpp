#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "base/registry.hpp"
#include "base/stop_check.hpp"
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
             .help = "seconds of a slice: jobs take turns at its multiples",
             .minimum = 1,
             .maximum = 1e9}};
  }

  void begin(const Setup& setup) override {
    const Cluster& cluster = setup.state.cluster();
    stop_.emplace(setup.control);
    is_free_.assign(static_cast<std::size_t>(cluster.num_servers()), true);
    first_free_ = 0;
    classes_.clear();
    runs_in_.clear();
    pending_.clear();
    next_name_ = 0;
  }

  void decide(const State& state, const Instant& instant, Actions& actions) override {
    for (const JobId job : instant.finished) leave(state, job);
    for (auto& [kind, sets] : classes_) sort(sets);
    if (state.now().count() % slice_.count() == 0) {
      // Else restarts that are longer than a slice could be all that jobs do.
      const bool has_paying = std::ranges::any_of(runs_in_, [&](const auto& entry) {
        return is_paying(state, entry.first);
      });
      if (!has_paying) share_servers(state);
      for (auto& [kind, sets] : classes_) {
        for (Set& set : sets) take_turns(state, set);
      }
    }
    for (auto& [kind, sets] : classes_) release_empty(sets);
    pending_.insert(pending_.end(), instant.arrived.begin(), instant.arrived.end());
    place_pending(state);
    carry_out(state, actions);
    if (does_anybody_wait()) actions.wake(next_multiple(state.now(), slice_));
  }

  [[nodiscard]] bool withdraw(const State& state, JobId job) override {
    if (std::erase(pending_, job) == 0) {
      leave(state, job);
      sort(classes_[kind_of(state, job)]);
    }
    return true;
  }

 private:
  /// The types that jobs may use, and their width.
  using Kind = std::pair<TypeMask, int>;
  struct Set {
    std::uint64_t name;
    std::vector<ServerId> servers;
    std::size_t capacity;  // gangs
    std::deque<JobId> line;

    [[nodiscard]] std::size_t num_running() const noexcept {
      return std::min(capacity, line.size());
    }
  };
  /// Of one class; those with fewer jobs first.
  using Sets = std::vector<Set>;

  static Kind kind_of(const State& state, JobId job) {
    return {state.request(job).types, state.jobs().gpus(job)};
  }

  static void sort(Sets& sets) {
    std::ranges::stable_sort(sets, {}, [](const Set& set) { return set.line.size(); });
  }

  /// To the set with the fewest jobs, which goes behind those that have fewer now.
  void join(Sets& sets, JobId job) {
    sets.front().line.push_back(job);
    const auto has_fewer = [&](const Set& set) {
      return set.line.size() < sets.front().line.size();
    };
    const auto place = std::partition_point(sets.begin() + 1, sets.end(), has_fewer);
    stop_->count(static_cast<std::size_t>(place - sets.begin()));
    std::rotate(sets.begin(), sets.begin() + 1, place);
  }

  /// The job ends, or is taken back while it waits.
  void leave(const State& state, JobId job) {
    Sets& sets = classes_[kind_of(state, job)];
    for (Set& set : sets) std::erase(set.line, job);
    runs_in_.erase(job);
  }

  void free(const Set& set) {
    for (const ServerId server : set.servers) is_free_[static_cast<std::size_t>(server)] = true;
    first_free_ = std::min(first_free_, set.servers.front());
  }

  void release_empty(Sets& sets) {
    std::erase_if(sets, [&](const Set& set) {
      if (set.line.empty()) free(set);
      return set.line.empty();
    });
  }

  /// The first free servers of a type that hold a gang, or of several where it fits no single one.
  [[nodiscard]] std::optional<Set> find(const State& state, const Kind& kind) {
    const Cluster& cluster = state.cluster();
    const TypeMask all = kind.first & cluster.all_types();
    bool has_fitting_type = false;
    for (TypeMask rest = all; rest != 0; rest &= rest - 1) {
      const TypeMask type = rest & ~(rest - 1);
      if (cluster.gpus_of(type) < kind.second) continue;
      has_fitting_type = true;
      if (auto found = find_of(state, type, kind.second)) return found;
    }
    return has_fitting_type ? std::nullopt : find_of(state, all, kind.second);
  }

  [[nodiscard]] std::optional<Set> find_of(const State& state, TypeMask types, int gpus) {
    const Cluster& cluster = state.cluster();
    Set found{};
    int held = 0;
    while (first_free_ < cluster.num_servers() && !is_free_[static_cast<std::size_t>(first_free_)])
      ++first_free_;
    stop_->count(static_cast<std::size_t>(cluster.num_servers() - first_free_) + 1);
    for (ServerId server = first_free_; server < cluster.num_servers() && held < gpus; ++server) {
      const bool may = (types >> cluster.type(server) & 1) != 0;
      if (!may || !is_free_[static_cast<std::size_t>(server)]) continue;
      // One server that holds the gang is better than several.
      if (cluster.gpus(server) >= gpus) {
        found.servers.clear();
        held = 0;
      }
      found.servers.push_back(server);
      held += cluster.gpus(server);
    }
    if (held < gpus) return std::nullopt;
    for (const ServerId server : found.servers) is_free_[static_cast<std::size_t>(server)] = false;
    found.capacity = static_cast<std::size_t>(held / gpus);
    found.name = next_name_++;
    return found;
  }

  void place_pending(const State& state) {
    std::set<Kind> refused;
    std::erase_if(pending_, [&](JobId job) {
      const Kind kind = kind_of(state, job);
      if (refused.contains(kind)) return false;
      const bool is_placed = place(state, job);
      if (!is_placed) refused.insert(kind);
      return is_placed;
    });
  }

  /// Sets are filled but for one gang, then others are begun while there are servers.
  bool place(const State& state, JobId job) {
    const Kind kind = kind_of(state, job);
    Sets& sets = classes_[kind];
    const bool has_room = !sets.empty() && sets.front().line.size() + 1 < sets.front().capacity;
    if (!has_room) {
      if (auto found = find(state, kind)) {
        sets.insert(sets.begin(), std::move(*found));
      } else if (sets.empty()) {
        return false;
      }
    }
    join(sets, job);
    return true;
  }

  /// As many GPUs to each class as its part of what all ask for, and no more than its jobs need.
  void share_servers(const State& state) {
    std::int64_t all = 0;
    for (const auto& [kind, sets] : classes_) all += wanted(kind, sets);
    if (all == 0) return;
    for (auto& [kind, sets] : classes_) {
      const std::int64_t own = wanted(kind, sets);
      if (own == 0) continue;
      const std::int64_t part = own * state.cluster().num_gpus() / all;
      const std::int64_t more = std::min(part, own) - held(state, sets);
      if (more > 0) {
        expand(state, kind, sets, ceil_div(more, kind.second));
      } else if (more < 0) {
        shrink(sets, static_cast<std::size_t>(ceil_div(-more, kind.second)));
      }
    }
  }

  static std::int64_t wanted(const Kind& kind, const Sets& sets) {
    std::int64_t jobs = 0;
    for (const Set& set : sets) jobs += static_cast<std::int64_t>(set.line.size());
    return jobs * kind.second;
  }

  static std::int64_t held(const State& state, const Sets& sets) {
    std::int64_t gpus = 0;
    for (const Set& set : sets) {
      for (const ServerId server : set.servers) gpus += state.cluster().gpus(server);
    }
    return gpus;
  }

  /// Then all jobs of the class are dealt out anew.
  void expand(const State& state, const Kind& kind, Sets& sets, std::int64_t num) {
    const std::size_t before = sets.size();
    for (; num > 0; --num) {
      auto found = find(state, kind);
      if (!found) break;
      sets.push_back(std::move(*found));
    }
    if (sets.size() == before) return;
    std::vector<JobId> jobs;
    for (Set& set : sets) {
      jobs.insert(jobs.end(), set.line.begin(), set.line.end());
      set.line.clear();
    }
    for (const JobId job : jobs) join(sets, job);
  }

  /// The sets with the fewest jobs go, but never the last one.
  void shrink(Sets& sets, std::size_t num) {
    num = std::min(num, sets.size() - 1);
    std::vector<JobId> jobs;
    for (std::size_t i = 0; i < num; ++i) {
      jobs.insert(jobs.end(), sets[i].line.begin(), sets[i].line.end());
      free(sets[i]);
    }
    sets.erase(sets.begin(), sets.begin() + static_cast<std::ptrdiff_t>(num));
    for (const JobId job : jobs) join(sets, job);
  }

  static bool is_paying(const State& state, JobId job) {
    if (!state.is_running(job)) return false;
    const Slot& run = state.slot(job);
    return run.cost > Time{0} && state.now() <= run.start + run.cost;
  }

  /// Who pays for a restart has had no turn yet.
  static void take_turns(const State& state, Set& set) {
    const std::size_t num = set.num_running();
    if (set.line.size() == num) return;
    std::vector<JobId> stay;
    std::vector<JobId> go;
    for (std::size_t i = 0; i < num; ++i) {
      const JobId job = set.line[i];
      (is_paying(state, job) ? stay : go).push_back(job);
    }
    set.line.erase(set.line.begin(), set.line.begin() + static_cast<std::ptrdiff_t>(num));
    set.line.insert(set.line.begin(), stay.begin(), stay.end());
    set.line.insert(set.line.end(), go.begin(), go.end());
  }

  void carry_out(const State& state, Actions& actions) {
    std::map<JobId, std::uint64_t> wanted;
    for (const auto& [kind, sets] : classes_) {
      for (const Set& set : sets) {
        stop_->count(set.num_running() + 1);
        for (std::size_t i = 0; i < set.num_running(); ++i) wanted.emplace(set.line[i], set.name);
      }
    }
    for (const auto& [job, name] : runs_in_) {
      const auto found = wanted.find(job);
      if (found == wanted.end() || found->second != name) actions.suspend(job);
    }
    for (const auto& [kind, sets] : classes_) {
      for (const Set& set : sets) {
        for (std::size_t i = 0; i < set.num_running(); ++i) {
          const JobId job = set.line[i];
          const auto before = runs_in_.find(job);
          if (before != runs_in_.end() && before->second == set.name) continue;
          allocate(state, set, kind.second);
          if (before == runs_in_.end()) {
            actions.start(job, allocation_);
          } else {
            actions.resize(job, allocation_);
          }
        }
      }
    }
    runs_in_ = std::move(wanted);
  }

  void allocate(const State& state, const Set& set, int gpus) {
    allocation_.reset(gpus);
    for (const ServerId server : set.servers) {
      const int some = std::min(gpus, state.occupancy().free_gpus(server));
      if (some == 0) continue;
      allocation_.pieces.push_back(state.occupancy().lowest_free(server, some));
      gpus -= some;
    }
  }

  [[nodiscard]] bool does_anybody_wait() const {
    if (!pending_.empty()) return true;
    return std::ranges::any_of(classes_, [](const auto& entry) {
      return std::ranges::any_of(entry.second,
                                 [](const Set& set) { return set.line.size() > set.capacity; });
    });
  }

  Time slice_;
  std::optional<ControlCheck> stop_;
  std::vector<bool> is_free_;  // servers, of all sets
  ServerId first_free_ = 0;    // none before it is free
  std::map<Kind, Sets> classes_;
  std::map<JobId, std::uint64_t> runs_in_;  // the name of the set
  std::vector<JobId> pending_;              // have no set, in the order in which they came
  std::uint64_t next_name_ = 0;
  Allocation allocation_;
};

}  // namespace

GPUSCHED_REGISTER(
    Scheduler, Gandiva, .name = "gandiva",
    .summary = "Time slices: jobs of one width take turns on servers of their own.",
    .source = "Xiao et al., Gandiva, OSDI 2018, as a baseline in the program of ElasticFlow.",
    .differs =
        "The rules are those of ElasticFlow's program, without packing and profiles; its "
        "charges at each decision, and its GPUs idle until the next arrival, are left out.",
    .flags = {Flag::preemptive, Flag::places},
    .preemption = {.period = "slice_s",
                   .reason =
                       "Jobs take turns, and sets change hands, at multiples of the slice only."},
    .parameters = Gandiva::parameters())

}  // namespace gpusched
