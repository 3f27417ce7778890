#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <tuple>
#include <vector>

#include "base/clone.hpp"
#include "base/heap.hpp"
#include "base/registry.hpp"
#include "model/network.hpp"
#include "placing/one_type.hpp"
#include "queueing/keyed_job.hpp"
#include "queueing/waiting_queue.hpp"
#include "seams/named.hpp"
#include "seams/scheduler.hpp"
#include "seams/speed.hpp"
#include "solvers/srpt_machine.hpp"

namespace gpusched {
namespace {

/// The order in which a virtual machine, as fast as the whole cluster, would complete the jobs; a
/// network-heavy job waits up to a limit for a placement that keeps it together.
///
/// Jobs with the same width, type set and model form a kind: they fit, and are well placed, on the
/// same GPUs. Under `skip` each kind has its own line, under `strict` all jobs share one; only line
/// heads are examined. A refused head stays refused until GPUs are released, so without a finish
/// only new heads and heads whose patience ends are examined. A job's patience runs on while it is
/// behind another.
class ASrpt final : public Scheduler {
 public:
  explicit ASrpt(const Parameters& parameters)
      : is_strict_(parameters.text("scan") == "strict"),
        starts_early_(parameters.flag("idle")),
        fills_fragments_(parameters.text("fill") == "fewest"),
        counts_low_(parameters.text("work") == "low"),
        sorts_by_work_(parameters.text("queue") == "work"),
        waits_for_loss_(parameters.text("wait") == "loss"),
        tau_(parameters.number("tau")),
        heavy_(parameters.number("heavy")),
        near_(parameters.number("near")) {}

  void begin(const Setup& setup) override {
    placement_ = &setup.placement;
    fragments_ = on_cluster(make_placement("best-fit", {}), setup.state.cluster());
    fragments_->begin({setup.seed, setup.state});
    finder_.reset();
    const bool has_links = !setup.state.speed().is_fixed();
    if (has_links) finder_.emplace(setup.state.cluster().network());
    machine_.begin(setup.state.gpus_up());
    jobs_.assign(setup.state.jobs().num_jobs(), {});
    kinds_.clear();
    kind_of_.clear();
    lines_.clear();
    if (is_strict_) lines_.emplace_back();
    fresh_.clear();
    patient_.clear();
    gone_.clear();
    num_queued_ = num_held_ = 0;
    num_sent_ = 0;
  }

  void decide(const State& state, const Instant& instant, Actions& actions) override {
    is_release_ = instant.has_released;
    for (const JobId job : machine_.advance(state.now())) send(state, job);
    for (const JobId job : gone_) machine_.remove(job);
    gone_.clear();
    for (const JobId job : instant.arrived) admit(state, job);
    if (num_queued_ > 0) dispatch(state, actions);
    fresh_.clear();
    if (starts_early_ && num_queued_ == 0) start_early(state, actions);
    ask_again(state, actions);
  }

  [[nodiscard]] bool withdraw(const State& /*state*/, JobId job) override {
    if (jobs_[job].is_held) {
      let_go(job);
      gone_.push_back(job);
      return true;
    }
    remove_job(lines_[line_of(job)].queue, job);
    --num_queued_;
    return true;
  }

 private:
  using KindId = std::uint32_t;
  using LineId = std::uint32_t;

  struct Kind {
    double ticks_per_service;  // on a good placement of the empty cluster
    double least_s;            // seconds per iteration on that placement
    std::size_t fewest_servers;
    bool is_heavy;
    bool fills_fragments;
  };
  /// Jobs that wait for each other's turn.
  struct Line {
    RunHeap<KeyedJob> queue;  // completed by the machine, in that order or by work
  };
  struct Known {
    KindId kind;
    bool is_held;            // on the machine, and not started
    Time patience = kNever;  // until when it waits for a good placement, once it was refused one
  };
  struct Candidate {
    KeyedJob job;
    LineId line;

    /// For a heap with the first on top.
    friend bool operator<(const Candidate& a, const Candidate& b) noexcept { return b.job < a.job; }
  };

  // The kinds of jobs, and what each needs.

  [[nodiscard]] KindId kind_of(const State& state, JobId job) {
    const JobTable& jobs = state.jobs();
    const bool has_model = finder_.has_value();
    const auto [found, is_new] =
        kind_of_.try_emplace({state.classes().of(job),
                              has_model && jobs.has_profiles() ? jobs.profile(job) : -1,
                              has_model && jobs.has_graphs() ? jobs.graph(job) : -1},
                             static_cast<KindId>(kinds_.size()));
    if (is_new) {
      kinds_.push_back(make_kind(state, job));
      if (!is_strict_) lines_.emplace_back();
    }
    return found->second;
  }

  [[nodiscard]] Kind make_kind(const State& state, JobId job) const {
    Kind kind{1.0, 0.0, 1, false, false};
    if (!finder_) return kind;
    const Request request = state.request(job);
    const IterationLimits limits = state.speed().limits(job);
    if (!counts_low_) kind.ticks_per_service = limits.min / limits.low;
    kind.least_s = limits.min;
    kind.is_heavy = limits.max >= heavy_ * limits.min;
    kind.fewest_servers = static_cast<std::size_t>(
        ceil_div(request.gpus, request.gpus_per_node > 0
                                   ? request.gpus_per_node
                                   : state.cluster().largest_server(request.types)));
    kind.fills_fragments = fills_fragments_ && !kind.is_heavy;
    return kind;
  }

  [[nodiscard]] LineId line_of(JobId job) const noexcept {
    return is_strict_ ? 0 : jobs_[job].kind;
  }

  /// GPUs over all GPUs, times the predicted ticks on a good placement.
  [[nodiscard]] double virtual_work(const State& state, JobId job) const {
    // In this order: what is whole in GPU ticks is rounded once.
    return static_cast<double>(state.jobs().gpus(job)) *
           duration(state, kinds_[jobs_[job].kind], job) / static_cast<double>(state.gpus_up());
  }

  /// Predicted ticks on a good placement.
  [[nodiscard]] static double duration(const State& state, const Kind& kind, JobId job) {
    const auto service = static_cast<double>(state.jobs().predicted(job).count());
    return service * kind.ticks_per_service;
  }

  // From arrival over the machine into the queue.

  void admit(const State& state, JobId job) {
    jobs_[job] = {kind_of(state, job), true};
    ++num_held_;
    // In GPU ticks; the machine does one per GPU and tick.
    const std::int64_t ticks = ceil_ticks(duration(state, kinds_[jobs_[job].kind], job));
    machine_.add(job, SrptMachine::Work{ticks} * state.jobs().gpus(job));
  }

  void let_go(JobId job) {
    jobs_[job].is_held = false;
    --num_held_;
  }

  /// Completed by the machine: into the queue, unless it was started early.
  void send(const State& state, JobId job) {
    if (!jobs_[job].is_held) return;
    let_go(job);
    const LineId line = line_of(job);
    auto& queue = lines_[line].queue;
    const KeyedJob keyed{sorts_by_work_ ? virtual_work(state, job) : num_sent_++, job};
    if (queue.empty() || keyed < queue.top()) add_once(line, fresh_);
    queue.push(keyed);
    ++num_queued_;
  }

  // From the queue onto the cluster.

  static void add_once(LineId line, std::vector<LineId>& lines) {
    if (std::find(lines.begin(), lines.end(), line) == lines.end()) lines.push_back(line);
  }

  void dispatch(const State& state, Actions& actions) {
    candidates_.clear();
    if (is_release_) {
      for (LineId line = 0; line < lines_.size(); ++line) add_queued(state, line);
    } else {
      for (const LineId line : patient_) {
        if (patience_of(line) == state.now()) add_once(line, fresh_);
      }
      for (const LineId line : fresh_) add_queued(state, line);
    }
    std::make_heap(candidates_.begin(), candidates_.end());
    while (!candidates_.empty()) {
      std::pop_heap(candidates_.begin(), candidates_.end());
      const Candidate candidate = candidates_.back();
      candidates_.pop_back();
      if (!try_start(state, candidate.job.job, true, actions)) continue;
      lines_[candidate.line].queue.pop();
      --num_queued_;
      if (add_queued(state, candidate.line)) {
        std::push_heap(candidates_.begin(), candidates_.end());
      }
    }
  }

  bool add_queued(const State& state, LineId id) {
    auto& queue = lines_[id].queue;
    if (queue.empty() || !may_fit(state, queue.top().job)) return false;
    candidates_.push_back({queue.top(), id});
    return true;
  }

  /// Until when the head of the line waits for a good placement.
  [[nodiscard]] Time patience_of(LineId id) {
    auto& queue = lines_[id].queue;
    return queue.empty() ? kNever : jobs_[queue.top().job].patience;
  }

  /// While the queue is empty, the job that the machine runs need not wait for its end there.
  void start_early(const State& state, Actions& actions) {
    const JobId job = machine_.running();
    if (job == kNoJob || !jobs_[job].is_held || !may_fit(state, job)) return;
    if (try_start(state, job, false, actions)) let_go(job);
  }

  [[nodiscard]] Placement& placement_for(const Kind& kind) const noexcept {
    return kind.fills_fragments ? *fragments_ : *placement_;
  }

  [[nodiscard]] bool may_fit(const State& state, JobId job) const {
    const Placement& placement = placement_for(kinds_[jobs_[job].kind]);
    const Request request = state.request(job);
    return request.room() <= placement.widest(state.occupancy(), request.types);
  }

  /// Starts the job if it fits, and if its placement is good or it has waited for a better one.
  bool try_start(const State& state, JobId job, bool is_queued, Actions& actions) {
    const Kind& kind = kinds_[jobs_[job].kind];
    if (!placement_for(kind).place(state.occupancy(), state.request(job), allocation_)) {
      return false;
    }
    if (kind.is_heavy && state.num_running() > 0) {
      const double seconds = judge(state, kind, job);
      if (seconds > near_ * kind.least_s && !(is_queued && has_waited(state, kind, job, seconds))) {
        return false;
      }
    }
    actions.start(job, allocation_);
    return true;
  }

  /// Whether the job, which could have iterations of `seconds`, has waited for a better placement.
  bool has_waited(const State& state, const Kind& kind, JobId job, double seconds) {
    Time& patience = jobs_[job].patience;
    if (patience == kNever) {
      const double unit = waits_for_loss_
                              ? duration(state, kind, job) * (seconds / kind.least_s - 1.0)
                              : virtual_work(state, job);
      patience = state.now() + Time{ceil_ticks(tau_ * unit)};
    }
    if (state.now() >= patience) return true;
    add_once(line_of(job), patient_);
    return false;
  }

  /// Seconds per iteration on `allocation_` if its links were divided among the GPUs behind them;
  /// on the fewest servers, the minimum.
  [[nodiscard]] double judge(const State& state, const Kind& kind, JobId job) {
    if (allocation_.pieces.size() <= kind.fewest_servers) return kind.least_s;
    finder_->find(allocation_.pieces, allocation_.gpus, crossings_);
    reserved_shares(state.cluster().network(), crossings_, shares_);
    return state.speed().iteration_s({job, allocation_.pieces, allocation_.ranks, shares_});
  }

  void ask_again(const State& state, Actions& actions) {
    std::erase_if(patient_, [&](LineId line) {
      return patience_of(line) == kNever || patience_of(line) <= state.now();
    });
    Time next = num_held_ > 0 ? machine_.next_completion() : kNever;
    for (const LineId line : patient_) next = std::min(next, patience_of(line));
    if (next != kNever) actions.wake(next);
  }

  bool is_strict_;
  bool starts_early_;
  bool fills_fragments_;
  bool counts_low_;
  bool sorts_by_work_;
  bool waits_for_loss_;
  double tau_;
  double heavy_;
  double near_;
  Owned<Placement> fragments_;
  Ref<Placement> placement_;
  std::optional<RingLinks> finder_;  // absent where no link matters
  SrptMachine machine_;
  std::vector<Known> jobs_;
  std::vector<Kind> kinds_;
  std::map<std::tuple<ClassId, std::int32_t, std::int32_t>, KindId> kind_of_;
  std::vector<Line> lines_;
  std::vector<LineId> fresh_;  // with a new head, or one at the end of its patience
  std::vector<LineId> patient_;  // with a head that waits for a good placement
  std::vector<JobId> gone_;  // taken back since the last decision, from the machine
  std::vector<Candidate> candidates_;
  std::vector<Crossing> crossings_;
  std::vector<LinkShare> shares_;
  Allocation allocation_;
  bool is_release_ = false;
  std::size_t num_queued_ = 0;
  std::size_t num_held_ = 0;
  double num_sent_ = 0;
};

}  // namespace

GPUSCHED_REGISTER(
    Scheduler, ASrpt, .name = "a-srpt",
    .summary = "Follows one virtual server under SRPT; network-heavy jobs may wait.",
    .source =
        "Luo, Liu, Lee, Shroff, INFOCOM 2025 (arXiv 2501.05563): the abstract; details are ours.",
    .differs =
        "Jobs of different classes pass each other (scan=skip) and an idle cluster starts a job "
        "early (idle); the abstract mentions neither. queue=work replaces its order of completion.",
    .flags = {Flag::clairvoyant},
    .parameters = {
        {.name = "scan",
         .fallback = std::string("skip"),
         .help = "strict: stop at the first job that cannot start; skip: go on, but not with "
                 "jobs of the same size, GPU types and model",
         .choices = {"skip", "strict"}},
        {.name = "queue",
         .fallback = std::string("fifo"),
         .help = "order of the jobs that the virtual machine has completed: 'fifo': by "
                 "completion; 'work': least virtual work first",
         .choices = {"fifo", "work"}},
        {.name = "wait",
         .fallback = std::string("work"),
         .help = "unit of tau: 'work': virtual work; 'loss': predicted extra time of the "
                 "available placement over a good one",
         .choices = {"work", "loss"}},
        {.name = "tau",
         .fallback = 1.0,
         .help = "longest wait of a network-heavy job for a good placement, as a multiple of "
                 "its virtual work or of that loss",
         .minimum = 0,
         .maximum = 1e6},
        {.name = "heavy",
         .fallback = 1.5,
         .help = "a job is network-heavy if its iterations can take this many times their minimum",
         .minimum = 1,
         .maximum = 1e9},
        {.name = "near",
         .fallback = 1.1,
         .help = "a placement is good if iterations take at most this many times their minimum",
         .minimum = 1,
         .maximum = 1e9},
        {.name = "idle",
         .fallback = true,
         .help = "while no job completed by the virtual machine waits, start the one that it runs"},
        {.name = "fill",
         .fallback = std::string("fewest"),
         .help = "where other jobs go: 'fewest': to the servers with the fewest free GPUs; "
                 "'most-free': where the placement puts them",
         .choices = {"fewest", "most-free"}},
        {.name = "work",
         .fallback = std::string("min"),
         .help = "iteration time in virtual work: 'min': on a good placement; 'low': the lower "
                 "bound over all placements",
         .choices = {"min", "low"}}})

}  // namespace gpusched
