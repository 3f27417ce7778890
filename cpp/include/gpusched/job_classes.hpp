#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "gpusched/cluster.hpp"
#include "gpusched/ids.hpp"
#include "gpusched/job_table.hpp"

namespace gpusched {

/// Why a job is rejected at its arrival.
enum class RejectReason : std::uint8_t { none, no_allowed_type, too_wide, refused_when_empty };

/// The texts users see, in the order of RejectReason.
inline constexpr const char* kRejectReasons[] = {
    "", "no server has an allowed GPU type", "needs more GPUs than the cluster has",
    "the placement refuses it on an empty cluster"};

/// Jobs of one class ask for the same thing: as many GPUs of the same allowed types. What a
/// placement refuses to one it refuses to all, so queues are kept and retried by class.
class JobClasses {
 public:
  /// The classes that share a set of types, by width ascending: [begin, end).
  struct Group {
    TypeMask types;
    ClassId begin;
    ClassId end;
  };

  JobClasses(const JobTable& jobs, const Cluster& cluster);

  [[nodiscard]] ClassId num_classes() const noexcept { return static_cast<ClassId>(gpus_.size()); }
  [[nodiscard]] int gpus(ClassId id) const noexcept { return gpus_[id]; }
  [[nodiscard]] TypeMask types(ClassId id) const noexcept { return types_[id]; }
  [[nodiscard]] std::span<const Group> groups() const noexcept { return groups_; }
  /// kNoClass where the job can never fit; `reject_reason` then says why.
  [[nodiscard]] ClassId of(JobId job) const noexcept {
    const auto gpus = static_cast<std::size_t>(jobs_->gpus(job));
    if (gpus >= stride_) return kNoClass;
    if (!jobs_->has_types()) return class_by_width_[gpus];
    const auto set = static_cast<std::size_t>(jobs_->columns().type_set[job]);
    return class_by_width_[set * stride_ + gpus];
  }
  [[nodiscard]] RejectReason reject_reason(JobId job) const noexcept;
  /// Some job of the class: a request for the class is a request for it.
  [[nodiscard]] JobId example(ClassId id) const noexcept { return example_[id]; }

  static constexpr ClassId kNoClass = 0xffffffffU;

 private:
  const JobTable* jobs_;
  const Cluster* cluster_;
  std::size_t stride_;
  std::vector<ClassId> class_by_width_;
  std::vector<int> gpus_;
  std::vector<TypeMask> types_;
  std::vector<JobId> example_;
  std::vector<Group> groups_;
};

}  // namespace gpusched
