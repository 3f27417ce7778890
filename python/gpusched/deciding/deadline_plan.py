"""What a plan of jobs with deadlines is: :class:`DeadlinePlan`, made of :class:`DeadlineStep`."""

from __future__ import annotations

from dataclasses import dataclass, field

from gpusched.base.arrays import Bool, Float64, freeze_columns
from gpusched.deciding.deadline_jobs import DeadlineJob


@dataclass(frozen=True)
class DeadlineStep:
    """GPUs that a plan holds from the begin of a slot to the end of a slot, in seconds."""

    from_s: float
    until_s: float
    gpu_type: str
    gpus: int


@dataclass(frozen=True, eq=False)
class DeadlinePlan:
    """What became of each job: what :func:`gpusched.plan_deadlines` returns.

    Attributes
    ----------
    admitted
        Shape ``(jobs,)``, as the others below.
    cost
        Of the cheapest schedule at the prices at its arrival; infinite where there was none.
    reason
        ``"admitted"``, ``"too dear"`` (the cost is the value or more), ``"no room"`` (too many
        GPUs are promised), ``"impossible"`` (not even on all GPUs), ``"too long"`` (its window has
        more than 2^22 slots, and no schedule was found in the first of them), ``"cannot run"``
        (it has no configuration).
    value
        Of all jobs that were admitted.
    upper_bound
        No schedule in whole slots is worth more, however long the windows are; at least
        ``value``. Slots that a window cuts count as far as they lie in it, with ``whole_slots``
        (so at theory prices, unless told otherwise) not at all. Whole
        slots by which all times are shifted do not change it.
    dual_objective, initial_objective, ratio, exponent
        The certificate: at theory prices with known bounds, ``dual_objective`` is at most
        ``initial_objective + ratio * value``. ``ratio`` is alpha', derived for ``exponent`` (the
        greatest x of a type); a competitive ratio of ``2 * ratio`` is claimed where that is at
        most 1.
    """

    jobs: tuple[DeadlineJob, ...] = field(repr=False)
    admitted: Bool = field(repr=False)
    cost: Float64 = field(repr=False)
    reason: tuple[str, ...] = field(repr=False)
    value: float
    upper_bound: float
    dual_objective: float
    initial_objective: float
    ratio: float
    exponent: float
    _steps: tuple[tuple[DeadlineStep, ...], ...] = field(repr=False)
    _scarce: tuple[DeadlineStep | None, ...] = field(repr=False)

    def __post_init__(self) -> None:
        freeze_columns(self, is_own=True)

    def steps(self, job: int) -> tuple[DeadlineStep, ...]:
        """Give what is promised to a job, in the order of time; empty if it was not admitted.

        Returns
        -------
        tuple of DeadlineStep
            GPUs of one type for a while, each.

        Raises
        ------
        IndexError
            If there is no such row.

        Examples
        --------
        >>> job = gs.deciding.DeadlineJob(
        ...     arrival_s=0, deadline_s=3600, work=3000, rates={("V100", 1): 1.0}
        ... )
        >>> gs.deciding.plan_deadlines([job], {"V100": 8}).steps(0)[0].gpus
        1
        """
        return self._steps[job]

    def explain(self, job: int) -> str:
        """Say in one sentence why a job was admitted or turned down.

        Returns
        -------
        str
            Begins with ``admitted`` or ``turned down``.

        Raises
        ------
        IndexError
            If there is no such row.

        Examples
        --------
        >>> job = gs.deciding.DeadlineJob(
        ...     arrival_s=0, deadline_s=3600, work=30_000, rates={("V100", 1): 1.0}
        ... )
        >>> gs.deciding.plan_deadlines([job], {"V100": 8}).explain(0)
        'turned down: not even all GPUs together would meet the deadline'
        """
        value = self.jobs[job].value
        if self.admitted[job]:
            return f"admitted: the cheapest schedule costs {self.cost[job]:.3g}, value {value:g}"
        text = {
            "too dear": f"the cheapest schedule costs {self.cost[job]:.3g}, value {value:g}",
            "no room": "no schedule meets the deadline on the GPUs that are not promised",
            "impossible": "not even all GPUs together would meet the deadline",
            "too long": "no schedule was found in the first of the many slots of its window",
            "cannot run": "it has no configuration that runs",
        }[self.reason[job]]
        scarce = self._scarce[job]
        if scarce is None or self.reason[job] not in ("too dear", "no room"):
            return f"turned down: {text}"
        return (
            f"turned down: {text}; at most {scarce.gpus} GPUs of {scarce.gpu_type} are free from "
            f"{scarce.from_s:g} to {scarce.until_s:g} s"
        )
