"""The random forest, refitted to finished jobs."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, ClassVar, Final, Self

import numpy as np
import numpy.typing as npt

from gpusched.base.arrays import AnyArray, Bool, Float64, Int32, Int64
from gpusched.base.libraries import need
from gpusched.base.ticks import MAX_SERVICE_US, US_PER_S, us_to_seconds
from gpusched.prediction.interface import UNKNOWN_US
from gpusched.prediction.learner import (
    COUNTS,
    COUNTS_NOTE,
    LABELS,
    CompletionLog,
    Header,
    JobKeys,
    Learner,
    quantiles,
    require,
    take,
)
from gpusched.prediction.registry import PredictorChoice, register_predictor
from gpusched.traces.checked_columns import NOT_GIVEN
from gpusched.traces.workload import Trace

FEATURES: Final = (
    *LABELS,
    "log2_gpus",
    "hour",
    "weekday",
    "log_estimate",
    "log_submits",
    "log_gap",
    "log_finished",
    "mean",
    "last",
    "second_last",
    "lower_quartile",
    "median",
    "upper_quartile",
    "queue_lower_quartile",
    "queue_median",
    "queue_upper_quartile",
    "user_mean",
    "queue_mean",
    "width_mean",
)
"""The features. From ``mean`` on they are logarithms of run times in seconds."""
_KNOWN: Final = FEATURES.index("log_finished")  # earlier ones do not change after the arrival
_KIND_DEPTH: Final = 64  # jobs of the template in the quartiles
_QUEUE_DEPTH: Final = 16
_QUARTILES: Final = (0.25, 0.5, 0.75)
_DAY_S: Final = 86400


class FeatureTable:
    """float32, one row per row of the keys; :meth:`fill` completes the rows that arrive now.

    A template without history uses the mean of the group, then of the user, then of all jobs.
    Hours and days count from tick 0 if the trace has no epoch. ``old`` are the rows of the last
    records.
    """

    def __init__(self, keys: JobKeys, trace: Trace, old: AnyArray) -> None:
        num_records = keys.num_records
        self.values = np.zeros((len(keys), len(FEATURES)), np.float32)
        self.values[num_records - len(old) : num_records] = old
        ours = self.values[num_records:]
        for column, label in enumerate(LABELS):
            ours[:, column] = keys.codes[label][num_records:]
        known = {
            "log2_gpus": np.log2(trace.gpus),
            "log_estimate": _log_estimates(trace),
            "log_submits": np.log1p(keys.times_before()[num_records:]),
            "log_gap": _log_gaps(keys.gap_s(trace.submit_us)),
        }
        known["hour"], known["weekday"] = _clock(trace.submit_us, trace.epoch)
        for name, values in known.items():
            ours[:, FEATURES.index(name)] = values

    def fill(self, rows: Int64, log: CompletionLog) -> AnyArray:
        """Complete ``rows`` from the jobs finished so far, and return them."""
        dynamic = self.values[rows]
        kind = log.of["kind"]
        everyone = log.total_log / len(log) if len(log) else np.log(us_to_seconds(UNKNOWN_US))
        own = mean_log(log, rows)
        values = log.log_s[kind.recent(rows, _KIND_DEPTH)]
        queue = log.log_s[log.of["queue"].recent(rows, _QUEUE_DEPTH)]
        last = _or(values[:, 0], own)
        columns = (
            np.log1p(kind.finished(rows)),
            own,
            last,
            _or(values[:, 1], last) if values.shape[1] > 1 else last,
            *(_or(quartile, own) for quartile in quantiles(values, _QUARTILES)),
            *(_or(quartile, own) for quartile in quantiles(queue, _QUARTILES)),
            *(_or(log.of[name].mean_log(rows), everyone) for name in ("user", "queue", "width")),
        )
        for column, filled in enumerate(columns, start=_KNOWN):
            dynamic[:, column] = filled
        self.values[rows] = dynamic
        return dynamic


def mean_log(log: CompletionLog, rows: Int64) -> Float64:
    """Return the mean logarithm of the run times (seconds) of each row's template.

    Falls back to its group, its user, all jobs, and an hour.
    """
    everyone = log.total_log / len(log) if len(log) else np.log(us_to_seconds(UNKNOWN_US))
    known = log.first_known(lambda level, rows: log.of[level].mean_log(rows), rows)
    return _or(known, everyone)


def _or(values: Float64, default: Float64 | float) -> Float64:
    return np.where(np.isnan(values), default, values)


def _log_estimates(trace: Trace) -> Float64:
    if trace.estimate_us is None:
        return np.full(len(trace), -1.0)
    seconds = us_to_seconds(np.maximum(trace.estimate_us, 0))
    return np.where(trace.estimate_us == NOT_GIVEN, -1.0, np.log1p(seconds))


def _log_gaps(gap_s: Float64) -> Float64:
    return np.where(gap_s < 0, -1.0, np.log1p(np.maximum(gap_s, 0)))


def _clock(submit_us: Int64, epoch: datetime | None) -> tuple[Float64, Float64]:
    """Return the hour of the day (0 to 24) and the day of the week (Monday is 0)."""
    start_s, weekday = 0.0, 0
    if epoch is not None:
        midnight = epoch.replace(hour=0, minute=0, second=0, microsecond=0)
        start_s, weekday = (epoch - midnight).total_seconds(), epoch.weekday()
    day, second = np.divmod(start_s + us_to_seconds(submit_us), _DAY_S)
    return second / 3600, (weekday + day) % 7


Float32 = npt.NDArray[np.float32]

_CHUNK: Final = 200_000  # leaves looked up together, so that the arrays stay in the cache
_DROP_EVERY: Final = 4


@dataclass(frozen=True, eq=False)
class Trees:
    """Regression trees; the mean of their values is the prediction.

    Vertices of all trees are numbered consecutively, level by level. A vertex compares
    ``values[feature] > threshold``; false leads to ``child``, true to ``child + 1``. A leaf is its
    own child and has an infinite threshold.

    ``root``: int32, the first vertex of each tree.
    ``child``, ``feature``: int32 per vertex.
    ``threshold``: float32 per vertex, infinite at leaves.
    ``value``: float64 per vertex, used at leaves only.
    """

    root: Int32
    child: Int32
    feature: Int32
    threshold: Float32
    value: Float64

    @classmethod
    def of(cls, estimators: Iterable[Any]) -> Trees:
        """Copy the trees of a fitted ``RandomForestRegressor``."""
        grown = [estimator.tree_ for estimator in estimators]
        begin = np.cumsum([0, *(tree.node_count for tree in grown)])
        starts = list(zip(grown, begin[:-1].tolist(), strict=True))
        left = np.concatenate([_shifted(tree.children_left, start) for tree, start in starts])
        right = np.concatenate([_shifted(tree.children_right, start) for tree, start in starts])
        is_leaf = left < 0
        levels = [begin[:-1]]
        while len(levels[-1]):
            inner = levels[-1][~is_leaf[levels[-1]]]
            levels.append(np.stack([left[inner], right[inner]], axis=1).ravel())
        order = np.concatenate(levels)
        number = np.empty(len(order), np.int64)
        number[order] = np.arange(len(order))
        child = np.where(is_leaf, np.arange(len(order)), left)
        threshold = np.concatenate([tree.threshold for tree in grown])
        feature = np.concatenate([tree.feature for tree in grown])
        return cls(
            root=number[begin[:-1]].astype(np.int32),
            child=number[child[order]].astype(np.int32),
            feature=np.where(is_leaf, 0, feature)[order].astype(np.int32),
            threshold=_rounded_down(np.where(is_leaf, np.inf, threshold))[order],
            value=np.concatenate([tree.value[:, 0, 0] for tree in grown])[order],
        )

    def __len__(self) -> int:
        return len(self.root)

    def predict(self, features: Float32) -> Float64:
        """Return the mean over the trees for each row of ``features``.

        A row's prediction does not depend on the others.
        """
        step = max(1, _CHUNK // len(self))
        parts = [
            self._leaves(features[begin : begin + step]) for begin in range(0, len(features), step)
        ]
        return np.concatenate(parts) if parts else np.empty(0)

    def shifted(self, by: float) -> Trees:
        """Return the same trees with ``by`` added to all values."""
        return replace(self, value=self.value + by)

    def with_means(self, features: AnyArray, values: Float64) -> Trees:
        """Return the same trees with the mean of the rows in each leaf as its value."""
        leaves = self._leaf_of(np.asarray(features, np.float32)).ravel()
        many = np.bincount(leaves, minlength=len(self.value))
        total = np.bincount(leaves, np.tile(values, len(self)), len(self.value))
        return replace(self, value=total / np.maximum(many, 1))

    def _leaves(self, features: Float32) -> Float64:
        # One contiguous row per job is summed in the same order for any number of rows.
        leaf = self._leaf_of(features)
        mean: Float64 = self.value[leaf.T.copy()].mean(axis=1)
        return mean

    def _leaf_of(self, features: Float32) -> Int32:
        """Return the leaf of each row, one line per tree."""
        rows, width = features.shape
        flat = np.ascontiguousarray(features).ravel()
        here = np.repeat(self.root, rows)
        base = np.tile(np.arange(rows, dtype=np.int32) * width, len(self))
        leaf = here.copy()
        open_ = np.arange(len(here))
        level = 0
        while len(open_):
            goes_right = flat[base + self.feature[here]] > self.threshold[here]
            there = self.child[here] + goes_right
            level += 1
            if level % _DROP_EVERY == 0:
                moved = there != here
                leaf[open_] = there
                here, base, open_ = there[moved], base[moved], open_[moved]
            else:
                here = there
        return leaf.reshape(len(self), rows)

    def problem(self, num_features: int, *, are_means: bool = False) -> str | None:
        """Return the first invalid array with the reason, or None.

        ``are_means``: whether the values are run times in seconds, not their logarithms.
        """
        size = len(self.child)
        vertex = np.arange(size)
        is_leaf: Bool = self.child == vertex
        inner = self.child[~is_leaf]
        if not len(self.root) or _outside(self.root, size):
            return "root: must name a vertex for each tree"
        if len(inner) and (bool((inner <= vertex[~is_leaf]).any()) or int(inner.max()) >= size - 1):
            return "child: must come after its parent and lie inside"
        if _outside(self.feature, num_features):
            return f"feature: must lie in 0..{num_features - 1}"
        leaves_end = bool(np.isposinf(self.threshold[is_leaf]).all())
        if not leaves_end or not bool(np.isfinite(self.threshold[~is_leaf]).all()):
            return "threshold: must be infinite at leaves and finite elsewhere"
        least, most = (0.0, MAX_SERVICE_US / US_PER_S) if are_means else (-100.0, 100.0)
        if not bool(((self.value >= least) & (self.value <= most)).all()):  # NaN fails
            return f"value: must be {'' if are_means else 'logarithms of '}run times"
        return None


def _outside(values: AnyArray, size: int) -> bool:
    return bool(len(values)) and not 0 <= int(values.min()) <= int(values.max()) < size


def _shifted(children: AnyArray, begin: int) -> AnyArray:
    return np.where(children < 0, -1, children + begin)


def _rounded_down(threshold: Float64) -> Float32:
    """Round each threshold down to float32."""
    nearest = threshold.astype(np.float32)
    return np.where(nearest > threshold, np.nextafter(nearest, np.float32(-np.inf)), nearest)


MIN_JOBS: Final = 50
"""The fewest finished jobs that a forest is fitted to."""
_FEATURE_SHARE: Final = 1 / 3  # share of features tried in each split
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
    """A random forest for the logarithm of the run time, refitted as jobs finish."""

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
        "mode": "online: refit during the run; split: fit once, on the first part; frozen: never",
        "trees": "number of trees",
        "leaf": "fewest training jobs in a leaf, at most 1/100 of a tree's sample",
        "samples": "most training jobs per tree",
        "window": "number of last finished jobs to train on",
        "refit_jobs": "finished jobs between fits",
        "refit_s": "seconds of simulated time between fits, if that is sooner",
        "new_share": "share of all finished jobs that must be new for a fit",
        "fraction": "share of the time from first to last submission that mode=split trains on",
        "target": "log: mean of the logarithm, which underestimates the mean; smeared: that, times "
        "the mean of exp(residual) of training jobs over trees without them (Duan, 1983); mean: "
        "mean run time in a leaf",
        "counts": COUNTS_NOTE,
        "batch_jobs": "most jobs predicted together; 0: 1/500 of those so far (at most 1,000)",
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
        """Compute the features of all jobs that do not depend on the run."""
        if self.mode == "frozen" and self.trained is None and not self._is_training:
            raise ValueError("predictor forest: mode=frozen needs a trained model; see train()")
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
        """End of the training part with mode=split, else None."""
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
        """Return the last finished rows with known features, at most a window of them."""
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
        # Rows without features come first, because records are in the order of finishes.
        other.old_features = self.table.values[self._known_rows()]
        return other

    def _arrays(self) -> dict[str, AnyArray]:
        assert self.trained is not None
        forest = {f"forest.{name}": getattr(self.trained, name) for name in _TREE_ARRAYS}
        return {**super()._arrays(), **forest, "features": self.old_features}

    def restore(self, header: Header, arrays: dict[str, Any]) -> None:
        """Restore a saved forest with the features that it was fitted to."""
        super().restore(header, arrays)
        self.old_features = take(arrays, "features", np.float32, (None, len(FEATURES)))
        require(
            len(self.old_features) <= len(self.records)
            and bool(np.isfinite(self.old_features).all()),
            "features",
            "must be finite, with at most as many rows as records",
        )
        vertices = len(arrays.get("forest.child", ()))
        lengths = {name: None if name == "root" else vertices for name in _TREE_ARRAYS}
        self.trained = Trees(
            **{
                name: take(arrays, f"forest.{name}", dtype, (lengths[name],))
                for name, dtype in _TREE_ARRAYS.items()
            }
        )
        are_means = self.target == "mean"
        saved = PredictorChoice.parse(header.predictor).parameters.get("target")
        if are_means != (saved == "mean"):
            raise ValueError(
                f"parameter target: is {self.target}, but the forest was saved with "
                f"{saved or 'the default'}, whose leaves hold other values"
            )
        problem = self.trained.problem(len(FEATURES), are_means=are_means)
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

    A leaf holds at least ``leaf`` jobs, or a hundredth of a tree's sample if that is less. Equal
    arguments give equal forests on any number of processors. ``target`` is the option of
    :class:`Forest`; ``poll`` is called between trees. ImportError without scikit-learn.
    """
    need("sklearn", "predictor forest", "scikit-learn")
    from sklearn.ensemble import RandomForestRegressor

    drawn = min(samples, len(log_s))
    grown: list[Any] = []
    unseen: list[Float64] = []  # out-of-bag predictions of each group of trees
    while len(grown) < trees:
        if poll is not None:
            poll()
        forest = RandomForestRegressor(
            min(_TREES_AT_ONCE, trees - len(grown)),
            min_samples_leaf=max(1, min(leaf, drawn // 100)),
            max_features=_FEATURE_SHARE,
            max_samples=drawn,
            n_jobs=1,  # a run uses one thread; runs are parallel
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
    """Return the logarithm of the mean of exp(residual) over out-of-bag jobs."""
    known = np.where(unseen == 0.0, np.nan, unseen)  # 0: no out-of-bag tree
    is_known = ~np.isnan(known).all(axis=0)
    residual = log_s[is_known] - np.nanmean(known[:, is_known], axis=0)
    return float(np.log(np.exp(residual).mean())) if is_known.any() else 0.0
