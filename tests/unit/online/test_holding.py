"""Decisions and forecasts on states with held jobs and planned outages."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gpusched as gs
from gpusched.online.holding import holds_now
from tests.each import each

NAN, INF = float("nan"), float("inf")
CLUSTER = gs.Cluster.uniform(2, 2)


def state(service_s: list[float], **given: Any) -> gs.online.ClusterState:
    """Job 0 runs on server 0 until 10 + its service, the others wait; now is 20."""
    names = ("hold", "num_gpus", "attained_s", "preemptions")
    own = {name: given.pop(name) for name in names if name in given}
    size, gpus = len(service_s), own.pop("num_gpus", 2)
    columns = {"submit_s": [10] * size, "gpus": [gpus] * size} | given
    jobs = gs.Trace.from_columns(service_s=service_s, **columns)
    return gs.online.ClusterState(
        CLUSTER, jobs, 20, start_s=[10] + [NAN] * (size - 1), held_job=[0], held_server=[0],
        held_mask=[2**gpus - 1], **own,
    )  # fmt: skip


def starts(found: gs.online.ClusterState, **options: Any) -> list[float]:
    options = {"policy": "fifo-skip"} | options
    return [each.median_s for each in gs.online.when_all(found, **options)]


@each(
    ("columns", "why", "start_s"),
    named={
        "begin time": ({"eligible_s": [NAN, 50]}, "until 50 s", 50),
        "held for good": ({"eligible_s": [NAN, INF]}, "for good", INF),
        "by the source": ({"hold": ("", "JobHeldUser")}, "JobHeldUser", INF),
        "running target": ({"dependency": ["", "afterok:0"]}, "waits for afterok:0", 110),
        "never": ({"dependency": ["", "afternotok:0"]}, "waits for afternotok:0", INF),
        "one of two": ({"dependency": ["", "afternotok:0?afterany:0"]},
                       "waits for afternotok:0?afterany:0", 110),
        "minutes": ({"dependency": ["", "after:0+1"]}, "waits for after:0+1", 70),
        "started": ({"dependency": ["", "after:0"]}, "", 20),
        "gone target": ({"dependency": ["", "afterok:7"]}, "", 20),
        "unmet says squeue": ({"dependency": ["", "afterok:7(unfulfilled)"]},
                              "waits for afterok:7(unfulfilled)", 20),
        "singleton": ({"dependency": ["", "singleton"], "user": ["a", "a"]}, "waits for singleton",
                      110),
        "array": ({"array": ["a", "a"], "array_limit": [1, 1]},
                  "array_limit is 1, which is reached", 110),
        "time limit": ({"dependency": ["", "afterany:0"], "time_limit_s": [30, NAN]},
                       "waits for afterany:0", 40),
    },
)  # fmt: skip
def test_a_held_job_is_not_started_and_its_start_obeys_what_holds_it(columns, why, start_s):
    found = state([100, 9], **columns)
    decision = gs.decide(found, policy="fifo-skip")
    assert decision.what.tolist() == ([] if why else ["start"])
    assert decision.holds == ({1: why} if why else {})
    assert decision.why(1) == (f"is held: {why}" if why else "starts on 1 server")
    assert starts(found) == [start_s]


def test_held_jobs_leave_rows_and_reasons_of_others_as_they_are():
    found = state([100, 9, 9, 9, 9], gpus=[2, 2, 8, 2, 2], eligible_s=[NAN, 50, NAN, NAN, NAN])
    decision = gs.decide(found, policy="fifo-skip")
    assert decision.job.tolist() == [3]
    assert (decision.held_job.tolist(), decision.held_server.tolist()) == ([3], [1])
    assert decision.rejected.tolist() == [2]
    assert [decision.why(row).partition(":")[0] for row in range(5)] == [
        "keeps running", "is held", "can never run", "starts on 1 server", "waits",
    ]  # fmt: skip


def test_where_all_are_held_nothing_is_done():
    jobs = gs.Trace.from_columns([0], [9], [1], eligible_s=[30])
    found = gs.online.ClusterState(CLUSTER, jobs, 20)
    assert gs.decide(found).what.tolist() == []
    assert gs.decide(found).why(0) == "is held: until 30 s"


def test_a_policy_with_memory_hears_of_a_job_when_it_is_free():
    jobs = gs.Trace.from_columns([0, 0], [9, 9], [2, 2], id=["a", "b"], eligible_s=[NAN, 30])
    first = gs.decide(gs.online.ClusterState(CLUSTER, jobs, 0), policy="conservative", memory=b"")
    assert (first.job.tolist(), first.holds) == ([0], {1: "until 30 s"})
    later = gs.online.ClusterState(CLUSTER, jobs._take([1]), 30)
    second = gs.decide(later, policy="conservative", memory=first.memory)
    assert (second.what.tolist(), second.job.tolist()) == (["start"], [0])


def test_tasks_of_an_array_follow_each_other():
    found = state([100, 9, 9, 9], array=["x"] + ["a"] * 3, array_limit=[NAN, 1, 1, 1], num_gpus=1)
    assert list(gs.decide(found, policy="fifo-skip").holds) == [2, 3]
    assert starts(found) == [20, 29, 38]


def test_a_preempted_target_has_started():
    jobs = gs.Trace.from_columns([0, 0], [9, 9], [2, 2], dependency=["", "after:0"])
    found = gs.online.ClusterState(CLUSTER, jobs, 20, attained_s=[3, 0], preemptions=[1, 0])
    assert gs.decide(found, policy="fifo-skip").job.tolist() == [0, 1]
    assert starts(found) == [20, 20]


def test_targets_that_the_state_does_not_have_are_noted():
    (forecast,) = gs.online.when_all(state([100, 9], dependency=["", "afterok:7"]))
    assert "1 target not found" in forecast.notes[0]
    assert "counted as met" in forecast.notes[0]


def test_jobs_of_the_history_are_not_held():
    past = gs.generate("philly", 400, load=0.9, cluster=CLUSTER, seed=1, model=1)
    held = past.with_columns(eligible_s=np.full(len(past), INF))
    found = state([100, 9, 9], dependency=["", "afterok:0", ""], eligible_s=[NAN, NAN, 4000])
    plain, other = (
        [each.start_s.tolist() for each in gs.online.when_all(found, history=log, samples=20)]
        for log in (past, held)
    )
    assert plain == other
    assert min(plain[1]) >= 4000


def test_a_file_of_a_state_keeps_what_holds_jobs(tmp_path):
    found = state(
        [100] * 5, dependency=["", "afterok:0", "", "", ""], eligible_s=[NAN, NAN, INF, 50, NAN],
        array=["a"] * 2 + [""] * 3, array_limit=[3, 3, NAN, NAN, NAN], user=["u"] * 5,
        group=["g"] * 5, time_limit_s=[200, *[NAN] * 4], hold=("", "", "", "", "JobHeldAdmin"),
    )  # fmt: skip
    gs.online.write_state(found, tmp_path / "state.json")
    again = gs.online.read_state(tmp_path / "state.json")
    assert gs.decide(again).holds == gs.decide(found).holds
    assert starts(again) == starts(found) == [110, INF, 50, INF]
    assert (
        again.jobs.to_polars()
        .select("time_limit_s", "array", "group")
        .equals(found.jobs.to_polars().select("time_limit_s", "array", "group"))
    )


def test_as_many_texts_as_jobs_are_needed():
    with pytest.raises(ValueError, match="hold: 1 texts for 2 jobs"):
        state([100, 9], hold=("",))


@st.composite
def held_traces(draw: st.DrawFn) -> gs.Trace:
    size = draw(st.integers(2, 7))
    kinds = ("after", "afterany", "afterok")
    rows: dict[str, list[Any]] = {"dependency": [], "eligible_s": [], "array": []}
    submit_s = sorted(draw(st.lists(st.integers(0, 6), min_size=size, max_size=size)))
    for job in range(size):
        what = draw(st.sampled_from(["", "dependency", "eligible", "array"]))
        targets = draw(st.lists(st.integers(0, max(0, job - 1)), max_size=2)) if job else []
        by = draw(st.sampled_from(",?")).join(
            f"{draw(st.sampled_from(kinds))}:{t}" for t in targets
        )
        rows["dependency"].append(by if what == "dependency" else "")
        late = submit_s[job] + draw(st.integers(0, 9))
        rows["eligible_s"].append(late if what == "eligible" else NAN)
        rows["array"].append("m" if what == "array" else "")
    return gs.Trace.from_columns(
        submit_s, draw(st.lists(st.integers(1, 8), min_size=size, max_size=size)),
        draw(st.lists(st.integers(1, 2), min_size=size, max_size=size)),
        array_limit=[1 if name else NAN for name in rows["array"]], **rows,
    )  # fmt: skip


@pytest.mark.parametrize("policy", ["fifo", "fifo-skip", "easy", "srtf"])
@given(trace=held_traces(), at_s=st.integers(0, 12))
def test_a_run_goes_on_from_its_state_as_without_a_stop(policy, trace, at_s):
    cluster = gs.Cluster.uniform(1, 2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", gs.RunWarning)
        whole = gs.simulate(trace, cluster, policy=policy).to_polars()["start_s"].to_list()
        run = gs.Simulation(trace, cluster, policy=policy)
        run.run_until(at_s + 0.5)
    there = gs.online.ClusterState.of(run)
    known = np.sort(np.concatenate([run.state.waiting, run.state.running]))
    rows = np.sort(np.concatenate([known, run.state.held])).astype(np.int64)
    place = np.searchsorted(rows, known)
    columns = {name: np.full(len(rows), NAN) for name in ("start_s", "attained_s")}
    for name, values in columns.items():
        values[place] = getattr(there, name)
    preemptions = np.zeros(len(rows), np.int32)
    preemptions[place] = there.preemptions
    found = gs.online.ClusterState(
        cluster, trace._take(rows), at_s + 0.5, preemptions=preemptions, **columns,
        held_job=place[there.held_job], held_server=there.held_server, held_mask=there.held_mask,
    )  # fmt: skip
    assert [int(rows[row]) for row in sorted(holds_now(found))] == run.state.held.tolist()
    if run.spec.trace.num_jobs > run.state.num_arrived or not len(rows):
        return  # the forecast does not know the jobs that are still to come
    for forecast in gs.online.when_all(found, policy=policy):
        row = int(rows[forecast.job])
        if not there.preemptions[known == row].any():
            assert forecast.median_s == whole[row]


@each(
    ("rows", "start_s", "share_hit"),
    named={
        "none": (([], [], []), [20, 29], 0),
        "the free server is down": (([1], [5], [60]), [60, 69], 0),
        "it fails later": (([1], [25], [60]), [20, 69], 1),
        "it is drained later": (([1], [25], [60], "drain"), [20, 60], 0),
        "the server of the running job fails": (([0], [22], [24]), [20, 29], 0),
        "it is over": (([1], [5], [20]), [20, 29], 0),
        "it never ends": (([1], [5], [None]), [110, 119], 0),
    },
)
def test_planned_outages_are_waited_for_and_hit_jobs(rows, start_s, share_hit):
    server, begin, end, *kind = rows
    outages = gs.Outages.from_columns(server, begin, end, *kind)
    found = gs.online.when_all(state([100, 9, 9]), policy="fifo-skip", outages=outages)
    assert [each.median_s for each in found] == start_s
    assert found[0].share_hit == share_hit
    assert ("hit by an outage before its end: 100%" in str(found[0])) == bool(share_hit)
    alone = gs.when(2, state([100, 9, 9]), policy="fifo-skip", outages=outages)
    assert alone.median_s == start_s[1]


def test_a_server_out_of_use_is_back_at_the_end_of_its_outage():
    jobs = gs.Trace.from_columns([0], [9], [4])
    found = gs.online.ClusterState(
        CLUSTER, jobs, 20, held_job=[-1, -1], held_server=[0, 1], held_mask=[0b1, 0b11]
    )
    outages = gs.Outages.from_columns([1, 0], [5, 10], [60, 70], ["drain", "fail"])
    assert gs.when(0, found).median_s == INF
    assert gs.when(0, found, outages=outages).median_s == 70
    some = gs.Outages.from_columns([1], [5], [60])
    assert gs.when(0, found, outages=some).median_s == INF
    assert not gs.decide(found).what.size


@each(
    ("rows", "starts_now", "start_s"),
    named={
        "none": (([], [], []), [1], [20, 29]),
        "a window that both jobs would reach": (([1], [28], [60], "maint"), [], [60, 69]),
        "one that they do not reach": (([1], [29], [60], "maint"), [1], [20, 60]),
        "one that is not known yet": (([1], [28], [60], "maint", [28]), [1], [20, 69]),
        "one that lasts": (([1], [5], [60], "maint"), [], [60, 69]),
        "a failure to come": (([1], [28], [60]), [1], [20, 69]),
    },
)
def test_no_job_starts_that_would_reach_known_maintenance(rows, starts_now, start_s):
    server, begin, end, *kind = rows
    outages = gs.Outages.from_columns(server, begin, end, *kind)
    found = state([100, 9, 9], time_limit_s=[NAN, 9, 9])
    for policy in ("fifo-skip", "easy"):
        assert gs.decide(found, policy=policy, outages=outages).job.tolist() == starts_now
        assert starts(found, policy=policy, outages=outages) == start_s


def test_backfilling_reserves_for_the_end_of_maintenance_that_lasts():
    columns = {"service_s": [30, 60], "gpus": [4, 2], "estimate_s": [30, 60]}
    found = gs.online.ClusterState(CLUSTER, gs.Trace.from_columns([0, 0], **columns), 50)
    # If it was not known before, its end is not known either.
    for known_s, now, start_s in ((0, [], [80, 110]), (40, [1], [110, 50])):
        outages = gs.Outages.from_columns([1, 0], [40, 200], [80, 300], "maint", [known_s, 0])
        assert gs.decide(found, policy="easy", outages=outages).job.tolist() == now
        assert starts(found, policy="easy", outages=outages) == start_s
        whole = gs.simulate(
            gs.Trace.from_columns([50, 50], **columns), CLUSTER, policy="easy", outages=outages
        )
        assert whole.jobs["start_s"].tolist() == start_s


def test_a_job_that_an_outage_hits_holds_up_those_behind_it():
    outages = gs.Outages.from_columns([0, 1], [25, 40], [60, 41])
    found = state([100, 9], dependency=["", "afterok:0"])
    # It begins anew on the other server at 25, and again at 41.
    assert starts(found, outages=outages) == [141]


def test_outages_of_other_types_and_for_other_policies_are_refused():
    for ask in (lambda **given: gs.when(1, state([100, 9]), **given),
                lambda **given: gs.decide(state([100, 9]), **given)):  # fmt: skip
        with pytest.raises(TypeError, match="outages: expected Outages, not 3"):
            ask(outages=3)
    with pytest.raises(ValueError, match="outages: cannot be combined with memory"):
        gs.decide(state([100, 9]), memory=b"", outages=gs.Outages.from_columns([1], [30], [40]))
    with pytest.raises(ValueError, match="row 0, column 'server': unknown server 7"):
        gs.when(1, state([100, 9]), outages=gs.Outages.from_columns([7], [30], [40]))
