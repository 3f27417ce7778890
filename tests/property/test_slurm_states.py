"""No decision on a state of Slurm gives out a GPU that its files say is not free."""

from __future__ import annotations

import dataclasses
import io
import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gpusched as gs

GPUS = 4
NOW = 1_000_000
OPEN = ("IDLE", "MIXED", "ALLOCATED")
CLOSED = ("DRAIN", "DOWN", "RESERVED", "PLANNED", "MAINT", "NOT_RESPONDING")
REASONS = ("Resources", "Priority", "None", "QOSMaxGRESPerUser", "Dependency", "JobHeldUser")


def indices(mask: int) -> str:
    return ",".join(str(gpu) for gpu in range(GPUS) if mask >> gpu & 1) or "N/A"


def gres(mask: int, is_mixed: bool, tells: str = "which") -> str:
    """GPUs as Slurm lists them, of one type or half of another."""
    masks = {"a100": 0b0011, "t4": 0b1100} if is_mixed else {"a100": 0b1111}
    counts = {name: (mask & own).bit_count() for name, own in masks.items()}
    return ",".join(
        f"gpu:{name}:{counts[name]}" + f"(IDX:{indices(mask & own)})" * (tells == "which")
        for name, own in masks.items()
        if counts[name] or tells == "which"
    )


@st.composite
def clusters(draw: st.DrawFn) -> tuple[dict[str, Any], dict[str, Any], dict[str, int]]:
    """What squeue and sinfo print, and the GPUs of each server that a job may be given."""
    nodes, jobs, free = [], [], {}
    for number in range(draw(st.integers(1, 4))):
        name = f"n{number}"
        state = [draw(st.sampled_from((*OPEN, *CLOSED)))]
        mine = draw(st.integers(0, 2**GPUS - 1))  # of a job that runs, or is about to end
        others = draw(st.integers(0, 2**GPUS - 1)) & ~mine  # of jobs that are not seen
        tells = draw(st.sampled_from(["which", "how many"]))
        used = mine | others
        is_mixed = draw(st.booleans())
        nodes.append({
            "name": name, "state": state, "gres": gres(0b1111, is_mixed, "how many"), "cpus": 8,
            "real_memory": 1000, "partitions": ["gpu"], "gres_used": gres(used, is_mixed, tells),
        })  # fmt: skip
        if mine:
            jobs.append(job(
                len(jobs), mine.bit_count(), nodes=name, start_time=NOW - 50,
                job_state=draw(st.sampled_from([["RUNNING"], ["COMPLETED", "COMPLETING"]])),
                gres_detail=[gres(mine, is_mixed)],
            ))  # fmt: skip
        is_closed = state[0] in CLOSED
        # Of GPUs that are only counted it is not known which: as many as are left may be given.
        free[name] = 0 if is_closed else GPUS - used.bit_count()
        free[f"{name} mask"] = 0 if is_closed else ~(used if tells == "which" else mine)
    for _ in range(draw(st.integers(0, 5))):
        reason = draw(st.sampled_from(REASONS))
        jobs.append(job(len(jobs), draw(st.integers(1, 2 * GPUS)), state_reason=reason))
    return {"jobs": jobs, "last_update": NOW}, {"nodes": nodes}, free


def job(number: int, gpus: int, **given: Any) -> dict[str, Any]:
    return {
        "job_id": 100 + number, "job_state": ["PENDING"], "state_reason": "None", "nodes": "",
        "submit_time": NOW - 100 + number, "start_time": 0, "end_time": 0, "time_limit": 60,
        "tres_req_str": f"gres/gpu={gpus}", "tres_alloc_str": "", "gres_detail": [],
        "partition": "gpu", "user_name": "ann", "account": "a", **given,
    }  # fmt: skip


@pytest.mark.parametrize("policy", ["fifo", "fifo-skip", "easy", "easy:depth=3", "sjf"])
@given(printed=clusters())
def test_no_gpu_is_given_out_that_the_files_say_is_in_use(policy, printed):
    queue, nodes, free = printed
    if not queue["jobs"]:
        return
    files = [io.BytesIO(json.dumps(each).encode()) for each in (queue, nodes)]
    state = gs.online.read_state(files, format="slurm")
    decision = gs.decide(state, policy=policy)
    given_on: dict[str, int] = {}
    rows = zip(decision.held_server.tolist(), decision.held_mask.tolist(), strict=True)
    for server, mask in rows:
        name = state.servers[server].name
        mask <<= state.servers[server].gpus[0]
        assert mask & ~free[f"{name} mask"] & (2**GPUS - 1) == 0
        assert given_on.get(name, 0) & mask == 0
        given_on[name] = given_on.get(name, 0) | mask
    assert all(mask.bit_count() <= free[name] for name, mask in given_on.items())
    total = GPUS * len(nodes["nodes"])
    if any("t4" in node["gres"] for node in nodes["nodes"]):  # then a gang has GPUs of one type
        of_type = state.cluster.server_type.tolist()
        widths = state.cluster.server_gpus.tolist()
        total = max(
            sum(gpus for kind, gpus in zip(of_type, widths, strict=True) if kind == own)
            for own in of_type
        )
    wide = [
        row
        for row in range(len(state.jobs))
        if state.jobs.gpus[row] > total and row not in decision.holds
    ]
    # Of servers of several sizes some gangs fit on none that are as few as they should be.
    refused = dict(zip(decision.rejected.tolist(), decision.reason, strict=True))
    fits = {row for row, why in refused.items() if "placement refuses it on an empty" in why}
    assert sorted(refused.keys() - fits) == wide
    by_id = {str(each["job_id"]): each["state_reason"] for each in queue["jobs"]}
    started = {by_id[str(state.jobs.id[row])] for row in decision.job.tolist()}
    assert started <= {"Resources", "Priority", "None"}
    held = [by_id[str(state.jobs.id[row])] for row in decision.holds]
    assert held == list(decision.holds.values())
    assert set(held) <= {"Dependency", "JobHeldUser"}


def acts(decision: gs.online.ClusterDecision) -> list[Any]:
    columns = ("what", "job", "held_job", "held_server", "held_mask", "rejected")
    return [getattr(decision, name).tolist() for name in columns] + [decision.reason]


@pytest.mark.parametrize("policy", ["fifo", "fifo-skip", "easy", "sjf"])
@given(printed=clusters())
def test_a_state_that_is_written_decided_and_read_again_is_a_fixed_point(
    tmp_path_factory, policy, printed
):
    path = tmp_path_factory.getbasetemp() / "state.json"
    files = [io.BytesIO(json.dumps(each).encode()) for each in printed[:2]]
    state = gs.online.read_state(files, format="slurm")
    decision = gs.decide(state, policy=policy)
    gs.online.write_state(state, path)
    again = gs.online.read_state(path)
    assert [server.name for server in again.servers] == [server.name for server in state.servers]
    assert acts(gs.decide(again, policy=policy)) == acts(decision)
    # What was to be done is done: nothing is left to do.
    start_s = state.start_s.copy()
    start_s[decision.job] = state.now_s
    held = {
        name: np.concatenate([getattr(state, name), getattr(decision, name)])
        for name in ("held_job", "held_server", "held_mask")
    }
    done = dataclasses.replace(state, start_s=start_s, **held)
    gs.online.write_state(done, path)
    last = gs.decide(gs.online.read_state(path), policy=policy)
    assert not last.what.size
    assert last.rejected.tolist() == decision.rejected.tolist()
