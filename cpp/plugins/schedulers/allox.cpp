#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <tuple>
#include <vector>

#include "base/clone.hpp"
#include "base/infinity.hpp"
#include "base/registry.hpp"
#include "base/stop_check.hpp"
#include "elastic/elastic_jobs.hpp"
#include "elastic/waiting_line.hpp"
#include "solvers/assignment.hpp"

namespace gpusched {
namespace {

/// Matches jobs to GPU types and to positions in their queues, counted from the last: the k-th job
/// from the end delays k jobs, including itself, so it adds k times its time there to the sum of
/// completion times. A type counts as one machine per job of mean width that fits.
class AlloX final : public Scheduler {
 public:
  explicit AlloX(const Parameters& parameters)
      : period_(parameters.seconds("period_s")),
        window_(static_cast<std::size_t>(parameters.integer("window"))),
        preempts_(parameters.flag("preempt")) {}

  static std::vector<ParameterInfo> parameters() {
    return {{.name = "period_s",
             .fallback = 360.0,
             .help = "seconds between matchings; in between, only idle GPUs are given out (0: "
                     "match at every event)",
             .minimum = 0,
             .maximum = 1e9,
             .least_positive = 1},
            {.name = "window",
             .fallback = std::int64_t{128},
             .help = "number of jobs matched together: those with the least remaining GPU time",
             .minimum = 1,
             .maximum = 1024},
            {.name = "preempt",
             .fallback = true,
             .help = "also match running jobs, at the cost of restarts"}};
  }

  void begin(const Setup& setup) override {
    jobs_.begin(setup, true);
    solver_.listen_to(&stop_.emplace(setup.control));
    waiting_.clear();
    type_of_.clear();
    has_changed_ = false;
  }

  void decide(const State& state, const Instant& instant, Actions& actions) override {
    for (const JobId job : instant.finished) type_of_.erase(job);
    jobs_.open(state, instant);
    if (jobs_.empty()) return;
    // The same jobs would be matched alike.
    has_changed_ = has_changed_ || instant.has_released || !instant.arrived.empty();
    const bool is_review = period_ == Time{0} || state.now().count() % period_.count() == 0;
    const bool is_due = has_changed_ && is_review;
    if (is_due) has_changed_ = false;
    const auto key = [&](const ElasticJobs::Job& job) { return key_of(gpu_time(state, job)); };
    arrived_.clear();
    for (const JobId id : instant.arrived) arrived_.push_back(&jobs_.job(id));
    waiting_.add(arrived_, key);
    line_.clear();
    if (is_due && preempts_) take_back(state, jobs_, line_, key);
    if (is_due) {
      match(state);
      start_matched();
    }
    WaitingLine::Walk line(jobs_, waiting_, line_);
    while (ElasticJobs::Job* job = line.next()) fill(*job);
    jobs_.apply(state, actions);
    waiting_.update(jobs_.touched(), key);
    if (period_ > Time{0} && has_changed_) actions.wake(next_multiple(state.now(), period_));
  }

  [[nodiscard]] bool withdraw(const State& /*state*/, JobId job) override {
    waiting_.forget(jobs_.job(job));
    type_of_.erase(job);
    jobs_.forget(job);
    return true;
  }

 private:
  /// Columns [begin, end) of the matching: the places of one type, `machines` of each k = 1, 2, ..
  struct Queue {
    int begin;
    int end;
    int machines;
  };
  struct Match {
    int place;
    JobId id;
    const Configuration* configuration;
    Ref<ElasticJobs::Job> job;

    friend bool operator<(const Match& a, const Match& b) noexcept {
      return std::tuple(-a.place, a.id) < std::tuple(-b.place, b.id);
    }
  };

  static double fastest_rate(const ElasticJobs::Job& job) {
    double rate = 0;
    for (const Configuration& known : job.configurations) rate = std::max(rate, known.rate);
    return rate;
  }

  static double gpu_time(const State& state, const ElasticJobs::Job& job) {
    return static_cast<double>(state.remaining(job.id).count()) * state.jobs().gpus(job.id) /
           fastest_rate(job);
  }

  void match(const State& state) {
    rows_.clear();
    std::int64_t gpus = 0;
    WaitingLine::Walk line(jobs_, waiting_, line_);
    const auto has_types = [](const LeastGpus& need) { return need.together == 0; };
    while (rows_.size() < window_) {
      ElasticJobs::Job* const job = line.next(has_types);
      if (job == nullptr) break;
      if (job->is_mixed()) continue;
      rows_.push_back(job);
      gpus += state.jobs().gpus(job->id);
    }
    matches_.clear();
    if (rows_.empty()) return;
    const auto num_rows = static_cast<std::int64_t>(rows_.size());
    queues_.clear();
    int end = 0;
    for (int type = 0; type < jobs_.num_types(); ++type) {
      const std::int64_t fitting = jobs_.total(type) * num_rows / gpus;
      const auto machines = static_cast<int>(std::clamp<std::int64_t>(fitting, 1, num_rows));
      const auto places = static_cast<int>(ceil_div(num_rows, machines));
      queues_.push_back({end, end + machines * places, machines});
      end += machines * places;
    }
    fill_costs(state, end);
    const auto& result = solver_.solve(cost_, static_cast<int>(num_rows), end);
    for (std::size_t row = 0; row < rows_.size(); ++row) {
      const int column = result.column_of_row[row];
      const auto queue = std::find_if(queues_.begin(), queues_.end(),
                                      [&](const Queue& known) { return column < known.end; });
      const auto type = static_cast<int>(queue - queues_.begin());
      const int place = (column - queue->begin) / queue->machines + 1;
      matches_.push_back({place, rows_[row]->id, configuration(*rows_[row], type), rows_[row]});
    }
    // The job with the most jobs behind it runs first.
    std::sort(matches_.begin(), matches_.end());
  }

  void fill_costs(const State& state, int columns) {
    cost_.assign(rows_.size() * static_cast<std::size_t>(columns), kInfinity);
    for (std::size_t row = 0; row < rows_.size(); ++row) {
      const ElasticJobs::Job& job = *rows_[row];
      double* const costs = cost_.data() + row * static_cast<std::size_t>(columns);
      const auto work = static_cast<double>(state.remaining(job.id).count());
      const auto restart = static_cast<double>(state.jobs().restart_cost(job.id).count());
      const bool has_run = state.record(job.id).start != kNever;
      for (const Configuration& known : job.configurations) {
        const Queue& queue = queues_[static_cast<std::size_t>(known.type)];
        const double pays = has_run && known.type != job.held_type() ? restart : 0.0;
        const double time = work / known.rate + pays;
        for (int column = queue.begin; column < queue.end; ++column) {
          const int place = (column - queue.begin) / queue.machines + 1;
          costs[column] = place * time;
        }
      }
    }
  }

  static const Configuration* configuration(const ElasticJobs::Job& job, int type) {
    for (const Configuration& known : job.configurations) {
      if (known.type == type) return &known;
    }
    return nullptr;
  }

  void start_matched() {
    type_of_.clear();
    for (const Match& match : matches_) {
      type_of_[match.id] = match.configuration->type;
      jobs_.give(*match.job, *match.configuration);
    }
  }

  /// Leftover GPUs go to jobs that wait for no other type.
  void fill(ElasticJobs::Job& job) {
    if (!job.wanted.empty()) return;
    const auto matched = type_of_.find(job.id);
    if (matched != type_of_.end()) {
      jobs_.give(job, *configuration(job, matched->second));
      return;
    }
    if (jobs_.keep(job)) return;
    const Configuration* best = jobs_.fastest(job, std::numeric_limits<int>::max());
    if (best != nullptr) jobs_.give(job, *best);
  }

  Time period_;
  std::size_t window_;
  bool preempts_;
  bool has_changed_ = false;  // since the last matching
  std::optional<ControlCheck> stop_;
  ElasticJobs jobs_;
  Assignment solver_{Assignment::Start::frozen_ties};
  std::map<JobId, int> type_of_;  // of the jobs of the last matching
  WaitingLine waiting_;
  std::vector<Ref<ElasticJobs::Job>> arrived_;
  std::vector<WaitingLine::Entry> line_;  // running jobs with reclaimable GPUs
  std::vector<Ref<ElasticJobs::Job>> rows_;
  std::vector<Queue> queues_;
  std::vector<double> cost_;
  std::vector<Match> matches_;
};

}  // namespace

GPUSCHED_REGISTER(
    Scheduler, AlloX, .name = "allox",
    .summary = "Matches jobs to GPU types and queue positions to minimise the mean JCT.",
    .source = "Le, Sun, Chowdhury, Liu, AlloX, EuroSys 2020.",
    .differs =
        "A type counts as one machine per job of mean size that fits (the paper: one job per "
        "machine); idle GPUs go to waiting jobs between matchings; no fairness over time.",
    .flags = {Flag::preemptive, Flag::clairvoyant},
    .preemption =
        {.period = "period_s",
         .reason =
             "Running jobs are rematched only at multiples of the period; in between, only idle "
             "GPUs are given out."},
    .parameters = AlloX::parameters())

}  // namespace gpusched
