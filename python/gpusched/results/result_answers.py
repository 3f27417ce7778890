"""What a result is asked for beside its metrics: who waits, what it cost, what happened to one."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    import polars

    from gpusched.results.breakdown import JobTimes
    from gpusched.results.cost import Cost
    from gpusched.results.explain import Explanation
    from gpusched.results.run_log import RunLog
    from gpusched.results.run_window import RunWindow


class ResultAnswers:
    """Methods of :class:`~gpusched.results.result.Result`."""

    @cached_property
    def _job_times(self) -> JobTimes:
        from gpusched.results.breakdown import JobTimes

        return JobTimes.of(cast("RunLog", self))

    @cached_property
    def _breakdowns(self) -> dict[tuple[str, RunWindow | None], polars.DataFrame]:
        return {}

    def by(
        self,
        by: str,
        *,
        warm_up_s: float | None = None,
        tail_s: float | None = None,
    ) -> polars.DataFrame:
        """Break the jobs down by what they are or where they ran, a row for each group.

        Parameters
        ----------
        by
            ``"gpus"``: jobs of 1, of 2-8 and of 9+ GPUs (of less than one, where jobs share
            them). ``"user"``, ``"queue"``, ``"group"``: as the trace names them. ``"type"``: the
            GPU types that a job ever held, several as ``A100 + V100``. ``"month"``: of the
            submission, such as ``2017-10``; days 0-29, 30-59 and so on of a trace that knows no
            wall-clock time.
        warm_up_s, tail_s
            Count the jobs only that are submitted so long after the first and before the last
            submission, as for :meth:`gpusched.Result.summary`.

        Returns
        -------
        polars.DataFrame
            Column ``by``, ``num_jobs``, ``num_finished``; the mean, p50, p90, p95 and p99
            (nearest-rank) of wait and JCT of the finished jobs, such as ``p95_wait_s``, seconds,
            null where none finished; ``gpu_hours`` held by all its jobs. Groups without jobs are
            left out. Widths and months stand in their own order, all else by GPU hours, the most
            first.

        Raises
        ------
        ValueError
            If ``by`` is unknown (the nearest is suggested), the trace has no such column, or no
            job is left in between.
        TypeError
            If it is not text, or a time is no number.

        Examples
        --------
        >>> cluster = gs.Cluster.uniform(4)
        >>> jobs = gs.generate("philly", 200, load=0.9, cluster=cluster)
        >>> gs.simulate(jobs, cluster, policy="easy").by("gpus").columns[:3]
        ['gpus', 'num_jobs', 'num_finished']
        """
        from gpusched.results.breakdown import breakdown
        from gpusched.results.run_window import RunWindow

        log = cast("RunLog", self)
        window = RunWindow.checked(log.trace, warm_up_s, tail_s)
        if not isinstance(by, str) or (by, window) not in self._breakdowns:
            self._breakdowns[by, window] = breakdown(log, self._job_times, by, window)
        return self._breakdowns[by, window].clone()

    def cost(self: RunLog, prices: float | Mapping[str, float]) -> Cost:
        """Return the GPU hours by type and what they cost.

        Parameters
        ----------
        prices
            Of an hour of one GPU: one for all, or one for each GPU type of the cluster. 0 or
            more, in any currency.

        Returns
        -------
        Cost
            What jobs held, and what all GPUs cost over the run, held or not.

        Raises
        ------
        ValueError
            If a type of the cluster has no price, a price names no type of it or is negative or
            not finite, or the run was in a pool of several types, whose log does not tell which
            one a job held.
        TypeError
            If a price is no number.

        Examples
        --------
        >>> cluster = gs.Cluster.uniform(4)
        >>> jobs = gs.generate("philly", 200, load=0.9, cluster=cluster)
        >>> gs.simulate(jobs, cluster, policy="easy").cost(2.5).held > 0
        True
        """
        from gpusched.results.cost import cost_of

        return cost_of(self, prices)

    def explain(self: RunLog, job: int | str) -> Explanation:
        """Tell what happened to a job and why: who held its GPUs while it waited.

        Parameters
        ----------
        job
            An integer is the JobId, the job's place in the order of submission; a text is the
            ``id`` that the job has in its source.

        Returns
        -------
        Explanation
            Its story, a sentence each, and its longest waits in numbers.

        Raises
        ------
        TypeError
            If ``job`` is neither.
        IndexError, ValueError
            If there is no such place, or no such id.

        Examples
        --------
        >>> trace = gs.Trace.from_columns([0, 0], [60, 60], [8, 8], id=["a7", "a8"])
        >>> print(gs.simulate(trace, gs.Cluster.uniform(1, 8)).explain("a8").lines[0])
        Job 1 (id a8) came at 00:00:00: 8 GPUs, 1.00 min of service.
        """
        from gpusched.results.explain import explain

        return explain(self.trace, self.cluster, self.schedule, self.intervals, job)
