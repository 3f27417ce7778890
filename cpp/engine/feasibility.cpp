#include "engine/feasibility.hpp"

#include <string>
#include <utility>
#include <vector>

#include "base/check.hpp"

namespace gpusched {

void Feasibility::begin(Placement& placement, std::uint64_t seed, const Scheduler& scheduler,
                        const RunControl& control) {
  if (state_->cluster().has_parts()) check_parts(placement, scheduler);
  if (state_->jobs().has_demands()) check_demands(placement, scheduler);
  if (state_->jobs().has_gpus_per_node()) check_gpus_per_node(placement, scheduler);
  placement.begin({seed, *state_});
  if (!placement.is_pooled()) {
    asks_placement_ = !scheduler.chooses_gpus();
    if (asks_placement_) ask(placement, state_->occupancy(), control);
    return;
  }
  const JobClasses& classes = state_->classes();
  for (ClassId id = 0; id < classes.num_classes(); ++id) {
    control.check();
    if (classes.types(id) == state_->cluster().all_types()) continue;
    fail_input("placement: job " + std::to_string(classes.example(id)) +
               " allows only some GPU types, but a single pool has no types; use another "
               "placement");
  }
}

void Feasibility::follow(Placement& placement, const Scheduler& scheduler,
                         const RunControl& control) {
  if (state_->cluster().has_parts()) check_parts(placement, scheduler);
  if (state_->jobs().has_demands()) check_demands(placement, scheduler);
  if (state_->jobs().has_gpus_per_node()) check_gpus_per_node(placement, scheduler);
  const bool asks = !placement.is_pooled() && !scheduler.chooses_gpus();
  if (asks && refused_.size() < state_->classes().num_classes()) {
    const Occupancy empty(state_->cluster(), false, state_->jobs().has_demands(),
                          placement.follows_servers(state_->jobs()));
    ask(placement, empty, control);
  }
  asks_placement_ = asks;
}

void Feasibility::ask(Placement& placement, const Occupancy& empty, const RunControl& control) {
  const JobClasses& classes = state_->classes();
  std::vector<bool> refused(classes.num_classes());
  Allocation scratch;
  for (ClassId id = 0; id < classes.num_classes(); ++id) {
    control.check();  // there may be as many classes as jobs
    refused[id] = !placement.place(empty, classes.request(id), scratch);
  }
  refused_ = std::move(refused);
}

void Feasibility::check_demands(const Placement& placement, const Scheduler& scheduler) const {
  if (scheduler.chooses_gpus()) {
    fail_input("cpu, memory, gpu_share: not supported by this policy, which chooses GPUs itself");
  }
  if (!placement.has(Flag::demands) ||
      (state_->jobs().has_shares() && !placement.has(Flag::shares))) {
    fail_input("cpu, memory, gpu_share: the placement supports whole GPUs only");
  }
  // Tasks that ask for no GPU can be filled into servers, and orders and queues count in GPUs.
  for (JobId job = 0; job < state_->jobs().num_jobs(); ++job) {
    if (state_->jobs().gpus(job) > 0) continue;
    fail_input("gpus: row " + std::to_string(job) + " is 0; it must be at least 1");
  }
  if (state_->jobs().has_shares() && !state_->speed().has(Flag::shares)) {
    fail_input("gpu_share: the speed does not support jobs that share a GPU; use fixed");
  }
}

void Feasibility::check_parts(const Placement& placement, const Scheduler& scheduler) const {
  constexpr const char* kServers = "servers with GPUs of several types: ";
  if (placement.is_pooled()) fail_input(kServers + std::string("a single pool has no types"));
  if (scheduler.chooses_gpus() || scheduler.has(Flag::elastic)) {
    fail_input(kServers + std::string("the policy chooses the types or the GPUs of jobs itself"));
  }
  if (!state_->speed().is_fixed() && !state_->speed().has(Flag::linkless)) {
    fail_input(kServers +
               std::string("they share network cards, which the speed does not support"));
  }
}

void Feasibility::check_gpus_per_node(const Placement& placement,
                                      const Scheduler& scheduler) const {
  if (scheduler.chooses_gpus()) {
    fail_input("gpus_per_node: not supported by this policy, which chooses GPUs itself");
  }
  if (scheduler.has(Flag::elastic)) {
    fail_input("gpus_per_node: not supported by this policy, which may change the GPUs of jobs");
  }
  if (!placement.has(Flag::demands)) {
    fail_input("gpus_per_node: not supported by this placement");
  }
}

}  // namespace gpusched
