#include "queueing/backfill_queue.hpp"

#include <algorithm>

namespace gpusched {

void BackfillQueue::begin(const JobTable& jobs, const JobClasses& classes) {
  jobs_ = &jobs;
  classes_ = &classes;
  lines_.assign(classes.num_classes(), {});
  size_ = 0;
}

void BackfillQueue::add(JobId job) {
  Line& line = lines_[classes_->of(job)];
  if (line.num_waiting == 0) {
    line.jobs.clear();
    line.estimate.clear();
    line.block_least.clear();
    line.super_least.clear();
    line.head = 0;
    line.passed = {};
  } else if (line.head > 4 * kBlock && line.head > line.jobs.size() / 2) {
    compact(line);
  }
  const std::int64_t estimate = jobs_->estimate(job).count();
  const std::size_t end = line.jobs.size();
  if (end == 0 || line.jobs[end - 1] < job) {
    line.jobs.push_back(job);
    line.estimate.push_back(estimate);
    if (end % kBlock == 0) line.block_least.push_back(kGone);
    if (end % (kBlock * kBlock) == 0) line.super_least.push_back(kGone);
    line.block_least.back() = std::min(line.block_least.back(), estimate);
    line.super_least.back() = std::min(line.super_least.back(), estimate);
  } else {
    insert(line, job, estimate);
  }
  ++line.num_waiting;
  ++size_;
}

/// Before others that wait or have waited: all blocks from there on hold other jobs than before.
void BackfillQueue::insert(Line& line, JobId job, std::int64_t estimate) {
  const auto place = std::lower_bound(line.jobs.begin(), line.jobs.end(), job);
  const auto at = place - line.jobs.begin();
  if (*place == job) {
    line.estimate[static_cast<std::size_t>(at)] = estimate;
  } else {
    line.jobs.insert(place, job);
    line.estimate.insert(line.estimate.begin() + at, estimate);
  }
  line.head = std::min(line.head, static_cast<std::size_t>(at));
  line.passed = {};
  bound_blocks(line, static_cast<std::size_t>(at) / kBlock);
}

/// Recomputes the bounds of the blocks from that one on.
void BackfillQueue::bound_blocks(Line& line, std::size_t first) {
  line.block_least.resize(first);
  for (std::size_t at = first * kBlock; at < line.jobs.size(); ++at) {
    if (at % kBlock == 0) line.block_least.push_back(kGone);
    line.block_least.back() = std::min(line.block_least.back(), line.estimate[at]);
  }
  bound_supers(line);
}

void BackfillQueue::bound_supers(Line& line) {
  line.super_least.clear();
  for (std::size_t block = 0; block < line.block_least.size(); ++block) {
    if (block % kBlock == 0) line.super_least.push_back(kGone);
    line.super_least.back() = std::min(line.super_least.back(), line.block_least[block]);
  }
}

void BackfillQueue::compact(Line& line) {
  const auto gone = static_cast<std::ptrdiff_t>(line.head / kBlock * kBlock);
  line.jobs.erase(line.jobs.begin(), line.jobs.begin() + gone);
  line.estimate.erase(line.estimate.begin(), line.estimate.begin() + gone);
  line.block_least.erase(line.block_least.begin(),
                         line.block_least.begin() + gone / static_cast<std::ptrdiff_t>(kBlock));
  line.head -= static_cast<std::size_t>(gone);
  for (std::size_t* place : {&line.passed.begin, &line.passed.end}) {
    *place -= std::min(*place, static_cast<std::size_t>(gone));
  }
  bound_supers(line);
}

void BackfillQueue::remove(JobId job) {
  Line& line = lines_[classes_->of(job)];
  const std::size_t at = place_of(line, job);
  line.estimate[at] = kGone;
  if (at == line.passed.end) ++line.passed.end;
  --line.num_waiting;
  --size_;
  const std::size_t size = line.jobs.size();
  while (line.head < size && line.estimate[line.head] == kGone) ++line.head;
}

std::size_t BackfillQueue::place_of(const Line& line, JobId job) {
  // Mostly it is the first, or has just been found.
  if (line.jobs[line.head] >= job) return line.head;
  const std::size_t found = line.passed.end;
  if (found < line.jobs.size() && line.jobs[found] == job) return found;
  const auto first = line.jobs.begin() + static_cast<std::ptrdiff_t>(line.head);
  return static_cast<std::size_t>(std::lower_bound(first, line.jobs.end(), job) -
                                  line.jobs.begin());
}

void BackfillQueue::raise(Line& line, std::size_t block) {
  const auto least = [](const std::vector<std::int64_t>& values, std::size_t group) {
    std::int64_t found = kGone;
    const std::size_t end = std::min((group + 1) * kBlock, values.size());
    for (std::size_t i = group * kBlock; i < end; ++i) found = std::min(found, values[i]);
    return found;
  };
  const std::size_t super = block / kBlock;
  const bool bounds = line.super_least[super] == line.block_least[block];
  line.block_least[block] = least(line.estimate, block);
  if (bounds) line.super_least[super] = least(line.block_least, super);
}

std::size_t BackfillQueue::find(Line& line, std::size_t from, std::int64_t longest) {
  constexpr std::size_t kSuper = kBlock * kBlock;
  const std::size_t size = line.jobs.size();
  for (std::size_t at = from; at < size;) {
    const std::size_t block = at / kBlock;
    if (line.super_least[at / kSuper] > longest) {
      at = (at / kSuper + 1) * kSuper;
    } else if (line.block_least[block] > longest) {
      at = (block + 1) * kBlock;
    } else {
      for (const std::size_t end = std::min(size, (block + 1) * kBlock); at < end; ++at) {
        if (line.estimate[at] <= longest) return at;
      }
      raise(line, block);
    }
  }
  return size;
}

Time BackfillQueue::shortest(ClassId id) const noexcept {
  const Line& line = lines_[id];
  if (line.num_waiting == 0) return kNever;
  return Time{*std::min_element(line.super_least.begin(), line.super_least.end())};
}

JobId BackfillQueue::next(ClassId id, JobId after, Time longest) noexcept {
  Line& line = lines_[id];
  if (line.num_waiting == 0) return kNoJob;
  const std::int64_t limit = std::min(longest.count(), kGone - 1);
  Passed& passed = line.passed;
  const std::size_t size = line.jobs.size();
  std::size_t from = line.head;
  if (line.jobs[from] <= after) {
    const bool is_found = passed.begin <= from + 1 && from < passed.end && passed.end < size &&
                          line.jobs[passed.end] > after && limit <= passed.longest;
    from = is_found ? passed.end : place_of(line, after);
    if (from < size && line.jobs[from] == after) ++from;
  }
  const bool goes_on = limit <= passed.longest && passed.begin <= from && from <= passed.end;
  const std::size_t at = find(line, goes_on ? passed.end : from, limit);
  if (limit < kGone - 1) passed = {goes_on ? passed.begin : from, at, limit};
  return at < size ? line.jobs[at] : kNoJob;
}

}  // namespace gpusched
