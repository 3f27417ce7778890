"""The accuracy of predictions for finished jobs, and their cost."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from gpusched.base.arrays import AnyArray, Bool, Float64, Int64


@dataclass(frozen=True)
class Accuracy:
    """Errors of predictions p of run times t; None if undefined (no job, or no variance).

    Attributes
    ----------
    num_jobs
        Evaluated jobs: those that finished, after the training part if there was one.
    mape
        Mean of abs(p - t) / t: 0.5 is 50%.
    median_abs_log_error
        Median of abs(ln p - ln t): 0.69 is a factor of two.
    bias
        Sum of p over sum of t: 1 is unbiased, 0.5 half of the true sum.
    r2_log
        1 - sum (ln p - ln t)^2 / sum (ln t - mean ln t)^2. 0: no better than a constant.
    rank_correlation
        Spearman's, 1 for the right order of jobs; equal values share their mean rank.
    coverage
        Share of jobs whose template had a finished job before the prediction; None if the
        predictor does not use templates.
    """

    num_jobs: int
    mape: float | None
    median_abs_log_error: float | None
    bias: float | None
    r2_log: float | None
    rank_correlation: float | None
    coverage: float | None

    @classmethod
    def of(cls, predicted_us: Int64, service_us: Int64, covered: Bool | None = None) -> Accuracy:
        """Compare predictions with true run times, both in microseconds and 1 or more.

        Returns
        -------
        Accuracy
            Undefined values are None, as are all without jobs.

        Raises
        ------
        ValueError
            If there are not as many predictions as run times.

        Examples
        --------
        >>> import numpy as np
        >>> gs.prediction.Accuracy.of(np.array([50, 150]), np.array([100, 100])).mape
        0.5
        """
        num = len(service_us)
        if len(predicted_us) != num:
            raise ValueError(f"predicted_us: {len(predicted_us)} values for {num} jobs")
        if not num:
            return cls(0, None, None, None, None, None, None)
        truth = service_us.astype(np.float64)
        log_error = np.log(predicted_us) - np.log(truth)
        spread = float(((np.log(truth) - np.log(truth).mean()) ** 2).sum())
        is_flat = bool((service_us == service_us[0]).all())
        return cls(
            num_jobs=num,
            mape=float((np.abs(predicted_us - truth) / truth).mean()),
            median_abs_log_error=float(np.median(np.abs(log_error))),
            bias=float(predicted_us.sum(dtype=np.float64) / truth.sum()),
            r2_log=None if is_flat else 1.0 - float((log_error**2).sum()) / spread,
            rank_correlation=_spearman(predicted_us, service_us),
            coverage=None if covered is None else float(covered.mean()),
        )


@dataclass(frozen=True)
class PredictionReport:
    """Accuracy and cost of a run's predictions.

    Attributes
    ----------
    predictor
        Name with parameters.
    accuracy
        See :class:`Accuracy`.
    num_batches, num_fits
        Batches of arrivals, and fits of a model.
    fit_s, features_s, predict_s
        Seconds spent on fitting models, on features, and in the predictor in total.
    wall_s
        Wall time of the run in seconds, including predictions.
    """

    predictor: str
    accuracy: Accuracy
    num_batches: int
    num_fits: int
    fit_s: float
    features_s: float
    predict_s: float
    wall_s: float

    @property
    def share(self) -> float:
        """Share of the wall time spent in the predictor."""
        return self.predict_s / self.wall_s if self.wall_s > 0 else 0.0

    def summary(self) -> dict[str, float]:
        """Return the values by their keys in a result's summary.

        Returns
        -------
        dict
            Undefined values are NaN.

        Examples
        --------
        >>> jobs = gs.generate("philly", 50, load=0.9, cluster=gs.Cluster.uniform(2), seed=1)
        >>> run = gs.simulate(jobs, gs.Cluster.uniform(2), policy="sjf", predictor="last-value")
        >>> run.prediction.summary()["prediction_num_jobs"]
        50
        """
        accuracy = {
            f"prediction_{entry.name}": _number(getattr(self.accuracy, entry.name))
            for entry in fields(self.accuracy)
        }
        return {
            **accuracy,
            "prediction_num_fits": self.num_fits,
            "prediction_share": self.share,
        }

    def __repr__(self) -> str:
        found = self.accuracy
        shown = {
            "MAPE": _shown(found.mape, "{:.0%}"),
            "median |log error|": _shown(found.median_abs_log_error, "{:.2f}"),
            "sum / true sum": _shown(found.bias, "{:.2f}"),
            "R2 (log)": _shown(found.r2_log, "{:.2f}"),
            "rank correlation": _shown(found.rank_correlation, "{:.2f}"),
            "coverage": _shown(found.coverage, "{:.0%}"),
        }
        numbers = ", ".join(f"{name} {value}" for name, value in shown.items() if value)
        return (
            f"PredictionReport({self.predictor}: {found.num_jobs:,} jobs, "
            f"{numbers + ', ' if numbers else ''}{self.num_fits} fits, "
            f"{self.share:.0%} of {self.wall_s:.1f} s)"
        )


def _spearman(first: Int64, second: Int64) -> float | None:
    ranks = _ranks(first), _ranks(second)
    one, other = (rank - rank.mean() for rank in ranks)
    scale = float(np.sqrt((one**2).sum() * (other**2).sum()))
    return float((one * other).sum()) / scale if scale > 0 else None


def _ranks(values: AnyArray) -> Float64:
    _, place, count = np.unique(values, return_inverse=True, return_counts=True)
    mean_rank: Float64 = np.cumsum(count) - (count - 1) / 2
    return mean_rank[place]


def _number(value: float | None) -> float:
    return np.nan if value is None else value


def _shown(value: float | None, form: str) -> str:
    return "" if value is None else form.format(value)
