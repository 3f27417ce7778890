"""A fidelity as a person reads it: lines of text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from gpusched.base.wording import duration, plural
from gpusched.studies.fidelity.likeness import PERCENTS, Likeness
from gpusched.studies.text_columns import aligned, wrapped

if TYPE_CHECKING:
    import polars as pl

    from gpusched.studies.fidelity.base_cases import BaseCase
    from gpusched.traces.workload import Trace

MOST_CASES: Final = 12
MOST_JOBS: Final = 5


def lines(
    trace: Trace,
    cases: tuple[BaseCase, ...],
    peak_gpus: int,
    jobs: pl.DataFrame,
    remarks: Sequence[str],
) -> list[str]:
    """Return the text of a fidelity.

    Parameters
    ----------
    trace, cases, peak_gpus, remarks
        As of :class:`~gpusched.studies.fidelity.fidelity_result.Fidelity`.
    jobs
        Those compared, the farthest first.
    """
    best, like = cases[0], cases[0].likeness
    said = [
        f"{trace.name}: {plural(len(trace), 'job')}; at most {peak_gpus:,} GPUs in use at once by "
        "its own starts",
        f"nearest: {best.name} ({best.cluster.num_gpus:,} GPUs)",
        *_as_near(cases),
        *wrapped(f"grade {best.grade}"),
        "",
        *aligned(_cases(cases[:MOST_CASES]), texts=3),
    ]
    hidden = len(cases) - MOST_CASES
    said += [f"and {plural(hidden, 'base case')} farther off"] if hidden > 0 else []
    said += ["", *aligned(_quantiles(like)), "", *_in_use(like), *_unexplained(like)]
    said += ["", *aligned(_jobs(jobs)), ""]
    return [*said, *(line for remark in remarks for line in wrapped(remark))]


def _as_near(cases: tuple[BaseCase, ...]) -> list[str]:
    others = [case.name for case in cases[1:] if case.likeness == cases[0].likeness]
    return wrapped(f"just as near: {'; '.join(others)}") if others else []


def _cases(cases: tuple[BaseCase, ...]) -> list[list[str]]:
    rows = [
        [
            "grade",
            "policy",
            "placement",
            "servers",
            "KS",
            "rank",
            "tau",
            "mean wait",
            "alloc.",
            "far",
        ]
    ]
    for case in cases:
        like = case.likeness
        mark = " †" if case.clairvoyant else ""
        rows.append(
            [
                case.grade.letter,
                f"{case.policy}{mark}",
                f"{case.placement}{' =' if case.same_as else ''}",
                f"{case.cluster.num_servers:,}",
                f"{like.ks:.3f}",
                f"{like.rank_correlation:.2f}",
                f"{like.kendall_tau:.2f}",
                duration(like.mean_wait_s),
                f"{100 * like.allocation_error:.1f} %",
                f"{like.distance:.3f}",
            ]
        )
    return rows


def _quantiles(like: Likeness) -> list[list[str]]:
    names = [f"p{percent}" if percent < 100 else "max" for percent in PERCENTS]
    own = map(duration, like.own_wait_quantiles_s)
    simulated = map(duration, like.wait_quantiles_s)
    return [
        ["wait", "mean", *names],
        ["trace", duration(like.own_mean_wait_s), *own],
        ["nearest", duration(like.mean_wait_s), *simulated],
    ]


def _in_use(like: Likeness) -> list[str]:
    return wrapped(
        f"GPUs in use: {like.own_mean_gpus_in_use:,.1f} on average in the trace, "
        f"{like.mean_gpus_in_use:,.1f} simulated; off by {100 * like.allocation_error:.1f} % of "
        "that at any time, on average"
    )


def _unexplained(like: Likeness) -> list[str]:
    return wrapped(
        f"left unexplained: {100 * like.unexplained:.0f} % of the GPU time spent waiting, in the "
        "trace or simulated, is not in both"
    )


def _jobs(jobs: pl.DataFrame) -> list[list[str]]:
    rows = [["waits that differ most: job", "row", "submitted", "GPUs", "trace", "nearest"]]
    for job in jobs.head(MOST_JOBS).iter_rows(named=True):
        wait_s = job["wait_s"]
        rows.append(
            [
                str(job["id"]),
                str(job["row"]),
                duration(job["submit_s"]),
                f"{job['gpus']:,}",
                duration(job["own_wait_s"]),
                "never" if wait_s is None else duration(wait_s),
            ]
        )
    return rows
