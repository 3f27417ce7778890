#include "market/market_jobs.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace gpusched {
namespace {

// All widths up to this one are looked at, and beyond it those an eighth apart.
constexpr int kNarrow = 16;

[[nodiscard]] bool is_allowed(const State& state, JobId job, int type) {
  return (state.jobs().types(job) >> type & 1) != 0;
}

}  // namespace

void MatchingJobs::begin(const Setup& setup, bool keeps_widths) {
  const State& state = setup.state;
  const Cluster& cluster = state.cluster();
  keeps_widths_ = keeps_widths || !state.speed().is_elastic();
  is_pooled_ = state.occupancy().is_pooled();
  // At own widths, jobs stay on one type even if types add up: a sum of completion times is lowest
  // if equal jobs have equal mixtures and end together, with the waiting ones later.
  is_additive_ = !state.speed().is_elastic() || (state.speed().adds_types() && !keeps_widths);
  jobs_.clear();
  free_rows_.clear();
  row_of_.clear();
  running_.clear();
  waiting_.clear();
  opened_ = Time{0};
  classes_.clear();
  class_of_server_.clear();
  if (is_pooled_) {
    classes_.push_back({0, 0, static_cast<std::int32_t>(cluster.num_gpus())});
    gpus_.assign(1, classes_.front().gpus);
    return;
  }
  gpus_.assign(static_cast<std::size_t>(cluster.num_types()), 0);
  server_of_type_.assign(gpus_.size(), 0);
  for (ServerId server = 0; server < cluster.num_servers(); ++server) {
    const GpuClass own{cluster.type(server), cluster.gpus(server), 0};
    const auto known = std::find_if(classes_.begin(), classes_.end(), [&](const GpuClass& other) {
      return other.type == own.type && other.server_gpus == own.server_gpus;
    });
    if (known == classes_.end()) classes_.push_back(own);
    gpus_[static_cast<std::size_t>(own.type)] += own.server_gpus;
    server_of_type_[static_cast<std::size_t>(own.type)] = server;
  }
  std::sort(classes_.begin(), classes_.end(), [](const GpuClass& a, const GpuClass& b) {
    return a.type != b.type ? a.type < b.type : a.server_gpus < b.server_gpus;
  });
  for (ServerId server = 0; server < cluster.num_servers(); ++server) {
    const auto own = std::find_if(classes_.begin(), classes_.end(), [&](const GpuClass& known) {
      return known.type == cluster.type(server) && known.server_gpus == cluster.gpus(server);
    });
    own->gpus += own->server_gpus;
    class_of_server_.push_back(static_cast<std::int32_t>(own - classes_.begin()));
  }
}

void MatchingJobs::open(const State& state, const Instant& instant) {
  for (const JobId id : instant.finished) take_out(row_of_[id]);
  for (const JobId id : instant.arrived) take_up(state, id);
  watch_running(state);
  waiting_.settle();
  opened_ = state.now();
}

void MatchingJobs::take_up(const State& state, JobId id) {
  Row row = static_cast<Row>(jobs_.size());
  if (free_rows_.empty()) {
    jobs_.push_back(describe(state, id));
  } else {
    row = free_rows_.back();
    free_rows_.pop_back();
    jobs_[row] = describe(state, id);
  }
  if (row_of_.size() <= id) row_of_.resize(std::size_t{id} + 1);
  row_of_[id] = row;
  line_up(state, row);
}

void MatchingJobs::line_up(const State& state, Row row) {
  Job& job = jobs_[row];
  job.remaining_s = seconds(state.remaining(job.id));
  job.is_running = job.is_settling = false;
  job.seen_rate = 0;
  job.line = waiting_.line_of({job.least, job.usable, goes_to_market(row)});
  waiting_.add(job.line, entry_of(row));
}

/// Removes a job that has ended.
void MatchingJobs::take_out(Row row) {
  if (!jobs_[row].is_running) waiting_.erase(jobs_[row].line, entry_of(row));
  jobs_[row].id = kNoJob;
  free_rows_.push_back(row);
}

void MatchingJobs::forget(JobId id) { take_out(row_of_[id]); }

void MatchingJobs::watch_running(const State& state) {
  ran_.swap(running_);
  for (const Lines::Entry& entry : ran_) {
    // The row may be another job's by now, which waits.
    const Job& job = jobs_[entry.item];
    const bool has_stopped = job.id != kNoJob && job.is_running && !state.is_running(job.id);
    if (has_stopped) line_up(state, entry.item);
  }
  running_.clear();
  state.for_each_running([&](const Slot& run) {
    const Row row = row_of_[run.job];
    Job& job = jobs_[row];
    if (!job.is_running) waiting_.erase(job.line, entry_of(row));
    job.is_running = true;
    const double before_s = job.remaining_s;
    job.remaining_s = seconds(state.remaining(job.id));
    job.is_settling = run.is_restarting(state.now());
    const bool is_seen = run.paid_at() <= opened_ && opened_ < state.now();
    job.seen_rate = is_seen ? (before_s - job.remaining_s) / seconds(state.now() - opened_) : 0.0;
    running_.push_back(entry_of(row));
  });
  std::sort(running_.begin(), running_.end());
}

MatchingJobs::Job MatchingJobs::describe(const State& state, JobId id) const {
  Job job;
  job.id = id;
  job.restart_s = seconds(state.jobs().restart_cost(id));
  const int own = state.jobs().gpus(id);
  job.gpu_rate.assign(gpus_.size(), 0.0);
  job.least = keeps_widths_ ? own : state.min_gpus(id);
  job.most = keeps_widths_
                 ? own
                 : std::max(job.least, std::min(state.max_gpus(id), state.speed().widest(id)));
  if (!state.speed().is_elastic()) {
    for (std::size_t type = 0; type < gpus_.size(); ++type) {
      if (is_pooled_ || is_allowed(state, id, static_cast<int>(type)))
        job.gpu_rate[type] = 1.0 / own;
    }
  } else if (is_additive_) {
    describe_sums(state, job);
  } else {
    describe_widths(state, job);
  }
  find_mean_rate(job);
  if (!(job.mean_rate > 0)) describe_any(state, job);
  return job;
}

/// Time per iteration on k GPUs of one type is compute / k + exchange (k - 1) / k, fitted to the
/// smallest width that can run and a multi-server ring, which jobs on several types have.
void MatchingJobs::describe_sums(const State& state, Job& job) const {
  const double ideal_s = state.speed().ideal_s(job.id);
  int least = std::numeric_limits<int>::max();
  for (std::size_t at = 0; at < gpus_.size(); ++at) {
    const auto type = static_cast<int>(at);
    if (!is_allowed(state, job.id, type)) continue;
    const auto time = [&](int gpus) { return gpus * state.speed().uniform_s(job.id, type, gpus); };
    int narrow = 1;
    while (narrow < gpus_[at] && !std::isfinite(time(narrow))) ++narrow;
    if (!std::isfinite(time(narrow))) continue;
    const int wide =
        std::min(gpus_[at],
                 std::max(narrow, 2 * state.cluster().largest_server(TypeMask{1} << type)));
    double exchange = 0;
    if (wide > narrow) exchange = std::max(0.0, (time(wide) - time(narrow)) / (wide - narrow));
    const double compute = time(narrow) - exchange * (narrow - 1);
    if (!(compute > 0)) continue;
    job.gpu_rate[at] = ideal_s / compute;
    job.exchange = std::max(job.exchange, exchange / ideal_s);
    least = std::min(least, narrow);
  }
  if (least > job.least && least <= job.most) job.least = least;
}

void MatchingJobs::describe_widths(const State& state, Job& job) const {
  const int own = state.jobs().gpus(job.id);
  for (std::size_t at = 0; at < gpus_.size(); ++at) {
    const auto type = static_cast<int>(at);
    const int most = std::min(job.most, gpus_[at]);
    double fastest = 0;
    for (int gpus = job.least; gpus <= most; gpus += gpus < kNarrow ? 1 : gpus / 8) {
      const double rate = state.rate(job.id, type, gpus);
      if (!(rate > fastest)) continue;
      fastest = rate;
      job.widths.push_back({type, gpus, 1.0 / rate});
      if (gpus <= own || job.gpu_rate[at] == 0.0) job.gpu_rate[at] = rate / gpus;
    }
  }
}

/// A job that only several types together hold, at its own width.
void MatchingJobs::describe_any(const State& state, Job& job) const {
  const int own = state.jobs().gpus(job.id);
  job.least = job.most = own;
  for (std::size_t at = 0; at < gpus_.size(); ++at) {
    const Part part{static_cast<int>(at), own};
    if (!is_allowed(state, job.id, part.type) || !is_possible(state, job, {&part, 1})) continue;
    job.gpu_rate[at] = 1.0 / own;
  }
  find_mean_rate(job);
}

void MatchingJobs::find_mean_rate(Job& job) const {
  double sum = 0;
  double gpus = 0;
  job.usable = 0;
  for (std::size_t type = 0; type < gpus_.size(); ++type) {
    if (!(job.gpu_rate[type] > 0)) continue;
    job.usable |= TypeMask{1} << type;
    sum += job.gpu_rate[type] * gpus_[type];
    gpus += gpus_[type];
  }
  job.mean_rate = gpus > 0 ? sum / gpus : 0.0;
}

void MatchingJobs::count_held(const State& state, const Job& job,
                              std::span<std::int32_t> counts) const {
  if (!job.is_running) return;
  const Slot& run = state.slot(job.id);
  if (run.pieces.empty()) counts[0] += run.gpus;
  for (const Piece& piece : run.pieces) {
    const auto own = class_of_server_[static_cast<std::size_t>(piece.server)];
    counts[static_cast<std::size_t>(own)] += piece.gpus;
  }
}

bool MatchingJobs::is_possible(const State& state, const Job& job,
                               std::span<const Part> parts) const {
  if (!state.speed().is_elastic()) return true;
  if (parts.size() == 1 &&
      parts.front().gpus <= gpus_[static_cast<std::size_t>(parts.front().type)]) {
    return state.rate(job.id, parts.front().type, parts.front().gpus) > 0;
  }
  // As if there were servers of that size.
  std::vector<Piece> pieces;
  for (const Part& part : parts) {
    pieces.emplace_back(server_of_type_[static_cast<std::size_t>(part.type)], ~GpuMask{0},
                        part.gpus);
  }
  return std::isfinite(state.speed().iteration_s({job.id, pieces, {}, {}}));
}

double MatchingJobs::seconds_per_service(const Job& job, std::span<const Part> parts) {
  double rate = 0;
  double gpus = 0;
  for (const Part& part : parts) {
    rate += part.gpus * job.gpu_rate[static_cast<std::size_t>(part.type)];
    gpus += part.gpus;
  }
  return 1.0 / rate + job.exchange * (gpus - 1.0) / gpus;
}

}  // namespace gpusched
