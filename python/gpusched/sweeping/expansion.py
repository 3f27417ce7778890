"""From a study to its runs: axes crossed, zipped or listed, in the order of their jobs."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from gpusched.base.suggest import nearest
from gpusched.clusters.cluster import Cluster
from gpusched.sweeping.choices import PLURALS, Named, has, named
from gpusched.sweeping.recipes import Recipe, RecipeNames
from gpusched.sweeping.spec_parts import ROLES, ParameterAxis, StudyTrace
from gpusched.sweeping.study import AXES, Study

MOST_RUNS: Final = 10_000_000
RUN_KEYS: Final = (
    "trace", "cluster", "policy", "placement", "speed", "contention", "predictor", "load", "jobs",
    "window", "seed",
)  # fmt: skip
"""Columns that every run has, in this order."""
_TRACE_KEYS: Final = ("jobs", "window", "load")


@dataclass(frozen=True, slots=True)
class PlannedRun:
    """One run of a study.

    Attributes
    ----------
    recipe
        Of its jobs.
    cluster
        Position in the study.
    choices
        Positions of policy, placement, speed, contention and predictor.
    values
        Position of the value of each axis of parameters; -1 where it has none.
    load, seed
        As asked for; a load of None leaves the jobs as they are.
    """

    recipe: Recipe
    cluster: int
    choices: tuple[int, ...]
    values: tuple[int, ...]
    load: float | None
    seed: int


@dataclass(frozen=True)
class Expansion:
    """All runs of a study, and what their positions stand for.

    Attributes
    ----------
    runs
        Those with the same jobs stand together.
    clusters
        As they were made, with their labels in ``cluster_labels``.
    named
        What each role lists, in the order of :data:`~gpusched.sweeping.spec_parts.ROLES`.
    """

    study: Study
    runs: Sequence[PlannedRun]
    clusters: tuple[Cluster, ...]
    cluster_labels: tuple[str, ...]
    trace_labels: tuple[str, ...]
    named: tuple[list[Named], ...]

    @cached_property
    def names(self) -> list[str]:
        """The name of each run, by all that decides what it makes."""
        from gpusched.sweeping.run_names import run_names

        return run_names(self)

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """The axes as columns of the table of runs."""
        return (*RUN_KEYS, *(axis.title for axis in self.study.parameters))

    def labels(self, run: PlannedRun) -> dict[str, Any]:
        """Return the value of every axis, as tables have it."""
        return {key: values[0] for key, values in self.label_columns([run]).items()}

    def label_columns(self, runs: Sequence[PlannedRun]) -> dict[str, list[Any]]:
        """Return the same of several runs: a list for each axis."""
        return _label_columns(self, runs)

    def choice(self, run: PlannedRun, role: int) -> Any:
        """Return what a run takes for a role, with the values of the axes of parameters."""
        from gpusched.sweeping.choices import with_values

        one = self.named[role][run.choices[role]]
        given = [
            (axis, axis.values[value])
            for axis, value in zip(self.study.parameters, run.values, strict=True)
            if value >= 0 and has(one, ROLES[role], axis)
        ]
        return with_values(one, ROLES[role], given) if given else one.choice


def expand(study: Study) -> Expansion:
    """Plan the runs of a study.

    Raises
    ------
    OSError
        If a file of the study cannot be read.
    ValueError, TypeError
        If a name is unknown, two entries have one label, or ``zip`` or ``runs`` names what is not
        there; the message has the path.
    """
    clusters = tuple(entry.made() for entry in study.clusters)
    plan = Expansion(
        study,
        [],
        clusters,
        _distinct("clusters", [e.title(c) for e, c in zip(study.clusters, clusters, strict=True)]),
        _distinct("traces", [entry.title for entry in study.traces]),
        tuple(named(role, getattr(study, PLURALS[role]), study.parameters) for role in ROLES),
    )
    _check_parameters(study)
    _check_baseline(plan)
    recipes = RecipeNames(study.traces, clusters)
    found: dict[PlannedRun, None] = {}
    for chosen in _combinations(study, plan):
        entry = study.traces[chosen["traces"]]
        choices = tuple(chosen[PLURALS[role]] for role in ROLES)
        values = tuple(
            chosen[axis.title] if _is_of(plan, choices, axis) else -1 for axis in study.parameters
        )
        for jobs, window, load in _parts(entry):
            seed = study.seeds[chosen["seeds"]]
            cluster = chosen["clusters"]
            recipe = recipes.recipe(chosen["traces"], cluster, jobs, window, load, seed)
            found[PlannedRun(recipe, cluster, choices, values, recipe.load, seed)] = None
        if len(found) > MOST_RUNS:
            raise ValueError(f"study {study.name}: has more than {MOST_RUNS:,} runs")
    runs = _selected(plan, list(found)) if study.runs else list(found)
    order = {seed: place for place, seed in enumerate(study.seeds)}
    runs.sort(key=lambda run: _place(run, order))
    return Expansion(study, runs, clusters, plan.cluster_labels, plan.trace_labels, plan.named)


def _place(run: PlannedRun, order: Mapping[int, int]) -> tuple[Any, ...]:
    """Runs of one recipe stand together; a null stands first."""
    of = run.recipe
    plain = [(value is not None, value or 0) for value in (of.jobs, of.window, of.load)]
    recipe = (of.trace, *plain, of.cluster, order.get(of.seed, 0))
    return (*recipe, run.cluster, order[run.seed], run.choices, run.values)


def _distinct(axis: str, labels: list[str]) -> tuple[str, ...]:
    for position, label in enumerate(labels):
        if label in labels[:position]:
            raise ValueError(
                f"two are called {label!r}; give one a label of its own - at "
                f"`$.{axis}[{position}].label`"
            )
    return tuple(labels)


def _check_parameters(study: Study) -> None:
    titles = [axis.title for axis in study.parameters]
    for position, title in enumerate(titles):
        if title in titles[:position] or title in RUN_KEYS or title in AXES:
            raise ValueError(
                f"{title!r} is the name of another axis - at `$.parameters[{position}].name`"
            )


def _check_baseline(plan: Expansion) -> None:
    labels = [one.label for one in plan.named[0]]
    wanted = plan.study.baseline
    if wanted is not None and wanted not in labels:
        raise ValueError(
            f"{wanted!r} is no policy of the study{nearest(wanted, labels)} - at `$.baseline`"
        )


def _is_of(plan: Expansion, choices: tuple[int, ...], axis: ParameterAxis) -> bool:
    role = ROLES.index(axis.role)
    return has(plan.named[role][choices[role]], axis.role, axis)


def _parts(entry: StudyTrace) -> Iterator[tuple[int | None, int | None, float | None]]:
    windows = range(len(entry.windows)) if entry.windows else (None,)
    loads = entry.loads if entry.loads else (None,)
    return itertools.product(entry.numbers_of_jobs, windows, loads)


def _combinations(study: Study, plan: Expansion) -> Iterator[dict[str, int]]:
    """Walk the axes: those of a group of ``zip`` together, all else crossed."""
    sizes = {
        "traces": len(study.traces),
        "clusters": len(study.clusters),
        **{PLURALS[role]: len(plan.named[at]) for at, role in enumerate(ROLES)},
        "seeds": len(study.seeds),
        **{axis.title: len(axis.values) for axis in study.parameters},
    }
    zipped: set[str] = set()
    groups: list[tuple[str, ...]] = []
    for position, group in enumerate(study.zip):
        _check_group(position, group, sizes, zipped)
        zipped.update(group)
        groups.append(tuple(group))
    groups += [(axis,) for axis in sizes if axis not in zipped]
    for place in itertools.product(*(range(sizes[group[0]]) for group in groups)):
        yield {axis: at for group, at in zip(groups, place, strict=True) for axis in group}


def _check_group(
    position: int, group: Sequence[str], sizes: Mapping[str, int], zipped: set[str]
) -> None:
    where = f"at `$.zip[{position}]`"
    if len(group) < 2:
        raise ValueError(f"two axes or more are zipped, not {list(group)} - {where}")
    for axis in group:
        if axis not in sizes:
            raise ValueError(f"unknown axis {axis!r}{nearest(axis, list(sizes))} - {where}")
        if axis in zipped or group.count(axis) > 1:
            raise ValueError(f"axis {axis!r} is zipped twice - {where}")
    if len({sizes[axis] for axis in group}) > 1:
        lengths = ", ".join(f"{axis} has {sizes[axis]}" for axis in group)
        raise ValueError(f"zipped axes must be equally long: {lengths} - {where}")


def _label_columns(plan: Expansion, runs: Sequence[PlannedRun]) -> dict[str, list[Any]]:
    windows = [[str(window) for window in entry.windows] for entry in plan.study.traces]
    of_roles: dict[str, list[Any]] = {
        role: [plan.named[at][run.choices[at]].label for run in runs]
        for at, role in enumerate(ROLES)
    }
    of_parameters: dict[str, list[Any]] = {
        axis.title: [None if run.values[at] < 0 else axis.values[run.values[at]] for run in runs]
        for at, axis in enumerate(plan.study.parameters)
    }
    return {
        "trace": [plan.trace_labels[run.recipe.trace] for run in runs],
        "cluster": [plan.cluster_labels[run.cluster] for run in runs],
        **of_roles,
        "load": [run.load for run in runs],
        "jobs": [run.recipe.jobs for run in runs],
        "window": [
            None if run.recipe.window is None else windows[run.recipe.trace][run.recipe.window]
            for run in runs
        ],
        "seed": [run.seed for run in runs],
    } | of_parameters


def _selected(plan: Expansion, runs: list[PlannedRun]) -> list[PlannedRun]:
    """Leave the runs that some table of ``runs`` names; each must name one at least."""
    columns = plan.label_columns(runs)
    kept: dict[PlannedRun, None] = {}
    for position, table in enumerate(plan.study.runs):
        where = f"at `$.runs[{position}]`"
        wanted: dict[str, list[Any]] = {}
        for key, value in table.items():
            if key not in plan.columns:
                known = nearest(key, plan.columns)
                raise ValueError(f"unknown axis {key!r}{known} - {where}")
            wanted[key] = list(value) if isinstance(value, list | tuple) else [value]
            there = list(dict.fromkeys(columns[key]))
            for one in wanted[key]:
                if one not in there:
                    known = nearest(str(one), [str(value) for value in there])
                    raise ValueError(f"{key}: {one!r} is not in the study{known} - {where}")
        found = [
            run
            for at, run in enumerate(runs)
            if all(columns[key][at] in values for key, values in wanted.items())
        ]
        if not found:
            raise ValueError(f"no run of the study has {table} - {where}")
        kept |= dict.fromkeys(found)
    return list(kept)
