"""A forest as flat arrays: what a fitted scikit-learn forest becomes, is saved as and run by."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from gpusched.base.arrays import AnyArray, Bool, Float64, Int32

Float32 = npt.NDArray[np.float32]

_CHUNK: Final = 200_000  # leaves looked up together: the arrays stay in the cache
_DROP_EVERY: Final = 4


@dataclass(frozen=True, eq=False)
class Trees:
    """Regression trees, whose mean is the prediction.

    Vertices of all trees are numbered in one row, level by level. A vertex asks whether
    ``values[feature] > threshold``; "no" leads to ``child``, "yes" to ``child + 1``. A leaf is its
    own child, and nothing exceeds its threshold.

    Attributes
    ----------
    root
        int32, the first vertex of each tree.
    child, feature
        int32 per vertex.
    threshold
        float32 per vertex, infinite at leaves.
    value
        float64 per vertex, of meaning at leaves.
    """

    root: Int32
    child: Int32
    feature: Int32
    threshold: Float32
    value: Float64

    @classmethod
    def of(cls, estimators: Iterable[Any]) -> Trees:
        """Take over the trees of a fitted ``RandomForestRegressor``."""
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
        """Return the same trees, all of whose values are so much more."""
        return replace(self, value=self.value + by)

    def with_means(self, features: AnyArray, values: Float64) -> Trees:
        """Return the same trees, each leaf of which says the mean of the rows that fall into it."""
        leaves = self._leaf_of(np.asarray(features, np.float32)).ravel()
        many = np.bincount(leaves, minlength=len(self.value))
        total = np.bincount(leaves, np.tile(values, len(self)), len(self.value))
        return replace(self, value=total / np.maximum(many, 1))

    def _leaves(self, features: Float32) -> Float64:
        # One contiguous row per job is summed in the same order whatever the number of rows.
        leaf = self._leaf_of(features)
        mean: Float64 = self.value[leaf.T.copy()].mean(axis=1)
        return mean

    def _leaf_of(self, features: Float32) -> Int32:
        """Return the leaf of each row: a line for each tree."""
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

    def problem(self, num_features: int) -> str | None:
        """Return the first array that cannot be part of a forest with the reason, or None."""
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
        if not bool((np.abs(self.value) < 100).all()):  # written so that NaN fails
            return "value: must be logarithms of services"
        return None


def _outside(values: AnyArray, size: int) -> bool:
    return bool(len(values)) and not 0 <= int(values.min()) <= int(values.max()) < size


def _shifted(children: AnyArray, begin: int) -> AnyArray:
    return np.where(children < 0, -1, children + begin)


def _rounded_down(threshold: Float64) -> Float32:
    """Return the largest float32 up to each threshold: no float32 lies between the two."""
    nearest = threshold.astype(np.float32)
    return np.where(nearest > threshold, np.nextafter(nearest, np.float32(-np.inf)), nearest)
