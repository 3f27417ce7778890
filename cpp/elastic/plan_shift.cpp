#include "elastic/plan_shift.hpp"

#include <algorithm>

namespace gpusched {

void PlanShift::clear() noexcept {
  std::fill(more_.begin() + begin_, more_.begin() + end_, 0);
  begin_ = end_ = num_freed_ = 0;
}

std::span<const Taken> PlanShift::before(std::int64_t slot) const noexcept {
  const std::int64_t size = std::min(end_, slot) - begin_;
  if (size <= 0) return {};
  return std::span(more_).subspan(static_cast<std::size_t>(begin_), static_cast<std::size_t>(size));
}

void PlanShift::replace(const SlotPlan& before, const SlotPlan& now) {
  const std::int64_t size = std::max(before.size(), now.size());
  if (more_.size() < static_cast<std::size_t>(size)) more_.resize(static_cast<std::size_t>(size));
  auto old = before.stretches.begin();
  auto own = now.stretches.begin();
  for (std::int64_t slot = 0; slot < size;) {
    const bool was = old != before.stretches.end();
    const bool is = own != now.stretches.end();
    const std::int64_t next = std::min(was ? old->end : size, is ? own->end : size);
    const Taken more = (is ? own->gpus : 0) - (was ? old->gpus : 0);
    if (more != 0) add(slot, next, more);
    slot = next;
    if (was && old->end == slot) ++old;
    if (is && own->end == slot) ++own;
  }
  while (begin_ < end_ && at(begin_) == 0) ++begin_;
  while (begin_ < end_ && at(end_ - 1) == 0) --end_;
}

void PlanShift::add(std::int64_t begin, std::int64_t end, Taken more) {
  Taken freed = 0;
  for (Taken& known : std::span(more_).subspan(static_cast<std::size_t>(begin),
                                               static_cast<std::size_t>(end - begin))) {
    const Taken before = known;
    known += more;
    freed += static_cast<Taken>(known < 0) - static_cast<Taken>(before < 0);
  }
  num_freed_ += freed;
  begin_ = begin_ < end_ ? std::min(begin_, begin) : begin;
  end_ = std::max(end_, end);
}

}  // namespace gpusched
