#include "model/job_classes.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <tuple>
#include <utility>

namespace gpusched {

namespace {

/// The greatest width that a job of the table asks for, or the cluster has.
std::int64_t widest(const JobTable& jobs, const Cluster& cluster) {
  std::int64_t gpus = 0;
  for (JobId job = 0; job < jobs.num_jobs(); ++job)
    gpus = std::max<std::int64_t>(gpus, jobs.gpus(job));
  return std::min(gpus, cluster.num_gpus());
}

}  // namespace

JobClasses::JobClasses(const JobTable& jobs, const Cluster& cluster, bool has_lengths)
    : jobs_(&jobs),
      cluster_(&cluster),
      stride_(static_cast<std::size_t>(widest(jobs, cluster)) + 1),
      is_plain_(!jobs.has_types() && !jobs.has_demands() && !jobs.has_gpus_per_node() &&
                !has_lengths) {
  if (jobs.has_demands() || jobs.has_gpus_per_node() || has_lengths) {
    classify_by_request(has_lengths);
  } else {
    classify_by_width();
  }
}

void JobClasses::add(int gpus, TypeMask types, JobId example) {
  gpus_.push_back(gpus);
  room_.push_back(gpus);
  types_.push_back(types);
  example_.push_back(example);
}

void JobClasses::classify_by_width() {
  const JobTable& jobs = *jobs_;
  const Cluster& cluster = *cluster_;
  const auto& columns = jobs.columns();
  const std::size_t num_sets = jobs.has_types() ? columns.type_masks.size() : 1;
  std::vector<TypeMask> types_of_set(num_sets, cluster.all_types());
  for (std::size_t set = 0; jobs.has_types() && set < num_sets; ++set) {
    types_of_set[set] &= columns.type_masks[set];
  }

  // First the widths of each type set, then ids in order of (types, width).
  std::vector<JobId> example(num_sets * stride_, kNoJob);
  for (JobId job = 0; job < jobs.num_jobs(); ++job) {
    const auto gpus = static_cast<std::size_t>(jobs.gpus(job));
    if (gpus >= stride_) continue;
    const std::size_t set = jobs.has_types() ? static_cast<std::size_t>(columns.type_set[job]) : 0;
    JobId& first = example[set * stride_ + gpus];
    if (first == kNoJob) first = job;
  }
  class_by_width_.assign(num_sets * stride_, kNoClass);
  std::map<TypeMask, std::vector<std::size_t>> sets_of_types;
  for (std::size_t set = 0; set < num_sets; ++set) sets_of_types[types_of_set[set]].push_back(set);
  for (const auto& [types, sets] : sets_of_types) {
    if (types == 0) continue;
    const ClassId begin = num_classes();
    const auto limit = std::min(static_cast<std::size_t>(cluster.gpus_of_gang(types)), stride_ - 1);
    for (std::size_t gpus = 1; gpus <= limit; ++gpus) {
      JobId first = kNoJob;
      for (const std::size_t set : sets) first = std::min(first, example[set * stride_ + gpus]);
      if (first == kNoJob) continue;
      for (const std::size_t set : sets) class_by_width_[set * stride_ + gpus] = num_classes();
      add(static_cast<int>(gpus), types, first);
    }
    if (num_classes() > begin) groups_.push_back({types, begin, num_classes()});
  }
}

void JobClasses::classify_by_request(bool has_lengths) {
  // Types, room, width, per node, demand, length.
  using Key = std::tuple<TypeMask, int, int, int, Demand, Time>;
  std::map<Key, std::pair<JobId, ClassId>> found;
  const auto key_of = [&](JobId job) -> Key {
    const Demand demand = jobs_->has_demands() ? *jobs_->demand(job) : Demand{};
    const int gpus = jobs_->gpus(job);
    return {jobs_->types(job) & cluster_->all_types(),
            demand.is_share() ? 0 : gpus,
            gpus,
            jobs_->gpus_per_node(job),
            demand,
            has_lengths ? jobs_->stated_length(job) : Time{0}};
  };
  // Jobs that ask for the same thing often follow each other: the last answer is tried first.
  auto last = found.end();
  std::vector<std::pair<JobId, ClassId>*> entry_of_job(jobs_->num_jobs());
  for (JobId job = 0; job < jobs_->num_jobs(); ++job) {
    const Key key = key_of(job);
    if (last == found.end() || last->first != key) {
      last = found.try_emplace(key, job, kNoClass).first;
    }
    entry_of_job[job] = &last->second;
  }
  TypeMask group = 0;
  for (auto& [key, entry] : found) {
    const auto& [types, room, gpus, per_node, demand, length] = key;
    if (reject_reason(entry.first) != RejectReason::none) continue;
    if (groups_.empty() || types != group) groups_.push_back({types, num_classes(), 0});
    group = types;
    entry.second = num_classes();
    add(gpus, types, entry.first);
    room_.back() = room;
    if (jobs_->has_demands()) demands_.push_back(jobs_->demand(entry.first));
    gpus_per_node_.push_back(per_node);
    groups_.back().end = num_classes();
  }
  class_of_job_.reserve(jobs_->num_jobs());
  for (const auto* entry : entry_of_job) class_of_job_.push_back(entry->second);
}

RejectReason JobClasses::reject_reason(JobId job) const noexcept {
  const TypeMask types = jobs_->types(job) & cluster_->all_types();
  if (types == 0) return RejectReason::no_allowed_type;
  if (jobs_->gpus(job) > cluster_->gpus_of_gang(types)) return RejectReason::too_wide;
  const int per_node = jobs_->gpus_per_node(job);
  if (per_node > 0 && jobs_->gpus(job) / per_node > cluster_->num_servers_of(types, per_node)) {
    return RejectReason::too_few_nodes;
  }
  return RejectReason::none;
}

}  // namespace gpusched
