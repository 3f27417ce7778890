#include "dancer/open_jobs.hpp"

#include <algorithm>

namespace gpusched {
namespace {

bool is_before(const OpenJob& a, const OpenJob& b) noexcept {
  return a.density != b.density ? a.density > b.density : a.job < b.job;
}

}  // namespace

void OpenJobs::clear() noexcept {
  all_.clear();
  num_in_order_ = count_ = 0;
}

void OpenJobs::push_back(const OpenJob& job) {
  const bool is_all_in_order = num_in_order_ == all_.size();
  if (is_all_in_order && (all_.empty() || is_before(all_.back(), job))) ++num_in_order_;
  all_.push_back(job);
  ++count_;
}

bool OpenJobs::erase(JobId job, double density) {
  const auto end = all_.begin() + static_cast<std::ptrdiff_t>(num_in_order_);
  const auto place = [&](const OpenJob& known, double value) {
    return known.density != value ? known.density > value : known.job < job;
  };
  auto found = std::lower_bound(all_.begin(), end, density, place);
  if (found == end || found->job != job) {
    found = std::find_if(end, all_.end(), [&](const OpenJob& known) { return known.job == job; });
  }
  if (found == all_.end() || found->is_gone) return false;
  drop(*found);
  return true;
}

/// Most keep their order: only those that do not are sorted.
void OpenJobs::sort() {
  moved_.clear();
  std::size_t kept = 0;
  for (const OpenJob& job : all_) {
    if (job.is_gone) continue;
    if (kept > 0 && is_before(job, all_[kept - 1])) {
      moved_.push_back(job);
    } else {
      all_[kept++] = job;
    }
  }
  all_.resize(kept);
  if (!moved_.empty()) {
    if (!std::is_sorted(moved_.begin(), moved_.end(), is_before)) {
      std::sort(moved_.begin(), moved_.end(), is_before);
    }
    all_.insert(all_.end(), moved_.begin(), moved_.end());
    std::inplace_merge(all_.begin(), all_.begin() + static_cast<std::ptrdiff_t>(kept), all_.end(),
                       is_before);
  }
  num_in_order_ = all_.size();
}

}  // namespace gpusched
