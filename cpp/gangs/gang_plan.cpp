#include "gangs/gang_plan.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>

#include "base/check.hpp"
#include "base/rng.hpp"

namespace gpusched {
namespace {

/// Tries caps, and keeps what the last feasible one bound.
class Search {
 public:
  Search(const JobTable& jobs, GangPacker& packer, const GangRule& rule, const RunControl& control)
      : packer_(packer), rule_(rule), control_(control), order_(jobs.num_jobs()) {
    std::iota(order_.begin(), order_.end(), JobId{0});
    rule.sort(jobs, order_);
    gangs_.reserve(order_.size());
    for (const JobId job : order_) {
      const Gang gang = rule.gang(jobs, job);
      if (gang.gpus > packer.num_gpus_for(gang)) {
        fail_input("gpus[" + std::to_string(job) + "] is " + std::to_string(gang.gpus) +
                   "; the cluster has fewer GPUs of the types that the job allows");
      }
      gangs_.push_back(gang);
      longest_ = std::max(longest_, gang.load);
      total_ += gang.load;
      area_ += gang.load * static_cast<double>(gang.gpus);
    }
  }

  /// Whole ticks, so that a cap survives being written in seconds.
  [[nodiscard]] double lower_bound() const {
    return std::ceil(std::max(longest_, area_ / static_cast<double>(packer_.num_gpus())));
  }
  /// Room for the rounding of sums taken in another order.
  [[nodiscard]] double upper_bound() const { return std::ceil(total_ * (1.0 + 1e-9)) + 1.0; }

  bool is_feasible(double cap) {
    control_.check();
    ++num_tried_;
    packer_.reset();
    bound_.clear();
    for (const Gang& gang : gangs_) {
      control_.check();
      if (!place(gang, cap)) return false;
    }
    keep(cap);
    return true;
  }

  void bind_all(double cap) {
    num_tried_ = 1;
    packer_.reset();
    bound_.clear();
    for (const Gang& gang : gangs_) {
      control_.check();
      if (place(gang, cap)) continue;
      const Packing packing = rule_.packing(gang.gpus);
      cap = std::ceil(packer_.least_cap(gang, packing, rule_.inflation));
      if (!place(gang, cap)) throw InvariantError("a job is refused under its own minimum cap");
    }
    keep(cap);
  }

  GangPlan finish() {
    // Back from the order of binding to the order of jobs.
    const std::size_t num_jobs = order_.size();
    GangPlan plan{.cap = cap_,
                  .first = std::vector<std::int64_t>(num_jobs + 1),
                  .shares = std::vector<GangShare>(kept_.size()),
                  .busy = std::move(busy_),
                  .num_tried = num_tried_};
    for (const Bound& bound : kept_) ++plan.first[bound.job + 1];
    std::partial_sum(plan.first.begin(), plan.first.end(), plan.first.begin());
    std::vector<std::int64_t> next(plan.first.begin(), plan.first.end() - 1);
    for (const Bound& bound : kept_) {
      plan.shares[static_cast<std::size_t>(next[bound.job]++)] = bound.share;
    }
    return plan;
  }

 private:
  struct Bound {
    JobId job;
    GangShare share;
  };

  bool place(const Gang& gang, double cap) {
    const Packing packing = rule_.packing(gang.gpus);
    if (!packer_.place(gang, packing, rule_.inflation, cap, shares_)) return false;
    for (const GangShare& share : shares_) bound_.push_back({gang.job, share});
    return true;
  }

  void keep(double cap) {
    cap_ = cap;
    std::swap(kept_, bound_);
    busy_.assign(packer_.busy().begin(), packer_.busy().end());
  }

  GangPacker& packer_;
  const GangRule& rule_;
  const RunControl& control_;
  std::vector<JobId> order_;
  std::vector<Gang> gangs_;
  double longest_ = 0.0;
  double total_ = 0.0;
  double area_ = 0.0;
  std::vector<GangShare> shares_;
  std::vector<Bound> bound_;
  std::vector<Bound> kept_;
  std::vector<double> busy_;
  double cap_ = 0.0;
  std::int64_t num_tried_ = 0;
};

}  // namespace

void GangRule::sort(const JobTable& jobs, std::vector<JobId>& ids) const {
  if (!is_by_width) {
    std::sort(ids.begin(), ids.end());
    return;
  }
  std::sort(ids.begin(), ids.end(), [&](JobId a, JobId b) {
    return jobs.gpus(a) != jobs.gpus(b) ? jobs.gpus(a) < jobs.gpus(b) : a < b;
  });
}

GangPacker make_packer(const Cluster& cluster, std::uint64_t seed) {
  std::vector<std::int32_t> gpus;
  std::vector<std::int32_t> types;
  for (ServerId server = 0; server < cluster.num_servers(); ++server) {
    gpus.push_back(cluster.gpus(server));
    types.push_back(cluster.type(server));
  }
  return {gpus, types, [seed](std::uint32_t job, int counter, std::uint64_t bound) {
            const auto nth = static_cast<std::uint64_t>(counter);
            return to_below(draw(seed, Stream::placement, job, nth), bound);
          }};
}

GangPlan plan_gangs(const JobTable& jobs, GangPacker& packer, const GangRule& rule,
                    double tolerance, const RunControl& control) {
  Search search(jobs, packer, rule, control);
  const double bound = search.lower_bound();
  const double highest = std::max(bound, search.upper_bound());
  // The tightest cap is mostly near the bound: wider and wider steps, then bisection.
  double low = bound;
  double high = bound;
  for (double step = std::max(1.0, std::floor(bound / 64.0)); !search.is_feasible(high);
       step *= 2.0) {
    if (high >= highest) throw InvariantError("no cap on the busy time is feasible");
    low = high;
    high = std::min(highest, bound + step);
  }
  while (high - low > std::max(1.0, tolerance * low)) {
    const double middle = std::floor(low + (high - low) / 2.0);
    if (middle <= low || middle >= high) break;  // no cap lies between: they are more than 2^53
    (search.is_feasible(middle) ? high : low) = middle;
  }
  return search.finish();
}

GangPlan plan_gangs_under(double cap, const JobTable& jobs, GangPacker& packer,
                          const GangRule& rule, const RunControl& control) {
  Search search(jobs, packer, rule, control);
  search.bind_all(cap);
  return search.finish();
}

}  // namespace gpusched
