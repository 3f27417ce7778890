#include "deadlines/segments.hpp"

#include <algorithm>

#include "base/infinity.hpp"
#include "deadlines/segment_rows.hpp"

namespace gpusched {
namespace {

/// Bounds round otherwise than the sums of the oracle.
constexpr double kSurelyDearer = 1.0 - 1e-6;
/// Sums in another order round otherwise.
constexpr double kSurelyMore = 1.0 + 1e-9;
constexpr double kPriceStep = 4.0;
constexpr int kMostCuts = 12;

/// The size of a quantum, and how many of them count.
struct Quanta {
  double quantum;
  int most;

  [[nodiscard]] std::int32_t of(Time runs, double rate) const noexcept {
    const double quanta = ticks_of(runs) * rate / quantum;
    return quanta < static_cast<double>(most) ? static_cast<std::int32_t>(quanta) : most;
  }
  /// -1 where nothing is left.
  [[nodiscard]] std::int32_t after(Time paid, Time all, double rate) const noexcept {
    return all > paid ? of(all - paid, rate) : -1;
  }
};

/// The segments' joint choice at a price: a line above all bounds.
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
  // Distant time is divided more coarsely: lengths grow evenly.
  std::int64_t begin = 0;
  for (std::int64_t i = 1; i <= count; ++i) {
    const std::int64_t grown = count == 1 ? spare : spare * (i * (i - 1)) / (count * (count - 1));
    const std::int64_t end = i * least + grown;
    segments_.push_back({window.first + begin, window.first + end});
    begin = end;
  }
  sum_up();
}

void DeadlineSegments::TypeSums::resize(std::size_t size) {
  for (auto* row : {&price, &least_per_tick, &fewest, &most}) row->resize(size);
}

void DeadlineSegments::sum_up() {
  const std::size_t stride = SegmentChoices::stride_of(segments_.size());
  const auto num_slots = static_cast<std::size_t>(window_.last - window_.first);
  const double share = share_of(window_, window_.first, options_->slot);  // all others are whole
  if (promised_.size() < num_slots) promised_.resize(num_slots);
  lengths_.assign(stride, 0.0);
  for (std::size_t i = 0; i < segments_.size(); ++i) {
    lengths_[i] = ticks_of(end_of(segments_[i]) - begin_of(segments_[i]));
  }
  sums_.resize(static_cast<std::size_t>(prices_->num_types()));
  for (std::size_t type = 0; type < sums_.size(); ++type) {
    const int own = static_cast<int>(type);
    const int gpus = prices_->gpus(own);
    ledger_->copy(own, window_.first, std::span(promised_).first(num_slots));
    const auto table = prices_->table(own);
    const double first =
        num_slots == 0 ? 0.0 : table[static_cast<std::size_t>(promised_.front())] * share;
    TypeSums& sums = sums_[type];
    sums.resize(stride);
    for (std::size_t i = 0; i < segments_.size(); ++i) {
      double price = 0.0;
      std::int32_t least = gpus;
      std::int32_t most = 0;
      for (std::int64_t slot = segments_[i].begin; slot < segments_[i].end; ++slot) {
        const auto index = static_cast<std::size_t>(slot - window_.first);
        const std::int32_t promised = promised_[index];
        price += index == 0 ? first : table[static_cast<std::size_t>(promised)];
        least = std::min(least, promised);
        most = std::max(most, promised);
      }
      sums.price[i] = price;
      sums.least_per_tick[i] = prices_->of(own, least) / ticks_of(options_->slot);
      sums.fewest[i] = static_cast<double>(gpus - most);
      sums.most[i] = static_cast<double>(gpus - least);
    }
  }
}

void DeadlineSegments::make_options(const PlanQuery& query, double quantum, int quanta) {
  num_options_ = segments_.size() * query.configurations.size();
  if (plan_options_.size() < num_options_) plan_options_.resize(num_options_);
  quanta_.open(segments_.size(), query.configurations.size());
  changed_.resize(lengths_.size());
  for (std::size_t index = 0; index < query.configurations.size(); ++index) {
    make_options_of(index, query, quantum, quanta);
  }
}

void DeadlineSegments::make_options_of(std::size_t index, const PlanQuery& query, double quantum,
                                       int quanta) {
  const PlanConfiguration& c = query.configurations[index];
  const TypeSums& sums = sums_[static_cast<std::size_t>(c.type)];
  const auto gpus = static_cast<double>(c.gpus);
  const std::span<double> costs = quanta_.costs_of(index);
  const std::span<double> done = quanta_.done_of(index);
  run_in_lanes(WholeCosts{sums.price, sums.fewest, lengths_, gpus, costs.data()});
  WholeQuanta whole{lengths_, 0.0, c.rate, quantum, static_cast<double>(quanta), done.data()};
  run_in_lanes(whole);
  whole.lost = ticks_of(query.change);
  whole.quanta = changed_.data();
  if (whole.lost > 0.0) run_in_lanes(whole);
  const std::span<const double> changed = whole.lost > 0.0 ? changed_ : done;
  const bool goes_on =
      static_cast<int>(index) == query.current && begin_of(segments_.front()) == query.now;
  const Time pending = goes_on ? query.pending : Time{0};  // in the first segment
  const std::size_t step = query.configurations.size();
  PlanOption* option = plan_options_.data() + index;
  for (std::size_t i = 0; i < segments_.size(); ++i, option += step) {
    if (costs[i] < kInfinity) {
      const auto first = static_cast<std::int32_t>(done[i]);
      *option = {costs[i], first, static_cast<std::int32_t>(changed[i]), first, true};
      continue;
    }
    const bool fits = sums.most[i] >= gpus;  // in some slot
    *option =
        fits ? option_with_gaps(query, segments_[i], c, i == 0 ? pending : Time{0}, quantum, quanta)
             : kNoOption;
    costs[i] = option->cost;
    done[i] = static_cast<double>(std::max(0, option->first));
  }
  for (std::size_t i = segments_.size(); i < done.size(); ++i) done[i] = 0.0;
  if (pending > Time{0} && sums.fewest.front() >= gpus && costs.front() < kInfinity) {
    const Time all = end_of(segments_.front()) - begin_of(segments_.front());
    plan_options_[index].same = Quanta{quantum, quanta}.after(pending, all, c.rate);
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
  const Time runs = all - (paid - query.change);
  const Quanta counted{quantum, quanta};
  return {.cost = cost,
          .same = counted.after(begins ? pending : query.change, runs, c.rate),
          .changed = counted.after(query.change, runs, c.rate),
          .first = counted.of(runs, c.rate),
          .goes_on = reached == segment.end};
}

// The rest of the work costs at least its part at the best ratio.
DeadlineSegments::Pruned DeadlineSegments::prune(int quanta, double limit) {
  const double price = quanta_.least_price();
  const auto all = static_cast<double>(quanta);
  // With a margin, because the oracle's sums round differently.
  if (quanta_.is_each_dear(price, all, limit, kSurelyDearer)) return Pruned::all;
  Pruned found = Pruned::nothing;
  const std::size_t num_configurations = num_options_ / segments_.size();
  for (std::size_t at = 0; at < num_options_; ++at) {
    PlanOption& option = plan_options_[at];
    if (option.cost == kInfinity) continue;
    const std::size_t segment = at / num_configurations;
    const std::size_t configuration = at % num_configurations;
    const double left = all - quanta_.done(segment, configuration);
    if ((option.cost + price * left) * kSurelyDearer < limit) continue;
    option.cost = kInfinity;
    quanta_.drop(segment, configuration);
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

/// The options of each segment; if a configuration fits only in some of its slots, those may be its
/// cheapest.
void DeadlineSegments::relax(const PlanQuery& query) {
  const std::size_t num_configurations = query.configurations.size();
  whole_.open(segments_.size(), num_configurations);
  parts_.open(segments_.size(), num_configurations);
  for (std::size_t index = 0; index < num_configurations; ++index) {
    const PlanConfiguration& c = query.configurations[index];
    const TypeSums& sums = sums_[static_cast<std::size_t>(c.type)];
    const auto done = parts_.done_of(index);
    run_in_lanes(RelaxedCosts{sums.price, sums.least_per_tick, sums.fewest, sums.most, lengths_,
                              static_cast<double>(c.gpus), c.rate, parts_.costs_of(index).data(),
                              whole_.costs_of(index).data(), done.data()});
    std::copy(done.begin(), done.end(), whole_.done_of(index).begin());
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
  double most = 0.0;
  for (std::size_t i = 0; i < segments_.size() && most * kSurelyMore < work; ++i) {
    double rate = 0.0;
    for (const PlanConfiguration& c : query.configurations) {
      const double free = sums_[static_cast<std::size_t>(c.type)].most[i];  // in some slot
      rate = free >= static_cast<double>(c.gpus) ? std::max(rate, c.rate) : rate;
    }
    most += std::max(0.0, lengths_[i]) * rate;
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
