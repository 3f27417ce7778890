"""Published cases, and short ways to replay small ones, in the readable engine."""

import json
from collections.abc import Sequence
from typing import Any

import pytest

from gpusched.reference import (
    CANCELLED,
    FAILED,
    FINISHED,
    KILLED,
    UNFINISHED,
    Dependency,
    Job,
    Outage,
    Outcome,
    replay,
)
from tests.unit.real_data import DATA

SECOND = 1_000_000
FILE = DATA / "cases" / "realclusters.json"
ROWS = json.loads(FILE.read_text("utf-8"))["cases"] if FILE.exists() else []
CASES = {row["id"]: row for row in ROWS}
STATES = {
    "done": FINISHED, "killed": KILLED, "node_fail": FAILED, "failed": FINISHED,
    "wait": UNFINISHED, "never": CANCELLED,
}  # fmt: skip
needs_cases = pytest.mark.skipif(not CASES, reason=f"there is no file {FILE}")


def ticks(seconds: float | None) -> int | None:
    return None if seconds is None else round(seconds * SECOND)


def job_of(row: dict[str, Any], arrays: list[str]) -> Job:
    assert row.get("on_failure", "fail") == "fail"
    return Job(
        submit_us=row["submit_s"] * SECOND,
        service_us=row["service_s"] * SECOND,
        gpus=row["gpus"],
        restart_us=row.get("restart_s", 0) * SECOND,
        checkpoint_every_us=row.get("checkpoint_every_s", 0) * SECOND,
        checkpoint_write_us=row.get("checkpoint_write_s", 0) * SECOND,
        max_requeues=0 if "on_failure" in row else row.get("max_requeues"),
        time_limit_us=ticks(row.get("time_limit_s")),
        dependencies=tuple(
            Dependency(target, kind, sum(delay) * SECOND)
            for kind, target, *delay in row.get("dependency", [])
        ),
        dependency_any=row.get("join") == "or",
        array=arrays.index(row["array"]) if "array" in row else None,
        exit_failed=row.get("exit_code", 0) != 0,
    )


def replayed(case: dict[str, Any]) -> Outcome:
    """Replay a case of the file; its placement, lowest server first, is ``first-fit``."""
    outages = [
        Outage(
            row["server"], row["start_s"] * SECOND, ticks(row["end_s"]), row["kind"],
            row.get("known_s", 0) * SECOND if row["kind"] == "maint" else None,
        )
        for row in case.get("outages", [])
    ]  # fmt: skip
    servers = [(server["gpus"], "gpu") for server in case["servers"]]
    arrays = case.get("arrays", {})
    return replay(
        [job_of(row, list(arrays)) for row in case["jobs"]], servers, case["policy"], "first-fit",
        outages=outages, array_limits=list(arrays.values()),
        kill_invalid_depend=case.get("kill_invalid_depend", False),
    )  # fmt: skip


def check_published(name: str) -> None:
    """Fail where the replay of a case is not what the file says."""
    case = CASES[name]
    outcome = replayed(case["input"])
    for job, expected in enumerate(case["expect"]["jobs"]):
        assert runs_of(outcome, job) == expected["runs"]
        assert outcome.status[job] == STATES[expected["state"]]
        if "lost_s" in expected:
            assert outcome.lost_us[job] == expected["lost_s"] * SECOND
        assert outcome.written_us[job] == expected.get("written_s", 0) * SECOND
        assert outcome.paid_us[job] == expected.get("restart_s", 0) * SECOND
        if "servers" in expected:
            assert servers_of(outcome, job) == expected["servers"]
        is_done = outcome.status[job] == FINISHED
        assert outcome.finish_us[job] == (expected["runs"][-1][1] * SECOND if is_done else -1)


def runs_of(outcome: Outcome, job: int, unit: int = SECOND) -> list[list[float]]:
    """Return the runs of a job, each once."""
    return [list(run) for run in sorted({(row[1] / unit, row[2] / unit)
                                         for row in outcome.rows if row[0] == job})]  # fmt: skip


def servers_of(outcome: Outcome, job: int) -> list[list[int]]:
    """Return the servers of each run."""
    starts = sorted({row[1] for row in outcome.rows if row[0] == job})
    return [[row[3] for row in outcome.rows if row[:2] == (job, start)] for start in starts]


def run(
    jobs: list[Job],
    servers: list[int],
    policy: str,
    *outages: Outage,
    arrays: Sequence[int | None] = (),
    kill: bool = False,
    **params: Any,
) -> Outcome:
    """Replay in ticks; times of parameters are in ticks, too."""
    params = {k: v / SECOND if k.endswith("_s") else v for k, v in params.items()}
    return replay(
        jobs, [(gpus, "gpu") for gpus in servers], policy, "first-fit", policy_params=params,
        outages=outages, array_limits=arrays, kill_invalid_depend=kill,
    )  # fmt: skip


def runs(outcome: Outcome, job: int) -> list[list[float]]:
    return runs_of(outcome, job, 1)
