"""What a sizing found: :class:`Sizing`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gpusched.base.wording import duration, plural
from gpusched.results.run_window import RunWindow
from gpusched.studies.sizing.goals import Goal, Goals
from gpusched.studies.sizing.server_kinds import ANY_GPU, ServerKinds
from gpusched.studies.sizing.size_confidence import FEW_BLOCKS, SizeConfidence
from gpusched.studies.sizing.sizing_runs import Counts, SizingRun

if TYPE_CHECKING:
    import polars

    from gpusched.clusters.cluster import Cluster
    from gpusched.results.result import Result
    from gpusched.traces.workload import Trace


@dataclass(frozen=True, eq=False, repr=False)
class Sizing:
    """The fewest servers that meet a goal, or the cheapest mix of them.

    Attributes
    ----------
    trace, goals, policy
        What was asked.
    kinds
        The servers that there are to choose from.
    counts
        Servers of each kind; None if no number of servers was found that meets the goals.
    most
        The largest counts that were looked at.
    runs
        All runs, in their order.
    falling
        Goals that more servers do not bring nearer: they are missed with ``most``.
    is_proven
        Whether no cheaper mix meets the goals, if more servers never hurt.
    result
        The run of the answer.
    nearest
        Without an answer: the run of the fewest servers, or the cheapest mix, that meet the goals
        that are not ``falling``, if there are such.
    confidence
        What the same weeks, drawn again, would have needed; None if they were not.
    window
        The part of each run that the goals are of; None: all of it.
    """

    trace: Trace
    goals: Goals
    policy: str
    kinds: ServerKinds
    counts: Counts | None
    most: Counts
    runs: tuple[SizingRun, ...]
    falling: tuple[Goal, ...]
    is_proven: bool
    result: Result | None
    nearest: SizingRun | None = None
    confidence: SizeConfidence | None = None
    window: RunWindow | None = None

    @property
    def servers(self) -> int | None:
        """All servers of the answer."""
        return None if self.counts is None else sum(self.counts)

    @property
    def cluster(self) -> Cluster | None:
        """The answer as a cluster."""
        return None if self.counts is None else self.kinds.cluster(self.counts)

    @property
    def hourly_price(self) -> float | None:
        """What an hour of the answer costs; None without an answer or without prices."""
        return None if self.counts is None else self._price(self.counts)

    @property
    def exceptions(self) -> tuple[SizingRun, ...]:
        """Runs that missed the goals with as many servers of each kind as the answer, or more.

        That is what shows that the metric is not monotone in the servers.
        """
        if self.counts is None:
            return ()
        return tuple(
            run
            for run in self.runs
            if not run.is_met
            and all(few <= many for few, many in zip(self.counts, run.counts, strict=True))
        )

    def table(self) -> polars.DataFrame:
        """Return the runs from the fewest GPUs to the most.

        Returns
        -------
        polars.DataFrame
            ``servers``, those of each type if there are several, ``gpus``, ``hourly_price``
            where there are prices, the metrics of the goals, ``jobs_without`` GPUs, ``is_met``
            and ``wall_s``.

        Examples
        --------
        >>> jobs = gs.Trace.from_columns([0, 0, 5], [60, 9, 9], [4, 1, 1])
        >>> found = gs.size(jobs, "mean_wait_s < 1 min", gpus_per_server=4, resamples=0)
        >>> found.table()["servers"][0]
        1
        """
        import polars as pl

        return pl.from_dicts([self._row(run) for run in self.runs]).sort("gpus", "servers")

    def to_dict(self) -> dict[str, Any]:
        """Return the answer and its runs as plain values that any JSON writer takes.

        Returns
        -------
        dict
            What is not known is None.

        Examples
        --------
        >>> jobs = gs.Trace.from_columns([0, 0, 5], [60, 9, 9], [4, 1, 1])
        >>> found = gs.size(jobs, "mean_wait_s < 1 min", gpus_per_server=4, resamples=0)
        >>> found.to_dict()["servers"]
        1
        """
        confidence = self.confidence
        counts = self.counts
        return {
            "goal": str(self.goals),
            "policy": self.policy,
            **({} if self.window is None else {"window": self.window.cuts}),
            "servers": self.servers,
            "counts": None if counts is None else dict(zip(self.kinds.types, counts, strict=True)),
            "cluster": None if self.cluster is None else str(self.cluster),
            "hourly_price": self.hourly_price,
            "is_proven": self.is_proven,
            "runs": self.table().fill_nan(None).to_dicts(),
            "confidence": None
            if confidence is None
            else {
                "resamples": len(confidence.meets),
                "block_s": confidence.block_s,
                "num_blocks": confidence.num_blocks,
                "share": confidence.share,
                "interval": confidence.interval and list(confidence.interval),
            },
            "notes": self.notes(),
        }

    def __str__(self) -> str:
        if self.cluster is None:
            return f"no number of servers was found with {self.goals} under {self.policy}"
        price = self.hourly_price
        cost = "" if price is None else f", {price:,.2f} an hour"
        return f"you need {self.cluster}{cost} for {self.goals} under {self.policy}"

    __repr__ = __str__

    def notes(self) -> list[str]:
        """Return what is to be known of the answer, a sentence each.

        Returns
        -------
        list of str
            How sure it is, and where more servers did not help.

        Examples
        --------
        >>> jobs = gs.Trace.from_columns([0, 0, 5], [60, 9, 9], [4, 1, 1])
        >>> found = gs.size(jobs, "mean_wait_s < 1 min", gpus_per_server=4, resamples=0)
        >>> found.notes()
        ['how sure that is was not looked at: no resamples, or too short a trace']
        """
        return list(self._notes())

    def _notes(self) -> Iterator[str]:
        most = self.kinds.cluster(self.most)
        if self.window is not None:
            yield f"metrics: of the runs {self.window}"
        for goal in self.falling:
            yield f"more servers do not help {goal}: {most} miss it"
        if self.counts is None:
            if self.nearest is not None:
                values = ", ".join(f"{key} {v:.4g}" for key, v in self.nearest.values.items())
                yield f"all other goals are met by {self._cluster(self.nearest)}, with {values}"
            return
        if len(self.counts) > 1:
            how = (
                "every cheaper one lies below a mix of the same types that missed the goal"
                if self.is_proven
                else "not proven: the most runs were made before every cheaper mix was ruled out"
            )
            yield f"cheapest of {plural(len(self.runs), 'run')}: {how}"
        if (missed := self.exceptions) and not self.falling:
            some = ", ".join(map(self._cluster, missed[:3]))
            yield f"not monotone: the goal was missed with more servers, too: {some}"
        yield from self._sure()

    def _sure(self) -> Iterator[str]:
        sure = self.confidence
        if sure is None:
            yield "how sure that is was not looked at: no resamples, or too short a trace"
            return
        number = len(sure.meets)
        yield (
            f"in {sure.share:.0%} of {number:,} traces of the same {sure.num_blocks} blocks of "
            f"{duration(sure.block_s)}, drawn again, that is enough"
        )
        if sure.interval is not None:
            low, high = sure.interval
            yield f"they need {low:,} to {high:,} servers (5th to 95th percentile)"
        if sure.num_blocks < FEW_BLOCKS:
            yield f"{sure.num_blocks} blocks are few: that range is rough, and likely too narrow"

    def _cluster(self, run: SizingRun) -> str:
        return str(self.kinds.cluster(run.counts))

    def _price(self, counts: Counts) -> float | None:
        price = self.kinds.price
        if price is None:
            return None
        return sum(one * count for one, count in zip(price, counts, strict=True))

    def _row(self, run: SizingRun) -> dict[str, Any]:
        kinds, row = self.kinds, {"servers": sum(run.counts)}
        if len(run.counts) > 1 or kinds.types != (ANY_GPU,):
            row |= dict(zip(kinds.types, run.counts, strict=True))
        row["gpus"] = sum(n * g for n, g in zip(run.counts, kinds.gpus, strict=True))
        priced = {} if kinds.price is None else {"hourly_price": self._price(run.counts)}
        return {
            **row,
            **priced,
            **run.values,
            "jobs_without": run.num_without,
            "is_met": run.is_met,
            "wall_s": run.wall_s,
        }
