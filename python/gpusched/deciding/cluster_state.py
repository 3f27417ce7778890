"""A cluster at one instant: who runs where, and who waits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from gpusched.base.arrays import AnyArray, Bool, Float64, Int32, Int64, freeze_columns
from gpusched.base.ticks import MAX_SUBMIT_US, US_PER_S, seconds_to_us
from gpusched.clusters.cluster import Cluster
from gpusched.engine.standing_run import standing
from gpusched.traces.workload import Trace

if TYPE_CHECKING:
    from gpusched.engine.open_run import Simulation

_TYPES: Final[Mapping[str, Any]] = {
    "start_s": np.float64, "attained_s": np.float64, "cost_s": np.float64,
    "preemptions": np.int32, "added_s": np.float64, "held_job": np.int64,
    "held_server": np.int64, "held_mask": np.uint64,
}  # fmt: skip

# What may stand for a column that is made of it.
_LEFT_OUT: Any = None
_NOTHING: Any = ()
_HELD: Final = ("held_job", "held_server", "held_mask")


class NamedServer(NamedTuple):
    """What the source of a state calls a server, and the numbers that it gives its GPUs."""

    name: str
    gpus: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class ClusterState:
    """A real or simulated cluster at one instant, as :func:`decide` and :func:`when` take it.

    Columns that are left out are those of jobs that have all waited since their submission.

    Attributes
    ----------
    cluster
        The servers.
    jobs
        The jobs that wait or run now, submitted by now; None: nobody does. ``service_s`` is what is
        known of their run times, a prediction; policies are told nothing else. A job that has
        already run for longer is taken to be about to end.
    now_s
        The time, on the clock of the jobs' ``submit_s``.
    start_s
        float64 seconds, one per job: when its present run began; NaN where it waits. Default: all
        wait.
    attained_s
        float64 seconds, one per job: service so far, restart costs left out. Default, and where it
        is NaN: the time since ``start_s`` and the cost.
    cost_s
        float64 seconds, one per job: what the present run paid first for its restart. Default: 0.
    preemptions
        int32, one per job: how often it was preempted. Default: 0.
    held_job, held_server, held_mask
        int64, int64 and uint64, a row per running job and server, in any order: the row of the job,
        the position of the server in the cluster, and the GPUs that it holds there; bit i is GPU i.
    servers
        What the source calls each server, and the numbers of its GPUs there; empty: no names.
    added_s
        float64 seconds, one per job: work that was added to its service, at its arrival or by
        preemptions. Default, and where it is NaN: what the policy that is asked adds
        (``overrun_s``, and with ``restart=work`` its cost for each of the ``preemptions``).

    Raises
    ------
    ValueError, TypeError
        If a column has another length or type, a value is out of its range, or a job holds other
        than its number of GPUs; the message names column, row and rule.

    Examples
    --------
    >>> cluster = gs.Cluster.uniform(servers=2, gpus=8)
    >>> jobs = gs.Trace.from_columns([0, 10], [3600, 60], [8, 16], id=["runs", "waits"])
    >>> state = gs.deciding.ClusterState(
    ...     cluster, jobs, now_s=20, start_s=[0, float("nan")],
    ...     held_job=[0], held_server=[1], held_mask=[0xFF],
    ... )
    >>> state.attained_s.tolist(), state.is_running.tolist()
    ([20.0, 0.0], [True, False])
    """

    cluster: Cluster
    jobs: Trace
    now_s: float
    start_s: Float64 = field(default=_LEFT_OUT, repr=False)
    attained_s: Float64 = field(default=_LEFT_OUT, repr=False)
    cost_s: Float64 = field(default=_LEFT_OUT, repr=False)
    preemptions: Int32 = field(default=_LEFT_OUT, repr=False)
    held_job: Int64 = field(default=_NOTHING, repr=False)
    held_server: Int64 = field(default=_NOTHING, repr=False)
    held_mask: npt.NDArray[np.uint64] = field(default=_NOTHING, repr=False)
    servers: tuple[NamedServer, ...] = field(default=(), repr=False)
    added_s: Float64 = field(default=_LEFT_OUT, repr=False)

    def __post_init__(self) -> None:
        if not isinstance(self.cluster, Cluster):
            raise TypeError(f"cluster: expected a Cluster, not {self.cluster!r:.80}")
        if self.jobs is None:
            object.__setattr__(self, "jobs", no_jobs())
        if not isinstance(self.jobs, Trace):
            raise TypeError(f"jobs: expected a Trace, not {self.jobs!r:.80}")
        num_jobs = len(self.jobs)
        given = {name: getattr(self, name) for name in _TYPES}
        defaults = {
            "start_s": np.nan, "attained_s": np.nan, "cost_s": 0.0, "preemptions": 0,
            "added_s": np.nan,
        }  # fmt: skip
        for name, default in defaults.items():
            if given[name] is None:
                given[name] = np.full(num_jobs, default, _TYPES[name])
        columns = {name: _column(name, values) for name, values in given.items()}
        if len({len(columns[name]) for name in _HELD}) > 1:
            raise ValueError("held_job, held_server, held_mask: must be equally long")
        for name in defaults:
            if len(columns[name]) != num_jobs:
                raise ValueError(f"{name}: {len(columns[name])} values for {num_jobs} jobs")
        now_s = _column("now_s", [self.now_s])[0]
        _check(columns, self.jobs, float(now_s))
        since_s = np.maximum(0.0, now_s - columns["start_s"] - columns["cost_s"])
        known_s = np.where(np.isnan(columns["start_s"]), 0.0, since_s)
        given_s = columns["attained_s"]
        columns["attained_s"] = np.where(np.isnan(given_s), known_s, given_s)
        order = np.lexsort((columns["held_server"], columns["held_job"]))
        for name, values in columns.items():
            is_held = name.startswith("held")
            object.__setattr__(self, name, values[order] if is_held else values)
        object.__setattr__(self, "now_s", float(now_s))
        if self.servers and len(self.servers) != self.cluster.num_servers:
            raise ValueError(
                f"servers: {len(self.servers)} names for {self.cluster.num_servers} servers"
            )
        _check_held(self)
        freeze_columns(self)

    @classmethod
    def of(cls, run: Simulation) -> Self:
        """Return the present state of an open run, with what its policy knows of run times.

        Returns
        -------
        ClusterState
            The jobs that wait or run; those that finished are left out.

        Raises
        ------
        ValueError
            If the run has ended with an error.

        Examples
        --------
        >>> jobs = gs.Trace.from_columns([0, 0, 5], [60, 9, 9], [4, 1, 1])
        >>> run = gs.Simulation(jobs, gs.Cluster.uniform(1, 4), policy="fifo")
        >>> run.run_until(30)
        >>> gs.deciding.ClusterState.of(run).is_running.tolist()
        [True, False, False]
        """
        jobs, columns = standing(run)
        start_us = columns["start_us"]
        return cls(
            run.cluster,
            jobs,
            columns["now_us"] / US_PER_S,
            start_s=np.where(start_us < 0, np.nan, start_us / US_PER_S),
            attained_s=columns["attained_us"] / US_PER_S,
            cost_s=columns["cost_us"] / US_PER_S,
            added_s=columns["added_us"] / US_PER_S,
            **{name: columns[name] for name in ("preemptions", *_HELD)},
        )

    @property
    def is_running(self) -> Bool:
        """Per job, whether it holds GPUs."""
        found: Bool = ~np.isnan(self.start_s)
        return found

    @property
    def now_us(self) -> int:
        """The time in microseconds."""
        return int(seconds_to_us(np.asarray(self.now_s)))


@cache
def no_jobs(name: str = "state") -> Trace:
    """Return the jobs of a cluster that has none."""
    return Trace.from_columns([0], [1], [1], name=name)._take(slice(0))


def _column(name: str, values: Any) -> AnyArray:
    array = np.asarray(values)
    if not array.size:
        array = array.astype(_TYPES.get(name, np.float64))
    if array.ndim != 1 or array.dtype.kind not in "iuf" or np.ma.is_masked(values):
        raise TypeError(f"{name}: expected numbers in one dimension, not {values!r:.80}")
    wanted = np.dtype(_TYPES.get(name, np.float64))
    if wanted.kind in "iu" and array.dtype.kind == "f":
        raise TypeError(f"{name}: expected whole numbers, not {array.dtype}")
    if wanted.kind == "u" and array.dtype.kind == "i" and array.size and array.min() < 0:
        raise ValueError(f"{name}: row {int(np.argmin(array))} is negative")
    made: AnyArray = array.astype(wanted)
    return made


def _check(columns: Mapping[str, AnyArray], jobs: Trace, now_s: float) -> None:
    """Check what has a range, job by job."""
    if not 0 <= now_s <= MAX_SUBMIT_US / US_PER_S:
        raise ValueError(f"now_s: {now_s} is not between 0 and {MAX_SUBMIT_US / US_PER_S:g}")
    late = np.flatnonzero(jobs.submit_s > now_s)
    if late.size:
        raise ValueError(
            f"jobs: row {late[0]} is submitted at {jobs.submit_s[late[0]]:g} s, after now_s"
        )
    rules = {
        "start_s": ("NaN, or from 0 to now_s", 0.0, now_s, True),
        "attained_s": ("NaN, or 0 or more, and finite", 0.0, MAX_SUBMIT_US / US_PER_S / 64, True),
        "cost_s": ("0 or more, and finite", 0.0, MAX_SUBMIT_US / US_PER_S / 64, False),
        "preemptions": ("0 or more", 0, 2**31 - 1, False),
        "added_s": ("NaN, or 0 or more, and finite", 0.0, MAX_SUBMIT_US / US_PER_S / 64, True),
    }
    for name, (rule, least, most, may_lack) in rules.items():
        values = columns[name]
        fits = (values >= least) & (values <= most)
        if may_lack:
            fits |= np.isnan(values)
        if not fits.all():
            row = int(np.argmin(fits))
            raise ValueError(f"{name}: row {row} is {values[row]}; must be {rule}")


def _check_held(state: ClusterState) -> None:
    """Check that running jobs hold as many GPUs as they ask for, on servers that there are."""
    job, server = state.held_job, state.held_server
    for name, values, count in (
        ("held_job", job, len(state.jobs)),
        ("held_server", server, state.cluster.num_servers),
    ):
        outside = (values < 0) | (values >= count)
        if outside.any():
            wrong = values[int(np.argmax(outside))]
            raise ValueError(f"{name}: {wrong} is none of the {count:,}")
    if (state.held_mask == 0).any():
        raise ValueError(f"held_mask: row {int(np.argmin(state.held_mask))} holds no GPU")
    if not len(job):  # or the cluster is one pool
        return
    held = np.bincount(job, np.bitwise_count(state.held_mask), len(state.jobs))
    wanted = np.where(state.is_running, state.jobs.gpus, 0)
    wrong_rows = np.flatnonzero(held != wanted)
    if wrong_rows.size:
        row = int(wrong_rows[0])
        raise ValueError(f"held_mask: job {row} holds {int(held[row])} GPUs, not {wanted[row]}")
