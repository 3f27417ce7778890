#include "engine/livelock.hpp"

#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

#include "base/check.hpp"
#include "base/infinity.hpp"

namespace gpusched {
namespace {

constexpr std::size_t kMostShown = 8;
constexpr double kNoEnd = kInfinity;

/// Three digits: these are averages and outlooks.
std::string roughly(double number) {
  std::ostringstream out;
  out.precision(3);
  out << number;
  return out.str();
}

std::string list_of(std::vector<JobId> jobs) {
  std::sort(jobs.begin(), jobs.end());
  jobs.erase(std::unique(jobs.begin(), jobs.end()), jobs.end());
  std::string text;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    text += i == 0 ? "" : i + 1 == jobs.size() ? " and " : ", ";
    text += std::to_string(jobs[i]);
  }
  return (jobs.size() == 1 ? "job " : "jobs ") + text;
}

[[noreturn]] void fail(const State& state, const std::string& what) {
  fail_input("at " + std::to_string(state.now().count()) + " us: no progress (livelock): " + what);
}

}  // namespace

Livelock::Work Livelock::work_of(const State& state, JobId first_arrival) {
  // Whole ticks, as differences of large sums are wanted.
  Turns::Ticks left = 0;
  Turns::Ticks arrived = 0;
  Work work;
  for (JobId job = 0; job < state.num_arrived(); ++job) {
    if (job >= first_arrival && state.record(job).phase != Phase::rejected) {
      arrived += state.jobs().service(job).count();
    }
    if (!state.is_waiting(job) && !state.is_running(job)) continue;
    left += state.true_remaining(job).count();
    ++work.num_jobs;
  }
  work.left = left;
  work.arrived = arrived;
  return work;
}

void Livelock::open(Window& window, std::uint64_t count, const State& state, const Turns& turns,
                    const Work& work) {
  window.begin = count;
  // Looking at every job must not cost more than the steps in between.
  window.end = count + std::max<std::uint64_t>(kWindow, state.num_arrived());
  window.now = state.now();
  window.num_arrived = state.num_arrived();
  window.left = work.left;
  window.turns = turns;
}

double Livelock::done_in(const Window& window, const Work& work, const Turns& turns) noexcept {
  return static_cast<double>(window.left + work.arrived - work.left +
                             (turns.added - window.turns.added));
}

void Livelock::judge_turns(const State& state, const Turns& turns) {
  const Work work = work_of(state, turns_.num_arrived);
  const Turns& before = turns_.turns;
  const double done = done_in(turns_, work, turns);
  const auto left = static_cast<double>(work.left);
  const auto rows = static_cast<double>(turns.num_rows - before.num_rows);
  const double rows_to_come = done > 0 ? rows * (left / done) : kNoEnd;
  const auto gained = static_cast<double>(turns.gained - before.gained);
  const auto lost = static_cast<double>(turns.lost - before.lost);
  const bool is_waste = lost > static_cast<double>(Waste::kMostLost) * gained;
  const auto most = static_cast<double>(std::max(kMostRows, kMostRowsPerJob * work.num_jobs));
  if (rows_to_come <= (is_waste ? static_cast<double>(Waste::kMostRows) : most)) {
    open(turns_, turns.num_rows, state, turns, work);
    return;
  }
  fail_for_turns(state, turns, before, left, done);
}

void Livelock::fail_for_turns(const State& state, const Turns& turns, const Turns& before,
                              double left, double done) {
  const auto num = static_cast<double>(turns.num - before.num);
  const auto gained = static_cast<double>(turns.gained - before.gained);
  const auto lost = static_cast<double>(turns.lost - before.lost);
  const std::size_t known = std::min<std::size_t>(turns.last.size(), turns.num);
  fail(state,
       list_of({turns.last.begin(), turns.last.begin() + static_cast<std::ptrdiff_t>(known)}) +
           " take turns; each of the last " + roughly(num) +
           " preemptions and resizes at timers cost " + roughly(lost / num) + " us and gained " +
           roughly(gained / num) + " us of service, and the " + roughly(left) +
           " us left would take " +
           (done > 0 ? roughly(num * (left / done)) + " more" : std::string("forever")) +
           "; decide less often (a longer period_s), lower the restart costs (cost_s, "
           "checkpoint_s, restart_s) or let running jobs go on");
}

void Livelock::judge_instants(const State& state, const Turns& turns) {
  const Work work = work_of(state, instants_.num_arrived);
  const double done = done_in(instants_, work, turns);
  const auto left = static_cast<double>(work.left);
  const auto instants = static_cast<double>(num_instants_ - instants_.begin);
  const auto passed = static_cast<double>((state.now() - instants_.now).count());
  double instants_to_come = work.num_jobs > 0 && done > 0 ? instants * (left / done) : kNoEnd;
  const auto wait_for = [&](Time at) {
    const auto wait = static_cast<double>((at - state.now()).count());
    instants_to_come = std::min(instants_to_come, instants * (wait / passed));
  };
  if (state.num_arrived() < state.jobs().num_jobs()) {
    wait_for(state.jobs().submit(state.num_arrived()));
  }
  std::vector<JobId> running;
  state.for_each_running([&](const Slot& slot) {
    if (running.size() < kMostShown) running.push_back(slot.job);
    // A restart that has taken longer than the window is paid some day.
    const Time paid_at = slot.paid_at();
    if (slot.start <= instants_.now && paid_at > state.now()) wait_for(paid_at);
  });
  if (instants_to_come <= static_cast<double>(kMostInstants)) {
    open(instants_, num_instants_, state, turns, work);
    return;
  }
  if (4 * (turns.num - instants_.turns.num) >= num_instants_ - instants_.begin) {
    fail_for_turns(state, turns, instants_.turns, left, done);
  }
  fail(state,
       "the last " + roughly(instants) + " decisions, " + roughly(passed / instants) +
           " us apart, were requested only by the scheduler, and " +
           (instants_to_come < kNoEnd ? roughly(instants_to_come) + " more" : "infinitely many") +
           " would follow; " +
           (running.empty() ? "nothing runs" : list_of(running) + " held GPUs") + ", " +
           std::to_string(work.num_jobs) +
           " jobs are not finished; decide less often (a longer period_s, later wake-ups) or "
           "start waiting jobs");
}

}  // namespace gpusched
