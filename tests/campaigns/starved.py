"""Lets every allocation of small runs fail in turn, and holds what is left to the tool.

    python -m tests.campaigns.starved build/sanitize/gpusched-starve [--jobs 24] [--most N]

A case of each native policy, with and without elastic jobs, deadlines, links and demands. The
tool reads it, runs it and takes its digest as often as that allocates, and lets another allocation
fail each time (of `--most`, evenly over all): the error must be std::bad_alloc, all memory be given
back, and the next run be as before. Built with AddressSanitizer it is held to what that sees, too.
"""

import argparse
import subprocess
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np

import gpusched as gs
from gpusched import _core

CLUSTER = gs.Cluster(
    (
        gs.ServerGroup(2, 4, "V100", cpu=16, nic_gbps=10, intra_gbps=200),
        gs.ServerGroup(2, 2, "T4", cpu=8, nic_gbps=10, intra_gbps=200),
    )
)


def policies() -> dict[str, gs.plugins.PluginInfo]:
    """The policies that the tool knows."""
    native = {info["name"] for info in _core.registry()}
    return {name: info for name, info in gs.policies().items() if name in native}


def is_elastic(info: gs.plugins.PluginInfo) -> bool:
    """Whether its jobs have throughputs and no demands."""
    return bool({"elastic", "deadlines"} & set(info.flags))


def trace_of(jobs: int, *, elastic: bool, many: bool = False) -> gs.Trace:
    """Jobs that queue, some with deadlines; elastic ones have throughputs, others ask for CPU.

    Of many jobs half come at once.
    """
    random = np.random.default_rng(5)
    submit_s = np.sort(random.integers(0, 3000 if many else 300, jobs))
    service_s = random.integers(10, 40_000 if many else 400, jobs)
    if many:
        submit_s[: jobs // 2] = 0
    profiles = [
        gs.model.JobProfile(
            "model", 1e8, batch=8, forward_s=0.005, backward_s=0.03,
            samples_per_s={"V100": 4, "T4": 1},
            throughput={"V100": {1: 4.0, 2: 7.0, 4: 11.0}, "T4": {1: 1.0, 2: 1.6}}, global_batch=64,
        )
    ]  # fmt: skip
    return gs.Trace.from_columns(
        submit_s, service_s, random.choice([1, 1, 2, 4], jobs),
        deadline_s=np.where(random.random(jobs) < 0.7, submit_s + 3.0 * service_s, np.nan),
        restart_s=np.full(jobs, 5.0),
        cpu=None if elastic else random.choice([0.0, 2.0], jobs),
        profiles=profiles,
        profile=np.zeros(jobs, np.int64),
    )  # fmt: skip


def results(jobs: int) -> Iterator[gs.Result]:
    """Run the cases in the package."""
    plain, elastic = trace_of(jobs, elastic=False), trace_of(jobs, elastic=True)
    for name, info in policies().items():
        has_cpu = not is_elastic(info) and "places" not in info.flags
        yield gs.simulate(
            plain if has_cpu else elastic, CLUSTER, policy=name,
            placement="buddy" if is_elastic(info) else "best-fit",
            speed="table" if is_elastic(info) else "fixed",
        )  # fmt: skip
    for contention in ("none", "reserved", "shared"):
        yield gs.simulate(
            elastic, CLUSTER, policy="srtf", placement="spread", speed="ring", contention=contention
        )
    flat = gs.Cluster.uniform(servers=3, gpus=4, nic_gbps=10, intra_gbps=200)
    trace = gs.generate("philly", jobs, cluster=flat, seed=5)
    staged = gs.traces.generating.assign_graphs(trace, flat)
    yield gs.simulate(
        staged, flat, policy="a-srpt", placement="heavy-edge", speed="stages", contention="reserved"
    )
    for placement in ("consolidated", "fgd", "dot-product", "topology", "random"):
        yield gs.simulate(plain, CLUSTER, policy="easy", placement=placement)


def check(tool: Path, jobs: int, most: int) -> subprocess.CompletedProcess[str]:
    """Write the cases and run the tool over them."""
    with tempfile.TemporaryDirectory() as name, warnings.catch_warnings():
        warnings.simplefilter("ignore", gs.RunWarning)
        for number, result in enumerate(results(jobs)):
            result.save_case(Path(name) / f"{number:02}-{result.spec.policy.partition(':')[0]}")
        command = [tool, name, *([str(most)] if most else [])]
        return subprocess.run(command, capture_output=True, text=True, check=False)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("tool", type=Path)
    parser.add_argument("--jobs", type=int, default=24)
    parser.add_argument("--most", type=int, default=0)
    given = parser.parse_args()
    done = check(given.tool, given.jobs, given.most)
    print(done.stdout, end="")
    print(done.stderr, end="")
    counts = [line.split() for line in done.stdout.splitlines()]
    failed = sum(int(words[0]) for words in counts)
    borne = sum(int(words[5]) for words in counts)
    print(f"{len(counts)} cases: {failed:,} allocations failed, {borne:,} of them borne")
    raise SystemExit(done.returncode)


if __name__ == "__main__":
    main()
