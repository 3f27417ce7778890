"""Several policies on one workload, in parallel threads: :func:`compare`."""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from gpusched._core import Placement
from gpusched.base.failures import raise_named
from gpusched.base.progress import OnProgress, Progress, checked
from gpusched.base.run_warning import warn
from gpusched.base.supervision import Cancelled, is_asked
from gpusched.clusters.cluster import Cluster
from gpusched.engine.prepare import check_memory, least_bytes
from gpusched.engine.seams import check_shared, own, placement_seam
from gpusched.engine.simulation import simulate_quietly as simulate
from gpusched.plugins.policy import ContentionChoice, PlacementChoice, SpeedChoice
from gpusched.plugins.policy_labels import AnyPolicy, runs_by_label
from gpusched.results.run_remarks import of_results
from gpusched.results.run_window import RunWindow
from gpusched.studies.comparison_result import Comparison as Comparison
from gpusched.studies.comparison_result import Interrupted as Interrupted

if TYPE_CHECKING:
    from gpusched.results.result import Result
    from gpusched.traces.workload import Trace

DEFAULT_POLICIES: Final = ("fifo", "fifo-skip", "sjf", "srtf", "2d-las", "easy")

# How often the waiting main thread looks up, so that Ctrl-C is never far away.
_POLL_SECONDS = 0.1
# How long a run may take to hear that it is to stop; one that does not is left behind.
_STOP_SECONDS = 0.5


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
    ends = threading.Event()

    def run(label: str, policy: AnyPolicy) -> Result:
        return simulate(
            trace,
            cluster,
            policy=policy,
            placement=own(placement) if len(runs) > 1 else placement,
            predictor=predictor,
            speed=speed,
            contention=contention,
            seed=seed,
            verify=verify,
            max_intervals=max_intervals,
            progress=None if watched is None else partial(watched.note, label),
            stop=ends,
        )

    def comparison_so_far() -> Comparison:
        done = {label: f.result() for f, label in futures.items() if _succeeded(f)}
        results = {label: result for label, result in done.items() if label not in failed}
        unfinished = tuple(label for label in runs if label not in {*results, *failed})
        return Comparison(trace, cluster, results, unfinished, failed, window, summaries)

    pool = ThreadPoolExecutor(threads, thread_name_prefix="gpusched")
    summaries: dict[str, dict[str, Any]] = {}
    failed: dict[str, Exception] = {}
    begun = {} if is_asked(stop) else runs
    futures = {pool.submit(run, label, policy): label for label, policy in begun.items()}
    try:
        _collect(futures, summaries, failed, stop, watched, {} if window is None else window.cuts)
    except (KeyboardInterrupt, _StopSeen) as error:
        ends.set()
        pool.shutdown(wait=False, cancel_futures=True)
        wait(futures, timeout=_STOP_SECONDS)
        found = comparison_so_far()
        if isinstance(error, KeyboardInterrupt):
            raise Interrupted(found) from None
        raise Cancelled(len(found.results), len(runs), "policies", found) from None
    finally:
        ends.set()
        pool.shutdown(wait=False, cancel_futures=True)
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

    def tell(self) -> None:
        for label, now in list(self._noted.items()):
            if now != self._told.get(label) and now.done < now.total:
                self._told[label] = now
                self._progress(now)

    def tell_end(self, label: str, total: int) -> None:
        self._noted.pop(label, None)
        self._progress(Progress(total, total, label))


class _StopSeen(Exception):
    """The stop that the user gave to :func:`compare` is set."""


def _collect(
    futures: Mapping[Future[Result], str],
    summaries: dict[str, dict[str, Any]],
    failed: dict[str, Exception],
    stop: threading.Event | None,
    watched: _Watched | None,
    cuts: Mapping[str, float | None],
) -> None:
    """Wait for all runs, and fill ``summaries`` and ``failed``.

    The summary of a run is computed while others go on: this thread has nothing else to do.
    """
    pending = set(futures)
    while True:
        if is_asked(stop):
            raise _StopSeen
        if not pending:
            return
        done, pending = wait(pending, timeout=_POLL_SECONDS, return_when=FIRST_COMPLETED)
        if watched is not None:
            watched.tell()
        for future in done:
            label = futures[future]
            try:
                summaries[label] = future.result().summary(**cuts)
            except Exception as error:
                failed[label] = error
            else:
                if watched is not None:
                    watched.tell_end(label, len(future.result().trace))


def _num_threads(threads: int | None, num_runs: int) -> int:
    if threads is None:
        threads = os.cpu_count() or 1
    if isinstance(threads, bool) or not isinstance(threads, int):
        raise TypeError(f"threads: expected an integer, not {threads!r}")
    if threads < 1:
        raise ValueError(f"threads: must be at least 1, not {threads}")
    return min(threads, num_runs)


def _succeeded(future: Future[Result]) -> bool:
    return future.done() and not future.cancelled() and future.exception() is None
