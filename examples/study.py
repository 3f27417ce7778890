"""Five policies, three loads, 12 seeds: a table and two charts. Optional: number of jobs."""

import sys

import gpusched as gs

jobs = int(sys.argv[1]) if len(sys.argv) > 1 else 5_000

study = gs.sweep(
    {
        "name": "five-policies",
        "seeds": list(range(1, 13)),
        "policies": ["fifo-skip", "las", "2d-las", "sjf", "srtf"],
        "baseline": "fifo-skip",
        "traces": [{"generate": "philly", "jobs": jobs, "loads": [0.7, 0.9, 1.1]}],
        "clusters": [{"servers": 16, "gpus": 8}],
    },
    folder="five-policies",  # what is there is not run again
)

compared = study.compare("mean_jct_s", by=["load"])
print(compared.table(caption="Mean JCT, and its change against first come, first served."))
with open("mean-jct.tex", "w") as file:
    file.write(compared.table("latex", caption="Mean JCT."))

gs.plot.save(gs.plot.lines(study, "mean_jct_s", x="load"), "mean-jct.pdf")
gs.plot.save(gs.plot.forest_plot(study, "p99_jct_s"), "p99-jct.pdf")
gs.reporting.write_sweep(study, "five-policies.html")
