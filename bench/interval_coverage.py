"""How often intervals hold the truth, for few seeds: of synthetic values, and of stored runs.

The runs, ``coverage_runs.parquet``, are 500 seeds of four policies on 16 servers of 8 GPUs: 5,000
jobs of ``generate(model=1)`` at load 0.8, all of them or those of 8 GPUs at most, after a day of
warm-up; ``--runs FILE`` makes them again. Samples are drawn from them with replacement, so that
what is typical of all 500 is the truth.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import polars as pl

import gpusched as gs
from bench.measure import machine
from bench.table import Section
from gpusched.base.arrays import Float64

NUMS: Final = (3, 5, 6, 10, 12, 20)
RUNS: Final = Path(__file__).with_name("coverage_runs.parquet")
BASE: Final = "fifo-skip"
_ERROR: Final = 0.02

Draw = Callable[[np.random.Generator, int], tuple[Float64, Float64]]


@dataclass(frozen=True)
class Kind:
    """Experiments of one kind: pairs of values and baselines, and the typical ratio of all pairs.

    A baseline of ones makes the ratio that of a typical run.
    """

    name: str
    truth: float
    draw: Draw
    is_paired: bool = True


@dataclass(frozen=True)
class Coverage:
    """How often intervals contained the true value, and p was at most 5% under random labels.

    Attributes
    ----------
    level
        What an interval says to reach.
    width
        The median of the upper over the lower limit.
    """

    level: float
    held: float
    false: float
    width: float


def _alone(draw: Callable[[np.random.Generator, int], Float64]) -> Draw:
    return lambda random, num: (draw(random, num), np.ones(num))


def _lognormal(sigma: float) -> Draw:
    return _alone(lambda random, num: random.lognormal(0.0, sigma, num))


def _pairs(random: np.random.Generator, num: int) -> tuple[Float64, Float64]:
    common = random.lognormal(0.0, 1.0, num)
    return 0.8 * common * random.lognormal(0, 0.3, num), common * random.lognormal(0, 0.3, num)


def _heavy_pairs(random: np.random.Generator, num: int) -> tuple[Float64, Float64]:
    return 0.8 * (1.0 + random.pareto(2.5, num)), 1.0 + random.pareto(2.5, num)


SYNTHETIC: Final = (
    Kind("typical, lognormal 0.5", 1.0, _lognormal(0.5), is_paired=False),
    Kind("typical, lognormal 1.5", 1.0, _lognormal(1.5), is_paired=False),
    # Logarithms of Pareto's values are exponential: the median of the mean of two is 0.8392.
    Kind(
        "typical, Pareto 2.5", math.exp(0.8392 / 2.5),
        _alone(lambda random, num: 1.0 + random.pareto(2.5, num)), is_paired=False,
    ),
    Kind("ratio, lognormal", 0.8, _pairs),
    Kind("ratio, Pareto 2.5", 0.8, _heavy_pairs),
)  # fmt: skip


def make_runs(seeds: int = 500) -> pl.DataFrame:
    """Do the runs that are stored."""
    cluster, rows = gs.Cluster.uniform(16, 8), []
    for seed in range(1, seeds + 1):
        every = gs.generate("philly", 5_000, load=0.8, cluster=cluster, seed=seed, model=1)
        narrow = every.filter("gpus <= 8").with_load(0.8, cluster.num_gpus)
        for workload, trace in (("narrow", narrow), ("all widths", every)):
            for policy in (BASE, "sjf", "srtf", "2d-las"):
                found = gs.simulate(trace, cluster, policy=policy).summary(warm_up_s=86_400)
                rows.append((workload, policy, seed, found["mean_jct_s"], found["p99_jct_s"]))
    types = {"seed": pl.Int16, "mean_jct_s": pl.Float32, "p99_jct_s": pl.Float32}
    names = ("workload", "policy", *types)
    order = pl.col("workload").eq("all widths")
    return pl.DataFrame(rows, names, orient="row").cast(types).sort(order, maintain_order=True)


def real_kinds() -> Iterator[Kind]:
    """Ratios to ``fifo-skip`` and typical runs of it, on the stored workloads."""
    runs = pl.read_parquet(RUNS)
    for (workload,), own in runs.group_by("workload", maintain_order=True):
        for metric in ("mean_jct_s", "p99_jct_s"):
            wide = own.pivot("policy", index="seed", values=metric).cast(pl.Float64)
            base = wide[BASE].to_numpy()
            label = gs.metrics()[metric].label
            ones = np.ones(len(base))
            yield _of_population(
                f"{workload}: typical {label}, {BASE}", base, ones, is_paired=False
            )
            for policy in ("sjf", "srtf", "2d-las"):
                name = f"{workload}: ratio of {label}, {policy} to {BASE}"
                yield _of_population(name, wide[policy].to_numpy(), base, is_paired=True)


def _of_population(name: str, values: Float64, base: Float64, *, is_paired: bool) -> Kind:
    def draw(random: np.random.Generator, num: int) -> tuple[Float64, Float64]:
        drawn = random.integers(0, len(values), num)
        return values[drawn], base[drawn]

    return Kind(name, gs.studies.ratio(values, base).value, draw, is_paired)


def coverage(kind: Kind, num: int, *, experiments: int, seed: int = 1) -> Coverage:
    """Count the experiments of ``num`` pairs whose interval contains the true value."""
    random = np.random.default_rng([seed, num])
    held = false = 0
    widths, level = [], math.nan
    for _ in range(experiments):
        values, base = kind.draw(random, num)
        found = gs.studies.ratio(values, base)
        held += found.low <= kind.truth * (1 + 1e-12) and found.high >= kind.truth * (1 - 1e-12)
        widths.append(found.high / found.low)
        level = found.level
        if kind.is_paired:
            swapped = random.random(num) < 0.5
            one, other = np.where(swapped, base, values), np.where(swapped, values, base)
            false += gs.studies.ratio(one, other).p <= 0.05
    wrong = false / experiments if kind.is_paired else math.nan
    return Coverage(level, held / experiments, wrong, float(np.median(widths)))


def table(experiments: int, kinds: tuple[Kind, ...], nums: tuple[int, ...] = NUMS) -> Section:
    """Count them all; what lies more than two points below its level is marked."""
    return Section(
        title="Coverage of intervals",
        method=(
            f"{experiments:,} experiments each. Held: percent of the intervals that hold the "
            "truth, in brackets if that is more than 2 points below what they reach. False: "
            "percent of the experiments with p of at most 0.05 where the labels of each pair were "
            "drawn by lot. The standard error of a cell is "
            f"{100 * math.sqrt(0.0475 / experiments):.1f} points."
        ),
        columns=("experiment", "seeds", "reaches", "held", "false", "upper / lower limit"),
        rows=list(_rows(experiments, kinds, nums)),
    )


def _rows(
    experiments: int, kinds: tuple[Kind, ...], nums: tuple[int, ...]
) -> Iterator[tuple[str, ...]]:
    for kind in kinds:
        for num in nums:
            found = coverage(kind, num, experiments=experiments)
            held = f"{100 * found.held:.1f}"
            row = (
                kind.name,
                str(num),
                f"{100 * found.level:.1f}",
                held if found.held >= found.level - _ERROR else f"({held})",
                "-" if math.isnan(found.false) else f"{100 * found.false:.1f}",
                f"{found.width:.2f}",
            )
            print(*row, sep=" | ", flush=True)
            yield row


def recommended(experiments: int, num: int = 12, seed: int = 1) -> Section:
    """Count what is called best, or a certain gain, where the labels are drawn by lot."""
    from gpusched.studies.verdicts import not_beaten

    random, rows = np.random.default_rng(seed), []
    for (workload,), own in pl.read_parquet(RUNS).group_by("workload", maintain_order=True):
        for metric in ("mean_jct_s", "p99_jct_s"):
            wide = own.pivot("policy", index="seed", values=metric).drop("seed").cast(pl.Float64)
            every, best, beaten, gain = wide.to_numpy(), 0, 0, 0
            for _ in range(experiments):
                drawn = random.permuted(every[random.integers(0, len(every), num)], axis=1)
                left = not_beaten(dict(zip(wide.columns, drawn.T, strict=True)))
                best, beaten = best + (len(left) == 1), beaten + (len(left) < len(wide.columns))
                gain += gs.studies.ratio(drawn[:, 1], drawn[:, 0]).high < 1
            name = f"{workload}: {gs.metrics()[metric].label}, {len(wide.columns)} policies"
            shares = (f"{100 * count / experiments:.2f}" for count in (best, beaten, gain))
            rows.append((name, str(num), *shares))
            print(*rows[-1], sep=" | ", flush=True)
    return Section(
        title="Recommendations of noise",
        method=f"{experiments:,} experiments each; the labels of each seed are drawn by lot. "
        "Percent of the experiments in which one policy is called best, any is called beaten, and "
        "a search would recommend what it found (the whole interval of one ratio below 1).",
        columns=("runs", "seeds", "one best", "any beaten", "a gain"),
        rows=rows,
    )


def main() -> None:
    """Count, print, and keep the table if a file is named."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--experiments", type=int, default=2_000)
    parser.add_argument("--markdown", type=Path)
    parser.add_argument("--noise", action="store_true", help="only what noise recommends")
    parser.add_argument("--runs", type=Path, help="repeat the stored runs, without a table")
    given = parser.parse_args()
    if given.runs is not None:
        make_runs().write_parquet(given.runs)
        return
    line = f"gpusched {gs.__version__} on {machine()}"
    made = (
        recommended(given.experiments)
        if given.noise
        else table(given.experiments, (*SYNTHETIC, *real_kinds()))
    )
    if given.markdown is not None:
        given.markdown.write_text(f"{line}\n\n{made.markdown()}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
