#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/clone.hpp"
#include "elastic/waiting_line.hpp"

namespace gpusched {

/// The finish-time fairness of a job, and where that counts the mean number of jobs over its life.
struct Unfairness {
  double rho;
  double concurrency = 0;
};

/// The candidates of a decision by finish-time fairness, the greatest rho first. Of those that wait
/// only the blocks are looked at that may hold a rho as great as the next one.
class LeastFair {
 public:
  using Block = SortedLine<WaitingLine::Entry, RatioBound>::Block;
  struct Candidate {
    double rho;
    JobId id;
    Ref<ElasticJobs::Job> job;
    Ref<const LeastGpus> need;  ///< null if it does not wait

    /// For a heap with the greatest rho on top.
    friend bool operator<(const Candidate& a, const Candidate& b) noexcept {
      return a.rho != b.rho ? a.rho < b.rho : a.id > b.id;
    }
  };

  void clear() noexcept {
    candidates_.clear();
    unseen_.clear();
    num_unseen_ = 0;
  }
  /// All that were added and not handed out.
  [[nodiscard]] std::size_t size() const noexcept { return candidates_.size() + num_unseen_; }

  void add(double rho, ElasticJobs::Job& job) {
    candidates_.push_back({rho, job.id, &job, nullptr});
    std::push_heap(candidates_.begin(), candidates_.end());
  }
  /// Waiting jobs with a need that `fits`; `bound`: an upper bound on rho in a block.
  template <class Fits, class Bound>
  void add_waiting(const WaitingLine& waiting, Fits fits, Bound bound) {
    for (const WaitingLine::Lines::Line& line : waiting.lines().all()) {
      if (line.entries.empty() || !fits(line.need)) continue;
      for (const Block& block : line.entries.blocks()) {
        unseen_.push_back({bound(block), &block, &line.need});
      }
      num_unseen_ += line.entries.size();
    }
    std::make_heap(unseen_.begin(), unseen_.end());
  }

  /// Hands out the candidate with the greatest rho, of those that wait if their need fits; null if
  /// none is left. `measure` returns the Unfairness of a job; `job_ticks`: see RatioBound.
  template <class Fits, class Measure>
  [[nodiscard]] const Candidate* next(const State& state, Fits fits, Measure measure,
                                      double job_ticks = 0) {
    for (;;) {
      const bool is_open = unseen_.empty() || (!candidates_.empty() &&
                                               unseen_.front().bound < candidates_.front().rho);
      if (!is_open) {
        look_at_first(state, fits, measure, job_ticks);
        continue;
      }
      if (candidates_.empty()) return nullptr;
      std::pop_heap(candidates_.begin(), candidates_.end());
      found_ = candidates_.back();
      candidates_.pop_back();
      if (found_.need == nullptr || fits(*found_.need)) return &found_;
    }
  }

 private:
  struct Unseen {
    double bound;
    const Block* block;
    const LeastGpus* need;

    friend bool operator<(const Unseen& a, const Unseen& b) noexcept { return a.bound < b.bound; }
  };

  template <class Fits, class Measure>
  void look_at_first(const State& state, Fits fits, Measure measure, double job_ticks) {
    std::pop_heap(unseen_.begin(), unseen_.end());
    const auto [bound, block, need] = unseen_.back();
    unseen_.pop_back();
    num_unseen_ -= block->entries.size();
    if (!fits(*need)) return;
    block->note.begin(state.now(), job_ticks);
    for (const WaitingLine::Entry& entry : block->entries) {
      const Time since = state.now() - state.jobs().submit(entry.id);
      const auto sum = static_cast<double>((since + state.remaining(entry.id)).count());
      const Time alone_ticks = std::max(kTick, state.jobs().predicted(entry.id));
      const auto alone = static_cast<double>(alone_ticks.count());
      const Unfairness own = measure(entry.id);
      block->note.tell(sum / alone, alone, state.jobs().gpus(entry.id), own.concurrency);
      candidates_.push_back({own.rho, entry.id, entry.item, need});
      std::push_heap(candidates_.begin(), candidates_.end());
    }
  }

  std::vector<Candidate> candidates_;  // a heap
  std::vector<Unseen> unseen_;         // a heap of blocks
  std::size_t num_unseen_ = 0;
  Candidate found_{};
};

}  // namespace gpusched
