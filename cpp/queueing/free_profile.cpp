#include "queueing/free_profile.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

namespace gpusched {

namespace {

/// How many of the instants, which rise, are at or before one; at least 1 is. Without branches that
/// would be mispredicted.
std::size_t count_until(const Time* instants, std::size_t size, Time at) noexcept {
  const Time* base = instants;
  for (std::size_t left = size; left > 1;) {
    const std::size_t half = left / 2;
    base += static_cast<std::size_t>(base[half] <= at) * half;
    left -= half;
  }
  return static_cast<std::size_t>(base - instants) + 1;
}

}  // namespace

void FreeProfile::Block::copy(const Block& from, int begin, int end, int to) noexcept {
  // Compares addresses: without a copy they may lie just behind the last step.
  const auto num = static_cast<std::size_t>(end - begin);
  std::memmove(at.data() + to, from.at.data() + begin, num * sizeof(Time));
  std::memmove(levels.data() + to, from.levels.data() + begin, num * sizeof(std::int64_t));
}

void FreeProfile::reset(std::int64_t num_gpus) {
  now_ = Time{0};
  blocks_.clear();
  blocks_.push_back(std::make_unique<Block>());
  blocks_.front()->at[0] = Time{0};
  blocks_.front()->levels[0] = num_gpus;
  blocks_.front()->size = 1;
  firsts_.assign(1, Time{0});
  summaries_.assign(1, Summary{});
  sliding_.clear();
  slid_ = overdrawn_ = Time{0};
  last_ = 0;
}

int FreeProfile::Block::count_until(Time instant) const noexcept {
  const auto is_until = [&](int step) {
    return static_cast<int>(step < size && at[static_cast<std::size_t>(step)] <= instant);
  };
  // Comparisons that do not wait for one another are faster than the few of a binary search.
  constexpr int kStride = 8;
  int strides = 0;
  for (int step = kStride; step < kCapacity; step += kStride) strides += is_until(step);
  const int first = strides * kStride;
  int count = first + 1;
  for (int step = first + 1; step < first + kStride; ++step) count += is_until(step);
  return count;
}

FreeProfile::Place FreeProfile::find(Time at) const noexcept {
  const std::size_t num = firsts_.size();
  const bool is_near =
      last_ < num && firsts_[last_] <= at && (last_ + 1 == num || firsts_[last_ + 1] > at);
  if (!is_near) last_ = count_until(firsts_.data(), num, at) - 1;
  return {last_, blocks_[last_]->count_until(at) - 1};
}

void FreeProfile::erase(std::size_t begin, std::size_t end) {
  const auto from = static_cast<std::ptrdiff_t>(begin);
  const auto to = static_cast<std::ptrdiff_t>(end);
  blocks_.erase(blocks_.begin() + from, blocks_.begin() + to);
  firsts_.erase(firsts_.begin() + from, firsts_.begin() + to);
  summaries_.erase(summaries_.begin() + from, summaries_.begin() + to);
}

void FreeProfile::advance(Time now) {
  if (now == now_) return;
  now_ = now;
  const Place present = find(now);
  if (present.block > 0) erase(0, present.block);
  Block& first = *blocks_.front();
  if (present.step > 0) {
    first.copy(first, present.step, first.size, 0);
    first.size -= present.step;
    summaries_.front().is_known = false;
  }
  firsts_.front() = first.at[0] = now;
}

bool FreeProfile::is_behind(Time begin, Time end) const noexcept {
  if (slid_ == now_) return false;
  const auto first = std::upper_bound(sliding_.begin(), sliding_.end(), begin - now_,
                                      [](Time time, const Sliding& a) { return time < a.length; });
  return first != sliding_.end() && slid_ + first->length < end;
}

void FreeProfile::move_sliding() {
  if (slid_ == now_) return;
  slid_ = now_;
  if (sliding_.empty()) return;
  // The longest first: none runs into the next.
  for (auto each = sliding_.rbegin(); each != sliding_.rend(); ++each) {
    if (each->since == now_) continue;
    extend(each->since + each->length, now_ + each->length, each->gpus);
    each->since = now_;
  }
  // Merges those of equal length.
  auto last = sliding_.begin();
  for (auto each = last + 1; each != sliding_.end(); ++each) {
    if (each->length == last->length) {
      last->gpus += each->gpus;
    } else {
      *++last = *each;
    }
  }
  sliding_.erase(last + 1, sliding_.end());
  overdrawn_ = std::max(overdrawn_, now_ + last->length);
}

void FreeProfile::extend(Time from, Time to, std::int64_t gpus) {
  const Place place = find(from);
  const bool is_alone = place.step > 0 && at(place) == from &&
                        own_level(place) - own_level({place.block, place.step - 1}) == gpus;
  if (is_alone && place.step + 1 < blocks_[place.block]->size &&
      at({place.block, place.step + 1}) > to) {
    at(place) = to;
  } else {
    take(from, to, gpus);
  }
}

void FreeProfile::slide(Time length, std::int64_t gpus) {
  const auto [begin, end] =
      std::equal_range(sliding_.begin(), sliding_.end(), Sliding{length, 0, Time{0}},
                       [](const Sliding& a, const Sliding& b) { return a.length < b.length; });
  overdrawn_ = std::max(overdrawn_, now_ + length);
  if (gpus > 0) {
    take(now_, now_ + length, gpus);
    sliding_.insert(end, {length, gpus, now_});
    return;
  }
  for (auto each = begin; each != end; ++each) {
    const std::int64_t part = std::min(each->gpus, -gpus);
    take(now_, each->since + length, -part);
    each->gpus -= part;
    gpus += part;
  }
  sliding_.erase(std::remove_if(begin, end, [](const Sliding& each) { return each.gpus == 0; }),
                 end);
}

FreeProfile::Place FreeProfile::split(Place place) {
  Block& lower = *blocks_[place.block];
  auto upper = std::make_unique<Block>();
  constexpr int kHalf = kCapacity / 2;
  upper->copy(lower, kHalf, kCapacity, 0);
  upper->size = kCapacity - kHalf;
  lower.size = kHalf;
  summaries_[place.block].is_known = false;
  const Summary half{.added = summaries_[place.block].added};
  const auto next = static_cast<std::ptrdiff_t>(place.block) + 1;
  summaries_.insert(summaries_.begin() + next, half);
  firsts_.insert(firsts_.begin() + next, upper->at[0]);
  blocks_.insert(blocks_.begin() + next, std::move(upper));
  return place.step < kHalf ? place : Place{place.block + 1, place.step - kHalf};
}

FreeProfile::Place FreeProfile::put(Time instant) {
  Place place = find(instant);
  if (at(place) >= instant) return place;
  if (blocks_[place.block]->size == kCapacity) place = split(place);
  Block& block = *blocks_[place.block];
  const Place next{place.block, place.step + 1};
  block.copy(block, next.step, block.size, next.step + 1);
  at(next) = instant;
  own_level(next) = own_level(place);
  ++block.size;
  return next;
}

void FreeProfile::tidy(Place place) {
  if (place.step > 0) {
    if (own_level({place.block, place.step - 1}) != own_level(place)) return;
  } else {
    if (place.block == 0) return;  // the present
    const Place before{place.block - 1, blocks_[place.block - 1]->size - 1};
    if (level(before) != level(place)) return;
  }
  Block& block = *blocks_[place.block];
  block.copy(block, place.step + 1, block.size, place.step);
  if (--block.size == 0) {
    erase(place.block, place.block + 1);
  } else {
    firsts_[place.block] = block.at[0];
  }
}

void FreeProfile::take(Time begin, Time end, std::int64_t gpus) {
  if (end <= now_ || gpus == 0) return;
  put(end);
  const Place first = put(begin);
  Place place = first;
  for (;; place = {place.block + 1, 0}) {
    Summary& summary = summaries_[place.block];
    Block& block = *blocks_[place.block];
    const bool is_last = place.block + 1 == blocks_.size() || firsts_[place.block + 1] > end;
    if (place.step == 0 && !is_last) {
      summary.added -= gpus;
      summary.least -= gpus;
      summary.greatest -= gpus;
      continue;
    }
    summary.is_known = false;
    for (; place.step < block.size; ++place.step) {
      const auto each = static_cast<std::size_t>(place.step);
      if (block.at[each] >= end) break;
      block.levels[each] -= gpus;
    }
    if (is_last) break;
  }
  tidy(place);
  tidy(first);
}

void FreeProfile::add_up(std::size_t block) const noexcept {
  Summary& summary = summaries_[block];
  const auto begin = blocks_[block]->levels.begin();
  const auto [least, greatest] = std::minmax_element(begin, begin + blocks_[block]->size);
  summary.least = *least + summary.added;
  summary.greatest = *greatest + summary.added;
  summary.is_known = true;
}

Time FreeProfile::search(const Search& search) const {
  const std::int64_t gpus = search.gpus;
  const Place place = find(search.from);
  Time start = level(place) < gpus ? kNever : search.from;
  auto step = static_cast<std::size_t>(place.step) + 1;
  for (std::size_t i = place.block; i < blocks_.size(); ++i, step = 0) {
    const Block& block = *blocks_[i];
    if (step == 0) {
      const Summary& summary = summaries_[i];
      if (start != kNever && firsts_[i] - start >= search.length) return start;
      if (firsts_[i] >= search.limit) break;
      if (!summary.is_known) add_up(i);
      if (start != kNever ? summary.least >= gpus : summary.greatest < gpus) continue;
    }
    const std::int64_t need = gpus - summaries_[i].added;
    for (; step < static_cast<std::size_t>(block.size); ++step) {
      if ((block.levels[step] >= need) == (start != kNever)) continue;
      const Time at = block.at[step];
      if (at >= search.limit) return std::min(start, search.limit);
      if (start == kNever) {
        start = at;
      } else if (at - start >= search.length) {
        return start;
      } else {
        start = kNever;
      }
    }
  }
  return std::min(start, search.limit);
}

Time FreeProfile::earliest(Time length, std::int64_t gpus) const {
  return search({gpus, length, now_, kNever});
}

Time FreeProfile::free_since(Time until, std::int64_t gpus) const {
  Place place = find(until - kTick);
  Time since = until;
  for (;;) {
    if (level(place) < gpus) return since;
    since = at(place);
    if (--place.step >= 0) continue;
    do {
      if (place.block-- == 0) return since;
      const Summary& summary = summaries_[place.block];
      if (!summary.is_known) add_up(place.block);
      if (summary.least < gpus) break;
      since = firsts_[place.block];
    } while (true);
    place.step = blocks_[place.block]->size - 1;
  }
}

}  // namespace gpusched
