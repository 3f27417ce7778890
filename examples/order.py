"""Orders written in Python: one key per job, the smallest goes first.

The list scheduler, preemption, placements, metrics and audits are those of the core.
"""

import gpusched as gs


@gs.register_order("hrrn")
class HighestResponseRatioNext(gs.Order):
    """Shortest job first, but a job gains on the others while it waits."""

    source = "Brinch Hansen, Software: Practice and Experience 1, 1971; power=1."
    lifetime = "clock"  # the keys change with time; else "fixed", or "service": while running
    scan = "skip"
    flags = ("clairvoyant",)  # uses predictions, which are true run times under an oracle

    def __init__(self, power: float = 1.0):  # 0 is fifo
        super().__init__()
        self.power = power

    def rank(self, view, jobs):
        """Return one key per entry of ``jobs``, an array of JobIds."""
        waited_us = view.now_us - view.submit_us[jobs]
        return -waited_us / view.predicted_us[jobs].astype(float) ** self.power


@gs.register_order("my-srsf")
class MyShortestRemainingWork(gs.Order):
    """The native srsf once more: a preemptive order."""

    lifetime = "service"
    preemptive = True
    flags = ("clairvoyant",)

    def rank(self, view, jobs):
        """GPUs x predicted remaining service."""
        return view.gpus[jobs].astype(float) * view.remaining_us(jobs)


cluster = gs.Cluster.uniform(servers=16, gpus=8)
trace = gs.generate("philly", jobs=2_000, load=1.2, cluster=cluster, seed=2)

# A registered name is a policy as any other. Its parameters are those of its constructor and those
# of the scheduler that runs it.
policies = ["fifo-skip", "sjf", "hrrn", "hrrn:power=0.5,scan=strict", "my-srsf", "srsf"]
comparison = gs.compare(trace, cluster, policies)
print(comparison.table().select("policy", "mean_jct_s", "mean_bounded_slowdown", "preemptions"))

results = comparison.results
results["hrrn"].audit().raise_if_bad()
assert results["my-srsf"].digest == results["srsf"].digest
