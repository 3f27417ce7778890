"""Metrics of a part of a run equal a plain computation over its jobs and its intervals."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import gpusched as gs

# Tiny ranges on purpose: jobs end, start and are submitted at the ends of the window.
jobs = st.lists(
    st.tuples(st.integers(0, 20), st.integers(1, 10), st.sampled_from([1, 1, 2, 3, 4, 6, 7])),
    min_size=1,
    max_size=12,
).map(sorted)
windows = st.tuples(st.integers(0, 20), st.sampled_from([None, 0, 1, 5, 20]))
policies = st.sampled_from(["fifo", "fifo-skip", "srtf:cost_s=2.0", "2d-las", "easy"])
SERVERS, GPUS = 2, 3


def _run(rows: list[tuple[int, int, int]], policy: str, *, shared: bool = False) -> gs.Result:
    submit, service, gpus = zip(*rows, strict=True)
    trace = gs.Trace.from_columns(
        submit_s=submit, service_s=service, gpus=gpus,
        deadline_s=[s + 2 * p for s, p in zip(submit, service, strict=True)],
        weight=[1.0 + index for index in range(len(rows))],
    )  # fmt: skip
    cluster = gs.Cluster.uniform(SERVERS, GPUS, nic_gbps=10, intra_gbps=100)
    if not shared:
        return gs.simulate(trace, cluster, policy=policy, placement="first-fit")
    return gs.simulate(
        trace.with_profiles(gs.model.zoo(), seed=1), cluster, policy=policy,
        placement="first-fit", speed="ring", contention="shared",
    )  # fmt: skip


def _overlap(begin: float, end: float, low: float, high: float) -> float:
    return max(0.0, min(end, high) - max(begin, low))


def _rank(values: list[float], percent: int) -> float:
    ordered = sorted(values)
    place = max(1, math.ceil(percent * len(ordered) / 100))
    return ordered[place - 1] if ordered else math.nan


def _mean(values: list[float]) -> float:
    return sum(values) / len(values) if values else math.nan


def _plain(result: gs.Result, warm_up: int, tail: int | None) -> dict[str, float]:
    """The metrics from the columns of the jobs and the rows of the log, one by one."""
    trace, own = result.trace, result.jobs
    submit = [float(value) for value in trace.submit_s]
    done = own.is_finished.tolist()
    begin = submit[0] + warm_up
    last = submit[-1] - (tail or 0)
    finishes = [float(f) for f, is_done in zip(own.finish_s, done, strict=True) if is_done]
    end = max(begin, last if tail is not None else max(finishes, default=begin))
    counted = [s >= begin and (tail is None or s <= last) for s in submit]
    mine = [index for index in range(len(trace)) if counted[index] and done[index]]
    held, within = [0.0] * len(trace), [0.0] * len(trace)
    rows = result.intervals
    for job, start_us, end_us, mask in zip(
        rows["job"], rows["start_us"], rows["end_us"], rows["mask"], strict=True
    ):
        width = int(mask).bit_count()
        held[job] += width * (end_us - start_us) / 1e6
        within[job] += width * _overlap(start_us / 1e6, end_us / 1e6, begin, end)
    part = [w / h if h else 0.0 for w, h in zip(within, held, strict=True)]
    room = SERVERS * GPUS * (end - begin)
    gpus, service = trace.gpus.tolist(), trace.service_s.tolist()
    useful = sum(gpus[j] * service[j] * part[j] for j in range(len(trace)) if done[j])
    jct = [float(own.jct_s[j]) for j in mine]
    wait = [float(own.wait_s[j]) for j in mine]
    slowdown = [max(1.0, float(own.jct_s[j]) / max(service[j], 10.0)) for j in mine]
    late = [float(own.finish_s[j] - own.deadline_s[j]) for j in mine]
    status = own.status.tolist()
    served = [j for j in range(len(trace)) if counted[j] and status[j] != "rejected"]
    arriving = min(end, submit[-1]) - begin
    asked = sum(gpus[j] * service[j] for j in served)
    weight = np.asarray(trace.weight).tolist()
    num_counted = sum(counted)
    return {
        "window_begin_s": begin,
        "window_end_s": end,
        "num_jobs": num_counted,
        "num_finished": len(mine),
        "num_rejected": sum(c and s == "rejected" for c, s in zip(counted, status, strict=True)),
        "num_cancelled": 0,  # nobody takes a job back
        "num_unfinished": sum(
            c and s == "unfinished" for c, s in zip(counted, status, strict=True)
        ),
        "mean_jct_s": _mean(jct),
        "max_jct_s": max(jct, default=math.nan),
        "mean_wait_s": _mean(wait),
        **{f"p{p}_jct_s": _rank(jct, p) for p in (50, 90, 95, 99)},
        **{f"p{p}_wait_s": _rank(wait, p) for p in (50, 90, 95, 99)},
        "geomean_jct_s": math.exp(_mean([math.log(value) for value in jct])),
        "mean_queueing_delay_s": _mean([float(own.queueing_delay_s[j]) for j in mine]),
        "mean_bounded_slowdown": _mean(slowdown),
        "p95_bounded_slowdown": _rank(slowdown, 95),
        "area_weighted_jct_s": sum(gpus[j] * service[j] * float(own.jct_s[j]) for j in mine)
        / (sum(gpus[j] * service[j] for j in mine) or math.nan),
        "weighted_jct_s": sum(weight[j] * float(own.jct_s[j]) for j in mine)
        / (sum(weight[j] for j in mine) or math.nan),
        "allocation": sum(within) / room if room else math.nan,
        "gpu_hours": sum(within) / 3_600,
        "utilisation": useful / room if room else math.nan,
        "preemptions": sum(int(own.preemptions[j]) for j in range(len(trace)) if counted[j]),
        "resizes": sum(int(own.resizes[j]) for j in range(len(trace)) if counted[j]),
        "mean_servers": _mean([float(own.servers[j]) for j in mine]),
        "load": asked / (SERVERS * GPUS * arriving) if arriving > 0 else math.nan,
        "num_deadlines": num_counted,
        "deadlines_met": sum(value <= 0 for value in late),
        "dsr": sum(value <= 0 for value in late) / num_counted,
        "value_met": sum(value <= 0 for value in late) / num_counted,
        "tardiness_s": sum(max(0.0, value) for value in late),
    }


def _counts_any(result: gs.Result, warm_up: int, tail: int | None) -> bool:
    submit = result.trace.submit_s
    last = submit[-1] - (tail or 0)
    return bool(((submit >= submit[0] + warm_up) & ((tail is None) | (submit <= last))).any())


@example([(1, 1, 7)], (0, 0), "fifo")  # no job finishes
@given(jobs, windows, policies)
def test_metrics_of_a_window_equal_a_plain_computation(rows, window, policy):
    result = _run(rows, policy)
    warm_up, tail = window
    if not _counts_any(result, warm_up, tail):
        with pytest.raises(ValueError, match=r"none is left without the first .* \(warm_up_s\)"):
            result.summary(warm_up_s=warm_up, tail_s=tail)
        return
    found = result.summary(warm_up_s=warm_up, tail_s=tail)
    if warm_up == 0 and tail is None:
        assert found == pytest.approx(result.summary(), nan_ok=True)
        return
    plain = _plain(result, warm_up, tail)
    assert {key: found[key] for key in plain} == pytest.approx(plain, rel=1e-9, nan_ok=True)
    # Nothing is said of a part of a run that was not computed here.
    rest = {"broken_promises", "num_admitted", "wall_s", "jobs_per_s"}
    measured = {key for key, metric in gs.metrics().items() if metric.is_of_parts}
    assert set(plain) >= {key for key in found if key in measured} - rest
    assert not set(found) & {key for key, metric in gs.metrics().items() if not metric.is_of_parts}


@given(jobs, windows)
def test_rings_of_a_window_are_those_of_its_time(rows, window):
    result = _run(rows, "fifo-skip", shared=True)
    warm_up, tail = window
    if not _counts_any(result, warm_up, tail):
        return
    found = result.summary(warm_up_s=warm_up, tail_s=tail)
    if "window_begin_s" not in found:
        return
    low, high = float(found["window_begin_s"]), float(found["window_end_s"])
    # A server's card has as many rings as gangs there that hold GPUs elsewhere, too.
    log = result.intervals
    spans: dict[tuple[int, int], list[int]] = {}
    for job, start, server in zip(log["job"], log["start_us"], log["server"], strict=True):
        spans.setdefault((int(job), int(start)), []).append(int(server))
    ends = {(int(j), int(s)): int(e) for j, s, e in
            zip(log["job"], log["start_us"], log["end_us"], strict=True)}  # fmt: skip
    rings = [(key[1] / 1e6, ends[key] / 1e6) for key, on in spans.items() if len(on) > 1]
    inside = [(max(a, low), min(b, high)) for a, b in rings if min(b, high) > max(a, low)]
    # Two servers: every ring is on both, so that each card tells the same.
    moments = sorted({moment for ring in inside for moment in ring})
    ring_s = sum(b - a for a, b in inside)
    used_s, most = 0.0, 0
    for begin, end in itertools.pairwise(moments):
        level = sum(a <= begin and b >= end for a, b in inside)
        used_s += (end - begin) * (level > 0)
        most = max(most, level)
    assert found["max_contention_level"] == most
    assert found["num_contended_links"] == (SERVERS if most > 1 else 0)
    assert found["mean_contention_level"] == pytest.approx(
        ring_s / used_s if used_s else math.nan, rel=1e-6, nan_ok=True
    )
    # Losses are shares of what was held in the window, as useful work is.
    if result.jobs.is_finished.all() and math.isfinite(float(found["allocation"])):
        parts = ("utilisation", "lost_to_contention", "lost_to_placement")
        assert float(found["allocation"]) == pytest.approx(
            sum(float(found[key]) for key in parts), rel=1e-4, abs=1e-4
        )


@given(jobs, policies, st.integers(1, 19))
def test_what_jobs_held_before_and_after_the_end_of_a_warm_up_is_all(rows, policy, warm_up):
    result = _run(rows, policy)
    if not _counts_any(result, warm_up, None):
        return
    # Up to the warm-up's end jobs held what a tail that ends there counts.
    after = float(result.metric("gpu_hours", warm_up_s=warm_up))
    begin = float(result.trace.submit_s[0]) + warm_up
    before = sum(
        int(mask).bit_count() * _overlap(start / 1e6, end / 1e6, -1.0, begin) / 3_600
        for start, end, mask in zip(
            *(result.intervals[name] for name in ("start_us", "end_us", "mask")), strict=True
        )
    )
    assert before + after == pytest.approx(float(result.metric("gpu_hours")), abs=1e-12)


def test_an_option_that_is_no_time_is_refused():
    result = _run([(0, 1, 1), (5, 1, 1)], "fifo")
    wrong: Any
    for wrong in (-1, math.nan, math.inf):
        with pytest.raises(ValueError, match="warm_up_s"):
            result.summary(warm_up_s=wrong)
        with pytest.raises(ValueError, match="tail_s"):
            result.metric("mean_jct_s", tail_s=wrong)
    for wrong in ("1 d", True, [3]):
        with pytest.raises(TypeError, match="warm_up_s"):
            result.summary(warm_up_s=wrong)
    with pytest.raises(ValueError, match="metric gap: is defined for whole runs only"):
        result.metric("gap", warm_up_s=1)
    with pytest.raises(ValueError, match=r"within 5 s, so none is left without the first 6 s"):
        result.summary(warm_up_s=6)


def test_a_summary_of_a_part_does_not_change_that_of_the_whole():
    result = _run([(0, 9, 4), (2, 3, 4), (5, 1, 6)], "fifo")
    whole = result.summary()
    part = result.summary(warm_up_s=2, tail_s=0)
    assert "window_begin_s" not in whole
    assert "gap" in whole
    assert (part["window_begin_s"], part["window_end_s"], part["num_jobs"]) == (2.0, 5.0, 2)
    # Job 0 holds four of six GPUs all the time, though it is not counted.
    assert part["allocation"] == pytest.approx(4 / 6)
    assert result.summary() == whole
