"""Faults that cannot change what anybody sees, and why: no test can notice them."""

from __future__ import annotations

from typing import Final

_REASONS: Final[dict[tuple[str, str], str]] = {
    (
        'cpp/bindings/bind_filling.cpp',
        'm.def("fill", &fill_cluster, py::arg("requests").none(true), py::arg("arrivals").noconvert(),',
    ): 'None is refused for a reference anyway, with the same error',
    (
        'cpp/bindings/bind_simulation.cpp',
        'py::arg("description").none(true), py::arg("at_us"), py::keep_alive<1, 2>(),',
    ): 'None is refused for a reference anyway, with the same error',
    (
        'cpp/bindings/run_watch.hpp',
        'if (now - looked_ <= kPause) return stride_;',
    ): 'differs where the clock stands at the pause to the nanosecond, and then by one look at signals',
    (
        'cpp/deadlines/segments.cpp',
        'if (most >= 0) ratio = std::min(ratio, option.cost / static_cast<double>(most));',
    ): 'a cost over no quanta is infinite or not a number, and neither is ever the least',
    (
        'cpp/deadlines/slot_filling.hpp',
        'return a.gain != b.gain ? a.gain < b.gain : a.job >= b.job;',
    ): 'a job has at most one step in the heap, so that no two tie on the job',
    (
        'cpp/elastic/elastic_jobs.cpp',
        'for (int type = 0; type <= cluster.num_types(); ++type) {',
    ): 'one type more, of which there are no GPUs',
    (
        'cpp/listing/backfill_queue.cpp',
        'std::upper_bound(line.jobs.begin() - static_cast<std::ptrdiff_t>(from), line.jobs.end(),',
    ): 'what lies before the head is lower still, and bisection looks at nothing before the first',
    (
        'cpp/listing/deep_backfilling.hpp',
        'bool shortest_first = true;',
    ): 'whoever makes a rule sets the field',
    (
        'cpp/listing/waiting_queue.cpp',
        'const auto fits = [](ClassId) { return false; };',
    ): 'where it is asked no class is ever marked as refused',
    (
        'cpp/market/exact_market.hpp',
        'bool is_optimal = true;',
    ): 'whoever solves sets the field',
    (
        'cpp/market/one_type_search.cpp',
        'const int available = free(wanted.type) - (held_type(job) == wanted.type ? held_gpus(job) : 0);',
    ): 'it is asked for jobs that hold nothing only',
    (
        'cpp/matching/jobs.cpp',
        'if (parts.size() != 1 &&',
    ): 'the market gives no GPUs on which a job cannot run: the check is a second lock',
    (
        'cpp/matching/targets.cpp',
        'const bool is_same = target != held_[job];',
    ): 'the market gives no GPUs on which a job cannot run: the check is a second lock',
    (
        'cpp/plugins/orders/edf.cpp',
        'return {deadline == kNever ? kMaxTicks + 0 : deadline.count()};',
    ): 'deadlines lie below 2^62 ticks',
    (
        'cpp/plugins/orders/srtf.cpp',
        'static constexpr bool kIsRemainingService = false;',
    ): 'the engine that takes any order decides the same: it costs time',
    (
        'cpp/plugins/placements/topology.cpp',
        'const int num_whole = size >= 0 ? request.gpus / size : 0;',
    ): 'without a server that could host it a job is rejected on arrival, so that the size is never 0',
    (
        'cpp/plugins/schedulers/dancer.cpp',
        'parameters.preset("exchange", true);',
    ): 'with whole slots a newcomer waits for the next one, so that nobody can make room in the present one',
    (
        'cpp/preemption/claimable_gpus.hpp',
        'bool is_possible_ = true;',
    ): 'it is set before it is read',
    (
        'cpp/reserving/held_reservations.cpp',
        'if (by_job_.size() > 2 * --num_held_ - kFew) {',
    ): 'when entries that are gone are swept out: it costs time',
    (
        'cpp/reserving/ruled_out.cpp',
        'if (place != row.begin() && (place - 0)->from >= from) return;',
    ): 'what is not remembered as ruled out is tried again, with the same outcome: it costs time',
    (
        'python/gpusched/audit/rules/greedy_placements.py',
        'TAKES_ANY.register(_name)(False)',
    ): 'that a name is registered counts, not the value that it is registered with',
    (
        'python/gpusched/audit/rules/ring_speed.py',
        'if not allowed.any() and not len(jobs):',
    ): 'where no server is allowed no job finishes, and for no jobs nothing is computed',
    (
        'python/gpusched/audit/speed_rules.py',
        'if not flags.is_elastic or trace.profile is None or rule is None and rule.measured is None:',
    ): 'every elastic speed has a rule that measures',
    (
        'python/gpusched/bounds/deadline_program.py',
        'last = np.clip(last, first, self.num_cells + 1)',
    ): 'the borders reach the last end, so that nothing lies beyond the last cell',
    (
        'python/gpusched/bounds/known/squashed_srpt.py',
        'compute = native("squashed_srpt") and squashed_srpt_ticks',
    ): 'the readable twin computes the same: it costs time',
    (
        'python/gpusched/results/deadline_facts.py',
        'has: Bool = (np.asarray(self.trace.deadline_us) > 0) & self.counted',
    ): 'deadlines lie after submissions, so that none is 0',
    (
        'python/gpusched/results/gpu_time.py',
        'kind[server <= 0] = len(kinds)',
    ): 'a log is of a pool, where all rows have server -1, or of servers',
    (
        'python/gpusched/results/metrics/deadlines.py',
        'missed = run.has_deadline & run.finished & (run.late_us >= 0)',
    ): 'a job that ends at its deadline adds 0',
    (
        'python/gpusched/results/wait_story.py',
        'if 0 <= percent < 0.1:',
    ): 'what is told of has lasted, so that no share is 0',
    (
        'python/gpusched/schedules/series.py',
        'freeze_columns(self, is_own=False)',
    ): 'columns of its own are copied before they are frozen: it costs time',
    (
        'python/gpusched/specs/speed_limits.py',
        'jobs = job_table(trace, cluster, uses_estimates=True, speed=paces.name)',
    ): 'a column more, which no speed reads',
}
"""By the file and the line as the fault leaves it, without its indentation."""


def reason_of(file: str, after: str) -> str:
    """Return why a fault changes nothing, or "" if it is not known to."""
    return _REASONS.get((file, after.strip()), "")
