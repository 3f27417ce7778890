"""Random cases of the policies that have no readable twin."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import gpusched as gs
from tests.campaigns.trials import Lawful
from tests.reference.cases import Case, cases
from tests.reference.contention_cases import networks, profiles
from tests.reference.drawing import Source, flag
from tests.reference.elastic_cases import COUNTS, samples, throughputs
from tests.reference.policy_cases import Pools
from tests.reference.scales import SECOND, SHAPES

BINDING = ("sjf-bco", "ff", "ls", "rand")
"""Policies that choose GPUs themselves."""

MEASURED = ("matching", "allox", "optimus", "themis-greedy", "gavel", "themis", "afs", "gandiva")
BY_SLOT = ("chronus", "chronus-leases", "edf-fastest", "elasticflow", "dancer")
WITHOUT_TWIN = (*BINDING, *MEASURED, *BY_SLOT, "a-srpt-by-work", "edf-greatest")
UNITS = (1, 7, SECOND)

BIND: Pools = {
    "mode": ("idle", "queue"),
    "start": ("ready", "in-order"),
    "order": ("width", "submit"),
    "theta_s": (0.0, 1e-6, 3.0, 20.0, 9e9),
    "u": (1.0, 1.15, 1e6),
}
PARAMETERS: Mapping[str, Pools] = {
    **dict.fromkeys(BINDING, BIND),
    "sjf-bco": {
        **BIND,
        "kappa": (0, 1, 2, 4, 8, 2**31 - 1),
        "lambda": (1.0, 1.5, 3.0, 1e6),
        "tie": ("servers-first", "least-u"),
    },
    "allox": {"period_s": (0.0, 1.0, 5.0), "window": (1, 2, 128, 1024), "preempt": (False, True)},
    "chronus-leases": {"margin": (0.0, 0.1, 1.0), "plans": ("latest", "program")},
    "gandiva": {"slice_s": (1.0, 3.0, 1e9)},
    "themis": {"period_s": (1.0, 3.0, 1e9), "fairness": (0.0, 0.5, 1.0)},
    "themis-greedy": {"period_s": (1.0, 3.0, 1e9)},
}


def lawful_trial(source: Source) -> Lawful:
    """Return a case of a policy that chooses GPUs or types itself."""
    policy = source.one_of((*BINDING * 4, *MEASURED, *BY_SLOT))
    case = lawful_case(source, policy)
    return Lawful(at_speed(source, case, source.one_of(speeds_of(policy))))


def lawful_case(
    source: Source, policy: str, add: Callable[[Case], Case] = lambda case: case
) -> Case:
    """Return a case of such a policy at the fixed speed; ``add`` adds to it times in units."""
    case = cases.draw(source, policy, source.one_of(("consolidated", "first-fit", "random")),
                      scales=SHAPES)  # fmt: skip
    # Slots and periods are of seconds or more: in one, a job of a few ticks would be lost.
    case = add(case).at(source.one_of(UNITS) if policy in BINDING else 20 * SECOND)
    case = replace(case, policy_params=params_of(source, policy))
    if policy in (*BY_SLOT, "edf-greatest"):
        case = with_deadlines(source, case)
    return case


def params_of(source: Source, policy: str) -> dict[str, Any]:
    """Draw some of the parameters of a policy."""
    pools = PARAMETERS.get(policy, {})
    return {name: source.one_of(values) for name, values in pools.items() if flag(source)}


def with_deadlines(source: Source, case: Case) -> Case:
    """Return the case with deadlines from too early to late."""
    jobs = [
        replace(job, deadline_us=job.submit_us + job.service_us * source.between(1, 8) // 2 + 1)
        if source.between(0, 3)
        else job
        for job in case.jobs
    ]
    return replace(case, jobs=jobs)


def speeds_of(policy: str) -> tuple[str, ...]:
    """Return the speeds that a policy is tried at."""
    if policy in BINDING:
        return ("fixed", "fixed", "ring")
    flags = gs.policies()[policy].flags
    return ("fixed", "table", "proportional") if "elastic" in flags else ("fixed", "table")


def at_speed(source: Source, case: Case, speed: str) -> Case:
    """Return the case with what a speed reads of jobs and servers."""
    models: list[Any]
    if speed == "fixed":
        return case
    if speed == "ring":
        models, kind = [profiles.draw(source) for _ in range(2)], "profile"
        case = replace(
            case, network=networks.draw(source, len(case.servers)),
            contention=source.one_of(("none", "reserved", "shared")),
        )  # fmt: skip
    elif speed == "table":
        counts = source.one_of(COUNTS)
        models, kind = [throughputs.draw(source, counts) for _ in range(2)], "throughputs"
    else:
        models, kind = [samples.draw(source, False) for _ in range(2)], "samples"
    jobs = [replace(job, **{kind: source.one_of(models)}) for job in case.jobs]
    return replace(case, jobs=jobs, speed=speed)
