"""Make the files in examples/data: small logs, queues and tables of a made-up site.

python examples/make_data.py            # into examples/data next to this file
python examples/make_data.py FOLDER
"""

from __future__ import annotations

import json
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import gpusched as gs

START = datetime(2026, 3, 2, 9)
NOW = datetime(2026, 3, 9, 9)
SITE = gs.Cluster.uniform(servers=4, gpus=8, gpu_type="a100")
MODELS = ("bert", "resnet")
ACCOUNTS = {"ann": "vision", "bob": "speech", "cem": "vision", "dee": "speech"}


def main(folder: Path) -> None:
    """Write all files."""
    for part in (folder, folder / "slurm", folder / "kueue"):
        part.mkdir(parents=True, exist_ok=True)
    jobs = jobs_of_a_site(240)
    write_lines(folder / "jobs.csv", own_table(jobs))
    write_lines(folder / "sacct.txt", sacct(jobs[:120]))
    write_lines(folder / "throughputs.csv", throughputs())
    write_json(folder / "slurm" / "squeue.json", squeue())
    write_json(folder / "slurm" / "sinfo.json", {"nodes": [node(number) for number in range(1, 5)]})
    write_json(folder / "kueue" / "workloads.json", listed(workloads()))
    write_json(folder / "kueue" / "queues.json", listed(queues()))
    write_json(folder / "kueue" / "nodes.json", listed(kubernetes_nodes()))


def jobs_of_a_site(number: int) -> list[dict[str, Any]]:
    """Return jobs that ran first come, first served on the servers of the site."""
    made = gs.generate("helios", jobs=number, load=0.9, cluster=SITE, seed=1, model=1)
    submit, run = made.submit_s.astype(int), made.service_s.astype(int) + 1
    ran = gs.simulate(gs.Trace.from_columns(submit, run, made.gpus), SITE, policy="fifo").jobs
    users = tuple(ACCOUNTS)
    return [
        {
            "id": 1001 + job,
            "user": users[job * 7 % 11 % 4],
            "model": MODELS[job * 5 % 7 % 2],
            "submit": START + timedelta(seconds=int(submit[job])),
            "start": START + timedelta(seconds=int(ran.start_s[job])),
            "run": timedelta(seconds=int(run[job])),
            "gpus": int(made.gpus[job]),
        }
        for job in range(number)
    ]


def own_table(jobs: list[dict[str, Any]]) -> list[str]:
    """Write a CSV as a site has it: dates, and no run times."""
    return ["job_id,user,model,submit,start,end,gpus"] + [
        f"{job['id']},{job['user']},{job['model']},{job['submit']},{job['start']},"
        f"{job['start'] + job['run']},{job['gpus']}"
        for job in jobs
    ]


def sacct(jobs: list[dict[str, Any]]) -> list[str]:
    """Write what ``sacct --parsable2`` prints of these jobs, with steps, CPU jobs and failures."""
    lines = [
        "JobID|User|Account|Partition|QOS|Submit|Eligible|Start|End|ElapsedRaw|Timelimit|State|"
        "NNodes|ReqTRES|AllocTRES"
    ]
    for place, job in enumerate(jobs):
        state = ("COMPLETED", "COMPLETED", "COMPLETED", "FAILED", "CANCELLED by 1001")[place % 5]
        nodes = -(-job["gpus"] // 8)
        hours = int(job["run"].total_seconds()) // 3600 + 1 + place % 3
        limit = f"{hours // 24}-{hours % 24:02}:00:00"
        gpus = f",gres/gpu={job['gpus']},gres/gpu:a100={job['gpus']}" if place % 20 != 19 else ""
        tres = (
            f"billing={4 * job['gpus']},cpu={4 * job['gpus']},mem={32 * job['gpus']}G,node={nodes}"
        )
        times = "|".join(
            moment.isoformat()
            for moment in (job["submit"], job["submit"], job["start"], job["start"] + job["run"])
        )
        row = (
            f"{job['user']}|{ACCOUNTS[job['user']]}|gpu|normal|{times}|"
            f"{int(job['run'].total_seconds())}|{limit}|{state}|{nodes}|{tres}{gpus}|{tres}{gpus}"
        )
        lines.append(f"{job['id']}|{row}")
        if place % 10 == 0:
            step = row.split("|")
            lines.append("|".join([f"{job['id']}.batch", "", step[1], "", "", *step[4:]]))
    return lines


def throughputs() -> list[str]:
    """Write iterations per second of two models on two types of GPUs."""
    return ["model,gpu_type,gpus,iterations_per_s"] + [
        f"{model},{gpu_type},{gpus},{rate * speed * gpus * (1 - 0.02 * gpus):.3f}"
        for model, rate in (("resnet", 8.0), ("bert", 3.0))
        for gpu_type, speed in (("a100", 2.5), ("t4", 0.8))
        for gpus in (1, 2, 4, 8)
    ]


def unix(hours: float) -> dict[str, Any]:
    """Return a moment as Slurm 23 writes it: hours before now."""
    return number(int((NOW - timedelta(hours=hours)).replace(tzinfo=UTC).timestamp()))


def number(value: int) -> dict[str, Any]:
    """Return a number as Slurm 23 writes it."""
    return {"set": True, "infinite": False, "number": value}


RUNNING = (
    (2001, "ann", 4, 1, "0-3", 5.0),
    (2002, "bob", 8, 2, "0-7", 3.0),
    (2003, "cem", 2, 1, "4-5", 1.0),
)
WAITING = ((2004, "dee", 16), (2005, "ann", 2), (2006, "bob", 4), (2007, "cem", 1))


def squeue() -> dict[str, Any]:
    """Return what ``squeue --json`` prints: three jobs run, four wait."""

    def job(name: int, user: str, gpus: int, hours: float, **more: Any) -> dict[str, Any]:
        return {
            "job_id": name, "user_name": user, "account": ACCOUNTS[user], "partition": "gpu",
            "job_state": ["PENDING"], "state_reason": "Resources", "submit_time": unix(hours),
            "start_time": number(0), "end_time": number(0), "time_limit": number(60 * 8),
            "node_count": number(-(-gpus // 8)), "nodes": "", "gres_detail": [],
            "tres_req_str": f"cpu={4 * gpus},mem={32 * gpus}G,node={-(-gpus // 8)},gres/gpu={gpus}",
            "tres_alloc_str": "", **more,
        }  # fmt: skip

    jobs = [
        job(
            name, user, gpus, hours + 0.5, job_state=["RUNNING"], state_reason="None",
            start_time=unix(hours), end_time=unix(hours - 8), nodes=f"gpu0{server}",
            gres_detail=[f"gpu:a100:{gpus}(IDX:{index})"],
            tres_alloc_str=f"cpu={4 * gpus},mem={32 * gpus}G,node=1,gres/gpu={gpus},"
            f"gres/gpu:a100={gpus}",
        )
        for name, user, gpus, server, index, hours in RUNNING
    ]  # fmt: skip
    jobs += [
        job(name, user, gpus, 0.4 - 0.1 * row) for row, (name, user, gpus) in enumerate(WAITING)
    ]
    return {"jobs": jobs, "last_update": unix(0), "errors": []}


def node(server: int) -> dict[str, Any]:
    """Return a server as ``sinfo --json`` prints it; the last one is drained."""
    index = ",".join(held[4] for held in RUNNING if held[3] == server)
    used = sum(held[2] for held in RUNNING if held[3] == server)
    state = "MIXED" if 0 < used < 8 else "ALLOCATED" if used else "IDLE"
    return {
        "name": f"gpu0{server}", "state": [state, "DRAIN"] if server == 4 else [state],
        "partitions": ["gpu"], "cpus": 128, "real_memory": 1_048_576, "gres": "gpu:a100:8(S:0-1)",
        "gres_used": f"gpu:a100:{used}(IDX:{index or 'N/A'})",
    }  # fmt: skip


def thing(kind: str, name: str, spec: dict[str, Any], **more: Any) -> dict[str, Any]:
    """Return an object of Kueue."""
    at = {"name": name, "creationTimestamp": stamp(2)}
    if kind in ("Workload", "LocalQueue"):
        at["namespace"] = "vision"
    version = "kueue.x-k8s.io/v1beta1"
    return {"apiVersion": version, "kind": kind, "metadata": at, "spec": spec, **more}


def stamp(hours: float) -> str:
    """Return a moment as Kubernetes writes it: hours before now."""
    return (NOW - timedelta(hours=hours)).isoformat() + "Z"


def workloads() -> list[dict[str, Any]]:
    """Return one workload that runs and three that wait, of pods with 4 or 8 GPUs."""

    def workload(name: str, pods: int, gpus: int, **more: Any) -> dict[str, Any]:
        requests = {"requests": {"nvidia.com/gpu": str(gpus)}}
        spec = {"containers": [{"name": "train", "resources": requests}]}
        sets = [{"name": "main", "count": pods, "template": {"spec": spec}}]
        limit = {"queueName": "users", "podSets": sets, "maximumExecutionTimeSeconds": 4 * 3600}
        return thing("Workload", name, limit, **more)

    assigned = {
        "name": "main", "count": 2, "flavors": {"nvidia.com/gpu": "a100"},
        "resourceUsage": {"nvidia.com/gpu": "8"},
    }  # fmt: skip
    status = {
        "admission": {"clusterQueue": "research", "podSetAssignments": [assigned]},
        "conditions": [{"type": "Admitted", "status": "True", "lastTransitionTime": stamp(1)}],
    }
    return [
        workload("running", 2, 4, status=status), workload("wide", 3, 8), workload("narrow", 1, 4),
        workload("pair", 2, 4),
    ]  # fmt: skip


def queues() -> list[dict[str, Any]]:
    """Return a queue with a quota of 24 GPUs of one flavor."""
    quota = {"name": "a100", "resources": [{"name": "nvidia.com/gpu", "nominalQuota": 24}]}
    group = {"coveredResources": ["nvidia.com/gpu"], "flavors": [quota]}
    return [
        thing("ResourceFlavor", "a100", {"nodeLabels": {"gpu": "a100"}}),
        thing("ClusterQueue", "research", {"resourceGroups": [group]}),
        thing("LocalQueue", "users", {"clusterQueue": "research"}),
    ]


def kubernetes_nodes() -> list[dict[str, Any]]:
    """Return three servers as ``kubectl get nodes -o json`` prints them."""
    return [
        {
            "apiVersion": "v1", "kind": "Node",
            "metadata": {"name": f"gpu0{server}", "labels": {"gpu": "a100"}}, "spec": {},
            "status": {
                "allocatable": {"cpu": "128", "memory": "1048576Mi", "nvidia.com/gpu": "8"},
                "conditions": [{"type": "Ready", "status": "True"}],
            },
        }
        for server in (1, 2, 3)
    ]  # fmt: skip


def listed(items: list[dict[str, Any]]) -> dict[str, Any]:
    """Return a list of objects as kubectl prints it."""
    return {"apiVersion": "v1", "kind": "List", "items": items}


def write_lines(path: Path, lines: list[str]) -> None:
    """Write lines of text."""
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8", newline="\n")


def write_json(path: Path, value: Any) -> None:
    """Write JSON with an indent of one."""
    write_lines(path, [json.dumps(value, indent=1)])


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parent / "data")
