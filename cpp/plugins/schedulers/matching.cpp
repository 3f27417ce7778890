#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/clone.hpp"
#include "base/parameters.hpp"
#include "base/registry.hpp"
#include "base/stop_check.hpp"
#include "elastic/reallocation.hpp"
#include "market/market_jobs.hpp"
#include "market/matching_market.hpp"
#include "market/own_widths.hpp"
#include "market/placing.hpp"
#include "market/targets.hpp"
#include "market/weights.hpp"
#include "market/widths.hpp"
#include "seams/scheduler.hpp"
#include "seams/slow_twins.hpp"

namespace gpusched {
namespace {

// The market's descent, see its options: the next decision goes on from there.
constexpr std::int64_t kEffort = 4'000;

/// Reassigns all active jobs by a matching market over classes of equal GPUs, at arrivals and
/// finishes; the run's placement chooses the GPUs.
class Matching final : public Scheduler {
 public:
  explicit Matching(const Parameters& parameters)
      : period_(parameters.seconds("period_s")),
        focus_(static_cast<int>(parameters.integer("focus"))),
        keeps_widths_(parameters.text("widths") == "own") {
    options_.effort = kEffort;
    options_.reports_bounds = false;
    options_.draws = static_cast<std::int32_t>(parameters.integer("draws"));
    options_.hysteresis = parameters.number("hysteresis");
    options_.goal.beta = parameters.number("beta");
    options_.goal.guard = parameters.number("guard");
    const std::string& sampling = parameters.text("sampling");
    if (sampling == "uniform") options_.sampling = CategorySampling::uniform;
    const std::string& valuation = parameters.text("valuation");
    if (valuation == "one-pass") options_.market.valuation = Valuation::one_pass;
    if (valuation == "raw") options_.market.valuation = Valuation::raw;
  }

  static std::vector<ParameterInfo> parameters() {
    return {{.name = "widths",
             .fallback = std::string("elastic"),
             .help = "own: jobs keep their number of GPUs even if the speed is elastic",
             .choices = {"elastic", "own"}},
            {.name = "focus",
             .fallback = std::int64_t{2},
             .help = "0: minimise the sum of completion times if nothing changed any more; c >= "
                     "1: favour jobs with the least remaining time, with weight (j / n)^c - ((j "
                     "- 1) / n)^c for the j-th of n from the last",
             .minimum = 0,
             .maximum = 16},
            {.name = "draws",
             .fallback = std::int64_t{59},
             .help = "compositions (worker counts by job) drawn per decision (59: one of the best "
                     "5% with 95%); if types do not add up, a search over widths is used instead",
             .minimum = 1,
             .maximum = 1e6},
            {.name = "sampling",
             .fallback = std::string("seeded"),
             .help = "which compositions: seeds and draws around a rule, or uniform draws",
             .choices = {"seeded", "uniform"}},
            {.name = "valuation",
             .fallback = std::string("iterated"),
             .help = "value of a GPU to a job: the JCT it saves, iterated or one pass, or its raw "
                     "rate",
             .choices = {"iterated", "one-pass", "raw"}},
            {.name = "beta",
             .fallback = 1.0,
             .help = "weight of the mean JCT; below 1, Jain's fairness index counts for the rest",
             .minimum = 0,
             .maximum = 1},
            {.name = "guard",
             .fallback = 0.25,
             .help = "minimum share of every job, as a fraction of an equal split of the GPUs",
             .minimum = 0,
             .maximum = 1},
            {.name = "hysteresis",
             .fallback = 0.03,
             .help = "keep the old placement unless the score improves by more than this fraction",
             .minimum = 0,
             .maximum = 0.999},
            {.name = "period_s",
             .fallback = 0.0,
             .help = "seconds between decisions; in between, only idle GPUs are given out (0: "
                     "decide at arrivals and finishes)",
             .minimum = 0,
             .maximum = 1e9,
             .least_positive = 1}};
  }

  void begin(const Setup& setup) override {
    market_.begin(&stop_.emplace(setup.control));
    jobs_.begin(setup, keeps_widths_);
    has_own_widths_ = setup.state.speed().is_fixed() && jobs_.classes().size() == 1 &&
                      !setup.state.jobs().has_demands() && !takes_slow_twins;
    if (has_own_widths_) own_widths_.begin(setup.state);
    placing_.begin(setup, options_.hysteresis);
  }

  void decide(const State& state, const Instant& instant, Actions& actions) override {
    if (has_own_widths_) return decide_own_widths(state, instant, actions);
    jobs_.open(state, instant);
    if (jobs_.empty()) return;
    targets_.open(state, jobs_);
    choose(state, is_due(state));
    if (is_any_possible()) {
      weigh(jobs_, chosen_, focus_, keeps_widths_, weight_);
      if (!targets_.give_only_widths(state, chosen_)) {
        match(state);
        if (jobs_.is_additive()) {
          give_matched(state);
        } else {
          give_widths(state);
        }
      }
    }
    offer_idle(state);
    apply(state, actions);
    wake(state, actions);
  }

  [[nodiscard]] bool withdraw(const State& /*state*/, JobId job) override {
    if (has_own_widths_) {
      own_widths_.forget(job);
    } else {
      jobs_.forget(job);
    }
    return true;
  }

 private:
  using Job = MatchingJobs::Job;
  using Row = MatchingJobs::Row;

  [[nodiscard]] const Job& job_at(Row job) const noexcept { return jobs_.at(job); }
  [[nodiscard]] int type_of(std::size_t own) const noexcept { return jobs_.classes()[own].type; }
  [[nodiscard]] bool can_use(const Job& job, std::size_t own) const noexcept {
    return (job.usable >> type_of(own) & 1) != 0;
  }

  [[nodiscard]] bool is_due(const State& state) const {
    return period_ == Time{0} || state.now().count() % period_.count() == 0;
  }

  void wake(const State& state, Actions& actions) const {
    // Those that have just stopped cannot start at the same instant.
    if (state.num_running() == 0) actions.wake(state.now() + kTick);
    if (period_ > Time{0}) actions.wake(next_multiple(state.now(), period_));
  }

  /// The result of all steps below if a market has no choice.
  void decide_own_widths(const State& state, const Instant& instant, Actions& actions) {
    own_widths_.open(state, instant);
    if (own_widths_.empty()) return;
    own_widths_.choose(state, is_due(state));
    Reallocation& reallocation = placing_.reallocation();
    for (const JobId job : own_widths_.stops()) reallocation.drop(job);
    for (const JobId job : own_widths_.starts()) {
      const Part all{jobs_.classes().front().type, state.jobs().gpus(job)};
      reallocation.add(job, {&all, 1});
    }
    placing_.apply(state, actions, Reallocation::Others::stay, own_widths_.waiting());
    placing_.consolidate(state, actions, own_widths_.spread(), std::identity{});
    own_widths_.update(state, placing_.others(), placing_.moved());
    wake(state, actions);
  }

  /// Chooses the participants: the jobs with the least remaining GPU time, as long as each can have
  /// its minimum width. Jobs that are settling, and all running jobs if no decision is due, keep
  /// their GPUs.
  void choose(const State& state, bool is_due) {
    capacity_.clear();
    for (const GpuClass& own : jobs_.classes()) capacity_.push_back(own.gpus);
    chosen_.clear();
    for (const auto& [key, id, job] : jobs_.running()) {
      if (is_due && !job_at(job).is_settling) continue;
      counts_.assign(capacity_.size(), 0);
      jobs_.count_held(state, job_at(job), counts_);
      targets_.give(state, job, targets_.held(job));
      take_counts();
    }
    std::int64_t left = usable(~TypeMask{0});
    const auto fits = [&](const MatchingJobs::Need& need) {
      return need.least <= left && (need.goes_to_market || need.least <= usable(need.types));
    };
    MatchingJobs::InOrder jobs = jobs_.in_order();
    while (const auto job = left > 0 ? jobs.next(fits) : std::nullopt) {
      if (!targets_.of(*job).empty() || job_at(*job).least > left) continue;
      if (jobs_.goes_to_market(*job)) {
        chosen_.push_back(*job);
      } else if (!take_several(state, *job)) {
        continue;
      }
      left -= job_at(*job).least;
    }
  }

  void take_counts() {
    for (std::size_t own = 0; own < capacity_.size(); ++own) capacity_[own] -= counts_[own];
  }

  /// A job that no single type holds, if types do not add up, gets GPUs before the market: those it
  /// has, or those of its usable classes in order. False if there are too few.
  bool take_several(const State& state, Row job) {
    counts_.assign(capacity_.size(), 0);
    jobs_.count_held(state, job_at(job), counts_);
    bool keeps = job_at(job).is_running;
    for (std::size_t own = 0; own < counts_.size(); ++own) keeps &= counts_[own] <= capacity_[own];
    std::int32_t missing = keeps ? 0 : job_at(job).least;
    for (std::size_t own = 0; own < capacity_.size() && !keeps; ++own) {
      counts_[own] = can_use(job_at(job), own) ? std::min(missing, capacity_[own]) : 0;
      missing -= counts_[own];
    }
    if (missing > 0) return false;
    take_counts();
    targets_.give(state, job, parts_of_counts(counts_));
    return true;
  }

  [[nodiscard]] std::span<const Part> parts_of_counts(std::span<const std::int32_t> counts) {
    parts_.clear();
    for (std::size_t own = 0; own < counts.size(); ++own) {
      if (counts[own] > 0) parts_.push_back({type_of(own), counts[own]});
    }
    return parts_;
  }

  /// GPUs of these types for the participants.
  [[nodiscard]] std::int64_t usable(TypeMask types) const {
    std::int64_t gpus = 0;
    for (std::size_t own = 0; own < capacity_.size(); ++own) {
      if ((types >> type_of(own) & 1) != 0) gpus += capacity_[own];
    }
    return gpus;
  }

  [[nodiscard]] bool is_any_possible() const {
    return std::any_of(chosen_.begin(), chosen_.end(),
                       [&](Row job) { return usable(job_at(job).usable) >= job_at(job).least; });
  }

  void match(const State& state) {
    const std::size_t jobs = chosen_.size();
    const std::size_t classes = capacity_.size();
    for (auto* column : {&rate_, &rounds_, &restart_s_, &gradients_}) column->clear();
    for (auto* column : {&least_, &most_}) column->clear();
    previous_.assign(jobs * classes, 0);
    ones_.assign(jobs, 1.0);
    for (std::size_t row = 0; row < jobs; ++row) {
      const Job& job = job_at(chosen_[row]);
      for (std::size_t own = 0; own < classes; ++own) {
        rate_.push_back(job.gpu_rate[static_cast<std::size_t>(type_of(own))]);
      }
      jobs_.count_held(state, job, {previous_.data() + row * classes, classes});
      rounds_.push_back(weight_[row] * job.remaining_s);
      restart_s_.push_back(weight_[row] * job.restart_s);
      gradients_.push_back(job.exchange / 2.0);
      least_.push_back(job.least);
      most_.push_back(job.most);
    }
    market_.solve({.num_jobs = static_cast<std::int32_t>(jobs),
                   .num_classes = static_cast<std::int32_t>(classes),
                   .rate = rate_,
                   .capacity = capacity_,
                   .rounds = rounds_,
                   .samples = ones_,
                   .gradient_bytes = gradients_,
                   .bytes_per_s = ones_,
                   .waiting_s = {},
                   .restart_s = restart_s_,
                   .previous = previous_,
                   .min_workers = least_,
                   .max_workers = most_,
                   .max_samples = {}},
                  jobs_.is_additive() ? options_ : start_options());
  }

  /// Options of a market that starts another search.
  [[nodiscard]] MatchingMarket::Options start_options() const {
    MatchingMarket::Options options = options_;
    options.draws = 1;
    options.descend = false;
    options.enumerate_up_to = 0;
    return options;
  }

  [[nodiscard]] std::span<const Part> matched(std::size_t row) {
    const std::size_t classes = capacity_.size();
    return parts_of_counts({market_.decision().counts.data() + row * classes, classes});
  }

  void give_matched(const State& state) {
    for (std::size_t row = 0; row < chosen_.size(); ++row) {
      targets_.give(state, chosen_[row], matched(row));
    }
  }

  void give_widths(const State& state) {
    type_capacity_.assign(jobs_.gpus_of_type().size(), 0);
    for (std::size_t own = 0; own < capacity_.size(); ++own) {
      type_capacity_[static_cast<std::size_t>(type_of(own))] += capacity_[own];
    }
    widths_.begin(type_capacity_);
    for (std::size_t row = 0; row < chosen_.size(); ++row) {
      const Row job = chosen_[row];
      const std::span<const Part> held = targets_.held(job);
      widths_.add(job_at(job), weight_[row], held.size() == 1 ? held.front() : Part{0, 0},
                  matched(row));
    }
    widths_.solve(keeps_widths_, options_.hysteresis);
    for (std::size_t row = 0; row < chosen_.size(); ++row) {
      const Part found = widths_.found(row);
      if (found.gpus > 0) targets_.give(state, chosen_[row], {&found, 1});
    }
  }

  /// Jobs that got nothing in the market, or got no more because all others would have had to move.
  void offer_idle(const State& state) {
    MatchingJobs::InOrder jobs = jobs_.in_order();
    for (std::size_t offers = 0;
         targets_.is_anything_idle() && offers < MatchingPlacing::kOffers;) {
      const std::optional<Row> job = jobs.next();
      if (!job) break;
      if (!targets_.of(*job).empty()) continue;
      targets_.give_idle(state, *job);
      ++offers;
    }
    if (jobs_.is_additive()) targets_.grow(state, chosen_, weight_, options_.hysteresis);
  }

  void apply(const State& state, Actions& actions) {
    for (const Row job : targets_.given()) {
      placing_.reallocation().add(job_at(job).id, targets_.of(job));
    }
    MatchingJobs::InOrder jobs = jobs_.in_order();
    placing_.apply(state, actions, Reallocation::Others::stop, [&]() -> std::optional<JobId> {
      const std::optional<Row> job = jobs.next();
      return job ? std::optional(job_at(*job).id) : std::nullopt;
    });
    placing_.consolidate(state, actions, jobs_.running(),
                         [&](const MatchingJobs::Lines::Entry& run) -> const Job& {
                           return job_at(run.item);
                         });
  }

  Time period_;
  int focus_;
  bool keeps_widths_;
  MatchingMarket::Options options_;
  MatchingMarket market_;
  MatchingJobs jobs_;
  MatchingTargets targets_;
  MatchingWidths widths_;
  OwnWidths own_widths_;
  bool has_own_widths_ = false;  // and nothing to choose: then it is these that decide
  MatchingPlacing placing_;
  std::optional<ControlCheck> stop_;

  std::vector<Row> chosen_;                            // by the GPU time left
  std::vector<double> weight_;                         // of each of them
  std::vector<std::int32_t> capacity_, type_capacity_; // for those chosen
  std::vector<std::int32_t> counts_;
  std::vector<Part> parts_;
  // The market's problem.
  std::vector<double> rate_, rounds_, restart_s_, gradients_, ones_;
  std::vector<std::int32_t> least_, most_, previous_;
};

}  // namespace

GPUSCHED_REGISTER(
    Scheduler, Matching, .name = "matching",
    .summary = "A matching market of jobs and GPU types, cleared for sampled worker counts.",
    .source = "Liu, Wang, Huang, Pan, IEEE TPDS 35(6), 2024: the abstract; details are ours.",
    .differs =
        "A decision favours the jobs with the least remaining time (focus=2); the abstract "
        "minimises the mean JCT (focus=0).",
    .flags = {Flag::preemptive, Flag::elastic, Flag::clairvoyant},
    .preemption =
        {.period = "period_s",
         .reason =
             "Running jobs are placed again only at multiples of the period; in between, only "
             "idle GPUs are given out."},
    .parameters = Matching::parameters())

}  // namespace gpusched
