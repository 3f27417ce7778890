#include <algorithm>
#include <bit>
#include <cstdint>
#include <string>
#include <vector>

#include "base/check.hpp"
#include "base/infinity.hpp"
#include "base/parameters.hpp"
#include "base/registry.hpp"
#include "model/job_columns.hpp"
#include "seams/speed.hpp"

namespace gpusched {
namespace {

/// Data-parallel training with ring all-reduce: each worker sends and receives 2 m (w - 1) / w
/// bytes an iteration over the slowest link of the ring, reduces half of them, and computes.
class Ring final : public Speed {
 public:
  explicit Ring(const Parameters& parameters)
      : overhead_s_(parameters.number("overhead_s")),
        reduction_(parameters.number("reduction_bytes_per_s")) {}

  [[nodiscard]] double ideal_s(JobId job) const override {
    const Best& best = best_[classes_->of(job)];
    double compute_s = kInfinity;
    for (TypeMask rest = best.types; rest != 0; rest &= rest - 1) {
      compute_s = std::min(compute_s, jobs_->compute_s(job, std::countr_zero(rest)));
    }
    return seconds(job, best.span, best.bytes_per_s, compute_s);
  }

  [[nodiscard]] IterationLimits limits(JobId job) const override {
    const Best& best = best_[classes_->of(job)];
    double compute_s = 0;
    for (TypeMask rest = best.types; rest != 0; rest &= rest - 1) {
      compute_s = std::max(compute_s, jobs_->compute_s(job, std::countr_zero(rest)));
    }
    const double low = ideal_s(job);
    const int workers = jobs_->gpus(job);
    if (workers == 1) return {low, low, seconds(job, 1, best.bytes_per_s, compute_s)};
    return {low, low, seconds(job, workers, best.least_bytes_per_s, compute_s)};
  }

  [[nodiscard]] double iteration_s(const PlacedGang& gang) const override {
    const Network& network = cluster_->network();
    double bytes_per_s = kInfinity;
    double compute_s = 0;
    int type = -1;
    for (const Piece& piece : gang.pieces) {
      bytes_per_s = std::min(bytes_per_s, network.intra(piece.server));
      if (cluster_->type(piece.server) == type) continue;
      type = cluster_->type(piece.server);
      compute_s = std::max(compute_s, jobs_->compute_s(gang.job, type));
    }
    for (const LinkShare& share : gang.shares) {
      bytes_per_s = std::min(bytes_per_s, share.bytes_per_s);
    }
    return seconds(gang.job, static_cast<int>(gang.pieces.size()), bytes_per_s, compute_s);
  }

 private:
  void start(const JobTable& jobs, const Cluster& cluster, const JobClasses& classes) override {
    jobs_ = &jobs;
    cluster_ = &cluster;
    classes_ = &classes;
    require_bandwidths("ring", cluster);
    best_.clear();
    for (const auto& group : classes.groups()) find_best(group);
  }

  /// The best that the empty cluster can give a class of jobs.
  struct Best {
    TypeMask types;
    int span;
    double bytes_per_s;
    double least_bytes_per_s;  ///< of one GPU's share of a card
  };

  [[nodiscard]] double seconds(JobId job, int span, double bytes_per_s, double compute_s) const {
    const double workers = jobs_->gpus(job);
    const double bytes = jobs_->gradient_bytes(job) * (workers - 1) / workers;
    return (2.0 * bytes / bytes_per_s + bytes / reduction_) + (overhead_s_ * span + compute_s);
  }

  void find_best(const JobClasses::Group& group) {
    std::vector<int> sizes;
    double intra = 0;
    double nic = 0;
    for (ServerId server = 0; server < cluster_->num_servers(); ++server) {
      if ((group.types >> cluster_->type(server) & 1) == 0) continue;
      sizes.push_back(cluster_->gpus(server));
      intra = std::max(intra, cluster_->network().intra(server));
      nic = std::max(nic, cluster_->network().bandwidth(server));
    }
    std::sort(sizes.rbegin(), sizes.rend());
    const double least = least_reserved_bandwidth(*cluster_, group.types);
    std::size_t span = 0;
    std::int64_t held = 0;
    for (ClassId id = group.begin; id < group.end; ++id) {  // by width ascending
      while (held < classes_->gpus(id)) held += sizes[span++];
      best_.push_back(
          {group.types, static_cast<int>(span), span == 1 ? intra : std::min(intra, nic), least});
    }
  }

  double overhead_s_;
  double reduction_;
  const JobTable* jobs_ = nullptr;
  const Cluster* cluster_ = nullptr;
  const JobClasses* classes_ = nullptr;
  std::vector<Best> best_;
};

}  // namespace

GPUSCHED_REGISTER(
    Speed, Ring, .name = "ring",
    .summary = "Ring all-reduce: an iteration waits for the slowest link of the ring.",
    .source = "Yu et al., MobiHoc 2022, equation of the iteration time.", .flags = {Flag::profiles},
    .parameters = {{.name = "overhead_s",
                    .fallback = 0.0005,
                    .help = "extra seconds per iteration for each server of the job",
                    .minimum = 0,
                    .maximum = 1e6},
                   {.name = "reduction_bytes_per_s",
                    .fallback = 3e11,
                    .help = "bytes per second at which a GPU adds gradients",
                    .minimum = 1,
                    .maximum = 1e18}},
    .columns = names_of({JobColumn::profile, JobColumn::gradient_bytes, JobColumn::compute_s}))

}  // namespace gpusched
