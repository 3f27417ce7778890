"""A-SRPT after Luo et al. (INFOCOM 2025): its gain over baselines on the same predictions.

Generated jobs, and those of real traces, get graphs of the zoo and run on servers of equal GPUs.
In the run of a-srpt-by-work a forest learns online; what it predicts is what all others are told.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import Any, Final, Self

import numpy as np
from numpy.typing import NDArray

import gpusched as gs
from gpusched.base.real_data import find_data, need_data
from gpusched.base.tables import Table
from gpusched.prediction import predictor
from gpusched.traces.generating import assign_graphs
from gpusched_papers.claims import (
    Comparison,
    Texts,
    beside,
    claims_file,
    published_of,
    verdicts,
    with_all,
)
from gpusched_papers.drawing import Panel, bars, curves
from gpusched_papers.intervals import figure_of, percent_of
from gpusched_papers.study import (
    US_PER_S,
    Arm,
    Arms,
    Float64,
    PairStudy,
    Row,
    Runs,
    Stage,
    about,
    run_study,
    simulate,
    stages_of,
    with_left_out,
)

PUBLISHED: Final = published_of("a_srpt")
TEXTS: Final = Texts("a_srpt")
_FILE: Final = claims_file("a_srpt")
_GAIN: Final = PUBLISHED.claim("gain")
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
        links: dict[str, Any] = {"nic_gbps": self.nic_gbps, "intra_gbps": self.intra_gbps}
        return gs.Cluster.uniform(servers=self.servers, gpus=self.gpus, **links)


TESTBED: Final = Place(**_FILE["testbed"])
LARGE, *_OTHERS = (Place(*told) for told in _FILE["simulated"])
OTHERS: Final = tuple(_OTHERS)
PROFILES: Final = tuple(
    replace(place, name=f"{place.name}, {profile} jobs", profile=profile)
    for place in (TESTBED, LARGE)
    for profile in ("philly", "helios", "pai")
)
REAL: Final = tuple(
    Place(name, servers, 8, LARGE.nic_gbps, LARGE.intra_gbps, jobs, trace)
    for name, servers, jobs, trace in _FILE["real"]
)


@dataclass(frozen=True)
class Setting:
    """A place with a workload, and what the policies know of it.

    ``load``: GPUs x run time on good placements over the GPU time until the last arrival; None:
        that of the real trace.
    ``heavy_share``: of the jobs with more than one GPU; None: as the models give it.
    ``predictor``: ``FOREST``: one forest, trained online in the run of a-srpt-by-work, whose
        predictions all policies get. Else a predictor of its own for each run.
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


_ARMS: Final = Arms(_FILE)
A_SRPT, BY_WORK, PREEMPTIVE = (_ARMS[name] for name in ("a-srpt", "a-srpt-by-work", "a-srpt-p"))
FIFO, SRTF = (_ARMS[name] for name in ("fifo", "srtf"))
OURS: Final = (BY_WORK, A_SRPT, PREEMPTIVE)
BASELINES: Final = _ARMS.some("baselines")
"""With the placement of A-SRPT; what is known of them stands with the names."""
WAITING: Final = tuple(
    replace(arm, name=f"{arm.name}, waiting", placement="consolidated") for arm in BASELINES
)
"""The same, but a gang waits until it fits on as few servers as it can: ours."""
COMPARED: Final = (*OURS, *BASELINES, *WAITING)
STEPS: Final = _ARMS.some("steps")
"""From ``a-srpt`` to ``a-srpt-by-work``."""


def ablations(base: Arm) -> tuple[Arm, ...]:
    """One thing changed at a time."""
    return tuple(_changed(base, change, placement) for change, placement in _FILE["changes"])


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
        drawn = gs.generate(place.profile, place.jobs, cluster=cluster, seed=seed, model=1)
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
            trace, setting.place.cluster(), policy=arm.policy, placement=arm.placement,
            predictor=chosen, speed="stages", contention=setting.contention, seed=seed,
        )  # fmt: skip
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
    is_one, is_wide = trace.gpus == 1, trace.gpus > setting.place.gpus
    jobs = {"single": is_one, "server": ~is_one & ~is_wide, "wide": is_wide}
    waits = {
        f"wait_{name}_s": float(wait_s[some].mean()) if some.any() else 0.0
        for name, some in jobs.items()
    }

    def number(key: str) -> float | None:
        value = summary.get(key)
        return None if not isinstance(value, float) or np.isnan(value) else value

    told = ("mean_jct_s", "p99_jct_s", "completion_ratio", "mean_servers")
    return Row(
        **about(setting, arm, seed, len(trace), placement=arm.placement),
        **{key: float(summary[key]) for key in told},
        **waits,
        **{key: number(key) for key in ("lost_to_placement", "lost_to_contention")},
        **{
            key: number(f"prediction_{key}")
            for key in ("bias", "r2_log", "rank_correlation", "coverage")
        },
    )


JCT: Final = "mean_jct_s"
P99: Final = "p99_jct_s"


class Summary(Runs):
    """The runs by setting and policy."""

    figure = JCT

    def settings(self, *arms: Arm) -> list[Setting]:
        """Return those in which policies were run; by default those with all policies."""
        return super().settings(*(arms or WAITING[-1:]))

    def best(self, setting: Setting, arms: Iterable[Arm]) -> Arm:
        """Return the one with the least mean JCT."""
        return min(arms, key=lambda arm: float(self.values(setting, arm).mean()))

    def closed(self, setting: Setting, arm: Arm) -> float:
        """Part of the way from FIFO to SRTF without contention that a policy goes, of the means."""
        ideal = setting.reference()
        fifo, srtf = (self.mean(ideal, other).value for other in (FIFO, SRTF))
        return (fifo - self.mean(setting, arm).value) / (fifo - srtf)


@dataclass
class ASrpt(PairStudy):
    """All runs of the study."""

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
        numbers = range(FIRST_SEED, FIRST_SEED + seeds)
        wanted = requests(quick, real)
        return [self.pairs("settings, all policies", run_arms, wanted, numbers, Stage.part)]

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
        return with_left_out(made, self.left_out)

    def figures(self) -> dict[str, Any]:
        """Policies; patience; errors of prediction; jobs that communicate."""
        summary = Summary(self.runs)
        places = (TESTBED, LARGE)
        note = (
            f"Load 0.95, predictions of a forest; {summary.num_seeds} seeds, mean and 95 % interval"
        )
        by_policy = {
            place.name: {
                arm.name: (summary.mean(Setting(place), arm),
                           summary.mean(Setting(place), arm, P99).value)
                for arm in COMPARED
            }
            for place in places
        }  # fmt: skip
        heading = "mean (bar) and p99 (diamond) JCT, h"
        hours = 1 / 3600
        drawn = {"policies.png": bars(by_policy, heading, note, scale=hours, x_scale="log")}
        if not summary.has(Setting(LARGE), by_tau(BY_WORK, TAUS[0])):
            return drawn
        shown = (BY_WORK, A_SRPT, PREEMPTIVE, *BASELINES[1:4], WAITING[2])

        def panel(place: Place, heading: str, of: dict[str, Setting]) -> Panel:
            lines = {arm.name: summary.mean_in(of.values(), arm) for arm in shown}
            return Panel(place.name, heading, range(len(of)), lines, labels=list(of))

        def patience(place: Place) -> Panel:
            lines = {
                base.name: [summary.mean(Setting(place), by_tau(base, tau)) for tau in TAUS]
                for base in (A_SRPT, BY_WORK)
            }
            labels = [f"{tau:g}" for tau in TAUS]
            return Panel(place.name, "patience tau", range(len(TAUS)), lines, labels=labels)

        def errors(place: Place) -> Panel:
            of = {f"{sigma:g}": errors_setting(place, noise(sigma)) for sigma in (0.0, *NOISES)}
            return panel(place, "sigma of the error's logarithm", of)

        heavy = {f"{share:.0%}": Setting(LARGE, heavy_share=share) for share in HEAVY_SHARES}
        heading = "jobs with more than one GPU that communicate heavily"
        about = note.replace("predictions of a forest", "the truth times exp(N(0, sigma))")
        for name, panels, told in (
            ("patience", list(map(patience, places)), note),
            ("errors", list(map(errors, places)), about),
            ("heavy-share", [panel(LARGE, heading, heavy)], note),
        ):
            drawn[f"{name}.png"] = curves(panels, "Mean JCT, h", told, scale=hours)
        return drawn


def _comparisons(summary: Summary) -> Iterator[Comparison]:
    """Set our gains beside the goal in the two main settings, those first that equal it."""
    for place in (LARGE, TESTBED):
        setting = Setting(place)
        if not summary.has(setting, *WAITING, *BASELINES, A_SRPT, BY_WORK):
            continue  # a small run leaves some out
        for theirs, arms in (
            ("the best of five that wait", WAITING),
            ("the best of five", BASELINES),
        ):
            other = summary.best(setting, arms)
            for arm in (BY_WORK, A_SRPT):
                what = f"mean JCT of {arm.name} below {theirs}, {setting.title}"
                yield beside(_GAIN, summary.below(setting, arm, other), what)
        what = f"p99 of {BY_WORK.name} below the best of five, {setting.title}"
        found = summary.below(setting, BY_WORK, other, P99).scaled(100)
        yield beside(PUBLISHED.claim("tail"), found, f"{what}, %")


def _goals(summary: Summary) -> Table:
    """Both forms of A-SRPT against the best baseline in every setting."""
    rows = []
    for setting in summary.settings():
        theirs, waiting = (summary.best(setting, arms) for arms in (BASELINES, WAITING))
        below = partial(summary.below, setting)
        of_waiting = (below(arm, waiting) for arm in (BY_WORK, PREEMPTIVE))
        of_others = (below(A_SRPT, theirs), below(BY_WORK, theirs), below(BY_WORK, theirs, P99))
        rows.append(
            (setting.title, waiting.name, *map(percent_of, of_waiting),
             theirs.name, *map(percent_of, of_others))
        )  # fmt: skip
    return TEXTS.table("goals", rows, low=_GAIN.value, high=_GAIN.up_to)


def _by_policy(summary: Summary, setting: Setting) -> Table:
    """All policies in one setting."""

    def row(of: Setting, arm: Arm) -> list[str]:
        def figure(key: str) -> float | str:
            if key == "arm":
                return arm.name
            if key in (JCT, P99):
                return figure_of(summary.mean(of, arm, key))
            if key == "completion_ratio":
                return figure_of(summary.mean(of, arm, key), 3)
            if of != setting:
                return ""
            if key == "closed":
                return summary.closed(of, arm)
            return summary.mean(of, arm, _lost if key == "lost" else key).value

        return TEXTS.figures("policies", figure)

    rows = [row(setting, arm) for arm in COMPARED]
    ideals = [row(setting.reference(), arm) for arm in (SRTF, FIFO)]
    rows += [[f"{name}, truth, no contention", *rest] for name, *rest in ideals]
    return TEXTS.table("policies", rows, what=setting.title)


def _lost(row: Row) -> float:
    return (row.lost_to_placement or 0.0) + (row.lost_to_contention or 0.0)


def _predictions(summary: Summary) -> Table:
    """How good the forest was in the run of a-srpt-by-work."""
    told = ("bias", "r2_log", "rank_correlation", "coverage")
    rows = [
        (setting.title, *(summary.mean(setting, BY_WORK, column) for column in told))
        for setting in summary.settings(BY_WORK)
        if setting.predictor == FOREST and setting.shares_predictions
    ]
    return TEXTS.table("predictions", rows)


def _ablations(summary: Summary) -> Table:
    """What each part is worth: one changed at a time."""
    places = [Setting(place) for place in (TESTBED, LARGE)]
    rows = []
    for base, steps in ((A_SRPT, STEPS), (BY_WORK, ())):
        for arm in (base, *steps, *ablations(base)):
            cells: list[Any] = [arm.name]
            for setting in places:
                cells.append(summary.mean(setting, arm))
                for column in (JCT, P99):
                    above = -summary.below(setting, arm, base, column).value
                    cells.append(None if arm == base else f"{above:+.0%}")
            rows.append(cells)
    headings = (
        heading
        for setting in places
        for heading in (f"{setting.place.name}: mean JCT, s", "change", "p99, change")
    )
    return TEXTS.table("ablations", rows, *headings)


def _patience(summary: Summary) -> Table:
    """Mean and p99 JCT by tau."""
    pairs = [(place, base) for place in (TESTBED, LARGE) for base in (A_SRPT, BY_WORK)]
    headings = (
        heading
        for place, base in pairs
        for heading in (f"{place.name.partition(',')[0]}, {base.name}: mean, s", "p99, s")
    )
    rows = [
        [
            f"{tau:g}",
            *(
                summary.mean(Setting(place), by_tau(base, tau), column)
                for place, base in pairs
                for column in (JCT, P99)
            ),
        ]
        for tau in TAUS
    ]
    return TEXTS.table("patience", rows, *headings)


def _errors(summary: Summary, place: Place) -> Table:
    """Mean JCT by predictor, each trained in the policy's own run."""
    arms = (*OURS, *BASELINES, WAITING[2])
    rows = []
    for name in error_predictors():
        setting = errors_setting(place, name)
        told = "truth" if name == noise(0.0) else name.partition(":trees")[0]
        below = summary.below(setting, BY_WORK, summary.best(setting, BASELINES))
        means = (summary.mean(setting, arm).value for arm in arms)
        rows.append((told, *means, percent_of(below)))
    best = f"{BY_WORK.name} below the best that does not wait"
    return TEXTS.table("errors", rows, *(arm.name for arm in arms), best, what=Setting(place).title)


reproduce = partial(run_study, ASrpt)
stages = partial(stages_of, ASrpt)
