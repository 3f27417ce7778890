"""When a job that waits starts: draws, samples, alternatives, and forecasts against the run."""

import dataclasses
from typing import Any

import numpy as np
import pytest

import gpusched as gs
from bench.start_calibration import held_out, main
from gpusched.online.starting import (
    LEAST,
    ArrivalDraws,
    KnownPast,
    ServiceDraws,
    StartCalibration,
    calibrate_starts,
    stretch_factors,
    stretched,
    width_classes,
)
from tests.each import each

CLUSTER = gs.Cluster.uniform(servers=2, gpus=8)
NAN = float("nan")
PAST = gs.generate("philly", 800, load=0.9, cluster=CLUSTER, seed=1, model=1)


def past_of(finished: gs.Trace) -> KnownPast:
    waits = gs.online.ClusterState(CLUSTER, gs.Trace.from_columns([0], [1], [1]), 0)
    return KnownPast.of_log(finished, waits)


def state(**changed: Any) -> gs.online.ClusterState:
    jobs = gs.Trace.from_columns(
        [0, 10, 20], [3600, 60, 100], [8, 16, 8], id=["runs", "wide", "late"]
    )
    columns = {
        "start_s": [0, NAN, NAN], "held_job": [0], "held_server": [1], "held_mask": [0xFF],
    }  # fmt: skip
    return gs.online.ClusterState(CLUSTER, jobs, **{"now_s": 1800, **columns, **changed})


def test_without_a_history_every_job_takes_as_long_as_the_state_says():
    found = gs.when(1, state())
    assert not found.is_sampled
    assert found.start_s.tolist() == [3600]
    assert found.quantile_s.tolist() == [3600] * 5
    assert found.servers.tolist() == [0, 1]
    assert found.share.tolist() == [1, 1]
    assert gs.when(2, state()).median_s == 3660
    assert gs.when(2, state(), policy="fifo-skip").median_s == 1800


@each("policy", ["fifo", "easy", "sjf", "srtf"])
def test_all_jobs_together_start_as_each_asked_alone(policy):
    options: dict[str, Any] = {"policy": policy, "history": PAST, "samples": 40}
    every = gs.online.when_all(state(), **options)
    assert [found.job for found in every] == [1, 2]
    for found in every:
        alone = gs.when(found.job, state(), alternatives=False, **options)
        assert found.start_s.tolist() == alone.start_s.tolist()
        assert found.servers.tolist() == alone.servers.tolist()
        assert (found.id, found.is_sampled) == (alone.id, True)
    assert not gs.online.when_all(gs.online.ClusterState(CLUSTER, None, 0))
    run = gs.Simulation(PAST, CLUSTER, policy=policy)
    run.run_until(PAST.submit_s[400])
    waiting = run.state.waiting.tolist()
    assert [found.job for found in gs.online.when_all(run, samples=5)] == sorted(waiting)


def test_servers_are_called_what_the_cluster_calls_them():
    named = tuple(gs.online.cluster_state.NamedServer(name, tuple(range(8))) for name in ("x", "y"))
    found = gs.when(1, state(servers=named))
    assert found.likeliest == (("x", 1.0), ("y", 1.0))
    assert found.to_dict()["servers"][0] == {"server": 0, "name": "x", "share": 1.0}
    assert "most likely on server x (100%), y (100%)" in str(found)


def test_alternatives_are_run():
    found = {each.what: each for each in gs.when(1, state()).alternatives}
    assert list(found) == ["8 GPUs", "4 GPUs", "placement best-fit", "one more server"]
    for what in ("8 GPUs", "4 GPUs", "one more server"):
        assert found[what].start_s == 1800
        assert found[what].sooner_s == 1800
        assert found[what].share_sooner == 1
    assert found["placement best-fit"].sooner_s == 0
    assert not gs.when(1, state(), alternatives=False).alternatives


def test_an_alternative_that_is_no_earlier_has_its_share_unless_that_is_none():
    found = gs.when(1, state())
    assert str(found).splitlines()[-2] == "with placement best-fit: no earlier start"
    each = dataclasses.replace(found.alternatives[2], share_sooner=0.25)
    some = dataclasses.replace(found, alternatives=(each,))
    assert str(some).endswith(
        "with placement best-fit: no earlier start (earlier in 25% of samples)"
    )


@pytest.mark.parametrize("placement", ["best-fit", "gpu-packing", "consolidated"])
def test_jobs_that_ask_for_shares_and_cpu_have_alternatives_that_know_these(placement):
    jobs = gs.Trace.from_columns(
        [0, 1, 2], [60, 60, 60], [1, 16, 1], gpu_share=[0.5, 1, 0.25], cpu=[1, 0, 2]
    )
    found = gs.when(1, gs.online.ClusterState(CLUSTER, jobs, 5), placement=placement)
    assert found.median_s >= 5
    assert found.alternatives


def test_samples_draw_what_is_left_from_the_past():
    found = gs.when(1, state(), history=PAST, samples=400, alternatives=False)
    assert found.is_sampled
    assert len(found.start_s) == 400
    assert (np.diff(found.start_s) >= 0).all()
    assert (found.start_s > 1800).all()
    longer = PAST.service_s[(width_classes(PAST.gpus) == 3) & (PAST.service_s > 1800)]
    assert len(longer) >= LEAST
    assert set(found.start_s) <= set(longer)  # it began at 0
    assert abs(found.median_s - np.median(longer)) < np.ptp(longer) / 4


def test_equal_arguments_give_equal_samples_whatever_the_threads():
    several = [
        gs.when(2, state(), history=PAST, samples=60, seed=seed, threads=threads)
        for seed, threads in ((5, 1), (5, 3), (6, 3))
    ]
    assert several[0].start_s.tolist() == several[1].start_s.tolist()
    assert several[0].to_dict() == several[1].to_dict()
    assert several[0].start_s.tolist() != several[2].start_s.tolist()


def test_a_job_that_never_starts_is_told_of():
    jobs = gs.Trace.from_columns([0, 1], [60, 60], [8, 17])
    found = gs.when(1, gs.online.ClusterState(CLUSTER, jobs, 5))
    assert found.share_never == 1
    assert found.median_s == float("inf")
    assert found.to_dict()["start_s"]["p50"] is None
    assert "never" in str(found)
    more = {each.what: each.start_s for each in found.alternatives}
    assert more["one more server"] == 65  # when the first has ended


def test_an_open_run_is_asked_by_the_rows_of_its_trace():
    jobs = gs.generate("philly", 400, load=1.4, cluster=CLUSTER, seed=2)
    run = gs.Simulation(jobs, CLUSTER, policy="fifo-skip", placement="first-fit")
    while run.state.num_waiting < 10:
        run.step()
    before = run.state.waiting.tolist()
    job = before[-1]
    found = gs.when(job, run, samples=50)
    assert (found.job, found.id, found.is_sampled) == (job, jobs.id[job], True)
    assert run.state.waiting.tolist() == before
    with pytest.raises(ValueError, match="must be a waiting job"):
        gs.when(int(run.state.running[0]), run)


def test_the_true_run_is_what_a_sample_would_be():
    jobs = gs.generate("philly", 300, load=1.2, cluster=CLUSTER, seed=3)
    for policy in ("fifo", "easy", "fifo-skip"):
        run = gs.Simulation(jobs, CLUSTER, policy=policy)
        while run.state.num_waiting < 5:
            run.step()
        state = gs.online.ClusterState.of(run)
        waiting = run.state.waiting.tolist()
        live = np.sort(np.concatenate([run.state.waiting, run.state.running])).tolist()
        # Later jobs do not matter to the first.
        start_s = gs.when(live.index(waiting[0]), state, policy=policy).median_s
        run.run()
        assert start_s == run.result().schedule.start_us[waiting[0]] / 1e6


@each("attained_s", [0, 10, 1000, 10**5, 10**7, 10**9])
@each("gpus", [1, 3, 64])
def test_draws_are_longer_than_what_a_job_has_had(attained_s, gpus):
    draws = ServiceDraws(past_of(PAST))
    numbers = np.linspace(0, 2**53 - 1, 500).astype(np.int64)
    drawn = draws.draw(gpus, attained_s * 10**6, numbers)
    assert drawn.dtype == np.int64
    assert (drawn > attained_s * 10**6).all()
    own = PAST.service_us[width_classes(PAST.gpus) == width_classes(np.array([gpus]))[0]]
    longer = own[own > attained_s * 10**6]
    if len(longer) >= LEAST:
        assert set(drawn.tolist()) <= set(longer.tolist())


def test_one_finished_job_is_enough_to_draw_from():
    draws = ServiceDraws(past_of(PAST.head(1)))
    assert (draws.draw(1, 0, np.array([0, 2**52, 2**53 - 1])) > 0).all()


@each(
    ("options", "error", "message"),
    [
        ({"samples": 0}, ValueError, "samples"),
        ({"samples": 2.0}, TypeError, "samples"),
        ({"threads": 0}, ValueError, "threads"),
        ({"quantiles": [0.5, 1.5]}, ValueError, "quantiles: 1.5"),
        ({"quantiles": []}, ValueError, "quantiles: at least one"),
        ({"policy": "conservative"}, ValueError, "conservative.*keeps more than the state"),
        ({"seed": -1}, ValueError, "seed"),
    ],
)
def test_bad_arguments(options, error, message):
    with pytest.raises(error, match=message):
        gs.when(1, state(), **options)


def test_only_jobs_that_wait_start():
    with pytest.raises(ValueError, match="row 0 is already running"):
        gs.when(0, state())
    with pytest.raises(ValueError, match="job"):
        gs.when(3, state())
    with pytest.raises(TypeError, match="ClusterState or a Simulation"):
        gs.when(0, PAST)


def test_nobody_to_ask_for_is_said_in_words():
    with pytest.raises(ValueError, match=r"^jobs: the state has no jobs$"):
        gs.when(0, gs.deciding.ClusterState(gs.Cluster.uniform(1), None, 0))


def test_jobs_that_still_run_make_draws_longer_as_kaplan_and_meier_weigh_them():
    # Deaths at 1, 2 and 4, and one who left alive at 3: 1/4, 1/4 and 1/2.
    seconds, ended = np.array([1, 2, 3, 4]), np.array([True, True, False, True])
    repeated = np.repeat(seconds, LEAST) * 10**6 + np.tile(np.arange(LEAST), 4)
    jobs = gs.Trace.from_columns(np.arange(4 * LEAST), repeated / 1e6, np.ones(4 * LEAST, int))
    past = KnownPast(jobs, jobs.gpus, jobs.service_us, np.repeat(ended, LEAST), None)
    numbers = ((np.arange(8000) + 0.5) / 8000 * 2**53).astype(np.int64)
    # Waves are too small here for draws of their own, but for those of one kind.
    drawn = ServiceDraws(past)._from_all(None, 0, numbers * 2.0**-53) // 10**6
    shares = [float((drawn == second).mean()) for second in seconds]
    assert shares == pytest.approx([0.25, 0.25, 0, 0.5], abs=0.01)


def test_what_is_told_of_run_times_is_as_wrong_as_it_was_for_those_told_alike():
    told = np.exp(np.random.default_rng(1).normal(8, 1, 400))
    jobs = gs.Trace.from_columns(np.arange(400), 2 * told, np.ones(400, int), predicted_s=told)
    draws = ServiceDraws(past_of(jobs))
    numbers = np.arange(0, 2**53, 2**50)
    drawn = draws.draw(1, 0, numbers, told_us=500 * 10**6)
    assert np.allclose(drawn, 1000 * 10**6, rtol=1e-6)
    assert (draws.draw(1, 2000 * 10**6, numbers, told_us=500 * 10**6) > 2000 * 10**6).all()


def test_submissions_of_the_past_come_again_in_their_order_and_with_their_gaps():
    past = past_of(PAST)
    arrivals = ArrivalDraws(past, ServiceDraws(past), np.random.default_rng(0))
    begin = int(arrivals.begins(np.array([2**52]))[0])
    rows, after = arrivals.until(begin, 2 * arrivals.span_us)
    assert len(rows) == 2 * len(arrivals.jobs)
    assert (np.diff(after) >= 0).all()
    assert after[0] >= 0
    assert after[-1] < 2 * arrivals.span_us
    assert ((begin + after) % arrivals.span_us == arrivals.at_us[rows]).all()
    few, _ = arrivals.until(begin, arrivals.span_us // 3)
    assert few.tolist() == rows[: len(few)].tolist()


def test_who_is_still_to_come_overtakes_under_policies_that_let_them():
    # A job of 16 GPUs waits for all of them while small ones come without an end.
    submit_s = np.arange(2000) * 60.0
    small = gs.Trace.from_columns(submit_s, np.full(2000, 240.0), np.full(2000, 4))
    found = {
        policy: gs.when(1, state(), policy=policy, history=small, samples=8, alternatives=False)
        for policy in ("fifo", "fifo-skip")
    }
    assert found["fifo"].median_s < 40_000
    assert found["fifo-skip"].median_s > 10 * found["fifo"].median_s
    alone = gs.when(
        1, state(), policy="fifo-skip", history=small, samples=8, alternatives=False, arrivals=False
    )
    assert alone.median_s < 2 * found["fifo"].median_s


@each("policy", ["las", "llf", "2d-las:limits=20/50", "srtf"])
def test_an_open_run_is_asked_about_the_decisions_that_it_will_take(policy):
    jobs = gs.Trace.from_columns([0, 1, 3], [100, 100, 30], [1, 1, 1], deadline_s=[400, 300, 900])
    run = gs.Simulation(jobs, gs.Cluster.uniform(1, 1), policy=policy, placement="first-fit")
    run.run_until(16)
    rest = run.fork()
    rest.run()
    intervals = rest.result().intervals
    for job in run.state.waiting.tolist():
        starts = intervals["start_us"][intervals["job"] == job]
        found = gs.when(job, run, arrivals=False, alternatives=False)
        assert found.median_s == starts[starts >= 16_000_000].min() / 1e6


def test_shares_count_who_had_started_by_each_quantile():
    found = StartCalibration(
        (0.1, 0.5, 0.9),
        np.arange(4.0),
        np.array([1.0, 5.0, 9.0, 20.0]),
        np.array([[1.0, 5.0, 10.0]] * 4),
    )
    assert found.share.tolist() == [0.25, 0.5, 0.75]
    assert found.share_within == 0.75
    assert found.median_error_s == 4.0
    assert "started by the 50% quantile: 50%" in str(found)


@pytest.mark.long
def test_jobs_whose_run_times_are_drawn_alike_start_as_forecast():
    rng = np.random.default_rng(3)
    count = 4000
    trace = gs.Trace.from_columns(
        np.cumsum(rng.exponential(62.0, count)), rng.exponential(3600, count) + 1, [8] * count
    )
    # 58 servers at a load of about 1: always somebody waits, and nobody passes another.
    cluster = gs.Cluster.uniform(57, 8)
    found = calibrate_starts(trace, cluster, weeks=0.2, questions=60, samples=64, seed=1)
    assert len(found.wait_s) == 60
    assert (np.abs(found.share - found.quantiles) < 0.25).all()


def test_it_is_a_command(tmp_path, capsys):
    jobs = gs.generate("philly", 600, load=1.3, cluster=gs.Cluster.uniform(2, 8), seed=1)
    path = tmp_path / "jobs.csv"
    jobs.to_polars()["submit_s", "service_s", "gpus"].write_csv(path)
    days = jobs.submit_s[-1] / 86_400
    weeks = ["--weeks", str(days / 14), "--before", str(days / 14)]
    options = ["--servers", "2", "--questions", "80", "--samples", "8", "--policy", "fifo-skip"]
    assert main([str(path), str(path), *options, *weeks]) == 0
    rows = capsys.readouterr().out.splitlines()
    assert [row.split(" | ")[:3] for row in rows[2:]] == [
        ["| jobs", "2", "`fifo-skip`"], ["| jobs", "2", "`fifo-skip`"], ["| all", "", "`fifo-skip`"]
    ]  # fmt: skip


def test_where_nobody_waits_nothing_is_asked():
    jobs = gs.Trace.from_columns([0, 10], [1, 1], [1, 1])
    with pytest.raises(ValueError, match="no job waits"):
        calibrate_starts(jobs, gs.Cluster.uniform(2, 8), questions=3)


QUANTILES = (0.05, 0.5, 0.95)


def late(count: int, seed: int) -> StartCalibration:
    """Return forecasts that are right but for a factor of three."""
    rng = np.random.default_rng(seed)
    scale_s = rng.uniform(1e4, 1e6, count)
    spread = np.quantile(rng.lognormal(size=100_000), QUANTILES)
    wait_s = 3 * scale_s * rng.lognormal(size=count)
    asked_s = np.sort(rng.uniform(0, 6 * 7 * 86_400.0, count))
    return StartCalibration(QUANTILES, asked_s, wait_s, scale_s[:, None] * spread)


def test_corrected_forecasts_hold_what_they_say_on_questions_they_have_not_seen():
    earlier, later = late(400, 1), late(2000, 2)
    assert later.share_within < 0.8
    found = stretched(later.forecast_s, earlier.factors())
    within = (later.wait_s >= found[:, 0]) & (later.wait_s <= found[:, -1])
    assert 0.86 < within.mean() < 0.95
    assert abs((later.wait_s <= found[:, 1]).mean() - 0.5) < 0.06


def test_held_out_weeks_are_corrected_by_the_weeks_before_each():
    asked = late(600, 3)
    raw, made = held_out(asked, 2)
    assert (
        len(raw.wait_s)
        == len(made.wait_s)
        == (asked.asked_s >= asked.asked_s[-1] - 14 * 86_400).sum()
    )
    assert raw.share_within < 0.8 < made.share_within
    week_s, begin_s = 7 * 86_400, float(asked.asked_s[-1]) - 14 * 86_400
    # What comes after its beginning changes nothing of a week.
    cut = asked.asked_s < begin_s + week_s
    short = StartCalibration(
        QUANTILES, asked.asked_s[cut], asked.wait_s[cut], asked.forecast_s[cut]
    )
    assert short.factors(begin_s).tolist() == asked.factors(begin_s).tolist()
    changed = asked.wait_s.copy()
    changed[asked.asked_s >= begin_s] *= 7
    other = StartCalibration(QUANTILES, asked.asked_s, changed, asked.forecast_s)
    assert other.factors(begin_s).tolist() == asked.factors(begin_s).tolist()


def test_who_still_waits_counts_for_as_long_as_was_known():
    waits = np.array([1e4] * 6 + [1e5] * 6)
    asked = StartCalibration((0.5,), np.zeros(12), waits, np.full((12, 1), 1e4))
    assert asked.factors(2e4)[0] > 1  # at which half of them wait, and longer than they did so far
    assert asked.factors(5e5)[0] == pytest.approx((1e5 + 600) / (1e4 + 600))


def test_a_few_questions_correct_nothing():
    over = np.ones(3, np.bool_)
    assert stretch_factors((0.5,), np.ones(3), over, np.ones((3, 1))).tolist() == [1]


def test_a_forecast_is_corrected_by_a_calibration_of_its_quantiles():
    cluster = gs.Cluster.uniform(2, 8)
    jobs = gs.generate("philly", 400, load=1.4, cluster=cluster, seed=2)
    run = gs.Simulation(jobs, cluster, policy="fifo")
    while run.state.num_waiting < 10:
        run.step()
    job, calibration = int(run.state.waiting[-1]), late(100, 4)
    plain = gs.when(job, run, samples=40, alternatives=False, quantiles=QUANTILES)
    found = gs.when(job, run, samples=40, alternatives=False, calibration=calibration)
    assert found.start_s.tolist() == plain.start_s.tolist()
    wait_s = stretched(plain.quantile_s - run.now, calibration.factors())
    assert found.quantile_s.tolist() == (run.now + wait_s).tolist()
    with pytest.raises(ValueError, match="must be those of the calibration"):
        gs.when(job, run, quantiles=(0.5,), calibration=calibration)
