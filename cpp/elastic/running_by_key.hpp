#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "base/clone.hpp"
#include "elastic/elastic_jobs.hpp"
#include "elastic/hysteresis.hpp"
#include "elastic/sorted_line.hpp"
#include "elastic/waiting_line.hpp"

namespace gpusched {

/// The jobs that hold GPUs, in the order of a key. When all GPUs are given out again, blocks of
/// neighbors whose jobs would all keep their GPUs are skipped.
class RunningByKey {
 public:
  using Entry = WaitingLine::Entry;

  /// `looks_at_all`: skips nothing; slow but simple.
  void begin(bool looks_at_all) {
    looks_at_all_ = looks_at_all;
    line_.clear();
  }
  /// None of those that were inserted has a lower key; the greatest number if there are none.
  [[nodiscard]] std::int64_t least_key() const noexcept {
    return line_.empty() ? std::numeric_limits<std::int64_t>::max() : line_.begin()->key;
  }
  void insert(const Entry& entry) { line_.insert(entry); }
  void erase(const Entry& entry) { line_.erase(entry); }

  /// After ElasticJobs::apply and before WaitingLine::update, of those that were touched: those that
  /// lost their GPUs leave, those that hold some now come. `limit` as for `give_out`.
  template <class Key, class Limit>
  void update(const ElasticJobs& jobs, std::span<const Ref<ElasticJobs::Job>> touched, Key key,
              Limit limit) {
    came_.clear();
    for (ElasticJobs::Job* job : touched) {
      const Entry entry{key(*job), job->id, job};
      if (!job->is_waiting) line_.erase(entry);
      if (!job->held.empty()) came_.push_back(entry);
    }
    line_.insert_all(came_);
    if (came_.size() <= line_.size() / 2) return;
    // Recomputing the concurrency was costly enough; the next decision should not visit all jobs.
    for (const auto& block : line_.blocks()) block.note.limits(jobs, block.entries, limit);
  }

  /// Gives the available GPUs to these and the waiting jobs in one order, in which the keys of
  /// waiting jobs count for `lag` more. `limit` sets the Hysteresis within which a job keeps its
  /// GPUs, and may depend only on what is left; all others are passed to `give`, and have no target
  /// before.
  template <class Limit, class Give>
  void give_out(ElasticJobs& jobs, const WaitingLine& waiting, Time lag, Limit limit, Give give) {
    WaitingLine::Lines::Walk others(waiting.lines());
    const auto next = [&] {
      return others.first([&](const LeastGpus& need) { return need.is_left(jobs); });
    };
    const auto is_next_before = [&](const Entry& holder) {
      const Entry* other = next();
      return other != nullptr && Entry{other->key + lag.count(), other->id, nullptr} < holder;
    };
    const auto give_next = [&] {
      ElasticJobs::Job& job = *next()->item;
      others.pop();
      give(job);
    };
    for (const auto& block : line_.blocks()) {
      const bool is_joined = is_next_before(block.entries.back());
      if (!is_joined && stays(jobs, block.note.limits(jobs, block.entries, limit))) continue;
      for (const Entry& holder : block.entries) {
        while (is_next_before(holder)) give_next();
        own_.begin(jobs.num_types());
        limit(*holder.item, own_);
        if (stays(jobs, own_)) continue;
        jobs.drop(*holder.item);
        give(*holder.item);
      }
    }
    while (next() != nullptr) give_next();
  }

 private:
  /// The summary of a block, computed on demand.
  class Note {
   public:
    void add(const Entry& /*entry*/) noexcept { is_known_ = false; }
    void remove(const Entry& /*entry*/) noexcept { is_known_ = false; }

    template <class Limit>
    const Hysteresis& limits(const ElasticJobs& jobs, const std::vector<Entry>& entries,
                             Limit limit) {
      if (!is_known_) {
        limits_.begin(jobs.num_types());
        for (const Entry& entry : entries) limit(*entry.item, limits_);
        is_known_ = true;
      }
      return limits_;
    }

   private:
    bool is_known_ = false;
    Hysteresis limits_;
  };

  [[nodiscard]] bool stays(ElasticJobs& jobs, const Hysteresis& limits) const {
    if (looks_at_all_ || !limits.allow(jobs)) return false;
    limits.retain(jobs);
    return true;
  }

  bool looks_at_all_ = false;
  SortedLine<Entry, Note> line_;
  std::vector<Entry> came_;
  Hysteresis own_;
};

}  // namespace gpusched
