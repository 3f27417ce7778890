#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "base/check.hpp"
#include "base/infinity.hpp"
#include "base/parameters.hpp"
#include "base/registry.hpp"
#include "model/job_columns.hpp"
#include "seams/speed.hpp"
#include "solvers/batch_split.hpp"

namespace gpusched {
namespace {

constexpr double kInfinite = kInfinity;

/// Synchronous rounds of a global batch on unequal workers: each gets samples in proportion to its
/// speed, so that all are done at once; then a ring reduces the gradients.
class Proportional final : public Speed {
 public:
  explicit Proportional(const Parameters& parameters)
      : is_equal_(parameters.text("split") == "equal"),
        is_integer_(parameters.text("batches") == "integer") {}

  [[nodiscard]] bool adds_types() const override { return !is_equal_; }
  [[nodiscard]] bool uses_links() const override { return uses_links_; }
  [[nodiscard]] bool can_run(JobId job) const override { return ideal_s_[job] < kInfinite; }
  [[nodiscard]] double ideal_s(JobId job) const override { return ideal_s_[job]; }

  [[nodiscard]] double uniform_s(JobId job, int type, int gpus) const override {
    if (gpus > cluster_->gpus_of(TypeMask{1} << type)) return kInfinite;
    clear();
    add(job, type, gpus);
    return at_least_ideal(job, gpus, round_s(job, best_bandwidth(TypeMask{1} << type, gpus)));
  }

  /// As if all workers were the fastest, without memory limits, and every ring inside a server.
  [[nodiscard]] double bound_s(JobId job, int gpus) const override {
    const TypeMask types = jobs_->types(job) & cluster_->all_types();
    double fastest = 0;
    for (TypeMask rest = types; rest != 0; rest &= rest - 1) {
      fastest = std::max(fastest, rate(job, std::countr_zero(rest)));
    }
    const auto profile = static_cast<std::size_t>(columns_->profile[job]);
    double seconds = static_cast<double>(columns_->global_batch[profile]) / (gpus * fastest);
    if (!columns_->gradient_bytes.empty()) {
      seconds += ring_exchange_s(gpus, columns_->gradient_bytes[profile], best_bandwidth(types, 1));
    }
    return at_least_ideal(job, gpus, seconds);
  }

  [[nodiscard]] int widest(JobId job) const override {
    return static_cast<int>(cluster_->gpus_of(jobs_->types(job)));
  }

  [[nodiscard]] IterationLimits limits(JobId job) const override {
    double most = ideal_s(job);
    for (TypeMask rest = jobs_->types(job) & cluster_->all_types(); rest != 0; rest &= rest - 1) {
      const double own = uniform_s(job, std::countr_zero(rest), jobs_->gpus(job));
      if (own < kInfinite) most = std::max(most, own);
    }
    return {ideal_s(job), ideal_s(job), most};
  }

  [[nodiscard]] double iteration_s(const PlacedGang& gang) const override {
    double bytes_per_s = kInfinite;
    held_.clear();
    for (const Piece& piece : gang.pieces) {
      hold(gang.job, cluster_->type(piece.server), piece.gpus);
      bytes_per_s = std::min(bytes_per_s, cluster_->network().intra(piece.server));
    }
    for (const LinkShare& share : gang.shares) {
      bytes_per_s = std::min(bytes_per_s, share.bytes_per_s);
    }
    clear();
    for (const Held& held : held_) add(gang.job, held.type, held.gpus);
    return at_least_ideal(gang.job, static_cast<int>(rates_.size()),
                          round_s(gang.job, bytes_per_s));
  }

 private:
  void start(const JobTable& jobs, const Cluster& cluster, const JobClasses& classes) override {
    jobs_ = &jobs;
    cluster_ = &cluster;
    columns_ = &jobs.columns();
    check_batches();
    const auto& gradients = columns_->gradient_bytes;
    uses_links_ = std::any_of(gradients.begin(), gradients.end(), [](double b) { return b > 0; });
    if (uses_links_) require_bandwidths("proportional", cluster);
    find_bandwidths();
    ideal_s_.assign(jobs.num_jobs(), kInfinite);
    for (JobId job = 0; job < jobs.num_jobs(); ++job) {
      if (classes.of(job) != JobClasses::kNoClass) ideal_s_[job] = best_s(job);
    }
  }

  struct Held {
    double rate;
    int type;
    int gpus;
  };

  [[nodiscard]] std::size_t row(JobId job, int type) const {
    return static_cast<std::size_t>(columns_->profile[job]) *
               static_cast<std::size_t>(cluster_->num_types()) +
           static_cast<std::size_t>(type);
  }
  [[nodiscard]] double rate(JobId job, int type) const {
    return columns_->samples_per_s[row(job, type)];
  }

  void clear() const {
    rates_.clear();
    limits_.clear();
  }

  /// From the fastest type on, as the ideal counts: sums in another order would round in another
  /// way, and the same GPUs would be worth less than themselves.
  void hold(JobId job, int type, int gpus) const {
    const double own = rate(job, type);
    auto at = std::find_if(held_.begin(), held_.end(), [&](const Held& held) {
      return held.type == type || held.rate < own || (held.rate == own && held.type > type);
    });
    if (at != held_.end() && at->type == type) {
      at->gpus += gpus;
    } else {
      held_.insert(at, {own, type, gpus});
    }
  }

  void add(JobId job, int type, int gpus) const {
    const std::int64_t limit =
        columns_->max_samples.empty() ? 0 : columns_->max_samples[row(job, type)];
    rates_.insert(rates_.end(), static_cast<std::size_t>(gpus), rate(job, type));
    limits_.insert(limits_.end(), static_cast<std::size_t>(gpus), limit);
  }

  /// Of the workers added, on links of which the slowest has this bandwidth.
  [[nodiscard]] double round_s(JobId job, double bytes_per_s) const {
    const auto profile = static_cast<std::size_t>(columns_->profile[job]);
    const auto workers = static_cast<std::int64_t>(rates_.size());
    // A worker that cannot run the model can run no part of it.
    if (std::find(rates_.begin(), rates_.end(), 0.0) != rates_.end()) return kInfinite;
    const double samples_s = slowest_s(columns_->global_batch[profile]);
    if (columns_->gradient_bytes.empty()) return samples_s;
    return samples_s + ring_exchange_s(workers, columns_->gradient_bytes[profile], bytes_per_s);
  }

  [[nodiscard]] double slowest_s(std::int64_t batch) const {
    if (is_integer_) {
      counts_.resize(rates_.size());
      const bool fits = is_equal_ ? split_equally(batch, limits_, counts_)
                                  : split_proportionally(batch, rates_, limits_, counts_);
      return fits ? slowest_worker_s(counts_, rates_) : kInfinite;
    }
    samples_.resize(rates_.size());
    real_limits_.assign(limits_.begin(), limits_.end());
    const auto real = static_cast<double>(batch);
    const bool fits = is_equal_ ? split_equally(real, real_limits_, samples_)
                                : split_proportionally(real, rates_, real_limits_, samples_);
    return fits ? slowest_worker_s(samples_, rates_) : kInfinite;
  }

  /// Where memory limits faster workers more than slower ones, a mixture may pass the ideal.
  [[nodiscard]] double at_least_ideal(JobId job, int gpus, double seconds) const {
    return gpus == jobs_->gpus(job) ? std::max(seconds, ideal_s_[job]) : seconds;
  }

  /// At the job's own width: on the fastest GPUs there are, or on those of one type.
  [[nodiscard]] double best_s(JobId job) const {
    const int gpus = jobs_->gpus(job);
    const TypeMask types = jobs_->types(job) & cluster_->all_types();
    const double bytes_per_s = best_bandwidth(types, gpus);
    clear();
    TypeMask rest = types;
    while (static_cast<int>(rates_.size()) < gpus) {
      int fastest = -1;
      for (TypeMask at = rest; at != 0; at &= at - 1) {
        const int type = std::countr_zero(at);
        if (fastest < 0 || rate(job, type) > rate(job, fastest)) fastest = type;
      }
      const std::int64_t missing = gpus - static_cast<std::int64_t>(rates_.size());
      add(job, fastest,
          static_cast<int>(std::min(missing, cluster_->gpus_of(TypeMask{1} << fastest))));
      rest &= ~(TypeMask{1} << fastest);
    }
    double best = round_s(job, bytes_per_s);
    for (TypeMask at = types; at != 0; at &= at - 1) {
      const int type = std::countr_zero(at);
      if (gpus > cluster_->gpus_of(TypeMask{1} << type)) continue;
      clear();
      add(job, type, gpus);
      best = std::min(best, round_s(job, best_bandwidth(TypeMask{1} << type, gpus)));
    }
    return best;
  }

  struct Bandwidth {
    double intra = 0;
    double nic = 0;
  };

  void find_bandwidths() {
    bandwidths_.assign(static_cast<std::size_t>(cluster_->num_types()), {});
    for (ServerId server = 0; server < cluster_->num_servers(); ++server) {
      Bandwidth& best = bandwidths_[static_cast<std::size_t>(cluster_->type(server))];
      best.intra = std::max(best.intra, cluster_->network().intra(server));
      best.nic = std::max(best.nic, cluster_->network().bandwidth(server));
    }
  }

  [[nodiscard]] double best_bandwidth(TypeMask types, int gpus) const {
    Bandwidth best;
    for (TypeMask rest = types; rest != 0; rest &= rest - 1) {
      const Bandwidth& own = bandwidths_[static_cast<std::size_t>(std::countr_zero(rest))];
      best.intra = std::max(best.intra, own.intra);
      best.nic = std::max(best.nic, own.nic);
    }
    return gpus <= cluster_->largest_server(types) ? best.intra : std::min(best.intra, best.nic);
  }

  void check_batches() const {
    for (const std::int32_t profile : columns_->profile) {
      if (columns_->global_batch[static_cast<std::size_t>(profile)] > 0) continue;
      fail_input("speed proportional: global_batch of profile " + std::to_string(profile) +
                 " is 0; it must be at least 1");
    }
  }

  bool is_equal_;
  bool is_integer_;
  bool uses_links_ = false;
  const JobTable* jobs_ = nullptr;
  const Cluster* cluster_ = nullptr;
  const JobColumns* columns_ = nullptr;
  std::vector<Bandwidth> bandwidths_;  // of each type
  std::vector<double> ideal_s_;        // of each job
  // Of the current workers; one run uses it at a time.
  mutable std::vector<Held> held_;
  mutable std::vector<double> rates_;
  mutable std::vector<std::int64_t> limits_;
  mutable std::vector<std::int64_t> counts_;
  mutable std::vector<double> real_limits_;
  mutable std::vector<double> samples_;
};

}  // namespace

GPUSCHED_REGISTER(
    Speed, Proportional, .name = "proportional",
    .summary = "Samples in proportion to each worker's speed; a ring reduces gradients.",
    .source =
        "Liu, Wang, Huang, Pan, IEEE TPDS 35(6), 2024: proportional assignment; equations ours.",
    .flags = {Flag::elastic, Flag::samples},
    .parameters = {{.name = "split",
                    .fallback = std::string("proportional"),
                    .help =
                        "split of samples: in proportion to the speeds of the workers, or equal",
                    .choices = {"proportional", "equal"}},
                   {.name = "batches",
                    .fallback = std::string("real"),
                    .help = "integer: whole samples for each worker",
                    .choices = {"real", "integer"}}},
    .columns = names_of({JobColumn::profile, JobColumn::samples_per_s, JobColumn::global_batch}),
    .optional_columns = names_of({JobColumn::gradient_bytes, JobColumn::max_samples}))

}  // namespace gpusched
