#include "reserving/dealt_gpus.hpp"

#include <algorithm>

namespace gpusched {
namespace {

constexpr bool has(TypeMask types, std::size_t type) noexcept { return (types >> type & 1) != 0; }

}  // namespace

void DealtGpus::begin(std::span<const TypeMask> sets, int num_types) {
  num_types_ = static_cast<std::size_t>(num_types);
  sets_.assign(sets.begin(), sets.end());
  sets_.push_back(0);
  from_.resize(num_types_);
  by_.resize(num_types_);
}

bool DealtGpus::leaves(std::span<const std::int64_t> free, std::span<const std::int64_t> wanted,
                       std::size_t set, std::int64_t gpus) {
  // What all who may take of these types want is mostly enough to know, or not even that.
  std::int64_t most = 0;
  for (std::size_t type = 0; type < num_types_; ++type) {
    if (has(sets_[set], type)) most += free[type];
  }
  if (most < gpus) return false;
  for (std::size_t who = 0; who < wanted.size(); ++who) {
    if ((sets_[who] & sets_[set]) != 0) most -= wanted[who];
  }
  if (most >= gpus) return true;
  sets_.back() = sets_[set];
  left_.assign(free.begin(), free.end());
  given_.assign(sets_.size() * num_types_, 0);
  for (std::size_t who = 0; who < wanted.size(); ++who) static_cast<void>(deal(who, wanted[who]));
  return deal(wanted.size(), gpus) == gpus;
}

std::int64_t DealtGpus::deal(std::size_t who, std::int64_t wanted) {
  std::int64_t dealt = 0;
  while (dealt < wanted) {
    const std::size_t end = find_free(who);
    if (end == num_types_) break;
    std::int64_t amount = std::min(wanted - dealt, left_[end]);
    for (std::size_t type = end; from_[type] != num_types_; type = from_[type]) {
      amount = std::min(amount, given(by_[type], from_[type]));
    }
    left_[end] -= amount;
    for (std::size_t type = end;; type = from_[type]) {
      given(by_[type], type) += amount;
      if (from_[type] == num_types_) break;
      given(by_[type], from_[type]) -= amount;
    }
    dealt += amount;
  }
  return dealt;
}

/// The nearest type of which some are left; the number of types if there is none.
std::size_t DealtGpus::find_free(std::size_t who) {
  TypeMask seen = 0;
  reached_.clear();
  const auto reach = [&](std::size_t by, std::size_t from) {
    for (std::size_t type = 0; type < num_types_; ++type) {
      if (!has(sets_[by] & ~seen, type)) continue;
      seen |= TypeMask{1} << type;
      by_[type] = by;
      from_[type] = from;
      reached_.push_back(type);
    }
  };
  reach(who, num_types_);
  for (std::size_t i = 0; i < reached_.size(); ++i) {
    const std::size_t type = reached_[i];
    if (left_[type] > 0) return type;
    for (std::size_t other = 0; other < sets_.size(); ++other) {
      if (given(other, type) > 0) reach(other, type);
    }
  }
  return num_types_;
}

}  // namespace gpusched
