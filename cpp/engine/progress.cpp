#include "engine/progress.hpp"

#include <algorithm>
#include <string>

#include "base/check.hpp"

namespace gpusched {

Progress::Progress(RunState& state, Speed& speed, const Contention& contention, bool verify)
    : state_(state),
      speed_(speed),
      contention_(contention),
      is_active_(!speed.is_fixed()),
      verify_(verify),
      is_shared_(contention.is_shared()),
      finder_(state.cluster().network()),
      places_(is_active_ && is_shared_
                  ? static_cast<std::size_t>(state.cluster().network().num_links())
                  : 0),
      share_(is_active_ && is_shared_
                 ? static_cast<std::size_t>(state.cluster().network().num_links())
                 : 0) {
  speed.begin(state.jobs(), state.cluster(), state.classes());
}

void Progress::start(std::uint32_t slot, std::span<const std::int32_t> ranks) {
  if (slot >= ranks_.size()) {
    ranks_.resize(slot + 1);
    is_touched_.resize(slot + 1);
  }
  const Slot& run = state_->slot_at(slot);
  Pace& pace = state_->pace_at(slot);
  pace.since = run.paid_at();
  pace.done = pace.first_done = state_->progress_of(run.job).done;
  pace.ideal_s = speed_->ideal_s(run.job);
  ranks_[slot].assign(ranks.begin(), ranks.end());
  if (speed_->uses_links()) {
    finder_.find(run.pieces, run.gpus, crossings_);
    places_.enter(slot, run.job, crossings_);
  }
  pace.free_rate = rate_of(slot, true);
  started_.push_back(slot);
}

void Progress::finish(std::uint32_t slot) {
  end_run(slot, state_->work(state_->slot_at(slot).job));
}

void Progress::stop(std::uint32_t slot) {
  const double done = state_->pace_at(slot).done_at(state_->now());
  end_run(slot, std::min(done, state_->work(state_->slot_at(slot).job)));
}

void Progress::end_run(std::uint32_t slot, double done) {
  const Pace& pace = state_->pace_at(slot);
  JobProgress& progress = state_->progress_of(state_->slot_at(slot).job);
  progress.done = done;
  progress.uncontended += (done - pace.first_done) / pace.free_rate;
  places_.leave(slot);
}

void Progress::touch(std::uint32_t slot) {
  if (is_touched_[slot] != 0) return;
  is_touched_[slot] = 1;
  touched_.push_back(slot);
}

LinkUse Progress::use_of(const Crossing& crossing, std::size_t num_rings) const {
  const Network& network = state_->cluster().network();
  return {network.bandwidth(crossing.link),
          static_cast<double>(crossing.gpus) /
              static_cast<double>(network.gpus_behind(crossing.link)),
          static_cast<int>(num_rings)};
}

double Progress::rate_of(std::uint32_t slot, bool is_free) {
  shares_.clear();
  for (const LinkSharers::Membership& stay : places_.of(slot)) {
    const auto [link, gpus] = stay.crossing;
    if (is_free) {
      shares_.push_back({link, gpus, state_->cluster().network().bandwidth(link)});
    } else if (is_shared_) {
      shares_.push_back({link, gpus, share_[static_cast<std::size_t>(link)], places_.guests(link)});
    } else {
      shares_.push_back({link, gpus, contention_->share(use_of(stay.crossing, 1))});
    }
  }
  const Slot& run = state_->slot_at(slot);
  return state_->pace_at(slot).ideal_s /
         speed_->iteration_s({run.job, run.pieces, ranks_[slot], shares_});
}

const std::vector<std::uint32_t>& Progress::update() {
  moved_.clear();
  places_.take_changed([&](LinkId link) {
    const std::span<const Sharer> guests = places_.guests(link);
    if (guests.empty()) return;
    const double share = contention_->share(use_of({link, 0}, guests.size()));
    double& known = share_[static_cast<std::size_t>(link)];
    if (share == known) return;
    known = share;
    for (const Sharer& guest : guests) touch(guest.slot);
  });
  for (const std::uint32_t slot : started_) {
    Pace& pace = state_->pace_at(slot);
    pace.rate = places_.of(slot).empty() ? pace.free_rate : rate_of(slot, false);
    is_touched_[slot] = 2;  // not once more below
    moved_.push_back(slot);
  }
  num_computed_ += started_.size() + touched_.size();
  for (const std::uint32_t slot : touched_) {
    const bool is_started = is_touched_[slot] == 2;
    is_touched_[slot] = 0;
    if (is_started) continue;
    Pace& pace = state_->pace_at(slot);
    const double rate = rate_of(slot, false);
    if (rate == pace.rate) continue;
    pace.done = pace.done_at(state_->now());
    pace.since = std::max(pace.since, state_->now());
    pace.rate = rate;
    moved_.push_back(slot);
    ++num_changed_;
  }
  for (const std::uint32_t slot : started_) is_touched_[slot] = 0;
  started_.clear();
  touched_.clear();
  if (verify_) verify();
  return moved_;
}

Time Progress::finish_of(std::uint32_t slot) const {
  const Pace& pace = state_->pace_at(slot);
  const double left = state_->work(state_->slot_at(slot).job) - pace.done;
  const Time lasts{ceil_ticks(left / pace.rate)};
  if (lasts >= Time{kMaxTicks} - pace.since) return Time{kMaxTicks};  // where no run may come
  return std::max(pace.since + lasts, state_->now() + kTick);
}

void Progress::verify() const {
  const Network& network = state_->cluster().network();
  RingLinks finder(network);
  std::vector<Crossing> crossings;
  std::vector<std::size_t> num_rings(static_cast<std::size_t>(network.num_links()));
  const auto for_each_run = [&](auto visit) {
    for (std::uint32_t slot = 0; slot < state_->slots().size(); ++slot) {
      const Slot& run = state_->slot_at(slot);
      if (!run.is_busy()) continue;
      crossings.clear();
      if (speed_->uses_links()) finder.find(run.pieces, run.gpus, crossings);
      visit(slot, run);
    }
  };
  const auto fail = [&](const std::string& what) {
    throw InvariantError("at " + std::to_string(state_->now().count()) + " us: " + what);
  };

  for_each_run([&](std::uint32_t /*slot*/, const Slot& /*run*/) {
    for (const Crossing& crossing : crossings) {
      ++num_rings[static_cast<std::size_t>(crossing.link)];
    }
  });
  for (std::size_t link = 0; link < share_.size(); ++link) {
    const std::size_t listed = places_.guests(static_cast<LinkId>(link)).size();
    if (listed == num_rings[link]) continue;
    fail("link " + std::to_string(link) + " lists " + std::to_string(listed) +
         " rings and carries " + std::to_string(num_rings[link]));
  }
  std::vector<LinkShare> shares;
  for_each_run([&](std::uint32_t slot, const Slot& run) {
    shares.clear();
    for (const Crossing& crossing : crossings) {
      const std::size_t rings = num_rings[static_cast<std::size_t>(crossing.link)];
      shares.push_back({crossing.link, crossing.gpus, contention_->share(use_of(crossing, rings))});
    }
    const double rate =
        speed_->ideal_s(run.job) / speed_->iteration_s({run.job, run.pieces, ranks_[slot], shares});
    const double kept = state_->pace_at(slot).rate;
    if (rate == kept) return;
    fail("job " + std::to_string(run.job) + " runs at rate " + std::to_string(kept) +
         " and should at " + std::to_string(rate));
  });
}

}  // namespace gpusched
