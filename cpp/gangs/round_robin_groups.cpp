#include "gangs/round_robin_groups.hpp"

#include <functional>
#include <iterator>
#include <span>
#include <utility>

namespace gpusched {

RoundRobinGroups::Index RoundRobinGroups::make(std::uint64_t name, ServerSet servers, int width) {
  if (unused_.empty()) {
    unused_.push_back(static_cast<Index>(sets_.size()));
    sets_.emplace_back();
  }
  const Index index = unused_.back();
  unused_.pop_back();
  TurnSet& set = sets_[index];
  set.name = name;
  set.capacity = static_cast<std::size_t>(servers.gpus / width);
  num_gpus_ += servers.gpus;
  set.servers = std::move(servers);
  return index;
}

RoundRobinGroups::Index RoundRobinGroups::take_first() {
  std::vector<Index>& least = levels_.back().sets;
  const Index index = least.back();
  least.pop_back();
  if (least.empty()) drop(std::prev(levels_.end()));
  return index;
}

std::vector<RoundRobinGroups::Level>::iterator RoundRobinGroups::place_of(std::size_t num_jobs) {
  return std::ranges::lower_bound(levels_, num_jobs, std::greater{}, &Level::num_jobs);
}

std::vector<RoundRobinGroups::Index>& RoundRobinGroups::level(std::size_t num_jobs) {
  auto place = place_of(num_jobs);
  if (place != levels_.end() && place->num_jobs == num_jobs) return place->sets;
  if (spare_.empty()) spare_.emplace_back();
  place = levels_.insert(place, {num_jobs, std::move(spare_.back())});
  spare_.pop_back();
  return place->sets;
}

void RoundRobinGroups::drop(std::vector<Level>::iterator level) {
  level->sets.clear();
  spare_.push_back(std::move(level->sets));
  levels_.erase(level);
}

void RoundRobinGroups::open_first(std::uint64_t name, ServerSet servers, int width) {
  level(0).push_back(make(name, std::move(servers), width));
}

void RoundRobinGroups::join(JobId job) {
  const Index index = take_first();
  TurnSet& set = sets_[index];
  if (set.line.size() < set.capacity) mark(set);
  count(set, -1);
  set.line.push_back(job);
  count(set, 1);
  // Behind those with fewer jobs, before those with equally many.
  level(set.line.size()).push_back(index);
}

void RoundRobinGroups::leave(Index index, JobId job) {
  TurnSet& set = sets_[index];
  if (!set.is_left) left_.push_back(set.line.size());
  set.is_left = true;
  count(set, -1);
  set.line.erase(job);
  count(set, 1);
  mark(set);
}

void RoundRobinGroups::settle() {
  if (left_.empty()) return;
  std::ranges::sort(left_);
  const auto repeated = std::ranges::unique(left_);
  left_.erase(repeated.begin(), repeated.end());
  std::vector<Index> moved;  // in the order that they had
  for (const std::size_t num_jobs : left_) {
    const auto level = place_of(num_jobs);
    const auto is_left = [&](Index set) { return sets_[set].is_left; };
    std::copy_if(level->sets.rbegin(), level->sets.rend(), std::back_inserter(moved), is_left);
    std::erase_if(level->sets, is_left);
    if (level->sets.empty()) drop(level);
  }
  left_.clear();
  // Sets that had as few jobs before come first.
  for (const Index index : moved) {
    TurnSet& set = sets_[index];
    set.is_left = false;
    std::vector<Index>& equals = level(set.line.size());
    equals.insert(equals.begin(), index);
  }
}

std::optional<RoundRobinGroups::Index> RoundRobinGroups::find(JobId job) const {
  for (const Level& level : levels_) {
    for (const Index set : level.sets) {
      const std::span<const JobId> line = sets_[set].line.jobs();
      if (std::ranges::find(line, job) != line.end()) return set;
    }
  }
  return std::nullopt;
}

void RoundRobinGroups::expand(std::uint64_t name, std::span<ServerSet> more, int width) {
  std::vector<Index> order;
  std::vector<JobId> jobs;
  jobs.reserve(static_cast<std::size_t>(num_jobs_));
  for_each([&](Index index, TurnSet& set) {
    order.push_back(index);
    count(set, -1);
    const std::span<const JobId> line = set.line.jobs();
    jobs.insert(jobs.end(), line.begin(), line.end());
    set.line.clear();
  });
  while (!levels_.empty()) drop(std::prev(levels_.end()));
  for (ServerSet& servers : more) order.push_back(make(name++, std::move(servers), width));
  // As if each joined the first set: it goes before those with equally many, so that every round
  // visits the sets in reverse.
  std::size_t at = 0;
  for (const JobId job : jobs) {
    sets_[order[at]].line.push_back(job);
    if (++at < order.size()) continue;
    at = 0;
    std::reverse(order.begin(), order.end());
  }
  const std::size_t num_rounds = jobs.size() / order.size();
  for (std::size_t i = order.size(); i-- > at;) level(num_rounds).push_back(order[i]);
  for (std::size_t i = 0; i < at; ++i) level(num_rounds + 1).push_back(order[i]);
  for (const Index index : order) {
    count(sets_[index], 1);
    mark(sets_[index]);
  }
}

}  // namespace gpusched
