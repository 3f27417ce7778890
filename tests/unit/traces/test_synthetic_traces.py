"""Generated workloads, against the aggregates that they are calibrated to."""

import dataclasses
import hashlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpusched.base.arrays import nearest_rank
from gpusched.base.labels import Labels
from gpusched.engine.simulation import simulate
from gpusched.model.cluster import Cluster, ServerGroup
from gpusched.traces.generating.synthetic_traces import (
    HOURS,
    PROFILES,
    WEEKDAYS,
    arrivals,
    generate,
    interpolate,
)
from gpusched.traces.reading import read_trace
from gpusched.traces.workload import Trace
from tests.each import each
from tests.examples import examples
from tests.unit.real_data import DATA, needs_real_data

# mean run, median run (seconds), mean GPUs, most GPUs: of GPU jobs, as published.
PUBLISHED = {
    "philly": (18_006, 874, 1.93, 128),
    "helios": (6_652, 206, 3.72, 2_048),
    "acme": (1_414, 122, 5.68, 1_024),
    "pai": (4_787, 481, 1.13, 8),
}
US_PER_DAY = 86_400_000_000
names = st.sampled_from(sorted(PROFILES))


@pytest.mark.parametrize("name", sorted(PUBLISHED))
@pytest.mark.parametrize(
    ("jobs", "seed"), [pytest.param(1_000_000, 0, marks=pytest.mark.long), (20_000, 2)]
)
def test_mean_and_median_run_and_mean_gpus_are_the_published_ones(name, jobs, seed):
    mean, median, gpus, _ = PUBLISHED[name]
    trace = generate(name, jobs, cluster=Cluster.uniform(1_024), seed=seed)
    assert trace.service_s.mean() == pytest.approx(mean, rel=0.05)
    assert nearest_rank(np.sort(trace.service_s), 50) == pytest.approx(median, rel=0.05)
    assert trace.gpus.mean() == pytest.approx(gpus, rel=0.05)
    assert trace.offered_load(8_192) == pytest.approx(0.9, rel=1e-9)
    assert len(trace) == jobs


@needs_real_data
def test_the_itp_targets_are_those_of_its_six_files():
    traces = [read_trace(path) for path in sorted((DATA / "itp").glob("*.csv"))]
    service = np.concatenate([trace.service_s for trace in traces])
    gpus = np.concatenate([trace.gpus for trace in traces])
    profile = PROFILES["itp"]

    assert len(service) == 16_669
    assert profile.mean_s == pytest.approx(service.mean(), rel=1e-6)
    assert profile.median_s == nearest_rank(np.sort(service), 50)
    assert profile.mean_gpus == pytest.approx(gpus.mean(), rel=1e-5)
    assert (profile.floor_s, profile.cap_s) == (service.min(), service.max())
    width, count = np.unique(gpus, return_counts=True)
    assert dict(profile.widths) == pytest.approx(
        dict(zip(width.tolist(), (count / len(gpus)).tolist(), strict=True)), abs=1e-5
    )
    trace = generate("itp", 100_000)
    assert trace.service_s.mean() == pytest.approx(service.mean(), rel=0.05)
    assert nearest_rank(np.sort(trace.service_s), 50) == pytest.approx(7_667, rel=0.05)
    assert trace.gpus.mean() == pytest.approx(gpus.mean(), rel=0.05)


@each("name", sorted(PUBLISHED))
def test_the_widest_job_is_the_published_one_where_the_cluster_has_room(name):
    trace = generate(name, 400_000, cluster=Cluster.uniform(1_024))
    assert (trace.gpus.max(), trace.notes) == (PUBLISHED[name][3], ())


@examples(30)
@given(
    names, st.integers(2, 400), st.floats(0.05, 3), st.integers(0, 2**64), st.sampled_from([1, 2])
)
def test_one_seed_gives_one_workload_with_the_load_asked_for(name, jobs, load, seed, model):
    cluster = Cluster.uniform(4, 8)
    trace = generate(name, jobs, load, cluster, seed, model=model)
    again = generate(name, jobs, load, cluster, seed, model=model)
    assert trace.to_polars().equals(again.to_polars())
    assert len(trace) == jobs
    assert trace.submit_us[0] == 0
    assert trace.gpus.max() <= (32 if model == 1 else 8)
    assert trace.offered_load(32) == pytest.approx(load, rel=1e-6)


def test_seeds_differ():
    first, second = generate("philly", 100, seed=1), generate("philly", 100, seed=2)
    assert first.submit_us.tolist() != second.submit_us.tolist()
    assert first.service_us.tolist() != second.service_us.tolist()
    assert generate("philly", 1).submit_us.tolist() == [0]  # one job is a workload


@each(
    ("servers", "model", "widest", "note"),
    [
        ([(8, 8)], 2, 16, "{} jobs wider than a quarter of the cluster were narrowed to 16 GPUs"),
        ([(8, 8)], 1, 64, "{} jobs wider than the cluster were narrowed to 64 GPUs"),
        ([(6, 8), (50, 2)], 2, 12,
         "{} jobs wider than a quarter of its largest servers were narrowed to 12 GPUs"),
        ([(3, 8), (50, 2)], 2, 8, "{} jobs wider than a server were narrowed to 8 GPUs"),
        ([(3, 8), (50, 2)], 1, 24,
         "{} jobs wider than its largest servers were narrowed to 24 GPUs"),
    ],
)  # fmt: skip
def test_wide_jobs_are_narrowed_and_a_note_says_so(servers, model, widest, note):
    cluster = Cluster(tuple(ServerGroup(*group) for group in servers))
    trace = generate("helios", 10_000, cluster=cluster, model=model)
    asked = generate("helios", 10_000, cluster=Cluster.uniform(1_024)).gpus
    assert trace.gpus.max() == widest
    assert trace.notes == (note.format((asked > widest).sum()),)


# SHA-256 of the columns, as they are for ever.
DIGESTS = {
    ("philly", 1): "f89fbc0d6454f925fb9c9ca1fedf29827673ed31ce2cea57e81aadfc892b5982",
    ("philly", 2): "35c5caaa6cbb27269da07d34fb8c0931a494989edf94a7f0f1b87adba265a5d9",
    ("acme", 1): "b8f3db0558acd570849a46f4de2ce11a7b9c6ca7cda451d55cd2120afdffe13a",
    ("acme", 2): "bd177e425bc01893ffb5c034ddf1d7f995accee005be74f5a5a739543088f775",
}


@each(("name", "model"), sorted(DIGESTS))
def test_a_seed_gives_the_jobs_that_it_always_gave(name, model):
    made = generate(name, 1_000, 0.8, Cluster.uniform(8), 3, model=model)
    columns = (made.submit_us, made.service_us, made.gpus, made.group.codes, made.status.codes)
    digest = hashlib.sha256(b"".join(column.tobytes() for column in columns))
    assert digest.hexdigest() == DIGESTS[name, model]


def test_a_restart_costs_what_the_model_says():
    assert generate("philly", 10, model=1).restart_us is None
    assert set(generate("philly", 10, model=2).restart_us.tolist()) == {60_000_000}


def mean_jcts_h(jobs: int, model: int) -> list[float]:
    """The mean JCT under fifo-skip of each of 16 seeds: narrow jobs, without the first tenth."""
    cluster, means = Cluster.uniform(16), []
    for seed in range(16):
        trace = generate("philly", jobs, 0.8, cluster, seed, model=model).filter("gpus <= 8")
        result = simulate(trace.with_load(0.8, cluster.num_gpus), cluster, policy="fifo-skip")
        means.append(float(result.jobs.jct_s[jobs // 10 :].mean()) / 3_600)
    return sorted(means)


def test_longer_traces_have_the_mean_jct_of_short_ones():
    growth = {}
    for model in (1, 2):
        short, long = mean_jcts_h(8_000, model), mean_jcts_h(32_000, model)
        growth[model] = np.median(long) / np.median(short)
    assert short[0] < np.median(long) < short[-1]  # of model 2
    assert 0.8 < growth[2] < 1.25
    assert growth[1] > 2  # what model 2 is for: without a steady state no length will do
    assert 0.05 < np.std(np.log(short), ddof=1) < 0.15


def test_runs_of_a_group_lie_about_its_date_unless_they_are_heavy():
    trace = generate("philly", 30_000, 0.8, Cluster.uniform(16), seed=1)
    num_days = trace.span_us / US_PER_DAY
    # Days of equally many jobs each, in a ring.
    days = np.arange(len(trace)) / len(trace) * num_days
    light, heavy = [], []
    for group in np.unique(trace.group.codes):
        is_run = trace.group.codes == group
        gpu_days = (trace.gpus * trace.service_us)[is_run].sum() / US_PER_DAY
        gaps = np.diff(np.append(days[is_run], days[is_run][0] + num_days))
        spread = num_days - gaps.max()
        (light if gpu_days <= 4 * 128 / 400 else heavy).append((is_run.sum(), spread))
    assert num_days > 100
    assert len(light) > len(heavy) > 100
    assert max(spread for _, spread in light) < 8  # days are longer where many submit
    assert np.median([spread for runs, spread in light if runs > 10]) < 4
    assert all(spread > 20 for runs, spread in heavy if runs > 10)


def test_outcomes_have_the_published_shares_and_are_left_out_where_there_are_none():
    trace = generate("philly", 100_000)
    share = dict(
        zip(trace.status.names, (trace.status.counts() / len(trace)).tolist(), strict=True)
    )
    assert share["ok"] == pytest.approx(0.604, abs=0.01)
    assert share["killed"] == pytest.approx(0.090, abs=0.01)
    assert share["failed"] == pytest.approx(0.305, abs=0.01)
    assert generate("pai", 100).status is None


def test_a_group_has_one_user_one_width_and_similar_run_times():
    trace = generate("helios", 50_000)
    log_run = np.log(trace.service_s)
    order = np.argsort(trace.group.codes, kind="stable")
    _, start = np.unique(trace.group.codes[order], return_index=True)

    for column in (trace.gpus, trace.user.codes):
        assert (
            np.minimum.reduceat(column[order], start) == np.maximum.reduceat(column[order], start)
        ).all()
    size = np.diff(np.append(start, len(trace)))
    assert len(trace) / len(size) == pytest.approx(20, rel=0.2)
    assert size.max() > 20 * np.median(size)
    mean = np.add.reduceat(log_run[order], start) / size
    within = log_run[order] - np.repeat(mean, size)
    assert within.var() < 0.3 * log_run.var()


def test_few_users_submit_most_jobs():
    trace = generate("philly", 50_000)
    by_user = np.sort(trace.user.counts())[::-1]
    assert by_user[: len(by_user) // 10].sum() > 0.5 * len(trace)


def test_wider_jobs_run_longer_on_average_but_not_always():
    trace = generate("philly", 50_000)
    rank_run, rank_width = (np.argsort(np.argsort(c)) for c in (trace.service_s, trace.gpus))
    correlation = np.corrcoef(rank_run, rank_width)[0, 1]
    assert 0.02 < correlation < 0.4


def test_run_times_are_heavy_tailed():
    service = np.sort(generate("philly", 100_000).service_s)
    longest_percent = service[-1_000:].sum() / service.sum()
    assert longest_percent > 0.3
    assert service[-1] > 10 * nearest_rank(service, 95)


def test_arrivals_follow_the_day_and_the_week():
    week_us = 7 * 24 * 3_600_000_000
    uniform = np.random.Generator(np.random.PCG64(1)).random(200_000)
    ticks = arrivals(uniform, 10 * week_us)
    assert (ticks[0], ticks[-1]) == (0, 10 * week_us)
    assert (np.diff(ticks) >= 0).all()
    hour = ticks[:-1] // 3_600_000_000 % (7 * 24)
    expected = np.outer(WEEKDAYS, HOURS).ravel()
    seen = np.bincount(hour, minlength=7 * 24)
    assert seen / len(hour) == pytest.approx(expected / expected.sum(), rel=0.15)


def test_interpolation_agrees_with_that_of_numpy():
    x = np.array([0.0, 1, 1, 4])
    y = np.array([2.0, 3, 5, 6])
    at = np.linspace(0, 4, 41)
    assert interpolate(x, y, at) == pytest.approx(np.interp(at, x, y))


@each(
    ("arguments", "error", "message"),
    [
        (("phily", 10), ValueError, r"unknown workload 'phily'; did you mean 'philly'\?"),
        (("philly", 0), ValueError, "jobs: 0 must be at least 1"),
        (("philly", 2**31), ValueError, f"jobs: {2**31} must be at least 1"),
        (("philly", 10, 0), ValueError, "load: 0 must be finite and positive"),
        (("philly", 10, float("nan")), ValueError, "load: nan must be finite and positive"),
        (("philly", 10, float("inf")), ValueError, "load: inf must be finite and positive"),
        (("philly", 10, 1e-300), ValueError, "would need all arrivals within"),
        (("philly", 10, 1e300), ValueError, "would need all arrivals within"),
        (("philly", 1e3), TypeError, r"jobs: 1000\.0 must be an integer"),
        (("philly", 10, 0.9, None, None), TypeError, "seed: None must be an integer"),
        (("philly", 10, "0.9"), TypeError, r"load: '0\.9' must be a number"),
    ],
)
def test_what_cannot_be_generated_is_named(arguments, error, message):
    with pytest.raises(error, match=message):
        generate(*arguments)
    with pytest.raises(ValueError, match="model: 3 must be at least 1 and at most 2"):
        generate("philly", 10, model=3)


@given(names, st.integers(1, 60), st.sampled_from([1e-6, 0.5, 3.0]), st.integers(0, 50))
def test_generated_jobs_are_what_checked_columns_of_them_would_be(name, jobs, load, seed):
    made = generate(name, jobs, load, Cluster.uniform(servers=2, gpus=8), seed)
    read = Trace.from_columns(
        submit_s=made.submit_s,
        service_s=made.service_s,
        gpus=made.gpus,
        restart_s=np.full(jobs, 60.0),
        **{column: getattr(made, column) for column in ("user", "queue", "group", "status")},
        name=name,
    )
    for field in dataclasses.fields(made):
        ours, theirs = getattr(made, field.name), getattr(read, field.name)
        if isinstance(ours, np.ndarray):
            assert ours.dtype == theirs.dtype, field.name
            assert ours.tolist() == theirs.tolist(), field.name
            assert not ours.flags.writeable, field.name
        elif isinstance(ours, Labels):
            assert (ours.codes.tolist(), ours.names) == (theirs.codes.tolist(), theirs.names)
        elif field.name not in ("source", "notes"):
            assert ours == theirs, field.name
