"""Workloads of the same jobs with other profiles, graphs, deadlines or widths."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from typing import Any, Final, Literal, Self

import numpy as np

from gpusched.base import draws
from gpusched.base.arrays import Float64, Int32, Int64
from gpusched.base.rejects import Screen
from gpusched.base.suggest import nearest
from gpusched.base.ticks import MAX_SUBMIT_US
from gpusched.model.job_graphs import AnyGraphs, known_graphs
from gpusched.model.profiles import AnyProfiles, JobProfile, known_profiles
from gpusched.traces.checked_columns import numbers, stored_numbers
from gpusched.traces.graph_columns import check_widths, graph_index
from gpusched.traces.intake.cuts import TraceCuts
from gpusched.traces.job_columns import JOB_COLUMNS, NOT_GIVEN
from gpusched.traces.profile_columns import drawn_index, profile_index
from gpusched.traces.throughput_columns import assign_models

PROFILES_DRAWN: Final = "profiles drawn from "
GRAPHS_DRAWN: Final = "graphs drawn from "
DEADLINES_DRAWN: Final = "deadlines drawn by "
"""Begins the part of a trace's source that tells of a draw."""
_RECIPES: Final = {"elasticflow": (0.5, 1.5), "constant": (1.0, 1.0)}
"""The run times from submit to deadline, times the tightness: drawn evenly from these ranges.

``elasticflow``: Gu et al., ASPLOS 2023.
"""


class TraceChanges(TraceCuts):
    """What a :class:`~gpusched.traces.workload.Trace` can be given beside its jobs."""

    def with_profiles(
        self,
        profiles: AnyProfiles,
        index: Any = None,
        seed: int = 0,
        weights: Iterable[float] | None = None,
    ) -> Self:
        """Return the same jobs with these profiles in place of any they had.

        Parameters
        ----------
        profiles
            One, several, or a mapping such as :func:`gpusched.model.zoo` returns.
        index
            Per job the index of its profile, or the name. None draws one for each job, which
            :attr:`source` then tells.
        seed, weights
            Of the draw: 0 or more, and one weight per profile (None: equal ones).

        Returns
        -------
        Trace
            The same jobs.

        Raises
        ------
        TypeError, ValueError
            If there is no profile, a name is used twice, or an index, a name, the seed or a
            weight is wrong; the message names it.

        Examples
        --------
        >>> trace = gs.generate("philly", 50, seed=1).with_profiles(gs.model.zoo(), seed=1)
        >>> trace.profile.shape
        (50,)
        """
        known = known_profiles(profiles)
        jobs = _without(self.source, PROFILES_DRAWN)
        if index is not None:
            given = profile_index(index, known, len(self))
            return dataclasses.replace(self, profiles=known, profile=given, source=jobs)
        shares = None if weights is None else list(weights)
        drawn = drawn_index(len(known), len(self), seed, shares)
        how = f"{', '.join(p.name for p in known)} (PCG64, seed {seed}"
        how += ")" if shares is None else f", weights {'/'.join(f'{w:g}' for w in shares)})"
        return dataclasses.replace(
            self, profiles=known, profile=drawn, source=f"{jobs}; {PROFILES_DRAWN}{how}"
        )

    def with_throughputs(
        self,
        throughputs: Mapping[str, JobProfile],
        *,
        seed: int = 0,
        choose: Literal["by-model", "uniform"] = "by-model",
    ) -> Self:
        r"""Return the same jobs with a profile each, in place of any they had.

        Parameters
        ----------
        throughputs
            By model, such as :func:`gpusched.model.read_throughputs` returns.
        seed
            Of the draw, 0 or more. What is drawn for a job depends on the seed and on its
            ``row`` only.
        choose
            ``"by-model"``: a job whose group is the name of a model has that one; for the others
            one is drawn. ``"uniform"``: one is drawn for every job. All models that can run at
            the job's width on some GPU type are equally likely; if there are none, all models
            are, and the run will reject the job.

        Returns
        -------
        Trace
            The same jobs; :attr:`source` tells what was drawn.

        Raises
        ------
        TypeError, ValueError
            If there is no model, one has no throughputs, or an argument is wrong.

        Examples
        --------
        >>> with open("speeds.csv", "w") as file:
        ...     _ = file.write("model,gpu_type,gpus,iterations_per_s\nm,V100,1,2.5\n")
        >>> trace = gs.Trace.from_columns([0], [3600], [1])
        >>> trace.with_throughputs(gs.model.read_throughputs("speeds.csv")).profiles[0].name
        'm'
        """
        assigned = assign_models(self, throughputs, seed, choose)
        return dataclasses.replace(
            self,
            profiles=assigned.profiles,
            profile=assigned.of_job,
            source="; ".join([_without(self.source, PROFILES_DRAWN), *assigned.said]),
        )

    def with_deadlines(
        self,
        recipe: str = "elasticflow",
        *,
        tightness: float = 1.0,
        seed: int = 0,
        share: float = 1.0,
        value: Any = 1.0,
    ) -> Self:
        """Return the same jobs with deadlines drawn for them, in place of any they had.

        Parameters
        ----------
        recipe
            ``"elasticflow"``: submit + U(0.5, 1.5) x ``tightness`` x service (Gu et al., ASPLOS
            2023). ``"constant"``: submit + ``tightness`` x service.
        tightness
            More than 0; below 1 deadlines are tight.
        seed
            Of the draws, 0 or more. What is drawn for a job depends on the seed and on its
            ``row`` only.
        share
            The part of the jobs that has a deadline, 0 to 1; the others are best effort.
        value
            What it is worth to meet a deadline, more than 0: one number, or one per job.

        Returns
        -------
        Trace
            The same jobs.

        Raises
        ------
        TypeError, ValueError
            If an argument is of a wrong type or out of range; the message names it.

        Examples
        --------
        >>> trace = gs.Trace.from_columns([0, 60], [3600, 600], [8, 1])
        >>> trace.with_deadlines("constant", tightness=2).deadline_s.tolist()
        [7200.0, 1260.0]
        """
        drawn = _drawn_deadlines(
            self.row, self.submit_us, self.service_us, recipe, tightness, seed, share, value
        )
        how = f"{recipe} (tightness {tightness:g}, share {share:g}, seed {seed})"
        jobs = _without(self.source, DEADLINES_DRAWN)
        return dataclasses.replace(self, **drawn, source=f"{jobs}; {DEADLINES_DRAWN}{how}")

    def with_elasticity(self, *, min_gpus: Any = None, max_gpus: Any = None) -> Self:
        """Return the same jobs with these widths, between which they may run.

        Parameters
        ----------
        min_gpus, max_gpus
            One number per job, as in :meth:`from_columns`; or one for all, which binds no job
            within its own width: a job of 2 GPUs may always run on 2. None: 1, and no limit.

        Returns
        -------
        Trace
            The same jobs.

        Raises
        ------
        TypeError, ValueError
            If a value is wrong; the message names row, value and rule.

        Examples
        --------
        >>> trace = gs.Trace.from_columns([0, 60], [3600, 600], [2, 16])
        >>> trace.with_elasticity(max_gpus=8).max_gpus.tolist()
        [8, 16]
        """
        return dataclasses.replace(self, **_new_widths(self.row, self.gpus, min_gpus, max_gpus))

    def with_graphs(self, graphs: AnyGraphs, index: Any = None) -> Self:
        """Return the same jobs with these graphs in place of any they had.

        Parameters
        ----------
        graphs
            One, several, or a mapping.
        index
            Per job the index of its graph, or the name. None: the one graph that is as wide as
            the job.

        Returns
        -------
        Trace
            The same jobs.

        Raises
        ------
        TypeError, ValueError
            If there is no graph, a name is used twice, an index or a name is wrong, or a job's
            gpus are not the replicas of its graph; the message names it.

        Examples
        --------
        >>> trace = gs.Trace.from_columns([0, 60], [3600, 600], [8, 8])
        >>> trace.with_graphs(gs.model.graph_for("gpt2-xl", 8)).graph.tolist()
        [0, 0]
        """
        known = known_graphs(graphs)
        given = graph_index(index, known, self.gpus)
        jobs = _without(self.source, GRAPHS_DRAWN)
        changed = dataclasses.replace(self, graphs=known, graph=given, source=jobs)
        check_widths(changed)
        return changed


def _without(source: str, begins: str) -> str:
    """Return ``source`` without the part that tells of a draw that no longer counts."""
    return "; ".join(part for part in source.split("; ") if not part.startswith(begins))


def _drawn_deadlines(
    rows: Int64,
    submit_us: Int64,
    service_us: Int64,
    recipe: str,
    tightness: float,
    seed: int,
    share: float,
    value: Any,
) -> dict[str, Any]:
    """Return the columns of :meth:`gpusched.Trace.with_deadlines` for jobs of these columns."""
    if recipe not in _RECIPES:
        raise ValueError(f"recipe: unknown {recipe!r}{nearest(str(recipe), list(_RECIPES))}")
    _check_number("tightness", tightness)
    _check_number("share", share)
    if not (np.isfinite(tightness) and tightness > 0):
        raise ValueError(f"tightness: {tightness!r} must be finite and positive")
    if not 0 <= share <= 1:
        raise ValueError(f"share: {share!r} must lie in 0..1")
    seed = draws.check_seed(seed)
    low, high = _RECIPES[recipe]
    factor = low + (high - low) * draws.uniform(seed, draws.DEADLINES, rows)
    slack = np.rint(service_us * (factor * tightness))
    latest = float(MAX_SUBMIT_US)
    if slack.max() > latest:
        raise ValueError(f"tightness: {tightness!r} sets deadlines beyond 2^61 us")
    deadline_us = submit_us + np.maximum(slack, 1).astype(np.int64)
    is_chosen = draws.uniform(seed, draws.HAS_DEADLINE, rows) < share
    worth: Float64 | None = None
    if not (isinstance(value, int | float) and value == 1):
        each = np.full(len(rows), value) if np.ndim(value) == 0 else value
        screen = Screen("with_deadlines", rows)
        given = numbers("value", each, len(rows))
        screen.show("value", "value", given)
        worth = stored_numbers(screen, JOB_COLUMNS["value"], given, {})
        screen.finish("error")
    return {"deadline_us": np.where(is_chosen, deadline_us, NOT_GIVEN), "value": worth}


def _check_number(name: str, number: Any) -> None:
    if isinstance(number, bool) or not isinstance(number, int | float | np.integer | np.floating):
        raise TypeError(f"{name}: {number!r} must be a number")


def _new_widths(rows: Int64, gpus: Int32, min_gpus: Any, max_gpus: Any) -> dict[str, Any]:
    """Return the two columns of :meth:`gpusched.Trace.with_elasticity` for jobs of ``gpus``."""
    columns: dict[str, Any] = {"min_gpus": None, "max_gpus": None}
    screen = Screen("with_elasticity", rows)
    for column, values in (("min_gpus", min_gpus), ("max_gpus", max_gpus)):
        if values is None:
            continue
        is_one = np.ndim(values) == 0
        widths = numbers(column, np.full(len(rows), values) if is_one else values, len(rows))
        if is_one and np.isfinite(widths).all():
            # One number for all is a bound: a job's own width is always allowed.
            bound = np.minimum if column == "min_gpus" else np.maximum
            widths = bound(widths, gpus)
        screen.show(column, column, widths)
        columns[column] = stored_numbers(screen, JOB_COLUMNS[column], widths, {"gpus": gpus})
    screen.finish("error")
    return columns
