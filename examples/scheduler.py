"""A scheduler written in Python: the user with the fewest GPUs goes first.

An order knows jobs only; a scheduler decides freely what starts, what is preempted and when it is
asked again. The core checks every action: a mistake is an InvariantError with time and job.
"""

from collections import Counter

import polars as pl

import gpusched as gs


@gs.register_scheduler("fewest-gpus")
class FewestGpusFirst(gs.Scheduler):
    """Start the oldest job of the user with the fewest GPUs, as long as one fits."""

    def begin(self, state):
        """Called before each run."""
        self.users, self.gpus = state.user.codes.tolist(), state.gpus.tolist()
        self.held = Counter()
        self.queue = []

    def decide(self, state, finished, arrived, actions):
        """Called once per instant, after its finishes and arrivals (arrays of JobIds)."""
        for job in finished.tolist():
            self.held[self.users[job]] -= self.gpus[job]
        self.queue += arrived.tolist()
        candidates = self.queue
        while candidates := [job for job in candidates if self.gpus[job] <= state.num_free]:
            job = min(candidates, key=lambda job: (self.held[self.users[job]], job))
            candidates = [other for other in candidates if other != job]
            allocation = state.place(job)  # by the placement of the run, on the free GPUs
            if allocation is not None:
                actions.start(job, allocation)
                self.held[self.users[job]] += self.gpus[job]
                self.queue.remove(job)


cluster = gs.Cluster.uniform(servers=16, gpus=8)
trace = gs.generate("acme", jobs=4_000, load=0.9, cluster=cluster, seed=3)

for policy in ("fifo-skip", "fewest-gpus"):
    result = gs.simulate(trace, cluster, policy=policy)
    result.audit().raise_if_bad()
    wait_s = result.to_polars().group_by("user").agg(pl.col("wait_s").mean())["wait_s"]
    print(
        f"{result.spec.policy:<24} mean wait {result.summary()['mean_wait_s']:8,.0f} s;"
        f" of the median user {wait_s.median():8,.0f} s, of the last {wait_s.max():8,.0f} s"
    )
