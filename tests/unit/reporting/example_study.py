"""The runs of a study as a frame, made up: policies of which the ratios are known."""

import math

import polars as pl

POLICIES = {"fifo": 1.0, "sjf": 0.5, "srtf": 0.25}
CLUSTERS = {"small <8>": 1.0, "large": 0.8}
LOADS = (0.7, 0.9, 1.1)
SEEDS = range(1, 7)
ERROR = "ValueError: jobs.csv:7: <b>bad</b>"
REPEAT = "gpusched sweep study.toml --only 17"


def runs(*, failed: bool = True) -> pl.DataFrame:
    """Three policies on two clusters at three loads with six seeds; one run may have failed."""
    rows = []
    for cluster, of_cluster in CLUSTERS.items():
        for load in LOADS:
            for seed in SEEDS:
                common = 36_000 * of_cluster * load * (1 + 0.1 * math.sin(seed))
                for place, (policy, share) in enumerate(POLICIES.items()):
                    own = common * share * (1 + 0.01 * math.cos(seed + place))
                    rows.append(_row(cluster, load, seed, policy, own))
    if failed:
        gone = next(r for r in rows if (r["policy"], r["load"], r["seed"]) == ("sjf", 0.9, 3))
        for name in ("mean_jct_s", "p50_jct_s", "p95_jct_s", "p99_jct_s", "utilisation"):
            gone[name] = None
        gone |= {"error": ERROR, "repeat": REPEAT}
    frame = pl.DataFrame(rows, infer_schema_length=None)
    return frame.with_columns(
        pl.col("error", "repeat", "window").cast(pl.String),
        pl.col("warnings").cast(pl.List(pl.String)),
    )


def _row(cluster: str, load: float, seed: int, policy: str, jct_s: float) -> dict[str, object]:
    return {
        "run": f"{cluster}{load}{policy}{seed}", "trace": "made up", "cluster": cluster,
        "policy": policy, "placement": "consolidated", "load": load, "jobs": 100, "window": None,
        "seed": seed, "mean_jct_s": jct_s, "p50_jct_s": jct_s / 2, "p95_jct_s": jct_s * 4,
        "p99_jct_s": jct_s * (9 if policy == "fifo" else 40), "utilisation": 0.5 + 1e-6 * jct_s,
        "wall_s": 0.1, "clairvoyant": policy == "srtf", "error": None, "repeat": None,
        "warnings": ["the moon is assumed"] if policy == "sjf" else None,
    }  # fmt: skip
