#include "runs/run_description.hpp"

#include <span>
#include <utility>

#include "base/registry.hpp"
#include "runs/policy.hpp"
#include "seams/named.hpp"

namespace gpusched {
namespace {

/// An order that the caller owns, for a scheduler that wants to own its order.
class BorrowedOrder final : public Order {
 public:
  explicit BorrowedOrder(Order& order) : order_(order), lifetime_(order.lifetime()) {}

  [[nodiscard]] KeyLifetime lifetime() const override { return lifetime_; }
  [[nodiscard]] bool remembers() const override { return order_.remembers(); }
  void rank(const QueueView& view, std::span<const JobId> jobs, std::span<double> key) override {
    order_.rank(view, jobs, key);
  }

 private:
  Order& order_;
  KeyLifetime lifetime_;
};

std::unique_ptr<Scheduler> scheduler_for(Order& order, const RunDescription& description,
                                         const Placement& placement, const JobTable& jobs) {
  PluginInfo info;
  info.flags = description.policy_flags;
  const Parameters parameters("policy", policy_parameters(info), description.policy_values);
  return make_list_scheduler(info, std::make_unique<BorrowedOrder>(order), parameters, placement,
                             jobs);
}

}  // namespace

DescribedRun::DescribedRun(const JobTable& jobs, const Cluster& cluster,
                           const RunDescription& description, RunControl& control)
    : speed_(make_speed(description.speed, description.speed_values)),
      contention_(make_contention(description.contention, description.contention_values)) {
  if (const auto* name = std::get_if<std::string>(&description.placement)) {
    placement_ = make_placement(*name, description.placement_values);
  }
  Placement& placement = placement_ ? *placement_ : *std::get<Placement*>(description.placement);
  if (const auto* name = std::get_if<std::string>(&description.policy)) {
    scheduler_ = make_scheduler(*name, description.policy_values, placement, jobs);
  } else if (const auto* order = std::get_if<Order*>(&description.policy)) {
    scheduler_ = scheduler_for(**order, description, placement, jobs);
  }
  Scheduler& scheduler = scheduler_ ? *scheduler_ : *std::get<Scheduler*>(description.policy);
  simulation_.emplace(jobs, cluster, scheduler, placement,
                      Simulation::Pacing{*speed_, *contention_, description.verify},
                      description.seed, control);
}

}  // namespace gpusched
