"""Forge results and repair the forgeries: is each noticed by an audit?

``python -m tests.campaigns.tamperings [--seed 1] [--level log|decisions]``: runs under every model
are changed in every kind of field and column. Whatever a forger can compute anew is computed anew:
the digest, the metrics, the hash of the jobs, the columns that follow from the log.
"""

import argparse
import dataclasses
import random
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import msgspec
import numpy as np

import gpusched as gs
from gpusched.audit import LEVELS
from gpusched.audit.log import FAULT_COLUMNS, HOLD_COLUMNS, JOB_COLUMNS, LOG_COLUMNS, log_digest
from gpusched.reference.model import CANCELLED, FAILED, FINISHED, KILLED
from gpusched.schedules.schedule import DECISION_COLUMNS, StoredSchedule
from gpusched.specs.run_spec import OutageSource, TraceSource
from tests.golden.workload import cluster, demanding, roomy_cluster, trace, urgent

HOUR_US = 3_600_000_000
SHOWN_BY_DECISIONS = {
    "estimates: jobs estimates longer", "contention: spec policy las",
    "contention: spec policy fifo", "contention: counter rates_changed +1",
    "contention: counter rates_changed -139", "migration: spec policy las",
    "shares: spec policy las", "cancelled: spec policy las", "cancelled: spec policy fifo",
    "holds: spec policy las", "limits: spec policy las", "limits: spec policy fifo",
}  # fmt: skip
"""What the log allows, and only a replay of the decisions shows."""

SHOWN_BY_NOTHING = {
    "pool: jobs gpus": "the wider job is decided on as the narrower one was",
    "failures: counter events +1": "jobs arrive anew whenever servers go or return",
    "contention: counter rates_computed +1": "how much work the engine had, no fact of a schedule",
    "plans: log server +1": "a policy without a readable twin: one of two servers alike, both idle",
}
"""What is passed by at both levels, and why; a note says that the decisions are not checked."""

Forged = Iterator[tuple[str, gs.Result]]


def honest() -> dict[str, gs.Result]:
    """Runs under every model, by name."""
    plain, typed, due = trace(is_typed=False), trace(is_typed=True), urgent(is_typed=True)
    servers = gs.Cluster.uniform(6, 8, gpu_type="V100", nic_gbps=10, intra_gbps=100)
    ringed = plain.with_profiles(gs.model.zoo(), seed=3)
    frail = plain.with_columns(
        time_limit_s=np.where(np.arange(len(plain)) % 3, np.nan, 300),
        checkpoint_every_s=np.where(np.arange(len(plain)) % 2, np.nan, 60),
        checkpoint_write_s=np.where(np.arange(len(plain)) % 2, 0, 5),
        max_requeues=np.arange(len(plain)) % 3,
        requeue_back=np.arange(len(plain)) % 2,
    )
    outages = gs.generate_outages(
        cluster(), until_s=plain.submit_s[-1], mtbf_s=8_000, repair_s=2_000, seed=1
    )
    runs: dict[str, tuple[Any, Any, dict[str, Any]]] = {
        "strict": (plain, cluster(), {"policy": "fifo", "placement": "first-fit"}),
        "weights": (plain, cluster(), {"policy": "wspt"}),
        "preemption": (plain, cluster(), {"policy": "srtf:cost_s=2", "placement": "best-fit"}),
        "turns": (typed, cluster(), {"policy": "las:period_s=30", "placement": "spread"}),
        "pool": (plain, cluster(), {"policy": "sjf", "placement": "count"}),
        "lots": (plain, cluster(), {"policy": "random", "placement": "random", "seed": 5}),
        "estimates": (plain, cluster(), {"policy": "easy", "predictor": "estimate"}),
        "learned": (plain, cluster(), {"policy": "sjf", "predictor": "group-mean"}),
        "contention": (
            ringed,
            servers,
            {"policy": "fifo-skip", "placement": "spread", "speed": "ring", "contention": "shared"},
        ),
        "shares": (demanding(), roomy_cluster(), {"policy": "srtf", "placement": "gpu-packing"}),
        "resize": (due, cluster(), {"policy": "edf-fastest", "speed": "table"}),
        "migration": (due, cluster(), {"policy": "matching", "speed": "table"}),
        "promises": (due, cluster(), {"policy": "dancer", "speed": "table"}),
        "plans": (due, cluster(), {"policy": "elasticflow", "speed": "table"}),
        "failures": (frail, cluster(), {"policy": "srtf:cost_s=2", "outages": outages}),
        "limits": (frail, cluster(), {"policy": "fifo-skip", "placement": "best-fit"}),
        "holds": (_held(plain), cluster(), {"policy": "fifo-skip", "placement": "best-fit"}),
        "chains": (
            _held(plain),
            cluster(),
            {"policy": "srtf:cost_s=2", "kill_invalid_depend": True},
        ),
    }
    made = {}
    for name, (jobs, on, how) in runs.items():
        made[name] = stored(gs.simulate(jobs, on, **{"predictor": "oracle"} | how))
    made["cancelled"] = stored(_with_cancelled_jobs(plain))
    return made


def _held(jobs: gs.Trace) -> gs.Trace:
    """Return the jobs with dependencies, an array, eligible and cancel times, some together."""
    number = np.arange(len(jobs))
    kinds = {2: "afterok:{}", 4: "after:{}+1", 5: "afternotok:{}", 6: "afterany:{0}?afterok:{0}"}
    is_task = number % 3 == 0
    return jobs.with_columns(
        dependency=[kinds.get(job % 8, "").format(jobs.id[job - 1]) for job in number.tolist()],
        status=np.where(number % 4 == 1, "failed", "ok").tolist(),
        array=np.where(is_task, "tasks", "").tolist(),
        array_limit=np.where(is_task, 3, np.nan),
        eligible_s=np.where(number % 5 == 0, jobs.submit_s + 60, np.nan),
        cancel_at_s=np.where(number % 11 == 3, jobs.submit_s + 200, np.nan),
    )


def _with_cancelled_jobs(jobs: gs.Trace) -> gs.Result:
    run = gs.Simulation(jobs, cluster(), policy="fifo-skip", predictor="oracle")
    while not (run.state.num_waiting and run.state.num_running):
        run.step()
    run.cancel(int(run.state.waiting[-1]))
    run.cancel(int(run.state.running[0]))
    run.run()
    return run.result()


def stored(result: gs.Result) -> gs.Result:
    """Return a result whose schedule is made of arrays."""
    return rebuilt(result, schedule=StoredSchedule.of(result.schedule))


def rebuilt(result: gs.Result, **parts: Any) -> gs.Result:
    """Return a result with other parts; all that is computed of them is computed anew."""
    kept = {name: parts.get(name, getattr(result, name)) for name in ("trace", "spec", "schedule")}
    return gs.Result(
        kept["trace"], parts.get("cluster", result.cluster), kept["spec"], kept["schedule"],
        result.wall_s, clairvoyant=result.clairvoyant, prediction=result.prediction,
        outages=parts.get("outages", result.outages),
    )  # fmt: skip


def with_schedule(result: gs.Result, **columns: Any) -> gs.Result:
    """Return a result with other columns, and the digest of what it then is."""
    schedule = dataclasses.replace(result.schedule, **columns)
    digest = log_digest(schedule.intervals(), schedule.status, schedule.reason)
    return rebuilt(result, schedule=dataclasses.replace(schedule, digest=digest))


def with_jobs(result: gs.Result, **columns: Any) -> gs.Result:
    """Return a result of other jobs, and a specification that names them."""
    jobs = dataclasses.replace(result.trace, **columns)
    spec = msgspec.structs.replace(result.spec, trace=TraceSource.of(jobs))
    return rebuilt(result, trace=jobs, spec=spec)


def with_spec(result: gs.Result, **fields: Any) -> gs.Result:
    """Return a result whose specification says something else."""
    return rebuilt(result, spec=msgspec.structs.replace(result.spec, **fields))


def forged(result: gs.Result, rng: random.Random) -> Forged:
    """Every way to change a result."""
    yield from forged_logs(result, rng)
    yield from forged_columns(result, rng)
    yield from forged_specs(result)
    yield from forged_jobs(result, rng)
    yield from forged_remarks(result)
    yield from forged_decisions(result, rng)
    yield from forged_ends(result, rng)
    yield from forged_outages(result)


def forged_ends(result: gs.Result, rng: random.Random) -> Forged:
    """A job was killed or failed, or it was not, with the finish that this leaves."""
    schedule = result.schedule
    statuses = {"finished": FINISHED, "killed": KILLED, "failed": FAILED, "cancelled": CANCELLED}
    for name, code in statuses.items():
        others = np.flatnonzero((schedule.status != code) & (schedule.start_us >= 0))
        if not len(others):
            continue
        job = rng.choice(others.tolist())
        status, finish_us = schedule.status.copy(), schedule.finish_us.copy()
        rows = schedule.intervals()
        last_us = rows["end_us"][rows["job"] == job].max()
        status[job], finish_us[job] = code, last_us if code == FINISHED else -1
        yield f"status {name}", with_schedule(result, status=status, finish_us=finish_us)


def forged_outages(result: gs.Result) -> Forged:
    """The servers were up when they were down, and the specification names that."""
    outages = result.outages
    if outages is None:
        return
    rows = result.schedule.intervals()
    ends = {*zip(rows["server"].tolist(), rows["end_us"].tolist(), strict=True)}
    starts = zip(outages.server.tolist(), outages.start_us.tolist(), strict=True)
    hit = [start in ends for start in starts].index(True)
    for name, step in (("start_us", 1), ("start_us", -1), ("kind", 1), ("server", 1)):
        values = getattr(outages, name).copy()
        values[hit] += step
        changed = dataclasses.replace(outages, **{name: values})
        spec = msgspec.structs.replace(result.spec, outages=OutageSource.of(changed))
        yield f"outages {name} {step:+}", rebuilt(result, spec=spec, outages=changed)


def forged_logs(result: gs.Result, rng: random.Random) -> Forged:
    """One row of the log says something else; or a job is late from end to end."""
    rows = result.schedule.intervals()
    for name in LOG_COLUMNS:
        for step in (1, -1):
            changed = {column: values.copy() for column, values in rows.items()}
            index = rng.randrange(len(rows["job"]))
            value = int(changed[name][index])
            if name.endswith("_us"):
                step *= rng.choice([1, 10_000_000])
            most = 2**64 if name == "mask" else 2**62
            changed[name][index] = (value + step) % most
            yield f"log {name} {step:+}", with_schedule(result, rows=changed)
    for which in ("last", "middle"):
        late = delayed(result, which)
        if late is not None:
            yield f"{which} job an hour late", late


def delayed(result: gs.Result, which: str) -> gs.Result | None:
    """Return a result in which a job that ran in one go runs after the end of all, consistently."""
    schedule = result.schedule
    rows, finish_us = schedule.intervals(), schedule.finish_us
    once = np.bincount(rows["job"], minlength=len(finish_us)) == 1
    jobs = np.flatnonzero(once & (finish_us >= 0))
    if not len(jobs) or len(schedule.uncontended_us):
        return None
    by_start = jobs[np.argsort(schedule.start_us[jobs], kind="stable")]
    job = by_start[-1] if which == "last" else by_start[len(by_start) // 2]
    shift = HOUR_US if which == "last" else int(finish_us.max() - schedule.start_us[job])
    changed = {name: values.copy() for name, values in rows.items()}
    row = np.flatnonzero(rows["job"] == job)
    columns = {"start_us": schedule.start_us.copy(), "finish_us": finish_us.copy()}
    for name in ("start_us", "end_us"):
        changed[name][row] += shift
    for values in columns.values():
        values[job] += shift
    return with_schedule(result, rows=changed, **columns)


def forged_columns(result: gs.Result, rng: random.Random) -> Forged:
    """One job's figure is another."""
    for name in (*JOB_COLUMNS, *FAULT_COLUMNS, *HOLD_COLUMNS, "uncontended_us"):
        values = getattr(result.schedule, name).copy()
        if len(values):
            index = rng.randrange(len(values))
            values[index] = values[index] + 1 if name != "status" else (values[index] + 1) % 3
            yield f"column {name}", with_schedule(result, **{name: values})


def forged_specs(result: gs.Result) -> Forged:
    """The specification names something else."""
    spec = result.spec
    name = spec.policy.partition(":")[0]
    texts = {
        "policy": ("nobody", f"{name}:bogus=3", "las" if name != "las" else "srtf", "fifo"),
        "placement": ("nowhere", "consolidated:bogus=1"),
        "contention": ("nothing",),
        "speed": ("nonex", "fixed:bogus=1"),
        "predictor": ("prophet", "forest:bogus=1"),
        "version": ("9.9.9", "one"),
    }
    for field, values in texts.items():
        for value in values:
            if value != getattr(spec, field):
                yield f"spec {field} {value}", with_spec(result, **{field: value})
    if "random" in spec.policy + spec.placement:
        yield "spec seed", with_spec(result, seed=spec.seed + 1)
    for field, value in (
        ("sha256", "0" * 64),
        ("num_jobs", spec.trace.num_jobs + 1),
        ("first_submit_us", spec.trace.first_submit_us + 1),
        ("name", "another"),
    ):
        source = msgspec.structs.replace(spec.trace, **{field: value})
        yield f"spec trace {field}", with_spec(result, trace=source)
    yield "spec cluster", with_spec(result, cluster=gs.Cluster.uniform(3, 8))


def forged_jobs(result: gs.Result, rng: random.Random) -> Forged:
    """The jobs are others, and the specification names those."""
    jobs = result.trace
    index = rng.choice(np.flatnonzero(result.schedule.finish_us >= 0).tolist())
    for name in ("service_us", "gpus"):
        values = getattr(jobs, name).copy()
        values[index] += 1
        yield f"jobs {name}", with_jobs(result, **{name: values})
    submit_us = jobs.submit_us.copy()
    submit_us[-1] = result.schedule.finish_us.max() + 1
    yield "jobs submit_us", with_jobs(result, submit_us=submit_us)
    for name in ("eligible_us", "cancel_at_us", "array_limit"):
        values = getattr(jobs, name)
        if values is not None:
            later = np.where(values < 0, values, values + 1)
            yield f"jobs {name} +1", with_jobs(result, **{name: later})
            yield f"jobs without {name}", with_jobs(result, **{name: None})
    if jobs.dependency is not None:
        names = tuple(text.replace("afterok", "afterany") for text in jobs.dependency.names)
        any_end = dataclasses.replace(jobs.dependency, names=names)
        yield "jobs afterany", with_jobs(result, dependency=any_end)
        yield "jobs without dependency", with_jobs(result, dependency=None)
        yield "jobs without status", with_jobs(result, status=None)
        kills = not result.spec.kill_invalid_depend
        yield "spec kill_invalid_depend", with_spec(result, kill_invalid_depend=kills)
    if result.spec.policy == "wspt":
        yield "jobs weights reversed", with_jobs(result, weight=jobs.weight[::-1].copy())
    if result.spec.predictor == "estimate":
        yield "jobs estimates longer", with_jobs(result, estimate_us=jobs.estimate_us[::-1].copy())
    if jobs.deadline_us is not None and len(result.schedule.decisions()["job"]):
        due = jobs.deadline_us.copy()
        due[np.flatnonzero(due >= 0)[0]] = -1
        yield "jobs deadline", with_jobs(result, deadline_us=due)


def forged_remarks(result: gs.Result) -> Forged:
    """Counters and warnings say something else."""
    for name, count in result.schedule.counters.items():
        for value in (count + 1, 0 if count else 7):
            if name == "instants" and value > count:
                continue  # see test_what_no_audit_can_tell
            counters = {**result.schedule.counters, name: value}
            yield f"counter {name} {value - count:+}", with_schedule(result, counters=counters)
    said = tuple(result.schedule.warnings)
    yield "warning added", with_schedule(result, warnings=(*said, "all is well"))
    yield "warning of waiting", with_schedule(result, warnings=(*said, "2 jobs wait for ever"))
    if said:
        yield "warning dropped", with_schedule(result, warnings=said[1:])


def forged_decisions(result: gs.Result, rng: random.Random) -> Forged:
    """What was decided about a job is something else."""
    rows = dict(result.schedule.decisions())
    if not len(rows["job"]):
        return
    for name in DECISION_COLUMNS:
        changed = {column: np.array(values) for column, values in rows.items()}
        index = rng.randrange(len(changed["job"]))
        if name == "reason":
            changed[name] = changed[name].astype("U80")
            changed[name][index] = "because"
        elif name == "admitted":
            changed[name][index] = 1 - changed[name][index]
        else:
            old = changed[name][index]
            changed[name][index] = 3.5 if old == np.inf else old + (1 if name == "job" else 77)
        yield f"decision {name}", with_schedule(result, decision_rows=changed)


Auditor = Callable[[gs.Result], Any]


def campaign(
    seed: int, judge: Auditor, runs: Mapping[str, gs.Result] | None = None
) -> tuple[int, list[str]]:
    """Forge everything; return the number of forgeries and those that were passed by."""
    num_forged, passed = 0, []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, result in (runs or honest()).items():
            report = judge(result)
            if not report.ok:
                raise AssertionError(f"{name}: an honest run has problems: {report}")
            for what, forgery in forged(result, random.Random(f"{seed}/{name}")):
                num_forged += 1
                if judge(forgery).ok:
                    passed.append(f"{name}: {what}")
    return num_forged, passed


def main(arguments: list[str] | None = None) -> int:
    """Run the campaign; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--level", choices=LEVELS, default="log")
    given = parser.parse_args(arguments)
    num_forged, passed = campaign(given.seed, lambda result: result.audit(level=given.level))
    for what in passed:
        print(f"passed: {what}")
    print(f"{num_forged} forgeries, {num_forged - len(passed)} named, {len(passed)} passed by")
    return 1 if passed else 0


if __name__ == "__main__":
    sys.exit(main())
