#include "reserving/held_reservations.hpp"

#include <algorithm>

namespace gpusched {
namespace {

constexpr std::size_t kFew = 64;  // of which it does not matter that some are gone

}  // namespace

void HeldReservations::clear() noexcept {
  by_job_.clear();
  by_instant_.clear();
  num_held_ = 0;
}

void HeldReservations::add(const Held& held) {
  const auto place = std::upper_bound(by_job_.begin(), by_job_.end(), held.job,
                                      [](JobId job, const Held& each) { return job < each.job; });
  by_job_.insert(place, held);
  by_instant_.push({held.at, held.job});
  ++num_held_;
}

void HeldReservations::move(Held& held, Time at) {
  held.at = at;
  by_instant_.push({at, held.job});
  if (by_instant_.size() <= 2 * num_held_ + kFew) return;
  by_instant_.remove_if([this](const Entry& entry) { return is_stale(entry); });
}

HeldReservations::Held* HeldReservations::find(JobId job) noexcept {
  const auto found = std::lower_bound(by_job_.begin(), by_job_.end(), job,
                                      [](const Held& each, JobId id) { return each.job < id; });
  return found != by_job_.end() && found->job == job ? &*found : nullptr;
}

bool HeldReservations::is_stale(const Entry& entry) noexcept {
  const Held* held = find(entry.job);
  return held == nullptr || held->at != entry.at;
}

Time HeldReservations::first() noexcept {
  while (by_instant_.size() > num_held_ && is_stale(by_instant_.top())) by_instant_.pop();
  return by_instant_.top().at;
}

HeldReservations::Held HeldReservations::pop() {
  first();  // drops what is stale
  const JobId job = by_instant_.top().job;
  by_instant_.pop();
  return remove(job);
}

HeldReservations::Held HeldReservations::remove(JobId job) {
  Held* const found = find(job);
  const Held held = *found;
  found->at = kNever;
  if (by_job_.size() > 2 * --num_held_ + kFew) {
    std::erase_if(by_job_, [](const Held& each) { return each.at == kNever; });
  }
  return held;
}

}  // namespace gpusched
