"""Outages, checkpoints and limits at the command line."""

from __future__ import annotations

import json

import pytest

import gpusched as gs
from gpusched.traces.outages import drawn_for

CLUSTER = gs.Cluster.uniform(4, 8)
DRAWN = ("--mtbf", "2d", "--repair", "8h")


@pytest.fixture
def outages_csv(tmp_path):
    rows = ["server,start_s,end_s,kind", "0,3600,90000,fail", "2,100,,drain"]
    (tmp_path / "outages.csv").write_text("\n".join([*rows, ""]))
    return tmp_path / "outages.csv"


def test_a_run_has_the_outages_of_a_file(gpusched, gpusched_json, jobs_csv, outages_csv):
    asked = ("run", jobs_csv, "-p", "fifo", "--servers", 4, "--outages", outages_csv)
    made = gpusched_json(*asked)
    trace, outages = gs.read_trace(jobs_csv), gs.read_outages(outages_csv)
    expected = gs.simulate(trace, CLUSTER, policy="fifo", outages=outages)
    assert made["result"]["digest"] == expected.digest
    assert expected.digest != gs.simulate(trace, CLUSTER, policy="fifo").digest
    said = f"outages: 1 failure, 1 drain of 2 servers, from {outages_csv}"
    assert said in made["assumptions"]
    assert said in " ".join(gpusched(*asked).stdout.split())


def test_drawn_failures_state_their_means_and_the_seed(gpusched_json, jobs_csv):
    asked = ("run", jobs_csv, "-p", "srtf", "--servers", 4, "--seed", 3)
    trace = gs.read_trace(jobs_csv)
    for more, repair_s, said in ((DRAWN, 28_800, "8 h"), (("--mtbf", "2d"), 14_400, "4 h")):
        made = gpusched_json(*asked, *more)
        outages = drawn_for(trace, CLUSTER, 2 * 86_400, repair_s, seed=3)
        run = gs.simulate(trace, CLUSTER, policy="srtf", outages=outages, seed=3)
        assert made["result"]["digest"] == run.digest
        (told,) = [line for line in made["assumptions"] if line.startswith("outages: ")]
        assert told == f"outages: {outages}"
        means = f"from draws: MTBF 2 d (exponential), repair {said} (exponential), seed 3, until "
        assert means in told


def test_all_policies_have_the_same_outages(gpusched_json, jobs_csv):
    made = gpusched_json("compare", jobs_csv, "-p", "fifo,srtf", "--servers", 4, *DRAWN)
    trace = gs.read_trace(jobs_csv)
    outages = drawn_for(trace, CLUSTER, 2 * 86_400, 28_800)
    for row in made["results"]:
        run = gs.simulate(trace, CLUSTER, policy=row["policy"], outages=outages)
        assert row["digest"] == run.digest
    assert f"outages: {outages}" in made["assumptions"]


def test_options_are_columns_of_all_jobs(gpusched_json, jobs_csv):
    made = gpusched_json(
        "run", jobs_csv, "-p", "fifo", "--servers", 4, *DRAWN, "--checkpoint-every", "30m",
        "--checkpoint-write", "10s", "--max-requeues", 2, "--time-limit", "24h",
        "--requeue", "back",
    )  # fmt: skip
    trace = gs.read_trace(jobs_csv).with_columns(
        checkpoint_every_s=1800, checkpoint_write_s=10, max_requeues=2, time_limit_s=86_400,
        requeue_back=1,
    )  # fmt: skip
    outages = drawn_for(trace, CLUSTER, 2 * 86_400, 28_800)
    expected = gs.simulate(trace, CLUSTER, policy="fifo", outages=outages)
    assert made["result"]["digest"] == expected.digest
    same = gs.simulate(trace.with_columns(requeue_back=0), CLUSTER, policy="fifo", outages=outages)
    assert same.digest != expected.digest


def test_a_time_limit_is_for_jobs_without_their_own(gpusched_json, tmp_path):
    (tmp_path / "own.csv").write_text(
        "submit_s,service_s,gpus,time_limit_s\n0,100,1,40\n0,100,1,\n0,100,1,200\n"
    )
    made = gpusched_json(
        "run", "own.csv", "-p", "fifo", "--servers", 1, "--time-limit", "1m", "--out", "kept"
    )
    assert made["result"]["num_finished"] == 1
    log = gs.load_result("kept/result.npz").intervals
    assert sorted(end // 10**6 for end in log["end_us"].tolist()) == [40, 60, 100]


def test_compared_over_seeds_the_columns_are_those_of_the_jobs(gpusched_json):
    made = gpusched_json(
        "compare", "--servers", 4, "--jobs", 100, "--seeds", 2, "-p", "fifo", "--time-limit", "2h"
    )
    trace = gs.generate("philly", 100, cluster=CLUSTER, seed=1).with_columns(time_limit_s=7200)
    expected = gs.simulate(trace, CLUSTER, policy="fifo", seed=1)
    assert made["runs"][1]["digest"] == expected.digest


def test_compared_over_seeds_each_run_draws_its_failures(gpusched, gpusched_json):
    asked = ("compare", "--servers", 4, "--jobs", 100, "--seeds", 2, "-p", "fifo,srtf", *DRAWN)
    made = gpusched_json(*asked)
    for row in made["runs"]:
        trace = gs.generate("philly", 100, cluster=CLUSTER, seed=row["seed"])
        outages = drawn_for(trace, CLUSTER, 2 * 86_400, 28_800, row["seed"])
        run = gs.simulate(trace, CLUSTER, policy=row["policy"], seed=row["seed"], outages=outages)
        assert row["digest"] == run.digest
    said = "servers fail every 2 d on average, repair takes 8 h (exponential, drawn with the seed"
    assert said in " ".join(gpusched(*asked).stdout.split())


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (("--repair", "4h"), "--repair: needs --mtbf"),
        (("--mtbf", 0), "--mtbf: 0.0 must be finite and positive"),
        (("--mtbf", "5x"), "'5x' must be a time such as 90, 90s, 15m, 1.5h or 1d"),
        (("--mtbf", "1d", "--repair", 0), "--repair: 0.0 must be finite and positive"),
        (("--mtbf", "1d", "--outages", "outages.csv"), "--mtbf: cannot be combined with --out"),
        (("--outages", "none.csv"), "none.csv"),
        (("--time-limit", 0), "--time-limit: 0.0 must be positive"),
        (("--checkpoint-every", 0), "--checkpoint-every: 0.0 must be positive"),
        (("--requeue", "front"), "'front' must be same or back"),
        (("--checkpoint-write", "10s"), "--checkpoint-write: 10.0 needs a checkpoint_every_s"),
        (("--outages", "outages.csv", "--servers", 2), "unknown server 2; the last one is 1"),
    ],
)
def test_a_mistake_is_named(gpusched, jobs_csv, outages_csv, more, message):
    servers = () if "--servers" in more else ("--servers", 4)
    result = gpusched("run", jobs_csv, "-p", "fifo", *servers, *more)
    assert result.exit_code == 2
    assert message in " ".join(result.stderr.split())


def test_events_of_slurm_need_the_names_of_its_servers(gpusched, gpusched_json, tmp_path):
    nodes = [
        {"name": f"g{n}", "state": ["IDLE"], "gres": "gpu:4", "cpus": 8, "real_memory": 1024}
        for n in range(2)
    ]
    (tmp_path / "nodes.json").write_text(json.dumps({"nodes": nodes}))
    (tmp_path / "events.txt").write_text(
        "Cluster|NodeName|TimeStart|TimeEnd|State|Reason|User\n"
        "c|g1|2024-05-01T09:00:30|2024-05-01T09:02:00|DOWN|x|root\n"
        "c|login|2024-05-01T09:00:30|2024-05-01T09:02:00|DOWN|x|root\n"
    )
    (tmp_path / "dated.csv").write_text(
        "submit_s,service_s,gpus\n2024-05-01T09:00:00,100,4\n2024-05-01T09:00:00,100,4\n"
    )
    run = ("run", "dated.csv", "-p", "fifo", "--outages", "events.txt")
    made = gpusched_json(*run, "--cluster", "nodes.json")
    assert made["result"]["makespan_s"] == 200
    assert "1 event left out: unknown servers login (1)" in made["assumptions"]
    refused = gpusched(*run, "--servers", 2)
    assert refused.exit_code == 2
    assert "(give the output of sinfo --json as --cluster)" in " ".join(refused.stderr.split())


@pytest.mark.parametrize(
    ("more", "change"),
    [
        ((), "mtbf=30d"),
        ((), "time-limit=1h"),
        (("--mtbf", "1d"), "checkpoint-every=30m"),
    ],
)
def test_each_question_is_one_command(gpusched_json, jobs_csv, more, change):
    made = gpusched_json("whatif", jobs_csv, "--servers", 4, *more, "--change", change)
    trace = gs.read_trace(jobs_csv)
    changed = trace
    outages = drawn_for(trace, CLUSTER, 86_400) if more else None
    base = gs.simulate(trace, CLUSTER, outages=outages)
    if change == "mtbf=30d":
        outages = drawn_for(trace, CLUSTER, 30 * 86_400)
        assert any(
            line.startswith(f"mtbf=30d: {len(outages)} outages from draws: MTBF 30 d (exponential)"
                            ", repair 4 h (exponential), seed 0")
            for line in made["remarks"]
        )  # fmt: skip
    else:
        column = {"time-limit=1h": "time_limit_s", "checkpoint-every=30m": "checkpoint_every_s"}
        seconds = {"time-limit=1h": 3600, "checkpoint-every=30m": 1800}
        changed = trace.with_columns(**{column[change]: seconds[change]})
    after = gs.simulate(changed, CLUSTER, outages=outages)
    assert made["base"]["makespan_s"] == base.metric("makespan_s")
    assert made["changes"][0]["makespan_s"] == after.metric("makespan_s")
    assert made["changes"][0]["makespan_s"] != made["base"]["makespan_s"] or not more


def test_a_repair_alone_changes_nothing(gpusched, jobs_csv):
    asked = ("whatif", jobs_csv, "--servers", 4)
    for more, message in (
        (("--repair", "4h", "--change", "load=0.5"), "--repair: needs --mtbf, or --change mtbf=TI"),
        (("--change", "repair=8h"), "change repair=8h: needs drawn failures (mtbf)"),
        (("--change", "mtbf=0"), "change mtbf=0: must be a time above 0"),
        (("--change", "max-requeues=-1"), "change max_requeues=-1: must be a number of at least 0"),
        (("--change", "checkpoint-write=5"), "needs a checkpoint_every_s"),
        (("--change", "requeue=front"), "change requeue=front: 'front' must be same or back"),
    ):
        refused = gpusched(*asked, *more)
        assert refused.exit_code == 2
        assert message in " ".join(refused.stderr.split())


def test_a_policy_that_does_not_support_outages_is_named_once(gpusched, jobs_csv, outages_csv):
    failing = ("--servers", 4, "--outages", outages_csv)
    for policy in ("conservative", "gavel"):
        said = f"gpusched: policy {policy} does not support outages"
        for command in (("run", "-p", policy), ("compare", "-p", f"{policy},fifo")):
            assert said in gpusched(*command, jobs_csv, *failing).stderr.splitlines()
