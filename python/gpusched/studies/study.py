"""The description of a study, strictly decoded from and written to texts."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Literal, Self, TypeVar

import msgspec
import numpy as np

from gpusched.base.arrays import Float64
from gpusched.base.defaults import POLICY, REPAIR_S
from gpusched.base.field_checks import check_integer, check_name, check_positive, not_negative
from gpusched.base.files import decode_toml, naming, read_bytes, toml_key, toml_value
from gpusched.base.suggest import nearest, with_nearest_field
from gpusched.base.units import seconds_of, share_of
from gpusched.model.cluster import Cluster, Domain, ServerGroup
from gpusched.results.run_window import RunWindow
from gpusched.traces.checked_columns import left_out

Part = TypeVar("Part")

ROLES: Final = ("policy", "placement", "speed", "contention", "predictor")
LONGEST_NAME: Final = 200
_CHOICES: Final = ("policies", "placements", "speeds", "contentions", "predictors")
AXES: Final = ("traces", "clusters", *_CHOICES, "seeds")
"""Axes that can be zipped, besides those of parameters."""
_MOST_SEED: Final = 2**63 - 1
MOST_JOBS: Final = 2**31 - 1
LOAD_LIMIT: Final = 1e6
WARM_UP: Final = "10%"
"""The part of a run that is not measured by default."""
MOST_RESTART_S: Final = 1e7
# Settings for generated jobs only, and for read or given jobs only.
_OF_FILES: Final = ("format", "columns", "member", "on_bad", "options")


class ParameterAxis(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """An axis over the values of one option of a policy, placement, speed or the like.

    Entries of the study with another name run once, with no value in the column.

    ``option``: name of the parameter, such as ``tau``.
    ``values``: its values; at least one.
    ``policy``, ``placement``, ``speed``, ``contention``, ``predictor``: exactly one: the registered
        name that has the parameter, such as ``a-srpt``.
    ``name``: column name; default: ``option``.
    """

    option: str
    values: tuple[bool | int | float | str | tuple[float, ...], ...]
    policy: str | None = None
    placement: str | None = None
    speed: str | None = None
    contention: str | None = None
    predictor: str | None = None
    name: str = ""

    def __post_init__(self) -> None:
        check_name("option", self.option)
        roles = [role for role in ROLES if getattr(self, role) is not None]
        if len(roles) != 1:
            said = f"{roles[0]} and {roles[1]} are given" if roles else "none is given"
            raise ValueError(f"{', '.join(ROLES)}: one of them is needed, {said}")
        if not self.values:
            raise ValueError("values: at least one is needed")
        if len({*map(repr, self.values)}) < len(self.values):
            raise ValueError(f"values: one value is listed twice in {list(self.values)}")

    @property
    def role(self) -> str:
        """The role that has the option: ``policy``, ``placement`` ..."""
        return next(role for role in ROLES if getattr(self, role) is not None)

    @property
    def of(self) -> str:
        """The registered name that has the option."""
        return str(getattr(self, self.role))

    @property
    def title(self) -> str:
        """Column name."""
        return self.name or self.option


class TraceWindow(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True,
                  rename={"since": "from", "until": "to"}):  # fmt: skip
    """A part of a trace by time of submission.

    ``since``, ``until``: ``from`` and ``to`` in a file: seconds on the clock of the trace, or a
        date such as ``"2024-05-01T09:00"`` if it has dates; None: from the first, to the last.
    ``label``: name in tables; default: both ends.
    """

    since: float | str | None = None
    until: float | str | None = None
    label: str = ""

    def __str__(self) -> str:
        ends = ("" if end is None else f"{end:g}" if isinstance(end, float | int) else str(end)
                for end in (self.since, self.until))  # fmt: skip
        return self.label or "..".join(ends)


class StudyTrace(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The jobs of some runs: generated, read from files, or given as objects.

    ``generate``: name of a profile of :func:`gpusched.generate`, which uses the seed of the run.
    ``model``: as for :func:`gpusched.generate`.
    ``file``: input of :func:`gpusched.read_trace`: a path, or several that become one trace.
    ``trace``: a :class:`gpusched.Trace`, in a Python mapping.
    ``label``: name in tables; default: the name of the profile, file or trace.
    ``jobs``: number of jobs to generate, or to take from the front; several values are an axis.
    ``loads``: offered loads: GPU time of the jobs over that of the cluster. For read and given jobs
        the gaps between arrivals are rescaled; none leaves them unchanged. Generated: default 0.9.
    ``format``, ``columns``, ``member``, ``on_bad``, ``options``: as for
        :func:`gpusched.read_trace`; ``options`` are those of the format.
    ``windows``: parts by submission time; several are an axis.
    ``filter``, ``sample``: condition of :meth:`gpusched.Trace.filter`, and share of
        :meth:`gpusched.Trace.sample`, drawn with the seed of the run.
    ``ignore``: optional columns to leave out, after the filter: ``["priority"]``.
    ``profiles``, ``throughputs``, ``deadlines``: data added to jobs: ``"zoo"`` or a file of
        profiles, a file of throughputs, options of :meth:`gpusched.Trace.with_deadlines`; all drawn
        with the seed of the run, unless deadlines have their own.
    ``restart_s``: cost of each resume of each job, seconds, as in the column of that name.
    ``time_limit_s``, ``checkpoint_every_s``, ``checkpoint_write_s``, ``max_requeues``,
        ``requeue_back``: value of these columns for all jobs; the time limit for those without
        their own.
    ``mtbf_s``, ``repair_s``: draw exponential failures of servers with these mean times to failure
        and to repair, seconds, with the seed of the run, see :func:`gpusched.generate_outages`.
        Default: none.
    ``reference_type``: as for :meth:`gpusched.Trace.with_reference_type`.
    """

    generate: str | None = None
    model: Literal[1, 2] = 2
    file: str | tuple[str, ...] | None = None
    trace: Any = None
    label: str = ""
    jobs: int | tuple[int, ...] | None = None
    loads: tuple[float, ...] = ()
    format: str | None = None
    columns: dict[str, str] | None = None
    member: str | None = None
    on_bad: Literal["reject", "error"] = "reject"
    options: dict[str, Any] = {}
    windows: tuple[TraceWindow, ...] = ()
    filter: str | None = None
    sample: float | None = None
    ignore: tuple[str, ...] = ()
    profiles: str | None = None
    throughputs: str | None = None
    deadlines: dict[str, Any] | None = None
    restart_s: float | None = None
    time_limit_s: float | None = None
    checkpoint_every_s: float | None = None
    checkpoint_write_s: float | None = None
    max_requeues: int | None = None
    requeue_back: int | None = None
    mtbf_s: float | None = None
    repair_s: float = REPAIR_S
    reference_type: str | None = None

    def __post_init__(self) -> None:
        given = [key for key in ("generate", "file", "trace") if getattr(self, key) is not None]
        if len(given) != 1:
            said = f"{given[0]} and {given[1]} are given" if given else "neither is given"
            raise ValueError(f"generate, file or trace: exactly one is needed, {said}")
        if self.generate is not None:
            self._check_generated()
        elif self.model != 2:
            raise ValueError("model: only for generate, not for a file")
        if self.trace is not None:
            from gpusched.traces.workload import Trace

            if not isinstance(self.trace, Trace):
                raise TypeError(f"trace: expected a Trace, not {self.trace!r}")
        for name in ("file", "jobs"):
            if getattr(self, name) == ():
                raise ValueError(f"{name}: at least one is needed")
        for number in self.numbers_of_jobs:
            if number is not None:
                check_integer("jobs", number, 1, MOST_JOBS)
        for load in self.loads:
            if not (math.isfinite(load) and 0 < load <= LOAD_LIMIT):
                raise ValueError(f"loads: {load!r} must be finite and positive")
        if self.restart_s is not None:
            not_negative("restart_s", self.restart_s, MOST_RESTART_S)
        for name in ("mtbf_s", "repair_s"):
            if getattr(self, name) is not None:
                check_positive(name, getattr(self, name))
        if self.sample is not None and not 0 < self.sample <= 1:
            raise ValueError(f"sample: {self.sample!r} must be positive and at most 1")
        left_out("ignore", self.ignore)
        for name in ("loads", "windows", "jobs"):
            values = getattr(self, name)
            if isinstance(values, tuple) and len({*map(str, values)}) < len(values):
                raise ValueError(f"{name}: one value is listed twice in {list(map(str, values))}")

    def _check_generated(self) -> None:
        from gpusched.traces.generating.synthetic_traces import PROFILES

        if self.generate not in PROFILES:
            known = nearest(str(self.generate), list(PROFILES))
            raise ValueError(f"generate: unknown workload {self.generate!r}{known}")
        if self.jobs is None:
            raise ValueError("jobs: a number must be given with generate")
        for name in _OF_FILES:
            if getattr(self, name) not in (None, {}, "reject"):
                raise ValueError(f"{name}: only for a file, not for generate")

    @property
    def numbers_of_jobs(self) -> tuple[int | None, ...]:
        """The axis of the number of jobs."""
        return self.jobs if isinstance(self.jobs, tuple) else (self.jobs,)

    @property
    def files(self) -> tuple[str, ...]:
        """The files to read."""
        return (self.file,) if isinstance(self.file, str) else self.file or ()

    @property
    def is_drawn(self) -> bool:
        """Whether the jobs depend on the seed of the run."""
        deadlines = self.deadlines is not None and "seed" not in self.deadlines
        drawn = (self.generate, self.sample, self.profiles, self.throughputs)
        return deadlines or any(value is not None for value in drawn)

    @property
    def title(self) -> str:
        """The label, or its default."""
        if self.label:
            return self.label
        if self.trace is not None:
            return str(self.trace.name)
        return self.generate or "+".join(file.rpartition("/")[2] for file in self.files)


class StudyCluster(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A cluster of a study.

    ``servers``: number of equal servers, described by ``gpus`` and the other fields; or groups of
        servers, as in :class:`gpusched.Cluster`.
    ``gpus``, ``gpu_type``, ``cpu``, ``memory_gib``, ``nic_gbps``, ``intra_gbps``: of each equal
        server, see :class:`gpusched.ServerGroup`.
    ``domains``, ``name``: as in :class:`gpusched.Cluster`.
    ``servers_per_rack``, ``oversubscription``: as for :meth:`gpusched.Cluster.with_racks`.
    ``speeds``: as for :meth:`gpusched.Cluster.with_speeds`.
    ``file``: input of :func:`gpusched.read_cluster`, instead of all these.
    ``cluster``: a :class:`gpusched.Cluster`, in a Python mapping.
    ``label``: name in tables; default: the name or description of the cluster.
    """

    servers: int | tuple[ServerGroup, ...] | None = None
    gpus: int | None = None
    gpu_type: str = "gpu"
    cpu: float | None = None
    memory_gib: float | None = None
    nic_gbps: float | None = None
    intra_gbps: float | None = None
    domains: tuple[Domain, ...] = ()
    name: str = ""
    servers_per_rack: int | None = None
    oversubscription: float = 1.0
    speeds: dict[str, float] = {}
    file: str | None = None
    cluster: Any = None
    label: str = ""

    def __post_init__(self) -> None:
        given = [key for key in ("servers", "file", "cluster") if getattr(self, key) is not None]
        if len(given) != 1:
            said = f"{given[0]} and {given[1]} are given" if given else "neither is given"
            raise ValueError(f"servers, file or cluster: exactly one is needed, {said}")
        equal = ("gpus", "cpu", "memory_gib", "nic_gbps", "intra_gbps")
        if not isinstance(self.servers, int):
            for key in equal:
                if getattr(self, key) is not None:
                    raise ValueError(f"{key}: only for a number of equal servers")
        elif self.gpus is None:
            raise ValueError("gpus: number of GPUs per server is missing")
        if self.file is None and self.cluster is None:
            self.made()  # report wrong values now

    def made(self) -> Cluster:
        """Make the cluster, or read it."""
        return self._without_speeds().with_speeds(self.speeds)

    def _without_speeds(self) -> Cluster:
        if self.cluster is not None:
            if not isinstance(self.cluster, Cluster):
                raise TypeError(f"cluster: expected a Cluster, not {self.cluster!r}")
            return self.cluster
        if self.file is not None:
            from gpusched.traces.inventories import read_cluster

            return read_cluster(self.file)
        name = self.name or "cluster"
        if isinstance(self.servers, int):
            assert self.gpus is not None
            made = Cluster.uniform(
                self.servers, self.gpus, self.gpu_type, cpu=self.cpu, memory_gib=self.memory_gib,
                nic_gbps=self.nic_gbps, intra_gbps=self.intra_gbps, name=name,
            )  # fmt: skip
        else:
            assert self.servers is not None
            made = Cluster(self.servers, name, self.domains)
        if self.servers_per_rack is None:
            return made
        return made.with_racks(self.servers_per_rack, self.oversubscription)

    def title(self, cluster: Cluster) -> str:
        """The label of the cluster made from this entry, or its default."""
        if self.label or self.name:
            return self.label or self.name
        return str(cluster) if cluster.name in ("", "cluster") else cluster.name


def warm_up_time(warm_up: str | float, submit_s: Float64) -> float:
    """Return the time after the first submission at which measurement begins, seconds.

    ``warm_up``: seconds, a time such as ``"1d"``, or a share of the jobs such as ``"10%"``.
    ``submit_s``: submission times of the jobs, ascending; at least one.
    """
    if not str(warm_up).endswith("%"):
        return seconds_of(warm_up)
    share = share_of(warm_up)
    if not 0 <= share < 1:
        raise ValueError(f"{warm_up!r} must lie in 0%..100%, below 100%")
    first = math.ceil(share * len(submit_s))
    return float(submit_s[min(first, len(submit_s) - 1)] - submit_s[0])


class Study(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A study: each list is an axis, and all axes are crossed.

    From TOML by :meth:`read` or :meth:`from_toml`, from JSON, or from a mapping by :meth:`of`,
    which may also hold Python objects: traces, clusters, policies.

    Attributes
    ----------
    name
        Short name.
    traces, clusters
        At least one each, with the fields of :class:`StudyTrace` and
        :class:`StudyCluster`.
    title
        Title of tables and reports.
    seeds
        Seeds of generated jobs, random draws and random policies: the same for all policies.
    policies, placements, speeds, contentions, predictors
        Each entry a string such as ``"a-srpt:tau=0.5"``, or a table with ``policy`` (``placement``
        ...), a ``label`` for tables and the options. The speed ``"default"`` is the default of
        :func:`gpusched.simulate`.
    metrics
        Metrics in tables, see :func:`gpusched.metrics`; none: the main ones.
    baseline
        Label of the policy that others are compared with; None: the first.
    warm_up
        The part at the beginning of each run, on an empty cluster, that is not measured: a share of
        the jobs in order of submission, ``"10%"``, or a time after the first one, ``"1d"``, or
        0. Bounds,
        gaps and the makespan always cover whole runs.
    warm_up_s, tail_s
        As for ``Result.summary``; ``warm_up_s`` replaces ``warm_up``.
    max_intervals
        As for :func:`gpusched.simulate`, for each run; not part of the names of runs.
    kill_invalid_depend, priority_age_s
        As for :func:`gpusched.simulate`, for each run.
    parameters
        Further axes, see :class:`ParameterAxis`.
    zip
        Groups of axes that are zipped, not crossed: ``[["traces", "clusters"]]``.
    runs
        Filters, if any: a run is made only if it matches one of these tables, which give a value
        or a list of values for some axes (``trace``, ``jobs``, ``load``, ``window``, ``cluster``,
        ``policy``, ``placement``, ``speed``, ``contention``, ``predictor``, ``seed``, or the name
        of an axis of parameters).

    Raises
    ------
    TypeError, ValueError
        If a field has the wrong type or is out of range; the message has its path.

    Examples
    --------
    >>> study = gs.Study.of({
    ...     "name": "loads", "seeds": [1, 2], "policies": ["fifo", "srtf"],
    ...     "traces": [{"generate": "philly", "jobs": 100, "loads": [0.7, 0.9]}],
    ...     "clusters": [{"servers": 8, "gpus": 8}],
    ... })
    >>> gs.Study.from_toml(study.to_toml()) == study
    True
    """

    name: str
    traces: tuple[Any, ...]
    clusters: tuple[Any, ...]
    title: str = ""
    seeds: tuple[int, ...] = (0,)
    policies: tuple[Any, ...] = (POLICY,)
    placements: tuple[Any, ...] = ("consolidated",)
    speeds: tuple[Any, ...] = ("default",)
    contentions: tuple[Any, ...] = ("none",)
    predictors: tuple[Any, ...] = ("auto",)
    metrics: tuple[str, ...] = ()
    baseline: str | None = None
    warm_up: str | int | float = WARM_UP
    warm_up_s: float | None = None
    tail_s: float | None = None
    max_intervals: int | None = None
    kill_invalid_depend: bool = False
    priority_age_s: float | None = None
    parameters: tuple[ParameterAxis, ...] = ()
    zip: tuple[tuple[str, ...], ...] = ()
    runs: tuple[dict[str, Any], ...] = ()

    def __post_init__(self) -> None:
        check_name("name", self.name)
        if len(self.name) > LONGEST_NAME:
            raise ValueError(f"name: {len(self.name)} characters, must be at most {LONGEST_NAME}")
        self._decode("traces", StudyTrace)
        self._decode("clusters", StudyCluster)
        for axis in (*_CHOICES, "seeds"):
            sequence_of(getattr(self, axis), axis)
        for position, seed in enumerate(self.seeds):
            if not 0 <= seed <= _MOST_SEED:
                raise ValueError(f"{seed} must lie in 0..{_MOST_SEED} - at `$.seeds[{position}]`")
        if len({*self.seeds}) < len(self.seeds):
            raise ValueError(f"seeds: one is listed twice in {list(self.seeds)}")
        RunWindow.of(self.warm_up_s, self.tail_s)
        if self.priority_age_s is not None:
            check_positive("priority_age_s", self.priority_age_s)
        if self.warm_up_s is not None and self.warm_up != WARM_UP:
            raise ValueError("warm_up, warm_up_s: give at most one of them")
        if not isinstance(self.warm_up, str):
            self._read_warm_up(self.warm_up)
        with naming("warm_up"):
            RunWindow.of(warm_up_time(self.warm_up, np.zeros(1)))
        if self.max_intervals is not None and self.max_intervals < 1:
            raise ValueError(f"max_intervals: {self.max_intervals} must be at least 1")
        self._check_metrics()

    def _read_warm_up(self, given: float) -> None:
        """Take 0 for a time; of other numbers it is not clear whether they are seconds."""
        if given != 0:
            raise ValueError(
                f'warm_up: {given!r} has no unit; write "{given}s", a share of jobs such as '
                f'"10%", or warm_up_s = {given}'
            )
        msgspec.structs.force_setattr(self, "warm_up", "0s")

    @property
    def warm_up_cut(self) -> str | float:
        """Return the part not measured at the beginning: ``warm_up_s``, or ``warm_up``."""
        return self.warm_up if self.warm_up_s is None else self.warm_up_s

    def _decode(self, field: str, kind: type[msgspec.Struct]) -> None:
        """Convert the entries of a field to records; wrap Python objects in one."""
        entries = sequence_of(getattr(self, field), field)
        role = field.removesuffix("s")
        made = []
        for position, entry in enumerate(entries):
            is_part = isinstance(entry, Mapping | msgspec.Struct) and not isinstance(entry, Cluster)
            given = entry if is_part else {role: entry}
            made.append(part_of(given, kind, f"{field}[{position}]"))
        msgspec.structs.force_setattr(self, field, tuple(made))

    def _check_metrics(self) -> None:
        if not self.metrics:
            return
        from gpusched.results.metric_registry import metrics

        known = metrics()
        for position, key in enumerate(self.metrics):
            if key not in known:
                hint = nearest(key, list(known))
                raise ValueError(f"unknown metric {key!r}{hint} - at `$.metrics[{position}]`")

    @classmethod
    def of(cls, study: Study | Mapping[str, Any] | str | os.PathLike[str]) -> Study:
        """Return a study unchanged, decode a mapping, or read a file.

        Returns
        -------
        Study
            The same object if it already is a study.

        Raises
        ------
        OSError
            If the file cannot be read.
        TypeError, ValueError
            If it is not a study; the message has the path of the field.

        Examples
        --------
        >>> gs.Study.of({
        ...     "name": "small", "traces": [{"generate": "philly", "jobs": 9}],
        ...     "clusters": [{"servers": 1, "gpus": 8}],
        ... }).policies
        ('fifo',)
        """
        if isinstance(study, cls):
            return study
        if isinstance(study, Mapping):
            with naming("study"):
                return cls._of(study)
        if isinstance(study, str | os.PathLike):
            return cls.read(study)
        raise TypeError(f"study: expected a Study, a mapping or a file, not {study!r}")

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Self:
        """Read a TOML or JSON file; relative paths in it start from its folder.

        Returns
        -------
        Study
            JSON if the name ends in ``.json``, else TOML.

        Raises
        ------
        OSError
            If it cannot be read.
        ValueError
            As :meth:`from_toml`.

        Examples
        --------
        >>> from pathlib import Path
        >>> study = gs.Study.of({
        ...     "name": "small", "traces": [{"generate": "philly", "jobs": 9}],
        ...     "clusters": [{"servers": 1, "gpus": 8}],
        ... })
        >>> _ = Path("small.toml").write_text(study.to_toml())
        >>> gs.Study.read("small.toml") == study
        True
        """
        text, folder = read_bytes(path), Path(path).parent
        read = cls.from_json if os.fspath(path).endswith(".json") else cls.from_toml
        return read(text, os.fspath(path)).beside(folder)

    @classmethod
    def from_toml(cls, text: str | bytes, source: str = "study") -> Self:
        """Decode TOML text.

        Returns
        -------
        Study
            Accepts the output of :meth:`to_toml`, or text written by hand.

        Raises
        ------
        ValueError
            If it is not TOML, or a field is unknown, missing, of the wrong type or out of range;
            the message names ``source`` and the path of the field.

        Examples
        --------
        >>> text = '''
        ... name = "small"
        ... traces = [{generate = "philly", jobs = 9}]
        ... clusters = [{servers = 1, gpus = 8}]
        ... '''
        >>> gs.Study.from_toml(text).name
        'small'
        """
        with naming(source):
            return cls._of(decode_toml(text, dict[str, Any]))

    @classmethod
    def from_json(cls, text: str | bytes, source: str = "study") -> Self:
        """Decode JSON text.

        Returns
        -------
        Study
            Accepts the output of :meth:`to_json`, or text written by hand.

        Raises
        ------
        ValueError
            As :meth:`from_toml`.

        Examples
        --------
        >>> text = '''{
        ...     "name": "small", "traces": [{"generate": "philly", "jobs": 9}],
        ...     "clusters": [{"servers": 1, "gpus": 8}]
        ... }'''
        >>> gs.Study.from_json(text).name
        'small'
        """
        with naming(source):
            return cls._of(msgspec.json.decode(text, type=dict[str, Any], strict=True))

    @classmethod
    def _of(cls, fields: Mapping[str, Any]) -> Self:
        try:
            return msgspec.convert(dict(fields), cls, strict=True)
        except msgspec.ValidationError as error:
            # Messages of our own checks already have a path, and msgspec adds that of the whole.
            told = str(error).replace("` - at `$`", "`")
            raise ValueError(with_nearest_field(told, cls)) from None

    def beside(self, folder: Path) -> Self:
        """Rewrite the relative paths of a study to start from ``folder``.

        Returns
        -------
        Study
            Absolute paths stay.

        Raises
        ------
        TypeError
            If the study names a file and ``folder`` is not a :class:`pathlib.Path`.

        Examples
        --------
        >>> from pathlib import Path
        >>> study = gs.Study.of({
        ...     "name": "small", "clusters": [{"servers": 1, "gpus": 8}],
        ...     "traces": [{"file": "jobs.csv"}],
        ... })
        >>> study.beside(Path("data")).traces[0].file == str(Path("data", "jobs.csv"))
        True
        """
        if str(folder) == ".":
            return self
        return msgspec.structs.replace(
            self,
            traces=tuple(beside(part, folder) for part in self.traces),
            clusters=tuple(beside(part, folder) for part in self.clusters),
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, without fields at their defaults.

        Returns
        -------
        dict
            Input for :meth:`of`.

        Raises
        ------
        ValueError
            If the study holds Python objects, which cannot be written as text.

        Examples
        --------
        >>> study = gs.Study.of({
        ...     "name": "small", "traces": [{"generate": "philly", "jobs": 9}],
        ...     "clusters": [{"servers": 1, "gpus": 8}],
        ... })
        >>> gs.Study.of(study.to_dict()) == study
        True
        """
        try:
            return dict(msgspec.to_builtins(self, enc_hook=_refused))
        except (TypeError, NotImplementedError) as error:
            raise ValueError(f"study {self.name}: cannot be written: {error}") from None

    def to_json(self) -> str:
        """Return JSON text for :meth:`from_json`.

        Returns
        -------
        str
            Ends in a line break.

        Examples
        --------
        >>> study = gs.Study.of({
        ...     "name": "small", "traces": [{"generate": "philly", "jobs": 9}],
        ...     "clusters": [{"servers": 1, "gpus": 8}],
        ... })
        >>> gs.Study.from_json(study.to_json()) == study
        True
        """
        return msgspec.json.format(msgspec.json.encode(self.to_dict()), indent=2).decode() + "\n"

    def to_toml(self) -> str:
        """Return TOML text for :meth:`from_toml`.

        Returns
        -------
        str
            Ends in a line break.

        Examples
        --------
        >>> study = gs.Study.of({
        ...     "name": "small", "traces": [{"generate": "philly", "jobs": 9}],
        ...     "clusters": [{"servers": 1, "gpus": 8}],
        ... })
        >>> gs.Study.from_toml(study.to_toml()) == study
        True
        """
        return "\n".join(toml_lines(self.to_dict())) + "\n"


def part_of(value: Any, kind: type[Part], path: str) -> Part:
    """Decode a part of a study strictly; errors have its path in the study."""
    if isinstance(value, kind):
        return value
    try:
        return msgspec.convert(value, kind, strict=True)
    except msgspec.ValidationError as error:
        message = with_nearest_field(str(error), kind)
        told, at, where = message.rpartition(" - at `$")
        if not at:
            told, where = message, ""
        raise ValueError(f"{told} - at `$.{path}{where.rstrip('`')}`") from None


def sequence_of(value: Any, path: str) -> Sequence[Any]:
    """Return a list unchanged; raise a ValueError with the path if it is not one, or empty."""
    if isinstance(value, str | Mapping) or not isinstance(value, Sequence):
        raise ValueError(f"Expected an array, not {value!r} - at `$.{path}`")
    if not value:
        raise ValueError(f"at least one is needed - at `$.{path}`")
    return value


def beside(part: Any, folder: Path) -> Any:
    """Return a part with its relative paths starting from ``folder``."""

    def placed(text: str) -> str:
        return text if os.path.isabs(text) else str(folder / text)

    changes: dict[str, Any] = {}
    for field in ("file", "profiles", "throughputs"):
        value = getattr(part, field, None)
        if isinstance(value, tuple):
            changes[field] = tuple(map(placed, value))
        elif value is not None and (field, value) != ("profiles", "zoo"):
            changes[field] = placed(value)
    return msgspec.structs.replace(part, **changes) if changes else part


def _refused(value: Any) -> Any:
    raise NotImplementedError(f"{type(value).__name__} is a Python object")


def toml_lines(fields: Mapping[str, Any]) -> list[str]:
    """Write plain values and lists first, then each table of a list, as by hand."""
    plain = {key: value for key, value in fields.items() if not _is_tables(value)}
    lines = [f"{key} = {toml_value(value)}" for key, value in plain.items()]
    for key, tables in fields.items():
        if key in plain:
            continue
        for table in tables:
            own = [f"{toml_key(name)} = {toml_value(value)}" for name, value in table.items()]
            lines += ["", f"[[{key}]]", *own]
    return lines


def _is_tables(value: Any) -> bool:
    return (
        isinstance(value, list | tuple)
        and bool(value)
        and all(isinstance(entry, dict) for entry in value)
    )
