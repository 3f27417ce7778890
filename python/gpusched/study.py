"""Several policies on one workload, in parallel threads: :func:`compare`."""

from __future__ import annotations

import math
import os
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gpusched.policy import Policy
from gpusched.simulation import simulate

if TYPE_CHECKING:
    import polars as pl

    from gpusched.cluster import Cluster
    from gpusched.result import Result
    from gpusched.workload import Trace

DEFAULT_POLICIES = ("fifo", "fifo-skip", "sjf", "srtf", "2d-las", "easy")

# How often the waiting main thread looks up, so that Ctrl-C is never far away.
_POLL_SECONDS = 0.1


@dataclass(frozen=True)
class Comparison:
    """The results of several policies on one workload.

    Attributes
    ----------
    trace, cluster
        What all of them ran on.
    results
        One :class:`~gpusched.result.Result` per policy, by its canonical text, in the order asked.
    unfinished
        Policies that an interrupt cut off; empty otherwise.
    """

    trace: Trace
    cluster: Cluster
    results: Mapping[str, Result]
    unfinished: tuple[str, ...] = ()

    @cached_property
    def summaries(self) -> dict[str, dict[str, Any]]:
        """``Result.summary()`` of each policy."""
        return {label: dict(result.summary()) for label, result in self.results.items()}

    def table(self) -> pl.DataFrame:
        """One row per policy, one column per entry of ``Result.summary()``."""
        import polars as pl

        rows = [summary | {"policy": label} for label, summary in self.summaries.items()]
        return pl.from_dicts(rows, infer_schema_length=None)

    def jobs(self) -> pl.DataFrame:
        """The jobs of every policy below each other, led by a ``policy`` column."""
        import polars as pl

        labels = pl.Enum(list(self.results))
        frames = [
            result.to_polars().insert_column(0, _constant(label, labels, len(self.trace)))
            for label, result in self.results.items()
        ]
        return pl.concat(frames)

    def to_parquet(self, path: str | os.PathLike[str]) -> None:
        """Write :meth:`jobs` as one Parquet file."""
        self.jobs().write_parquet(Path(path))

    def to_dict(self) -> dict[str, Any]:
        """Everything the tables show, as plain values that any JSON writer takes.

        Undefined figures (the mean of no jobs) are None.
        """
        trace, cluster = self.trace, self.cluster
        return {
            "trace": {
                "name": trace.name,
                "source": str(trace.source),
                "num_jobs": len(trace),
                "num_rejects": int(trace.rejects.total),
            },
            "cluster": {
                "name": cluster.name,
                "description": str(cluster),
                "num_servers": int(cluster.num_servers),
                "num_gpus": int(cluster.num_gpus),
            },
            "results": [
                {key: _plain(value) for key, value in (summary | {"policy": label}).items()}
                for label, summary in self.summaries.items()
            ],
            "unfinished": list(self.unfinished),
            "warnings": {
                label: list(result.warnings)
                for label, result in self.results.items()
                if result.warnings
            },
        }


class Interrupted(KeyboardInterrupt):
    """Ctrl-C during :func:`compare`; ``comparison`` holds the policies that had finished."""

    def __init__(self, comparison: Comparison) -> None:
        super().__init__(f"interrupted before {', '.join(comparison.unfinished)} finished")
        self.comparison = comparison


def compare(
    trace: Trace,
    cluster: Cluster,
    policies: Sequence[str | Policy] = DEFAULT_POLICIES,
    *,
    placement: str = "consolidated",
    predictor: str = "oracle",
    seed: int = 0,
    threads: int | None = None,
    progress: Callable[[str, int, int], None] | None = None,
) -> Comparison:
    """Replay ``trace`` on ``cluster`` under each of ``policies``.

    The runs share the trace and are spread over threads; native policies release the GIL, so
    they are truly parallel. A run does not depend on the others or on the number of threads.

    Parameters
    ----------
    policies
        Names listed by :func:`gpusched.policies`, texts such as ``"2d-las:preset=lucid"`` or
        policy objects. Two that mean the same are refused.
    placement, predictor, seed
        As for :func:`gpusched.simulate`, the same for all.
    threads
        Runs at a time; None takes one per CPU.
    progress
        Called as ``progress(policy, jobs_done, jobs_total)``, from the threads of the runs.

    Raises
    ------
    ValueError, TypeError
        If the input is malformed; an error inside a run names its policy.
    Interrupted
        On Ctrl-C, within a second; a KeyboardInterrupt that carries the finished results.
    """
    runs = _by_label(policies)
    threads = _num_threads(threads, len(runs))
    stop = threading.Event()

    def run(label: str, policy: Policy) -> Result:
        result = simulate(
            trace,
            cluster,
            policy=policy,
            placement=placement,
            predictor=predictor,
            seed=seed,
            progress=None if progress is None else lambda done, total: progress(label, done, total),
            stop=stop,
        )
        result.summary()  # cached in the result: here, so that it is computed in parallel too
        return result

    with ThreadPoolExecutor(threads, thread_name_prefix="gpusched") as pool:
        futures = {label: pool.submit(run, label, policy) for label, policy in runs.items()}
        try:
            pending = set(futures.values())
            while pending and not _failed(futures):
                _, pending = wait(pending, timeout=_POLL_SECONDS, return_when=FIRST_EXCEPTION)
        except KeyboardInterrupt:
            _abandon(futures, stop)
            results = {label: f.result() for label, f in futures.items() if _succeeded(f)}
            unfinished = tuple(label for label in runs if label not in results)
            raise Interrupted(Comparison(trace, cluster, results, unfinished)) from None
        if failed := _failed(futures):
            _abandon(futures, stop)
            _raise_named(*failed[0])
    return Comparison(trace, cluster, {label: future.result() for label, future in futures.items()})


def _by_label(policies: Sequence[str | Policy]) -> dict[str, Policy]:
    """Parse the policies and key them by canonical text; refuse none, and one listed twice."""
    if isinstance(policies, (str, Policy)):
        raise TypeError(f"policies: expected a list of policies, not the single {policies!r}")
    runs: dict[str, Policy] = {}
    for entry in policies:
        policy = Policy.parse(entry) if isinstance(entry, str) else entry
        if not isinstance(policy, Policy):
            raise TypeError(f"policies: expected a name or a Policy, not {entry!r}")
        label = str(policy)
        if label in runs:
            raise ValueError(f"policies: {label!r} is listed twice")
        runs[label] = policy
    if not runs:
        raise ValueError("policies: at least one is needed")
    return runs


def _num_threads(threads: int | None, num_runs: int) -> int:
    if threads is None:
        threads = os.cpu_count() or 1
    if isinstance(threads, bool) or not isinstance(threads, int):
        raise TypeError(f"threads: expected an integer, not {threads!r}")
    if threads < 1:
        raise ValueError(f"threads: must be at least 1, not {threads}")
    return min(threads, num_runs)


def _failed(futures: Mapping[str, Future[Result]]) -> list[tuple[str, BaseException]]:
    ended = ((label, f.exception()) for label, f in futures.items() if f.done())
    return [(label, error) for label, error in ended if error is not None]


def _succeeded(future: Future[Result]) -> bool:
    return future.done() and not future.cancelled() and future.exception() is None


def _abandon(futures: Mapping[str, Future[Result]], stop: threading.Event) -> None:
    """Stop what runs, drop what has not begun, and wait for the threads to come home."""
    stop.set()
    for future in futures.values():
        future.cancel()
    wait(futures.values())


def _raise_named(label: str, error: BaseException) -> None:
    """Raise ``error`` with the policy in its message, or in a note where the type needs more."""
    if type(error) in (ValueError, TypeError, ImportError, RuntimeError):
        raise type(error)(f"policy {label}: {error}") from error
    error.add_note(f"in the run of policy {label}")
    raise error


def _constant(label: str, dtype: pl.Enum, length: int) -> pl.Series:
    import polars as pl

    return pl.repeat(label, length, dtype=dtype, eager=True).alias("policy")


def _plain(value: Any) -> Any:
    """NumPy scalars as Python values, and NaN or infinity, which JSON does not have, as None."""
    value = value.item() if hasattr(value, "item") else value
    return None if isinstance(value, float) and not math.isfinite(value) else value
