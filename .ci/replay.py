"""Replays saved cases with the native tool and compares its digests with those of the package.

    python .ci/replay.py build/sanitize/gpusched-replay [OPTIONS OF THE TOOL]

The tool is built with sanitizers, which end it at the first fault: every policy, a choice of
placements and the options that take other paths through the core are run.
"""

from __future__ import annotations

import itertools
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np

import gpusched as gs
from gpusched import _core
from gpusched.specs.case import sealed, unsealed

PLACEMENTS = ("count", "consolidated", "consolidated-relaxed:kappa=1.5", "random")
OTHER_PLACEMENTS = ("first-fit", "best-fit", "worst-fit", "spread", "buddy", "topology", "fgd")
DEMANDING_PLACEMENTS = (
    "dot-product", "fgd", "gpu-packing", "gpu-clustering", "best-fit", "worst-fit", "first-fit",
    "consolidated", "random", "buddy", "topology",
)  # fmt: skip
OPTIONS = (
    "fifo-skip:scan=strict",
    "srtf:displace=true",
    "srtf:scan=strict,restart=work,cost_s=30",
    "srsf:epoch=period,period_s=300,cost_s=20,wide_cost_s=50,narrow_gpus=4",
    "las:period_s=600,quota=hold",
    "2d-las:preset=lucid",
    "2d-las:inside=entry,limits=100/1000/10000",
    "2d-las:promote=2",
    "serverfilling-srpt:displace=true",
)
SPEEDS = ("none", "reserved", "shared", "shared:degradation=0.4,scaling=0.8")
NUM_JOBS = 400

UNIFORM = gs.Cluster.uniform(servers=6, gpus=8)
MIXED = gs.Cluster(
    (
        gs.ServerGroup(2, 8, "V100"),
        gs.ServerGroup(3, 4, "T4"),
        gs.ServerGroup(1, 64, "A100"),
        gs.ServerGroup(2, 2, "V100"),
    )
)


def uniform_trace() -> gs.Trace:
    """An overloaded cluster: long queues, many preemptions."""
    return gs.generate("philly", jobs=NUM_JOBS, load=1.3, cluster=UNIFORM, seed=3)


def mixed_trace(*, typed: bool) -> gs.Trace:
    """Every optional column; ties, equal jobs and jobs that never fit."""
    random = np.random.default_rng(7)
    service_s = random.integers(1, 2_000, NUM_JOBS)
    names = ("", "V100", "T4", "A100", "V100|T4", "K80")
    return gs.Trace.from_columns(
        submit_s=np.sort(random.integers(0, 8_000, NUM_JOBS)),
        service_s=service_s,
        gpus=random.choice([1, 1, 2, 3, 4, 8, 12, 30, 101], NUM_JOBS),
        estimate_s=np.maximum(1, service_s * random.choice([0.3, 1.0, 4.0], NUM_JOBS)),
        weight=random.choice([0.5, 1.0, 2.0], NUM_JOBS),
        checkpoint_s=random.choice([0.0, 5.0], NUM_JOBS),
        restart_s=random.choice([0.0, 12.5], NUM_JOBS),
        gpu_types=random.choice(names, NUM_JOBS).tolist() if typed else None,
    )


def networked_results() -> Iterator[gs.Result]:
    """Runs at speeds that depend on who else is on the links."""
    profiles = [
        gs.model.JobProfile(f"{bytes_:g}", bytes_, batch=8, forward_s=0.005, backward_s=0.03)
        for bytes_ in (0.0, 1e8, 3e9)
    ]
    trace = uniform_trace().with_profiles(profiles, seed=5)
    flat = gs.Cluster.uniform(servers=6, gpus=8, nic_gbps=10, intra_gbps=200)
    staged = gs.traces.generating.assign_graphs(uniform_trace(), flat, seed=5)
    for policy, placement, contention in (
        ("a-srpt:queue=work,wait=loss", "heavy-edge", "reserved"),
        ("a-srpt:scan=strict", "heavy-edge:swaps=false,fill=fewest", "shared"),
        ("a-srpt-p:cost_s=5", "random", "none"),
    ):
        for speed in ("stages", "stages:micro_batches=4"):
            yield gs.simulate(
                staged, flat.with_racks(2, oversubscription=2.0), policy=policy,
                placement=placement, speed=speed, contention=contention,
            )  # fmt: skip
    for cluster in (flat, flat.with_racks(2, oversubscription=3.0)):
        for contention, policy in itertools.product(SPEEDS, ("fifo", "srtf:cost_s=9", "easy")):
            yield gs.simulate(
                trace, cluster, policy=policy, placement="spread", speed="ring",
                contention=contention,
            )  # fmt: skip


def demanding_results() -> Iterator[gs.Result]:
    """Runs of jobs that ask for shares of GPUs, CPU and memory."""
    random = np.random.default_rng(9)
    gpus = random.choice([1, 1, 1, 2, 4, 8, 12], NUM_JOBS)
    trace = gs.Trace.from_columns(
        submit_s=np.sort(random.integers(0, 8_000, NUM_JOBS)),
        service_s=random.integers(1, 2_000, NUM_JOBS),
        gpus=gpus,
        gpu_share=np.where(gpus == 1, random.choice([0.1, 0.25, 0.5, 1.0], NUM_JOBS), 1.0),
        cpu=random.choice([0.0, 1.0, 4.5], NUM_JOBS),
        memory_gib=random.choice([0.0, 8.0, 30.0], NUM_JOBS),
    )
    cluster = gs.Cluster(
        (
            gs.ServerGroup(4, 8, "V100", cpu=40, memory_gib=200, nic_gbps=10),
            gs.ServerGroup(3, 4, "T4", cpu=12, memory_gib=128, nic_gbps=10),
        )
    ).with_racks(3)
    for placement in DEMANDING_PLACEMENTS:
        for policy in ("fifo-skip", "easy", "srtf:cost_s=9"):
            yield gs.simulate(trace, cluster, policy=policy, placement=placement, seed=3)


def elastic_results() -> Iterator[gs.Result]:
    """Runs of jobs that change their widths, with deadlines."""
    random = np.random.default_rng(13)
    num_jobs = 80
    service_s = random.integers(60, 4_000, num_jobs)
    submit_s = np.sort(random.integers(0, 8_000, num_jobs))
    profiles = [
        gs.model.JobProfile(
            f"model{drag}",
            throughput={
                name: {n: pace * n / (1 + drag * n) for n in (1, 2, 4, 8)}
                for name, pace in (("V100", 4.0), ("T4", 1.0))
            },
            samples_per_s={"V100": 400.0, "T4": 100.0},
            global_batch=256,
        )
        for drag in (0.02, 0.3)
    ]
    trace = gs.Trace.from_columns(
        submit_s=submit_s,
        service_s=service_s,
        gpus=random.choice([1, 2, 4, 8], num_jobs),
        deadline_s=np.where(
            random.random(num_jobs) < 0.8, submit_s + service_s * random.uniform(0.5, 2), np.nan
        ),
        restart_s=np.full(num_jobs, 20.0),
        profiles=profiles,
        profile=random.integers(0, 2, num_jobs),
    )
    cluster = gs.Cluster((gs.ServerGroup(2, 8, "V100"), gs.ServerGroup(4, 4, "T4")))
    flags = {name: native_policies()[name].flags for name in native_policies()}
    policies = [name for name, own in flags.items() if {"elastic", "deadlines"} & set(own)]
    for policy, speed in itertools.product(
        (*policies, "fifo"), ("table", "proportional", "proportional:batches=integer,split=equal")
    ):
        yield gs.simulate(trace, cluster, policy=policy, placement="buddy", speed=speed)


def native_policies() -> dict[str, gs.plugins.PluginInfo]:
    """The policies that the tool knows: not those written in Python."""
    native = {info["name"] for info in _core.registry()}
    return {name: info for name, info in gs.policies().items() if name in native}


def results() -> Iterator[gs.Result]:
    """Run the cases in the package."""
    yield from networked_results()
    yield from demanding_results()
    yield from elastic_results()
    trace = uniform_trace()
    for policy, placement in itertools.product((*native_policies(), *OPTIONS), PLACEMENTS):
        if placement == "count" and chooses_gpus(policy):
            continue
        yield gs.simulate(trace, UNIFORM, policy=policy, placement=placement, seed=11)
    for placement in OTHER_PLACEMENTS:
        yield gs.simulate(trace, UNIFORM, policy="srtf", placement=placement)
    for policy in (*native_policies(), *OPTIONS):
        for predictor, placement in (("oracle", "consolidated"), ("estimate", "best-fit")):
            yield gs.simulate(
                mixed_trace(typed=True), MIXED,
                policy=policy, placement=placement, predictor=predictor,
            )  # fmt: skip
        if not chooses_gpus(policy):
            yield gs.simulate(mixed_trace(typed=False), MIXED, policy=policy, placement="count")


def chooses_gpus(policy: str) -> bool:
    """Whether the policy needs servers to choose from."""
    return "places" in gs.Policy.parse(policy).info.flags


def replay(tool: list[str], cases: list[Path]) -> tuple[int, dict[Path, str], str]:
    """Run the tool over all cases; return its exit code, a digest for each, and its messages.

    The messages may quote bytes of a damaged case.
    """
    listing = cases[0].parent / "cases.list"
    listing.write_text("".join(f"{case}\n" for case in cases), encoding="utf-8")
    done = subprocess.run(
        [tool[0], f"@{listing}", "--verify", "--seconds", "60", *tool[1:]],
        capture_output=True, check=False, encoding="utf-8", errors="replace",
    )  # fmt: skip
    rows = (line.split("  ", 1) for line in done.stdout.splitlines())
    return done.returncode, {Path(path): digest for digest, path in rows}, done.stderr


def check_whole(tool: list[str], folder: Path) -> int:
    """Each case has the digest that it has in the package; return how many there are."""
    expected: dict[Path, str] = {}
    labels: dict[Path, str] = {}
    for number, result in enumerate(results()):
        case = folder / f"{number:04}"
        result.save_case(case)
        expected[case] = result.digest
        labels[case] = f"{result.spec.policy} with {result.spec.placement}, {result.trace.name}"
    code, found, messages = replay(tool, list(expected))
    for case, digest in expected.items():
        assert found.get(case) == digest, f"{labels[case]}: {found.get(case)}\n{messages}"
    assert code == 0, f"exit code {code}\n{messages}"
    return len(expected)


def check_damaged(tool: list[str], case: Path, folder: Path) -> int:
    """A damaged case is a message and exit code 2, never a fault that a sanitizer reports.

    Also where length and SHA-256 in its head were made right again.
    """
    file = case.read_bytes()
    whole = unsealed(file)
    places = [*range(0, 240, 4), *range(240, len(whole), len(whole) // 60)]
    damaged = [whole[:at] for at in places]
    damaged += [whole[:at] + b"\xff" * 8 + whole[at + 8 :] for at in places]
    damaged = [sealed(content) for content in damaged]
    damaged += [file[:-1], file + b"\0", file[:200] + b"\xff" + file[201:]]
    cases = [folder / f"{number:04}" for number in range(len(damaged))]
    for path, content in zip(cases, damaged, strict=True):
        path.write_bytes(content)
    code, found, messages = replay(tool, cases)
    assert code == 2, f"exit code {code}\n{messages}"
    lines = [line for line in messages.splitlines() if line.startswith("gpusched-replay: ")]
    assert len(lines) >= sum(digest == "refused" for digest in found.values()), messages
    for path, content in zip(cases, damaged, strict=True):
        # What changed may still be a case, such as one with another seed.
        is_refused = found.get(path) == "refused"
        assert is_refused or (path in found and len(content) >= len(file)), f"{path}\n{messages}"
    return len(cases)


def main() -> None:
    tool = [str(Path(sys.argv[1]).resolve()), *sys.argv[2:]]
    with tempfile.TemporaryDirectory() as name:
        folders = [Path(name) / kind for kind in ("whole", "damaged")]
        for folder in folders:
            folder.mkdir()
        num_cases = check_whole(tool, folders[0])
        num_damaged = check_damaged(tool, max(folders[0].glob("[0-9]*")), folders[1])
    print(f"{num_cases} cases replayed, each with its digest; {num_damaged} damaged ones refused")


if __name__ == "__main__":
    main()
