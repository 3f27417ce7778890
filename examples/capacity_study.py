"""How many servers keep waits short, under which policy? A number of jobs may follow.

``gs.size`` finds the smallest number that meets a goal; this is the whole curve, over ten seeds.
"""

import sys

import polars as pl

import gpusched as gs

jobs = int(sys.argv[1]) if len(sys.argv) > 1 else 3_000
goal_s = 600.0

# The same jobs on every cluster: 64 servers would be as busy as can be.
seeds = list(range(1, 11))
today = gs.Cluster.uniform(64, gpus=8)
traces = [gs.generate("helios", jobs=jobs, load=1.0, cluster=today, seed=seed) for seed in seeds]

study = gs.sweep(
    {
        "name": "capacity",
        "seeds": seeds,
        "policies": ["fifo-skip", "easy", "2d-las"],
        "traces": [{"trace": t, "label": f"draw {s}"} for s, t in zip(seeds, traces, strict=True)],
        "zip": [["traces", "seeds"]],
        "clusters": [{"servers": n, "gpus": 8, "label": str(n)} for n in range(64, 129, 8)],
    }
)

runs = study.runs.with_columns(pl.col("cluster").cast(pl.Int64).alias("servers"))
compared = gs.studies.compare_runs(runs, "p95_wait_s", by=["servers"])
for (policy,), rows in compared.frame.group_by("policy", maintain_order=True):
    enough = rows.filter(pl.col("high") <= goal_s)["servers"].min()
    number = enough or "more than 128"
    print(f"{policy:10} {number} servers: p95 wait typically within {goal_s:.0f} s")

gs.plot.save(gs.plot.lines(runs, "p95_wait_s", x="servers"), "capacity.pdf")
