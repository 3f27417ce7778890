"""Jobs that checkpoint under exponential failures, against closed forms (Young 1974, Daly 2006)."""

import math
from functools import cache

import numpy as np
import pytest

import gpusched as gs

MINUTE = 60
ONE_SERVER = gs.Cluster.uniform(servers=1, gpus=1)


@cache
def failures(seed, mtbf, down, until):
    return gs.generate_outages(
        ONE_SERVER, until_s=until * MINUTE, mtbf_s=mtbf * MINUTE, repair_s=max(down * MINUTE, 1e-6),
        seed=seed,
    )  # fmt: skip


def times_min(seeds, expected, *, work, every, write, mtbf, restart=0.0, down=0.0):
    """Return the time to finish alone, for each seed; all in minutes. It is about ``expected``."""
    trace = gs.Trace.from_columns(
        [0], [work * MINUTE], [1], checkpoint_every_s=[every * MINUTE],
        checkpoint_write_s=[write * MINUTE], restart_s=[restart * MINUTE],
    )  # fmt: skip
    found = []
    for seed in seeds:
        outages = failures(seed, mtbf, down, 1.5 * expected)
        run = gs.simulate(trace, ONE_SERVER, policy="fifo", outages=outages)
        found.append(run.schedule.finish_us[0] / (MINUTE * 1e6))
    return np.array(found)


def mean_min(*, work, every, write, mtbf, restart=0.0, down=0.0):
    """Return the mean of that time: a segment ends with a write, but for the last one."""
    segments = math.ceil(work / every)
    lengths = [every + write] * (segments - 1) + [work - every * (segments - 1)]
    rates = [math.expm1(length / mtbf) for length in lengths]
    return math.exp(restart / mtbf) * (mtbf + down) * math.fsum(rates)


@pytest.mark.parametrize(
    ("num_seeds", "case", "known_min"),
    [
        (
            150,
            {"work": 600, "every": 60, "write": 6, "mtbf": 120, "restart": 12, "down": 30},
            1201.54,
        ),
        pytest.param(
            150,
            {"work": 30_000, "every": 117, "write": 5, "mtbf": 1440, "restart": 10},
            32_869.47,
            marks=pytest.mark.long,
        ),
        pytest.param(
            6,
            {"work": 30_000, "every": 9, "write": 5, "mtbf": 15, "restart": 10},
            150_256.36,
            marks=pytest.mark.long,
        ),
    ],
    ids=["every hour", "every 117 min", "every 9 min"],
)
def test_a_lone_job_takes_the_time_of_the_closed_form(num_seeds, case, known_min):
    expected = mean_min(**case)
    assert expected == pytest.approx(known_min, abs=0.01)
    times = times_min(range(num_seeds), max(2 * expected, 10_000), **case)
    error = times.std(ddof=1) / math.sqrt(num_seeds)
    from scipy.stats import t as student

    assert abs(times.mean() - expected) < student.ppf(0.9995, num_seeds - 1) * error
    assert error < 0.05 * expected


@pytest.mark.long
@pytest.mark.parametrize(("mtbf", "known_min"), [(1440.0, 116.69), (360.0, 56.713)])
def test_the_best_interval_is_that_of_daly(mtbf, known_min):
    write, work = 5.0, 3e6
    ratio = write / (2 * mtbf)
    best = math.sqrt(2 * write * mtbf) * (1 + math.sqrt(ratio) / 3 + ratio / 9) - write
    assert best == pytest.approx(known_min, abs=0.01)
    # The same failures at each interval: its differences are known better than its values.
    shifts = np.linspace(-0.5, 0.5, 9)
    means = [
        times_min(
            range(6), work, work=work, every=best * math.exp(shift), write=write, mtbf=mtbf
        ).mean()
        for shift in shifts
    ]
    fitted = np.polynomial.Polynomial.fit(shifts, means, 4)
    fine = np.linspace(-0.3, 0.3, 6001)
    assert abs(fine[np.argmin(fitted(fine))]) < 0.02
