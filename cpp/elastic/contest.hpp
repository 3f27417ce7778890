#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>
#include <vector>

#include "base/clone.hpp"
#include "base/ids.hpp"
#include "base/infinity.hpp"
#include "base/stop_check.hpp"
#include "elastic/elastic_jobs.hpp"
#include "elastic/sorted_line.hpp"

namespace gpusched {

/// A job that could have more GPUs.
struct Contender {
  JobId id;
  Ref<ElasticJobs::Job> job;
  Configuration to;
  double length;   ///< its time left with what it has
  double of_more;  ///< what it gains, as a part of what it then has
  double of_less;  ///< the same, as a part of what it has
  double work;     ///< what it has left to do

  /// Whether it goes on instead of the one that has come so far.
  [[nodiscard]] bool passes(const Contender& so_far) const noexcept {
    return so_far.length >= length ? so_far.of_more <= of_less : of_more > so_far.of_less;
  }

  friend bool operator<(const Contender& a, const Contender& b) noexcept { return a.id < b.id; }
  friend bool operator<(const Contender& a, JobId id) noexcept { return a.id < id; }
};

/// Jobs of which each could have one GPU more. Who gets it comes out of a pass over all of them, by
/// JobId, in which the one so far is compared with the next. Who had come so far is kept, so that a
/// pass begins where it may differ from the last one.
class Contest {
 public:
  /// `looks_at_all`: every pass is over all of them, which is slow and easy to read.
  void begin(bool looks_at_all) { looks_at_all_ = looks_at_all; }

  void clear() noexcept {
    contenders_.clear();
    all_ = {};
    passed_.clear();
    first_changed_ = 0;
  }
  void insert(const Contender& contender) {
    contenders_.insert(contender);
    all_.add(contender);
    change(contender.id);
  }
  /// Of the same job.
  void replace(const Contender& contender) {
    contenders_.replace(contender);
    all_.add(contender);
    change(contender.id);
  }
  void erase(const Contender& contender) {
    change(contender.id);
    contenders_.erase(contender);
  }
  template <class Stays>
  void keep_those(Stays stays) {
    rest_.clear();
    for (auto at = contenders_.begin(); !at.is_at_end(); ++at) {
      if (stays(*at)) rest_.push_back(*at);
    }
    clear();
    for (const Contender& contender : rest_) all_.add(contender);
    contenders_.insert_all(rest_);
  }

  /// Who comes out of a pass; null if there is nobody. Holds until somebody comes, goes or changes.
  [[nodiscard]] const Contender* winner(StopCheck& stop) {
    if (looks_at_all_) first_changed_ = 0;
    while (!passed_.empty() && passed_.back().id >= first_changed_) passed_.pop_back();
    for (const auto& block : contenders_.blocks_from(first_changed_)) {
      stop.count(1);
      if (!passed_.empty() && !may_pass(block.note, passed_.back())) continue;
      stop.count(block.entries.size());
      for (const Contender& contender : block.entries) {
        if (contender.id < first_changed_) continue;
        if (passed_.empty() || contender.passes(passed_.back())) passed_.push_back(contender);
      }
    }
    first_changed_ = kNoJob;
    return passed_.empty() ? nullptr : &passed_.back();
  }
  /// Who comes out of a pass that begins with one who does not belong to them.
  [[nodiscard]] const Contender* winner_from(const Contender& first, StopCheck& stop) const {
    const Contender* found = &first;
    if (!may_pass(all_, first)) return found;
    for (const auto& block : contenders_.blocks()) {
      stop.count(1);
      if (!may_pass(block.note, *found)) continue;
      stop.count(block.entries.size());
      for (const Contender& contender : block.entries) {
        if (contender.passes(*found)) found = &contender;
      }
    }
    return found;
  }

 private:
  /// What none of some contenders exceeds.
  struct Limits {
    double shortest = kInfinity;
    double of_more = 0.0;
    double of_less = 0.0;

    void add(const Contender& contender) noexcept {
      shortest = std::min(shortest, contender.length);
      of_more = std::max(of_more, contender.of_more);
      of_less = std::max(of_less, contender.of_less);
    }
  };
  static constexpr std::size_t kMostOfBlock = 16;

  [[nodiscard]] bool may_pass(const Limits& limits, const Contender& so_far) const noexcept {
    return looks_at_all_ || limits.of_more > so_far.of_less ||
           (limits.shortest <= so_far.length && so_far.of_more <= limits.of_less);
  }
  void change(JobId id) noexcept { first_changed_ = std::min(first_changed_, id); }

  bool looks_at_all_ = false;
  SortedLine<Contender, Limits, kMostOfBlock> contenders_;
  Limits all_;                     // also of those who are gone
  std::vector<Contender> passed_;  // who had come so far in the last pass, one after the other
  JobId first_changed_ = 0;        // since then
  std::vector<Contender> rest_;
};

}  // namespace gpusched
