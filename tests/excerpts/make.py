"""Writes the excerpts: made-up files in the formats of published ones.

python tests/excerpts/make.py    # the same bytes again and again
"""

from __future__ import annotations

import gzip
import io
import json
import tarfile
from collections.abc import Iterable
from datetime import datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

HERE = Path(__file__).resolve().parent
SEED = 2026
MODELS = ("ResNet-18 (batch size 16)", "ResNet-50 (batch size 128)", "LM (batch size 20)")
RATES = {"v100": 1.0, "p100": 0.6, "k80": 0.25}
WIDTHS = (1, 2, 4, 8)


def write(name: str, lines: Iterable[Any], head: str = "") -> None:
    """Write lines; a tuple is joined by commas."""
    rows = [head] * bool(head)
    rows += [line if isinstance(line, str) else ",".join(map(str, line)) for line in lines]
    path = HERE / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")


def itp(random: Random) -> None:
    """Six clusters, of 40 to 90 jobs, counted from one epoch."""
    for number, cluster in enumerate(("01", "02", "03", "05", "06", "10")):
        submit, rows = 100_000, []
        for job in range(40 + 10 * number):
            name = f"{random.getrandbits(32):08x}-made-up-{cluster}-{job:04}"
            rows.append((name, submit, random.randint(600, 40_000), 2 ** (job % 4)))
            submit += random.randint(0, 3_000)
        write(f"itp/cluster{cluster}.csv", rows, "job_id,submission_time,duration,num_gpu")


def philly(random: Random) -> None:
    """300 jobs, not in the order of time; every tenth row stands twice."""
    begin, rows = datetime(2017, 10, 4, 0, 33, 41), []
    for job in range(270):
        at = begin + timedelta(seconds=random.randint(0, 400_000) if job else 0)
        duration = float(int(random.lognormvariate(7, 1.6)) + 1)
        gpus = random.choice([1, 1, 1, 1, 2, 4, 8, 16]) if job else 128
        row = (at, duration, gpus, duration * gpus, random.choice(["11cb48", "6214e9", "0e4a51"]))
        rows += [row] * (2 if job % 9 == 1 else 1)
    random.shuffle(rows)
    write("philly/philly.csv", rows, "timestamp,duration,num_gpus,gpu_time,cluster")


def openb(random: Random) -> None:
    """24 servers, of which 4 have no GPU; 60 pods, shares and pending ones among them."""
    kinds = [("G2", 8, 96_000), ("T4", 2, 64_000), ("P100", 2, 64_000), ("V100M16", 4, 64_000)]
    servers: list[tuple[Any, ...]] = []
    for index in range(24):
        model, gpus, cpu = ("", 0, 32_000) if index % 6 == 0 else kinds[index % 4]
        servers.append((f"made-up-node-{index:04}", cpu, 262_144, gpus, model))
    write("openb/openb_node_list_all_node.csv", servers, "sn,cpu_milli,memory_mib,gpu,model")
    short, plain, typed = [], [], []
    for index in range(60):
        gpus = [1, 1, 1, 0, 2, 4, 1, 8, 1, 1][index % 10]
        milli = 0 if gpus == 0 else random.choice([250, 460, 500]) if index % 10 < 2 else 1000
        asked = (f"made-up-pod-{index:04}", 1000 * random.randint(1, 8) * max(gpus, 1),
                 1024 * random.randint(1, 8) * max(gpus, 1), gpus, milli)  # fmt: skip
        created = 500 * index + random.randint(0, 400)
        pending = index % 12 == 5
        wait = random.choice([0, 0, 0, 30])
        begun = "" if pending else created + wait
        ended = created + wait + random.randint(60, 90_000)
        phase = "Pending" if pending else random.choice(["Running", "Succeeded", "Failed"])
        rest = ("LS" if index % 2 else "BE", phase, created, ended, begun)
        names = "|".join(sorted({kinds[index % 4][0], kinds[(index + 1) % 4][0]}))
        short.append(asked)
        plain.append((*asked, "", *rest))
        typed.append((*asked, names if index % 3 == 0 and gpus else "", *rest))
    head = "name,cpu_milli,memory_mib,num_gpu,gpu_milli"
    whole = head + ",gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time"
    write("openb/openb_pod_list_default.csv", plain, whole)
    write("openb/openb_pod_list_gpuspec33.csv", typed, whole)
    write("openb/openb_pod_list_multigpu50.csv", short, head)


def gavel(random: Random) -> None:
    """Throughputs of three models, and a trace of each of the three kinds."""
    alone: dict[str, Any] = {}
    by_width: dict[str, Any] = {}
    for gpu_type, rate in RATES.items():
        alone[gpu_type], by_width[gpu_type] = {}, {}
        spread = by_width.setdefault(f"{gpu_type}_unconsolidated", {})
        for index, model in enumerate(MODELS):
            one = round(rate * (40 - 12 * index) * random.uniform(0.9, 1.1), 6)
            alone[gpu_type][model] = {"null": one, MODELS[0]: [one / 2, one / 3]}
            for width in WIDTHS:
                fits = not (gpu_type == "k80" and index == 1 and width > 1)
                speed = round(one * width**0.8, 6) if fits else 0.0
                key = f"('{model}', {width})"
                by_width[gpu_type][key] = {"null": speed, f"('{MODELS[0]}', 1)": [speed / 2, 1.0]}
                spread[key] = {"null": round(speed * 0.7, 6)}
    for name, table in (("oracle", alone), ("simulation", by_width)):
        write(f"gavel/{name}_throughputs.json", [json.dumps(table, indent=1, sort_keys=True)])

    def trace(name: str, jobs: int, widths: tuple[int, ...], is_long: bool) -> None:
        rows, arrival = [], 0.0
        for job in range(jobs):
            steps, width = random.randint(1_000, 90_000), widths[job % len(widths)]
            begin = [MODELS[job % 3], "python3 train.py"]
            if is_long:
                fields = [*begin, "made/up", "--steps", 1, steps, width, 1, "-1.000000", arrival]
            else:
                fields = [*begin, "--steps", 1, steps, arrival, width]
            rows.append("\t".join(map(str, fields)))
            arrival += round(random.expovariate(1 / 600), 6)
        write(f"gavel/traces/{name}.trace", rows)

    trace("artifact_evaluation", 15, (1, 2), True)
    trace("ee9e8c", 40, (1, 2, 4, 8, 16), False)
    trace("max_min_fairness", 24, (1, 1, 1), True)


def pollux(random: Random) -> None:
    """Two applications on servers of four GPUs."""
    for name, batches, slope in (("imagenet", (20, 50, 100, 200), 7e-3), ("bert", (4, 8, 12), 0.1)):
        rows, scaled = [], []
        for placement in ("1", "2", "3", "4", "11", "41", "44"):
            gpus = sum(map(int, placement))
            for batch in batches:
                sync = 0.001 + 0.02 * (gpus - 1) + 0.1 * (len(placement) - 1)
                step = slope * batch * random.uniform(0.98, 1.02) + sync
                rows.append((placement, batch, step, sync))
        for servers in (6, 8):
            for batch in batches:
                scaled.append((servers, 2 * servers, batch, slope * batch + 0.4, 0.4))
        head = "local_bsz,step_time,sync_time"
        write(f"pollux/{name}/placements.csv", rows, f"placement,{head}")
        write(f"pollux/{name}/scalability.csv", scaled, f"num_nodes,num_replicas,{head}")


def pai(random: Random) -> None:
    """30 machines in an archive, 6 of them without GPUs."""
    kinds = [("T4", 96, 512, 2), ("V100", 96, 384, 8), ("P100", 64, 512, 2), ("MISC", 96, 512, 8)]
    kinds.append(("CPU", 96, 512, 0))
    rows = [(f"{random.getrandbits(96):024x}", *kinds[index % 5]) for index in range(30)]
    text = "".join(",".join(map(str, row)) + "\n" for row in rows).encode()
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        entry = tarfile.TarInfo("pai_machine_spec.csv")
        entry.size = len(text)
        archive.addfile(entry, io.BytesIO(text))
    (HERE / "pai").mkdir(exist_ok=True)
    path = HERE / "pai" / "pai_machine_spec.tar.gz"
    path.write_bytes(gzip.compress(packed.getvalue(), mtime=0))
    write("pai/pai_machine_spec.header", ["machine,gpu_type,cap_cpu,cap_mem,cap_gpu"])


def lingjun(random: Random) -> None:
    """Nine groups of two to eight hosts below one switch."""
    rows = []
    for group in range(9):
        place = (f"G{group // 3}", f"P{group // 3}", f"S{group}")
        rows += [(f"{random.getrandbits(256):064x}", *place) for _ in range(2 + group % 7)]
    write("lingjun/topo.csv", rows, "ip,DSW,PSW,ASW")


def swf(random: Random) -> None:
    """100 jobs of a made-up machine; every 20th ran for no time."""
    lines = ["; Computer: made up", "; UnixStartTime: 1272639895", "; MaxProcs: 4096", ";"]
    submit = 0
    for job in range(1, 101):
        run = 0 if job % 20 == 0 else random.randint(1, 50_000)
        procs, status = 4096 if job == 7 else 2 ** random.randint(0, 7), 5 if job % 10 == 3 else 1
        fields = [job, submit, random.randint(0, 900), run, procs, -1, -1, procs, 86_400, -1]
        fields += [status, job % 5 + 1, job % 3 + 1, -1, 1, -1, -1, -1]
        lines.append(" ".join(f"{field:>5}" for field in fields))
        submit += random.randint(0, 400)
    text = "\n".join(lines) + "\n"
    (HERE / "swf").mkdir(exist_ok=True)
    path = HERE / "swf" / "RICC-2010-first20000.swf.gz"
    path.write_bytes(gzip.compress(text.encode(), mtime=0))


def peers(random: Random) -> None:
    """50 jobs under the names that are known without a map."""
    rows = [
        (job, 30 * job, random.randint(20, 4_000), 2 ** (job % 3), f"u{job % 7}")
        for job in range(50)
    ]
    write("peers/trace.csv", rows, "job_id,submit_s,duration_s,gpus,user")


def main() -> None:
    """Write all of them."""
    for make in (itp, philly, openb, gavel, pollux, pai, lingjun, swf, peers):
        make(Random(f"{SEED} {make.__name__}"))


if __name__ == "__main__":
    main()
