"""A-SRPT after Luo et al. (INFOCOM 2025): its gain over baselines on the same predictions.

Generated jobs, and those of real traces, get graphs of the zoo and run on servers of equal GPUs.
In the run of a-srpt-by-work a forest learns online; what it predicts is what all others are told.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from typing import Any, Final, Self

import numpy as np
from numpy.typing import NDArray

import gpusched as gs
from gpusched.base.real_data import find_data, need_data
from gpusched.generator import assign_graphs
from gpusched.prediction import predictor
from gpusched.reporting.text_table import Table, figure_of, percent_of, table
from gpusched_papers.claims import Comparison, beside, published_of, verdicts, with_all
from gpusched_papers.drawing import Panel, bars, curves
from gpusched_papers.study import (
    US_PER_S,
    Column,
    Float64,
    Row,
    Runs,
    Stage,
    Study,
    by_pair,
    run_study,
    simulate,
    stages_of,
    tasks_by_seed,
    with_left_out,
)

PUBLISHED: Final = published_of("a_srpt")
_GAIN: Final = PUBLISHED.claim("gain")
_NAMES: Final = ("spjf", "spwf", "wcs-duration", "wcs-workload", "wcs-subtime")
"""Names that others give for the baselines of the paper; their rules are as we read the names."""

PCIE_GBPS: Final = 96.0  # 12 GB/s
NVLINK_GBPS: Final = 2400.0  # 300 GB/s
FOREST: Final = "forest:trees=20,new_share=0.2,batch_jobs=20"
FIRST_SEED: Final = 1000
"""Policies and options were chosen on the seeds 0 to 7; all that is told is of seeds from here."""
LOADS: Final = (0.6, 0.8, 0.95)
HEAVY_SHARES: Final = (0.0, 0.25, 0.5, 0.75, 1.0)
TAUS: Final = (0.0, 0.25, 1.0, 4.0, 16.0, 64.0)
NOISES: Final = (0.25, 0.5, 1.0, 1.5, 2.0)
MAX_GPUS: Final = 32


@dataclass(frozen=True)
class Place:
    """A cluster, and as many jobs as make it busy for long.

    Attributes
    ----------
    trace
        File of a real trace below the data folder; empty: generated.
    profile
        What generated jobs are like.
    """

    name: str
    servers: int
    gpus: int
    nic_gbps: float
    intra_gbps: float
    jobs: int
    trace: str = ""
    profile: str = "itp"

    def cluster(self) -> gs.Cluster:
        """Return the servers."""
        return gs.Cluster.uniform(
            servers=self.servers,
            gpus=self.gpus,
            nic_gbps=self.nic_gbps,
            intra_gbps=self.intra_gbps,
        )


TESTBED: Final = Place("8 x 4, 10 Gbit/s, PCIe", 8, 4, 10.0, PCIE_GBPS, 2_000)
LARGE: Final = Place("64 x 8, 25 Gbit/s, NVLink", 64, 8, 25.0, NVLINK_GBPS, 5_000)
OTHERS: Final = (
    Place("64 x 8, 100 Gbit/s, NVLink", 64, 8, 100.0, NVLINK_GBPS, 5_000),
    Place("64 x 8, 25 Gbit/s, PCIe", 64, 8, 25.0, PCIE_GBPS, 5_000),
    Place("64 x 8, 100 Gbit/s, PCIe", 64, 8, 100.0, PCIE_GBPS, 5_000),
    Place("125 x 8, 25 Gbit/s, NVLink", 125, 8, 25.0, NVLINK_GBPS, 8_000),
    Place("250 x 8, 25 Gbit/s, NVLink", 250, 8, 25.0, NVLINK_GBPS, 12_000),
)
PROFILES: Final = tuple(
    replace(place, name=f"{place.name}, {profile} jobs", profile=profile)
    for place in (TESTBED, LARGE)
    for profile in ("philly", "helios", "pai")
)
REAL: Final = (
    Place("ITP 02 on 12 x 8", 12, 8, 25.0, NVLINK_GBPS, 0, "itp/cluster02.csv"),
    Place("ITP 03 on 19 x 8", 19, 8, 25.0, NVLINK_GBPS, 0, "itp/cluster03.csv"),
    Place("ITP 06 on 12 x 8", 12, 8, 25.0, NVLINK_GBPS, 0, "itp/cluster06.csv"),
    Place("Philly on 80 x 8", 80, 8, 25.0, NVLINK_GBPS, 12_000, "philly/philly.csv"),
)


@dataclass(frozen=True)
class Setting:
    """A place with a workload, and what the policies know of it.

    Attributes
    ----------
    load
        GPUs x run time on good placements over the GPU time until the last arrival; None: that
        of the real trace.
    heavy_share
        Of the jobs with more than one GPU; None: as the models give it.
    predictor
        ``FOREST``: one forest, trained online in the run of a-srpt-by-work, whose predictions all
        policies get. Else a predictor of its own for each run.
    """

    place: Place
    load: float | None = 0.95
    heavy_share: float | None = None
    contention: str = "reserved"
    predictor: str = FOREST
    shares_predictions: bool = True

    @property
    def title(self) -> str:
        """What a table calls it."""
        parts = [self.place.name]
        if self.load is not None:
            parts.append(f"load {self.load:g}")
        if self.heavy_share is not None:
            parts.append(f"heavy {self.heavy_share:.0%}")
        if self.contention != "reserved":
            parts.append(self.contention)
        if self.predictor != FOREST:
            parts.append(self.predictor)
        return ", ".join(parts)

    def reference(self) -> Setting:
        """The same jobs where no network is shared, and the truth is known."""
        return replace(self, contention="none", predictor="oracle")


@dataclass(frozen=True)
class Arm:
    """A policy with its placement, and what tables call it."""

    name: str
    policy: str
    placement: str = "heavy-edge"


A_SRPT: Final = Arm("a-srpt", "a-srpt")
BY_WORK: Final = Arm("a-srpt-by-work", "a-srpt-by-work")
PREEMPTIVE: Final = Arm("a-srpt-p", "a-srpt-p:cost_s=60", "consolidated")
OURS: Final = (BY_WORK, A_SRPT, PREEMPTIVE)
BASELINES: Final = tuple(Arm(name, name) for name in _NAMES)
"""With the placement of A-SRPT; what is known of them stands with the names."""
WAITING: Final = tuple(Arm(f"{name}, waiting", name, "consolidated") for name in _NAMES)
"""The same, but a gang waits until it fits on as few servers as it can: ours."""
COMPARED: Final = (*OURS, *BASELINES, *WAITING)
FIFO: Final = Arm("fifo", "fifo", "consolidated")
SRTF: Final = Arm("srtf", "srtf", "consolidated")

_CHANGES: Final = (
    ("tau=0", "heavy-edge"),
    ("idle=false", "heavy-edge"),
    ("fill=most-free", "heavy-edge"),
    ("scan=strict", "heavy-edge"),
    ("", "heavy-edge:swaps=false"),
    ("", "first-fit"),
    ("", "random"),
    ("", "consolidated"),
)
STEPS: Final = (
    Arm("a-srpt: queue=work", "a-srpt:queue=work"),
    Arm("a-srpt: wait=loss", "a-srpt:wait=loss"),
    Arm("a-srpt: queue=work, wait=loss", "a-srpt:queue=work,wait=loss"),
    Arm("a-srpt: tau=4", "a-srpt:tau=4"),
)
"""From ``a-srpt`` to ``a-srpt-by-work``."""


def ablations(base: Arm) -> tuple[Arm, ...]:
    """One thing changed at a time."""
    return tuple(_changed(base, change, placement) for change, placement in _CHANGES)


def by_tau(base: Arm, tau: float) -> Arm:
    """The same with another patience."""
    return _changed(base, f"tau={tau:g}", base.placement)


def _changed(base: Arm, change: str, placement: str) -> Arm:
    name, _, given = base.policy.partition(":")
    options = dict(part.split("=") for part in (*given.split(","), change) if part)
    values = ",".join(f"{key}={value}" for key, value in options.items())
    told = change or f"placement {placement}"
    return Arm(f"{base.name}: {told}", f"{name}:{values}".rstrip(":"), placement)


def noise(sigma: float) -> str:
    """Text of a predictor with this error; 0 is the truth."""
    return f"noise:sigma={sigma:g}" if sigma else "oracle"


def error_predictors() -> tuple[str, ...]:
    """Predictors from the truth to twice the error that matters, and two that learn."""
    return (*(noise(sigma) for sigma in (0.0, *NOISES)), "group-mean", "last-value", FOREST)


def errors_setting(place: Place, name: str) -> Setting:
    """Where every policy has a predictor of its own."""
    return Setting(place, predictor=name, shares_predictions=False)


def main_settings(quick: bool) -> list[Setting]:
    """Where all policies are compared with the same predictions of a forest."""
    places = (TESTBED, LARGE) if quick else (TESTBED, LARGE, *OTHERS)
    settings = [Setting(place) for place in places]
    if not quick:
        settings += [Setting(place) for place in PROFILES]
        settings += [Setting(place, load) for place in places[:2] for load in LOADS[:-1]]
        settings += [Setting(place, contention="shared") for place in places[:2]]
        settings += [Setting(LARGE, heavy_share=share) for share in HEAVY_SHARES]
    return settings


def requests(quick: bool, real: Iterable[Place]) -> dict[Setting, tuple[Arm, ...]]:
    """Return what is run for one seed: of each setting first whose predictions others need."""
    wanted: dict[Setting, dict[Arm, None]] = {}

    def want(setting: Setting, *arms: Arm) -> None:
        wanted.setdefault(setting, {}).update(dict.fromkeys(arms))

    for setting in main_settings(quick):
        want(setting, *COMPARED)
        want(setting.reference(), FIFO, SRTF)
    for place in () if quick else (TESTBED, LARGE):
        want(Setting(place), *STEPS)
        for base in (A_SRPT, BY_WORK):
            want(Setting(place), *ablations(base), *(by_tau(base, tau) for tau in TAUS))
        for name in error_predictors():
            want(errors_setting(place, name), *OURS, *BASELINES, WAITING[2])
    # Without users and groups there is not much to learn from: only to say how little.
    for place in real:
        if not place.jobs:
            want(Setting(place, None), BY_WORK)
    for place in real:
        for sigma in (0.0, 1.0):
            want(Setting(place, None, predictor=noise(sigma)), *COMPARED)
        want(Setting(place, None).reference(), FIFO, SRTF)
    return {setting: tuple(arms) for setting, arms in wanted.items()}


@lru_cache(maxsize=4)
def workload(place: Place, load: float | None, heavy_share: float | None, seed: int) -> gs.Trace:
    """Return jobs with graphs of the zoo; of a real trace the seed draws the graphs alone.

    Generated jobs of more than ``MAX_GPUS`` are left out.
    """
    cluster = place.cluster()
    if place.trace:
        trace = gs.read_trace(need_data(place.trace, "a-srpt"))
        if place.jobs:
            trace = trace.head(place.jobs)
    else:
        drawn = gs.generate(place.profile, place.jobs, cluster=cluster, seed=seed)
        trace = drawn.filter(drawn.gpus <= MAX_GPUS)
    if load is not None:
        trace = trace.with_load(load, cluster.num_gpus)
    return assign_graphs(trace, cluster, heavy_share=heavy_share, seed=seed)


class Recorder(gs.Predictor):
    """Passes everything on to a predictor and keeps what it predicts."""

    def __init__(self, text: str) -> None:
        self._inner = predictor(text)
        self.learns = self._inner.learns  # type: ignore[misc]
        self.counts_iterations = self._inner.counts_iterations
        self.batch_jobs = self._inner.batch_jobs

    def begin(self, trace: gs.Trace, seed: int = 0) -> None:
        """Begin with nothing predicted."""
        self.predicted_s = np.zeros(len(trace))
        self._inner.iteration_s = self.iteration_s
        self._inner.begin(trace, seed)
        self.costs = self._inner.costs

    def observe(self, jobs: NDArray[np.int64], finish_s: Float64) -> None:
        """Pass it on."""
        self._inner.observe(jobs, finish_s)

    def predict(self, jobs: NDArray[np.int64]) -> Float64:
        """Pass it on, and keep the answer."""
        self.predicted_s[jobs] = self._inner.predict(jobs)
        found: Float64 = self.predicted_s[jobs]
        return found

    @property
    def covered(self) -> NDArray[np.bool_] | None:
        """As the predictor says."""
        return self._inner.covered

    def clone(self) -> Recorder:
        """The object itself: who made it reads it after the run."""
        return self


class Recorded(gs.Predictor):
    """Predicts what was recorded in another run of the same trace."""

    learns = False

    def __init__(self, predicted_s: Float64) -> None:
        self._predicted_s = predicted_s

    def begin(self, trace: gs.Trace, seed: int = 0) -> None:
        """Nothing to prepare."""

    def predict(self, jobs: NDArray[np.int64]) -> Float64:
        """Look them up."""
        found: Float64 = self._predicted_s[jobs]
        return found


def run_arms(setting: Setting, arms: tuple[Arm, ...], seed: int) -> list[Row]:
    """Run all policies on the same jobs, first the one whose predictions the others need."""
    trace = workload(setting.place, setting.load, setting.heavy_share, seed)
    is_shared = setting.predictor.startswith("forest") and setting.shares_predictions
    recorder = Recorder(setting.predictor) if is_shared else None
    if recorder is not None and arms[0] != BY_WORK:
        raise ValueError(f"{arms[0].name}: there are no predictions of {BY_WORK.name} to take")
    made = []
    for arm in arms:
        chosen: str | gs.Predictor = setting.predictor
        if recorder is not None:
            chosen = recorder if arm == BY_WORK else Recorded(recorder.predicted_s)
        result = simulate(
            trace,
            setting.place.cluster(),
            policy=arm.policy,
            placement=arm.placement,
            predictor=chosen,
            speed="stages",
            contention=setting.contention,
            seed=seed,
        )
        made.append(_measures(setting, arm, seed, result))
    return made


def _measures(setting: Setting, arm: Arm, seed: int, result: gs.Result) -> Row:
    """Take down a run.

    ``completion_ratio``: the sum of completion times over its lower bound. ``wait_..._s``: mean
    time without GPUs of jobs of one GPU, of more but one server, of several servers.
    ``lost_to_...``: parts of the cluster's GPU time. ``bias``, ``r2_log``, ``rank_correlation``,
    ``coverage``: of the predictions; None under the truth.
    """
    summary = result.summary()
    trace, schedule = result.trace, result.schedule
    wait_s = (schedule.finish_us - trace.submit_us - schedule.held_us) / US_PER_S

    def number(key: str) -> float | None:
        value = summary.get(key)
        return None if not isinstance(value, float) or np.isnan(value) else value

    def mean_wait_s(jobs: NDArray[np.bool_]) -> float:
        return float(wait_s[jobs].mean()) if jobs.any() else 0.0

    return Row(
        place=setting.place.name,
        load=setting.load,
        heavy_share=setting.heavy_share,
        contention=setting.contention,
        predictor=setting.predictor,
        shares_predictions=setting.shares_predictions,
        arm=arm.name,
        policy=arm.policy,
        placement=arm.placement,
        seed=seed,
        jobs=len(trace),
        **{
            key: float(summary[key])
            for key in ("mean_jct_s", "p99_jct_s", "completion_ratio", "mean_servers")
        },
        wait_single_s=mean_wait_s(trace.gpus == 1),
        wait_server_s=mean_wait_s((trace.gpus > 1) & (trace.gpus <= setting.place.gpus)),
        wait_wide_s=mean_wait_s(trace.gpus > setting.place.gpus),
        lost_to_placement=number("lost_to_placement"),
        lost_to_contention=number("lost_to_contention"),
        bias=number("prediction_bias"),
        r2_log=number("prediction_r2_log"),
        rank_correlation=number("prediction_rank_correlation"),
        coverage=number("prediction_coverage"),
    )


JCT: Final = "mean_jct_s"
P99: Final = "p99_jct_s"


class Summary(Runs):
    """The runs by setting and policy."""

    def settings(self, arm: Arm = WAITING[-1]) -> list[Setting]:
        """Return those in which a policy was run; by default those with all policies."""
        return super().settings(arm)

    def best(self, setting: Setting, arms: Iterable[Arm]) -> Arm:
        """Return the one with the least mean JCT."""
        return min(arms, key=lambda arm: float(self.values(setting, arm, JCT).mean()))

    def closed(self, setting: Setting, arm: Arm) -> float:
        """Part of the way from FIFO to SRTF without contention that a policy goes, of the means."""
        ideal = setting.reference()
        fifo, srtf = (self.mean(ideal, other, JCT).value for other in (FIFO, SRTF))
        return (fifo - self.mean(setting, arm, JCT).value) / (fifo - srtf)


@dataclass
class ASrpt(Study):
    """All runs of the study.

    Attributes
    ----------
    runs
        A list by seed for every pair of a setting and a policy.
    missing
        Real traces that were not found.
    """

    runs: dict[tuple[Setting, Arm], list[Row]] = field(default_factory=dict)
    missing: tuple[Place, ...] = ()

    paper = "a-srpt"
    published = PUBLISHED

    @classmethod
    def begin(cls, quick: bool) -> Self:
        """Return one without runs, which knows what real traces are not there."""
        gone = tuple(place for place in REAL if find_data(place.trace) is None)
        return cls(missing=() if quick else gone)

    def plan(self, seeds: int, quick: bool, exact: bool) -> list[Stage]:
        """Run all policies in all settings."""
        real = [place for place in REAL if find_data(place.trace) is not None and not quick]
        wanted = requests(quick, real)

        def take(made: Mapping[tuple[Any, ...], list[Row]]) -> None:
            self.runs = by_pair(wanted, made)

        tasks = tasks_by_seed(wanted, range(FIRST_SEED, FIRST_SEED + seeds))
        return [Stage("settings, all policies", run_arms, tasks, take)]

    def is_enough(self) -> bool:
        """Whether two seeds are there."""
        return Runs(self.runs).num_seeds > 1

    def comparisons(self) -> list[Comparison]:
        """What is told of the paper's results, beside ours."""
        return with_all(_comparisons(Summary(self.runs)), PUBLISHED.results)

    def tables(self) -> list[Table]:
        """The results."""
        summary = Summary(self.runs)
        made = [_goals(summary), verdicts(self.comparisons())]
        made += [_by_policy(summary, Setting(place)) for place in (TESTBED, LARGE)]
        made.append(_predictions(summary))
        if summary.has(Setting(LARGE), ablations(BY_WORK)[0]):
            made += [_ablations(summary), _patience(summary)]
            made += [_errors(summary, place) for place in (TESTBED, LARGE)]
        return with_left_out(made, (place.trace for place in self.missing))

    def data(self) -> dict[str, Any]:
        """All runs, and what was not there."""
        return {"runs": self.rows(), "missing": [place.trace for place in self.missing]}

    def rows(self) -> list[dict[str, Any]]:
        """All runs."""
        return Runs(self.runs).rows()

    def figures(self) -> dict[str, Any]:
        """Policies; patience; errors of prediction; jobs that communicate."""
        summary = Summary(self.runs)
        places = (TESTBED, LARGE)
        seeds = f"{summary.num_seeds} seeds, mean and 95 % interval"
        note = f"Load 0.95, predictions of a forest; {seeds}"
        by_policy = {
            place.name: {
                arm.name: (
                    summary.mean(Setting(place), arm, JCT),
                    summary.mean(Setting(place), arm, P99).value,
                )
                for arm in COMPARED
            }
            for place in places
        }
        heading = "mean (bar) and p99 (diamond) JCT, h"
        hours = 1 / 3600
        drawn = {"policies.png": bars(by_policy, heading, note, scale=hours, x_scale="log")}
        if not summary.has(Setting(LARGE), by_tau(BY_WORK, TAUS[0])):
            return drawn

        def panel(
            place: Place,
            heading: str,
            labels: Sequence[str],
            lines: Mapping[str, Iterable[tuple[Setting, Arm]]],
        ) -> Panel:
            means = {
                name: [summary.mean(setting, arm, JCT) for setting, arm in pairs]
                for name, pairs in lines.items()
            }
            return Panel(place.name, heading, range(len(labels)), means, labels=labels)

        shown = (BY_WORK, A_SRPT, OURS[2], BASELINES[1], BASELINES[2], BASELINES[3], WAITING[2])
        sigmas = (0.0, *NOISES)
        patience, errors = [], []
        for place in places:
            bases = {
                base.name: [(Setting(place), by_tau(base, tau)) for tau in TAUS]
                for base in (A_SRPT, BY_WORK)
            }
            patience.append(panel(place, "patience tau", [f"{tau:g}" for tau in TAUS], bases))
            wrong = {
                arm.name: [(errors_setting(place, noise(sigma)), arm) for sigma in sigmas]
                for arm in shown
            }
            labels = [f"{sigma:g}" for sigma in sigmas]
            errors.append(panel(place, "sigma of the error's logarithm", labels, wrong))
        heavy = panel(
            LARGE,
            "jobs with more than one GPU that communicate heavily",
            [f"{share:.0%}" for share in HEAVY_SHARES],
            {
                arm.name: [(Setting(LARGE, heavy_share=share), arm) for share in HEAVY_SHARES]
                for arm in shown
            },
        )
        about = note.replace("predictions of a forest", "the truth times exp(N(0, sigma))")
        for name, panels, told in (
            ("patience", patience, note), ("errors", errors, about), ("heavy-share", [heavy], note),
        ):  # fmt: skip
            drawn[f"{name}.png"] = curves(panels, "Mean JCT, h", told, scale=hours)
        return drawn


def _comparisons(summary: Summary) -> Iterator[Comparison]:
    """Set our gains beside the goal in the two main settings, those first that equal it."""
    for place in (LARGE, TESTBED):
        setting = Setting(place)
        if not all(summary.has(setting, arm) for arm in (*WAITING, *BASELINES, A_SRPT, BY_WORK)):
            continue  # a small run leaves some out
        of = {"the best of five that wait": WAITING, "the best of five": BASELINES}
        for theirs, arms in of.items():
            other = summary.best(setting, arms)
            for arm in (BY_WORK, A_SRPT):
                what = f"mean JCT of {arm.name} below {theirs}, {setting.title}"
                yield beside(_GAIN, summary.below(setting, arm, other, JCT), what)
        other = summary.best(setting, BASELINES)
        what = f"p99 of {BY_WORK.name} below the best of five, {setting.title}"
        found = summary.below(setting, BY_WORK, other, P99).scaled(100)
        yield beside(PUBLISHED.claim("tail"), found, f"{what}, %")


def _goals(summary: Summary) -> Table:
    """Both forms of A-SRPT against the best baseline in every setting."""
    rows = []
    for setting in summary.settings():
        theirs = summary.best(setting, BASELINES)
        waiting = summary.best(setting, WAITING)

        def below(arm: Arm, other: Arm, column: str = JCT, of: Setting = setting) -> str:
            return percent_of(summary.below(of, arm, other, column))

        rows.append(
            (setting.title, waiting.name, below(BY_WORK, waiting), below(PREEMPTIVE, waiting),
             theirs.name, below(A_SRPT, theirs), below(BY_WORK, theirs),
             below(BY_WORK, theirs, P99))
        )  # fmt: skip
    return table(
        "Below the best baseline with the same predictions",
        ("", "best that waits", "by-work, mean", "a-srpt-p, mean",
         "best that does not", "a-srpt, mean", "by-work, mean", "by-work, p99"),
        rows,
        (
            "1 - mean JCT / mean JCT of the baseline over all seeds, and the 95 % interval of this "
            f"ratio; negative: above it. Goal [second-hand]: {_GAIN.value:.0%} to "
            f"{_GAIN.up_to:.0%} lower mean at load 0.95, lower p99.",
            "Best: with the least mean JCT of five. Those that wait do not start before the gang "
            "fits on as few servers as it can.",
        ),
    )  # fmt: skip


def _by_policy(summary: Summary, setting: Setting) -> Table:
    """All policies in one setting."""

    def figures(of: Setting, arm: Arm) -> list[str]:
        ratio = figure_of(summary.mean(of, arm, "completion_ratio"), 3)
        return [*(figure_of(summary.mean(of, arm, column)) for column in (JCT, P99)), ratio]

    def value(arm: Arm, column: Column) -> float:
        return summary.mean(setting, arm, column).value

    rows = [
        [
            arm.name,
            *figures(setting, arm),
            f"{summary.closed(setting, arm):.0%}",
            *(f"{value(arm, f'wait_{jobs}_s'):.0f}" for jobs in ("single", "server", "wide")),
            f"{value(arm, 'mean_servers'):.2f}",
            f"{value(arm, _lost):.1%}",
        ]
        for arm in COMPARED
    ]
    for arm in (SRTF, FIFO):
        ideal = figures(setting.reference(), arm)
        rows.append([f"{arm.name}, truth, no contention", *ideal, *("",) * 6])
    return table(
        f"All policies: {setting.title}",
        ("policy", "mean JCT, s", "p99 JCT, s", "completions / bound", "closed",
         "wait, 1 GPU, s", "one server", "several", "servers", "lost"),
        rows,
        (
            "Completions / bound: sum of completion times over max(LB1, LB2). Closed: part of the "
            "way in mean JCT from fifo to srtf, both without contention, srtf with the truth and "
            "free preemption. Lost: GPU time that jobs take longer where they are placed.",
        ),
    )  # fmt: skip


def _lost(row: Row) -> float:
    return (row.lost_to_placement or 0.0) + (row.lost_to_contention or 0.0)


def _predictions(summary: Summary) -> Table:
    """How good the forest was in the run of a-srpt-by-work."""

    def column(name: str) -> Callable[[Row], float]:
        return lambda row: getattr(row, name) or 0.0

    rows = [
        (
            setting.title,
            *(
                figure_of(summary.mean(setting, BY_WORK, column(name)), 2)
                for name in ("bias", "r2_log", "rank_correlation", "coverage")
            ),
        )
        for setting in summary.settings(BY_WORK)
        if setting.predictor == FOREST and setting.shares_predictions
    ]
    return table(
        "The forest, trained online in the run of a-srpt-by-work",
        ("", "predicted / true sum", "R2 of log time", "rank correlation", "coverage"),
        rows,
        ("Coverage: jobs of whose group a run had finished before they arrived.",),
    )


def _ablations(summary: Summary) -> Table:
    """What each part is worth: one changed at a time."""
    places = [Setting(place) for place in (TESTBED, LARGE)]
    rows = []
    for base, steps in ((A_SRPT, STEPS), (BY_WORK, ())):
        for arm in (base, *steps, *ablations(base)):
            cells = [arm.name]
            for setting in places:
                cells.append(figure_of(summary.mean(setting, arm, JCT)))
                for column in (JCT, P99):
                    above = -summary.below(setting, arm, base, column).value
                    cells.append("" if arm == base else f"{above:+.0%}")
            rows.append(cells)
    headings = [""]
    for setting in places:
        headings += [f"{setting.place.name}: mean JCT, s", "change", "p99, change"]
    return table(
        "Ablations at load 0.95",
        headings,
        rows,
        ("Change: mean JCT / mean JCT of the unchanged policy - 1, means over all seeds.",),
    )


def _patience(summary: Summary) -> Table:
    """Mean and p99 JCT by tau."""
    pairs = [(place, base) for place in (TESTBED, LARGE) for base in (A_SRPT, BY_WORK)]
    headings = ["tau"]
    for place, base in pairs:
        headings += [f"{place.name.partition(',')[0]}, {base.name}: mean, s", "p99, s"]
    rows = [
        [
            f"{tau:g}",
            *(
                figure_of(summary.mean(Setting(place), by_tau(base, tau), column))
                for place, base in pairs
                for column in (JCT, P99)
            ),
        ]
        for tau in TAUS
    ]
    return table("Patience tau at load 0.95", headings, rows)


def _errors(summary: Summary, place: Place) -> Table:
    """Mean JCT by predictor, each trained in the policy's own run."""
    arms = (*OURS, *BASELINES, WAITING[2])
    rows = []
    for name in error_predictors():
        setting = errors_setting(place, name)
        theirs = summary.best(setting, BASELINES)
        rows.append(
            (
                "truth" if name == noise(0.0) else name.partition(":trees")[0],
                *(f"{summary.mean(setting, arm, JCT).value:.0f}" for arm in arms),
                percent_of(summary.below(setting, BY_WORK, theirs, JCT)),
            )
        )
    best = f"{BY_WORK.name} below the best that does not wait"
    return table(
        f"Prediction errors: {Setting(place).title}",
        ("predictor", *(arm.name for arm in arms), best),
        rows,
        (
            "Mean JCT, s. noise: the truth times exp(N(0, sigma)). group-mean, last-value and "
            "forest learn online in each policy's own run.",
        ),
    )


reproduce = partial(run_study, ASrpt)
stages = partial(stages_of, ASrpt)
