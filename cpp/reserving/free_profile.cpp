#include "reserving/free_profile.hpp"

#include <algorithm>
#include <utility>

namespace gpusched {

void FreeProfile::Block::add_up() noexcept {
  std::int64_t sum = 0;
  is_added_up = true;
  for (int i = 0; i < size; ++i) {
    sum += steps[static_cast<std::size_t>(i)].change;
    least = i == 0 ? sum : std::min(least, sum);
    greatest = i == 0 ? sum : std::max(greatest, sum);
  }
}

void FreeProfile::reset(std::int64_t num_gpus) {
  now_ = Time{0};
  level_ = num_gpus;
  blocks_.clear();
  lasts_.clear();
  sums_.clear();
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
  std::size_t num_over = 0;
  while (num_over < blocks_.size() && lasts_[num_over] <= now) level_ += sums_[num_over++];
  if (num_over > 0) {
    blocks_.erase(blocks_.begin(), blocks_.begin() + static_cast<std::ptrdiff_t>(num_over));
    lasts_.erase(lasts_.begin(), lasts_.begin() + static_cast<std::ptrdiff_t>(num_over));
    sums_.erase(sums_.begin(), sums_.begin() + static_cast<std::ptrdiff_t>(num_over));
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
  sums_.front() -= over;
  std::copy(kept, end, begin);
  first.size -= static_cast<int>(kept - begin);
  first.is_added_up = false;
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
  lower.is_added_up = false;
  std::int64_t sum = 0;
  for (int i = 0; i < upper->size; ++i) sum += upper->steps[static_cast<std::size_t>(i)].change;
  const auto offset = static_cast<std::ptrdiff_t>(at);
  lasts_.insert(lasts_.begin() + offset, lower.steps[kHalf - 1].at);
  sums_.insert(sums_.begin() + offset, sums_[at] - sum);
  sums_[at + 1] = sum;
  blocks_.insert(blocks_.begin() + offset + 1, std::move(upper));
}

void FreeProfile::add(Time at, std::int64_t change) {
  if (at <= now_) {
    level_ += change;
    return;
  }
  if (blocks_.empty()) {
    blocks_.push_back(std::make_unique<Block>());
    lasts_.push_back(at);
    sums_.push_back(0);
  }
  const auto found = std::lower_bound(lasts_.begin(), lasts_.end(), at);
  auto place = std::min(static_cast<std::size_t>(found - lasts_.begin()), blocks_.size() - 1);
  if (blocks_[place]->size == kCapacity) {
    split(place);
    if (lasts_[place] < at) ++place;
  }
  Block& block = *blocks_[place];
  block.is_added_up = false;
  sums_[place] += change;
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
    lasts_.erase(lasts_.begin() + offset);
    sums_.erase(sums_.begin() + offset);
    return;
  }
  lasts_[place] = block.steps[static_cast<std::size_t>(block.size) - 1].at;
}

FreeProfile::Walk::Walk(const FreeProfile& profile, Time from, bool takes_own)
    : profile_(profile),
      level_(profile.level_ - profile.num_sliding_),
      sliding_(profile.sliding_.begin()) {
  const auto is_taken = [=](Time at) { return takes_own ? at <= from : at < from; };
  const auto& lasts = profile.lasts_;
  for (; block_ < lasts.size() && is_taken(lasts[block_]); ++block_) {
    level_ += profile.sums_[block_];
  }
  if (block_ < lasts.size()) {
    const Block& block = *profile.blocks_[block_];
    for (; is_taken(block.steps[step_].at); ++step_) level_ += block.steps[step_].change;
  }
  for (; sliding_ != profile.sliding_.end() && is_taken(sliding_at()); ++sliding_) {
    level_ += sliding_->change;
  }
}

inline void FreeProfile::Walk::change(Time at, std::int64_t by) {
  level_ += by;
  if (level_ >= search_.gpus) {
    if (start_ == kNever) start_ = at;
  } else {
    start_ = kNever;
  }
}

/// Whether nothing begins or ends within the block.
bool FreeProfile::Walk::passes_over(Block& block, Time last) {
  auto given = sliding_;
  std::int64_t given_back = 0;
  for (; given != profile_.sliding_.end() && profile_.now_ + given->at <= last; ++given) {
    given_back += given->change;
  }
  if (!block.is_added_up) block.add_up();
  const bool is_even =
      start_ != kNever
          ? level_ + block.least >= search_.gpus
          : level_ + given_back + std::max<std::int64_t>(block.greatest, 0) < search_.gpus;
  if (!is_even) return false;
  level_ += profile_.sums_[block_] + given_back;
  sliding_ = given;
  return true;
}

Time FreeProfile::Walk::search(const Search& search) {
  search_ = search;
  if (level_ >= search.gpus) start_ = search.from;
  const auto& blocks = profile_.blocks_;
  bool goes_on = true;
  for (; goes_on && block_ < blocks.size(); ++block_, step_ = 0) {
    Block& block = *blocks[block_];
    const Time first = block.steps[step_].at;
    if (is_found(first) || first >= search.limit) break;
    if (step_ == 0 && passes_over(block, profile_.lasts_[block_])) continue;
    for (; goes_on && step_ < static_cast<std::size_t>(block.size); ++step_) {
      const Step& step = block.steps[step_];
      for (; sliding_ != profile_.sliding_.end() && sliding_at() < step.at; ++sliding_) {
        change(sliding_at(), sliding_->change);
      }
      if (is_found(step.at) || step.at >= search.limit) goes_on = false;
      std::int64_t by = step.change;
      if (sliding_ != profile_.sliding_.end() && sliding_at() == step.at) {
        by += (sliding_++)->change;
      }
      if (goes_on) change(step.at, by);
    }
  }
  for (; goes_on && sliding_ != profile_.sliding_.end() && start_ == kNever; ++sliding_) {
    change(sliding_at(), sliding_->change);
  }
  return std::min(start_, search.limit);
}

Time FreeProfile::earliest(Time length, std::int64_t gpus) const {
  return search({gpus, length, now_, kNever});
}

Time FreeProfile::search(const Search& search) const {
  return Walk(*this, search.from, true).search(search);
}

std::int64_t FreeProfile::free_before(Time at) const { return Walk(*this, at, false).level(); }

}  // namespace gpusched
