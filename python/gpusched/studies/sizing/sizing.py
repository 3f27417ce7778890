"""How many servers a workload needs to reach a goal: :func:`size`."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from gpusched.base.field_checks import check_integer, check_positive
from gpusched.base.progress import OnProgress
from gpusched.clusters.server_group import MAX_SERVERS
from gpusched.plugins.policy import ContentionChoice, PlacementChoice, Policy, SpeedChoice
from gpusched.results.run_window import RunWindow
from gpusched.studies.sizing.cheapest_mix import cheapest_mix
from gpusched.studies.sizing.fewest import fewest
from gpusched.studies.sizing.goals import Goals
from gpusched.studies.sizing.server_kinds import ServerKinds
from gpusched.studies.sizing.size_confidence import size_confidence
from gpusched.studies.sizing.sizing_result import Sizing
from gpusched.studies.sizing.sizing_runs import Counts, SizingRuns
from gpusched.traces.cluster_sizing import smallest_cluster

if TYPE_CHECKING:
    from gpusched.traces.workload import Trace

_Holds = Callable[[Counts], bool]

MAX_RUNS: Final = 400
"""Runs after which the search for the cheapest mix ends without a proof."""
RESAMPLES: Final = 40
WEEK_S: Final = 7 * 86_400.0
# Where the search for the fewest servers begins.
_GUESSED_LOAD: Final = 0.7


def size(
    trace: Trace,
    goal: str | Goals,
    *,
    policy: str | Policy = "easy",
    types: Sequence[str] | None = None,
    prices: float | Mapping[str, float] | None = None,
    price_per: str = "gpu",
    gpus_per_server: int | Mapping[str, int] = 8,
    nic_gbps: float | None = None,
    intra_gbps: float | None = None,
    placement: str | PlacementChoice = "consolidated",
    predictor: str = "oracle",
    speed: str | SpeedChoice | None = None,
    contention: str | ContentionChoice = "none",
    seed: int = 0,
    warm_up_s: float | None = None,
    tail_s: float | None = None,
    max_servers: int | None = None,
    max_runs: int = MAX_RUNS,
    resamples: int = RESAMPLES,
    block_s: float = WEEK_S,
    threads: int | None = None,
    progress: OnProgress | None = None,
    stop: threading.Event | None = None,
) -> Sizing:
    """Find the fewest servers, or the cheapest mix of types, with which ``trace`` meets a goal.

    The fewest servers of one type are found by bisection, and their neighbours are run, too: more
    servers do not always help, and the answer says where they did not. The cheapest mix of several
    types is exact if more servers of the same types never hurt: every cheaper mix lies below one
    that was run and failed; where that took too many runs, the answer says so. How sure the answer
    is shows in traces that are made of the same weeks, drawn again with replacement.

    Parameters
    ----------
    goal
        Such as ``"p95_wait_s < 600"``: any metrics of :func:`gpusched.metrics` with ``<``, ``<=``,
        ``>`` or ``>=`` and a number, joined by ``and``. Every job must be run, too.
    types
        GPU types that servers may have; default: those of ``prices``, or one without a name.
    prices
        Of an hour, for all types or each; more than 0. Without prices, of several types the fewest
        GPUs are sought.
    price_per
        Of what an hour is priced: ``"gpu"`` or ``"server"``.
    gpus_per_server
        GPUs of each server, for all types or each.
    nic_gbps, intra_gbps
        Bandwidths of all servers, Gbit/s.
    policy, placement, predictor, speed, contention, seed
        As for :func:`gpusched.simulate`; the policy by its name or as a :class:`gpusched.Policy`.
    warm_up_s, tail_s
        Measure a part of each run, as :meth:`gpusched.Result.summary` does: the goal is of it.
        Every job must be run all the same.
    max_servers
        Of each type; default: as many as would be busy at once if no job ever waited.
    max_runs
        After so many runs the search for the cheapest mix ends without a proof.
    resamples, block_s
        How many traces of weeks drawn again, and the length of a "week", seconds. 0 draws none.
    threads
        Resamples at a time; None takes one per CPU.
    progress
        Called with a :class:`~gpusched.base.progress.Progress` of the resamples.
    stop
        Ends the call when it is set.

    Returns
    -------
    Sizing
        The answer, the runs that led to it, and how sure it is.

    Raises
    ------
    ValueError, TypeError
        If an argument is wrong, or some job may use none of the types; the message names it.
    Cancelled
        If ``stop`` was set, within a second.

    Examples
    --------
    >>> jobs = gs.generate("philly", 300, load=0.9, cluster=gs.Cluster.uniform(4))
    >>> found = gs.size(jobs, "p95_wait_s < 10 min", policy="fifo-skip", resamples=0)
    >>> found.cluster.num_servers == found.servers
    True
    """
    goals = Goals.parse(goal)
    if not isinstance(policy, str | Policy):
        raise TypeError(f"policy: expected a name or a gpusched.Policy, not {policy!r}")
    check_integer("resamples", resamples, 0, 1_000_000)
    check_integer("max_runs", max_runs, 1, 1_000_000)
    if threads is not None:
        check_integer("threads", threads, 1, 1_024)
    block_s = check_positive("block_s", block_s, 1.0, 1e10)
    kinds = ServerKinds.of(
        types, gpus_per_server, prices, price_per, nic_gbps=nic_gbps, intra_gbps=intra_gbps
    )
    options: dict[str, Any] = {
        "policy": str(Policy.parse(policy)) if isinstance(policy, str) else policy,
        "placement": placement,
        "predictor": predictor,
        "speed": speed,
        "contention": contention,
        "seed": seed,
    }
    window = RunWindow.checked(trace, warm_up_s, tail_s)
    if window is not None:
        goals.check_of_parts()
    runs = SizingRuns(trace, kinds, goals, options, stop, window)
    found = _searched(runs, _most(runs, max_servers), max_runs)
    if found.counts is None:
        return found
    confidence = size_confidence(
        runs,
        found.counts,
        resamples=resamples,
        block_s=block_s,
        seed=seed,
        threads=threads,
        progress=progress,
    )
    return replace(found, confidence=confidence)


def _most(runs: SizingRuns, max_servers: int | None) -> Counts:
    """Return the largest counts that are looked at; ValueError if they hold not every job."""
    limit = MAX_SERVERS // len(runs.kinds.types)
    if max_servers is not None:
        check_integer("max_servers", max_servers, 1, limit)
        most: Counts = (max_servers,) * len(runs.kinds.types)
    else:
        most = runs.kinds.most_useful(runs.trace)
    if not runs.has_room(most):
        many = " + ".join(f"{n:,} x {kind}" for n, kind in zip(most, runs.kinds.types, strict=True))
        what = "types" if max_servers is None else "max_servers"
        raise ValueError(
            f"{what}: {many} servers have no room for the widest job of every set of allowed "
            f"types; {runs.trace.name} has jobs for {_allowed(runs.trace)}"
        )
    return most


def _allowed(trace: Trace) -> str:
    sets = {"|".join(types) or "any type" for types in trace.type_sets} or {"any type"}
    return ", ".join(sorted(sets))


def _searched(runs: SizingRuns, most: Counts, max_runs: int) -> Sizing:
    """Search by the goals that more servers bring nearer, then look at the rest.

    Goals that are missed with the most servers, such as a least utilisation, do not guide the
    search: more servers cannot meet them, so that the fewest for the others are all there is.
    """
    roomy = runs.run(most)
    rising = Goals(tuple(g for g in runs.goals.goals if g.is_met(roomy.values[g.metric])))
    falling = tuple(goal for goal in runs.goals.goals if goal not in rising.goals)

    def holds(counts: Counts) -> bool:
        if not runs.has_room(counts):
            return False
        run = runs.run(counts)
        return run.num_without == 0 and rising.are_met(run.values)

    counts: Counts | None
    is_proven = True
    if not rising.goals and runs.goals.goals:
        counts = None
    elif len(most) == 1:
        counts = _fewest_servers(runs, most[0], holds)
    else:
        mix = cheapest_mix(holds, runs.kinds.weights, most, max_runs)
        counts, is_proven = (None, False) if mix is None else (mix.counts, mix.is_proven)
        if counts is not None:
            _look_around(counts, most, holds)
    nearest = None if counts is None else runs.run(counts)
    if nearest is not None and not nearest.is_met:
        counts = None
    return Sizing(
        trace=runs.trace,
        goals=runs.goals,
        policy=str(runs.options["policy"]),
        window=runs.window,
        kinds=runs.kinds,
        counts=counts,
        most=most,
        runs=tuple(runs.runs.values()),
        falling=falling,
        is_proven=is_proven,
        result=None if counts is None else runs.result(counts),
        nearest=nearest if counts is None else None,
    )


def _fewest_servers(runs: SizingRuns, most: int, holds: _Holds) -> Counts | None:
    (gpus,) = runs.kinds.gpus
    least = min(most, -(-int(runs.trace.gpus.max()) // gpus))
    guess = smallest_cluster(runs.trace, gpus, _GUESSED_LOAD).num_servers
    guess = min(max(guess, least), most)
    found = fewest(lambda servers: holds((servers,)), least, guess, most)
    return None if found is None else (found,)


def _look_around(counts: Counts, most: Counts, holds: _Holds) -> None:
    """Run the mixes with one server more or less of a kind, so that the table has them."""
    for kind, count in enumerate(counts):
        for other in (count - 1, count + 1):
            if 0 <= other <= most[kind]:
                neighbour = (*counts[:kind], other, *counts[kind + 1 :])
                if any(neighbour):
                    holds(neighbour)
