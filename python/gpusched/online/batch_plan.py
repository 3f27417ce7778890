"""Plan a batch of jobs in advance: :func:`plan` searches caps and packers of SJF-BCO."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from gpusched import _core
from gpusched.base.arrays import Bool, Float64, Int32, Int64
from gpusched.base.draws import check_seed
from gpusched.base.libraries import polars as pl
from gpusched.base.progress import OnProgress, Progress
from gpusched.base.supervision import Cancelled, supervised
from gpusched.bounds.certificates import makespan_bound
from gpusched.engine.simulation import simulate_quietly as simulate
from gpusched.model.cluster import Cluster
from gpusched.plugins.policy import ContentionChoice, Policy, SpeedChoice
from gpusched.results.result import Result
from gpusched.specs.case import job_columns
from gpusched.traces.workload import Trace

UInt64 = npt.NDArray[np.uint64]


@dataclass(frozen=True)
class PlanCandidate:
    """One plan for the batch, and its results.

    ``kappa``: GPUs of the largest job packed into fragments; None if the policy has no such
        parameter.
    ``theta_s``: the cap on the busy time of a GPU, in seconds: the tightest that was found, or the
        given one, raised if a job fitted nowhere under it.
    ``busy_s``: the maximum estimated busy time bound to a GPU, at most ``theta_s``.
    ``planned_makespan_s``: makespan if every job took exactly its run time ``service_s``, without
        contention.
    ``makespan_s``, ``mean_jct_s``: results under the given performance model and contention.
    ``caps_tried``: number of caps that the search tried.
    """

    kappa: int | None
    theta_s: float
    busy_s: float
    planned_makespan_s: float
    makespan_s: float
    mean_jct_s: float
    caps_tried: int


@dataclass(frozen=True, eq=False)
class Plan:
    """A batch bound to GPUs, and its run: the return value of :func:`plan`.

    Attributes
    ----------
    policy
        The policy as text; ``simulate`` with it binds and runs the batch in the same way.
    result
        The run under the given performance model and contention.
    candidates
        One for each kappa that was tried.
    first, server, mask
        The GPUs bound to each job: job ``j`` has the rows ``first[j]`` to ``first[j + 1]`` of
        ``server`` and ``mask`` (a bit for each GPU); shapes ``(jobs + 1,)`` and ``(rows,)``. In
        mode ``idle`` the actual GPUs of a job are chosen when it starts.
    planned_busy_s
        U: the estimated busy time bound to each GPU, server by server, in seconds.
    lower_bound_s
        No schedule of the batch has a shorter makespan; see
        :func:`gpusched.bounds.certificates.makespan_bound`.
    """

    policy: str
    result: Result = field(repr=False)
    candidates: tuple[PlanCandidate, ...] = field(repr=False)
    chosen: PlanCandidate
    first: Int64 = field(repr=False)
    server: Int32 = field(repr=False)
    mask: UInt64 = field(repr=False)
    planned_busy_s: Float64 = field(repr=False)
    lower_bound_s: float

    @property
    def kappa(self) -> int | None:
        """The kappa of the chosen plan; None if the policy has none."""
        return self.chosen.kappa

    @property
    def theta_s(self) -> float:
        """The cap of the chosen plan in seconds."""
        return self.chosen.theta_s

    @property
    def makespan_s(self) -> float:
        """Makespan of the run, in seconds."""
        return self.chosen.makespan_s

    @property
    def mean_jct_s(self) -> float:
        """Mean completion time of the run, in seconds."""
        return self.chosen.mean_jct_s

    @property
    def busy_s(self) -> Float64:
        """Time that each GPU was allocated, server by server, in seconds."""
        rows = self.result.intervals
        length = rows["end_us"] - rows["start_us"]
        gpus = self.result.cluster.server_gpus
        begin = np.concatenate(([0], np.cumsum(gpus)))
        busy = np.zeros(int(begin[-1]), dtype=np.int64)
        for gpu in range(int(gpus.max())):
            has = (rows["mask"] >> np.uint64(gpu)) & np.uint64(1) != 0
            np.add.at(busy, begin[rows["server"][has]] + gpu, length[has])
        seconds: Float64 = busy / 1e6
        return seconds

    def allocation(self, job: int) -> dict[int, tuple[int, ...]]:
        """Return the GPUs bound to a job (a row of the trace), by server.

        Returns
        -------
        dict
            GPU numbers by server.

        Raises
        ------
        IndexError
            If there is no such row.

        Examples
        --------
        >>> trace = gs.Trace.from_columns([0, 0, 0], [60, 30, 30], [4, 2, 2])
        >>> gs.online.plan(trace, gs.Cluster.uniform(1, 4), contention="none").allocation(0)
        {0: (0, 1, 2, 3)}
        """
        if not 0 <= job < len(self.first) - 1:
            raise IndexError(f"job: {job} is not one of {len(self.first) - 1} jobs")
        rows = range(int(self.first[job]), int(self.first[job + 1]))
        return {
            int(self.server[row]): tuple(gpu for gpu in range(64) if int(self.mask[row]) >> gpu & 1)
            for row in rows
        }

    def table(self) -> pl.DataFrame:
        """Return one row per candidate, one column per attribute of :class:`PlanCandidate`.

        Returns
        -------
        polars.DataFrame
            In the order of :attr:`candidates`.

        Examples
        --------
        >>> trace = gs.Trace.from_columns([0, 0, 0], [60, 30, 30], [4, 2, 2])
        >>> planned = gs.online.plan(trace, gs.Cluster.uniform(1, 4), contention="none")
        >>> planned.table()["makespan_s"].min()
        90.0
        """
        return pl.from_dicts([vars(known) for known in self.candidates], infer_schema_length=None)


def plan(
    trace: Trace,
    cluster: Cluster,
    *,
    policy: str | Policy = "sjf-bco",
    kappas: Sequence[int] | None = None,
    theta_s: float | None = None,
    speed: str | SpeedChoice | None = None,
    contention: str | ContentionChoice = "shared",
    mode: str = "queue",
    start: str | None = None,
    order: str | None = None,
    lambda_: float | None = None,
    u: float | None = None,
    tie: str | None = None,
    seed: int = 0,
    tolerance: float = 1e-3,
    progress: OnProgress | None = None,
    stop: threading.Event | None = None,
) -> Plan:
    """Bind a batch of jobs to GPUs for a short makespan under contention.

    For each kappa, bisection finds the tightest cap theta on the estimated busy time of a GPU for
    which the policy's packers bind every job. Each plan is run under the full performance and
    contention model, and the plan with the lowest makespan is returned (the first on a tie).
    Yu, Ji, Rajan, Liu, MobiHoc 2022, algorithms 1 to 3.

    Parameters
    ----------
    trace
        A batch: all jobs are submitted at once.
    policy
        ``"sjf-bco"``, or a baseline: ``"ff"``, ``"ls"``, ``"rand"``; also a text or an object
        with parameters.
    kappas
        Default: 0 and each number of GPUs in the batch; values in between give the same plan as the
        next lower one. Only for a policy that has the parameter.
    theta_s
        Use this cap, in seconds, instead of a search. If a job fits nowhere under it, it is raised
        to the lowest cap that admits the job.
    speed, contention
        As for :func:`gpusched.simulate`.
    mode, start, order, lambda_, u, tie
        Parameters of the policy; ``lambda_`` is its ``lambda``. None: the policy's own default.
        In ``mode="queue"`` the run uses exactly the bound GPUs; in ``"idle"`` it takes only the cap
        from the plan.
    seed
        Seed of ``"rand"``, 0 to 2**64 - 1.
    tolerance
        The search ends when the interval around the tightest cap is below this part of it.
        Feasibility need not be monotone in the cap, so a tighter one may exist elsewhere.
    progress
        As for :func:`gpusched.simulate`; counts values of kappa.
    stop
        Event that cancels the search, as for :func:`gpusched.simulate`.

    Returns
    -------
    Plan
        The best plan found: its kappa, its cap and the result of its run.

    Raises
    ------
    ValueError
        If the trace is not a batch, a job has more GPUs than it may run on, the policy cannot
        plan, or as :func:`gpusched.simulate`.
    Cancelled
        If ``stop`` was set, within a second; it has the number of finished values of kappa.
    KeyboardInterrupt
        On Ctrl-C, within a second.

    Examples
    --------
    >>> trace = gs.Trace.from_columns([0, 0, 0], [60, 30, 30], [4, 2, 2])
    >>> gs.online.plan(trace, gs.Cluster.uniform(1, 4), contention="none").makespan_s
    90.0
    """
    _check_batch(trace, cluster)
    seed = check_seed(seed)
    base = _base_policy(
        policy,
        {"mode": mode, "start": start, "order": order, "lambda": lambda_, "u": u, "tie": tie},
        theta_s,
    )
    jobs = _core.JobTable(**job_columns(trace, cluster, uses_estimates=False))
    servers = _core.Cluster(cluster.server_gpus, cluster.server_type)

    def evaluated(kappa: int | None) -> tuple[PlanCandidate, _core.GangPlan, Result]:
        packing = base if kappa is None else _with(base, kappa=kappa)
        values, control = packing.core_values(), _core.RunControl()
        bound: _core.GangPlan = supervised(
            lambda: _core.plan_gangs(
                jobs, servers, packing.name, values, seed, tolerance, control
            ),
            control,
            stop=stop,
        )  # fmt: skip
        theta_s = bound.cap_us / 1e6
        # The policy itself chooses GPUs, so the placement does not matter.
        result, planned = (
            simulate(
                trace, cluster, policy=_with(packing, theta_s=theta_s), speed=own_speed,
                contention=own_contention, seed=seed, stop=stop,
            )
            for own_speed, own_contention in ((speed, contention), ("fixed", "none"))
        )  # fmt: skip
        candidate = PlanCandidate(
            kappa=kappa,
            theta_s=theta_s,
            busy_s=float(bound.busy_us.max()) / 1e6,
            planned_makespan_s=_last(planned),
            makespan_s=_last(result),
            mean_jct_s=float(np.mean(result.schedule.finish_us - trace.submit_us)) / 1e6,
            caps_tried=bound.num_tried,
        )
        return candidate, bound, result

    widths = np.unique(trace.gpus)
    ready: dict[int | None, tuple[PlanCandidate, _core.GangPlan, Result]] = {}
    rows: list[PlanCandidate] = []
    best: tuple[PlanCandidate, _core.GangPlan, Result] | None = None
    wanted = _kappas(base, kappas, trace)
    for kappa in wanted:
        # The same for all values up to the next number of GPUs.
        known = None if kappa is None else int(widths[widths <= kappa].max(initial=0))
        if known not in ready:
            try:
                ready[known] = evaluated(kappa)
            except Cancelled:
                raise Cancelled(len(rows), len(wanted), "values of kappa") from None
        rows.append(replace(ready[known][0], kappa=kappa))
        if best is None or rows[-1].makespan_s < best[0].makespan_s:
            best = (rows[-1], *ready[known][1:])
        if progress is not None:
            progress(Progress(len(rows), len(wanted)))
    assert best is not None  # at least one kappa was tried
    chosen, bound, result = best
    return Plan(
        policy=result.spec.policy,
        result=result,
        candidates=tuple(rows),
        chosen=chosen,
        first=bound.first,
        server=bound.server,
        mask=bound.mask,
        planned_busy_s=bound.busy_us / 1e6,
        lower_bound_s=float(makespan_bound(trace, cluster.num_gpus)) / 1e6,
    )


def _last(result: Result) -> float:
    return float(result.schedule.finish_us.max() - result.trace.submit_us[0]) / 1e6


def _check_batch(trace: Trace, cluster: Cluster) -> None:
    if not isinstance(trace, Trace):
        raise TypeError(f"trace: expected a Trace, not {trace!r}")
    if not isinstance(cluster, Cluster):
        raise TypeError(f"cluster: expected a Cluster, not {cluster!r}")
    late: Bool = trace.submit_us != trace.submit_us[0]
    if late.any():
        row = int(np.argmax(late))
        raise ValueError(
            f"submit_s[{row}] is {trace.submit_us[row] / 1e6:g} and submit_s[0] is "
            f"{trace.submit_us[0] / 1e6:g}: all jobs of a batch must be submitted at one instant"
        )


def _base_policy(policy: str | Policy, settings: dict[str, Any], theta_s: float | None) -> Policy:
    base = Policy.parse(policy) if isinstance(policy, str) else policy
    if not isinstance(base, Policy):
        raise TypeError(f"policy: expected a name or a Policy, not {policy!r}")
    if not base.has("offline"):
        raise ValueError(f"policy {base.name}: cannot plan, since it does not bind jobs to GPUs")
    given = {key: value for key, value in settings.items() if value is not None}
    if theta_s is not None:
        if not theta_s > 0:
            raise ValueError(f"theta_s: {theta_s} must be positive")
        given["theta_s"] = theta_s
    for key in given.keys() & base.parameters.keys():
        if key != "mode" and base.parameters[key] != given[key]:
            raise ValueError(f"policy {base}: {key} is also given as an argument")
    return _with(base, **(given | base.parameters))


def _with(policy: Policy, **values: Any) -> Policy:
    return Policy(policy.name, **(policy.parameters | values))


def _kappas(base: Policy, kappas: Sequence[int] | None, trace: Trace) -> list[int | None]:
    if base.info.parameter("kappa") is None:
        if kappas is not None:
            raise ValueError(f"kappas: policy {base.name} has no parameter kappa")
        return [None]
    if "kappa" in base.parameters:
        if kappas is not None:
            raise ValueError(f"policy {base}: kappa is also given by kappas")
        kappas = [int(base.parameters["kappa"])]  # type: ignore[arg-type]
    if kappas is None:
        return [0, *np.unique(trace.gpus).tolist()]
    if len(kappas) == 0:
        raise ValueError("kappas: must not be empty")
    return list(kappas)
