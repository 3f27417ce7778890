"""How often intervals hold the truth: experiments whose truth is known, for few seeds.

Every cell of the table is the share of the experiments whose interval held it, of each method as
it is and of what ``gs.studies`` makes of its default.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

import gpusched as gs
from bench.measure import machine
from bench.table import Section
from gpusched.base.arrays import Float64
from gpusched.studies.limits import mean_limits, ratio_limits, usable

METHODS: Final = ("bootstrap-t", "t", "bca", "percentile")
DEFAULT: Final = "bootstrap-t"
NUMS: Final = (5, 10, 20, 30)
LOW, HIGH = 0.93, 0.97
LEVEL: Final = 0.95
# Each batch has draws of its own, so that no single set of resamples decides a cell.
_BATCH: Final = 250


@dataclass(frozen=True)
class Kind:
    """Experiments of one kind: what is drawn, what is estimated, and what it truly is.

    ``draw`` gives the values and, for a ratio, the baseline, each of shape (experiments, n).
    """

    name: str
    truth: float
    draw: Callable[[np.random.Generator, tuple[int, int]], tuple[Float64, Float64 | None]]


def _of_jobs(random: np.random.Generator, shape: tuple[int, int]) -> tuple[Float64, None]:
    means = [random.lognormal(0.0, 1.5, (shape[1], 200)).mean(1) for _ in range(shape[0])]
    return np.array(means), None


def _with_outliers(random: np.random.Generator, shape: tuple[int, int]) -> tuple[Float64, None]:
    return random.normal(1.0, 0.1, shape) + 4.0 * (random.random(shape) < 0.1), None


def _normal_pairs(random: np.random.Generator, shape: tuple[int, int]) -> tuple[Float64, Float64]:
    common = random.normal(0.0, 0.25, shape)
    return (
        0.8 * (1.0 + common) + random.normal(0.0, 0.05, shape),
        1.0 + common + random.normal(0.0, 0.05, shape),
    )


def _skewed_pairs(random: np.random.Generator, shape: tuple[int, int]) -> tuple[Float64, Float64]:
    common = random.lognormal(-0.08, 0.4, shape)
    return (
        0.8 * common * random.lognormal(-0.02, 0.2, shape),
        common * random.lognormal(-0.02, 0.2, shape),
    )


def _difference(
    draw: Callable[[np.random.Generator, tuple[int, int]], tuple[Float64, Float64]],
) -> Callable[[np.random.Generator, tuple[int, int]], tuple[Float64, None]]:
    def drawn(random: np.random.Generator, shape: tuple[int, int]) -> tuple[Float64, None]:
        values, baseline = draw(random, shape)
        return values - baseline, None

    return drawn


KINDS: Final = (
    Kind("mean, normal", 1.0, lambda random, shape: (random.normal(1.0, 0.25, shape), None)),
    Kind("mean, of runs of 200 jobs each", float(np.exp(1.125)), _of_jobs),
    Kind(
        "mean, lognormal 0.5", float(np.exp(0.125)),
        lambda random, shape: (random.lognormal(0.0, 0.5, shape), None),
    ),
    Kind(
        "mean, lognormal 1", float(np.exp(0.5)),
        lambda random, shape: (random.lognormal(0.0, 1.0, shape), None),
    ),
    Kind(
        "mean, lognormal 1.5", float(np.exp(1.125)),
        lambda random, shape: (random.lognormal(0.0, 1.5, shape), None),
    ),
    Kind("mean, exponential", 1.0, lambda random, shape: (random.exponential(1.0, shape), None)),
    Kind(
        "mean, Weibull 0.7", math.gamma(1 + 1 / 0.7),
        lambda random, shape: (random.weibull(0.7, shape), None),
    ),
    Kind("mean, uniform", 0.5, lambda random, shape: (random.random(shape), None)),
    Kind("mean, Pareto 3", 1.5, lambda random, shape: (1.0 + random.pareto(3.0, shape), None)),
    Kind(
        "mean, one in ten an outlier", 1.4, _with_outliers,
    ),
    Kind("paired difference, normal", -0.2, _difference(_normal_pairs)),
    Kind("paired difference, lognormal", -0.2, _difference(_skewed_pairs)),
    Kind("ratio of means, normal", 0.8, _normal_pairs),
    Kind("ratio of means, lognormal", 0.8, _skewed_pairs),
)  # fmt: skip


@dataclass(frozen=True)
class Coverage:
    """How often the intervals of a kind of experiment held the truth, and how wide they were."""

    held: float
    too_low: float
    too_high: float
    width: float


def coverage(
    kind: Kind,
    num: int,
    method: str,
    *,
    experiments: int,
    num_resamples: int = 1_999,
    seed: int = 1,
) -> Coverage:
    """Count the experiments of ``num`` values whose interval by ``method`` holds the truth."""
    random = np.random.default_rng([seed, num])
    below = above = 0
    widths: list[Float64] = []
    for start in range(0, experiments, _BATCH):
        values, base = kind.draw(random, (min(_BATCH, experiments - start), num))
        draws = seed + start
        if base is None:
            found = mean_limits(values, method, LEVEL, num_resamples, draws)
        else:
            found = ratio_limits(values, base, method, LEVEL, num_resamples, draws)
        below += int((found.high < kind.truth).sum())
        above += int((found.low > kind.truth).sum())
        widths.append(found.high - found.low)
    held = 1.0 - (below + above) / experiments
    middle = float(np.median(np.concatenate(widths)))
    return Coverage(held, below / experiments, above / experiments, middle)


def table(
    experiments: int, kinds: tuple[Kind, ...] = KINDS, nums: tuple[int, ...] = NUMS
) -> Section:
    """Count them all; cells outside of 93-97 % are marked."""
    rows = list(_rows(experiments, kinds, nums))
    columns = ("experiment", "seeds", "default", *METHODS, "width of the default / t")
    return Section(
        title="Coverage of 95 % intervals",
        method=(
            f"{experiments:,} experiments each; in brackets what is outside of "
            f"{LOW:.0%} to {HIGH:.0%}. The standard error of a cell is "
            f"{100 * np.sqrt(0.95 * 0.05 / experiments):.2f} points."
        ),
        columns=columns,
        rows=rows,
    )


def _rows(
    experiments: int, kinds: tuple[Kind, ...], nums: tuple[int, ...]
) -> Iterator[tuple[str, ...]]:
    for kind in kinds:
        for num in nums:
            found = {
                method: coverage(kind, num, method, experiments=experiments) for method in METHODS
            }
            default = found[usable(DEFAULT, num)]
            cells = [_cell(one.held) for one in (default, *found.values())]
            row = (kind.name, str(num), *cells, f"{default.width / found['t'].width:.2f}")
            print(*row, sep=" | ", flush=True)
            yield row


def _cell(share: float) -> str:
    text = f"{100 * share:.1f}"
    return text if LOW <= share <= HIGH else f"({text})"


def main() -> None:
    """Count, print, and keep the table if a file is named."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--experiments", type=int, default=10_000)
    parser.add_argument("--markdown", type=Path)
    given = parser.parse_args()
    line = f"gpusched {gs.__version__} on {machine()}"
    made = table(given.experiments)
    if given.markdown is not None:
        given.markdown.write_text(f"{line}\n\n{made.markdown()}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
