#include "deadlines/segments.hpp"

#include <algorithm>

#include "base/infinity.hpp"

namespace gpusched {
namespace {

/// Bounds round otherwise than the sums of the oracle.
constexpr double kSurelyDearer = 1.0 - 1e-6;
/// Sums in another order round otherwise.
constexpr double kSurelyMore = 1.0 + 1e-9;
constexpr double kPriceStep = 4.0;
constexpr int kMostCuts = 12;

/// What a whole quantum is, and how many of them count.
struct Quanta {
  double quantum;
  int most;

  [[nodiscard]] std::int32_t of(Time runs, double rate) const noexcept {
    const double quanta = ticks_of(runs) * rate / quantum;
    return quanta < static_cast<double>(most) ? static_cast<std::int32_t>(quanta) : most;
  }
};

/// What running for `all` of the time does, less what the job pays for where another configuration
/// ran before, or the same one.
PlanOption option_of(double cost, double rate, Time all, Time paid_by_all, Time paid_by_same,
                     const Quanta& quanta) noexcept {
  const std::int32_t first = quanta.of(all, rate);
  const auto after = [&](Time paid) {
    if (paid == Time{0}) return first;
    return all > paid ? quanta.of(all - paid, rate) : -1;
  };
  return {cost, after(paid_by_same), after(paid_by_all), first, true};
}

/// What the segments choose together at a price: a line above all bounds.
struct Line {
  double price = 0.0;
  double bound = 0.0;
  double left = 0.0;  ///< of the work: the slope

  [[nodiscard]] double at_zero() const noexcept { return bound - left * price; }
};

constexpr PlanOption kNoOption{kInfinity, -1, -1, -1, true};

}  // namespace

double share_of(const PlanWindow& window, std::int64_t slot, Time length) noexcept {
  const Time begin = length * slot;
  if (begin >= window.begin) return 1.0;
  return ticks_of(begin + length - window.begin) / ticks_of(length);
}

void DeadlineSegments::cut(const PlanWindow& window, Time change) {
  window_ = window;
  const std::int64_t slots = window.last - window.first;
  segments_.clear();
  // A change must be over within its segment.
  const std::int64_t slot = options_->slot.count();
  const std::int64_t least = change.count() < slot ? 1 : 2 * change.count() / slot + 1;
  const std::int64_t count = std::clamp<std::int64_t>(slots / least, 1, options_->segments);
  const std::int64_t spare = slots - count * least;
  // What is far away is cut more coarsely: lengths grow evenly.
  std::int64_t begin = 0;
  for (std::int64_t i = 1; i <= count; ++i) {
    const std::int64_t grown = count == 1 ? spare : spare * (i * (i - 1)) / (count * (count - 1));
    const std::int64_t end = i * least + grown;
    segments_.push_back({window.first + begin, window.first + end});
    begin = end;
  }
  sum_up();
}

void DeadlineSegments::sum_up() {
  const auto num_types = static_cast<std::size_t>(prices_->num_types());
  const auto num_slots = static_cast<std::size_t>(window_.last - window_.first);
  const double share = share_of(window_, window_.first, options_->slot);  // all others are whole
  promised_.resize(num_slots);
  sums_.resize(segments_.size() * num_types);
  for (std::size_t type = 0; type < num_types; ++type) {
    const int own = static_cast<int>(type);
    ledger_->copy(own, window_.first, promised_);
    const auto table = prices_->table(own);
    const double first =
        num_slots == 0 ? 0.0 : table[static_cast<std::size_t>(promised_.front())] * share;
    SegmentSum* out = sums_.data() + type;
    for (const Segment& segment : segments_) {
      SegmentSum sum{0.0, 0.0, prices_->gpus(own), 0};
      for (std::int64_t slot = segment.begin; slot < segment.end; ++slot) {
        const auto index = static_cast<std::size_t>(slot - window_.first);
        const std::int32_t promised = promised_[index];
        sum.price += index == 0 ? first : table[static_cast<std::size_t>(promised)];
        sum.least = std::min(sum.least, promised);
        sum.most = std::max(sum.most, promised);
      }
      sum.least_per_tick = prices_->of(own, sum.least) / ticks_of(options_->slot);
      *out = sum;
      out += num_types;
    }
  }
}

void DeadlineSegments::make_options(const PlanQuery& query, double quantum, int quanta) {
  const auto num_types = static_cast<std::size_t>(prices_->num_types());
  const std::size_t num_configurations = query.configurations.size();
  plan_options_.resize(segments_.size() * num_configurations);
  PlanOption* out = plan_options_.data();
  for (std::size_t i = 0; i < segments_.size(); ++i) {
    const Time begin = begin_of(segments_[i]);
    const Time all = end_of(segments_[i]) - begin;
    for (std::size_t index = 0; index < num_configurations; ++index) {
      const PlanConfiguration& c = query.configurations[index];
      const SegmentSum& sum = sums_[i * num_types + static_cast<std::size_t>(c.type)];
      const int gpus = prices_->gpus(c.type);
      const bool is_current = static_cast<int>(index) == query.current && begin == query.now;
      const Time pending = is_current ? query.pending : Time{0};
      if (sum.least + c.gpus > gpus) {
        *out++ = kNoOption;
      } else if (sum.most + c.gpus > gpus) {
        *out++ = option_with_gaps(query, segments_[i], c, pending, quantum, quanta);
      } else if (all > Time{0}) {
        const double cost = sum.price * static_cast<double>(c.gpus);
        *out++ = option_of(cost, c.rate, all, query.change, pending, {quantum, quanta});
      } else {
        *out++ = kNoOption;
      }
    }
  }
}

/// The configuration runs in those slots of the segment in which it fits.
PlanOption DeadlineSegments::option_with_gaps(const PlanQuery& query, const Segment& segment,
                                              const PlanConfiguration& c, Time pending,
                                              double quantum, int quanta) const {
  // Runs of slots with room; those that a change would fill are left out.
  double cost = 0.0;
  Time all{0};
  Time paid{0};
  bool begins = false;  // with the segment, so that it may have run on into it
  std::int64_t reached = -1;
  for (std::int64_t slot = segment.begin; slot < segment.end;) {
    if (!has_room(c, slot)) {
      ++slot;
      continue;
    }
    std::int64_t past = slot;
    double price = 0.0;
    for (; past < segment.end && has_room(c, past); ++past) {
      const double full = prices_->of(c.type, ledger_->promised(c.type, past));
      price += full * share_of(window_, past, options_->slot);
    }
    const Time from = std::max(window_.begin, options_->slot * slot);
    const Time until = std::min(window_.end, options_->slot * past);
    if (until - from > query.change + pending) {
      cost += price * static_cast<double>(c.gpus);
      begins = begins || slot == segment.begin;
      all += until - from;
      paid += query.change;
      reached = past;
    }
    slot = past;
  }
  if (all == Time{0}) return kNoOption;
  // The first run pays nothing if the configuration ran on into it, or if it is the job's first.
  PlanOption option = option_of(cost, c.rate, all - (paid - query.change), query.change,
                                begins ? pending : query.change, {quantum, quanta});
  option.goes_on = reached == segment.end;
  return option;
}

// The rest of the work costs at least its part at the best ratio.
DeadlineSegments::Pruned DeadlineSegments::prune(int quanta, double limit) {
  double ratio = kInfinity;  // of cost to quanta
  for (const PlanOption& option : plan_options_) {
    const std::int32_t most = std::max(option.same, option.first);
    if (most > 0) ratio = std::min(ratio, option.cost / static_cast<double>(most));
  }
  const auto is_dear = [&](const PlanOption& option) {
    const std::int32_t left = quanta - std::max({option.same, option.first, 0});
    const double least = option.cost + ratio * static_cast<double>(left);
    // By a margin: the sums of the oracle round otherwise.
    return least * kSurelyDearer >= limit;
  };
  if (std::all_of(plan_options_.begin(), plan_options_.end(), is_dear)) return Pruned::all;
  Pruned found = Pruned::nothing;
  for (PlanOption& option : plan_options_) {
    if (option.cost == kInfinity || !is_dear(option)) continue;
    option.cost = kInfinity;
    found = Pruned::some;
  }
  return found;
}

// With a tick of service at a price, each segment could choose for itself what to run, and would
// run nothing that costs more than it is worth: the Lagrangian relaxation, a bound from below at
// any price. It is concave in the price, and its slope is the work that is left over. A plan runs
// through whole segments, but drops what it does not need at its end: in one segment slots may cost
// no more than the cheapest of them.
bool DeadlineSegments::costs_at_least(const PlanQuery& query, double work, double limit) {
  if (!(work > 0.0 && limit < kInfinity)) return false;
  relax(query);
  Line low{0.0, 0.0, work};
  Line high;
  double price = limit / work;
  for (int cut = 0; cut < kMostCuts; ++cut) {
    const SegmentChoices::Sum sum = whole_.choose_at(price);
    const double left = work - sum.done;
    const Line found{price, sum.cost + price * left, left};
    if (found.bound * kSurelyDearer >= limit &&
        (found.bound - saved_at(price)) * kSurelyDearer >= limit) {
      return true;
    }
    (left > 0.0 ? low : high) = found;
    if (!(high.price > 0.0)) {  // the segments do all the work at a higher price only
      price *= kPriceStep;
      continue;
    }
    // No bound is greater than where the lines meet.
    price = (high.at_zero() - low.at_zero()) / (low.left - high.left);
    if ((low.bound + low.left * (price - low.price)) * kSurelyDearer < limit) return false;
    if (!(price > low.price && price < high.price)) return false;
  }
  return false;
}

/// What each segment may choose from; where a configuration fits in some of its slots alone, those
/// may be its cheapest.
void DeadlineSegments::relax(const PlanQuery& query) {
  const auto num_types = static_cast<std::size_t>(prices_->num_types());
  const std::size_t num_configurations = query.configurations.size();
  whole_.open(segments_.size(), num_configurations);
  parts_.open(segments_.size(), num_configurations);
  for (std::size_t i = 0; i < segments_.size(); ++i) {
    const double ticks = ticks_of(end_of(segments_[i]) - begin_of(segments_[i]));
    if (!(ticks > 0.0)) continue;
    for (std::size_t index = 0; index < num_configurations; ++index) {
      const PlanConfiguration& c = query.configurations[index];
      const SegmentSum& sum = sums_[i * num_types + static_cast<std::size_t>(c.type)];
      const int gpus = prices_->gpus(c.type);
      if (sum.least + c.gpus > gpus) continue;
      const double width = static_cast<double>(c.gpus);
      const double least = sum.least_per_tick * width * ticks;
      const bool fits = sum.most + c.gpus <= gpus;  // in all slots
      parts_.set(i, index, least, c.rate * ticks);
      whole_.set(i, index, fits ? sum.price * width : least, c.rate * ticks);
    }
  }
}

/// At most, by leaving the last segment early.
double DeadlineSegments::saved_at(double price) {
  parts_.choose_at(price);
  double saved = 0.0;
  for (std::size_t i = 0; i < segments_.size(); ++i) {
    saved = std::max(saved, parts_.gains()[i] - whole_.gains()[i]);
  }
  return saved;
}

bool DeadlineSegments::may_do(const PlanQuery& query, double work) const {
  const auto num_types = static_cast<std::size_t>(prices_->num_types());
  double most = 0.0;
  for (std::size_t i = 0; i < segments_.size() && most * kSurelyMore < work; ++i) {
    double rate = 0.0;
    for (const PlanConfiguration& c : query.configurations) {
      const SegmentSum& sum = sums_[i * num_types + static_cast<std::size_t>(c.type)];
      const bool fits = sum.least + c.gpus <= prices_->gpus(c.type);  // in some slot
      rate = fits ? std::max(rate, c.rate) : rate;
    }
    const Time all = end_of(segments_[i]) - begin_of(segments_[i]);
    most += std::max(0.0, ticks_of(all)) * rate;
  }
  return most * kSurelyMore >= work;
}

void DeadlineSegments::read_steps(const PlanQuery& query, std::span<const std::int32_t> choices,
                                  std::vector<PlanStep>& steps) const {
  steps.clear();
  for (std::size_t i = 0; i < segments_.size(); ++i) {
    if (choices[i] < 0) continue;
    const PlanConfiguration& c = query.configurations[static_cast<std::size_t>(choices[i])];
    const bool is_current = choices[i] == query.current && segments_[i].begin == window_.first;
    const Time pending = is_current ? query.pending : Time{0};
    for (std::int64_t slot = segments_[i].begin; slot < segments_[i].end;) {
      std::int64_t past = slot;
      while (past < segments_[i].end && has_room(c, past)) ++past;
      const Time from = std::max(window_.begin, options_->slot * slot);
      const Time until = std::min(window_.end, options_->slot * past);
      const bool is_whole = slot == segments_[i].begin && past == segments_[i].end;
      if (is_whole || (past > slot && until - from > query.change + pending)) {
        if (!steps.empty() && steps.back().end == slot &&
            steps.back().configuration == choices[i]) {
          steps.back().end = past;
        } else {
          steps.push_back({slot, past, choices[i]});
        }
      }
      slot = std::max(past, slot + 1);
    }
  }
}

}  // namespace gpusched
