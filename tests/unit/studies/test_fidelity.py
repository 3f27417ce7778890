"""How near simulated base cases come to what happened, at sites whose policy is known."""

import dataclasses
import json
import pickle
import threading
import warnings
from typing import Any

import numpy as np
import pytest

import gpusched as gs
from gpusched.studies.fidelity_grades import PLACEMENTS, POLICIES
from tests.unit.studies.site_logs import SITE, jobs, logged, with_waits

pytestmark = pytest.mark.long

NAMES = [candidate.policy for candidate in POLICIES]


@pytest.fixture(scope="module")
def site() -> gs.Trace:
    return logged(jobs(0), policy="easy")


@pytest.fixture(scope="module")
def found(site: gs.Trace) -> gs.studies.Fidelity:
    return gs.fidelity(site)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("placement", PLACEMENTS)
@pytest.mark.parametrize("policy", NAMES)
def test_the_policy_the_placement_and_the_capacity_of_a_site_are_found(policy, placement, seed):
    found = gs.fidelity(logged(jobs(seed), policy=policy, placement=placement))
    best, second = found.cases[:2]
    assert (best.policy, best.placement, best.cluster) == (policy, placement, SITE)
    assert best.likeness.ks == 0
    assert best.likeness.rank_correlation == 1
    assert best.likeness.mean_wait_factor == 1
    assert best.likeness.allocation_error == 0
    assert best.likeness.unexplained == 0
    assert best.likeness.distance == 0 < second.likeness.distance
    assert found.grade.letter == "A" < second.grade.letter
    assert found.peak_gpus <= SITE.num_gpus


@pytest.mark.parametrize("servers", [4, 5, 9])
def test_sites_of_other_sizes_and_servers_are_found(servers):
    cluster = gs.Cluster.uniform(servers, 4)
    site = logged(jobs(1, load=1.0).with_load(1.0, 4 * servers), cluster, policy="fifo-skip")
    found = gs.fidelity(site, gpus_per_server=4)
    assert found.best.policy == "fifo-skip"
    assert found.best.cluster == cluster
    assert found.grade.letter == "A"


@pytest.mark.parametrize("seed", range(3))
def test_a_part_of_a_log_is_explained_better_without_its_ends(seed):
    log = logged(jobs(seed, 3000, load=0.7), policy="fifo-skip")
    part = log.between(log.submit_s[1000], log.submit_s[2000])
    found = gs.fidelity(part)
    assert found.best.policy == "fifo-skip"
    assert found.best.cluster == SITE
    assert found.grade.letter in "AB"
    assert found.warm_up_s > 0
    assert found.tail_s > 0
    whole = gs.fidelity(part, warm_up_s=0, tail_s=0)
    assert whole.best.likeness.num_compared == len(part)
    assert whole.best.likeness.distance > found.best.likeness.distance


@pytest.mark.parametrize("seed", range(3))
def test_shuffled_waits_are_not_explained(seed):
    site = logged(jobs(seed), policy="easy")
    rng = np.random.default_rng(seed)
    found = gs.fidelity(with_waits(site, rng.permutation(site.source_wait_us)))
    assert found.grade.letter == "E"
    assert "rank correlation" in found.grade.why


def test_shuffled_waits_have_the_right_distribution_and_still_fail():
    site = logged(jobs(0), policy="easy")
    wait_us = np.random.default_rng(0).permutation(site.source_wait_us)
    found = gs.fidelity(with_waits(site, wait_us), SITE, ["easy"], ["consolidated"])
    assert found.grade.letters["ks"] == "A"
    assert found.grade.letters["mean_wait_factor"] <= "C"
    assert found.grade.letter == "E"


@pytest.mark.parametrize("seed", range(3))
def test_priorities_that_nobody_wrote_down_are_not_explained(seed):
    found = gs.fidelity(logged(jobs(seed), policy="random", seed=3))
    assert found.grade.letter in "DE"


@pytest.mark.parametrize("seed", range(3))
def test_failures_that_nobody_wrote_down_are_not_explained(seed):
    """Three of six servers are down for a tenth of the time, four times."""
    trace = jobs(seed)
    span_s, count = float(trace.submit_s[-1]), len(trace)
    down_s = np.repeat(np.array([0.1, 0.3, 0.5, 0.7]) * span_s, 3)
    both = gs.Trace.from_columns(
        np.concatenate((trace.submit_s, down_s)),
        np.concatenate((trace.service_s, np.full(12, span_s / 10))),
        np.concatenate((trace.gpus, np.full(12, 8))),
        estimate_s=np.concatenate((trace.estimate_us / 1e6, np.full(12, span_s / 10))),
        id=np.arange(count + 12),
    )
    result = gs.simulate(both, SITE, policy="easy", predictor="estimate")
    wait_us = np.asarray(result.schedule.start_us) - both.submit_us
    found = gs.fidelity(with_waits(trace, wait_us[np.argsort(both.id)][:count]))
    assert found.grade.letter in "DE"


def test_what_is_named_is_tried_and_nothing_else(site):
    found = gs.fidelity(
        site, policies=["fifo", "srtf"], placements=["spread", "best-fit"], servers=[6, 8]
    )
    tried = {(case.policy, case.placement, case.cluster.num_servers) for case in found.cases}
    assert tried == {
        (p, q, n) for p in ("fifo", "srtf") for q in ("spread", "best-fit") for n in (6, 8)
    }
    assert all(case.num_runs == 1 for case in found.cases)
    other = gs.Cluster((gs.ServerGroup(3, 8), gs.ServerGroup(6, 4)))
    named = gs.fidelity(site, [SITE, other], ["easy"], ["consolidated"])
    assert {case.cluster for case in named.cases} == {SITE, other}
    assert named.best.cluster == SITE


def test_a_policy_that_looks_ahead_is_marked(site):
    found = gs.fidelity(site, SITE, ["srtf"], ["consolidated"], predictor="oracle")
    assert found.best.clairvoyant
    assert "srtf †" in str(found)
    assert not gs.fidelity(site, SITE, ["srtf"], ["consolidated"]).best.clairvoyant


def test_policies_that_rank_by_run_times_are_tried_only_where_they_can_know_them():
    bare = gs.Trace.from_columns(
        *(getattr(jobs(0), name) for name in ("submit_s", "service_s", "gpus"))
    )
    found = gs.fidelity(logged(bare, policy="fifo", predictor="oracle"))
    assert {case.policy for case in found.cases} == set(NAMES) - {"sjf", "swf"}
    assert found.best.policy == "fifo"
    assert {case.policy for case in found.cases if case.clairvoyant} == {"easy", "conservative"}
    told = "the trace has no estimates: easy and conservative use true run times instead"
    assert any(remark.startswith(told) for remark in found.remarks)


@pytest.mark.parametrize("policy", ["fifo-skip", "easy", "conservative"])
def test_a_log_without_estimates_is_explained_best_by_what_made_it(policy):
    bare = dataclasses.replace(jobs(0), estimate_us=None)
    found = gs.fidelity(logged(bare, policy=policy, predictor="oracle"))
    assert (found.best.policy, found.best.cluster) == (policy, SITE)
    assert found.best.likeness.distance == 0
    assert found.best.clairvoyant == (policy != "fifo-skip")


@pytest.mark.parametrize("policy", ["fifo-skip", "easy", "sjf"])
def test_a_runs_own_table_and_swf_log_are_explained_best_by_that_run(policy, tmp_path):
    run = gs.simulate(jobs(0), SITE, policy=policy, predictor="estimate")
    run.to_parquet(tmp_path / "run.parquet")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", gs.RunWarning)  # SWF counts whole seconds
        run.export(tmp_path / "run.swf")
    names = {"source_wait_s": "queueing_delay_s"}
    for log in (
        gs.read_trace(tmp_path / "run.parquet", columns=names),
        gs.read_trace(tmp_path / "run.swf"),
    ):
        found = gs.fidelity(log)
        assert (found.best.policy, found.best.cluster) == (policy, SITE)
        assert found.grade.letter == "A"


def test_policies_that_are_slow_are_left_out_of_long_traces_and_that_is_said():
    long = logged(jobs(0, 20_001, load=0.3), policy="fifo")
    found = gs.fidelity(long, servers=[6])
    assert "conservative" not in {case.policy for case in found.cases}
    assert any("conservative was not tried" in remark for remark in found.remarks)


def test_jobs_without_a_start_are_simulated_but_not_compared(site):
    wait_us = np.array(site.source_wait_us)
    wait_us[100:150] = -1
    found = gs.fidelity(with_waits(site, wait_us))
    assert (found.best.policy, found.best.cluster) == ("easy", SITE)
    assert found.best.likeness.ks == 0
    assert found.best.likeness.allocation_error == 0
    assert any(remark.startswith("50 jobs without a start") for remark in found.remarks)
    assert not set(found.jobs()["row"]) & set(site.row[100:150].tolist())


def test_jobs_that_a_cluster_cannot_run_wait_for_ever(site):
    small = gs.Cluster.uniform(1, 8)
    found = gs.fidelity(site, small, ["easy"], ["consolidated"])
    like = found.best.likeness
    assert like.num_never_started > 0
    assert found.grade.letter == "E"
    assert like.to_dict()["wait_quantiles_s"][-1] is None
    assert found.jobs()["wait_s"].null_count() == like.num_never_started
    assert any("never started" in remark for remark in found.remarks)
    assert any("were in use at once" in remark for remark in found.remarks)
    json.dumps(found.to_dict(), allow_nan=False)


def test_waits_below_the_resolution_count_as_none():
    site = logged(jobs(0), policy="easy")
    wait_us = np.array(site.source_wait_us)
    wait_us[wait_us == 0] = 20_000_000  # the site looks at its queue twice a minute
    late = with_waits(site, wait_us)
    assert gs.fidelity(late, SITE, ["easy"]).best.likeness.ks == 0
    exact = gs.fidelity(late, SITE, ["easy"], resolution_s=0)
    assert exact.best.likeness.ks > 0.2


def test_waits_that_capacity_does_not_explain_are_told(site):
    found = gs.fidelity(with_waits(site, np.asarray(site.source_wait_us) + 10**12))
    assert any("something other than capacity" in remark for remark in found.remarks)


def test_a_cluster_that_was_larger_once_is_taken_for_the_usual_one():
    """For the last fifth of the time it had two more servers: what ran then is the peak."""
    trace = jobs(0, 800)
    late = trace.submit_s > 0.8 * float(trace.submit_s[-1])
    usual, larger = (
        np.asarray(logged(trace, gs.Cluster.uniform(n, 8), policy="fifo-skip").source_wait_us)
        for n in (6, 8)
    )
    found = gs.fidelity(with_waits(trace, np.where(late, larger, usual)), tail_s=0)
    assert found.peak_gpus > SITE.num_gpus
    assert found.best.cluster.num_gpus < found.peak_gpus
    assert any("the capacity varied" in remark for remark in found.remarks)


def test_the_tables_hold_what_was_compared(found, site):
    table = found.table()
    assert table["distance"].is_sorted()
    assert table["grade"][0] == "A"
    assert table.equals(found.to_polars())
    jobs_table = found.jobs()
    assert jobs_table.height == found.best.likeness.num_compared
    assert jobs_table["difference_s"].abs().max() == 0
    assert set(jobs_table["user"]) == {"ann", "bob", "eve"}
    usage = found.allocation()
    assert usage["own_gpus"].equals(usage["gpus"].rename("own_gpus"))
    assert usage["own_gpus"].max() == found.peak_gpus
    assert usage["own_gpus"][-1] == 0
    assert json.loads(json.dumps(found.to_dict()))["trace"]["num_with_starts"] == len(site)


def test_jobs_whose_waits_differ_most_stand_first(site):
    found = gs.fidelity(site, SITE, ["fifo"], ["consolidated"])
    table = found.jobs()
    differs = table["difference_s"].abs()
    assert differs.is_sorted(descending=True)
    first = table.row(0, named=True)
    assert first["difference_s"] == first["wait_s"] - first["own_wait_s"] != 0
    number = int(np.flatnonzero(site.row == first["row"])[0])
    assert first["wait_s"] == found.result.jobs.queueing_delay_s[number]
    assert first["own_wait_s"] == site.source_wait_us[number] / 1e6


def test_a_measured_allocation_is_the_mean_absolute_difference():
    """One job an hour late: one GPU too few for an hour, and one too many for another."""
    submit_s = np.arange(20) * 7200.0
    wait_s = np.zeros(20)
    wait_s[10] = 3600
    site = gs.Trace.from_columns(submit_s, [3600.0] * 20, [1] * 20, source_wait_s=wait_s)
    found = gs.fidelity(site, gs.Cluster.uniform(1, 8), ["fifo"], warm_up_s=0, tail_s=0)
    like = found.best.likeness
    own_gpu_s = 19 * 3600
    assert like.allocation_error == pytest.approx(7200 / own_gpu_s)
    assert like.own_mean_wait_s == pytest.approx(180)
    assert like.mean_wait_s == 0
    assert like.ks == pytest.approx(1 / 20)
    assert like.unexplained == 1


def test_the_text_says_the_grade_and_fits_a_terminal(found):
    text = str(found)
    assert "nearest: easy, consolidated, 6 servers (48 GPUs)" in text
    assert "grade A (all measures)" in text
    assert max(map(len, text.splitlines())) <= 100
    assert repr(found) == "Fidelity('site': easy, consolidated, 6 servers, grade A)"


def test_base_cases_with_the_same_starts_say_so():
    site = logged(jobs(0), policy="fifo", placement="spread")
    found = gs.fidelity(site, SITE, ["fifo"], ["spread", "first-fit", "consolidated"])
    first, second, other = found.cases
    assert (first.same_as, second.same_as, other.same_as) == ("", first.name, "")
    assert f"equally close: {second.name}" in str(found)


def test_threads_change_nothing_and_progress_is_told(found, site):
    seen: list[gs.Progress] = []
    again = gs.fidelity(site, threads=1, progress=seen.append)
    assert again.to_dict() == found.to_dict()
    assert seen[-1] == gs.Progress(14, 14)
    assert [now.done for now in seen] == sorted(now.done for now in seen)


def test_a_stop_ends_it(site):
    stop = threading.Event()
    stop.set()
    with pytest.raises(gs.Cancelled, match="stopped after 0 of 14 simulations"):
        gs.fidelity(site, stop=stop)
    later = threading.Event()
    with pytest.raises(gs.Cancelled):
        gs.fidelity(site, threads=1, progress=lambda now: later.set(), stop=later)


def test_it_pickles(found):
    again = pickle.loads(pickle.dumps(found))
    assert again.to_dict() == found.to_dict()
    assert str(again) == str(found)


def test_a_policy_of_python_can_be_tried(site):
    class FirstSubmitted(gs.Order):
        lifetime = "fixed"

        def rank(self, view: Any, chosen: Any) -> Any:
            return chosen.astype(float)

    found = gs.fidelity(site, SITE, [FirstSubmitted(), "fifo-skip"], ["consolidated"])
    assert found.cases[0].likeness == found.cases[1].likeness


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"policies": []}, ValueError, "policies: at least one"),
        ({"policies": ["fifi"]}, ValueError, "did you mean 'fifo'"),
        ({"placements": []}, TypeError, "placements: expected a list"),
        ({"placements": "spread"}, TypeError, "placements: expected a list"),
        ({"placements": ["spred"]}, ValueError, "did you mean 'spread'"),
        ({"servers": 6}, TypeError, "servers: expected a list of numbers, not 6"),
        ({"servers": []}, TypeError, "servers: expected a list"),
        ({"servers": [0]}, ValueError, "servers: 0 must lie in 1"),
        ({"servers": [6], "cluster": SITE}, ValueError, "servers: cannot be combined"),
        ({"cluster": 6}, TypeError, "cluster: expected a Cluster"),
        ({"cluster": []}, TypeError, "cluster: expected a Cluster"),
        ({"gpus_per_server": 65}, ValueError, "gpus_per_server: 65 must lie in 1..64"),
        ({"resolution_s": -1}, ValueError, "resolution_s: -1 must lie in 0"),
        ({"warm_up_s": 1e9}, ValueError, "at least 10 are needed"),
        ({"threads": 0}, ValueError, "threads: 0 must lie in 1"),
        ({"predictor": "oracel"}, ValueError, "policy fifo, placement consolidated: .*oracle"),
    ],
)
def test_wrong_arguments_are_refused(site, arguments, error, message):
    with pytest.raises(error, match=message):
        gs.fidelity(site, **arguments)


def test_jobs_of_certain_gpu_types_have_the_cluster_that_every_command_assumes():
    trace = gs.Trace.from_columns(
        range(20), [5] * 20, [1] * 20, source_wait_s=[0] * 20, gpu_types=["V100"] * 20, name="typed"
    )
    with pytest.raises(ValueError, match=r"servers: jobs are restricted to GPU types \(V100\)"):
        gs.fidelity(trace, servers=[2])
    assumed = gs.fidelity(trace)
    assert assumed.best.cluster == gs.traces.smallest_cluster(trace)
    assert any(line.startswith("cluster assumed: 1 server x 8 V100") for line in assumed.remarks)
    found = gs.fidelity(trace, gs.Cluster.uniform(1, 8, "V100"))
    assert found.best.likeness.num_never_started == 0
