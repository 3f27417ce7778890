#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/buffer.hpp"
#include "base/parameters.hpp"
#include "dancer/exchange.hpp"
#include "dancer/jobs.hpp"
#include "deadlines/cost_bounds.hpp"
#include "deadlines/planner.hpp"
#include "deadlines/slot_filling.hpp"
#include "elastic/reallocation.hpp"
#include "seams/decision.hpp"
#include "seams/scheduler.hpp"

namespace gpusched {

/// Promises GPUs by number and type, slot by slot, to jobs that pay for them with the value of
/// their deadlines; the others run on what is left.
///
/// A job is decided on when it arrives, and starts at once where its plan begins with the present
/// slot and its GPUs can be had, if need be from jobs that keep their promises without them; all
/// else changes at the borders of slots. There plans are made
/// anew where they fell behind or can be had cheaper, jobs turned down are offered again, what is
/// not promised in the slot goes to jobs with promises, then to those that can still meet their
/// deadlines, then to the rest by arrival; and only then are GPUs looked for.
class Dancer final : public Scheduler {
 public:
  explicit Dancer(const Parameters& parameters);
  static std::vector<ParameterInfo> parameters();

  void begin(const Setup& setup) override;
  void decide(const State& state, const Instant& instant, Actions& actions) override;
  [[nodiscard]] std::vector<Decision> take_decisions() override { return std::move(decisions_); }
  [[nodiscard]] std::vector<std::string> warnings() const override;

 private:
  using Index = std::uint32_t;  // of a job in jobs_

  // Arrivals, promises and finishes.
  void receive(const State& state, std::span<const JobId> arrived, Actions& actions);
  [[nodiscard]] Index take_in(const State& state, JobId job);
  void offer_first(const State& state, Index index, Actions& actions);
  [[nodiscard]] bool offer_again(const State& state, Index index);
  void log(const State& state, Index index, PlanVerdict verdict, double cost);
  void forget(JobId job);
  void make_promise(Index index);
  void lose_hope(const State& state, Index index);

  // The border of a slot.
  void begin_slot(const State& state, Actions& actions);
  void review(const State& state);
  void keep(const State& state, Index index);
  [[nodiscard]] bool repair(const PlanQuery& query, DancerJob& job);
  void replan(const State& state);
  void retry(const State& state);
  void sort_open(const State& state);
  void hand_out(const State& state);
  void hand_out_rest(const State& state);
  void apply(const State& state, Actions& actions);
  [[nodiscard]] bool may_move(const State& state, JobId job);

  // Between the borders.
  [[nodiscard]] bool might_start(const State& state, const PlanQuery& query);
  [[nodiscard]] bool give_back(const State& state, Index index, Actions& actions);
  [[nodiscard]] bool start_now(const State& state, Index index, int configuration,
                               Actions& actions);
  void start_waiting(const State& state, Actions& actions);
  [[nodiscard]] bool start(const State& state, Index index, int configuration, Actions& actions);
  [[nodiscard]] bool place(const State& state, JobId job, const PlanConfiguration& configuration);
  void start_on_several_types(const State& state, Actions& actions);
  [[nodiscard]] std::int64_t yielding_gpus(const State& state, JobId several, int type) const;
  void find_yielding(const State& state, int type);
  void count_spare(const State& state);

  PlannerOptions options_;
  bool replans_;
  bool fills_;
  bool retries_;
  bool exchanges_;
  std::int64_t num_replans_;
  std::int64_t num_retries_;

  std::optional<DeadlinePlanner> planner_;
  ConfigurationSets sets_;
  Reallocation reallocation_;
  SlotExchange exchange_;
  std::unique_ptr<Placement> anywhere_;
  Placement* placement_ = nullptr;
  const RunControl* control_ = nullptr;

  std::vector<DancerJob> jobs_;
  std::vector<Index> unused_;
  Buffer<Index> index_;          // of each job that has arrived and not finished
  // Each of these jobs is in one of the following.
  std::vector<Index> live_;      // with promises
  std::vector<Index> open_;      // that could still meet their deadlines, most urgent first
  std::set<JobId> rest_;         // the others that wait, and those of them that run
  std::set<JobId> rest_running_;
  std::set<JobId> several_;      // that no single type runs, whether they run or wait
  std::int64_t slot_ = 0;        // the present one
  bool is_border_ = false;       // now is where it begins
  std::size_t replan_turn_ = 0;
  std::size_t retry_turn_ = 0;

  std::vector<Decision> decisions_;
  std::int64_t num_broken_ = 0;
  SlotFilling filling_;
  std::vector<FillJob> fill_;
  std::vector<Index> filled_;      // of each entry of fill_
  std::vector<Index> yielding_;
  std::vector<std::pair<double, Index>> urgency_;
  std::vector<std::int64_t> spare_;
  std::vector<PlanStep> steps_;
  std::vector<Part> parts_;
  Allocation allocation_;
};

}  // namespace gpusched
