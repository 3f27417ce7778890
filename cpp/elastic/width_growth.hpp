#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "base/clone.hpp"
#include "base/ids.hpp"
#include "base/stop_check.hpp"
#include "elastic/elastic_jobs.hpp"
#include "elastic/growth_contest.hpp"
#include "seams/state.hpp"

namespace gpusched {

/// If each job has its minimum width on its fastest type, and none grows before all have that, a
/// decision concerns only jobs that grow or grew; the others are not visited.
class WidthGrowth {
 public:
  void begin(const Setup& setup);

  /// A job has come, or may hold other GPUs since the present decision.
  void note(JobId id) {
    if (entries_.size() <= id) entries_.resize(id + 1);
    changed_.push_back(id);
  }
  /// Removes a noted job that has ended; ElasticJobs still knows it.
  void forget(const ElasticJobs::Job& job);

  /// Takes up those that were noted, as their runs are now: before any of them is changed again.
  void take_up_changed(const State& state, ElasticJobs& jobs);
  /// Gives out all GPUs; false, without effect, if more than growth must be decided.
  [[nodiscard]] bool give_out(const State& state, ElasticJobs& jobs, StopCheck& stop);

 private:
  enum class Stand : std::uint8_t {
    unknown,
    odd,         ///< more is to be decided of it
    restarting,  ///< it keeps what it has
    usual,
    gone
  };
  struct Entry {
    Stand stand = Stand::unknown;
    bool contends = false;
    bool is_other = false;  ///< usual, but does not hold its least width; it is listed
  };

  [[nodiscard]] static Stand stand_of(const State& state, const ElasticJobs::Job& job);
  void take_up(const State& state, const ElasticJobs& jobs, ElasticJobs::Job& job);
  void enter(const State& state, const ElasticJobs& jobs, ElasticJobs::Job& job, Stand stand);
  void leave(const ElasticJobs::Job& job);
  [[nodiscard]] bool is_room_for_all(const ElasticJobs& jobs) const;
  void grow(const State& state, ElasticJobs& jobs, int type, StopCheck& stop);

  GrowthContest contest_;             // of the usual ones, with their least widths
  std::vector<Entry> entries_;  // by JobId
  std::vector<JobId> changed_;  // some twice
  std::vector<Ref<ElasticJobs::Job>> restarting_;
  std::vector<Ref<ElasticJobs::Job>> others_;
  std::vector<std::int64_t> needed_;      // by type: GPUs of all least widths
  std::vector<std::int64_t> contenders_;  // by type
  std::int64_t num_odd_ = 0;
  std::vector<std::pair<Contender*, Contender>> grown_;  // and as they were inserted
};

}  // namespace gpusched
