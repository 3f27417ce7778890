"""Whether forecasts of starts come true, on weeks of a trace that they have not seen.

    python -m gpusched.deciding.start_calibration TRACE... [--servers 64] [--policy fifo]
        [--weeks 4] [--before 3]

A policy is simulated on the whole trace. In its last weeks, at instants drawn at random, jobs that
wait there are drawn, and :func:`gpusched.when` is asked when they start, by what is known until
then. What then happens in the simulation, with all jobs that come later, is the truth. Of forecasts
that are calibrated, a share of q of the jobs has started by their quantile q. The last ``--weeks``
are held out: each is forecast once more, corrected by the questions that were asked before it began
and by what was known of their answers at that time.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

import numpy as np

from gpusched.base.arrays import Float64
from gpusched.base.draws import generator
from gpusched.base.run_warning import unwarned
from gpusched.base.ticks import US_PER_S
from gpusched.base.wording import duration
from gpusched.clusters.cluster import Cluster
from gpusched.deciding.start_forecast import WEEK_S, StartCalibration
from gpusched.deciding.starting import QUANTILES, when
from gpusched.engine.open_run import Simulation
from gpusched.engine.simulation import simulate
from gpusched.traces.cluster_sizing import smallest_cluster
from gpusched.traces.reading import read_trace
from gpusched.traces.workload import Trace


def calibrate_starts(
    trace: Trace,
    cluster: Cluster,
    policy: str = "fifo",
    *,
    weeks: float = 4.0,
    questions: int = 200,
    samples: int = 200,
    seed: int = 0,
) -> StartCalibration:
    """Ask when jobs start in the last weeks of a trace, and compare with its simulation.

    Raises
    ------
    ValueError
        If no job waits at any of the instants, or as of :func:`gpusched.deciding.when`.
    """
    draw = generator(seed)
    end_s = float(trace.submit_s[-1])
    at_s = np.sort(draw.uniform(max(0.0, end_s - weeks * WEEK_S), end_s, questions))
    with unwarned():
        start_us = np.asarray(simulate(trace, cluster, policy=policy).schedule.start_us)
        run = Simulation(trace, cluster, policy=policy)
        asked: list[float] = []
        waits: list[float] = []
        forecasts: list[Float64] = []
        for number, time_s in enumerate(at_s.tolist()):
            run.run_until(max(time_s, run.now))
            waiting = run.state.waiting
            if not len(waiting):
                continue
            job = int(draw.choice(waiting))
            found = when(job, run, samples=samples, alternatives=False, seed=seed + number)
            asked.append(run.now)
            waits.append(start_us[job] / US_PER_S - run.now if start_us[job] >= 0 else np.inf)
            forecasts.append(found.quantile_s - run.now)
    if not waits:
        raise ValueError(f"{trace.name}: nobody waits under {policy}; use fewer servers")
    return StartCalibration(QUANTILES, np.array(asked), np.array(waits), np.stack(forecasts))


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
    print("| trace | servers | policy | questions | median wait | 5-95 %, drawn | corrected |")
    print("|---|--:|---|--:|--:|--:|--:|")
    for policy in given.policy or ["fifo"]:
        found = []
        for path in given.traces:
            trace = read_trace(path)
            cluster = smallest_cluster(trace)
            if given.servers is not None:
                cluster = Cluster.uniform(given.servers, 8)
            asked = calibrate_starts(
                trace, cluster, policy, weeks=given.weeks + given.before,
                questions=given.questions, samples=given.samples, seed=given.seed,
            )  # fmt: skip
            found.append(asked.held_out(given.weeks))
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
