#include "listing/free_profile.hpp"

#include <algorithm>
#include <utility>

namespace gpusched {

void FreeProfile::Block::add_up() noexcept {
  sum = least = greatest = 0;
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
  while (num_over < blocks_.size() && lasts_[num_over] <= now) level_ += blocks_[num_over++]->sum;
  if (num_over > 0) {
    blocks_.erase(blocks_.begin(), blocks_.begin() + static_cast<std::ptrdiff_t>(num_over));
    lasts_.erase(lasts_.begin(), lasts_.begin() + static_cast<std::ptrdiff_t>(num_over));
  }
  if (blocks_.empty()) return;
  Block& first = *blocks_.front();
  const auto begin = first.steps.begin();
  const auto end = begin + first.size;
  auto kept = begin;
  while (kept->at <= now) level_ += (kept++)->change;
  if (kept == begin) return;
  std::copy(kept, end, begin);
  first.size -= static_cast<int>(kept - begin);
  first.add_up();
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
  lower.add_up();
  upper->add_up();
  const auto offset = static_cast<std::ptrdiff_t>(at);
  lasts_.insert(lasts_.begin() + offset, lower.steps[kHalf - 1].at);
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
  }
  const auto found = std::lower_bound(lasts_.begin(), lasts_.end(), at);
  auto place = std::min(static_cast<std::size_t>(found - lasts_.begin()), blocks_.size() - 1);
  if (blocks_[place]->size == kCapacity) {
    split(place);
    if (lasts_[place] < at) ++place;
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
    lasts_.erase(lasts_.begin() + offset);
    return;
  }
  lasts_[place] = block.steps[static_cast<std::size_t>(block.size) - 1].at;
  block.add_up();
}

Time FreeProfile::earliest(Time length, std::int64_t gpus) const {
  std::int64_t level = level_ - num_sliding_;
  Time start = level < gpus ? kNever : now_;
  auto sliding = sliding_.begin();
  const auto change = [&](Time at, std::int64_t by) {
    level += by;
    if (level < gpus) {
      start = kNever;
    } else if (start == kNever) {
      start = at;
    }
  };
  for (std::size_t i = 0; i < blocks_.size(); ++i) {
    const Block& block = *blocks_[i];
    auto given = sliding;  // the first that gives nothing back within the block
    std::int64_t given_back = 0;
    for (; given != sliding_.end() && now_ + given->at <= lasts_[i]; ++given) {
      given_back += given->change;
    }
    const bool is_open = start != kNever;
    if (is_open && block.steps[0].at >= start + length) return start;
    if (is_open ? level + block.least >= gpus
                : level + given_back + block.greatest < gpus && level + given_back < gpus) {
      if (is_open && lasts_[i] >= start + length) return start;
      level += block.sum + given_back;
      sliding = given;
      continue;
    }
    for (int j = 0; j < block.size; ++j) {
      const Step& step = block.steps[static_cast<std::size_t>(j)];
      for (; sliding != given && now_ + sliding->at < step.at; ++sliding) {
        change(now_ + sliding->at, sliding->change);
      }
      if (start != kNever && step.at >= start + length) return start;
      std::int64_t by = step.change;
      if (sliding != given && now_ + sliding->at == step.at) by += (sliding++)->change;
      change(step.at, by);
    }
  }
  for (; sliding != sliding_.end() && start == kNever; ++sliding) {
    change(now_ + sliding->at, sliding->change);
  }
  return start;
}

}  // namespace gpusched
