"""What a comparison is asked for beside its metrics: who waits, who lost and who won."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from gpusched.base.field_checks import check_integer
from gpusched.base.suggest import nearest
from gpusched.studies.job_changes import Side, changed_groups, changed_jobs

if TYPE_CHECKING:
    import polars

    from gpusched.base.arrays import Bool
    from gpusched.results.result import Result


class ComparisonAnswers:
    """Methods of :class:`~gpusched.studies.comparison_result.Comparison`."""

    if TYPE_CHECKING:

        @property
        def results(self) -> Mapping[str, Result]: ...

        @property
        def counted(self) -> Bool: ...

        @property
        def _cuts(self) -> dict[str, float | None]: ...

    def by(self, by: str) -> polars.DataFrame:
        """Break the jobs of every policy down: those in the comparison's window.

        Parameters
        ----------
        by
            As for :meth:`gpusched.Result.by`.

        Returns
        -------
        polars.DataFrame
            As :meth:`gpusched.Result.by`, the policies below each other, led by a column
            ``policy``.

        Raises
        ------
        ValueError, TypeError
            As :meth:`gpusched.Result.by`.

        Examples
        --------
        >>> cluster = gs.Cluster.uniform(4)
        >>> jobs = gs.generate("philly", 200, load=0.9, cluster=cluster)
        >>> gs.compare(jobs, cluster, ["fifo", "srtf"]).by("gpus").columns[:2]
        ['policy', 'gpus']
        """
        import polars as pl

        labels = pl.Enum(list(self.results))
        frames = []
        for label, result in self.results.items():
            frame = result.by(by, **self._cuts)
            name = pl.repeat(label, len(frame), dtype=labels, eager=True).alias("policy")
            frames.append(frame.insert_column(0, name))
        return pl.concat(frames)

    def losers(
        self,
        policy: str | None = None,
        *,
        baseline: str | None = None,
        by: str | None = None,
        limit: int | None = 20,
    ) -> polars.DataFrame:
        """Tell who was hurt by a change of policy: the jobs that end later, or the groups.

        Jobs count that are submitted in the comparison's window.

        Parameters
        ----------
        policy, baseline
            The policies after the change and before, as they are labelled in ``results``.
            Default: the first as the baseline; the other one, if there are two.
        by
            None: job by job. Otherwise by groups, as for :meth:`gpusched.Result.by`; those of
            ``"type"`` are where jobs ran under the baseline.
        limit
            Rows; None returns all.

        Returns
        -------
        polars.DataFrame
            Of jobs: ``job`` (JobId), ``id``, ``user`` and ``queue`` where there are such,
            ``gpus``, ``submit_s``, ``service_s``, of each policy ``baseline_status``,
            ``baseline_wait_s``, ``baseline_jct_s`` and so on, and ``lost_s``, by which the JCT
            grew: the most first, led by jobs that no longer finish, of which it is null.

            Of groups: their jobs, ``num_worse`` and ``num_better`` ones, ``lost_s`` of those that
            are worse in all, and of the jobs that finish under both policies ``mean_change_s`` of
            the JCT and the mean waits.

        Raises
        ------
        ValueError
            If a policy is not among the results (the nearest is suggested), both are the same, or
            there are several to choose from.
        TypeError
            If ``limit`` is no integer.

        Examples
        --------
        >>> cluster = gs.Cluster.uniform(4)
        >>> jobs = gs.generate("philly", 200, load=0.9, cluster=cluster)
        >>> found = gs.compare(jobs, cluster, ["fifo", "srtf"])
        >>> found.losers("srtf", limit=5)["lost_s"].min() > 0
        True
        """
        return self._changed("lost", policy, baseline, by, limit)

    def winners(
        self,
        policy: str | None = None,
        *,
        baseline: str | None = None,
        by: str | None = None,
        limit: int | None = 20,
    ) -> polars.DataFrame:
        """Tell who gained by a change of policy: :meth:`losers` the other way round.

        Returns
        -------
        polars.DataFrame
            As :meth:`losers`, with ``won_s`` in place of ``lost_s``; jobs lead that only now
            finish.

        Raises
        ------
        ValueError, TypeError
            As :meth:`losers`.

        Examples
        --------
        >>> cluster = gs.Cluster.uniform(1, 4)
        >>> jobs = gs.Trace.from_columns([0, 0, 5], [60, 9, 9], [4, 1, 1])
        >>> found = gs.compare(jobs, cluster, policies=["fifo", "sjf"])
        >>> found.winners("sjf", baseline="fifo")["won_s"].to_list()
        [60.0, 55.0]
        """
        return self._changed("won", policy, baseline, by, limit)

    def _changed(
        self,
        side: Side,
        policy: str | None,
        baseline: str | None,
        by: str | None,
        limit: int | None,
    ) -> polars.DataFrame:
        if limit is not None:
            check_integer("limit", limit, 1, 2**62)
        before, after = changed_policies(list(self.results), policy, baseline)
        runs = self.results[before], self.results[after]
        if by is None:
            return changed_jobs(*runs, side, limit, self.counted)
        found = changed_groups(*runs, side, by, self.counted)
        return found if limit is None else found.head(limit)


def changed_policies(
    labels: list[str], policy: str | None, baseline: str | None
) -> tuple[str, str]:
    """Choose the policies before and after a change; errors as of ``Comparison.losers``."""
    if baseline is None:
        baseline = next((label for label in labels if label != policy), "")
    for name, label in (("baseline", baseline), ("policy", policy)):
        if label is not None and label not in labels:
            raise ValueError(f"{name}: {label!r} is not compared{nearest(label, labels)}")
    others = [label for label in labels if label != baseline]
    if policy is None:
        if len(others) != 1:
            raise ValueError(f"policy: name one of {', '.join(others) or 'two or more'}")
        policy = others[0]
    if policy == baseline:
        raise ValueError(f"policy: {policy} is the baseline itself")
    return baseline, policy
