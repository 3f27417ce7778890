"""How well can run times be predicted, and what is it worth? Optional: trace files."""

import sys

import gpusched as gs

PREDICTORS = ("group-mean", "last-value", "quantile", "forest:trees=50")


def compare(trace: gs.Trace, cluster: gs.Cluster) -> None:
    """Print the accuracy of each predictor, and the mean JCT of shortest job first with it."""
    print(trace)
    print(
        f"{'predictor':16} {'MAPE':>6} {'log error':>10} {'R2':>6} {'rank':>6} {'mean JCT, h':>12}"
    )
    for name in ("oracle", *PREDICTORS):
        result = gs.simulate(trace, cluster, policy="sjf", predictor=name)
        mean_jct_h = result.summary()["mean_jct_s"] / 3600
        if result.prediction is None:
            print(f"{name:16} {mean_jct_h:45.2f}")
            continue
        error = result.prediction.accuracy
        print(
            f"{name:16} {error.mape:6.2f} {error.median_abs_log_error:10.2f} {error.r2_log:6.2f} "
            f"{error.rank_correlation:6.2f} {mean_jct_h:12.2f}"
        )


for path in sys.argv[1:]:
    jobs = gs.read_trace(path)
    compare(jobs, gs.traces.smallest_cluster(jobs))

if not sys.argv[1:]:
    cluster = gs.Cluster.uniform(32, gpus=8)
    trace = gs.generate("helios", jobs=4_000, load=0.9, cluster=cluster, seed=1)
    compare(trace, cluster)

    # Learn from one month, keep it, and use it for the next one.
    past = trace.head(3_000)
    gs.prediction.predictor("forest:trees=50").train(past).save("model.npz")
    known = gs.prediction.load_predictor("model.npz")
    later = trace.filter(trace.submit_us > past.submit_us[-1])
    print(gs.simulate(later, cluster, policy="sjf", predictor=known).prediction)
    print(f"The next job should take {known.predict_trace(later)[0]:,.0f} s.")
