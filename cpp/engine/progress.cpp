#include "engine/progress.hpp"

#include <algorithm>
#include <string>

#include "base/check.hpp"

namespace gpusched {

Progress::Progress(State& state, Speed& speed, const Contention& contention, bool verify)
    : state_(state),
      speed_(speed),
      contention_(contention),
      is_active_(!speed.is_fixed()),
      verify_(verify),
      is_shared_(contention.is_shared()),
      finder_(state.cluster().network()) {
  speed.begin(state.jobs(), state.cluster(), state.classes());
  if (!is_active()) return;
  if (is_shared_) links_.resize(static_cast<std::size_t>(state.cluster().network().num_links()));
}

void Progress::start(std::uint32_t slot, std::span<const std::int32_t> ranks) {
  if (slot >= stays_.size()) {
    stays_.resize(slot + 1);
    ranks_.resize(slot + 1);
    is_touched_.resize(slot + 1);
    state_.paces_.resize(slot + 1);
  }
  const Slot& run = state_.slots_[slot];
  Pace& pace = state_.paces_[slot];
  pace.since = run.start + run.cost;
  pace.done = pace.first_done = state_.progress_[run.job].done;
  pace.ideal_s = speed_.ideal_s(run.job);
  ranks_[slot].assign(ranks.begin(), ranks.end());
  if (speed_.uses_links()) join(slot);
  pace.free_rate = rate_of(slot, true);
  started_.push_back(slot);
}

void Progress::finish(std::uint32_t slot) {
  end_run(slot, state_.work(state_.slots_[slot].job));
}

void Progress::stop(std::uint32_t slot) {
  const double done = state_.paces_[slot].done_at(state_.now());
  end_run(slot, std::min(done, state_.work(state_.slots_[slot].job)));
}

void Progress::end_run(std::uint32_t slot, double done) {
  const Pace& pace = state_.paces_[slot];
  JobProgress& progress = state_.progress_[state_.slots_[slot].job];
  progress.done = done;
  progress.uncontended += (done - pace.first_done) / pace.free_rate;
  leave(slot);
}

void Progress::join(std::uint32_t slot) {
  const Slot& run = state_.slots_[slot];
  finder_.find(run.pieces, run.gpus, crossings_);
  auto& stays = stays_[slot];
  stays.clear();
  for (const Crossing& crossing : crossings_) {
    if (is_shared_) {
      auto& rings = links_[static_cast<std::size_t>(crossing.link)].rings;
      stays.push_back({crossing, static_cast<std::uint32_t>(rings.size())});
      rings.push_back({slot, static_cast<std::uint32_t>(stays.size() - 1)});
      soil(crossing.link);
    } else {
      stays.push_back({crossing, 0});
    }
  }
}

void Progress::leave(std::uint32_t slot) {
  if (!is_shared_) return;
  for (const Stay& stay : stays_[slot]) {
    auto& rings = links_[static_cast<std::size_t>(stay.crossing.link)].rings;
    const Ring last = rings.back();
    rings[stay.position] = last;
    stays_[last.slot][last.stay].position = stay.position;
    rings.pop_back();
    soil(stay.crossing.link);
  }
  stays_[slot].clear();
}

void Progress::soil(LinkId link) {
  Link& soiled = links_[static_cast<std::size_t>(link)];
  if (soiled.is_dirty) return;
  soiled.is_dirty = true;
  dirty_.push_back(link);
}

void Progress::touch(std::uint32_t slot) {
  if (is_touched_[slot] != 0) return;
  is_touched_[slot] = 1;
  touched_.push_back(slot);
}

LinkUse Progress::use_of(const Crossing& crossing, std::size_t num_rings) const {
  const Network& network = state_.cluster().network();
  return {network.bandwidth(crossing.link),
          static_cast<double>(crossing.gpus) /
              static_cast<double>(network.gpus_behind(crossing.link)),
          static_cast<int>(num_rings)};
}

double Progress::rate_of(std::uint32_t slot, bool is_free) {
  shares_.clear();
  for (const Stay& stay : stays_[slot]) {
    const auto [link, gpus] = stay.crossing;
    double share = 0;
    if (is_free) {
      share = state_.cluster().network().bandwidth(link);
    } else if (is_shared_) {
      share = links_[static_cast<std::size_t>(link)].share;
    } else {
      share = contention_.share(use_of(stay.crossing, 1));
    }
    shares_.push_back({link, gpus, share});
  }
  const Slot& run = state_.slots_[slot];
  return state_.paces_[slot].ideal_s /
         speed_.iteration_s({run.job, run.pieces, ranks_[slot], shares_});
}

const std::vector<std::uint32_t>& Progress::update() {
  moved_.clear();
  for (const LinkId id : dirty_) {
    Link& link = links_[static_cast<std::size_t>(id)];
    link.is_dirty = false;
    if (link.rings.empty()) continue;
    const double share = contention_.share(use_of({id, 0}, link.rings.size()));
    if (share == link.share) continue;
    link.share = share;
    for (const Ring& ring : link.rings) touch(ring.slot);
  }
  dirty_.clear();
  for (const std::uint32_t slot : started_) {
    state_.paces_[slot].rate = rate_of(slot, false);
    is_touched_[slot] = 2;  // not once more below
    moved_.push_back(slot);
  }
  num_computed_ += started_.size() + touched_.size();
  for (const std::uint32_t slot : touched_) {
    const bool is_started = is_touched_[slot] == 2;
    is_touched_[slot] = 0;
    if (is_started) continue;
    Pace& pace = state_.paces_[slot];
    const double rate = rate_of(slot, false);
    if (rate == pace.rate) continue;
    pace.done = pace.done_at(state_.now());
    pace.since = std::max(pace.since, state_.now());
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
  const Pace& pace = state_.paces_[slot];
  const double left = state_.work(state_.slots_[slot].job) - pace.done;
  const Time lasts{ceil_ticks(left / pace.rate)};
  if (lasts >= Time{kMaxTicks} - pace.since) return Time{kMaxTicks};  // where no run may come
  return std::max(pace.since + lasts, state_.now() + kTick);
}

void Progress::verify() const {
  const Network& network = state_.cluster().network();
  RingLinks finder(network);
  std::vector<Crossing> crossings;
  std::vector<std::size_t> num_rings(static_cast<std::size_t>(network.num_links()));
  const auto for_each_run = [&](auto visit) {
    for (std::size_t slot = 0; slot < state_.slots_.size(); ++slot) {
      const Slot& run = state_.slots_[slot];
      if (!run.is_busy()) continue;
      crossings.clear();
      if (speed_.uses_links()) finder.find(run.pieces, run.gpus, crossings);
      visit(slot, run);
    }
  };
  const auto fail = [&](const std::string& what) {
    throw InvariantError("at " + std::to_string(state_.now().count()) + " us: " + what);
  };

  for_each_run([&](std::size_t /*slot*/, const Slot& /*run*/) {
    for (const Crossing& crossing : crossings) {
      ++num_rings[static_cast<std::size_t>(crossing.link)];
    }
  });
  for (std::size_t link = 0; link < links_.size(); ++link) {
    if (links_[link].rings.size() == num_rings[link]) continue;
    fail("link " + std::to_string(link) + " lists " + std::to_string(links_[link].rings.size()) +
         " rings and carries " + std::to_string(num_rings[link]));
  }
  std::vector<LinkShare> shares;
  for_each_run([&](std::size_t slot, const Slot& run) {
    shares.clear();
    for (const Crossing& crossing : crossings) {
      const std::size_t rings = num_rings[static_cast<std::size_t>(crossing.link)];
      shares.push_back({crossing.link, crossing.gpus,
                        contention_.share(use_of(crossing, rings))});
    }
    const double rate = speed_.ideal_s(run.job) /
                        speed_.iteration_s({run.job, run.pieces, ranks_[slot], shares});
    const double kept = state_.paces_[slot].rate;
    if (rate == kept) return;
    fail("job " + std::to_string(run.job) + " runs at rate " + std::to_string(kept) + " and should at " + std::to_string(rate));
  });
}

}  // namespace gpusched
