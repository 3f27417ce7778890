"""The jobs of a run: of what they are made, how that is named, and how it is done."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import msgspec
import numpy as np

from gpusched.base.ticks import seconds_to_us
from gpusched.clusters.cluster import Cluster
from gpusched.specs.fingerprints import fingerprint
from gpusched.sweeping.spec_parts import StudyTrace, TraceWindow

if TYPE_CHECKING:
    from gpusched.traces.workload import Trace

_CHUNK: Final = 1 << 20
_GENERATED_LOAD: Final = 0.9
_ZOO: Final = "zoo"


@dataclass(frozen=True)
class Recipe:
    """How the jobs of some runs are made.

    Attributes
    ----------
    name
        SHA-256 of all that decides them: equal names, equal jobs.
    trace, cluster
        Positions in the study of the entry, and of the cluster that a load refers to; the latter
        is -1 where the jobs are the same for all clusters.
    jobs, window, load
        One value of the axis each; None: as they are. ``window`` is a position.
    seed
        Of what is drawn.
    """

    name: str
    trace: int
    cluster: int
    jobs: int | None
    window: int | None
    load: float | None
    seed: int


class RecipeNames:
    """Names recipes by their content; each file is read once.

    Parameters
    ----------
    traces, clusters
        Those of the study.
    """

    def __init__(self, traces: tuple[StudyTrace, ...], clusters: tuple[Cluster, ...]) -> None:
        self._traces, self._clusters = traces, clusters
        self._of_trace = [content_of(entry) for entry in traces]
        self._of_cluster = [cluster_content(cluster) for cluster in clusters]
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
        """Return the recipe of a run; what does not decide the jobs is not in it."""
        entry = self._traces[trace]
        if entry.generate is not None and load is None:
            load = _GENERATED_LOAD
        if load is None:
            cluster = -1
        if not entry.is_drawn:
            seed = 0
        key = (trace, cluster, jobs, window, load, seed)
        if key not in self._known:
            of = b"" if cluster < 0 else self._of_cluster[cluster]
            part = None if window is None else entry.windows[window]
            ends = None if part is None else (part.since, part.until)
            told = msgspec.json.encode((self._of_trace[trace], of, jobs, ends, load, seed))
            name = hashlib.sha256(b"gpusched workload 1" + told).hexdigest()
            self._known[key] = Recipe(name, *key)
        return self._known[key]


def content_of(entry: StudyTrace) -> bytes:
    """Return all that an entry says of its jobs, but for what has an axis of its own."""
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


def cluster_content(cluster: Cluster) -> bytes:
    """Return all of a cluster but its title."""
    fields = {
        field: [msgspec.structs.asdict(part) for part in getattr(cluster, field)]
        for field in ("servers", "domains")
    }
    return msgspec.json.encode(fields, order="deterministic")


def file_digest(path: str | os.PathLike[str]) -> str:
    """SHA-256 of a file, or of the names and contents of all files of a folder."""
    sha = hashlib.sha256()
    if os.path.isdir(path):
        for folder, folders, names in os.walk(path):
            folders.sort()
            for name in sorted(names):
                inner = os.path.join(folder, name)
                sha.update(os.path.relpath(inner, path).encode() + b"\0")
                sha.update(file_digest(inner).encode())
        return sha.hexdigest()
    with open(path, "rb") as file:
        while piece := file.read(_CHUNK):
            sha.update(piece)
    return sha.hexdigest()


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

    Parameters
    ----------
    source
        What :func:`source_of` gave.
    cluster
        What the load refers to; None if none is set.
    """
    from gpusched.generator.synthetic_traces import generate

    if source is None:
        assert entry.generate is not None
        assert recipe.jobs is not None
        assert recipe.load is not None
        trace = generate(
            entry.generate, recipe.jobs, load=recipe.load, cluster=cluster, seed=recipe.seed
        )
    else:
        trace = source
    if recipe.window is not None:
        trace = _within(trace, entry.windows[recipe.window])
    if entry.filter is not None:
        trace = trace.filter(entry.filter).rebased()
    if entry.sample is not None:
        trace = trace.sample(entry.sample, recipe.seed).rebased()
    if source is not None and recipe.jobs is not None:
        trace = trace.head(recipe.jobs)
    is_cut = recipe.window is not None or entry.filter is not None or entry.sample is not None
    if recipe.load is not None and (source is not None or is_cut):
        assert cluster is not None
        trace = trace.with_load(recipe.load, cluster.num_gpus)
    return _with_models(trace, entry, recipe.seed)


def _within(trace: Trace, window: TraceWindow) -> Trace:
    return trace.between(window.since, window.until).rebased()


def _with_models(trace: Trace, entry: StudyTrace, seed: int) -> Trace:
    if entry.profiles is not None:
        if entry.profiles == _ZOO:
            from gpusched.models.model_zoo import zoo

            models = tuple(zoo().values())
        else:
            from gpusched.models.profiles import read_profiles

            models = read_profiles(entry.profiles)
        names = {model.name for model in models}
        if trace.group is not None and names.issuperset(trace.group.values()):
            trace = trace.with_profiles(models, trace.group.values())
        else:
            trace = trace.with_profiles(models, seed=seed)
    if entry.throughputs is not None:
        from gpusched.models.throughputs import read_throughputs

        trace = trace.with_throughputs(read_throughputs(entry.throughputs), seed=seed)
    if entry.deadlines is not None:
        trace = trace.with_deadlines(**({"seed": seed} | entry.deadlines))
    if entry.restart_s is not None:
        cost_s = np.full(len(trace), entry.restart_s)
        trace = replace(trace, restart_us=seconds_to_us(cost_s))
    return trace
