"""Measure the coverage of start forecasts, on unseen weeks of a trace.

    python -m bench.start_calibration TRACE... [--servers 64] [--policy fifo] [--weeks 4]

A policy is simulated on the whole trace. In its last weeks, at instants drawn at random, jobs that
wait there are drawn, and :func:`gpusched.when` is asked when they start, by what is known until
then. What then happens in the simulation, with all jobs that come later, is the truth. Of forecasts
that are calibrated, a share of q of the jobs has started by their quantile q. The last ``--weeks``
are held out: each is forecast once more, corrected by the questions that were asked before it began
and by what was known of their answers at that time.
"""

from __future__ import annotations

import argparse
import dataclasses
import math
from collections.abc import Sequence

import numpy as np

import gpusched as gs
from gpusched.base.wording import duration
from gpusched.online.starting import (
    LEAST_QUESTIONS,
    StartCalibration,
    calibrate_starts,
    stretched,
)
from gpusched.traces import smallest_cluster

WEEK_S = 7 * 86_400.0


def held_out(asked: StartCalibration, weeks: float) -> tuple[StartCalibration, StartCalibration]:
    """Return the questions of the last weeks: as forecast, and corrected week by week.

    Each week is corrected by the questions before it and what was known of their answers when
    it began. The first week that has too few before it is left out.
    """
    begin_s = float(asked.asked_s[-1]) - weeks * WEEK_S
    week = np.floor((asked.asked_s - begin_s) / WEEK_S).astype(np.int64)
    week = np.minimum(week, math.ceil(weeks) - 1)
    num_before = np.searchsorted(week, week)
    rows = np.flatnonzero((week >= 0) & (num_before >= LEAST_QUESTIONS))
    if not len(rows):
        raise ValueError("weeks: no question is asked in a week with enough before it")
    factors = {each: asked.factors(begin_s + each * WEEK_S) for each in np.unique(week[rows])}
    by_row = np.stack([factors[each] for each in week[rows]])
    raw = dataclasses.replace(
        asked,
        asked_s=asked.asked_s[rows],
        wait_s=asked.wait_s[rows],
        forecast_s=asked.forecast_s[rows],
    )
    return raw, dataclasses.replace(raw, forecast_s=stretched(raw.forecast_s, by_row))


def main(arguments: Sequence[str] | None = None) -> int:
    """Print a row of a table for each trace and policy, and one for each policy."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("traces", nargs="+", metavar="TRACE")
    parser.add_argument("--servers", type=int, help="of 8 GPUs; default: for a load of 0.9")
    parser.add_argument("--policy", action="append", help="may be repeated; default: fifo")
    parser.add_argument("--weeks", type=float, default=4.0, help="that are held out")
    parser.add_argument("--before", type=float, default=3.0, help="weeks of questions before these")
    parser.add_argument("--questions", type=int, default=200)
    parser.add_argument("--samples", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args(arguments)
    print("| trace | servers | policy | questions | median wait | 5-95%, drawn | corrected |")
    print("|---|--:|---|--:|--:|--:|--:|")
    for policy in given.policy or ["fifo"]:
        found = []
        for path in given.traces:
            trace = gs.read_trace(path)
            cluster = smallest_cluster(trace)
            if given.servers is not None:
                cluster = gs.Cluster.uniform(given.servers, 8)
            asked = calibrate_starts(
                trace, cluster, policy, weeks=given.weeks + given.before,
                questions=given.questions, samples=given.samples, seed=given.seed,
            )  # fmt: skip
            found.append(held_out(asked, given.weeks))
            print(_row(trace.name, str(cluster.num_servers), policy, *found[-1]), flush=True)
        if len(found) > 1:
            print(_row("all", "", policy, *(_joined(each) for each in zip(*found, strict=True))))
    return 0


def _row(
    name: str, servers: str, policy: str, raw: StartCalibration, made: StartCalibration
) -> str:
    wait = duration(float(np.median(raw.wait_s)))
    shares = f"{raw.share_within:.0%} | {made.share_within:.0%}"
    return f"| {name} | {servers} | `{policy}` | {len(raw.wait_s)} | {wait} | {shares} |"


def _joined(parts: Sequence[StartCalibration]) -> StartCalibration:
    names = ("asked_s", "wait_s", "forecast_s")
    columns = {name: np.concatenate([getattr(each, name) for each in parts]) for name in names}
    return StartCalibration(parts[0].quantiles, **columns)


if __name__ == "__main__":
    raise SystemExit(main())
