"""Compare your own policy with all that fit the same jobs. Optional: number of jobs."""

import sys

import gpusched as gs

jobs = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000


@gs.register_order("my-hrrn")
class HighestResponseRatioNext(gs.Order):
    """Shortest job first, but a job gains on the others while it waits."""

    source = "Brinch Hansen, Software: Practice and Experience 1, 1971."
    lifetime = "clock"  # the keys change with time
    scan = "skip"

    def rank(self, view, jobs):
        """Return one key per entry of ``jobs``; the smallest goes first."""
        predicted_us = view.predicted_us[jobs].astype(float)
        return predicted_us / (predicted_us + view.now_us - view.submit_us[jobs])


# The native ones that decide as jobs come, without deadlines or jobs that change their width.
other = {"offline", "deadlines", "elastic"}
baselines = [
    name
    for name, known in gs.policies().items()
    if known.is_native and not known.alias_of and not other & {*known.flags}
]

study = gs.sweep(
    {
        "name": "my-policy",
        "seeds": list(range(1, 13)),
        "policies": ["my-hrrn", *baselines],
        "baseline": "my-hrrn",
        "predictors": ["group-mean"],  # no policy sees true run times
        "traces": [{"generate": "philly", "jobs": jobs, "loads": [1.1]}],
        "clusters": [{"servers": 8, "gpus": 8}],
    }
)
print(study.compare("mean_jct_s").table(caption="Mean JCT, and its change against my-hrrn."))

gs.plot.save(gs.plot.forest_plot(study, "mean_jct_s"), "my-policy.pdf")
gs.plot.save(gs.plot.pareto(study, "mean_jct_s", "p99_wait_s"), "my-front.pdf")
