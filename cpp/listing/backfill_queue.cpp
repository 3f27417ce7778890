#include "listing/backfill_queue.hpp"

#include <algorithm>

namespace gpusched {
namespace {

constexpr std::size_t kNotFound = std::numeric_limits<std::size_t>::max();

}  // namespace

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
  } else if (line.head > 4 * kBlock && line.head > line.jobs.size() / 2) {
    compact(line);
  }
  const std::int64_t estimate = jobs_->estimate(job).count();
  const std::size_t at = line.jobs.size();
  line.jobs.push_back(job);
  line.estimate.push_back(estimate);
  if (at % kBlock == 0) line.block_least.push_back(kGone);
  if (at % (kBlock * kBlock) == 0) line.super_least.push_back(kGone);
  line.block_least.back() = std::min(line.block_least.back(), estimate);
  line.super_least.back() = std::min(line.super_least.back(), estimate);
  ++line.num_waiting;
  ++size_;
}

void BackfillQueue::compact(Line& line) {
  const auto gone = static_cast<std::ptrdiff_t>(line.head / kBlock * kBlock);
  line.jobs.erase(line.jobs.begin(), line.jobs.begin() + gone);
  line.estimate.erase(line.estimate.begin(), line.estimate.begin() + gone);
  line.block_least.erase(line.block_least.begin(),
                         line.block_least.begin() + gone / static_cast<std::ptrdiff_t>(kBlock));
  line.head -= static_cast<std::size_t>(gone);
  line.super_least.clear();
  for (std::size_t block = 0; block < line.block_least.size(); ++block) {
    if (block % kBlock == 0) line.super_least.push_back(kGone);
    line.super_least.back() = std::min(line.super_least.back(), line.block_least[block]);
  }
}

void BackfillQueue::remove(JobId job) {
  Line& line = lines_[classes_->of(job)];
  const std::size_t at = place_of(line, job);
  const std::int64_t estimate = line.estimate[at];
  line.estimate[at] = kGone;
  --line.num_waiting;
  --size_;
  const std::size_t size = line.jobs.size();
  while (line.head < size && line.estimate[line.head] == kGone) ++line.head;
  const std::size_t block = at / kBlock;
  if (line.block_least[block] != estimate) return;
  const auto least = [](const std::vector<std::int64_t>& values, std::size_t group,
                        std::size_t first) {
    std::int64_t found = kGone;
    const std::size_t end = std::min((group + 1) * kBlock, values.size());
    for (std::size_t i = std::max(group * kBlock, first); i < end; ++i) {
      found = std::min(found, values[i]);
    }
    return found;
  };
  line.block_least[block] = least(line.estimate, block, line.head);
  const std::size_t super = block / kBlock;
  if (line.super_least[super] == estimate) {
    line.super_least[super] = least(line.block_least, super, line.head / kBlock);
  }
}

std::size_t BackfillQueue::place_of(const Line& line, JobId job) {
  // Mostly it is the first, or has just been found.
  if (line.jobs[line.head] >= job) return line.head;
  if (line.found < line.jobs.size() && line.jobs[line.found] == job) return line.found;
  const auto first = line.jobs.begin() + static_cast<std::ptrdiff_t>(line.head);
  return static_cast<std::size_t>(std::lower_bound(first, line.jobs.end(), job) -
                                  line.jobs.begin());
}

std::size_t BackfillQueue::find(const Line& line, std::size_t from, std::int64_t longest) {
  const std::size_t size = line.jobs.size();
  for (std::size_t at = from; at < size;) {
    if (at % (kBlock * kBlock) == 0 && line.super_least[at / (kBlock * kBlock)] > longest) {
      at += kBlock * kBlock;
    } else if (at % kBlock == 0 && line.block_least[at / kBlock] > longest) {
      at += kBlock;
    } else if (line.estimate[at] <= longest) {
      return at;
    } else {
      ++at;
    }
  }
  return kNotFound;
}

Time BackfillQueue::shortest(ClassId id) const noexcept {
  const Line& line = lines_[id];
  if (line.num_waiting == 0) return kNever;
  return Time{*std::min_element(line.super_least.begin(), line.super_least.end())};
}

JobId BackfillQueue::next(ClassId id, JobId after, Time longest) const noexcept {
  const Line& line = lines_[id];
  if (line.num_waiting == 0) return kNoJob;
  std::size_t from = line.head;
  if (after != kNoJob) {
    from = place_of(line, after);
    if (from < line.jobs.size() && line.jobs[from] == after) ++from;
  }
  const std::int64_t limit = std::min(longest.count(), kGone - 1);
  const std::size_t at = find(line, from, limit);
  if (at == kNotFound) return kNoJob;
  line.found = at;
  return line.jobs[at];
}

}  // namespace gpusched
