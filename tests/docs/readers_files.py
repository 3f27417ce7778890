"""The files that a reader of the docs has: small ones under the names that the pages use."""

import json
import shutil
from datetime import datetime, timedelta
from pathlib import Path

import gpusched as gs
from gpusched.online.states.state_formats import state_formats
from gpusched.traces.format_registry import trace_formats
from tests.docs.blocks import ROOT

EPOCH = datetime(2017, 10, 4)


def write(folder: Path) -> None:
    """Write all of them into ``folder``, beside the examples that a checkout has."""
    shutil.copytree(ROOT / "examples" / "data", folder / "examples" / "data")
    trace = gs.generate("philly", jobs=300, load=0.9, cluster=gs.Cluster.uniform(4, 8), seed=1)
    jobs = list(zip(trace.submit_s, trace.service_s, trace.gpus, strict=True))
    _lines(
        folder / "jobs.csv", "submit_s,service_s,gpus", (f"{s},{r},{min(g, 4)}" for s, r, g in jobs)
    )
    _lines(
        folder / "philly.csv",
        "timestamp,duration,num_gpus,gpu_time,cluster",
        (
            f"{EPOCH + timedelta(seconds=int(s))},{int(r) + 1}.0,{min(g, 4)},"
            f"{(int(r) + 1) * min(g, 4)}.0,11cb48"
            for s, r, g in jobs
        ),
    )
    _excerpts(folder)
    (folder / "cluster_job_log.json").write_text(
        json.dumps([_philly(i, *j) for i, j in enumerate(jobs)])
    )
    _lines(
        folder / "throughputs.csv",
        "model,gpu_type,gpus,iterations_per_s",
        (
            f"{model},{gpu_type},{gpus},{rate * gpus**0.9}"
            for model, rate in (("resnet", 8.0), ("bert", 3.0))
            for gpu_type in ("V100", "T4")
            for gpus in (1, 2, 4, 8)
        ),
    )
    gavel = {
        gpu_type: {
            f"('{model}', {gpus})": {"null": rate * gpus}
            for model, rate in MODELS
            for gpus in (1, 2, 4)
        }
        for gpu_type in ("v100", "p100", "k80")
    }
    (folder / "simulation_throughputs.json").write_text(json.dumps(gavel))
    rows = (f"{model}\tpython3 main.py\t--steps\t1\t9000\t0\t1\n" for model, _ in MODELS)
    (folder / "gavel.trace").write_text("".join(rows))
    _lines(
        folder / "openb_node_list_all_node.csv",
        "sn,cpu_milli,memory_mib,gpu,model",
        (f"s{i},96000,393216,8,V100M16" for i in range(8)),
    )
    _lines(
        folder / "openb_pod_list_default.csv",
        "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,"
        "deletion_time,scheduled_time",
        (
            f"p{i},4000,8192,1,{(300, 500, 1000)[i % 3]},,LS,Running,{i},{i + 9},{i}"
            for i in range(80)
        ),
    )


MODELS = (("ResNet-18 (batch size 64)", 8.0), ("LM (batch size 20)", 3.0))


def _excerpts(folder: Path) -> None:
    """Write what the formats show of themselves, where no larger file has its name."""
    for known in trace_formats().values():
        for name, data in known.excerpt().items():
            path = folder / name
            if not path.exists():
                path.write_bytes(data)
    nodes = [
        {"name": f"n{number}", "gres": "gpu:a100:8(S:0-1)", "cpus": 128, "real_memory": 1_048_576,
         "state": state}
        for number, state in enumerate((["IDLE"], ["MIXED"], ["DOWN", "DRAIN"]))
    ]  # fmt: skip
    (folder / "sinfo.json").write_text(json.dumps({"nodes": nodes}))
    (folder / "now").mkdir()
    for name, data in state_formats()["slurm"].excerpt().items():
        (folder / "now" / name).write_bytes(data)


def _lines(path: Path, header: str, rows) -> None:
    path.write_text("\n".join([header, *rows]) + "\n", encoding="utf-8")


def _philly(number: int, submit_s: float, service_s: float, gpus: int) -> dict:
    start = EPOCH + timedelta(seconds=int(submit_s))
    servers = [{"ip": "m0", "gpus": [f"gpu{k}" for k in range(min(int(gpus), 8))]}]
    return {
        "status": "Pass",
        "vc": "ee9e8c",
        "jobid": f"application_{number}",
        "user": f"user{number % 7}",
        "submitted_time": str(start),
        "attempts": [
            {
                "start_time": str(start),
                "end_time": str(start + timedelta(seconds=int(service_s) + 1)),
                "detail": servers,
            }
        ],
    }
