"""One run: what goes in, what comes out, what is shown on the way. Small schedules by hand."""

from __future__ import annotations

import threading
import time
from typing import Any

import numpy as np
import pytest

import gpusched as gs
from tests.each import each

ONE_GPU = gs.Cluster.uniform(1, 1)
FOUR_GPUS = gs.Cluster.uniform(1, 4)
TWO_SERVERS = gs.Cluster.uniform(2, 4)

# EASY's own example: the third job may pass the second as long as it does not delay it.
BACKFILL = {"submit_s": [0, 1, 2], "service_s": [10, 10, 8], "gpus": [3, 4, 1]}


def starts(
    policy: Any, cluster: gs.Cluster, placement: Any = "consolidated", **columns: Any
) -> Any:
    """Start times in whole seconds, -1 for a job that never starts."""
    result = gs.simulate(
        gs.Trace.from_columns(**columns), cluster, policy=policy, placement=placement
    )
    result.audit().raise_if_bad()
    return [-1 if np.isnan(start) else round(start) for start in result.jobs.start_s]


@each("placement", ["count", "consolidated", "first-fit", "spread"])
@each(
    ("policy", "service_s", "expected"),
    [
        ("fifo", [10, 10, 8], [0, 10, 20]),
        ("fifo-skip", [10, 10, 8], [0, 10, 2]),
        ("fifo-skip", [10, 10, 9], [0, 11, 2]),  # the third job delays the second
        ("easy", [10, 10, 8], [0, 10, 2]),
        ("easy", [10, 10, 9], [0, 10, 20]),
        ("conservative", [10, 10, 8], [0, 10, 2]),
        ("conservative", [10, 10, 9], [0, 10, 20]),
        ("sjf", [10, 10, 9], [0, 11, 2]),
        ("sjf:scan=strict", [10, 9, 10], [0, 10, 19]),
        ("sgf:scan=strict", [10, 10, 9], [0, 11, 2]),
    ],
)
def test_backfilling_by_hand(policy, service_s, expected, placement):
    columns = BACKFILL | {"service_s": service_s}
    assert starts(policy, FOUR_GPUS, placement, **columns) == expected


@each(
    ("policy", "expected"),
    [
        # (submit, service): (0, 10), (2, 4), (4, 1) on one GPU
        ("fifo", [10, 14, 15]),
        ("sjf", [10, 15, 11]),
        ("srtf", [15, 7, 5]),  # the third runs inside the second, both inside the first
        ("srtf:cost_s=1", [17, 8, 5]),  # 5-6 and 8-9 go by without progress
        ("srtf:cost_s=1,restart=work", [17, 8, 5]),
        ("las:period_s=1", [15, 9, 5]),  # from 5 s on the first two take turns
    ],
)
def test_preemption_by_hand(policy, expected):
    jobs = gs.Trace.from_columns([0, 2, 4], [10, 4, 1], [1, 1, 1])
    result = gs.simulate(jobs, ONE_GPU, policy=policy)
    result.audit().raise_if_bad()
    assert result.jobs.finish_s.tolist() == expected


def test_a_gang_waits_for_whole_servers_where_it_must_be_consolidated():
    columns = {"submit_s": [0, 0, 1], "service_s": [10, 4, 5], "gpus": [3, 3, 2]}
    assert starts("fifo", TWO_SERVERS, "consolidated", **columns) == [0, 0, 4]
    assert starts("fifo", TWO_SERVERS, "first-fit", **columns) == [0, 0, 1]
    assert starts("fifo", TWO_SERVERS, "count", **columns) == [0, 0, 1]


def test_a_job_keeps_to_the_types_it_allows():
    cluster = gs.Cluster((gs.ServerGroup(1, 2, "K80"), gs.ServerGroup(1, 2, "V100")))
    columns = {"submit_s": [0, 1, 2], "service_s": [5, 5, 5], "gpus": [2, 2, 2]}
    types = ["V100", "V100", "K80|V100"]
    assert starts("fifo-skip", cluster, **columns, gpu_types=types) == [0, 5, 2]
    assert starts("fifo-skip", cluster, **columns, gpu_types=["T4", "", "T4"]) == [-1, 1, -1]


def test_estimates_decide_only_where_they_are_asked_for():
    columns = {"submit_s": [0, 0, 0], "service_s": [3, 2, 1], "gpus": [1, 1, 1]}
    jobs = gs.Trace.from_columns(**columns, estimate_s=[1, 2, 3])
    truth = gs.simulate(jobs, ONE_GPU, policy="sjf")
    assert truth.jobs.start_s.tolist() == [3, 1, 0]
    estimated = gs.simulate(jobs, ONE_GPU, policy="sjf", predictor="estimate")
    assert estimated.jobs.start_s.tolist() == [0, 3, 5]


# What a run says of itself.


def test_a_result_holds_what_led_to_it():
    jobs = gs.Trace.from_columns([0, 1], [5, 5], [1, 1], name="two jobs")
    result = gs.simulate(jobs, ONE_GPU, policy="2d-las:preset=lucid", placement="count", seed=9)
    assert result.trace is jobs
    assert result.cluster is ONE_GPU
    spec = result.spec
    assert (spec.policy, spec.placement) == ("2d-las:preset=lucid", "count")
    assert (spec.predictor, spec.seed, spec.cluster) == ("oracle", 9, ONE_GPU)
    assert (spec.trace.name, spec.trace.num_jobs) == ("two jobs", 2)
    assert spec.version == gs.__version__
    assert result.wall_s > 0
    assert result.jobs_per_s == 2 / result.wall_s


@pytest.mark.parametrize(
    ("policy", "label"),
    [
        ("fifo", "fifo"),
        (" fifo: scan=strict", "fifo:scan=strict"),
        (gs.Policy("srtf", cost_s=3), "srtf:cost_s=3"),
        (gs.Policy("2d-las", limits=[5, 6]), "2d-las:limits=5/6"),
    ],
)
def test_a_policy_is_recorded_by_its_canonical_text(policy, label):
    result = gs.simulate(gs.Trace.from_columns([0], [5], [1]), ONE_GPU, policy=policy)
    assert result.spec.policy == label
    assert result.summary()["policy"] == label


def test_an_instance_is_recorded_by_its_class():
    class Mine(gs.Order):
        """A comment."""

        def rank(self, view: Any, jobs: Any) -> Any:
            return view.submit_us[jobs]

    class Where(gs.Placement):
        """A comment."""

        def place(self, free: Any, request: Any) -> Any:
            return [(0, free.lowest_free(0, 1))] if free.free_gpus[0] else None

    jobs = gs.Trace.from_columns([0, 1], [5, 5], [1, 1])
    spec = gs.simulate(jobs, ONE_GPU, policy=Mine(), placement=Where()).spec
    assert spec.policy.startswith("python:")
    assert spec.policy.endswith("Mine")
    assert spec.placement.endswith("Where")


@each("seed", [0, 1, 2**63, 2**64 - 1, np.int64(7), np.uint64(2**64 - 1)])
def test_a_seed_is_any_64_bits(seed):
    jobs = gs.Trace.from_columns([0] * 9, [5] * 9, [1] * 9)
    result = gs.simulate(jobs, ONE_GPU, policy="random", seed=seed)
    assert result.spec.seed == int(seed)
    assert type(result.spec.seed) is int


def test_the_seed_of_a_run_reaches_both_seams():
    jobs = gs.Trace.from_columns([0] * 9, [5] * 9, [1] * 9)
    digests = {
        gs.simulate(jobs, TWO_SERVERS, policy=policy, placement=placement, seed=seed).digest
        for seed in (1, 2)
        for policy, placement in (("random", "count"), ("fifo", "random"))
    }
    assert len(digests) == 4


@each(
    ("policy", "predictor", "has_estimates", "sees_truth"),
    [
        ("fifo", "oracle", False, False),
        ("sjf", "oracle", False, True),
        ("sjf", "oracle", True, True),
        ("sjf", "estimate", True, False),
        ("srtf", "oracle", False, True),
        ("las", "oracle", False, False),
        ("easy", "oracle", False, True),
        ("easy", "oracle", True, False),
        ("easy", "estimate", True, False),
        ("serverfilling-srpt", "oracle", True, True),
    ],
)
def test_a_run_that_saw_the_truth_is_marked(policy, predictor, has_estimates, sees_truth):
    columns = {"estimate_s": [7, 7]} if has_estimates else {}
    jobs = gs.Trace.from_columns([0, 1], [5, 5], [1, 1], **columns)
    result = gs.simulate(jobs, ONE_GPU, policy=policy, predictor=predictor)
    assert result.clairvoyant is sees_truth
    assert result.summary()["clairvoyant"] is sees_truth


def test_a_warning_counts_the_widths_that_serverfilling_cannot_fill_exactly():
    jobs = gs.Trace.from_columns([0] * 4, [5] * 4, [1, 2, 3, 4])
    (warning,) = gs.simulate(jobs, FOUR_GPUS, policy="serverfilling-srpt").warnings
    assert warning.startswith("1 job")
    exact = gs.Trace.from_columns([0] * 3, [5] * 3, [1, 2, 4])
    assert not gs.simulate(exact, FOUR_GPUS, policy="serverfilling-srpt").warnings


def test_a_trace_may_be_simulated_as_often_as_one_likes():
    jobs = gs.Trace.from_columns([0, 1, 2], [5, 5, 5], [1, 1, 1])
    columns = (jobs.submit_us.tolist(), jobs.service_us.tolist(), jobs.gpus.tolist())
    digests = {gs.simulate(jobs, ONE_GPU, policy="srtf").digest for _ in range(5)}
    assert len(digests) == 1
    assert columns == (jobs.submit_us.tolist(), jobs.service_us.tolist(), jobs.gpus.tolist())


# Progress, and stops.


def long_run() -> tuple[gs.Trace, gs.Cluster]:
    """Two jobs that take turns each minute for a month of Sundays, behind many short ones."""
    num_short = 5_000
    submit = np.concatenate([np.arange(num_short), [num_short, num_short]])
    service = np.concatenate([np.ones(num_short), [1e9, 1e9]])
    return gs.Trace.from_columns(submit, service, np.ones(num_short + 2)), ONE_GPU


def test_progress_is_shown_while_a_run_goes_on():
    seen: list[tuple[int, int]] = []
    stop = threading.Event()

    def progress(now: gs.Progress) -> None:
        seen.append((now.done, now.total))
        if len(seen) == 4:
            stop.set()

    started = time.monotonic()
    with pytest.raises(gs.Cancelled):
        gs.simulate(*long_run(), policy="las", progress=progress, stop=stop)
    seconds = time.monotonic() - started
    assert seen[:4] == sorted(seen[:4])
    assert {total for _, total in seen} == {5_002}
    assert seen[-1][0] == 5_000
    assert 0.3 < seconds < 6  # about ten times a second


def test_progress_ends_with_all_jobs():
    seen: list[tuple[int, int]] = []
    jobs = gs.Trace.from_columns([0, 1], [5, 5], [1, 1])
    gs.simulate(jobs, ONE_GPU, progress=lambda now: seen.append((now.done, now.total)))
    assert seen[-1] == (2, 2)


@pytest.mark.parametrize("in_main_thread", [True, False])
def test_a_stop_ends_a_run_in_any_thread(in_main_thread):
    stop = threading.Event()
    ended: list[str] = []

    def run() -> None:
        try:
            gs.simulate(*long_run(), policy="las", stop=stop)
        except gs.Cancelled:
            ended.append("stopped")

    threading.Timer(0.2, stop.set).start()
    started = time.monotonic()
    if in_main_thread:
        run()
    else:
        thread = threading.Thread(target=run)
        thread.start()
        thread.join(timeout=20)
    assert ended == ["stopped"]
    assert time.monotonic() - started < 6


def test_a_run_leaves_no_thread_behind():
    jobs = gs.Trace.from_columns([0, 1], [5, 5], [1, 1])
    before = threading.active_count()
    for _ in range(5):
        gs.simulate(jobs, ONE_GPU, progress=lambda now: None)
    assert threading.active_count() == before
