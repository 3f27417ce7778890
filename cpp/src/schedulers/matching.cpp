#include "gpusched/matching_market.hpp"

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "gpusched/parameters.hpp"
#include "gpusched/reallocation.hpp"
#include "gpusched/registry.hpp"
#include "gpusched/scheduler.hpp"

namespace gpusched {
namespace {

/// Places all active jobs anew by the matching market over GPU types, at arrivals and finishes. The
/// market knows what a GPU of each type adds to a job's rate; the run's placement chooses GPUs.
class Matching final : public Scheduler {
 public:
  explicit Matching(const Parameters& parameters) : period_(parameters.seconds("period_s")) {
    options_.draws = static_cast<std::int32_t>(parameters.integer("draws"));
    options_.hysteresis = parameters.number("hysteresis");
    options_.goal.beta = parameters.number("beta");
    options_.goal.guard = parameters.number("guard");
    const std::string& sampling = parameters.text("sampling");
    if (sampling == "uniform") options_.sampling = CategorySampling::uniform;
    if (sampling == "enumerate") options_.sampling = CategorySampling::enumerate;
    const std::string& valuation = parameters.text("valuation");
    if (valuation == "one-pass") options_.market.valuation = Valuation::one_pass;
    if (valuation == "raw") options_.market.valuation = Valuation::raw;
    const std::string& clearing = parameters.text("clearing");
    if (clearing == "auction") options_.market.clearing = Clearing::auction;
    if (clearing == "jonker-volgenant") options_.market.clearing = Clearing::jonker_volgenant;
  }

  static std::vector<ParameterInfo> parameters() {
    return {{.name = "draws",
             .fallback = std::int64_t{59},
             .help = "categories drawn for a decision (59: one of the best 5 % with 95 %)",
             .minimum = 1,
             .maximum = 1e6},
            {.name = "sampling",
             .fallback = std::string("seeded"),
             .help = "which categories: seeds and draws around a rule, uniform draws, or all",
             .choices = {"seeded", "uniform", "enumerate"}},
            {.name = "valuation",
             .fallback = std::string("iterated"),
             .help = "what a GPU is worth to a job: the JCT it saves, iterated or once, or its rate",
             .choices = {"iterated", "one-pass", "raw"}},
            {.name = "clearing",
             .fallback = std::string("transportation"),
             .help = "how a market is cleared",
             .choices = {"transportation", "jonker-volgenant", "auction"}},
            {.name = "beta",
             .fallback = 1.0,
             .help = "1: mean JCT alone; less: Jain's fairness counts as well",
             .minimum = 0,
             .maximum = 1},
            {.name = "guard",
             .fallback = 0.25,
             .help = "part of an equal number of GPUs that every job gets at least",
             .minimum = 0,
             .maximum = 1},
            {.name = "hysteresis",
             .fallback = 0.03,
             .help = "the old placement stays unless the score improves by more than this part",
             .minimum = 0,
             .maximum = 1},
            {.name = "period_s",
             .fallback = 0.0,
             .help = "seconds between decisions (0: at arrivals and finishes)",
             .minimum = 0,
             .maximum = 1e9}};
  }

  void begin(const Setup& setup) override {
    placement_ = &setup.placement;
    options_.seed = setup.seed;
    active_.clear();
    reallocation_.begin(setup);
    const Cluster& cluster = setup.state.cluster();
    capacity_.clear();
    for (int type = 0; type < cluster.num_types(); ++type) {
      capacity_.push_back(static_cast<std::int32_t>(cluster.gpus_of(TypeMask{1} << type)));
    }
    // A pool does not know its types.
    if (setup.state.occupancy().is_pooled()) {
      capacity_ = {static_cast<std::int32_t>(cluster.num_gpus())};
    }
  }

  void decide(const State& state, const Instant& instant, Actions& actions) override {
    std::erase_if(active_, [&](JobId job) {
      return std::binary_search(instant.finished.begin(), instant.finished.end(), job);
    });
    active_.insert(active_.end(), instant.arrived.begin(), instant.arrived.end());
    if (active_.empty()) return;
    const bool is_due = period_ == Time{0} || state.now().count() % period_.count() == 0;
    if (is_due) {
      load(state);
      market_.solve(problem_, options_);
      reallocate(state, actions);
      if (state.num_running() == 0) start_any(state, actions);
    }
    if (period_ > Time{0}) actions.wake(next_multiple(state.now(), period_));
  }

 private:
  /// The market's rates: service per time of a GPU, at the job's own width or the greatest below
  /// that the type has.
  [[nodiscard]] double rate_per_gpu(const State& state, JobId job, int type) const {
    if (state.occupancy().is_pooled()) return 1.0 / state.jobs().gpus(job);
    const int least = state.min_gpus(job);
    for (int gpus = std::min(state.jobs().gpus(job), capacity(type)); gpus >= least; --gpus) {
      const double rate = state.rate(job, type, gpus);
      if (rate > 0) return rate / gpus;
    }
    if (state.speed().is_elastic()) return 0.0;
    // A gang of several types counts each GPU as it counts on its own.
    return (state.jobs().types(job) >> type & 1) != 0 ? 1.0 / state.jobs().gpus(job) : 0.0;
  }

  [[nodiscard]] int capacity(int type) const noexcept {
    return capacity_[static_cast<std::size_t>(type)];
  }

  [[nodiscard]] static int widest(const State& state, JobId job) {
    const auto all = static_cast<int>(state.cluster().num_gpus());
    const int most = std::min(all, state.max_gpus(job));
    if (!state.speed().is_elastic()) return most;
    return std::max(state.min_gpus(job), std::min(most, state.speed().widest(job)));
  }

  void load(const State& state) {
    const std::size_t num_types = capacity_.size();
    const std::size_t num_jobs = active_.size();
    rate_.clear();
    work_s_.clear();
    waiting_s_.clear();
    restart_s_.clear();
    least_.clear();
    most_.clear();
    previous_.assign(num_jobs * num_types, 0);
    for (std::size_t row = 0; row < num_jobs; ++row) {
      const JobId job = active_[row];
      for (std::size_t type = 0; type < num_types; ++type) {
        rate_.push_back(rate_per_gpu(state, job, static_cast<int>(type)));
      }
      work_s_.push_back(seconds(state.remaining(job)));
      waiting_s_.push_back(seconds(state.now() - state.jobs().submit(job)));
      restart_s_.push_back(seconds(state.jobs().restart_cost(job)));
      least_.push_back(state.min_gpus(job));
      most_.push_back(widest(state, job));
      if (!state.is_running(job)) continue;
      const Slot& run = state.slot(job);
      parts_of(state.cluster(), run.gpus, run.pieces, parts_);
      for (const Part& part : parts_) {
        previous_[row * num_types + static_cast<std::size_t>(part.type)] = part.gpus;
      }
    }
    samples_.assign(num_jobs, 1.0);
    problem_ = {.num_jobs = static_cast<std::int32_t>(num_jobs),
                .num_classes = static_cast<std::int32_t>(num_types),
                .rate = rate_,
                .capacity = capacity_,
                .rounds = work_s_,
                .samples = samples_,
                .gradient_bytes = {},
                .bytes_per_s = {},
                .waiting_s = waiting_s_,
                .restart_s = restart_s_,
                .previous = previous_,
                .min_workers = least_,
                .max_workers = most_,
                .max_samples = {}};
  }

  [[nodiscard]] static double seconds(Time time) { return static_cast<double>(time.count()) / 1e6; }

  void reallocate(const State& state, Actions& actions) {
    const MatchingMarket::Decision& decision = market_.decision();
    const std::size_t num_types = capacity_.size();
    for (std::size_t row = 0; row < active_.size(); ++row) {
      parts_.clear();
      for (std::size_t type = 0; type < num_types; ++type) {
        const int gpus = decision.counts[row * num_types + type];
        if (gpus > 0) parts_.push_back({static_cast<int>(type), gpus});
      }
      if (state.speed().is_elastic() && !state.speed().adds_types()) {
        keep_fastest(state, active_[row]);
      }
      if (!parts_.empty()) reallocation_.add(active_[row], parts_);
    }
    reallocation_.apply(state, actions);
  }

  /// Where a gang is as slow as its slowest GPU it takes of one part what is fastest by itself; that
  /// may be nothing.
  void keep_fastest(const State& state, JobId job) {
    Part best{0, 0};
    double fastest = 0;
    for (const Part& part : parts_) {
      for (int gpus = state.min_gpus(job); gpus <= part.gpus; ++gpus) {
        const double rate = state.rate(job, part.type, gpus);
        if (rate <= fastest) continue;
        fastest = rate;
        best = {part.type, gpus};
      }
    }
    parts_.clear();
    if (best.gpus > 0) parts_.push_back(best);
  }

  /// What the market wants may find no place on any server: at their own widths all do.
  void start_any(const State& state, Actions& actions) {
    for (const JobId job : active_) {
      if (!state.is_waiting(job) || state.record(job).idle_since == state.now()) continue;
      if (!placement_->place(state.occupancy(), state.request(job), allocation_)) continue;
      actions.start(job, allocation_);
      return;
    }
  }

  Time period_;
  MatchingMarket::Options options_;
  MatchingMarket market_;
  MatchingProblem problem_;
  Placement* placement_ = nullptr;
  Reallocation reallocation_;
  Allocation allocation_;
  std::vector<JobId> active_;
  std::vector<std::int32_t> capacity_;
  std::vector<double> rate_, work_s_, samples_, waiting_s_, restart_s_;
  std::vector<std::int32_t> previous_, least_, most_;
  std::vector<Part> parts_;
};

}  // namespace

GPUSCHED_REGISTER(
    Scheduler, Matching, .name = "matching",
    .summary = "A matching market of jobs and GPU types, cleared in sampled categories.",
    .source = "Liu, Wang, Huang, Pan, IEEE TPDS 35(6), 2024.",
    .flags = {"preemptive", "elastic", "clairvoyant", "random"},
    .parameters = Matching::parameters())

}  // namespace gpusched
