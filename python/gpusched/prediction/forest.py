"""The random forest: trained again and again on what has finished."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from typing import Any, ClassVar, Final, Self

import numpy as np

from gpusched.base.arrays import AnyArray, Float64, Int64
from gpusched.base.libraries import need
from gpusched.base.ticks import MAX_SERVICE_US, US_PER_S
from gpusched.prediction.features import FEATURES, FeatureTable, mean_log
from gpusched.prediction.learner import COUNTS, COUNTS_NOTE, Learner, require, take
from gpusched.prediction.predictor_store import Header
from gpusched.prediction.registry import register_predictor
from gpusched.prediction.trees import Trees
from gpusched.traces.workload import Trace

MIN_JOBS: Final = 50
"""No forest is fitted to fewer finished jobs."""
_FEATURE_SHARE: Final = 1 / 3  # of the features, looked at in each split
_TREES_AT_ONCE: Final = 25
_TREE_ARRAYS: Final = {
    "root": np.int32,
    "child": np.int32,
    "feature": np.int32,
    "threshold": np.float32,
    "value": np.float64,
}


@register_predictor("forest")
class Forest(Learner):
    """A random forest for the logarithm of the service, fitted anew as jobs finish."""

    feature_names = FEATURES
    source = (
        "Luo et al., INFOCOM 2025 (the abstract), features ours; Breiman, Machine Learning 2001"
    )
    limits: ClassVar = {
        "trees": (1, 10_000),
        "leaf": (1, 1_000_000),
        "samples": (10, 10_000_000),
        "window": (MIN_JOBS, 10_000_000),
        "refit_jobs": (1, 1_000_000_000),
        "refit_s": (1, 1e12),
        "new_share": (0, 1),
        "fraction": (0.01, 0.99),
        "batch_jobs": (0, 1_000_000),
    }
    choices: ClassVar = {
        "mode": ("online", "split", "frozen"),
        "target": ("log", "smeared", "mean"),
        "counts": COUNTS,
    }
    notes: ClassVar = {
        "mode": "online: fit again and again; split: once, on the first part; frozen: never",
        "trees": "number of trees",
        "leaf": "least number of training jobs in a leaf, up to 1/100 of those that a tree draws",
        "samples": "training jobs that each tree draws, at most",
        "window": "train on the last so many finished jobs",
        "refit_jobs": "fit again after so many finished jobs",
        "refit_s": "or after so many seconds of simulated time",
        "new_share": "but not before this share of all finished jobs is new",
        "fraction": "of the time from first to last submission, that split trains on",
        "target": "log: the mean of the logarithm, which lies below the mean; smeared: that, times "
        "the mean of exp(residual) of training jobs under the trees that did not draw them (Duan, "
        "1983); mean: the mean of the service in a leaf",
        "counts": COUNTS_NOTE,
        "batch_jobs": "most jobs predicted together, 0 for 1/500 of those so far (at most 1,000)",
    }

    def __init__(
        self,
        mode: str = "online",
        trees: int = 100,
        leaf: int = 20,
        samples: int = 4000,
        window: int = 20_000,
        refit_jobs: int = 1000,
        refit_s: float = 86_400.0,
        new_share: float = 0.05,
        fraction: float = 0.5,
        batch_jobs: int = 0,
        target: str = "smeared",
        counts: str = "service",
    ) -> None:
        super().__init__(counts)
        self.mode = mode
        self.trees = trees
        self.leaf = leaf
        self.samples = samples
        self.window = window
        self.refit_jobs = refit_jobs
        self.refit_s = refit_s
        self.new_share = new_share
        self.fraction = fraction
        self.batch_jobs = batch_jobs
        self.target = target
        self.trained: Trees | None = None
        self.old_features: AnyArray = np.empty((0, len(FEATURES)), np.float32)

    def begin(self, trace: Trace, seed: int = 0) -> None:
        """Prepare the features of all jobs as far as they do not depend on the run."""
        if self.mode == "frozen" and self.trained is None and not self._is_training:
            raise ValueError("predictor forest: mode=frozen needs a trained model, see train()")
        super().begin(trace, seed)
        begin = time.perf_counter()
        self.table = FeatureTable(self.keys, trace, self.old_features)
        self.costs.features_s += time.perf_counter() - begin
        self.model = self.trained
        self._cut_us: int | None = None
        if self.mode == "split":
            first, last = int(trace.submit_us[0]), int(trace.submit_us[-1])
            self._cut_us = first + round((last - first) * self.fraction)
        self._fitted_us: int | None = None
        self._num_fitted = len(self.log) if self.trained is not None else 0

    @property
    def cut_us(self) -> int | None:
        """Where the first part ends, if the forest is fitted to that alone."""
        return self._cut_us

    def _predict(self, jobs: Int64, rows: Int64) -> AnyArray:
        assert self.trace is not None
        now_us = int(self.trace.submit_us[jobs[0]])
        if self._is_due(now_us):
            self._fit(now_us)
        begin = time.perf_counter()
        features = self.table.fill(rows, self.log)
        self.costs.features_s += time.perf_counter() - begin
        found = mean_log(self.log, rows) if self.model is None else self.model.predict(features)
        is_log = self.model is None or self.target != "mean"
        seconds = np.exp(found) if is_log else found
        predicted_us: Float64 = np.minimum(seconds * US_PER_S, MAX_SERVICE_US)
        return predicted_us

    def _is_due(self, now_us: int) -> bool:
        num_new = len(self.log) - self._num_fitted
        if self.mode == "frozen" or self._is_training or len(self.log) < MIN_JOBS or not num_new:
            return False
        if self._cut_us is not None:
            return now_us >= self._cut_us and self._fitted_us is None
        if self.model is None:
            return True
        if num_new < self.new_share * len(self.log):
            return False
        since_us = now_us - (self._fitted_us or 0)
        return num_new >= self.refit_jobs or since_us >= self.refit_s * US_PER_S

    def _fit(self, now_us: int) -> None:
        begin = time.perf_counter()
        rows = self._known_rows()
        self.model = grow(
            self.table.values[rows],
            self.log.log_s[rows],
            trees=self.trees,
            leaf=self.leaf,
            samples=self.samples,
            seed=[self.seed, self.costs.num_fits],
            target=self.target,
            poll=self.poll,
        )
        self._fitted_us = now_us
        self._num_fitted = len(self.log)
        self.costs.num_fits += 1
        self.costs.fit_s += time.perf_counter() - begin

    def _known_rows(self) -> Int64:
        """Return the last finished rows whose features are known, at most a window of them."""
        rows = self.log.last(self.window)
        return rows[rows >= len(self.records) - len(self.old_features)]

    def _trained(self) -> Self:
        if len(self.log) < MIN_JOBS:
            raise ValueError(
                f"predictor {self}: {len(self.log)} jobs have finished, a forest needs {MIN_JOBS}"
            )
        self._fit(0)
        other = super()._trained()
        other.trained = self.model
        # Rows without features come first: records follow the order in which jobs finished.
        other.old_features = self.table.values[self._known_rows()]
        return other

    def _arrays(self) -> dict[str, AnyArray]:
        assert self.trained is not None
        forest = {f"forest.{name}": getattr(self.trained, name) for name in _TREE_ARRAYS}
        return {**super()._arrays(), **forest, "features": self.old_features}

    def restore(self, header: Header, arrays: dict[str, Any]) -> None:
        """Take over a saved forest with the features that it was fitted to."""
        super().restore(header, arrays)
        self.old_features = take(arrays, "features", np.float32, (None, len(FEATURES)))
        require(
            len(self.old_features) <= len(self.records)
            and bool(np.isfinite(self.old_features).all()),
            "features",
            "must be finite, and no more rows than there are records",
        )
        vertices = len(arrays.get("forest.child", ()))
        lengths = {name: None if name == "root" else vertices for name in _TREE_ARRAYS}
        self.trained = Trees(
            **{
                name: take(arrays, f"forest.{name}", dtype, (lengths[name],))
                for name, dtype in _TREE_ARRAYS.items()
            }
        )
        problem = self.trained.problem(len(FEATURES))
        if problem:
            raise ValueError(f"forest.{problem}")


def grow(
    features: AnyArray,
    log_s: AnyArray,
    *,
    trees: int,
    leaf: int,
    samples: int,
    seed: list[int],
    target: str,
    poll: Callable[[], None] | None = None,
) -> Trees:
    """Fit a forest to rows of features and logarithms of seconds.

    A leaf need not hold more than a hundredth of the jobs that a tree draws. Equal arguments
    give equal forests, whatever the number of processors. ``target`` is the option of
    :class:`Forest`; ``poll`` is called between the trees. ImportError without scikit-learn.
    """
    need("sklearn", "predictor forest", "scikit-learn")
    from sklearn.ensemble import RandomForestRegressor

    drawn = min(samples, len(log_s))
    grown: list[Any] = []
    unseen: list[Float64] = []  # of each group of trees: what those say that did not draw a job
    while len(grown) < trees:
        if poll is not None:
            poll()
        forest = RandomForestRegressor(
            min(_TREES_AT_ONCE, trees - len(grown)),
            min_samples_leaf=max(1, min(leaf, drawn // 100)),
            max_features=_FEATURE_SHARE,
            max_samples=drawn,
            n_jobs=1,  # a run is one thread; runs are what threads are for
            random_state=int(np.random.SeedSequence([*seed, len(grown)]).generate_state(1)[0]),
            oob_score=target == "smeared",
        )
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Some inputs do not have OOB scores")
            grown += forest.fit(features, log_s).estimators_
        if target == "smeared":
            unseen.append(forest.oob_prediction_)
    found = Trees.of(grown)
    if target == "smeared":
        return found.shifted(_log_of_smearing(log_s, np.stack(unseen)))
    return found.with_means(features, np.exp(log_s)) if target == "mean" else found


def _log_of_smearing(log_s: AnyArray, unseen: AnyArray) -> float:
    """Return the logarithm of the mean of exp(residual), of jobs that some tree did not draw."""
    known = np.where(unseen == 0.0, np.nan, unseen)  # scikit-learn's word for "drawn by all"
    is_known = ~np.isnan(known).all(axis=0)
    residual = log_s[is_known] - np.nanmean(known[:, is_known], axis=0)
    return float(np.log(np.exp(residual).mean())) if is_known.any() else 0.0
