#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "base/clone.hpp"
#include "base/parameters.hpp"
#include "base/registry.hpp"
#include "base/stop_check.hpp"
#include "elastic/elastic_jobs.hpp"
#include "elastic/leases.hpp"
#include "elastic/least_fair.hpp"
#include "elastic/waiting_line.hpp"
#include "solvers/partial_allocation.hpp"

namespace gpusched {
namespace {

/// How many jobs there were, on average over the life of each.
class MeanConcurrency {
 public:
  void clear() { *this = {}; }
  void advance(Time now) {
    sum_ += static_cast<double>((now - last_).count()) * static_cast<double>(num_jobs_);
    last_ = now;
  }
  void add(JobId job) {
    since_.resize(std::max(since_.size(), std::size_t{job} + 1));
    since_[job] = {last_, sum_};
    ++num_jobs_;
  }
  void forget() { --num_jobs_; }
  [[nodiscard]] double mean(JobId job) const { return mean_since(since_[job].at, since_[job].sum); }
  [[nodiscard]] double sum() const noexcept { return sum_; }
  /// Lower bound for jobs that all had at least that, then.
  [[nodiscard]] double least_mean(const RatioBound& then) const {
    const Time span = last_ - then.from();
    if (span > Time{0} && span < kShort) return 0.0;  // too coarse a difference
    return kRounding * std::min(then.concurrency(), mean_since(then.from(), then.job_ticks()));
  }

 private:
  struct Arrival {
    Time at;
    double sum;
  };

  [[nodiscard]] double mean_since(Time at, double sum) const {
    if (at == last_) return static_cast<double>(num_jobs_);
    return (sum_ - sum) / static_cast<double>((last_ - at).count());
  }

  static constexpr Time kShort{1'000'000};
  static constexpr double kRounding = 1.0 - 1e-3;

  Time last_{0};
  double sum_ = 0;  // of jobs x ticks
  std::size_t num_jobs_ = 0;
  std::vector<Arrival> since_;  // of each JobId
};

/// GPUs are leased. Free GPUs and those of expired leases are auctioned among the jobs with the
/// worst finish-time fairness: the expected run time over that on an equal share of the cluster.
/// Leftover GPUs and hidden payments go to the other jobs.
class Themis final : public Scheduler {
 public:
  explicit Themis(const Parameters& parameters)
      : period_(parameters.seconds("period_s")),
        least_(parameters.seconds("least_s")),
        fairness_(parameters.number("fairness")) {}

  static std::vector<ParameterInfo> parameters() {
    return {{.name = "period_s",
             .fallback = 1200.0,
             .help = "seconds of a lease",
             .minimum = 1,
             .maximum = 1e9},
            {.name = "least_s",
             .fallback = 1.0,
             .help = "minimum seconds of a lease, after the hidden payment",
             .minimum = 1,
             .maximum = 1e9},
            {.name = "fairness",
             .fallback = 0.8,
             .help = "f: the worst-off 1 - f of the jobs without a lease bid, at least one job",
             .minimum = 0,
             .maximum = 1}};
  }

  void begin(const Setup& setup) override {
    jobs_.begin(setup);
    auction_.listen_to(&stop_.emplace(setup.control));
    waiting_.clear();
    leases_.clear();
    concurrency_.clear();
  }

  void decide(const State& state, const Instant& instant, Actions& actions) override {
    concurrency_.advance(state.now());
    for (const JobId job : instant.finished) {
      leases_.forget(jobs_.job(job));
      concurrency_.forget();
    }
    jobs_.open(state, instant);
    // Groups jobs by the growth of their ratios.
    const auto key = [&](const ElasticJobs::Job& job) {
      return state.jobs().predicted(job.id).count();
    };
    arrived_.clear();
    for (const JobId id : instant.arrived) {
      concurrency_.add(id);
      arrived_.push_back(&jobs_.job(id));
    }
    waiting_.add(arrived_, key);
    find_candidates(state);
    hold_auctions(state);
    give_what_is_left(state);
    jobs_.apply(state, actions);
    waiting_.update(jobs_.touched(), key);
    leases_.begin(state, jobs_, [&](const ElasticJobs::Job& job) { return lease_of(job.id); });
    const bool could_grow = jobs_.all_left() > 0 && state.speed().is_elastic();
    const bool has_use = could_grow || !waiting_.empty();
    if (has_use && !leases_.empty()) actions.wake(leases_.first_end());
  }

  [[nodiscard]] bool withdraw(const State& state, JobId job) override {
    concurrency_.advance(state.now());
    concurrency_.forget();
    waiting_.forget(jobs_.job(job));
    jobs_.forget(job);
    return true;
  }

 private:
  /// The hidden payment of a job: GPUs that it won but does not get.
  struct Payment {
    Ref<ElasticJobs::Job> job;
    Configuration won;
  };

  /// Jobs with an expired lease, and waiting jobs that fit into the available GPUs.
  void find_candidates(const State& state) {
    candidates_.clear();
    least_fair_.clear();
    leases_.end(state.now(), jobs_,
                [&](ElasticJobs::Job& job) { least_fair_.add(unfairness(state, job.id), job); });
    if (jobs_.all_left() == 0) return;
    const auto num_gpus = static_cast<double>(state.gpus_up());
    least_fair_.add_waiting(
        waiting_, [&](const LeastGpus& need) { return need.narrowest() <= jobs_.all_left(); },
        [&](const LeastFair::Block& block) {
          return std::min(block.note.ratio(state.now()), block.note.per_gpu(state.now()) *
                                                             num_gpus /
                                                             concurrency_.least_mean(block.note));
        });
  }

  /// Finds candidates on demand; false if there are no more whose need `fits`.
  template <class Fits>
  [[nodiscard]] bool find_next(const State& state, Fits fits) {
    const auto measure = [&](JobId job) {
      return Unfairness{unfairness(state, job), concurrency_.mean(job)};
    };
    const LeastFair::Candidate* const next =
        least_fair_.next(state, fits, measure, concurrency_.sum());
    if (next != nullptr) candidates_.push_back(next->job);
    return next != nullptr;
  }

  /// On an equal share of the cluster a job that is wider runs as much longer.
  [[nodiscard]] double unfairness(const State& state, JobId job) const {
    const auto elapsed = static_cast<double>((state.now() - state.jobs().submit(job)).count());
    const auto left = static_cast<double>(state.remaining(job).count());
    const auto service = static_cast<double>(std::max(kTick, state.jobs().predicted(job)).count());
    const double share = static_cast<double>(state.gpus_up()) / concurrency_.mean(job);
    const double longer = std::max(1.0, static_cast<double>(state.jobs().gpus(job)) / share);
    return (elapsed + left) / (service * longer);
  }

  void hold_auctions(const State& state) {
    leases_won_.clear();
    payments_.clear();
    const std::size_t num_candidates = least_fair_.size();
    if (num_candidates == 0) return;
    const auto others =
        static_cast<std::size_t>(floor_times(fairness_, static_cast<std::int64_t>(num_candidates)));
    const std::size_t end = std::max<std::size_t>(1, num_candidates - others);
    for (std::size_t first = 0; first < end && jobs_.all_left() > 0;) {
      const std::size_t num = std::min(end - first, PartialAllocation::kMostBidders);
      const auto any = [](const LeastGpus&) { return true; };
      while (candidates_.size() < first + num && find_next(state, any)) {
      }
      bids_.resize(num);
      for (std::size_t i = 0; i < num; ++i) bid(state, *candidates_[first + i], bids_[i]);
      left_.clear();
      for (int type = 0; type < jobs_.num_types(); ++type) left_.push_back(jobs_.left(type));
      const std::span<const Award> awards = auction_.solve(left_, bids_);
      for (std::size_t i = 0; i < awards.size(); ++i) {
        if (awards[i].bundle < 0) continue;
        const Bundle& won = bids_[i][static_cast<std::size_t>(awards[i].bundle)];
        hand_over(*candidates_[first + i], won, awards[i].kept);
      }
      first += awards.size();
    }
  }

  static double end_of(double elapsed, double cost, double work, double rate) {
    return elapsed + cost + work / rate;
  }

  /// How much sooner the job would end with each of its configurations than if it waited for a
  /// lease and then had the fastest.
  void bid(const State& state, const ElasticJobs::Job& job, std::vector<Bundle>& bids) const {
    bids.clear();
    if (job.is_mixed()) return;
    const auto elapsed = static_cast<double>((state.now() - state.jobs().submit(job.id)).count());
    const auto work = static_cast<double>(std::max(kTick, state.remaining(job.id)).count());
    const bool has_run = state.record(job.id).start != kNever;
    const auto cost =
        has_run ? static_cast<double>(state.jobs().restart_cost(job.id).count()) : 0.0;
    double fastest = 0;
    for (const Configuration& known : job.configurations) fastest = std::max(fastest, known.rate);
    const double waits = cost + static_cast<double>(period_.count());
    const double without = end_of(elapsed, waits, work, fastest);
    for (const Configuration& known : job.configurations) {
      const bool stays = job.held_type() == known.type && job.held_gpus() == known.gpus;
      const double worth = without / end_of(elapsed, stays ? 0.0 : cost, work, known.rate);
      if (worth > 1) bids.push_back({known.type, known.gpus, worth});
    }
  }

  /// A job pays with GPUs as far as it can run with fewer, and with the time of its lease for the
  /// rest.
  void hand_over(ElasticJobs::Job& job, const Bundle& won, double part) {
    const double gpus = part * won.gpus;
    const Configuration* kept = nullptr;
    const Configuration* whole = nullptr;
    for (const Configuration& known : job.configurations) {
      if (known.type != won.type || known.gpus > won.gpus) continue;
      if (kept == nullptr || known.gpus <= gpus + kRounding) kept = &known;
      whole = &known;
    }
    jobs_.give(job, *kept);
    const double share = std::min(1.0, gpus / kept->gpus);
    const double ticks = std::floor(static_cast<double>(period_.count()) * share + 0.5);
    const Time lease{static_cast<std::int64_t>(ticks)};
    leases_won_[job.id] = std::max(least_, lease);
    if (kept != whole) payments_.push_back({&job, *whole});
  }

  /// To jobs without GPUs, the worst-off first; GPUs that are left go back to the jobs that paid
  /// with them.
  void give_what_is_left(const State& state) {
    const auto fits = [&](const LeastGpus& need) { return need.is_left(jobs_); };
    for (std::size_t i = 0; jobs_.all_left() > 0; ++i) {
      if (i == candidates_.size() && !find_next(state, fits)) break;
      ElasticJobs::Job& job = *candidates_[i];
      if (!job.wanted.empty()) continue;
      const Configuration* best = jobs_.fastest(job, std::numeric_limits<int>::max());
      if (best == nullptr) continue;
      const bool stays = !job.held.empty() && !ElasticJobs::is_worth(state, job, best->rate);
      if (!stays || !jobs_.keep(job)) jobs_.give(job, *best);
    }
    for (const Payment& payment : payments_) {
      if (jobs_.give(*payment.job, payment.won)) leases_won_.erase(payment.job->id);
    }
  }

  [[nodiscard]] Time lease_of(JobId job) const {
    const auto won = leases_won_.find(job);
    return won == leases_won_.end() ? std::max(least_, period_) : won->second;
  }

  /// Rounding of GPUs: a fraction of a number may be slightly below a whole one.
  static constexpr double kRounding = 1e-9;

  Time period_;
  Time least_;
  double fairness_;
  std::optional<ControlCheck> stop_;
  ElasticJobs jobs_;
  PartialAllocation auction_;
  WaitingLine waiting_;
  Leases leases_;
  MeanConcurrency concurrency_;
  std::vector<Ref<ElasticJobs::Job>> arrived_;
  LeastFair least_fair_;
  std::vector<Ref<ElasticJobs::Job>> candidates_;  // found so far, the worst-off first
  std::vector<std::vector<Bundle>> bids_;
  std::vector<std::int64_t> left_;
  std::vector<Payment> payments_;
  std::map<JobId, Time> leases_won_;
};

}  // namespace

GPUSCHED_REGISTER(
    Scheduler, Themis, .name = "themis",
    .summary = "Auctions leases among the jobs with the worst finish-time fairness.",
    .source = "Mahajan et al., Themis, NSDI 2020; Cole, Gkatzelis, Goel, EC 2013.",
    .differs =
        "An app is one job and bids its gain over waiting for a lease; at most 16 jobs bid in "
        "an auction, and leftover GPUs go to the worst-off jobs.",
    .flags = {Flag::preemptive, Flag::elastic, Flag::clairvoyant},
    .preemption =
        {.least_run = "least_s",
         .reason =
             "GPUs are taken from a job only after its lease, of which a part, but never all, "
             "may be the hidden payment."},
    .parameters = Themis::parameters())

}  // namespace gpusched
