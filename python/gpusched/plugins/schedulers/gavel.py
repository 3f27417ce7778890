"""Gavel: time fractions per GPU type from a linear program, followed in rounds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from gpusched import _core
from gpusched.base.supervision import listen
from gpusched.plugins.built_in import built_in
from gpusched.plugins.schedulers.gavel_fractions import Fractions
from gpusched.plugins.schedulers.gavel_held import Held
from gpusched.plugins.schedulers.gavel_jobs import Array, Jobs, iterations
from gpusched.plugins.schedulers.gavel_keepers import keeper
from gpusched.plugins.schedulers.gavel_parameters import PARAMETERS, PREEMPTION
from gpusched.plugins.schedulers.gavel_programs import isolated_share, solved, unaware
from gpusched.plugins.schedulers.gavel_rounds import SimulatorRounds
from gpusched.plugins.schedulers.gavel_waiting import Waiting
from gpusched.plugins.schedulers.gavel_warm import warm_starts
from gpusched.plugins.schedulers.type_parts import (
    Parts,
    best_parts,
    rates_by_type,
    start_first,
    want,
)


@built_in("gavel")
class Gavel(_core.Scheduler):
    """Time on each GPU type by a linear program, followed in rounds.

    At each multiple of ``round_s`` the pairs of a job and a type are taken by the fraction of time
    that the program gives them over the one they have had since it was solved; a job runs at its
    own width on one type. The program is solved at a round if jobs came or left: until then the
    time left shrinks as the program wanted, and its solution remains one. Within a round GPUs that
    fall idle go to waiting jobs, and nobody is disturbed.

    Jobs that ``max-min``, ``water-filling``, ``throughput`` and ``cost`` cannot tell apart share a
    row of the program, so it stays small however many wait; the other objectives have one per job.

    With ``rounds="artefact"`` rounds are those of the authors' simulator: see
    :class:`~gpusched.plugins.schedulers.gavel_rounds.SimulatorRounds`.
    """

    source: ClassVar[str] = "Narayanan et al., Gavel, OSDI 2020."
    differs: ClassVar[str] = (
        "GPUs that fall idle within a round go to waiting jobs, where the paper leaves them idle "
        "(rounds=artefact), and of equally good answers the one with most throughput is followed."
    )
    flags: ClassVar[tuple[str, ...]] = ("preemptive",)
    preemption: ClassVar[Mapping[str, str]] = PREEMPTION
    parameters: ClassVar[Mapping[str, Mapping[str, Any]]] = PARAMETERS

    def __init__(
        self,
        objective: str = "max-min",
        round_s: float = 360.0,
        rounds: str = "clock",
        reset_s: float = 0.0,
        counts: str = "service",
        aware: bool = True,
        ties: str = "throughput",
        prices: Sequence[float] = [1.0],
    ) -> None:
        super().__init__()
        self.objective = objective
        self.looks_at_work = objective in ("ftf", "makespan", "deadlines", "allox")
        self.round_us = round(round_s * 1e6)
        self.is_artefact = rounds == "artefact"
        self.reset_us = round(reset_s * 1e6)
        self.counts_iterations = counts == "iterations"
        self.aware = aware
        self.breaks_ties = ties == "throughput"
        self.prices = list(prices)

    def begin(self, state: Any) -> None:
        """Forget the last run."""
        self.capacity = np.asarray(state.type_gpus, dtype=np.int64)
        self.rates: dict[int, tuple[float, ...]] = {}  # of the active jobs, on each type
        self.widths: dict[int, int] = {}
        self.is_whole: dict[int, bool] = {}  # whether some type holds the whole gang
        self.held = Held(self.capacity.tolist())
        self.waiting = Waiting()
        self.fractions = Fractions(len(self.capacity), state.now_us)
        last = len(self.prices) - 1  # which holds for all further types
        self.price = np.array([self.prices[min(kind, last)] for kind in range(len(self.capacity))])
        self.rounds = None
        if self.is_artefact:
            self.rounds = SimulatorRounds(
                len(self.capacity), self.round_us, self.reset_us,
                shuffles=not self.aware or self.objective == "isolated",
                idles=self.objective == "fifo", seed=state.seed,
            )  # fmt: skip
        self.keeper = keeper(self.objective, is_aware=self.aware, seed=state.seed)
        self.num_solved, self.is_stale, self.starts = 0, True, warm_starts()
        self.is_told = len(self.capacity) == 1 or state.is_elastic  # how fast jobs are on a type
        self.unsolved: Counter[str] = Counter()  # by what was taken instead

    def warnings(self) -> list[str]:
        """Say how often the program had no solution, and whether there were throughputs."""
        lines = [
            f"gavel: {count} of {self.num_solved} programs for objective={self.objective} had no "
            f"solution; {instead} followed instead"
            for instead, count in sorted(self.unsolved.items())
        ]
        if not self.is_told:
            lines.append(
                "gavel decides by throughputs, and the speed of the run has none: every GPU type "
                "is taken for equally fast"
            )
        return lines

    def decide(self, state: Any, finished: Array, arrived: Array, actions: Any) -> None:
        """Hold what the round says, or fill what is idle until the next one."""
        if self.rounds is not None:
            self.rounds.count_all(self.held.parts, state.now_us)
        for job in finished.tolist():
            self._forget(job)
        self._meet(state, arrived)
        self.is_stale |= bool(len(finished) or len(arrived))
        if not self.rates:
            return
        if self.rounds is not None:
            self._decide_as_simulator(state, self.rounds, actions)
            return
        is_due = state.now_us % self.round_us == 0
        if is_due and self._is_at_rest():
            actions.wake(state.now_us + self.round_us)
            return
        if not is_due and self._may_go_on():
            wanted: dict[int, Parts] = {}
            self.waiting.fill(wanted, self.held.free.copy())
            self._apply(state, actions, wanted, [])
        else:
            self._give_out(state, actions, is_due=is_due)
        actions.wake((state.now_us // self.round_us + 1) * self.round_us)

    def _may_go_on(self) -> bool:
        """Whether all that run fit, as they are counted here, and need not be gone through."""
        return min(self.held.free) >= 0

    def _give_out(self, state: Any, actions: Any, *, is_due: bool) -> None:
        """Go through all jobs: at a round by the program, else those that run come first."""
        free: list[int] = self.capacity.tolist()
        wanted: dict[int, Parts] = {}
        if is_due:
            for job, parts in self.held.restarting(state.now_us):
                want(wanted, free, job, parts)
            past_us = state.now_us - self.fractions.solved_us
            if self.is_stale and (not self.num_solved or past_us >= self.reset_us):
                self._solve(state)
            self._follow(state.now_us, wanted, free)
        self._fill(wanted, free)
        self._apply(state, actions, *self.held.changes_to(wanted))

    def _is_at_rest(self) -> bool:
        """Whether all jobs run, and each on the one type that the program has for it, if any."""
        if self.is_stale or len(self.held.parts) < len(self.rates):
            return False
        return self.fractions.are_held(self.held.parts, self.widths)

    def withdraw(self, job: int) -> bool:
        """Forget a waiting job that is cancelled: the next reset solves the program without it."""
        self._forget(job)
        self.is_stale = True
        return True

    def _forget(self, job: int) -> None:
        for known in (self.rates, self.widths, self.is_whole):
            known.pop(job, None)
        self.held.forget(job)
        self.fractions.forget(job)
        self.waiting.forget(job)
        if self.rounds is not None:
            self.rounds.forget(job)

    def _decide_as_simulator(self, state: Any, rounds: SimulatorRounds, actions: Any) -> None:
        """Begin a round if the last one is over."""
        now_us, is_idle = state.now_us, not self.held.parts
        if not rounds.is_due(now_us, is_idle=is_idle):
            actions.wake(rounds.ends_us)
            return
        if self.is_stale and rounds.may_reset(now_us, is_idle=is_idle):
            rounds.reset(now_us, self.fractions.given)
            self._solve(state)
        free: list[int] = self.capacity.tolist()
        wanted: dict[int, Parts] = {}
        for job, parts in self.held.restarting(now_us):
            want(wanted, free, job, parts)
        rounds.fill(wanted, free, self.fractions.given, self.rates, self.widths)
        for job, is_whole in self.is_whole.items():
            if not is_whole and job not in wanted and (parts := self._parts(job, free)):
                want(wanted, free, job, parts)
        rounds.begin(now_us)
        self._apply(state, actions, *self.held.changes_to(wanted))
        actions.wake(rounds.ends_us)

    def _meet(self, state: Any, arrived: Array) -> None:
        """Look up how fast the jobs that have just arrived are on each type."""
        listen()
        if not len(arrived):
            return
        widths, rates = state.gpus[arrived], rates_by_type(state, arrived)
        if self.rounds is not None:
            for job in arrived.tolist():
                self.rounds.meet(job)
        self.is_told |= bool(((rates > 0) & (rates != 1)).any())
        whole = ((rates > 0) & (self.capacity >= widths[:, None])).any(axis=1)
        listen()
        ids = arrived.tolist()
        kinds = list(zip(widths.tolist(), map(tuple, rates.tolist()), whole.tolist(), strict=True))
        self.waiting.meet(ids, kinds)
        listen()
        for job, (width, rate, is_whole) in zip(ids, kinds, strict=True):
            self.widths[job], self.rates[job], self.is_whole[job] = width, rate, is_whole
        listen()

    def _solve(self, state: Any) -> None:
        ids = [job for job, is_whole in self.is_whole.items() if is_whole]
        self.fractions.clear(state.now_us)
        self.is_stale = False
        if not ids:
            return
        jobs, now_us = np.array(ids, dtype=np.int64), state.now_us
        gpus, deadline = state.gpus[jobs].astype(float), state.deadline_us[jobs]
        rates = np.array([self.rates[job] for job in ids])
        rates[gpus[:, None] > self.capacity[None, :]] = 0.0
        truth = rates
        if not self.aware:
            rates = unaware(rates, is_of_first=self.objective in ("ftf", "makespan"))
        time_left = np.where(deadline < 0, np.inf, (deadline - now_us) / 1e6)
        if self.looks_at_work:
            remaining = state.remaining_us(jobs) / 1e6
        else:
            remaining = np.ones(len(ids))
        if self.keeper is not None:
            self.fractions.take(ids, self.keeper.solve(ids, rates, gpus, remaining, self.capacity))
            return
        fractions, instead = solved(
            self.objective,
            Jobs(
                rates=rates,
                gpus=gpus,
                weight=state.weight[jobs],
                remaining=remaining,
                elapsed=(now_us - state.submit_us[jobs]) / 1e6,
                served=state.attained_us(jobs) / 1e6,
                time_left=time_left,
                value=state.value[jobs],
                capacity=self.capacity.astype(float),
                iterations=iterations(state, jobs) if self.counts_iterations else None,
                breaks_ties=self.breaks_ties,
                price=self.price,
                isolated=self._isolated(ids, rates, gpus, remaining),
                starts=self.starts,
            ),
        )
        self.num_solved += 1
        if instead:
            self.unsolved[instead] += 1
        fractions[truth <= 0] = 0.0
        self.fractions.take(ids, fractions)

    def _isolated(self, ids: list[int], rates: Array, gpus: Array, left: Array) -> Array | None:
        """Time that the work so far would have taken with 1/n of each type, as n was."""
        if self.rounds is None or self.objective != "ftf":
            return None
        share = isolated_share(gpus, self.capacity.astype(float))
        return self.rounds.isolated_time(ids, (rates * share).sum(axis=1), left)

    def _follow(self, now_us: int, wanted: dict[int, Parts], free: list[int]) -> None:
        """Take pairs of a job and a type by their fraction over what they have had."""
        ids = [job for job in self.fractions.given if job not in wanted]
        if not ids:
            return
        for job, kind in self.fractions.by_priority(ids, self.held, now_us):
            if job not in wanted:
                want(wanted, free, job, [(kind, self.widths[job])])
                if not any(free):
                    return

    def _fill(self, wanted: dict[int, Parts], free: list[int]) -> None:
        """Give what is left to those who hold it, then to whom it serves best."""
        for job, parts in sorted(self.held.parts.items()):
            if job not in wanted:
                want(wanted, free, job, parts)
        listen()
        self.waiting.put_back(job for job in self.held.parts if job not in wanted)
        self.waiting.fill(wanted, free)

    def _parts(self, job: int, free: list[int]) -> Parts:
        return best_parts(self.rates[job], self.widths[job], free, is_whole=self.is_whole[job])

    def _apply(
        self, state: Any, actions: Any, changed: dict[int, Parts], stopped: list[int]
    ) -> None:
        """Let some jobs hold something else, others nothing, and the rest what they hold."""
        listen()
        for job in sorted(stopped):
            actions.preempt(job)
        refused = actions.reallocate(changed.items(), keep_others=True)
        listen()
        for job in refused:
            del changed[job]
            if job in self.held.parts and not state.parts_of(job):
                stopped.append(job)
        for job in (*stopped, *changed):
            self._release(job, state.now_us)
        self.held.hold(changed, state)
        listen()
        if not self.held.parts:
            self._start_any(state, actions)
        self.waiting.put_back(job for job in (*stopped, *refused) if job not in self.held.parts)

    def _release(self, job: int, now_us: int) -> None:
        kind = self.held.kind(job)
        if kind >= 0:
            self.fractions.count(job, kind, self.held.since_us[job], now_us)
        self.held.release(job)

    def _start_any(self, state: Any, actions: Any) -> None:
        """Start the first job that finds a place: what was wanted may never fit."""
        job = start_first(state, actions, self.rates)
        if job is None:
            actions.wake(state.now_us + 1)
        else:
            self.held.hold({job: state.parts_of(job)}, state)
            self.waiting.start(job)
