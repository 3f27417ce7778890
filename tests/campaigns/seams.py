"""Which cases a campaign draws, by the seam that they are to wear out."""

from collections.abc import Callable, Mapping
from dataclasses import replace

import gpusched as gs
from gpusched.reference import BY_DEADLINE, CONTENTIONS, PLACEMENTS, POLICIES, PREEMPTIVE, orders
from gpusched.reference.packing import NAMES as PACKINGS
from gpusched.reference.packing import OWN
from tests.campaigns.lawful import WITHOUT_TWIN, lawful_case, lawful_trial
from tests.campaigns.trials import FastPath, Followed, Frail, Trial, Twin, Whimsical
from tests.reference.cases import Case, cases
from tests.reference.contention_cases import contended_cases
from tests.reference.demand_cases import demand_cases
from tests.reference.drawing import Seeded, Source
from tests.reference.elastic_cases import ELASTIC, elastic_cases
from tests.reference.fragmented_cases import fragmented_cases
from tests.reference.held_cases import held, with_holds
from tests.reference.large import deep_queues
from tests.reference.node_cases import node_cases
from tests.reference.outage_cases import ADOPTING, limited_cases, limits, outage_cases
from tests.reference.packing_cases import packing_cases
from tests.reference.part_cases import part_cases
from tests.reference.scales import SCALES, SECOND, SHAPES
from tests.reference.stage_cases import staged_cases

UNITS = (1, 7, SECOND)
SCHEDULERS = ("easy", "conservative", "ada-srsf", "a-srpt", "a-srpt-p", "2d-las")
SCHEDULERS += ("serverfilling-srpt",)
ORDERS = (*orders.NON_PREEMPTIVE, "srtf", "srsf", "las", *BY_DEADLINE)
ON_SERVERS = tuple(name for name in PLACEMENTS if name != "count")
FEW = ("fifo-skip", "easy", "srtf", "sjf", "llf", "a-srpt")


def of_order(source: Source) -> Trial:
    """An order under list scheduling, anywhere; a third asks for more than GPUs.

    Of one in six cases running jobs move to make room.
    """
    if source.between(1, 6) == 1:
        return Frail(fragmented_cases.draw(source))
    return Twin(any_case(source, source.one_of(ORDERS)))


def of_scheduler(source: Source) -> Trial:
    """A scheduler of its own; two in five have no readable twin."""
    if source.between(1, 5) <= 2:
        return lawful_trial(source)
    return Twin(any_case(source, source.one_of(SCHEDULERS)))


def any_case(source: Source, policy: str) -> Case:
    """Draw a case of a policy at the fixed speed."""
    if source.between(1, 3) == 1:
        return demand_cases.draw(source, policy, source.one_of(PACKINGS), scales=SCALES)
    return cases.draw(source, policy, source.one_of(PLACEMENTS), scales=SCALES)


def of_placement(source: Source) -> Trial:
    """Placements and packings, on servers with CPU, memory and domains."""
    policy = source.one_of(FEW)
    if source.between(1, 2) == 1:
        return Twin(cases.draw(source, policy, source.one_of(PLACEMENTS), scales=SCALES))
    packed = packing_cases.draw(source)
    has_demands = any(job.share_milli < 1000 or job.cpu_milli or job.memory_mib
                      for job in packed.jobs)  # fmt: skip
    return Twin(
        Case(
            jobs=packed.jobs, servers=packed.servers, policy=policy,
            placement=source.one_of(PACKINGS if has_demands else OWN), policy_params={},
            placement_params={}, seed=packed.seed, network=packed.network, room=packed.room,
        )
    )  # fmt: skip


def of_speed(source: Source) -> Trial:
    """Speeds that depend on the placement, under every contention."""
    policy, contention = source.one_of(POLICIES), source.one_of(tuple(CONTENTIONS))
    place = source.one_of(("heavy-edge", *ON_SERVERS))
    if source.between(1, 2) == 1:
        return Twin(staged_cases.draw(source, policy, place, contention, SCALES))
    return Twin(contended_cases.draw(source, policy, place, "ring", contention, SCALES))


def of_demands(source: Source) -> Trial:
    """Shares of GPUs, CPU and memory, whoever decides."""
    policy = source.one_of((*POLICIES, *PREEMPTIVE, *PREEMPTIVE, "serverfilling-srpt"))
    return Twin(demand_cases.draw(source, policy, source.one_of(PACKINGS), scales=SCALES))


def of_nodes(source: Source) -> Trial:
    """Jobs that want so many GPUs of each of their servers, whoever decides."""
    policy = source.one_of((*POLICIES, *PREEMPTIVE, *BY_DEADLINE))
    return Twin(node_cases.draw(source, policy, source.one_of(PACKINGS), scales=SCALES))


def of_parts(source: Source) -> Trial:
    """Servers that have GPUs of several types, whoever decides."""
    policy = source.one_of((*POLICIES, *PREEMPTIVE, *BY_DEADLINE))
    placement = source.one_of((*ON_SERVERS, *OWN))
    return Twin(part_cases.draw(source, policy, placement, scales=SCALES))


def of_outages(source: Source) -> Trial:
    """Outages under policies that decide by the state alone; a fifth has limits alone."""
    if source.between(1, 5) == 1:
        return of_limits(source)
    preemptive = [name for name in ADOPTING if name not in orders.NON_PREEMPTIVE]
    policy = source.one_of((*ADOPTING, *preemptive, *preemptive))
    speed = source.one_of(("fixed", "fixed", "fixed", "ring", "proportional", "table"))
    placement = source.one_of((*ON_SERVERS, *OWN) if speed == "fixed" else ON_SERVERS)
    return Frail(outage_cases.draw(source, policy, placement, speed, SCALES))


def of_limits(source: Source) -> Trial:
    """Checkpoints and time limits, whoever decides; a quarter of the jobs is elastic."""
    if source.between(1, 4) == 1:
        case = elastic_cases.draw(source, source.one_of((*ELASTIC, "ring")))
        jobs = [replace(job, **limits(source, case.unit)) for job in case.jobs]
        return Whimsical(replace(case, jobs=jobs), source.one_of(("replanned", "dealt")))
    policy, speed = source.one_of((*POLICIES, *BY_DEADLINE)), source.one_of(("fixed", "ring"))
    placement = source.one_of((*PLACEMENTS, *OWN) if speed == "fixed" else ON_SERVERS)
    return Frail(limited_cases.draw(source, policy, placement, speed, SCALES))


def of_holds(source: Source) -> Trial:
    """Jobs that are held, wait for each other, are cancelled and of any rank, under every policy.

    A third has outages, and three in ten a policy without a readable twin; a fifth goes by a trace.
    """
    if source.between(1, 10) <= 3:
        return followed_trial(source, source.one_of(WITHOUT_TWIN))
    if source.between(1, 7) <= 2:
        policy = source.one_of((*POLICIES, *BY_DEADLINE))  # seconds are too coarse for ages
        case = cases.draw(source, policy, source.one_of(PLACEMENTS), scales=SHAPES)
        return Twin(held(source, case, ("earlier", "later")))  # circles are refused
    trial = source.one_of((of_outages, of_outages, of_limits))(source)
    if isinstance(trial, Whimsical):
        jobs = with_holds(source, trial.case.jobs, unit=trial.case.unit)
        return replace(trial, case=replace(trial.case, jobs=jobs))
    assert isinstance(trial, Frail)
    return replace(trial, case=held(source, trial.case))


def followed_trial(source: Source, policy: str) -> Followed:
    """Return a case with such jobs of a policy without a readable twin."""
    case = lawful_case(source, policy, lambda case: held(source, case))
    if "places" in gs.policies()[policy].flags:  # then no placement is asked for rejections
        case = replace(case, placement="first-fit")
    return Followed(case)


def of_elastic(source: Source) -> Trial:
    """Jobs that are resized and migrated, in plans and by single actions."""
    speed = source.one_of((*ELASTIC, *ELASTIC, "fixed", "ring"))
    return Whimsical(elastic_cases.draw(source, speed), source.one_of(("replanned", "dealt")))


def of_fast_path(source: Source) -> Trial:
    """Preemptive policies on queues too deep for the readable engine, by their slow twins."""
    return FastPath(deep_queues.draw(source, source.one_of(PREEMPTIVE), source.one_of(PLACEMENTS)))


SEAMS: Mapping[str, Callable[[Source], Trial]] = {
    "order": of_order,
    "placement": of_placement,
    "speed": of_speed,
    "scheduler": of_scheduler,
    "demands": of_demands,
    "nodes": of_nodes,
    "parts": of_parts,
    "outages": of_outages,
    "holds": of_holds,
    "elastic": of_elastic,
    "fast-path": of_fast_path,
}


def trial_of(seam: str, seed: int, index: int) -> Trial:
    """Return one case of a campaign."""
    source = Seeded(f"{seam}/{seed}/{index}")
    trial = SEAMS[seam](source)
    if isinstance(trial, Twin):
        return replace(trial, case=trial.case.at(source.one_of(UNITS)))
    return trial
