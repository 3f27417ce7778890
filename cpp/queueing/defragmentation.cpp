#include "queueing/defragmentation.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "model/allocation.hpp"

namespace gpusched {
namespace {

__extension__ typedef __int128 Price;  // GPUs times ticks

using Hosts = std::map<ServerId, std::vector<JobId>>;

struct Move {
  JobId job;
  Allocation to;
};

/// The jobs of each server of these types. No run of this very decision may be stopped in it, so
/// servers with one are left out.
Hosts movable_jobs(const State& state, TypeMask types) {
  Hosts hosts;
  std::vector<ServerId> fixed;
  state.for_each_running([&](const Slot& run) {
    for (const Piece& piece : run.pieces) {
      if ((types >> state.cluster().type(piece.server) & 1) == 0) continue;
      hosts[piece.server].push_back(run.job);
      if (run.start == state.now()) fixed.push_back(piece.server);
    }
  });
  for (const ServerId server : fixed) hosts.erase(server);
  return hosts;
}

class RoomPlan {
 public:
  RoomPlan(const State& state, Placement& placement)
      : state_(state), placement_(placement), free_(state.occupancy()) {}

  /// Clears server by server until the job fits. Then the jobs that it leaves their GPUs keep them,
  /// and the others are placed, the widest first; false if one of them, or the job, finds no place.
  bool find(const Request& request) {
    Hosts hosts = movable_jobs(state_, request.types);
    while (!placement_.place(free_, request, room_)) {
      if (hosts.empty()) return false;
      clear(hosts);
    }
    free_.acquire(room_.gpus, room_.pieces);
    std::erase_if(cleared_, [&](JobId job) { return keep(state_.slot(job)); });
    std::sort(cleared_.begin(), cleared_.end(), [&](JobId one, JobId other) {
      const int width = state_.slot(one).gpus;
      const int other_width = state_.slot(other).gpus;
      return width != other_width ? width > other_width : one < other;
    });
    return std::all_of(cleared_.begin(), cleared_.end(), [&](JobId job) { return move(job); });
  }

  [[nodiscard]] Price price() const {
    Price price = 0;
    for (const Move& move : moves_) {
      price += Price{move.to.gpus} * state_.jobs().restart_cost(move.job).count();
    }
    return price;
  }

  void carry_out(JobId job, Actions& actions) const {
    for (const Move& move : moves_) actions.suspend(move.job);
    actions.start(job, room_);
    for (const Move& move : moves_) actions.resize(move.job, move.to);
  }

 private:
  /// Releases the jobs of the server with the fewest GPUs among those that still have theirs.
  void clear(Hosts& hosts) {
    const auto num_gpus = [&](const Hosts::value_type& host) {
      std::int64_t sum = 0;
      for (const JobId job : host.second) sum += is_cleared(job) ? 0 : state_.slot(job).gpus;
      return sum;
    };
    const auto least =
        std::min_element(hosts.begin(), hosts.end(), [&](const auto& one, const auto& other) {
          return num_gpus(one) < num_gpus(other);
        });
    for (const JobId job : least->second) {
      if (is_cleared(job)) continue;
      const Slot& run = state_.slot(job);
      free_.release(run.gpus, run.pieces);
      cleared_.push_back(job);
    }
    hosts.erase(least);
  }
  [[nodiscard]] bool is_cleared(JobId job) const {
    return std::find(cleared_.begin(), cleared_.end(), job) != cleared_.end();
  }

  bool keep(const Slot& run) {
    const bool is_free =
        free_.may_close() ? free_.can_return(run.pieces, nullptr) : free_.is_free(run.pieces);
    if (is_free) free_.acquire(run.gpus, run.pieces);
    return is_free;
  }
  bool move(JobId job) {
    Move move{job, {}};
    if (!placement_.place(free_, state_.request(job), move.to)) return false;
    free_.acquire(move.to.gpus, move.to.pieces);
    moves_.push_back(std::move(move));
    return true;
  }

  const State& state_;
  Placement& placement_;
  Occupancy free_;
  Allocation room_;
  std::vector<JobId> cleared_;
  std::vector<Move> moves_;
};

}  // namespace

bool Defragmentation::start(const State& state, Placement& placement, JobId job, Actions& actions) {
  const Request request = state.request(job);
  if (has_failed_ || request.gpus > state.occupancy().num_free(request.types)) return false;
  RoomPlan plan(state, placement);
  has_failed_ = !plan.find(request);
  if (has_failed_) return false;
  // In ticks and rounded up: the wait that is worth it.
  const Price wait = (plan.price() + request.gpus - 1) / request.gpus;
  const Time since = state.queue_time(job);
  if (wait > (state.now() - since).count()) {
    has_failed_ = true;
    if (wait < kMaxTicks - since.count()) retry_ = since + Time{static_cast<std::int64_t>(wait)};
    return false;
  }
  plan.carry_out(job, actions);
  return true;
}

}  // namespace gpusched
