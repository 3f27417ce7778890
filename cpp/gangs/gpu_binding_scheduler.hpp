#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/clone.hpp"
#include "base/parameters.hpp"
#include "gangs/gang_plan.hpp"
#include "queueing/waiting_queue.hpp"
#include "seams/scheduler.hpp"
#include "solvers/gang_packer.hpp"

namespace gpusched {

/// Binds every job to GPUs that it chooses itself, by a packer that keeps the expected busy time of
/// each GPU (U) under a cap; the run's placement is not used.
///
/// Mode `idle`: a waiting job is placed on GPUs that are idle now, in the order of the rule, and
/// starts at once; jobs that do not fit wait, and others may pass them. Mode `queue`: a job is
/// bound at its arrival to GPUs that may be busy. With `start=ready` it starts as soon as all its
/// GPUs are idle, in binding order: no GPU is kept idle for a job that waits for another GPU. With
/// `start=in-order` each GPU serves its jobs one after the other.
///
/// U only grows, so a cap may exclude a job forever. The cap is then raised to the minimum that
/// admits the job: in `queue` at its arrival; in `idle` when too few GPUs of the cluster, busy or
/// not, are under the cap, or when nothing runs. `warnings` reports it.
class GpuBindingScheduler : public Scheduler {
 public:
  /// `mode`, `start`, `order`, `theta_s` and `u`, which every such policy has.
  static std::vector<ParameterInfo> parameters(bool is_by_width);

  /// `rule` is completed from the parameters above.
  GpuBindingScheduler(GangRule rule, const Parameters& parameters);

  [[nodiscard]] const GangRule& rule() const noexcept { return rule_; }
  /// The user's cap in ticks; infinity for none.
  [[nodiscard]] double cap() const noexcept { return first_cap_; }

  void begin(const Setup& setup) override;
  void decide(const State& state, const Instant& instant, Actions& actions) override;
  [[nodiscard]] std::vector<std::string> warnings() const override;
  /// The cap is no longer raised for it. In mode `queue` its load is removed from its GPUs; other
  /// jobs stay bound.
  [[nodiscard]] bool withdraw(const State& state, JobId job) override;

 private:
  /// A job that is bound, from its binding to its finish.
  struct Binding {
    JobId job = kNoJob;
    std::uint64_t rank = 0;  ///< how many were bound before it
    int num_behind = 0;      ///< in-order: GPUs on which it is not the next one
    std::uint32_t group = 0;
    std::vector<GangShare> shares;
  };
  /// A job that fitted nowhere under the cap before, and the one that admits it.
  struct Raise {
    JobId job;
    double cap;
  };
  /// In order: the bindings that wait for a GPU, from the head on; ready: the groups that look here
  /// for their next chance to start.
  struct Line {
    std::vector<std::uint32_t> waiting;
    std::size_t head = 0;
  };
  /// Ready bindings that wait for the same GPUs, in binding order. If the first cannot start, none
  /// can.
  using Group = std::deque<std::uint32_t>;
  struct ByGpus {
    bool operator()(const std::vector<GangShare>& a, const std::vector<GangShare>& b) const {
      return std::ranges::lexicographical_compare(a, b, [](const GangShare& x, const GangShare& y) {
        return x.server != y.server ? x.server < y.server : x.gpus < y.gpus;
      });
    }
  };

  bool place(const State& state, JobId job);
  [[nodiscard]] double cap_now() const noexcept;
  void raise_cap(JobId job, double cap);
  std::uint32_t bind(JobId job);
  void unbind(JobId job);
  void start(std::uint32_t binding, Actions& actions);

  void start_idle(const State& state, Actions& actions);
  [[nodiscard]] bool is_shut_out(const State& state, ClassId id, JobId job);
  void start_stalled(const State& state, Actions& actions);
  KeyedJob least_fitting(const State& state, ClassId& id) const;

  void bind_arrived(const State& state, const Instant& instant);
  void enqueue(std::uint32_t binding);
  void free_lines(std::uint32_t binding);
  void leave_lines(std::uint32_t binding);
  void leave_group(std::uint32_t binding);
  void pass_on(Line& waits);
  void start_candidates(const State& state, Actions& actions);
  [[nodiscard]] std::uint32_t first_of(std::uint32_t candidate) const noexcept {
    return is_in_order_ ? candidate : groups_[candidate].front();
  }
  [[nodiscard]] Line& line(std::int32_t server, int gpu) {
    return lines_[static_cast<std::size_t>(packer_->begin(server) + gpu)];
  }

  GangRule rule_;
  bool is_queue_;
  bool is_in_order_;
  double first_cap_;

  std::vector<Raise> raises_;  // ascending
  std::uint64_t num_placed_ = 0;
  bool reads_truth_ = false;
  Ref<const RunControl> control_;
  std::optional<GangPacker> packer_;
  std::vector<Binding> bindings_;
  std::vector<std::uint32_t> free_bindings_;
  std::vector<std::uint32_t> binding_of_;  // by JobId
  std::vector<GangShare> shares_;
  Allocation allocation_;

  // Mode idle.
  struct Held {
    ClassId id;
    KeyedJob job;
  };
  struct LeastCap {
    std::uint64_t num_placed = ~std::uint64_t{0};
    double busy = 0.0;
  };
  WaitingQueue waiting_;
  std::vector<Held> refused_;
  std::vector<LeastCap> least_cap_;  // by class

  // Mode queue.
  std::vector<Line> lines_;  // by GPU
  std::vector<JobId> arrived_;
  std::vector<Group> groups_;
  std::map<std::vector<GangShare>, std::uint32_t, ByGpus> group_of_;
  // Candidates of the next decision. In order: bindings; ready: groups.
  std::vector<std::uint32_t> candidates_;
};

}  // namespace gpusched
