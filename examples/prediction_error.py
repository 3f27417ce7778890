"""What does an error of the predicted run times cost? Optional: number of jobs."""

import sys

import gpusched as gs

jobs = int(sys.argv[1]) if len(sys.argv) > 1 else 3_000

# The logarithm of the error is normal; 0.7 is twice or half of the truth in one standard deviation.
sigmas = [0.0, 0.35, 0.7, 1.4, 2.8]
study = gs.sweep(
    {
        "name": "prediction-error",
        "seeds": list(range(1, 11)),
        "policies": ["sjf", "srtf", "a-srpt"],
        "predictors": [f"noise:sigma={sigma}" for sigma in sigmas],
        "traces": [{"generate": "philly", "jobs": jobs, "loads": [1.0]}],
        "clusters": [{"servers": 16, "gpus": 8}],
    },
    folder="prediction-error",
)

# Against no error at all, over the same jobs: how much longer they take.
compared = study.compare(
    "mean_jct_s", axis="predictor", by=["policy"], baseline=study.runs["predictor"][0]
)
print(compared.table(caption="Mean JCT, and its change against exact predictions."))

# The error is a number, so that lines go along it.
sigma_of = dict(zip(study.runs["predictor"].unique(maintain_order=True), sigmas, strict=True))
runs = study.runs.with_columns(study.runs["predictor"].replace_strict(sigma_of).alias("sigma"))
gs.plot.save(gs.plot.lines(runs, "mean_jct_s", x="sigma"), "prediction-error.pdf")
