#include "runs/run_description.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include "base/check.hpp"
#include "base/clone.hpp"
#include "base/registry.hpp"
#include "placing/one_type.hpp"
#include "runs/policy.hpp"
#include "seams/named.hpp"

namespace gpusched {
namespace {

/// Adapts an order that the caller owns to a scheduler that owns its order.
class BorrowedOrder final : public Order {
 public:
  explicit BorrowedOrder(Order& order) : order_(order), lifetime_(order.lifetime()) {}

  [[nodiscard]] KeyLifetime lifetime() const override { return lifetime_; }
  [[nodiscard]] bool remembers() const override { return order_->remembers(); }
  void rank(const QueueView& view, std::span<const JobId> jobs, std::span<double> key) override {
    order_->rank(view, jobs, key);
  }

 private:
  Ref<Order> order_;
  KeyLifetime lifetime_;
};

Owned<Scheduler> scheduler_for(Order& order, const RunDescription& description,
                               const Placement& placement, const JobTable& jobs) {
  PluginInfo info;
  info.flags = description.policy_flags;
  const Parameters parameters("policy", policy_parameters(info), description.policy_values);
  return make_list_scheduler(info, std::make_unique<BorrowedOrder>(order), parameters, placement,
                             jobs);
}

}  // namespace

DescribedRun::DescribedRun(const JobTable& jobs, const Cluster& cluster,
                           const RunDescription& description, RunControl& control,
                           const Snapshot* snapshot)
    : control_(control),
      seed_(description.seed),
      speed_(make_speed(description.speed, description.speed_values)),
      contention_(make_contention(description.contention, description.contention_values)) {
  if (const auto* name = std::get_if<std::string>(&description.placement)) {
    placement_ = on_cluster(make_placement(*name, description.placement_values), cluster);
  } else if (cluster.has_parts()) {
    fail_input(
        "placement: Python placements support one GPU type per server, but some servers have "
        "several");
  }
  placing_ = placement_ ? placement_.get() : std::get<Placement*>(description.placement);
  deciding_ = make_policy(jobs, description);
  simulation_.emplace(jobs, cluster, *deciding_.scheduler, *placing_,
                      Simulation::Pacing{*speed_, *contention_, description.verify},
                      description.seed, control, description.outages,
                      description.kill_invalid_depend, snapshot);
  simulation_->limit_intervals(description.max_intervals);
}

DescribedRun::Deciding DescribedRun::make_policy(const JobTable& jobs,
                                                 const RunDescription& description) const {
  Deciding made;
  if (const auto* name = std::get_if<std::string>(&description.policy)) {
    made.own = make_scheduler(*name, description.policy_values, *placing_, jobs);
  } else if (const auto* order = std::get_if<Order*>(&description.policy)) {
    made.order = *order;
    made.own = scheduler_for(**order, description, *placing_, jobs);
  }
  made.scheduler = made.own ? made.own.get() : std::get<Scheduler*>(description.policy);
  if (made.scheduler->chooses_gpus() && placing_->is_pooled()) {
    fail_input("placement: the policy chooses GPUs of servers, but a single pool has no servers");
  }
  const std::string& label = description.policy_label;
  const auto* name = std::get_if<std::string>(&description.policy);
  const std::string policy = "policy " + (label.empty() && name != nullptr ? *name : label);
  if (!description.outages.empty() && !made.scheduler->takes_outages()) {
    fail_input(policy + " does not support outages" +
               (label.starts_with("python:") ? " (a scheduler in Python says that it does by the "
                                               "attribute takes_outages = True)"
                                             : ""));
  }
  const bool knows = std::any_of(description.outages.begin(), description.outages.end(),
                                 [](const Outage& outage) { return outage.is_known_ahead(); });
  if (knows && !made.scheduler->takes_windows()) {
    fail_input(policy + " does not plan around maintenance; set known_s to start_s");
  }
  return made;
}

void DescribedRun::hand_over(const RunDescription& described, Time at) {
  const JobTable& jobs = simulation_->state().jobs();
  // One that is made for this alone says what it refuses.
  if (const Deciding trial = make_policy(jobs, described); trial.own) trial.own->begin(setup());
  Deciding next = make_policy(jobs, described);
  simulation_->hand_over(*next.scheduler, at);
  deciding_ = std::move(next);
}

std::unique_ptr<DescribedRun> DescribedRun::fork(const RunDescription& described,
                                                 RunControl& control) const {
  const Cloning whole;
  Cloning::note(control_, 1, &control);
  if (Placement* const* placement = std::get_if<Placement*>(&described.placement)) {
    Cloning::note(placing_, 1, *placement);
  }
  if (Scheduler* const* scheduler = std::get_if<Scheduler*>(&described.policy)) {
    Cloning::note(deciding_.scheduler, 1, *scheduler);
  } else if (Order* const* order = std::get_if<Order*>(&described.policy)) {
    Cloning::note(deciding_.order, 1, *order);
  }
  std::unique_ptr<DescribedRun> made = Cloning::copy(*this);
  made->simulation_->tell(nullptr);
  return made;
}

}  // namespace gpusched
