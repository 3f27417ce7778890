#include <algorithm>
#include <bit>
#include <cstdint>
#include <string>
#include <vector>

#include "base/check.hpp"
#include "base/infinity.hpp"
#include "base/registry.hpp"
#include "model/job_columns.hpp"
#include "seams/speed.hpp"

namespace gpusched {
namespace {

/// Seconds of one iteration; infinity if there is no throughput.
double seconds_of(double throughput) { return throughput > 0 ? 1.0 / throughput : kInfinity; }

/// Measured iterations per second by GPU type and number of GPUs; linear between the numbers in the
/// table, impossible outside of them and at an entry of 0. A job on several types runs as if all
/// its GPUs were of the slowest; a job on more servers than needed uses a separate table, as far as
/// it goes.
class Table final : public Speed {
 public:
  [[nodiscard]] bool can_run(JobId job) const override { return best_[job] > 0; }

  [[nodiscard]] double ideal_s(JobId job) const override { return seconds_of(best_[job]); }

  [[nodiscard]] double uniform_s(JobId job, int type, int gpus) const override {
    if (gpus > cluster_->gpus_of(TypeMask{1} << type)) {
      return kInfinity;
    }
    return seconds_of(throughput(columns_->throughput, job, type, gpus));
  }

  [[nodiscard]] double bound_s(JobId job, int gpus) const override {
    double most = 0;
    for (TypeMask rest = jobs_->types(job) & cluster_->all_types(); rest != 0; rest &= rest - 1) {
      const int type = std::countr_zero(rest);
      most = std::max({most, at(job, type, gpus, false), at(job, type, gpus, true)});
    }
    return seconds_of(std::min(most, limit(job, gpus)));
  }

  [[nodiscard]] int widest(JobId /*job*/) const override { return columns_->table_counts.back(); }

  [[nodiscard]] IterationLimits limits(JobId job) const override {
    double least = best_[job];
    for (TypeMask rest = jobs_->types(job) & cluster_->all_types(); rest != 0; rest &= rest - 1) {
      const double packed = at(job, std::countr_zero(rest), jobs_->gpus(job), false);
      const double spread = at(job, std::countr_zero(rest), jobs_->gpus(job), true);
      if (packed > 0) least = std::min(least, packed);
      if (spread > 0) least = std::min(least, spread);
    }
    return {ideal_s(job), ideal_s(job), seconds_of(least)};
  }

  [[nodiscard]] double iteration_s(const PlacedGang& gang) const override {
    int gpus = 0;
    TypeMask types = 0;
    for (const Piece& piece : gang.pieces) {
      gpus += piece.gpus;
      types |= TypeMask{1} << cluster_->type(piece.server);
    }
    const int size = cluster_->largest_server(types);
    const auto fewest = static_cast<std::size_t>((gpus + size - 1) / size);
    double least = kInfinity;
    for (TypeMask rest = types; rest != 0; rest &= rest - 1) {
      least =
          std::min(least, at(gang.job, std::countr_zero(rest), gpus, gang.pieces.size() > fewest));
    }
    return seconds_of(std::min(least, limit(gang.job, gpus)));
  }

 private:
  void start(const JobTable& jobs, const Cluster& cluster, const JobClasses& classes) override {
    jobs_ = &jobs;
    cluster_ = &cluster;
    columns_ = &jobs.columns();
    best_.assign(jobs.num_jobs(), 0.0);
    for (JobId job = 0; job < jobs.num_jobs(); ++job) {
      if (classes.of(job) != JobClasses::kNoClass) best_[job] = best_throughput(job);
    }
  }

  /// Tables need not be monotonic: nothing at the job's own width may pass the ideal.
  [[nodiscard]] double limit(JobId job, int gpus) const {
    return gpus == jobs_->gpus(job) ? best_[job] : kInfinity;
  }

  [[nodiscard]] double at(JobId job, int type, int gpus, bool is_spread) const {
    if (is_spread && !columns_->spread_throughput.empty()) {
      const double known = throughput(columns_->spread_throughput, job, type, gpus);
      if (known > 0) return known;
    }
    return throughput(columns_->throughput, job, type, gpus);
  }

  [[nodiscard]] double throughput(std::span<const double> table, JobId job, int type,
                                  int gpus) const {
    const auto counts = columns_->table_counts;
    const auto row = (static_cast<std::size_t>(columns_->profile[job]) *
                          static_cast<std::size_t>(cluster_->num_types()) +
                      static_cast<std::size_t>(type)) *
                     counts.size();
    const auto next = std::lower_bound(counts.begin(), counts.end(), gpus);
    if (next == counts.end()) return 0.0;
    const auto i = row + static_cast<std::size_t>(next - counts.begin());
    if (*next == gpus) return table[i];
    if (next == counts.begin() || table[i] == 0 || table[i - 1] == 0) return 0.0;
    const double below = *(next - 1);
    const double part = (gpus - below) / (*next - below);
    return table[i - 1] + (table[i] - table[i - 1]) * part;
  }

  /// At the job's own width on the fastest types with enough GPUs; on servers with several types,
  /// on one type alone.
  [[nodiscard]] double best_throughput(JobId job) const {
    const int gpus = jobs_->gpus(job);
    TypeMask rest = jobs_->types(job) & cluster_->all_types();
    for (TypeMask types = rest; cluster_->has_parts() && types != 0; types &= types - 1) {
      const TypeMask own = types & -types;
      if (cluster_->gpus_of(own) < gpus) rest &= ~own;
    }
    std::int64_t held = 0;
    double slowest = 0;
    while (held < gpus) {
      int fastest = -1;
      slowest = 0;
      for (TypeMask types = rest; types != 0; types &= types - 1) {
        const int type = std::countr_zero(types);
        const double own = throughput(columns_->throughput, job, type, gpus);
        if (own <= slowest) continue;
        slowest = own;
        fastest = type;
      }
      if (fastest < 0) return 0.0;
      rest &= ~(TypeMask{1} << fastest);
      held += cluster_->gpus_of(TypeMask{1} << fastest);
    }
    return slowest;
  }

  const JobTable* jobs_ = nullptr;
  const Cluster* cluster_ = nullptr;
  const JobColumns* columns_ = nullptr;
  std::vector<double> best_;  // of each job, at its own width; 0: it cannot run
};

}  // namespace

GPUSCHED_REGISTER(
    Speed, Table, .name = "table",
    .summary = "Measured throughputs by GPU type and number of GPUs.",
    .source = "Narayanan et al., OSDI 2020 (tables by type); interpolation between counts is ours.",
    .flags = {Flag::elastic, Flag::linkless, Flag::throughputs},
    .columns = names_of({JobColumn::profile, JobColumn::table_counts, JobColumn::throughput}),
    .optional_columns = names_of({JobColumn::gradient_bytes, JobColumn::spread_throughput}))

}  // namespace gpusched
