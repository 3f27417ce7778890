"""Derive the runs of a study: axes crossed, zipped or listed, ordered by their jobs."""

from __future__ import annotations

import hashlib
import itertools
import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Final, NamedTuple

import msgspec
import numpy as np

from gpusched import _core
from gpusched._core import Order, Placement, Scheduler
from gpusched.base.defaults import MAX_LOAD
from gpusched.base.libraries import polars as pl
from gpusched.base.object_digests import ObjectReader, UnreadableError
from gpusched.base.suggest import nearest
from gpusched.base.ticks import seconds_to_us
from gpusched.engine.code_digest import code_digest
from gpusched.engine.seams import placement_seam, policy_seam
from gpusched.model.cluster import Cluster
from gpusched.model.profiles import read_profiles
from gpusched.plugins.identity import PythonObject, identify
from gpusched.plugins.policy import (
    Choice,
    ContentionChoice,
    PlacementChoice,
    Policy,
    SpeedChoice,
    runs_by_label,
)
from gpusched.prediction import Predictor
from gpusched.prediction.choose import predictor
from gpusched.prediction.registry import PredictorChoice
from gpusched.results.metric_registry import metrics
from gpusched.results.same_jobs import LEFT, OTHERS, Apart
from gpusched.specs.fingerprints import fingerprint
from gpusched.studies.run_store import frame_of
from gpusched.studies.study import AXES, ROLES, ParameterAxis, Study, StudyTrace
from gpusched.traces.model_columns import add_throughputs
from gpusched.traces.workload import Trace, with_limits

MOST_RUNS: Final = 10_000_000
RUN_KEYS: Final = (
    "trace", "cluster", "policy", "placement", "speed", "contention", "predictor", "load", "jobs",
    "window", "seed",
)  # fmt: skip
"""Columns of every run, in this order."""
OFFERED_LOAD: Final = "offered_load"
"""Column of the metric ``load``; the column ``load`` is the load requested."""
DEFAULT_SPEED: Final = "default"
"""Label of the default performance model, which depends on the contention and the jobs."""
SHORT_NAME: Final = 12
"""Digits of a name that are shown."""
_DIGITS: Final = 32
_LAST: Final = ("wall_s", "total_s", "clairvoyant", "warnings", "error", "repeat")
_ZOO: Final = "zoo"


class _Role(NamedTuple):
    """The axis of a study for a role, how its strings are parsed, and which objects it accepts."""

    plural: str
    kind: type[Choice]
    objects: tuple[type, ...] = ()


_ROLES: Final[Mapping[str, _Role]] = {
    "policy": _Role("policies", Policy, (Order, Scheduler)),
    "placement": _Role("placements", PlacementChoice, (Placement,)),
    "speed": _Role("speeds", SpeedChoice),
    "contention": _Role("contentions", ContentionChoice),
    "predictor": _Role("predictors", PredictorChoice, (Predictor,)),
}


class Named(NamedTuple):
    """A choice and its label in tables."""

    label: str
    choice: Any


def choices_of(study: Study, role: str) -> list[Named]:
    """Resolve the entries of a role; labels must be unique."""
    axis = _ROLES[role].plural
    found: list[Named] = []
    for position, entry in enumerate(getattr(study, axis)):
        try:
            found.append(_named(role, entry))
        except (ValueError, TypeError) as error:
            raise type(error)(f"{error} - at `$.{axis}[{position}]`") from None
    if role == "policy":
        found = _told_apart(found)
    labels = [one.label for one in found]
    for position, label in enumerate(labels):
        if labels.index(label) != position:
            raise ValueError(
                f"{label!r} is listed twice; give one its own label - at `$.{axis}[{position}]`"
            )
    for parameter in study.parameters:
        if parameter.role == role:
            _check_parameter(parameter, found)
    return found


def is_native(choice: Any) -> bool:
    """Whether all of a choice runs in the core."""
    return isinstance(choice, Choice) and choice.info.is_native


def _named(role: str, entry: Any) -> Named:
    _, kind, objects = _ROLES[role]
    if role == "speed" and (entry is None or entry == DEFAULT_SPEED):
        return Named(DEFAULT_SPEED, None)
    if isinstance(entry, str):
        entry = kind.parse(entry)
    if isinstance(entry, Mapping):
        rest = dict(entry)
        if role not in rest:
            raise ValueError(f"{role}: name missing in {dict(entry)!r}")
        inner, label = rest.pop(role), rest.pop("label", None)
        if label is not None and not (isinstance(label, str) and label.strip()):
            raise ValueError(f"label: {label!r} must be a non-empty string")
        if rest:
            base = kind.parse(inner) if isinstance(inner, str) else inner
            if not isinstance(base, kind):
                raise ValueError(f"{role}: options must go with a name, not with {inner!r}")
            inner = kind(base.name, **(base.parameters | rest))
        one = _named(role, inner)
        return one if label is None else Named(label, one.choice)
    if isinstance(entry, kind):
        return Named(str(entry), entry)
    if isinstance(entry, objects):
        if isinstance(entry, Predictor):
            return Named(entry.label, entry)
        return Named(f"python:{type(entry).__qualname__}", entry)
    hint = ""
    if isinstance(entry, type) and issubclass(entry, objects):
        hint = f"; give an instance: {entry.__name__}()"
    raise TypeError(f"{role}: expected a name, not {entry!r}{hint}")


def _told_apart(found: list[Named]) -> list[Named]:
    """Number the labels of different objects of one class, as a comparison does."""
    alike = [one for one in found if one.label.startswith("python:")]
    if len({one.label for one in alike}) == len(alike):
        return found
    labels = {id(thing): label for label, thing in runs_by_label([n.choice for n in alike]).items()}
    return [Named(labels.get(id(one.choice), one.label), one.choice) for one in found]


def _has(one: Named, axis: ParameterAxis, role: str) -> bool:
    """Whether an axis of parameters belongs to this choice."""
    return axis.role == role and isinstance(one.choice, Choice) and one.choice.name == axis.of


def _check_parameter(axis: ParameterAxis, found: Sequence[Named]) -> None:
    if not any(_has(one, axis, axis.role) for one in found):
        names = sorted({one.choice.name for one in found if isinstance(one.choice, Choice)})
        raise ValueError(
            f"parameters: {axis.role} {axis.of!r} is not in the study: {', '.join(names)}"
        )
    for value in axis.values:
        _ROLES[axis.role].kind(axis.of, **{axis.option: value})


@dataclass(frozen=True)
class Recipe:
    """How the jobs of some runs are made.

    ``name``: SHA-256 of all that determines them: equal names, equal jobs.
    ``trace``, ``cluster``: positions in the study of the entry, and of the cluster that a load
        refers to (-1 if the jobs are the same for all clusters).
    ``jobs``, ``window``, ``load``: one value per axis; None: unchanged. ``window`` is a position.
    ``seed``: seed of all random draws.
    """

    name: str
    trace: int
    cluster: int
    jobs: int | None
    window: int | None
    load: float | None
    seed: int


@dataclass(frozen=True, slots=True)
class PlannedRun:
    """One run of a study.

    ``recipe``: how its jobs are made.
    ``cluster``: position in the study.
    ``choices``: positions of policy, placement, speed, contention and predictor.
    ``values``: position of the value of each axis of parameters; -1 if it has none.
    ``load``, ``seed``: as requested; a load of None leaves the jobs unchanged.
    """

    recipe: Recipe
    cluster: int
    choices: tuple[int, ...]
    values: tuple[int, ...]
    load: float | None
    seed: int


@dataclass(frozen=True, eq=False)
class Plan:
    """All runs of a study, their names, and the objects of their positions.

    ``runs``: grouped by jobs.
    ``clusters``: the clusters, with their labels in ``cluster_labels``.
    ``named``: the entries of each role, in the order of :data:`~gpusched.studies.study.ROLES`.
    ``names``: of the runs, 32 hexadecimal digits. Two runs have the same name only if all that
        determines their result is equal: the recipe of the jobs, the cluster, the policy with all
        values of its parameters, placement, speed, contention, predictor, seed, warm-up, metrics
        and code. Labels do not count. A Python object counts by its code and state; one that cannot
        be read has a new name each time.
    """

    study: Study
    clusters: tuple[Cluster, ...]
    cluster_labels: tuple[str, ...]
    trace_labels: tuple[str, ...]
    named: tuple[list[Named], ...]
    runs: Sequence[PlannedRun] = ()
    names: list[str] = field(default_factory=list)

    def only(self, begin: str) -> Plan:
        """Select the runs whose names start with ``begin``."""
        chosen = [at for at, name in enumerate(self.names) if name.startswith(begin)]
        if not chosen:
            raise ValueError(
                f"only: no run of the study has a name that starts with {begin!r}; names change "
                "with the study, its files and the version of gpusched"
            )
        return replace(
            self, runs=[self.runs[at] for at in chosen], names=[self.names[at] for at in chosen]
        )

    @cached_property
    def by_name(self) -> dict[str, PlannedRun]:
        """The runs by their names."""
        return dict(zip(self.names, self.runs, strict=True))

    def left(self, done: Collection[str]) -> list[tuple[str, PlannedRun]]:
        """Return the runs that are not done, each once."""
        return [(name, run) for name, run in self.by_name.items() if name not in done]

    def done_in(self, kept: pl.DataFrame) -> set[str]:
        """Return the names of the runs that have a row without an error."""
        if "error" in kept.columns:
            kept = kept.filter(pl.col("error").is_null())
        return set(kept["run"].to_list()) & set(self.names)

    def compared(self, kept: pl.DataFrame) -> Iterator[tuple[list[str], Apart]]:
        """Find runs that differ only in the policy, and do not finish the same jobs.

        The names of such runs, with the jobs that are not common to them.

        ``kept``: the rows of runs; failed ones are not compared.
        """
        left = dict(kept.select("run", LEFT).iter_rows()) if LEFT in kept.columns else {}
        alike: dict[object, list[str]] = {}
        if any(left.values()):
            done = self.done_in(kept)
            for name, run in self.by_name.items():
                if name in done:
                    key = (run.recipe.name, run.cluster, run.choices[1:])
                    alike.setdefault(key, []).append(name)
        for names in alike.values():
            if len({left[name] for name in names}) > 1:
                yield names, Apart.of(left[name] for name in names)

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """The axes as columns of the table of runs."""
        return (*RUN_KEYS, *(axis.title for axis in self.study.parameters))

    def labels(self, run: PlannedRun) -> dict[str, Any]:
        """Return the value of every axis, as shown in tables."""
        return {key: values[0] for key, values in self.label_columns([run]).items()}

    def label_columns(self, runs: Sequence[PlannedRun]) -> dict[str, list[Any]]:
        """Return the values of several runs: a list per axis."""
        windows = [[str(window) for window in entry.windows] for entry in self.study.traces]
        found: dict[str, list[Any]] = {
            "trace": [self.trace_labels[run.recipe.trace] for run in runs],
            "cluster": [self.cluster_labels[run.cluster] for run in runs],
        }
        for at, role in enumerate(ROLES):
            found[role] = [self.named[at][run.choices[at]].label for run in runs]
        found |= {
            "load": [run.load for run in runs],
            "jobs": [run.recipe.jobs for run in runs],
            "window": [
                None if run.recipe.window is None else windows[run.recipe.trace][run.recipe.window]
                for run in runs
            ],
            "seed": [run.seed for run in runs],
        }
        for at, axis in enumerate(self.study.parameters):
            places = (run.values[at] for run in runs)
            found[axis.title] = [None if place < 0 else axis.values[place] for place in places]
        return found

    def choice(self, run: PlannedRun, role: int) -> Any:
        """Return the choice of a run for a role, with its values of the axes of parameters."""
        one = self.named[role][run.choices[role]]
        more = {
            axis.option: axis.values[value]
            for axis, value in zip(self.study.parameters, run.values, strict=True)
            if value >= 0 and _has(one, axis, ROLES[role])
        }
        if not more:
            return one.choice
        return _ROLES[ROLES[role]].kind(one.choice.name, **(one.choice.parameters | more))

    @cached_property
    def frame(self) -> pl.DataFrame:
        """One row per run: its name, and its value on each axis."""
        of_runs = self.label_columns(self.runs)
        types: dict[str, Any] = {
            "load": pl.Float64, "jobs": pl.Int64, "seed": pl.Int64, "window": pl.String,
        }  # fmt: skip
        columns = [pl.Series("run", self.names, pl.String)]
        for key in self.columns:
            columns.append(pl.Series(key, of_runs[key], types.get(key), strict=False))
        return pl.DataFrame(columns)

    @cached_property
    def _places(self) -> dict[str, int]:
        return {name: place for place, name in enumerate(self.names)}

    def labelled(self, rows: Sequence[dict[str, Any]]) -> pl.DataFrame:
        """Return the rows of runs with their values on each axis.

        A name may have a suffix after a colon, see :meth:`compared`.
        """
        names = [row["run"].partition(":")[0] for row in rows]
        labels = self.frame[[self._places[name] for name in names]].drop("run")
        frame = frame_of(rows)
        return frame.drop(labels.columns, strict=False).hstack(labels)

    def _of_same_jobs(self, kept: pl.DataFrame) -> pl.DataFrame:
        """Replace job metrics by those over the jobs that all compared runs finish."""
        wanted = [apart.name(name) for names, apart in self.compared(kept) for name in names]
        if OTHERS not in kept.columns or not wanted:
            return kept
        again = kept.filter(pl.col("run").is_in(wanted)).with_columns(
            pl.col("run").str.split(":").list.first()
        )
        has_error = (
            pl.col("error").is_not_null() if "error" in kept.columns else pl.lit(value=False)
        )
        failed = again.filter(has_error)
        kept = kept.filter(~pl.col("run").is_in(failed["run"].implode()))
        known = metrics()
        own = [key for key in again.columns if key in known and known[key].is_of_finished]
        return pl.concat(
            [kept.update(again.select("run", *own, OTHERS), on="run"), failed],
            how="diagonal_relaxed",
        )

    def table(self, kept: pl.DataFrame, repeat: str) -> pl.DataFrame:
        """Join the results of the runs to their axes.

        ``kept``: rows with the column ``run``, at most one per run.
        ``repeat``: command that repeats a run, with ``{run}`` for its name.
        """
        labels = self.frame
        kept = self._of_same_jobs(kept)
        own = [key for key in kept.columns if key == "run" or key not in (*labels.columns, LEFT)]
        joined = labels.join(kept.select(own), on="run", how="left", maintain_order="left")
        missing: dict[str, Any] = {
            "wall_s": pl.Float64, "total_s": pl.Float64, "clairvoyant": pl.Boolean,
            "warnings": pl.List(pl.String), "error": pl.String, OFFERED_LOAD: pl.Float64,
        }  # fmt: skip
        joined = joined.with_columns(
            pl.lit(None, kind).alias(key)
            for key, kind in missing.items()
            if key not in joined.columns
        )
        before, _, after = repeat.partition("{run}")
        line = pl.concat_str(pl.lit(before), pl.col("run").str.head(SHORT_NAME), pl.lit(after))
        joined = joined.with_columns(
            repeat=pl.when(pl.col("error").is_not_null()).then(line).otherwise(None)
        )
        if "num_jobs" in joined.columns:
            joined = joined.with_columns(jobs=pl.coalesce("jobs", "num_jobs"))
        first = [key for key in joined.columns if key not in _LAST]
        return joined.select(*first, *_LAST)


def expand(study: Study) -> Plan:
    """Plan the runs of a study."""
    clusters = tuple(entry.made() for entry in study.clusters)
    titles = [entry.title(made) for entry, made in zip(study.clusters, clusters, strict=True)]
    plan = Plan(
        study,
        clusters,
        _distinct("clusters", titles),
        _distinct("traces", [entry.title for entry in study.traces]),
        tuple(choices_of(study, role) for role in ROLES),
    )
    _check_parameters(study)
    policies = [one.label for one in plan.named[0]]
    if study.baseline is not None and study.baseline not in policies:
        known = nearest(study.baseline, policies)
        raise ValueError(f"{study.baseline!r}: not a policy of the study{known} - at `$.baseline`")
    recipe_of = _Recipes(study.traces, clusters).recipe
    found: dict[PlannedRun, None] = {}
    for chosen in _combinations(plan):
        trace, cluster, seed = chosen["traces"], chosen["clusters"], study.seeds[chosen["seeds"]]
        choices = tuple(chosen[of.plural] for of in _ROLES.values())
        values = tuple(
            chosen[axis.title] if _has(plan.named[at][choices[at]], axis, axis.role) else -1
            for axis in study.parameters
            for at in (ROLES.index(axis.role),)
        )
        entry = study.traces[trace]
        windows = range(len(entry.windows)) if entry.windows else (None,)
        for part in itertools.product(entry.numbers_of_jobs, windows, entry.loads or (None,)):
            recipe = recipe_of(trace, cluster, *part, seed)
            found[PlannedRun(recipe, cluster, choices, values, recipe.load, seed)] = None
        if len(found) > MOST_RUNS:
            raise ValueError(f"study {study.name}: has more than {MOST_RUNS:,} runs")
    runs = _selected(plan, list(found)) if study.runs else list(found)
    order = {seed: place for place, seed in enumerate(study.seeds)}
    runs.sort(key=lambda run: _place(run, order))
    plan = replace(plan, runs=runs)
    return replace(plan, names=_names(plan))


def _place(run: PlannedRun, order: Mapping[int, int]) -> tuple[Any, ...]:
    """Group the runs by recipe; a null comes first."""
    of = run.recipe
    plain = [(value is not None, value or 0) for value in (of.jobs, of.window, of.load)]
    recipe = (of.trace, *plain, of.cluster, order.get(of.seed, 0))
    return (*recipe, run.cluster, order[run.seed], run.choices, run.values)


def _distinct(axis: str, labels: list[str]) -> tuple[str, ...]:
    for position, label in enumerate(labels):
        if label in labels[:position]:
            raise ValueError(
                f"two are called {label!r}; give one its own label - at "
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


def _combinations(plan: Plan) -> Iterator[dict[str, int]]:
    """Walk the axes: those of a group of ``zip`` together, all others crossed."""
    study = plan.study
    sizes = {
        "traces": len(study.traces),
        "clusters": len(study.clusters),
        **{of.plural: len(some) for of, some in zip(_ROLES.values(), plan.named, strict=True)},
        "seeds": len(study.seeds),
        **{axis.title: len(axis.values) for axis in study.parameters},
    }
    zipped: set[str] = set()
    for position, group in enumerate(study.zip):
        _check_group(position, group, sizes, zipped)
        zipped.update(group)
    groups = [*study.zip, *((axis,) for axis in sizes if axis not in zipped)]
    for place in itertools.product(*(range(sizes[group[0]]) for group in groups)):
        yield {axis: at for group, at in zip(groups, place, strict=True) for axis in group}


def _check_group(
    position: int, group: Sequence[str], sizes: Mapping[str, int], zipped: set[str]
) -> None:
    where = f"at `$.zip[{position}]`"
    if len(group) < 2:
        raise ValueError(f"at least two axes must be zipped, not {list(group)} - {where}")
    for axis in group:
        if axis not in sizes:
            raise ValueError(f"unknown axis {axis!r}{nearest(axis, list(sizes))} - {where}")
        if axis in zipped or group.count(axis) > 1:
            raise ValueError(f"axis {axis!r} is zipped twice - {where}")
    if len({sizes[axis] for axis in group}) > 1:
        lengths = ", ".join(f"{axis} has {sizes[axis]}" for axis in group)
        raise ValueError(f"zipped axes must be equally long: {lengths} - {where}")


def _selected(plan: Plan, runs: list[PlannedRun]) -> list[PlannedRun]:
    """Keep the runs selected by some table of ``runs``; each table must select at least one."""
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


class _Recipes:
    """Names recipes by their content; reads each file once."""

    def __init__(self, traces: tuple[StudyTrace, ...], clusters: tuple[Cluster, ...]) -> None:
        self._traces = traces
        self._of_trace = list(map(_trace_content, traces))
        self._of_cluster = list(map(_cluster_content, clusters))
        self._known: dict[tuple[Any, ...], Recipe] = {}

    def recipe(
        self,
        trace: int,
        cluster: int,
        jobs: int | None,
        window: int | None,
        load: float | None,
        seed: int,
    ) -> Recipe:
        """Return the recipe of a run, without anything that does not affect the jobs."""
        entry = self._traces[trace]
        if entry.generate is not None and load is None:
            load = MAX_LOAD
        key = (
            trace, -1 if load is None else cluster, jobs, window, load,
            seed if entry.is_drawn else 0,
        )  # fmt: skip
        if key not in self._known:
            of = b"" if load is None else self._of_cluster[cluster]
            part = None if window is None else entry.windows[window]
            ends = None if part is None else (part.since, part.until)
            told = msgspec.json.encode((self._of_trace[trace], of, jobs, ends, load, key[-1]))
            name = hashlib.sha256(b"gpusched workload 1" + told).hexdigest()
            self._known[key] = Recipe(name, *key)
        return self._known[key]


def _trace_content(entry: StudyTrace) -> bytes:
    """Return the job settings of an entry, except those with an axis of their own."""
    fields = {
        key: value
        for key, value in msgspec.structs.asdict(entry).items()
        if key not in ("label", "jobs", "loads", "windows", "trace", "file")
    }
    fields["files"] = [file_digest(file) for file in entry.files]
    if entry.trace is not None:
        fields["trace"] = fingerprint(entry.trace)
    for key in ("profiles", "throughputs"):
        if fields[key] not in (None, _ZOO):
            fields[key] = file_digest(fields[key])
    return msgspec.json.encode(fields, order="deterministic")


def _cluster_content(cluster: Cluster) -> bytes:
    """Return all of a cluster but its title."""
    fields = {
        name: [msgspec.structs.asdict(part) for part in getattr(cluster, name)]
        for name in ("servers", "domains")
    }
    return msgspec.json.encode(fields, order="deterministic")


def file_digest(path: str | os.PathLike[str]) -> str:
    """SHA-256 of a file, or of the names and contents of all files of a folder."""
    if not os.path.isdir(path):
        with open(path, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    sha = hashlib.sha256()
    for folder, folders, names in os.walk(path):
        folders.sort()
        for name in sorted(names):
            inner = os.path.join(folder, name)
            sha.update(os.path.relpath(inner, path).encode() + b"\0")
            sha.update(file_digest(inner).encode())
    return sha.hexdigest()


def _names(plan: Plan) -> list[str]:
    """Return the name of each run."""
    study = plan.study
    common: list[Any] = ["gpusched run 1", _core.__version__, code_digest()]
    common += [study.warm_up_cut, study.tail_s, _metric_content(study)]
    common += ["kill_invalid_depend"] if study.kill_invalid_depend else []
    age_s = study.priority_age_s
    common += [] if age_s is None else ["priority_age_s", float(age_s)]
    begun = hashlib.sha256(msgspec.json.encode(common))
    clusters = list(map(_cluster_content, plan.clusters))
    of_choice: dict[tuple[int, int, tuple[int, ...]], bytes] = {}
    contents: dict[tuple[Any, ...], bytes] = {}  # the part common to all jobs and seeds
    names = []
    for run in plan.runs:
        of = (run.cluster, run.choices, run.values)
        if of not in contents:
            parts = [clusters[run.cluster]]
            for at, role in enumerate(ROLES):
                key = (at, run.choices[at], run.values)
                if key not in of_choice:
                    of_choice[key] = choice_content(role, plan.choice(run, at))
                parts.append(of_choice[key])
            contents[of] = b"\0".join(parts)
        sha = begun.copy()
        sha.update(f"{run.recipe.name} {run.seed} ".encode() + contents[of])
        names.append(sha.hexdigest()[:_DIGITS])
    return names


def choice_content(role: str, choice: Any) -> bytes:
    """Return the full content of a policy, placement, speed, contention or predictor."""
    python: PythonObject | None = None
    told: Any = None
    if isinstance(choice, Choice):
        # Defaults are included, so that writing one explicitly changes nothing.
        own = {entry["name"]: entry["default"] for entry in choice.info.parameters}
        told = [choice.name, own | choice.parameters]
        if choice.info.python_class is not None:
            if isinstance(choice, PredictorChoice):
                python = identify("predictor", predictor(choice))
            elif isinstance(choice, Policy):
                python = policy_seam(choice).python
            else:
                python = placement_seam(choice).python  # type: ignore[arg-type]
    elif isinstance(choice, Predictor):
        python, told = identify("predictor", choice), choice.label
    elif choice is not None:
        python = identify("policy" if role == "policy" else "placement", choice)
    return msgspec.json.encode([role, told, python], order="deterministic")


def unreadable(plan: Plan) -> list[str]:
    """Return a message for each Python object whose runs cannot be saved."""
    lines = []
    for role, named in zip(ROLES, plan.named, strict=True):
        for label, choice in named:
            if isinstance(choice, Choice) or choice is None:
                continue
            found = identify(role, choice)  # type: ignore[arg-type]
            if found is not None and found.unreadable:
                lines.append(
                    f"{label}: its runs are not saved, as the object has no stable digest "
                    f"({found.unreadable})"
                )
    return lines


def _metric_content(study: Study) -> list[Any]:
    """Return what determines the metrics of a run: those requested, and those of other packages."""
    own: list[Any] = []
    for key, metric in sorted(metrics().items()):
        if not metric.is_default and key not in study.metrics:
            continue
        module = getattr(metric.compute, "__module__", "")
        if module.partition(".")[0] == "gpusched" and metric.is_default:
            continue  # covered by the digest of the code
        try:
            code = ObjectReader().of(metric.compute).hex()
        except (UnreadableError, RecursionError):
            code = f"{module}.{getattr(metric.compute, '__qualname__', '')}"
        own.append([key, code])
    return own


def source_of(entry: StudyTrace) -> Trace | None:
    """Return the trace that an entry reads or holds; None if it is generated."""
    if entry.generate is not None:
        return None
    if entry.trace is not None:
        given: Trace = entry.trace
        return given
    from gpusched.traces.reading import read_trace

    return read_trace(
        entry.files if len(entry.files) > 1 else entry.files[0],
        entry.format,
        columns=entry.columns,
        on_bad=entry.on_bad,
        member=entry.member,
        **entry.options,
    )


def jobs_of(
    entry: StudyTrace, source: Trace | None, cluster: Cluster | None, recipe: Recipe
) -> Trace:
    """Make the jobs of a run.

    ``source``: the result of :func:`source_of`.
    ``cluster``: the cluster that the load refers to; None if no load is set.
    """
    from gpusched.traces.generating.synthetic_traces import generate

    if source is None:
        assert entry.generate is not None
        assert recipe.jobs is not None
        assert recipe.load is not None
        trace = generate(
            entry.generate, recipe.jobs, load=recipe.load, cluster=cluster, seed=recipe.seed,
            model=entry.model,
        )  # fmt: skip
    else:
        trace = source
    if recipe.window is not None:
        window = entry.windows[recipe.window]
        trace = trace.between(window.since, window.until).rebased()
    if entry.filter is not None:
        trace = trace.filter(entry.filter).rebased()
    if entry.sample is not None:
        trace = trace.sample(entry.sample, recipe.seed).rebased()
    if entry.ignore:
        trace = trace.with_columns(**dict.fromkeys(entry.ignore))
    if source is not None and recipe.jobs is not None:
        trace = trace.head(recipe.jobs)
    is_cut = recipe.window is not None or entry.filter is not None or entry.sample is not None
    if recipe.load is not None and (source is not None or is_cut):
        assert cluster is not None
        trace = trace.with_load(recipe.load, cluster.num_gpus)
    return _with_models(trace, entry, recipe.seed)


def _with_models(trace: Trace, entry: StudyTrace, seed: int) -> Trace:
    if entry.profiles is not None:
        if entry.profiles == _ZOO:
            from gpusched.model.model_zoo import zoo

            models = tuple(zoo().values())
        else:
            models = read_profiles(entry.profiles)
        names = {model.name for model in models}
        if trace.group is not None and names.issuperset(trace.group.values()):
            trace = trace.with_profiles(models, trace.group.values())
        else:
            trace = trace.with_profiles(models, seed=seed)
    if entry.throughputs is not None:
        from gpusched.model.throughputs import read_throughputs

        trace, assumed = add_throughputs(trace, read_throughputs(entry.throughputs), seed)
        trace = replace(trace, notes=(*trace.notes, *assumed))
    if entry.reference_type is not None:
        trace = trace.with_reference_type(entry.reference_type)
    if entry.deadlines is not None:
        trace = trace.with_deadlines(**({"seed": seed} | entry.deadlines))
    if entry.restart_s is not None:
        cost_s = np.full(len(trace), entry.restart_s)
        trace = replace(trace, restart_us=seconds_to_us(cost_s))
    return with_limits(
        trace,
        time_limit_s=entry.time_limit_s,
        checkpoint_every_s=entry.checkpoint_every_s,
        checkpoint_write_s=entry.checkpoint_write_s,
        max_requeues=entry.max_requeues,
        requeue_back=entry.requeue_back,
    )
