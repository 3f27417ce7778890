#include "reserving/free_profile.hpp"

#include <algorithm>
#include <memory>
#include <utility>

namespace gpusched {

void FreeProfile::reset(std::int64_t num_gpus) {
  now_ = Time{0};
  blocks_.clear();
  blocks_.push_back(std::make_unique<Block>());
  blocks_.front()->steps[0] = {Time{0}, num_gpus, {}};
  blocks_.front()->size = 1;
  summaries_.assign(1, Summary{});
  sliding_.clear();
}

FreeProfile::Place FreeProfile::find(Time at) const noexcept {
  const auto after = std::upper_bound(summaries_.begin() + 1, summaries_.end(), at,
                                      [](Time time, const Summary& a) { return time < a.first; });
  const auto block = static_cast<std::size_t>(after - summaries_.begin()) - 1;
  const Block& steps = *blocks_[block];
  const Step* base = steps.steps.data();
  for (int left = steps.size; left > 1;) {
    const int half = left / 2;
    base += base[half].at <= at ? half : 0;
    left -= half;
  }
  return {block, static_cast<int>(base - steps.steps.data())};
}

void FreeProfile::advance(Time now) {
  for (const Sliding& each : sliding_) take(now_ + each.length, now + each.length, each.gpus);
  now_ = now;
  const Place present = find(now);
  if (present.block > 0) {
    const auto num_over = static_cast<std::ptrdiff_t>(present.block);
    blocks_.erase(blocks_.begin(), blocks_.begin() + num_over);
    summaries_.erase(summaries_.begin(), summaries_.begin() + num_over);
  }
  if (present.step > 0) {
    Block& first = *blocks_.front();
    const auto begin = first.steps.begin();
    std::copy(begin + present.step, begin + first.size, begin);
    first.size -= present.step;
    summaries_.front().is_known = false;
  }
  blocks_.front()->steps[0].at = now;
  summaries_.front().first = now;
}

void FreeProfile::slide(Time length, std::int64_t gpus) {
  take(now_, now_ + length, gpus);
  const auto each = std::lower_bound(sliding_.begin(), sliding_.end(), length,
                                     [](const Sliding& a, Time time) { return a.length < time; });
  if (each == sliding_.end() || each->length != length) {
    sliding_.insert(each, {length, gpus});
  } else if ((each->gpus += gpus) == 0) {
    sliding_.erase(each);
  }
}

FreeProfile::Place FreeProfile::split(Place place) {
  Block& lower = *blocks_[place.block];
  auto upper = std::make_unique<Block>();
  constexpr int kHalf = kCapacity / 2;
  std::copy(lower.steps.begin() + kHalf, lower.steps.end(), upper->steps.begin());
  upper->size = kCapacity - kHalf;
  lower.size = kHalf;
  Summary& summary = summaries_[place.block];
  summary.is_known = false;
  const Summary half{upper->steps[0].at, summary.added};
  const auto next = static_cast<std::ptrdiff_t>(place.block) + 1;
  summaries_.insert(summaries_.begin() + next, half);
  blocks_.insert(blocks_.begin() + next, std::move(upper));
  return place.step < kHalf ? place : Place{place.block + 1, place.step - kHalf};
}

FreeProfile::Place FreeProfile::put(Time at) {
  Place place = find(at);
  if (step(place).at >= at) return place;
  if (blocks_[place.block]->size == kCapacity) place = split(place);
  Block& block = *blocks_[place.block];
  const auto here = block.steps.begin() + place.step;
  std::copy_backward(here + 1, block.steps.begin() + block.size,
                     block.steps.begin() + block.size + 1);
  *(here + 1) = {at, here->level, {}};
  ++block.size;
  return {place.block, place.step + 1};
}

void FreeProfile::tidy(Place place) {
  if (step(place).starts.first != Starts::kNone) return;
  if (place.step > 0) {
    if (step({place.block, place.step - 1}).level != step(place).level) return;
  } else {
    if (place.block == 0) return;  // the present
    const Place before{place.block - 1, blocks_[place.block - 1]->size - 1};
    if (level(before) != level(place)) return;
  }
  Block& block = *blocks_[place.block];
  const auto here = block.steps.begin() + place.step;
  std::copy(here + 1, block.steps.begin() + block.size, here);
  if (--block.size == 0) {
    const auto offset = static_cast<std::ptrdiff_t>(place.block);
    blocks_.erase(blocks_.begin() + offset);
    summaries_.erase(summaries_.begin() + offset);
    return;
  }
  summaries_[place.block].first = block.steps[0].at;
}

void FreeProfile::take(Time begin, Time end, std::int64_t gpus) {
  if (end <= now_ || gpus == 0) return;
  put(end);
  const Place first = put(begin);
  Place place = first;
  for (;; place = {place.block + 1, 0}) {
    Summary& summary = summaries_[place.block];
    Block& block = *blocks_[place.block];
    const bool is_last =
        place.block + 1 == blocks_.size() || summaries_[place.block + 1].first > end;
    if (place.step == 0 && !is_last) {
      summary.added -= gpus;
      summary.least -= gpus;
      summary.greatest -= gpus;
      continue;
    }
    summary.is_known = false;
    for (; place.step < block.size; ++place.step) {
      Step& each = block.steps[static_cast<std::size_t>(place.step)];
      if (each.at >= end) break;
      each.level -= gpus;
    }
    if (is_last) break;
  }
  tidy(place);
  tidy(first);
}

FreeProfile::Starts FreeProfile::starts_at(Time at) const {
  const Step& found = step(find(at));
  return found.at == at ? found.starts : Starts{};
}

void FreeProfile::set_starts(Time at, const Starts& starts) {
  const Place place = put(at);
  step(place).starts = starts;
  summaries_[place.block].is_known = false;
}

void FreeProfile::add_up(std::size_t block) const noexcept {
  Summary& summary = summaries_[block];
  const Block& steps = *blocks_[block];
  summary.least = summary.greatest = steps.steps[0].level;
  std::int32_t narrowest = Starts::kNobody;
  for (int i = 0; i < steps.size; ++i) {
    const Step& each = steps.steps[static_cast<std::size_t>(i)];
    summary.least = std::min(summary.least, each.level);
    summary.greatest = std::max(summary.greatest, each.level);
    narrowest = std::min(narrowest, each.starts.narrowest);
  }
  summary.least += summary.added;
  summary.greatest += summary.added;
  summary.has_starts = narrowest != Starts::kNobody;
  summary.is_known = true;
}

Time FreeProfile::first_start() const {
  for (std::size_t i = 0; i < blocks_.size(); ++i) {
    if (!summaries_[i].is_known) add_up(i);
    if (!summaries_[i].has_starts) continue;
    const Step* each = blocks_[i]->steps.data();
    while (each->starts.first == Starts::kNone) ++each;
    return each->at;
  }
  return kNever;
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
      if (start != kNever && summary.first - start >= search.length) return start;
      if (summary.first >= search.limit) break;
      if (!summary.is_known) add_up(i);
      if (start != kNever ? summary.least >= gpus : summary.greatest < gpus) continue;
    }
    const std::int64_t need = gpus - summaries_[i].added;
    for (; step < static_cast<std::size_t>(block.size); ++step) {
      const Step& each = block.steps[step];
      if ((each.level >= need) == (start != kNever)) continue;
      if (each.at >= search.limit) return std::min(start, search.limit);
      if (start == kNever) {
        start = each.at;
      } else if (each.at - start >= search.length) {
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

Time FreeProfile::free_since(Time at, std::int64_t gpus) const {
  Place place = find(at - kTick);
  Time since = at;
  for (;;) {
    if (level(place) < gpus) return since;
    since = step(place).at;
    if (--place.step >= 0) continue;
    do {
      if (place.block-- == 0) return since;
      const Summary& summary = summaries_[place.block];
      if (!summary.is_known) add_up(place.block);
      if (summary.least < gpus) break;
      since = summary.first;
    } while (true);
    place.step = blocks_[place.block]->size - 1;
  }
}

}  // namespace gpusched
