#include "reserving/free_profile.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace gpusched {
namespace {

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

}  // namespace

void FreeProfile::Summary::add_up(const Block& block) noexcept {
  std::int64_t level = 0;
  least = kMost;
  greatest = -kMost;
  for (int i = 0; i < block.size; ++i) {
    level += block.steps[static_cast<std::size_t>(i)].change;
    least = std::min(least, level);
    greatest = std::max(greatest, level);
  }
  is_added_up = true;
}

void FreeProfile::reset(std::int64_t num_gpus) {
  now_ = Time{0};
  level_ = num_gpus;
  blocks_.clear();
  summaries_.clear();
  sliding_.clear();
  num_sliding_ = 0;
}

void FreeProfile::slide(Time length, std::int64_t gpus) {
  num_sliding_ += gpus;
  const auto step = std::lower_bound(sliding_.begin(), sliding_.end(), length,
                                     [](const Step& a, Time time) { return a.at < time; });
  if (step == sliding_.end() || step->at != length) {
    sliding_.insert(step, {length, gpus});
  } else if ((step->change += gpus) == 0) {
    sliding_.erase(step);
  }
}

void FreeProfile::advance(Time now) {
  now_ = now;
  std::ptrdiff_t num_over = 0;
  for (const Summary& each : summaries_) {
    if (each.last > now) break;
    level_ += each.sum;
    ++num_over;
  }
  if (num_over > 0) {
    blocks_.erase(blocks_.begin(), blocks_.begin() + num_over);
    summaries_.erase(summaries_.begin(), summaries_.begin() + num_over);
  }
  if (blocks_.empty()) return;
  Block& first = *blocks_.front();
  const auto begin = first.steps.begin();
  const auto end = begin + first.size;
  auto kept = begin;
  std::int64_t over = 0;
  while (kept->at <= now) over += (kept++)->change;
  if (kept == begin) return;
  level_ += over;
  std::copy(kept, end, begin);
  first.size -= static_cast<int>(kept - begin);
  summaries_.front().sum -= over;
  summaries_.front().is_added_up = false;
}

void FreeProfile::take(Time begin, Time end, std::int64_t gpus) {
  if (end <= now_) return;
  add(begin, -gpus);
  add(end, gpus);
}

void FreeProfile::split(std::size_t at) {
  Block& lower = *blocks_[at];
  auto upper = std::make_unique<Block>();
  constexpr int kHalf = kCapacity / 2;
  std::copy(lower.steps.begin() + kHalf, lower.steps.end(), upper->steps.begin());
  upper->size = kCapacity - kHalf;
  lower.size = kHalf;
  Summary half{lower.steps[kHalf - 1].at};
  for (int i = 0; i < kHalf; ++i) half.sum += lower.steps[static_cast<std::size_t>(i)].change;
  summaries_[at].sum -= half.sum;
  summaries_[at].is_added_up = false;
  const auto offset = static_cast<std::ptrdiff_t>(at);
  summaries_.insert(summaries_.begin() + offset, half);
  blocks_.insert(blocks_.begin() + offset + 1, std::move(upper));
}

void FreeProfile::add(Time at, std::int64_t change) {
  if (at <= now_) {
    level_ += change;
    return;
  }
  if (blocks_.empty()) {
    blocks_.push_back(std::make_unique<Block>());
    summaries_.push_back({at});
  }
  const auto found = std::lower_bound(summaries_.begin(), summaries_.end(), at,
                                      [](const Summary& a, Time time) { return a.last < time; });
  auto place = std::min(static_cast<std::size_t>(found - summaries_.begin()), blocks_.size() - 1);
  if (blocks_[place]->size == kCapacity) {
    split(place);
    if (summaries_[place].last < at) ++place;
  }
  Block& block = *blocks_[place];
  const auto begin = block.steps.begin();
  const auto end = begin + block.size;
  const auto step =
      std::lower_bound(begin, end, at, [](const Step& a, Time time) { return a.at < time; });
  if (step == end || step->at != at) {
    std::copy_backward(step, end, end + 1);
    *step = {at, change};
    ++block.size;
  } else if ((step->change += change) == 0) {
    std::copy(step + 1, end, step);
    --block.size;
  }
  if (block.size == 0) {
    const auto offset = static_cast<std::ptrdiff_t>(place);
    blocks_.erase(blocks_.begin() + offset);
    summaries_.erase(summaries_.begin() + offset);
    return;
  }
  Summary& summary = summaries_[place];
  summary.last = block.steps[static_cast<std::size_t>(block.size) - 1].at;
  summary.sum += change;
  summary.is_added_up = false;
}

FreeProfile::Place FreeProfile::seek(Time from, bool takes_own) const {
  Place place{0, 0, sliding_.begin(), level_ - num_sliding_};
  const auto is_taken = [=](Time at) { return takes_own ? at <= from : at < from; };
  for (; place.block < blocks_.size(); ++place.block) {
    if (!is_taken(summaries_[place.block].last)) break;
    place.level += summaries_[place.block].sum;
  }
  if (place.block < blocks_.size()) {
    const Block& block = *blocks_[place.block];
    for (; is_taken(block.steps[place.step].at); ++place.step) {
      place.level += block.steps[place.step].change;
    }
  }
  for (; place.sliding != sliding_.end() && is_taken(now_ + place.sliding->at); ++place.sliding) {
    place.level += place.sliding->change;
  }
  return place;
}

Time FreeProfile::search(const Search& search) const {
  const std::int64_t gpus = search.gpus;
  const Time length = search.length;
  const Time limit = search.limit;
  const Place place = seek(search.from, true);
  std::size_t step = place.step;
  std::int64_t level = place.level;
  auto sliding = place.sliding;
  Time start = level < gpus ? kNever : search.from;
  const auto change = [&](Time at, std::int64_t by) {
    level += by;
    if (level < gpus) {
      start = kNever;
    } else if (start == kNever) {
      start = at;
    }
  };
  for (std::size_t i = place.block; i < blocks_.size(); ++i, step = 0) {
    Summary& summary = summaries_[i];
    const Block& block = *blocks_[i];
    auto given = sliding;  // the first that gives nothing back within the block
    std::int64_t given_back = 0;
    for (; given != sliding_.end() && now_ + given->at <= summary.last; ++given) {
      given_back += given->change;
    }
    if (!summary.is_added_up) summary.add_up(block);
    const bool is_open = start != kNever;
    const std::int64_t most = level + given_back + std::max<std::int64_t>(summary.greatest, 0);
    if (step == 0 && (is_open ? level + summary.least >= gpus : most < gpus)) {
      if (is_open && summary.last >= start + length) return start;
      level += summary.sum + given_back;
      sliding = given;
      continue;
    }
    const auto size = static_cast<std::size_t>(block.size);
    auto end = size;
    if (summary.last >= limit) {
      while (end > step && block.steps[end - 1].at >= limit) --end;
    }
    for (auto j = step; j < end; ++j) {
      const Step& each = block.steps[j];
      for (; sliding != given && now_ + sliding->at < each.at; ++sliding) {
        change(now_ + sliding->at, sliding->change);
      }
      if (start != kNever && each.at >= start + length) return start;
      std::int64_t by = each.change;
      if (sliding != given && now_ + sliding->at == each.at) by += (sliding++)->change;
      change(each.at, by);
    }
    if (end < size) break;
  }
  for (; sliding != sliding_.end() && start == kNever; ++sliding) {
    change(now_ + sliding->at, sliding->change);
  }
  return std::min(start, limit);
}

Time FreeProfile::earliest(Time length, std::int64_t gpus) const {
  return search({gpus, length, now_, kNever});
}

std::int64_t FreeProfile::free_before(Time at) const { return seek(at, false).level; }

}  // namespace gpusched
