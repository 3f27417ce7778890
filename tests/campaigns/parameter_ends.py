"""Every parameter of every plug-in at both ends of its range: the run ends, or is refused at once.

``python -m tests.campaigns.parameter_ends --jobs 100 10000 --seconds 120`` runs all of them.
"""

import argparse
import functools
import itertools
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import gpusched as gs
from gpusched.base.run_warning import unwarned
from gpusched.plugins.info import PluginInfo
from gpusched.plugins.policy import Choice
from tests.campaigns.workers import Tally, campaign
from tests.contract.values import COMPANIONS, Parameter, choice
from tests.golden.workload import curve, graph, lehmer

TYPES = ("V100", "K80", "P100")
NUM_TYPES = (1, 3)
GPUS = 8
PACE = {"V100": 8, "K80": 3, "P100": 5}
WIDTHS = (1, 1, 1, 1, 2, 2, 3, 4, 8, 16)
ENDED, REFUSED = "ended", "refused"


@dataclass(frozen=True)
class End:
    """A plug-in with one parameter at an end of its range, on so many jobs and GPU types."""

    info: PluginInfo
    parameter: Parameter
    value: Any
    num_jobs: int
    num_types: int

    @property
    def name(self) -> str:
        """What a report calls it."""
        told = f"{self.info.kind} {self.info.name}:{self.parameter['name']}={self.value}"
        return f"{told}, {self.num_jobs:,} jobs, {self.num_types} types"

    @property
    def chosen(self) -> Choice:
        """The plug-in, with what the value needs beside it."""
        name = self.parameter["name"]
        key = (name, self.value if isinstance(self.value, str) else None)
        return choice(self.info, **(COMPANIONS.get(key, {}) | {name: self.value}))

    @property
    def unit_s(self) -> float:
        """The unit of the jobs' times: with periods of a millisecond they are of milliseconds."""
        is_short = self.parameter["name"].endswith("_s") and self.value in SHORT_S
        return self.value if is_short else 1.0

    def check(self) -> str:
        """Return whether the run ended, or was refused before it began; else raise."""
        jobs = workload(self.num_jobs, self.num_types, self.unit_s)
        servers = cluster(self.num_jobs, self.num_types)
        with unwarned():
            try:
                run = gs.Simulation(jobs, servers, **options(self.chosen))
            except ValueError:
                return REFUSED
            run.run()
            result = run.result()
        if self.num_jobs <= FEW:
            result.audit().raise_if_bad()
        return ENDED


SHORT_S = (0.001,)
FEW = 100
"""So many jobs are audited as well."""


def ends_of(parameter: Parameter) -> list[Any]:
    """The values at the ends of its range; of a choice all."""
    kind = parameter["type"]
    if kind == "bool":
        return [False, True]
    if kind == "str":
        return list(parameter["choices"])
    bounds = (parameter["minimum"], parameter["least_positive"], parameter["maximum"])
    numbers = dict.fromkeys(bound for bound in bounds if bound is not None)
    if kind == "list":
        return [[float(number)] for number in numbers]
    return [int(number) if kind == "int" else float(number) for number in numbers]


def all_ends(
    num_jobs: Sequence[int], plug_ins: Iterable[PluginInfo] | None = None
) -> Iterator[End]:
    """Every parameter of the plug-ins, of all that are registered unless some are given."""
    if plug_ins is None:
        registries = (gs.policies(), gs.placements(), gs.speeds(), gs.contentions())
        plug_ins = [info for registry in registries for info in registry.values()]
    for jobs, info in itertools.product(num_jobs, plug_ins):
        if info.alias_of:
            continue  # its parameters are those of the policy that it stands for
        for parameter in info.parameters:
            for value, types in itertools.product(ends_of(parameter), NUM_TYPES):
                yield End(info, parameter, value, jobs, types)


def options(chosen: Choice) -> dict[str, Any]:
    """The run in which what was chosen has a say: with links, with widths, or with neither."""
    if isinstance(chosen, gs.Policy):
        if "elastic" in chosen.info.flags:
            return {"policy": chosen, "placement": "best-fit", "speed": "table"}
        if chosen.info.preempts:
            return {"policy": chosen, "placement": "best-fit", "speed": "fixed"}
        linked = {"speed": "ring", "contention": "shared"}
        return {"policy": chosen, "placement": "best-fit", **linked}
    if isinstance(chosen, gs.plugins.PlacementChoice):
        if "pooled" in chosen.info.flags:
            return {"policy": "srtf", "placement": chosen, "speed": "fixed"}
        linked = {"speed": "stages", "contention": "reserved"}
        return {"policy": "srtf", "placement": chosen, **linked}
    if isinstance(chosen, gs.plugins.SpeedChoice):
        return {"policy": "srtf", "placement": "spread", "speed": chosen}
    return {"policy": "srtf", "placement": "spread", "speed": "ring", "contention": chosen}


def cluster(num_jobs: int, num_types: int) -> gs.Cluster:
    """As many servers as those jobs keep busy, in equal parts of each type."""
    count = {True: 6, False: 36}[num_jobs <= FEW] // num_types
    return gs.Cluster(
        tuple(
            gs.ServerGroup(count, GPUS, gpu_type, nic_gbps=25, intra_gbps=300)
            for gpu_type in TYPES[:num_types]
        )
    )


@functools.lru_cache(maxsize=4)
def workload(num_jobs: int, num_types: int, unit_s: float = 1.0) -> gs.Trace:
    """Jobs of 1 to 57 units that come about as fast as the cluster can serve them.

    They have all that any plug-in looks at.
    """
    draws = lehmer(20_261_129)

    def below(bound: int) -> int:
        return next(draws) % bound

    gpus_in_all = cluster(num_jobs, num_types).num_gpus
    columns: dict[str, list[Any]] = {
        name: []
        for name in (
            "submit_s", "service_s", "gpus", "estimate_s", "weight", "checkpoint_s", "restart_s",
            "deadline_s", "value", "min_gpus", "max_gpus", "profile", "graph",
        )
    }  # fmt: skip
    widths = sorted(set(WIDTHS))
    clock = 0.0
    for _ in range(num_jobs):
        service, gpus = 1 + below(8) * below(9), WIDTHS[below(len(WIDTHS))]
        row = {
            "submit_s": clock,
            "service_s": service,
            "gpus": gpus,
            "estimate_s": max(1, service * (1 + below(12)) // 4),
            "weight": (1 + below(8)) / 4,
            "checkpoint_s": below(4) / 8,
            "restart_s": below(8) / 8,
            "deadline_s": clock + service * (4 + below(14)) / 4 if below(6) else float("nan"),
            "value": (1 + below(4)) / 2,
            "min_gpus": 1 + below(gpus),
            "max_gpus": gpus * (1 + below(4)),
            "profile": below(3),
            "graph": widths.index(gpus),
        }
        for name, value in row.items():
            columns[name].append(value)
        clock += below(2_000) / 1_000 * MEAN_GPU_S / gpus_in_all
    for name, values in columns.items():
        if name.endswith("_s"):
            columns[name] = [value * unit_s for value in values]
    return gs.Trace.from_columns(
        **columns, profiles=profiles(num_types), graphs=[graph_of(width) for width in widths]
    )


MEAN_GPU_S = 64.0
"""GPU seconds of a job, nearly: what comes in between two of them the cluster can just do."""


def graph_of(width: int) -> gs.model.JobGraph:
    """A job graph that computes alike on all types."""
    model = graph(width)
    stages = tuple(
        gs.model.Stage(
            replicas=stage.replicas,
            compute_s=1 / 16,
            parameter_bytes=stage.parameter_bytes,
            activation_bytes=stage.activation_bytes,
        )
        for stage in model.stages
    )
    return gs.model.JobGraph(model.name, stages)


def profiles(num_types: int) -> list[gs.model.JobProfile]:
    """Models with little to much communication, with figures for every speed that reads them."""
    types = TYPES[:num_types]
    return [
        gs.model.JobProfile(
            f"profile{i}", gradient_bytes=i * i * 300_000_000, batch=4, forward_s=1 / 64,
            backward_s={name: 1 / (2 * PACE[name]) for name in types},
            throughput={name: curve(PACE[name] - i, 1 + 4 * i, 64) for name in types},
            spread_throughput={types[0]: curve(PACE[types[0]] - i - 1, 2 + 4 * i, 64)},
            samples_per_s={name: 200 * PACE[name] - 50 * i for name in types}, global_batch=600 + i,
        )
        for i in range(3)
    ]  # fmt: skip


def main(arguments: Sequence[str] | None = None) -> int:
    """Run them all, each within the limit; return 1 if any failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, nargs="+", default=[100, 10_000])
    parser.add_argument("--seconds", type=float, default=120.0, help="limit of each run")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--only", default="", help="those whose names hold this text")
    given = parser.parse_args(arguments)
    ends = [end for end in all_ends(given.jobs) if given.only in end.name]

    def work(index: int) -> tuple[tuple[str, ...], str]:
        return (ends[index].info.name,), ends[index].check()

    num_shown = 0

    def show(tally: Tally) -> None:
        nonlocal num_shown
        for index, verdict in tally.failures[num_shown:]:
            print(f"{ends[index].name}: {verdict[:300]}", flush=True)
        num_shown = len(tally.failures)
        if sys.stderr.isatty():
            print(f"\r{tally.num_cases:,} of {len(ends):,}", end="", file=sys.stderr, flush=True)

    begin = time.monotonic()
    tally = campaign(work, range(len(ends)), given.processes, given.seconds, show)
    counts = ", ".join(f"{count:,} {verdict}" for verdict, count in sorted(tally.verdicts.items()))
    seconds, slowest = tally.slowest
    print(
        f"{len(ends):,} runs in {time.monotonic() - begin:,.0f} s: {counts}; "
        f"the slowest took {seconds:.1f} s ({ends[slowest].name})"
    )
    return 1 if tally.failures else 0


if __name__ == "__main__":
    sys.exit(main())
