"""Several policies on one workload, in parallel threads: :func:`compare`."""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from gpusched._core import Placement
from gpusched.base.failures import raise_named
from gpusched.base.progress import OnProgress, Progress, checked
from gpusched.base.run_warning import warn
from gpusched.base.supervision import Cancelled
from gpusched.clusters.cluster import Cluster
from gpusched.engine.prepare import check_memory, least_bytes
from gpusched.engine.seams import check_shared, own, placement_seam
from gpusched.engine.simulation import simulate_quietly as simulate
from gpusched.execution.choosing import opened
from gpusched.execution.driver import run_tasks
from gpusched.plugins.policy import (
    AnyPolicy,
    ContentionChoice,
    PlacementChoice,
    SpeedChoice,
    runs_by_label,
)
from gpusched.results.run_remarks import of_results
from gpusched.results.run_window import RunWindow
from gpusched.studies.comparison_result import Comparison as Comparison
from gpusched.studies.comparison_result import Interrupted as Interrupted

if TYPE_CHECKING:
    from gpusched.results.result import Result
    from gpusched.traces.workload import Trace

DEFAULT_POLICIES: Final = ("fifo", "fifo-skip", "sjf", "srtf", "2d-las", "easy")
_MOST_THREADS: Final = 1_024


def compare(
    trace: Trace,
    cluster: Cluster,
    policies: Sequence[AnyPolicy] = DEFAULT_POLICIES,
    *,
    placement: str | PlacementChoice | Placement = "consolidated",
    predictor: str = "oracle",
    speed: str | SpeedChoice | None = None,
    contention: str | ContentionChoice = "none",
    seed: int = 0,
    warm_up_s: float | None = None,
    tail_s: float | None = None,
    threads: int | None = None,
    verify: bool = False,
    max_intervals: int | None = None,
    progress: OnProgress | None = None,
    stop: threading.Event | None = None,
) -> Comparison:
    """Replay ``trace`` on ``cluster`` under each of ``policies``.

    The runs share the trace and are spread over threads; native policies release the GIL, so
    they are truly parallel. A run does not depend on the others or on the number of threads.

    Parameters
    ----------
    policies
        Names listed by :func:`gpusched.policies`, texts such as ``"2d-las:preset=lucid"``, policy
        objects, or instances of a Python order or scheduler. One that is listed twice is refused;
        objects of one class that differ are told apart by the digits after an ``@``.
    placement, predictor, speed, contention, seed, verify, max_intervals
        As for :func:`gpusched.simulate`, the same for all; each run has a copy of its own of a
        placement written in Python.
    warm_up_s, tail_s
        Measure a part of each run, as :meth:`gpusched.Result.summary` does: every table,
        breakdown and report of the comparison is of it. The runs themselves are whole.
    threads
        Runs at a time; None takes one per CPU.
    progress
        As for :func:`gpusched.simulate`; its ``part`` is the policy.
    stop
        Ends the runs when it is set, as for :func:`gpusched.simulate`.

    Returns
    -------
    Comparison
        A result for each policy, and tables of all.

    Raises
    ------
    ValueError, TypeError
        If the input is malformed. An error inside a run names its policy and is raised when all
        other runs have finished: the attribute ``comparison`` of the error, whatever its type, is
        a :class:`Comparison` of those, and its ``failed`` has every error.
    MemoryError
        If all results together need more memory than there is, before a run begins.
    Cancelled
        If ``stop`` was set, within a second; its ``comparison`` holds the finished results.
    Interrupted
        On Ctrl-C, within a second; a KeyboardInterrupt that carries the finished results.

    Warns
    -----
    RunWarning
        As :func:`gpusched.simulate`, each distinct sentence once.

    Examples
    --------
    >>> cluster = gs.Cluster.uniform(servers=2, gpus=8)
    >>> trace = gs.generate("philly", 100, load=0.9, cluster=cluster, seed=1)
    >>> list(gs.compare(trace, cluster, ["fifo", "sjf"]).results)
    ['fifo', 'sjf']
    """
    runs = runs_by_label(policies)
    if not isinstance(cluster, Cluster):
        raise TypeError(f"cluster: expected a Cluster, not {cluster!r}")
    check_shared(trace, placement, predictor, speed, contention)
    window = RunWindow.checked(trace, warm_up_s, tail_s)
    progress = checked(progress)
    watched = None if progress is None else _Watched(progress)
    threads = _num_threads(threads, len(runs))
    is_pooled = placement_seam(placement).has("pooled")
    needed = len(runs) * least_bytes(trace, cluster, is_pooled=is_pooled)  # as all are kept
    warn(check_memory(needed, len(trace), len(runs)), stacklevel=2)

    def run(label: str) -> Result:
        return simulate(
            trace,
            cluster,
            policy=runs[label],
            placement=own(placement) if len(runs) > 1 else placement,
            predictor=predictor,
            speed=speed,
            contention=contention,
            seed=seed,
            verify=verify,
            max_intervals=max_intervals,
            progress=None if watched is None else partial(watched.note, label),
        )

    cuts = {} if window is None else window.cuts
    done: dict[str, Result] = {}
    summaries: dict[str, dict[str, Any]] = {}
    failed: dict[str, Exception] = {}

    def comparison_so_far() -> Comparison:
        results = {label: done[label] for label in runs if label in done}
        unfinished = tuple(label for label in runs if label not in {*results, *failed})
        return Comparison(trace, cluster, results, unfinished, failed, window, summaries)

    try:
        with opened(f"threads:{threads}") as backend:
            for label, result in run_tasks(
                run,
                list(runs),
                backend=backend,
                on_failure=failed.__setitem__,
                progress=None if watched is None else watched.tell,
                stop=stop,
            ):
                try:
                    summaries[label] = result.summary(**cuts)  # others go on meanwhile
                except Exception as error:
                    failed[label] = error
                    continue
                done[label] = result
                if watched is not None:
                    watched.tell_end(label, len(trace))
    except KeyboardInterrupt:
        raise Interrupted(comparison_so_far()) from None
    except Cancelled:
        found = comparison_so_far()
        raise Cancelled(len(found.results), len(runs), "policies", found) from None
    comparison = comparison_so_far()
    warn(of_results(comparison.results), stacklevel=2)
    if failed:
        named = {f"policy {label}": failed[label] for label in runs if label in failed}
        raise_named(named, comparison=comparison)
    return comparison


class _Watched:
    """What the threads of the runs note, and the calling thread tells."""

    def __init__(self, progress: OnProgress) -> None:
        self._progress = progress
        self._noted: dict[str, Progress] = {}
        self._told: dict[str, Progress] = {}

    def note(self, label: str, now: Progress) -> None:
        self._noted[label] = Progress(now.done, now.total, label)

    def tell(self, _: Progress) -> None:
        for label, now in list(self._noted.items()):
            if now != self._told.get(label) and now.done < now.total:
                self._told[label] = now
                self._progress(now)

    def tell_end(self, label: str, total: int) -> None:
        self._noted.pop(label, None)
        self._progress(Progress(total, total, label))


def _num_threads(threads: int | None, num_runs: int) -> int:
    if threads is None:
        threads = os.cpu_count() or 1
    if isinstance(threads, bool) or not isinstance(threads, int):
        raise TypeError(f"threads: expected an integer, not {threads!r}")
    if threads < 1:
        raise ValueError(f"threads: must be at least 1, not {threads}")
    return min(threads, num_runs, _MOST_THREADS)
