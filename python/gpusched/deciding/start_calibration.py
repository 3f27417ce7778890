"""Whether forecasts of starts come true, on weeks of a trace that they have not seen.

    python -m gpusched.deciding.start_calibration TRACE [--servers 64] [--policy fifo] [--weeks 2]

A policy is simulated on the whole trace. In its last weeks, at instants drawn at random, jobs that
wait there are drawn, and :func:`gpusched.deciding.when` is asked when they start, by the jobs that
have finished until then. What then happens in the simulation, with all jobs that come later, is
the truth. Of forecasts that are calibrated, a share of q of the jobs has started by their quantile
q.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import numpy as np

from gpusched.base.arrays import Float64
from gpusched.base.draws import generator
from gpusched.base.run_warning import unwarned
from gpusched.base.ticks import US_PER_S
from gpusched.base.wording import duration
from gpusched.deciding.starting import QUANTILES, when
from gpusched.engine.open_run import Simulation
from gpusched.engine.simulation import simulate
from gpusched.traces.cluster_sizing import smallest_cluster
from gpusched.traces.reading import read_trace

if TYPE_CHECKING:
    from gpusched.clusters.cluster import Cluster
    from gpusched.traces.workload import Trace

_WEEK_S: Final = 7 * 86_400.0


@dataclass(frozen=True, eq=False)
class StartCalibration:
    """How often what was forecast came true.

    Attributes
    ----------
    quantiles
        That were forecast.
    wait_s
        float64 seconds, one per question: how long the job still waited; infinite where it never
        started.
    forecast_s
        float64[questions, quantiles]: how long it would still wait, by each quantile.
    """

    quantiles: tuple[float, ...]
    wait_s: Float64 = field(repr=False)
    forecast_s: Float64 = field(repr=False)

    @property
    def share(self) -> Float64:
        """In which share of the questions the job had started by each quantile."""
        found: Float64 = (self.wait_s[:, None] <= self.forecast_s).mean(axis=0)
        return found

    @property
    def share_within(self) -> float:
        """In which share the start lay between the first and the last quantile, both included."""
        first, last = self.forecast_s[:, 0], self.forecast_s[:, -1]
        return float(((self.wait_s >= first) & (self.wait_s <= last)).mean())

    @property
    def median_error_s(self) -> float:
        """The median of the absolute errors of the median forecast, seconds."""
        middle = self.forecast_s[:, self.quantiles.index(0.5)]
        return float(np.median(np.abs(middle - self.wait_s)))

    def __str__(self) -> str:
        told = [f"{len(self.wait_s)} questions; median wait {duration(np.median(self.wait_s))}"]
        told += [
            f"started by the {100 * part:g} % quantile: {found:.0%}"
            for part, found in zip(self.quantiles, self.share, strict=True)
        ]
        told.append(f"between the outer two: {self.share_within:.0%}")
        told.append(f"median error of the median: {duration(self.median_error_s)}")
        return "\n".join(told)


def calibrate_starts(
    trace: Trace,
    cluster: Cluster,
    policy: str = "fifo",
    *,
    weeks: float = 2.0,
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
    at_s = np.sort(draw.uniform(max(0.0, end_s - weeks * _WEEK_S), end_s, questions))
    with unwarned():
        start_us = np.asarray(simulate(trace, cluster, policy=policy).schedule.start_us)
        run = Simulation(trace, cluster, policy=policy)
        waits: list[float] = []
        forecasts: list[Float64] = []
        for number, time_s in enumerate(at_s.tolist()):
            run.run_until(max(time_s, run.now))
            waiting = run.state.waiting
            if not len(waiting):
                continue
            job = int(draw.choice(waiting))
            found = when(job, run, samples=samples, alternatives=False, seed=seed + number)
            waits.append(start_us[job] / US_PER_S - run.now if start_us[job] >= 0 else np.inf)
            forecasts.append(found.quantile_s - run.now)
    if not waits:
        raise ValueError(f"{trace.name}: nobody waits under {policy}; use fewer servers")
    return StartCalibration(QUANTILES, np.array(waits), np.stack(forecasts))


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the calibration of a trace."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("trace")
    parser.add_argument("--servers", type=int, help="of 8 GPUs; default: for a load of 0.9")
    parser.add_argument("--policy", default="fifo")
    parser.add_argument("--weeks", type=float, default=2.0)
    parser.add_argument("--questions", type=int, default=200)
    parser.add_argument("--samples", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args(arguments)
    from gpusched.clusters.cluster import Cluster

    trace = read_trace(given.trace)
    cluster = (
        smallest_cluster(trace) if given.servers is None else Cluster.uniform(given.servers, 8)
    )
    print(f"{trace.name}, {cluster.num_servers} servers, {given.policy}")
    found = calibrate_starts(
        trace, cluster, given.policy, weeks=given.weeks, questions=given.questions,
        samples=given.samples, seed=given.seed,
    )  # fmt: skip
    print(found)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
