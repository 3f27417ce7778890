#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "base/clone.hpp"
#include "base/heap.hpp"
#include "base/infinity.hpp"
#include "base/registry.hpp"
#include "model/network.hpp"
#include "queueing/keyed_job.hpp"
#include "queueing/waiting_queue.hpp"
#include "seams/order.hpp"
#include "seams/scheduler.hpp"
#include "seams/speed.hpp"

namespace gpusched {
namespace {

/// Smallest GPU time first; a multi-server job waits if its links are too busy.
///
/// A job with only idle links is always admitted. So no job waits forever: on an idle cluster
/// the first job in order can be placed (else it was rejected at its arrival) and no link is used.
/// The finish that empties the cluster is followed by such a decision.
///
/// Jobs with the same width, type set and profile form a kind: they send equally much per tick of
/// service, so the smallest of them has the least left to send, and if the rule refuses it, it
/// refuses the others. A decision that refuses one skips the later ones of its kind. Without a
/// finish neither GPUs nor links were released, and only arrivals are examined. So a decision looks
/// at the heads of the kinds that are narrow enough, not at the queue.
class AdaSrsf final : public Scheduler {
 public:
  explicit AdaSrsf(const Parameters& parameters)
      : sharers_(static_cast<std::size_t>(parameters.integer("sharers"))),
        is_dual_(parameters.text("rule") == "adadual"),
        threshold_(1.0 / (2.0 * (1.0 + parameters.number("degradation")))) {}

  void begin(const Setup& setup) override {
    const State& state = setup.state;
    placement_ = &setup.placement;
    speed_ = &setup.state.speed();
    finder_.reset();
    rings_.clear();
    links_of_.clear();
    const bool has_links = !speed_->is_fixed() && !speed_->has(Flag::linkless);
    if (has_links && state.jobs().has_profiles()) {
      finder_.emplace(state.cluster().network());
      rings_.resize(static_cast<std::size_t>(state.cluster().network().num_links()));
    }
    kinds_.clear();
    kind_of_.clear();
    kinds_of_class_.assign(state.classes().num_classes(), {});
    offers_.assign(state.classes().num_classes(), {});
  }

  void decide(const State& state, const Instant& instant, Actions& actions) override {
    for (const JobId job : instant.finished) leave(state, job);
    candidates_.clear();
    for (const JobId job : instant.arrived) {
      const KindId id = kind_of(state, job);
      const KeyedJob keyed{key(state, job), job};
      if (!instant.has_released) {
        candidates_.push_back({keyed, id});
      } else {
        kinds_[id].waiting.push(keyed);
      }
    }
    ++decision_;
    ++version_;
    offered_to_ = kNoJob;
    if (!instant.has_released) {
      judge_arrivals(state, actions);
    } else {
      judge_all(state, actions);
    }
  }

  [[nodiscard]] bool withdraw(const State& state, JobId job) override {
    return remove_job(kinds_[kind_of(state, job)].waiting, job);
  }

 private:
  using KindId = std::uint32_t;

  static constexpr double kNoLimit = kInfinity;
  static constexpr double kRefused = -1;

  struct Kind {
    ClassId id;
    double bytes_per_s;        // to send, for each second of service
    std::uint64_t refused_in;  // the last decision that refused one
    RunHeap<KeyedJob> waiting;
  };
  struct Offer {
    std::uint64_t version = 0;
    double limit = 0;
  };
  /// On a link.
  struct Ring {
    JobId job;
    double bytes_per_s;
  };
  struct Candidate {
    KeyedJob job;
    KindId kind;

    /// For a heap with the lowest job on top.
    friend bool operator<(const Candidate& a, const Candidate& b) noexcept { return b.job < a.job; }
  };

  [[nodiscard]] static double key(const State& state, JobId job) noexcept {
    return static_cast<double>(state.jobs().gpus(job)) * key_of(state.remaining(job));
  }

  [[nodiscard]] KindId kind_of(const State& state, JobId job) {
    const JobTable& jobs = state.jobs();
    const ClassId id = state.classes().of(job);
    const std::int32_t profile = jobs.has_profiles() ? jobs.columns().profile[job] : -1;
    const auto [found, is_new] =
        kind_of_.try_emplace({id, profile}, static_cast<KindId>(kinds_.size()));
    if (is_new) {
      kinds_of_class_[id].push_back(found->second);
      kinds_.push_back({id, bytes_per_s(state, job), 0, {}});
    }
    return found->second;
  }

  /// Gradients times iterations, where the service is that of iterations at their least time.
  [[nodiscard]] double bytes_per_s(const State& state, JobId job) const {
    return finder_ ? state.jobs().gradient_bytes(job) / speed_->ideal_s(job) : 0.0;
  }

  void judge_arrivals(const State& state, Actions& actions) {
    std::sort(candidates_.rbegin(), candidates_.rend());
    for (const Candidate& candidate : candidates_) {
      if (!try_start(state, candidate, actions)) {
        kinds_[candidate.kind].waiting.push(candidate.job);
      }
    }
  }

  void judge_all(const State& state, Actions& actions) {
    for (const auto& group : state.classes().groups()) {
      const std::int64_t widest = placement_->widest(state.occupancy(), group.types);
      for (ClassId id = group.begin; id < group.end; ++id) {
        if (state.classes().room(id) > widest) break;
        for (const KindId kind : kinds_of_class_[id]) add_head(kind);
      }
    }
    std::make_heap(candidates_.begin(), candidates_.end());
    while (!candidates_.empty()) {
      std::pop_heap(candidates_.begin(), candidates_.end());
      const Candidate candidate = candidates_.back();
      candidates_.pop_back();
      if (!try_start(state, candidate, actions)) continue;
      kinds_[candidate.kind].waiting.pop();
      if (add_head(candidate.kind)) std::push_heap(candidates_.begin(), candidates_.end());
    }
  }

  bool add_head(KindId kind) {
    auto& waiting = kinds_[kind].waiting;
    if (waiting.empty()) return false;
    candidates_.push_back({waiting.top(), kind});
    return true;
  }

  bool try_start(const State& state, const Candidate& candidate, Actions& actions) {
    Kind& kind = kinds_[candidate.kind];
    const Ring ring{candidate.job.job, kind.bytes_per_s};
    if (kind.refused_in == decision_) return false;
    const Offer& offer = offer_to(state, ring.job, kind.id);
    if (offer.limit < kNoLimit && left(state, ring) >= offer.limit) {
      kind.refused_in = decision_;
      return false;
    }
    if (offered_to_ != ring.job) ask(state, ring.job);
    actions.start(ring.job, allocation_);
    join(state, ring);
    ++version_;
    return true;
  }

  /// The data that the job has left to send, by the prediction, in millionths of a byte.
  [[nodiscard]] static double left(const State& state, const Ring& ring) {
    return ring.bytes_per_s * key_of(state.remaining(ring.job));
  }

  /// The GPUs that the class is offered until a job starts. The placement gives all its jobs the
  /// same servers unless it says otherwise.
  const Offer& offer_to(const State& state, JobId job, ClassId id) {
    Offer& offer = offers_[id];
    if (offer.version == version_ && !placement_->allocation_depends_on_job()) return offer;
    offer = {version_, ask(state, job) ? limit(state) : kRefused};
    return offer;
  }

  /// Asks the placement; `allocation_` and `crossings_` then hold the GPUs and their links.
  bool ask(const State& state, JobId job) {
    offered_to_ = job;
    crossings_.clear();
    if (!placement_->place(state.occupancy(), state.request(job), allocation_)) return false;
    if (finder_) finder_->find(allocation_.pieces, allocation_.gpus, crossings_);
    return true;
  }

  /// A ring on `crossings_` must have less than this left to send.
  [[nodiscard]] double limit(const State& state) const {
    double least = kNoLimit;
    for (const Crossing& crossing : crossings_) {
      const auto& others = rings_[static_cast<std::size_t>(crossing.link)];
      if (others.size() >= sharers_) return kRefused;
      if (!is_dual_) continue;
      for (const Ring& other : others) least = std::min(least, threshold_ * left(state, other));
    }
    return least;
  }

  void join(const State& state, const Ring& ring) {
    if (!finder_) return;
    const std::uint32_t slot = state.record(ring.job).slot;
    if (slot >= links_of_.size()) links_of_.resize(slot + 1);
    links_of_[slot].clear();
    for (const Crossing& crossing : crossings_) {
      rings_[static_cast<std::size_t>(crossing.link)].push_back(ring);
      links_of_[slot].push_back(crossing.link);
    }
  }

  void leave(const State& state, JobId job) {
    if (!finder_) return;
    for (const LinkId link : links_of_[state.record(job).slot]) {
      auto& rings = rings_[static_cast<std::size_t>(link)];
      std::erase_if(rings, [&](const Ring& ring) { return ring.job == job; });
    }
  }

  std::size_t sharers_;
  bool is_dual_;
  double threshold_;
  Ref<Placement> placement_;
  Ref<const Speed> speed_;
  std::optional<RingLinks> finder_;            // absent where no link matters
  std::vector<std::vector<Ring>> rings_;       // of each link
  std::vector<std::vector<LinkId>> links_of_;  // of each slot
  std::vector<Kind> kinds_;
  std::map<std::pair<ClassId, std::int32_t>, KindId> kind_of_;
  std::vector<std::vector<KindId>> kinds_of_class_;
  std::vector<Offer> offers_;  // of each class
  std::vector<Candidate> candidates_;
  std::vector<Crossing> crossings_;
  Allocation allocation_;
  JobId offered_to_ = kNoJob;  // the job of `allocation_`
  std::uint64_t decision_ = 0;
  std::uint64_t version_ = 0;  // counts decisions and starts
};

}  // namespace

GPUSCHED_REGISTER(
    Scheduler, AdaSrsf, .name = "ada-srsf",
    .summary = "Smallest GPU time first; a multi-server job waits if its links are too busy.",
    .source = "Wang, Shi, Wang, Chu, 2020 (arXiv 2002.10105).",
    .differs =
        "Each job is judged once, at its start, by all data it has to send (the paper judges "
        "each message), and by default as if sharing a link were free (degradation=0).",
    .flags = {Flag::clairvoyant},
    .parameters = {
        {.name = "sharers",
         .fallback = std::int64_t{2},
         .help = "maximum number of multi-server jobs that share a link, including the new one",
         .minimum = 1,
         .maximum = 2147483647.0},
        {.name = "rule",
         .fallback = std::string("adadual"),
         .help = "'adadual': share only if the new job has little to send compared with each "
                 "job on the link; 'count': share up to the limit",
         .choices = {"adadual", "count"}},
        {.name = "degradation",
         .fallback = 0.0,
         .help = "a in the threshold 1 / (2 (1 + a)) of adadual: the loss from sharing a link",
         .minimum = 0,
         .maximum = 1e6}})

}  // namespace gpusched
