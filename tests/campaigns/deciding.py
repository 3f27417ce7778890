"""A scheduler that has every decision taken by ``gs.decide``, on nothing but the state."""

from typing import Any

import numpy as np

import gpusched as gs


class Deciding(gs.Scheduler):
    """Does at each instant what ``gs.decide`` says of the cluster as it is then.

    It knows of its run what an operator knows of a cluster: who waits, who holds which GPUs since
    when, and how much each has done.
    """

    def __init__(
        self,
        trace: gs.Trace,
        cluster: gs.Cluster,
        policy: Any,
        placement: Any,
        seed: int = 0,
        *,
        remembers: bool = False,
    ) -> None:
        super().__init__()
        self.memory = b"" if remembers else None
        self.trace, self.cluster = trace, cluster
        self.policy, self.placement, self.seed = policy, placement, seed
        self.held: dict[int, list[tuple[int, int]]] = {}
        self.start_us: dict[int, int] = {}
        self.cost_us: dict[int, int] = {}
        self.preemptions: dict[int, int] = {}
        self.has_run: set[int] = set()

    def decide(self, state: Any, finished: Any, arrived: Any, actions: Any) -> None:
        for job in finished.tolist():
            del self.held[job], self.start_us[job], self.cost_us[job]
        rows = np.sort(np.concatenate([state.waiting, np.array(list(self.held), np.int64)]))
        if not len(rows):
            return
        found = gs.decide(
            self.state_of(state, rows), policy=self.policy, placement=self.placement,
            seed=self.seed, memory=self.memory,
        )  # fmt: skip
        self.memory = found.memory
        assert not len(found.rejected)
        # Jobs may change places: all of them let go before one takes hold.
        for row in found.job[found.what == "resize"].tolist():
            actions.suspend(int(rows[row]))
        for what, row in zip(found.what.tolist(), found.job.tolist(), strict=True):
            job = int(rows[row])
            if what == "preempt":
                self.preempt(job, actions)
            else:
                assert what in ("start", "resize")
                mine = found.held_job == row
                pieces = list(
                    zip(
                        found.held_server[mine].tolist(),
                        found.held_mask[mine].tolist(),
                        strict=True,
                    )
                )
                if what == "start":
                    self.start(state, job, pieces, actions)
                else:
                    self.resize(state, job, pieces, actions)
        if found.wake_s is not None:
            actions.wake(round(found.wake_s * 1e6))

    def withdraw(self, job: int) -> bool:
        """A job that is not in the next state is gone."""
        return True

    def preempt(self, job: int, actions: Any) -> None:
        actions.preempt(job)
        del self.held[job], self.start_us[job], self.cost_us[job]
        self.preemptions[job] = self.preemptions.get(job, 0) + 1

    def start(self, state: Any, job: int, pieces: list[tuple[int, int]], actions: Any) -> None:
        actions.start(job, gs.plugins.Allocation(int(self.trace.gpus[job]), pieces))
        self.held[job], self.start_us[job] = pieces, state.now_us
        again = job in self.has_run
        self.cost_us[job] = int(state.restart_us(np.array([job]))[0]) if again else 0
        self.has_run.add(job)

    def resize(self, state: Any, job: int, pieces: list[tuple[int, int]], actions: Any) -> None:
        actions.resize(
            job, gs.plugins.Allocation(sum(mask.bit_count() for _, mask in pieces), pieces)
        )
        self.held[job], self.start_us[job] = pieces, state.now_us
        self.cost_us[job] = int(state.restart_us(np.array([job]))[0])

    def state_of(self, state: Any, rows: Any) -> gs.online.ClusterState:
        """The cluster now; ``rows`` are the jobs that wait and run."""
        at = {int(job): row for row, job in enumerate(rows)}
        held = [(at[job], *piece) for job, pieces in self.held.items() for piece in pieces]
        job, server, mask = zip(*held, strict=True) if held else ((), (), ())
        return gs.online.ClusterState(
            self.cluster,
            self.trace._take(rows),
            state.now_us / 1e6,
            start_s=[self.start_us.get(int(each), np.nan) / 1e6 for each in rows],
            attained_s=state.attained_us(rows) / 1e6,
            cost_s=[self.cost_us.get(int(each), 0) / 1e6 for each in rows],
            preemptions=[self.preemptions.get(int(each), 0) for each in rows],
            held_job=list(job), held_server=list(server), held_mask=np.array(mask, np.uint64),
        )  # fmt: skip
