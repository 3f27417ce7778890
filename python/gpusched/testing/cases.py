"""A workload with all that determines its run; the input of the properties."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final

import msgspec
import numpy as np

from gpusched import _core
from gpusched.audit.case import Case as Evidence
from gpusched.audit.course import Course
from gpusched.audit.laws import known_holds
from gpusched.audit.rates import kinds_by_figures
from gpusched.base.run_warning import RunWarning
from gpusched.base.ticks import US_PER_S
from gpusched.engine.open_run import Simulation
from gpusched.engine.seams import Chosen, placement_seam, policy_seam
from gpusched.engine.simulation import simulate
from gpusched.model.cluster import Cluster, ServerGroup
from gpusched.model.outages import Outages
from gpusched.plugins.info import PluginInfo, has_flag
from gpusched.plugins.policy import Choice, ContentionChoice, SpeedChoice, known_choice
from gpusched.results.audited_names import declared
from gpusched.results.result import Result
from gpusched.schedules.schedule import FINISHED
from gpusched.traces.job_columns import HELD
from gpusched.traces.workload import Trace

LIMITS: Final = (
    "time_limit_s", "checkpoint_every_s", "checkpoint_write_s", "max_requeues", "requeue_back",
)  # fmt: skip
"""Columns on how runs end and what is kept of them."""
HOLDS: Final = ("eligible_s", "cancel_at_s", "array", "array_limit", "dependency")
"""Columns that hold or cancel jobs."""
RANKS: Final = ("priority", "nice")
"""Columns that decide which jobs go first; the only ones that may be negative."""

_COLUMNS: Final = (
    "submit_s", "service_s", "gpus", "estimate_s", "predicted_s", "deadline_s", "checkpoint_s",
    "restart_s", "weight", "value", "min_gpus", "max_gpus", "gpu_share", "cpu", "memory_gib",
    "gpus_per_node", *LIMITS, "eligible_s", "cancel_at_s", "array_limit", *RANKS,
)  # fmt: skip
_NAMES: Final = ("array", "dependency", "status", "user", "group")
"""Labels that may hold jobs, if any does."""

Columns = dict[str, Any]


def columns_of(trace: Trace) -> Columns:
    """Return the columns of the jobs for :meth:`Trace.from_columns`.

    Ids and labels are left out, unless jobs may wait for each other.
    """
    columns: Columns = {}
    for name in _COLUMNS:
        is_time = name.endswith("_s")
        values = getattr(trace, f"{name[:-1]}us" if is_time else name)
        if values is not None:
            is_none = (values < (name == "checkpoint_every_s")) & (name not in RANKS)
            is_held = is_time & (values == HELD)
            values = values / US_PER_S if is_time else values
            values = np.where(is_held, np.inf, values)
            columns[name] = list(map(_number, np.where(is_none, np.nan, values).tolist()))
    if trace.type_set is not None:
        columns["gpu_types"] = ["|".join(types) for types in trace.allowed_types or ()]
    for index, models in (("profile", "profiles"), ("graph", "graphs")):
        if (values := getattr(trace, index)) is not None:
            columns |= {index: values.tolist(), models: list(getattr(trace, models))}
    if trace.array is not None or trace.dependency is not None:
        columns["id"] = trace.id.tolist()
        for name in _NAMES:
            if (labels := getattr(trace, name)) is not None:
                columns[name] = [labels.names[code] for code in labels.codes.tolist()]
    return columns


def with_columns(columns: Columns, **changed: Any) -> Trace:
    """Return a trace of the columns, with some of them replaced."""
    return Trace.from_columns(**{**columns, **changed})


def with_rows(columns: Columns, rows: Sequence[int]) -> Trace:
    """Return a trace of some of the rows, in this order."""
    chosen: Columns = {
        name: values if name in ("profiles", "graphs") else [values[row] for row in rows]
        for name, values in columns.items()
    }
    return Trace.from_columns(**chosen)


def trace_code(trace: Trace) -> str:
    """Return code that builds the jobs; see :func:`columns_of`."""
    columns = columns_of(trace)
    given = [f"{name}={_code(values)}" for name, values in columns.items()]
    one_line = f"trace = gs.Trace.from_columns({', '.join(given)})"
    if len(one_line) <= 100:
        return one_line
    lines = "".join(f"    {text},\n" for text in given)
    return f"trace = gs.Trace.from_columns(\n{lines})"


def cluster_code(cluster: Cluster) -> str:
    """Return code that builds the servers."""
    if len(cluster.servers) == 1 and not cluster.domains:
        (group,) = cluster.servers
        fields = _fields(group)
        fields["servers"] = fields.pop("count")
        ordered = {name: fields.pop(name) for name in ("servers", "gpus")} | fields
        return f"cluster = gs.Cluster.uniform({_arguments(ordered)})"
    groups = ", ".join(f"gs.ServerGroup({_arguments(_fields(group))})" for group in cluster.servers)
    text = f"({groups},)"
    if cluster.domains:
        domains = ", ".join(f"gs.Domain({_arguments(_fields(d))})" for d in cluster.domains)
        text += f", domains=({domains},)"
    return f"cluster = gs.Cluster({text})"


def outages_code(outages: Outages) -> str:
    """Return code that builds the outages."""
    columns = outages.to_polars().to_dict(as_series=False)
    given = [f"{name}={_code([*map(_number, values)])}" for name, values in columns.items()]
    return f"outages = gs.Outages.from_columns({', '.join(given)})"


def moved(outages: Outages | None, *, times: int = 1, later_s: int = 0) -> Outages | None:
    """Return outages with all times multiplied or later."""
    if outages is None:
        return None
    shift_us = round(later_s * US_PER_S)
    end_us = np.where(outages.end_us < 0, outages.end_us, outages.end_us * times + shift_us)
    known_us = None if outages.known_us is None else outages.known_us * times + shift_us
    start_us = outages.start_us * times + shift_us
    return replace(outages, start_us=start_us, end_us=end_us, known_us=known_us)


def one_more_server(cluster: Cluster) -> Cluster:
    """Return the cluster with another server like its last one."""
    last = cluster.servers[-1]
    more = msgspec.structs.replace(last, count=last.count + 1)
    return msgspec.structs.replace(cluster, servers=(*cluster.servers[:-1], more))


def cluster_of(servers: Sequence[tuple[int, str]], **more: Any) -> Cluster:
    """Return a cluster of servers of so many GPUs of a type, in this order."""
    groups: list[ServerGroup] = []
    for gpus, gpu_type in servers:
        count = 1
        if groups and (groups[-1].gpus, groups[-1].gpu_type) == (gpus, gpu_type):
            count += groups.pop().count
        groups.append(ServerGroup(count, gpus, gpu_type, **more))
    return Cluster(tuple(groups))


def _fields(struct: Any) -> Columns:
    fields = msgspec.structs.fields(struct)
    values = {field.name: getattr(struct, field.name) for field in fields}
    return {
        field.name: values[field.name]
        for field in fields
        if field.required
        or field.name == "gpus"
        or (values[field.name] != field.default and values[field.name] not in ({}, ()))
    }


def _arguments(values: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={value!r}" for name, value in values.items())


def _code(value: Any) -> str:
    if isinstance(value, float) and not np.isfinite(value):
        return f'float("{value}")'
    if isinstance(value, tuple):
        return f"({''.join(_code(entry) + ', ' for entry in value)})".replace(", )", ",)")
    if isinstance(value, list):
        return f"[{', '.join(map(_code, value))}]"
    if isinstance(value, msgspec.Struct):
        given = ", ".join(f"{name}={_code(of)}" for name, of in _fields(value).items())
        return f"gs.model.{type(value).__name__}({given})"
    return repr(value)


def _number(value: float) -> float:
    """Return a whole number as an int, which is more readable."""
    is_whole = isinstance(value, float) and value.is_integer()
    return int(value) if is_whole else value


_SEAMS: Final[dict[str, Callable[[Any], Chosen]]] = {
    "policy": policy_seam,
    "placement": placement_seam,
}
_OBJECTS: Final = (_core.Order, _core.Scheduler, _core.Placement)


@dataclass(frozen=True, eq=False)
class Subject:
    """A policy or a placement as given: a name, an object, or a factory.

    ``given``: a name or a choice; a Python object, of which each run gets a copy; or a class or a
        function without arguments, which is called for each run.
    ``info``, ``flags``, ``label``: its description.
    """

    given: Any
    info: PluginInfo
    flags: tuple[str, ...]
    label: str

    @classmethod
    def of(cls, role: str, given: Any) -> Subject:
        """Inspect the argument; errors as for :func:`gpusched.simulate`."""
        makes = callable(given) and not isinstance(given, _OBJECTS)
        chosen = _SEAMS[role](given() if makes else given)
        kept = given if makes or not isinstance(given, _OBJECTS) else copy.deepcopy(given)
        return cls(kept, chosen.info, chosen.flags, chosen.label)

    def has(self, flag: str) -> bool:
        """Whether it has the flag; raise ValueError if the flag is unknown."""
        return has_flag(self.flags, flag)

    def make(self) -> Any:
        """Return a fresh instance."""
        if isinstance(self.given, str | Choice):
            return self.given
        return copy.deepcopy(self.given) if isinstance(self.given, _OBJECTS) else self.given()

    def object(self) -> Any:
        """Return a Python object as :meth:`make` does; None if it is native."""
        if isinstance(self.given, str | Choice):
            role = "placement" if self.info.kind == "placement" else "policy"
            native = _SEAMS[role](self.given).native
            return None if isinstance(native, str) else native
        return self.make()

    def code(self, role: str) -> str:
        """Return the code that names it."""
        if isinstance(self.given, str | Choice):
            return repr(self.given) if isinstance(self.given, str) else f"gs.{self.given!r}"
        if isinstance(self.given, _OBJECTS):
            return role if vars(self.given) else f"{type(self.given).__name__}()"
        return getattr(self.given, "__name__", role)


@contextmanager
def _quiet() -> Iterator[None]:
    """Suppress the warnings of runs about their jobs."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RunWarning)
        yield


@dataclass(frozen=True, eq=False)
class Case:
    """A workload with all that determines its run, and the run.

    ``role``: the part under test: ``"policy"``, ``"placement"`` or ``"speed"``.
    ``claims``: what was declared of it, beyond its flags.
    """

    trace: Trace
    cluster: Cluster
    policy: Subject
    placement: Subject
    speed: SpeedChoice
    contention: str = "none"
    seed: int = 0
    role: str = "policy"
    claims: frozenset[str] = frozenset()
    outages: Outages | None = None

    @cached_property
    def result(self) -> Result:
        """Its run."""
        return self.simulate()

    @cached_property
    def columns(self) -> Columns:
        """Its jobs, as columns for :meth:`Trace.from_columns`."""
        return columns_of(self.trace)

    @property
    def subject(self) -> Subject:
        """The part under test, or the policy that a speed is tested with."""
        return self.placement if self.role == "placement" else self.policy

    @property
    def is_pooled(self) -> bool:
        """Whether the cluster is a single pool of GPUs without servers."""
        return self.placement.has("pooled")

    @property
    def is_random(self) -> bool:
        """Whether the result may depend on the seed."""
        may_draw = self.policy.has("random") or self.placement.has("random")
        return may_draw or "random" in self.claims

    @property
    def is_preemptive(self) -> bool:
        """Whether the policy may preempt."""
        info = self.policy.info
        is_told = info.preempts is False or self.policy.has("non-preemptive")
        return not (is_told or "non-preemptive" in self.claims)

    @property
    def is_fixed(self) -> bool:
        """Whether jobs run for their service at their own number of GPUs."""
        return self.speed.has("steady")

    @property
    def has_contention(self) -> bool:
        """Whether jobs that share a link slow each other down."""
        return not known_choice(ContentionChoice, self.contention).has("uncontended")

    @property
    def has_limits(self) -> bool:
        """Whether runs may end before their work is done, or be longer than it, or not begin."""
        has_any = any(name in self.columns for name in (*LIMITS, *HOLDS))
        return self.outages is not None or has_any

    @property
    def may_wait(self) -> bool:
        """Whether jobs may wait for each other."""
        return "dependency" in self.columns or "array" in self.columns

    @property
    def uncancelled(self) -> Trace:
        """Its jobs, none of which their users cancel: for probes, which cannot remove jobs."""
        return replace(self.trace, cancel_at_us=None)

    def evidence(self, *, preempts: bool | None = None) -> Evidence:
        """Return its run as an audit case; ``preempts`` overrides the flag."""
        run = self.result
        flags = declared(run.spec)
        if preempts is not None:
            flags = replace(flags, preempts=preempts)
        made = Evidence(
            self.trace, self.cluster, run.spec, run.schedule, run.intervals, flags,
            outages=self.outages,
        )  # fmt: skip
        made.measured = kinds_by_figures(made)
        made.holds = known_holds(made, Course.of(made))
        return made

    @cached_property
    def finished(self) -> np.ndarray:
        """Whether each job finished, bool[jobs]."""
        return np.asarray(self.result.schedule.status == FINISHED)

    def simulate(self, **changed: Any) -> Result:
        """Run it with fresh objects; ``changed`` are other arguments of :func:`simulate`."""
        with _quiet():
            return simulate(**self._arguments(changed))

    def open(self, **changed: Any) -> Simulation:
        """Open it with fresh objects; arguments as for :meth:`result`."""
        with _quiet():
            return Simulation(**self._arguments(changed))

    def on(self, trace: Trace, cluster: Cluster | None = None) -> Case:
        """Return a copy with other jobs or servers."""
        return replace(self, trace=trace, cluster=cluster or self.cluster)

    def again(self, law: str) -> str:
        """Return the code that checks it for one property."""
        given = [self.speed_code() if self.role == "speed" else self.subject.code(self.role)]
        if self.role != "policy":
            given.append(f"policy={self.policy.code('policy')}")
        if self.role != "placement":
            given.append(f"placement={self.placement.code('placement')}")
        if self.role != "speed" and not self.is_fixed:
            given.append(f"speed={self.speed_code()}")
        if self.has_contention:
            given.append(f"contention={self.contention!r}")
        if self.claims:
            given.append(f"declares={sorted(self.claims)!r}")
        workload = "trace, cluster" + ", outages" * (self.outages is not None)
        given += [f"laws=[{law!r}]", f"on=({workload})", f"seed={self.seed}"]
        return f"gs.testing.check_{self.role}({', '.join(given)})"

    def speed_code(self) -> str:
        """Return the speed as a quoted string."""
        return repr(str(self.speed))

    def _arguments(self, changed: dict[str, Any]) -> dict[str, Any]:
        given: dict[str, Any] = {
            "trace": self.trace, "cluster": self.cluster, "speed": self.speed,
            "contention": self.contention, "seed": self.seed, "outages": self.outages,
        }  # fmt: skip
        for name in ("policy", "placement"):
            if name not in changed:
                given[name] = getattr(self, name).make()
        return given | changed


def finished_result(run: Simulation) -> Result:
    """Advance a run to its end and return its result."""
    with _quiet():
        run.run()
        return run.result()


def partial_result(run: Simulation) -> Result:
    """Return the result of an unfinished run."""
    with _quiet():
        return run.result()


Workload = tuple[Trace, Cluster, Outages | None]


def corner_cases(gpu_types: Sequence[str]) -> Iterator[Workload]:
    """Yield small workloads in which a policy has few choices, or many, without outages."""
    one = cluster_of([(1, gpu_types[0])])
    some = cluster_of([(2, name) for name in gpu_types] + [(2, gpu_types[0])])
    yield Trace.from_columns([0], [1], [1]), one, None
    yield Trace.from_columns([5], [2], [2]), some, None
    yield Trace.from_columns([0], [1], [2]), one, None  # larger than the cluster
    yield Trace.from_columns([0, 0, 0, 0], [3, 3, 3, 3], [1, 1, 1, 1]), one, None
    yield Trace.from_columns([0, 0, 1, 1], [4, 1, 4, 1], [2, 1, 2, 1]), some, None
    yield Trace.from_columns([0, 1, 2], [10, 1, 1], [1, 2, 1]), some, None
    yield Trace.from_columns([0, 1], [4, 1], [1, 1], eligible_s=[3, 1]), one, None
    waiting = Trace.from_columns(
        [0, 0, 0, 0], [2, 2, 2, 2], [1, 1, 1, 1], array=["a", "a", "a", ""],
        array_limit=[1, 1, 1, float("nan")], dependency=["afterany:2", "", "", ""],
    )  # fmt: skip
    yield waiting, some, None
