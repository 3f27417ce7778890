"""How good the predictions were, and what they cost."""

from __future__ import annotations

from gpusched.results.metric_registry import register_metric
from gpusched.results.run_facts import RunFacts


@register_metric(
    "prediction_num_jobs",
    unit="count",
    summary="Predictions that were judged: of jobs that finished.",
    needs=("predictions",),
    table="none",
    rank=500,
)
def _prediction_num_jobs(run: RunFacts) -> float:
    return _figure(run, "prediction_num_jobs")


@register_metric(
    "prediction_mape",
    unit="ratio",
    summary="Mean absolute error of the predicted services, in percent of the services.",
    better="lower",
    needs=("predictions",),
    kind="percent",
    label="prediction error",
    short="pred.|error",
    table="main",
    place=140,
    gives_way=None,
    rank=501,
)
def _prediction_mape(run: RunFacts) -> float:
    return _figure(run, "prediction_mape")


@register_metric(
    "prediction_median_abs_log_error",
    unit="ratio",
    summary="Median of abs(ln predicted - ln true): 0.69 is a factor of two.",
    better="lower",
    needs=("predictions",),
    label="median log error",
    short="median|log err.",
    place=1050,
    rank=502,
)
def _prediction_median_abs_log_error(run: RunFacts) -> float:
    return _figure(run, "prediction_median_abs_log_error")


@register_metric(
    "prediction_bias",
    unit="ratio",
    summary="Sum of the predicted services over that of the true ones: 1 is right on the whole.",
    needs=("predictions",),
    label="predicted / true sum",
    short="pred./|true",
    place=1055,
    rank=508,
)
def _prediction_bias(run: RunFacts) -> float:
    return _figure(run, "prediction_bias")


@register_metric(
    "prediction_r2_log",
    unit="ratio",
    summary="R2 of the logarithms: 1 is perfect, 0 no better than a constant.",
    better="higher",
    needs=("predictions",),
    label="R2 of log prediction",
    short="R2|(log)",
    table="main",
    place=150,
    gives_way=None,
    rank=503,
)
def _prediction_r2_log(run: RunFacts) -> float:
    return _figure(run, "prediction_r2_log")


@register_metric(
    "prediction_rank_correlation",
    unit="ratio",
    summary="Spearman's rank correlation of predicted and true services.",
    better="higher",
    needs=("predictions",),
    label="rank correlation",
    short="rank|corr.",
    table="main",
    place=160,
    gives_way=None,
    rank=504,
)
def _prediction_rank_correlation(run: RunFacts) -> float:
    return _figure(run, "prediction_rank_correlation")


@register_metric(
    "prediction_coverage",
    unit="ratio",
    summary="Share of the jobs of whose kind one had finished before.",
    needs=("predictions",),
    table="none",
    rank=505,
)
def _prediction_coverage(run: RunFacts) -> float:
    return _figure(run, "prediction_coverage")


@register_metric(
    "prediction_num_fits",
    unit="count",
    summary="Fits of a model.",
    needs=("predictions",),
    table="none",
    rank=506,
)
def _prediction_num_fits(run: RunFacts) -> float:
    return _figure(run, "prediction_num_fits")


@register_metric(
    "prediction_share",
    unit="ratio",
    summary="Share of the wall time that went into prediction.",
    better="lower",
    needs=("predictions",),
    kind="percent",
    label="time predicting",
    short="pred.|time",
    group="run",
    table="main",
    place=240,
    gives_way=None,
    rank=507,
)
def _prediction_share(run: RunFacts) -> float:
    return _figure(run, "prediction_share")


def _figure(run: RunFacts, key: str) -> float:
    assert run.prediction is not None
    return run.prediction.summary()[key]
