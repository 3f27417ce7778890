#include "elastic/promising_scheduler.hpp"

#include <algorithm>
#include <bit>
#include <map>
#include <string>
#include <utility>

#include "base/check.hpp"
#include "seams/named.hpp"
#include "seams/slow_twins.hpp"

namespace gpusched {
namespace {

/// Other widths leave fragments, and are used only by jobs that have no power of two.
void keep_powers_of_two(ElasticJobs::Job& job) {
  const auto is_odd = [](const Configuration& known) {
    return !std::has_single_bit(static_cast<unsigned>(known.gpus));
  };
  if (std::all_of(job.configurations.begin(), job.configurations.end(), is_odd)) return;
  std::erase_if(job.configurations, is_odd);
}

/// Best effort is served by JobId.
std::int64_t no_key(const ElasticJobs::Job& /*job*/) { return 0; }

}  // namespace

PromisingScheduler::PromisingScheduler(PromiseRules rules)
    : rules_(rules), anywhere_(make_placement("best-fit", {})) {}

void PromisingScheduler::begin(const Setup& setup) {
  anywhere_->begin({setup.seed, setup.state});
  state_ = &setup.state;
  control_ = &setup.control;
  jobs_.begin(setup, rules_.own_width_only);
  jobs_.set_may_move([self = Ref(*this)](JobId job) { return self->may_move(job); });
  ledgers_.clear();
  lines_.clear();
  for (int type = 0; type < jobs_.num_types(); ++type) {
    ledgers_.emplace_back(jobs_.total(type), rules_.slot.count(), takes_slow_twins);
    lines_.emplace_back(jobs_.total(type), rules_.slot.count(), takes_slow_twins);
  }
  promises_.clear();
  pinned_type_.clear();
  pinned_gpus_.assign(ledgers_.size(), 0);
  batch_.clear();
  waiting_.clear();
  decisions_.clear();
  num_broken_ = 0;
}

std::vector<std::string> PromisingScheduler::warnings() const {
  if (num_broken_ == 0) return {};
  return {std::to_string(num_broken_) +
          " admitted jobs fell behind their plans and became best effort"};
}

void PromisingScheduler::decide(const State& state, const Instant& instant, Actions& actions) {
  for (const JobId job : instant.finished) {
    promises_.erase(job);
    unpin(job);
  }
  jobs_.open(state, instant);
  if (jobs_.empty()) return;
  jobs_.withdraw_all();
  for (ProgressiveFilling& filling : ledgers_) filling.open(state.now().count());
  for (auto& [id, promise] : promises_) set_claim(state, promise);
  const bool is_boundary = state.now().count() % rules_.slot.count() == 0;
  if (is_boundary) renew(state);
  arrived_.clear();
  for (const JobId id : instant.arrived) {
    control_->check();
    ElasticJobs::Job& job = jobs_.job(id);
    if (!rules_.own_width_only) keep_powers_of_two(job);
    if (rules_.is_pinned) pin(state, job);
    arrived_.push_back(&job);
    if (state.jobs().deadline(id) == kNever) continue;
    if (rules_.by_batch) {
      batch_.insert(id);
    } else {
      consider(state, job);
    }
  }
  waiting_.add(arrived_, no_key);
  if (!batch_.empty() && (is_boundary || promises_.empty())) consider_batch(state);
  close_lines();
  give_promised(state);
  find_holders();
  if (rules_.is_firm && !is_boundary) keep_leases();
  give_spare();
  give_best_effort(state);
  const bool may_scatter = !promises_.empty() && !state.occupancy().is_pooled();
  jobs_.set_last_resort(may_scatter ? anywhere_.get() : nullptr);
  jobs_.apply(state, actions);
  waiting_.update(jobs_.touched(), no_key);
  const bool waits = rules_.is_firm && state.num_running() < jobs_.all().size();
  if (!promises_.empty() || waits) actions.wake(next_multiple(state.now(), rules_.slot));
}

bool PromisingScheduler::withdraw(const State& /*state*/, JobId job) {
  promises_.erase(job);
  unpin(job);
  batch_.erase(job);
  waiting_.forget(jobs_.job(job));
  jobs_.forget(job);
  return true;
}

/// The state of the job on the type of the promise.
void PromisingScheduler::set_claim(const State& state, Promise& promise) const {
  const ElasticJobs::Job& job = *promise.job;
  Claim& claim = promise.claim;
  claim.work = static_cast<double>(state.remaining(job.id).count());
  claim.restart = static_cast<double>(state.jobs().restart_cost(job.id).count());
  claim.has_run = state.record(job.id).start != kNever;
  claim.width = job.held_type() == promise.type ? job.held_gpus() : 0;
  claim.debt = 0;
  if (claim.width > 0 && state.is_running(job.id)) {
    const Slot& run = state.slot(job.id);
    claim.debt = static_cast<double>(std::max(Time{0}, run.paid_at() - state.now()).count());
  }
  claim.deadline = state.jobs().deadline(job.id).count();
  claim.widths = promise.widths;
  promise.key = static_cast<double>(claim.deadline);
  // The present time is common to all.
  if (rules_.by_slack) promise.key -= claim.work / promise.widths.back().rate;
}

/// The promises of a type in the order of plans, into `line_`.
void PromisingScheduler::find_promises(int type) {
  line_.clear();
  for (auto& [id, promise] : promises_) {
    if (promise.type == type) line_.push_back(&promise);
  }
  std::stable_sort(line_.begin(), line_.end(),
                   [](const Promise* a, const Promise* b) { return a->key < b->key; });
}

/// GPUs of a type that cannot be promised before the slot ends.
std::int64_t PromisingScheduler::find_blocked(const State& state, int type) const {
  if (!rules_.is_firm || state.now().count() % rules_.slot.count() == 0) return 0;
  std::int64_t gpus = 0;
  for (const ElasticJobs::Job* job : jobs_.holders()) {
    if (job->held_type() == type && !promises_.contains(job->id)) gpus += job->held_gpus();
  }
  return gpus;
}

/// Replans the candidate and all promises of its type; if that fails, the candidate alone, around
/// the existing plans, if its plan takes less than `limit` GPU slots. Candidates of an instant come
/// in the order of JobId, like promises with the same key.
bool PromisingScheduler::try_join(const State& state, const Promise& candidate,
                                  std::int64_t limit) {
  ReservedTimeline& own = line(candidate.type);
  if (!own.is_open()) {
    find_promises(candidate.type);
    std::vector<ReservedTimeline::Member> members;
    for (Promise* known : line_) members.push_back({&known->claim, &known->plan, known->key});
    own.open(state.now().count(), find_blocked(state, candidate.type), members);
  }
  return own.try_join(candidate.claim, candidate.key, limit);
}

void PromisingScheduler::close_lines() {
  for (ReservedTimeline& line : lines_) line.close();
}

bool PromisingScheduler::could_meet(const State& state, Promise& candidate, bool& is_cut_off) {
  ProgressiveFilling empty(jobs_.total(candidate.type), rules_.slot.count(), takes_slow_twins);
  empty.open(state.now().count());
  const bool is_met = empty.find(candidate.claim, candidate.plan);
  is_cut_off = is_cut_off || (!is_met && empty.is_cut_off());
  return is_met;
}

void PromisingScheduler::consider(const State& state, ElasticJobs::Job& job) {
  // There are no prices.
  Decision decision{job.id, state.now(), false, 0, state.jobs().value(job.id), 0, ""};
  const auto reject = [&](const char* reason) {
    decision.reason = reason;
    decisions_.push_back(decision);
  };
  decision.until = state.jobs().deadline(job.id);
  decision.from = state.now();
  if (decision.until <= state.now()) return reject("the deadline has passed");
  if (job.is_mixed()) return reject("no single GPU type fits the job");

  Promise best{};
  best.type = -1;
  std::int64_t least = ReservedTimeline::kNoLimit;
  bool is_possible = false;
  bool is_cut_off = false;  // alone
  Promise candidate{};
  candidate.job = &job;
  for (int type = 0; type < jobs_.num_types(); ++type) {
    candidate.type = type;
    candidate.widths.clear();
    for (const Configuration& known : job.configurations) {
      if (known.type == type) candidate.widths.push_back({known.gpus, known.rate});
    }
    if (candidate.widths.empty()) continue;
    set_claim(state, candidate);
    if (!could_meet(state, candidate, is_cut_off)) continue;
    is_possible = true;
    decision.type = type;
    if (!try_join(state, candidate, least)) continue;
    least = ledger(type).gpu_slots(line(type).plan());
    best = candidate;
  }
  if (best.type < 0) {
    return reject(is_possible  ? "the GPUs that admitted jobs leave do not suffice"
                  : is_cut_off ? "no plan of at most 32768 slots meets the deadline"
                               : "no width of any type meets the deadline");
  }
  Promise& promise = promises_.emplace(job.id, std::move(best)).first->second;
  promise.claim.widths = promise.widths;
  line(promise.type).join({&promise.claim, &promise.plan, promise.key});
  decision.is_admitted = true;
  decision.type = promise.type;
  decision.reason = "a share of its type meets the deadline and all guarantees hold";
  decisions_.push_back(decision);
}

/// Replans jobs with insufficient plans because they were slower than predicted or moved;
/// jobs whose deadline cannot be met become best effort.
void PromisingScheduler::renew(const State& state) {
  for (int type = 0; type < jobs_.num_types(); ++type) {
    const bool is_behind = std::any_of(promises_.begin(), promises_.end(), [&](const auto& entry) {
      const Promise& promise = entry.second;
      return promise.type == type && !ledger(type).suffices(promise.claim, promise.plan, 0);
    });
    if (is_behind) refill(state, type);
  }
}

void PromisingScheduler::refill(const State& state, int type) {
  find_promises(type);
  ProgressiveFilling& filling = ledger(type);
  filling.open(state.now().count());
  filling.block(find_blocked(state, type));
  // Sufficient plans are kept.
  for (Promise* promise : line_) {
    if (filling.suffices(promise->claim, promise->plan, 0)) filling.add(promise->plan);
  }
  for (Promise* promise : line_) {
    if (filling.suffices(promise->claim, promise->plan, 0)) continue;
    if (filling.fill(promise->claim, promise->plan)) continue;
    ++num_broken_;
    promises_.erase(promise->job->id);
  }
}

void PromisingScheduler::give_promised(const State& state) {
  const std::int64_t slot = state.now().count() / rules_.slot.count();
  for (auto& [id, promise] : promises_) {
    const int gpus = promise.plan.at(slot);
    if (gpus == 0) continue;
    const auto known = std::find_if(promise.widths.begin(), promise.widths.end(),
                                    [&](const WidthRate& width) { return width.gpus == gpus; });
    if (known != promise.widths.end() &&
        jobs_.give(*promise.job, {promise.type, gpus, known->rate})) {
      continue;
    }
    throw InvariantError("job " + std::to_string(id) + ": " + std::to_string(gpus) +
                         " GPUs of type " + std::to_string(promise.type) +
                         " are promised in slot " + std::to_string(slot) +
                         " and there are not so many");
  }
}

void PromisingScheduler::offer(Promise& promise) {
  const Claim& claim = promise.claim;
  const ProgressiveFilling& filling = ledger(promise.type);
  const auto ticks = static_cast<double>(filling.slot_end() - state_->now().count());
  const auto cost = [&](int gpus) {
    if (gpus == claim.width) return claim.debt;
    return claim.has_run ? claim.restart : 0.0;
  };
  const auto progress = [&](int gpus, double rate) {
    return std::max(0.0, ticks - cost(gpus)) * rate;
  };
  const auto time_left = [&](int gpus, double rate) { return cost(gpus) + claim.work / rate; };
  const int now = promise.job->wanted.empty() ? 0 : promise.job->wanted.front().gpus;
  const double without = now == 0 ? 0.0 : progress(now, promise.job->wanted_rate);
  // The later cost of its share: GPUs per unit of service.
  const int share = promise.plan.most();
  double price = 0;
  for (const WidthRate& known : promise.widths) {
    if (known.gpus == share) price = share / known.rate;
  }
  Step best{0, &promise, {}};
  for (const WidthRate& wider : promise.widths) {
    if (wider.gpus <= now || wider.gpus - now > jobs_.left(promise.type)) continue;
    const double rate = promise.job->wanted_rate;
    if (now > 0 && time_left(wider.gpus, wider.rate) >= time_left(now, rate)) continue;
    const double saved = (progress(wider.gpus, wider.rate) - without) * price / (wider.gpus - now);
    if (!(saved > best.saved)) continue;
    // If the GPUs are taken back, and it is moved besides, it must still end in time.
    Claim returned = claim;
    returned.has_run = true;
    returned.width = now;
    returned.debt = 0;
    double lost = claim.restart;
    if (now > 0) lost += cost(wider.gpus) + claim.restart + (now == claim.width ? claim.debt : 0.0);
    if (filling.suffices(returned, promise.plan, lost)) best = {saved, &promise, wider};
  }
  if (best.saved > 0) steps_.push(best);
}

void PromisingScheduler::give_spare() {
  steps_.clear();
  for (auto& [id, promise] : promises_) offer(promise);
  while (!steps_.empty()) {
    const Step step = steps_.top();
    steps_.pop();
    Promise& promise = *step.promise;
    // Where others were faster the job tries what is left.
    jobs_.give(*promise.job, {promise.type, step.to.gpus, step.to.rate});
    offer(promise);
  }
}

/// The running jobs without a promise, by JobId.
void PromisingScheduler::find_holders() {
  holders_.clear();
  for (ElasticJobs::Job* job : jobs_.holders()) {
    if (!promises_.contains(job->id)) holders_.push_back({no_key(*job), job->id, job});
  }
  std::sort(holders_.begin(), holders_.end());
}

void PromisingScheduler::keep_leases() {
  for (const WaitingLine::Entry& holder : holders_) jobs_.keep(*holder.item);
}

void PromisingScheduler::give_best_effort(const State& state) {
  WaitingLine::Walk walk(jobs_, waiting_, holders_);
  while (ElasticJobs::Job* const job = walk.next()) {
    if (!job->wanted.empty() || promises_.contains(job->id) || batch_.contains(job->id)) continue;
    give_free(state, *job);
  }
}

void PromisingScheduler::give_free(const State& state, ElasticJobs::Job& job) {
  const Configuration* best = jobs_.fastest(job, state.jobs().gpus(job.id));
  // Where all its widths pass its own.
  if (best == nullptr && job.configurations.front().gpus > state.jobs().gpus(job.id)) {
    best = jobs_.fastest(job, job.configurations.front().gpus);
  }
  if (!job.held.empty()) {
    const bool changes = best != nullptr && ElasticJobs::is_worth(state, job, best->rate);
    if (!changes && jobs_.keep(job)) return;
  }
  if (best != nullptr) jobs_.give(job, *best);
}

/// A job with a promise moves only while its plan has room for the restart.
bool PromisingScheduler::may_move(JobId job) {
  const auto known = promises_.find(job);
  if (known == promises_.end()) return true;
  Promise& promise = known->second;
  return ledger(promise.type).suffices(promise.claim, promise.plan, promise.claim.restart);
}

/// Leaves the job the type on which it is fastest at its own width, or at all if it fits none;
/// of equals the one that the fewest GPUs' worth of jobs per GPU are pinned to.
void PromisingScheduler::pin(const State& state, ElasticJobs::Job& job) {
  if (job.is_mixed()) return;
  const int own = state.jobs().gpus(job.id);
  const auto load = [&](int type) {
    return static_cast<double>(pinned_gpus_[static_cast<std::size_t>(type)]) /
           static_cast<double>(jobs_.total(type));
  };
  // The own width is not among the configurations where a narrower one is as fast.
  const auto own_rate = [&](int type) {
    return own <= jobs_.total(type) ? state.rate(job.id, type, own) : 0.0;
  };
  const Configuration* best = nullptr;
  for (const Configuration& known : job.configurations) {
    if (best == nullptr || known.type == best->type) {
      if (best == nullptr || known.rate > best->rate) best = &known;
      continue;
    }
    const double rate = own_rate(known.type);
    const double best_rate = own_rate(best->type);
    const bool is_better = rate != best_rate          ? rate > best_rate
                           : rate > 0.0               ? load(known.type) < load(best->type)
                           : known.rate != best->rate ? known.rate > best->rate
                                                      : load(known.type) < load(best->type);
    if (is_better) best = &known;
  }
  const int type = best->type;
  std::erase_if(job.configurations, [&](const Configuration& known) { return known.type != type; });
  pinned_type_[job.id] = type;
  pinned_gpus_[static_cast<std::size_t>(type)] += own;
}

void PromisingScheduler::unpin(JobId job) {
  const auto pinned = pinned_type_.find(job);
  if (pinned == pinned_type_.end()) return;
  pinned_gpus_[static_cast<std::size_t>(pinned->second)] -= state_->jobs().gpus(job);
  pinned_type_.erase(pinned);
}

/// All or none: the program of the authors declines every job of a slot if one cannot be met.
void PromisingScheduler::consider_batch(const State& state) {
  std::map<JobId, SlotPlan> before;
  for (const auto& [id, promise] : promises_) before.emplace(id, promise.plan);
  const std::size_t num_before = decisions_.size();
  for (const JobId id : batch_) {
    control_->check();
    consider(state, jobs_.job(id));
  }
  batch_.clear();
  const auto judged = decisions_.begin() + static_cast<std::ptrdiff_t>(num_before);
  if (std::all_of(judged, decisions_.end(), [](const Decision& one) { return one.is_admitted; })) {
    return;
  }
  close_lines();
  std::erase_if(promises_, [&](const auto& entry) { return !before.contains(entry.first); });
  for (auto& [id, promise] : promises_) promise.plan = before.find(id)->second;
  for (auto decision = judged; decision != decisions_.end(); ++decision) {
    if (!decision->is_admitted) continue;
    decision->is_admitted = false;
    decision->reason = "another job of its slot cannot be met";
  }
}

}  // namespace gpusched
