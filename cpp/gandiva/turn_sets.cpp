#include "gandiva/turn_sets.hpp"

#include <iterator>
#include <span>
#include <utility>

namespace gpusched {

TurnSets::Index TurnSets::make(std::uint64_t name, ServerSet servers, int width) {
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

void TurnSets::count(const TurnSet& set, int sign) noexcept {
  num_jobs_ += sign * static_cast<std::int64_t>(set.line.size());
  num_waiting_ += sign * static_cast<std::int64_t>(set.line.size() - set.num_running());
}

void TurnSets::remove_first() {
  const auto least = levels_.begin();
  least->second.pop_back();
  if (least->second.empty()) levels_.erase(least);
}

void TurnSets::open_first(std::uint64_t name, ServerSet servers, int width) {
  levels_[0].push_back(make(name, std::move(servers), width));
}

void TurnSets::join(JobId job) {
  const Index index = levels_.begin()->second.back();
  remove_first();
  TurnSet& set = sets_[index];
  if (set.line.size() < set.capacity) mark(set);
  count(set, -1);
  set.line.push_back(job);
  count(set, 1);
  // Behind those with fewer jobs, before those with as many.
  levels_[set.line.size()].push_back(index);
}

void TurnSets::leave(Index index, JobId job) {
  TurnSet& set = sets_[index];
  if (!set.is_left) left_.push_back(set.line.size());
  set.is_left = true;
  count(set, -1);
  set.line.erase(job);
  count(set, 1);
  mark(set);
}

void TurnSets::settle() {
  if (left_.empty()) return;
  std::ranges::sort(left_);
  const auto repeated = std::ranges::unique(left_);
  left_.erase(repeated.begin(), repeated.end());
  std::vector<Index> moved;  // in the order that they had
  for (const std::size_t length : left_) {
    const auto level = levels_.find(length);
    const auto is_left = [&](Index set) { return sets_[set].is_left; };
    std::copy_if(level->second.rbegin(), level->second.rend(), std::back_inserter(moved), is_left);
    std::erase_if(level->second, is_left);
    if (level->second.empty()) levels_.erase(level);
  }
  left_.clear();
  // Those that had as few before come first.
  for (const Index index : moved) {
    TurnSet& set = sets_[index];
    set.is_left = false;
    Level& level = levels_[set.line.size()];
    level.insert(level.begin(), index);
  }
}

std::optional<TurnSets::Index> TurnSets::find(JobId job) const {
  for (const auto& [length, level] : levels_) {
    for (const Index set : level) {
      const std::span<const JobId> line = sets_[set].line.jobs();
      if (std::ranges::find(line, job) != line.end()) return set;
    }
  }
  return std::nullopt;
}

void TurnSets::expand(std::uint64_t name, std::span<ServerSet> more, int width) {
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
  levels_.clear();
  for (ServerSet& servers : more) order.push_back(make(name++, std::move(servers), width));
  // As if each joined the first set: it goes before those with as many, so that every round goes
  // through the sets the other way round.
  std::size_t at = 0;
  for (const JobId job : jobs) {
    sets_[order[at]].line.push_back(job);
    if (++at < order.size()) continue;
    at = 0;
    std::reverse(order.begin(), order.end());
  }
  for (std::size_t i = order.size(); i-- > at;)
    levels_[jobs.size() / order.size()].push_back(order[i]);
  for (std::size_t i = 0; i < at; ++i) levels_[jobs.size() / order.size() + 1].push_back(order[i]);
  for (const Index index : order) {
    count(sets_[index], 1);
    mark(sets_[index]);
  }
}

}  // namespace gpusched
