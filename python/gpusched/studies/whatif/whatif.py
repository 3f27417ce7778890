"""What a change would do to the jobs of a trace: :func:`whatif`."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from gpusched._core import Placement
from gpusched.base.field_checks import not_negative
from gpusched.base.progress import OnProgress
from gpusched.clusters.cluster import Cluster
from gpusched.engine.seams import check_shared
from gpusched.plugins.policy import ContentionChoice, PlacementChoice, Policy, SpeedChoice
from gpusched.plugins.policy_labels import AnyPolicy
from gpusched.results.run_window import RunWindow
from gpusched.studies.fidelity.base_cases import Setting, default_predictor
from gpusched.studies.fidelity.fidelity import (
    GPUS_PER_SERVER,
    RESOLUTION_S,
    fewest_servers,
    no_types,
)
from gpusched.studies.fidelity.likeness import Likeness, likeness
from gpusched.studies.fidelity.own_starts import has_starts, own_starts
from gpusched.studies.threaded_runs import in_threads
from gpusched.studies.whatif.outcome import outcome_of
from gpusched.studies.whatif.scenario import Change, Scenario, can_join, parse_changes
from gpusched.studies.whatif.whatif_result import WhatIf
from gpusched.traces.cluster_sizing import smallest_cluster, why_so_many

if TYPE_CHECKING:
    from gpusched.results.result import Result
    from gpusched.traces.workload import Trace

BASE: Final = "base"
TOGETHER: Final = "all together"


def whatif(
    trace: Trace,
    cluster: Cluster | None = None,
    base: AnyPolicy = "fifo",
    changes: Mapping[str, Any] | Sequence[str] = (),
    *,
    placement: str | PlacementChoice | Placement = "consolidated",
    predictor: str | None = None,
    speed: str | SpeedChoice | None = None,
    contention: str | ContentionChoice = "none",
    gpus_per_server: int = GPUS_PER_SERVER,
    resolution_s: float = RESOLUTION_S,
    warm_up_s: float | None = None,
    tail_s: float | None = None,
    seed: int = 0,
    threads: int | None = None,
    progress: OnProgress | None = None,
    stop: threading.Event | None = None,
) -> WhatIf:
    """Tell what changes to a base case would do: each alone, and all together.

    Where the trace has starts of its own, the base case is graded by how near it comes to them,
    as :func:`gpusched.fidelity` does; the answer carries that grade.

    Parameters
    ----------
    cluster
        Of the base case. None: equal servers; if the trace has starts of its own, as many as make
        jobs wait for as long on average as they did, else the fewest with load at most 0.9.
    base
        The policy of the base case.
    changes
        Texts ``"KEY=VALUE"``, or a mapping. Keys: ``policy``, ``placement``, ``predictor``,
        ``speed``, ``contention``; ``servers`` and ``gpus_per_server`` (``12``, ``+4``, ``-4``;
        ``servers[V100]`` where the cluster has several types); ``load`` (of the base cluster, or
        a factor ``*1.2``); ``estimates`` (``exact``, or a factor ``*2``).
    placement, predictor, speed, contention, seed
        Of the base case, as for :func:`gpusched.simulate`; ``predictor`` None: the estimates
        where every job has one, else the truth.
    gpus_per_server
        Without a cluster: GPUs of each server.
    resolution_s
        Jobs whose completion time changes by no more than this neither gain nor lose, and waits
        below it count as none for the grade, seconds.
    warm_up_s, tail_s
        Measure the part of each run that begins so many seconds after its first submission and
        ends so many before its last one, as :meth:`gpusched.Result.summary` does; who gains and
        who loses is counted among the jobs submitted then. The same part is graded. None: the
        measures are of the whole runs, and for the grade as much is left out as
        :func:`gpusched.fidelity` does.
    threads, progress, stop
        As for :func:`gpusched.compare`; ``progress`` counts runs.

    Returns
    -------
    WhatIf
        The measures of the base case and of the changes, with the grade.

    Raises
    ------
    ValueError
        If a change is malformed or cannot be made, a name is unknown, or jobs are restricted to
        GPU types and no cluster is named. An error in a run names its change.
    TypeError
        If an argument has another type.
    Cancelled
        If ``stop`` was set.

    Examples
    --------
    >>> import gpusched as gs
    >>> cluster = gs.Cluster.uniform(4, 8)
    >>> jobs = gs.generate("philly", 400, load=1.1, cluster=cluster, seed=3)
    >>> answer = gs.whatif(jobs, cluster, "fifo", ["policy=fifo-skip", "servers=+1"])
    >>> answer.difference("servers=+1", "mean_wait_s") < 0
    True
    >>> answer.no_grade
    'the trace has no starts of its own'
    """
    asked = parse_changes(changes)
    for change in asked:
        change.check(trace)
    resolution_s = not_negative("resolution_s", resolution_s, 2.0**43)
    window = RunWindow.checked(trace, warm_up_s, tail_s)
    policy = Policy.parse(base) if isinstance(base, str) else base
    known = default_predictor(trace) if predictor is None else predictor
    _check_names(trace, asked, placement, known, speed, contention)
    said: list[str] = []
    if cluster is None:
        cluster, how = _assumed(
            trace, policy, placement, known, speed, gpus_per_server, resolution_s,
            (warm_up_s, tail_s), seed, threads, stop,
        )  # fmt: skip
        said.append(f"cluster assumed: {cluster}, {how}")
    start = Scenario(trace, cluster, policy, placement, known, speed, contention, seed)
    scenarios = {BASE: start, **_changed(start, asked)}
    if len(asked) > 1 and TOGETHER not in scenarios:
        said.append("no row for all together: one thing is changed in several ways")
    runs = in_threads(
        {label: partial(_run, scenario) for label, scenario in scenarios.items()},
        threads=threads, progress=progress, stop=stop,
    )  # fmt: skip
    results = dict(runs)
    reference = results[BASE]
    outcomes = tuple(
        outcome_of(label, result, reference, resolution_s, window)
        for label, result in results.items()
    )
    if window is not None:
        said.append(f"measures: of the runs {window}, on the clock of each")
    like, why_not = _judged(reference, resolution_s, warm_up_s, tail_s)
    return WhatIf(
        trace,
        outcomes[0],
        outcomes[1:],
        like,
        None if like is None else like.grade,
        why_not,
        resolution_s,
        (*said, *_remarks(results)),
    )


def _check_names(
    trace: Trace,
    asked: Sequence[Change],
    placement: str | PlacementChoice | Placement,
    predictor: str,
    speed: str | SpeedChoice | None,
    contention: str | ContentionChoice,
) -> None:
    """Raise unless the base case and each change can be run, as far as names tell."""
    base: dict[str, Any] = {
        "placement": placement, "predictor": predictor, "speed": speed, "contention": contention,
    }  # fmt: skip
    check_shared(trace, **base)
    for change in asked:
        if change.key in base:
            try:
                check_shared(trace, **(base | {change.key: change.value}))
            except (ValueError, TypeError) as error:
                raise type(error)(f"change {change}: {error}") from None


def _run(scenario: Scenario, stop: threading.Event) -> Result:
    return scenario.run(stop)


def _changed(start: Scenario, asked: tuple[Change, ...]) -> dict[str, Scenario]:
    """Return the scenario of each change by its text, and that of all of them."""
    scenarios = {str(change): change.applied(start, start) for change in asked}
    if len(asked) > 1 and can_join(asked):
        joined = start
        for change in asked:
            joined = change.applied(joined, start)
        scenarios[TOGETHER] = joined
    return scenarios


def _assumed(
    trace: Trace,
    policy: AnyPolicy,
    placement: str | PlacementChoice | Placement,
    predictor: str,
    speed: str | SpeedChoice | None,
    gpus_per_server: int,
    resolution_s: float,
    cuts: tuple[float | None, float | None],
    seed: int,
    threads: int | None,
    stop: threading.Event | None,
) -> tuple[Cluster, str]:
    """Choose the cluster of the base case, and say why that one."""
    no_types(trace)
    if speed is None and has_starts(trace):
        own = own_starts(trace)
        try:
            window = own.window(*cuts)
        except ValueError:
            window = None
        if window is not None:
            setting = Setting(
                trace, own, window, resolution_s, policy, placement, predictor, (),
                fewest_servers(own, gpus_per_server), gpus_per_server, seed,
            )  # fmt: skip
            found = in_threads({BASE: setting.found}, threads=threads, stop=stop)[BASE]
            return found[0][0].cluster, "on which jobs wait most nearly as long as they did"
    chosen = smallest_cluster(trace, gpus_per_server)
    return chosen, why_so_many(trace, chosen, gpus_per_server)


def _judged(
    result: Result, resolution_s: float, warm_up_s: float | None, tail_s: float | None
) -> tuple[Likeness | None, str]:
    """Return how near the base case comes to what happened, or why nobody knows."""
    if not has_starts(result.trace):
        return None, "the trace has no starts of its own"
    own = own_starts(result.trace)
    try:
        window = own.window(warm_up_s, tail_s)
    except ValueError as error:
        if warm_up_s is not None or tail_s is not None:
            raise
        return None, str(error)
    return likeness(result, own, window, resolution_s), ""


def _remarks(results: Mapping[str, Result]) -> list[str]:
    """Say which jobs are not in the measures, and what the runs had to say."""
    said: dict[str, list[str]] = {}
    for label, result in results.items():
        left = len(result.trace) - int(np.count_nonzero(result.jobs.is_finished))
        texts = list(result.warnings)
        if left:
            texts.append(f"{left:,} jobs did not finish and are not in the measures")
        if result.clairvoyant:
            texts.append("clairvoyant (†): decides by the true service times")
        for text in texts:
            said.setdefault(text, []).append(label)
    return [f"{', '.join(labels)}: {text}" for text, labels in said.items()]
