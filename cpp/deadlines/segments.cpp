#include "deadlines/segments.hpp"

#include <algorithm>

#include "base/infinity.hpp"

namespace gpusched {
namespace {

/// Bounds round otherwise than the sums of the oracle.
constexpr double kSurelyDearer = 1.0 - 1e-6;
constexpr double kPriceStep = 4.0;
constexpr int kMostCuts = 12;

/// Whole quanta of `done`, no more than `most`.
std::int32_t quanta_of(double done, double quantum, int most) noexcept {
  const double quanta = done / quantum;
  return quanta < static_cast<double>(most) ? static_cast<std::int32_t>(quanta) : most;
}

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
  const int num_types = prices_->num_types();
  const double share = share_of(window_, window_.first, options_->slot);  // all others are whole
  sums_.clear();
  for (const Segment& segment : segments_) {
    for (int type = 0; type < num_types; ++type) {
      const auto table = prices_->table(type);
      SegmentSum sum{0.0, prices_->gpus(type), 0};
      ledger_->for_each_slot(type, segment.begin, segment.end,
                             [&](std::int64_t slot, std::int32_t promised) {
                               const double price = table[static_cast<std::size_t>(promised)];
                               sum.price += slot == window_.first ? price * share : price;
                               sum.least = std::min(sum.least, promised);
                               sum.most = std::max(sum.most, promised);
                             });
      sums_.push_back(sum);
    }
  }
}

void DeadlineSegments::make_options(const PlanQuery& query, double quantum, int quanta) {
  const auto num_types = static_cast<std::size_t>(prices_->num_types());
  const std::size_t num_configurations = query.configurations.size();
  plan_options_.resize(segments_.size() * num_configurations);
  PlanOption* out = plan_options_.data();
  for (std::size_t i = 0; i < segments_.size(); ++i) {
    const auto sums = std::span(sums_).subspan(i * num_types, num_types);
    for (std::size_t c = 0; c < num_configurations; ++c) {
      *out++ = option_of(query, segments_[i], sums, c, quantum, quanta);
    }
  }
}

/// The configuration runs in those slots of the segment in which it fits.
PlanOption DeadlineSegments::option_of(const PlanQuery& query, const Segment& segment,
                                       std::span<const SegmentSum> sums, std::size_t index,
                                       double quantum, int quanta) const {
  const PlanConfiguration& c = query.configurations[index];
  const SegmentSum& sum = sums[static_cast<std::size_t>(c.type)];
  const double width = static_cast<double>(c.gpus);
  PlanOption option{kInfinity, -1, -1, -1, true};
  const auto set = [&](double cost, Time all, Time paid_by_all, Time paid_by_same) {
    option.cost = cost;
    option.first = quanta_of(ticks_of(all) * c.rate, quantum, quanta);
    if (all > paid_by_same) {
      option.same = quanta_of(ticks_of(all - paid_by_same) * c.rate, quantum, quanta);
    }
    if (all > paid_by_all) {
      option.changed = quanta_of(ticks_of(all - paid_by_all) * c.rate, quantum, quanta);
    }
  };
  const Time begin = std::max(window_.begin, options_->slot * segment.begin);
  const Time end = std::min(window_.end, options_->slot * segment.end);
  const bool is_current = static_cast<int>(index) == query.current && begin == query.now;
  const Time pending = is_current ? query.pending : Time{0};
  if (sum.most + c.gpus <= prices_->gpus(c.type)) {
    if (end > begin) set(sum.price * width, end - begin, query.change, pending);
    return option;
  }
  if (segment.end - segment.begin == 1) return option;

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
      cost += price * width;
      begins = begins || slot == segment.begin;
      all += until - from;
      paid += query.change;
      reached = past;
    }
    slot = past;
  }
  if (all == Time{0}) return option;
  // The first run pays nothing if the configuration ran on into it, or if it is the job's first.
  set(cost, all - (paid - query.change), query.change, begins ? pending : query.change);
  option.goes_on = reached == segment.end;
  return option;
}

// The rest of the work costs at least its part at the best ratio.
bool DeadlineSegments::prune(int quanta, double limit) {
  double ratio = kInfinity;  // of cost to quanta
  for (const PlanOption& option : plan_options_) {
    const std::int32_t most = std::max(option.same, option.first);
    if (most > 0) ratio = std::min(ratio, option.cost / static_cast<double>(most));
  }
  bool is_pruned = false;
  for (PlanOption& option : plan_options_) {
    if (option.cost == kInfinity) continue;
    const std::int32_t left = quanta - std::max({option.same, option.first, 0});
    const double least = option.cost + ratio * static_cast<double>(left);
    // By a margin: the sums of the oracle round otherwise.
    if (least * kSurelyDearer < limit) continue;
    option.cost = kInfinity;
    is_pruned = true;
  }
  return is_pruned;
}

// With a tick of service at a price, each segment could choose for itself what to run, and would
// run nothing that costs more than it is worth: the Lagrangian relaxation, a bound from below at
// any price. It is concave in the price, and its slope is the work that is left over. A plan runs
// through whole segments, but drops what it does not need at its end: in one segment slots may cost
// no more than the cheapest of them.
bool DeadlineSegments::costs_at_least(const PlanQuery& query, double work, double limit) const {
  if (!(work > 0.0 && limit < kInfinity)) return false;
  Relaxed low{0.0, 0.0, work};
  Relaxed high = relax(query, limit / work, work);
  for (int cut = 0; cut < kMostCuts; ++cut) {
    if (std::max(low.bound(), high.bound()) * kSurelyDearer >= limit) return true;
    if (high.left > 0.0) {  // the segments do all the work at a higher price only
      low = high;
      high = relax(query, kPriceStep * high.price, work);
      continue;
    }
    // No bound is greater than where the tangents meet.
    const double over = high.cost - high.left * high.price;
    const double under = low.cost - low.left * low.price;
    const double price = (over - under) / (low.left - high.left);
    if ((low.cost + low.left * (price - low.price)) * kSurelyDearer < limit) return false;
    if (!(price > low.price && price < high.price)) return false;
    const Relaxed found = relax(query, price, work);
    (found.left > 0.0 ? low : high) = found;
  }
  return false;
}

DeadlineSegments::Relaxed DeadlineSegments::relax(const PlanQuery& query, double price,
                                                  double work) const {
  const auto num_types = static_cast<std::size_t>(prices_->num_types());
  const double slot = ticks_of(options_->slot);
  Relaxed found{price, price * work, work};
  for (std::size_t i = 0; i < segments_.size(); ++i) {
    const Time begin = std::max(window_.begin, options_->slot * segments_[i].begin);
    const Time end = std::min(window_.end, options_->slot * segments_[i].end);
    if (end <= begin) continue;
    const double ticks = ticks_of(end - begin);
    double gain = 0.0;
    double rate = 0.0;
    double gain_of_part = 0.0;
    for (const PlanConfiguration& c : query.configurations) {
      const SegmentSum& sum = sums_[i * num_types + static_cast<std::size_t>(c.type)];
      const int gpus = prices_->gpus(c.type);
      if (sum.least + c.gpus > gpus) continue;
      const double width = static_cast<double>(c.gpus);
      const double of_part =
          (price * c.rate - prices_->of(c.type, sum.least) / slot * width) * ticks;
      gain_of_part = std::max(gain_of_part, of_part);
      const bool fits = sum.most + c.gpus <= gpus;  // in all slots
      const double own = fits ? price * c.rate * ticks - sum.price * width : of_part;
      if (own <= gain) continue;
      gain = own;
      rate = c.rate;
    }
    found.cost -= gain;
    found.left -= rate * ticks;
    found.saved = std::max(found.saved, gain_of_part - gain);
  }
  return found;
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
