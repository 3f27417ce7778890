#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/ids.hpp"
#include "model/allocation.hpp"
#include "model/cluster.hpp"
#include "model/job_table.hpp"

namespace gpusched {

/// Why a job is rejected at its arrival.
enum class RejectReason : std::uint8_t {
  none,
  no_allowed_type,
  too_wide,
  refused_when_empty,
  no_configuration,
  too_few_nodes
};

/// The texts users see, in the order of RejectReason.
inline constexpr const char* kRejectReasons[] = {"",
                                                 "no server has an allowed GPU type",
                                                 "needs more GPUs than the cluster has",
                                                 "the placement refuses it on an empty cluster",
                                                 "the speed knows no configuration for it",
                                                 "needs more servers with gpus_per_node GPUs than "
                                                 "the cluster has"};

/// Jobs of one class have the same request: GPUs, allowed types, GPUs per server, demands, and with
/// `has_lengths` the same stated length. A
/// placement that refuses one refuses all, so queues are kept and retried by class.
class JobClasses {
 public:
  /// The classes that share a set of types, by width ascending, shares first: [begin, end).
  struct Group {
    TypeMask types;
    ClassId begin;
    ClassId end;
  };

  JobClasses(const JobTable& jobs, const Cluster& cluster, bool has_lengths = false);

  [[nodiscard]] ClassId num_classes() const noexcept { return static_cast<ClassId>(gpus_.size()); }
  [[nodiscard]] int gpus(ClassId id) const noexcept { return gpus_[id]; }
  [[nodiscard]] TypeMask types(ClassId id) const noexcept { return types_[id]; }
  /// Null where no job asks for more than GPUs.
  [[nodiscard]] const Demand* demand(ClassId id) const noexcept {
    return demands_.empty() ? nullptr : demands_[id];
  }
  /// 0 where a job of the class takes what the placement likes of each server.
  [[nodiscard]] int gpus_per_node(ClassId id) const noexcept {
    return gpus_per_node_.empty() ? 0 : gpus_per_node_[id];
  }
  /// GPUs that must be wholly free for a job of the class; rises within a group.
  [[nodiscard]] int room(ClassId id) const noexcept { return room_[id]; }
  [[nodiscard]] std::span<const Group> groups() const noexcept { return groups_; }
  /// kNoClass where the job can never fit; `reject_reason` then says why.
  [[nodiscard]] ClassId of(JobId job) const noexcept {
    const auto gpus = static_cast<std::size_t>(jobs_->gpus(job));
    if (gpus >= stride_) return kNoClass;
    if (is_plain_) return class_by_width_[gpus];
    if (!class_of_job_.empty()) return class_of_job_[job];
    const auto set = static_cast<std::size_t>(jobs_->columns().type_set[job]);
    return class_by_width_[set * stride_ + gpus];
  }
  [[nodiscard]] RejectReason reject_reason(JobId job) const noexcept;
  /// Some job of the class: a request for the class is a request for it.
  [[nodiscard]] JobId example(ClassId id) const noexcept { return example_[id]; }
  /// The request to a placement of a job of the class.
  [[nodiscard]] Request request(ClassId id) const noexcept {
    return {example_[id], gpus_[id], types_[id], 0, demand(id), gpus_per_node(id)};
  }

  static constexpr ClassId kNoClass = 0xffffffffU;

 private:
  void classify_by_width();
  void classify_by_request(bool has_lengths);
  void add(int gpus, TypeMask types, JobId example);

  const JobTable* jobs_;
  const Cluster* cluster_;
  std::size_t stride_;
  bool is_plain_;
  std::vector<ClassId> class_by_width_;
  std::vector<ClassId> class_of_job_;  // where jobs ask for more than GPUs
  std::vector<int> gpus_;
  std::vector<int> room_;
  std::vector<const Demand*> demands_;
  std::vector<int> gpus_per_node_;
  std::vector<TypeMask> types_;
  std::vector<JobId> example_;
  std::vector<Group> groups_;
};

}  // namespace gpusched
