"""The search: Optuna proposes, short windows weed out, the whole search window decides."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal

from gpusched.base.suggest import nearest
from gpusched.plugins.policy import Policy
from gpusched.tuning.space import PolicySpace
from gpusched.tuning.trials import Score

if TYPE_CHECKING:
    import optuna
    from optuna.pruners import BasePruner
    from optuna.samplers import BaseSampler

State = Literal["finished", "pruned", "failed"]
REDUCTION: Final = 3
"""A window has so many times the jobs of the one before, and one in so many goes on to it."""
_TPE: Final = "tpe"
_SAMPLERS: Final = (_TPE, "random")
_KEEP_ALL: Final = "none"
_PRUNERS: Final = ("halving", "hyperband", _KEEP_ALL)

Scoring = Callable[[int, dict[str, Any]], dict[str, Score]]


@dataclass
class Attempt:
    """A trial: what it chose, and what became of it.

    Attributes
    ----------
    label, values
        Of the policy in the space, and of its options.
    policy
        None if the values do not go together.
    scores
        One for each window it has seen.
    """

    number: int
    label: str
    values: dict[str, Any]
    policy: Policy | None = None
    scores: list[float] = field(default_factory=list)
    state: State | None = None
    error: str | None = None
    num_runs: int = 0


def search(
    space: PolicySpace,
    num_rungs: int,
    scores: Scoring,
    *,
    better: str,
    trials: int,
    batch: int,
    seed: int,
    sampler: Any,
    pruner: Any,
    told: Callable[[int], None],
) -> list[Attempt]:
    """Search a space; equal arguments give equal trials.

    Parameters
    ----------
    scores
        Returns what policies achieve in a window.
    batch
        How many trials are proposed at a time, without knowing what the others achieve.
    told
        Called with the number of trials that are done.
    """
    import optuna

    with _quietly():
        study = optuna.create_study(
            sampler=sampler_of(sampler, seed, batch),
            pruner=pruner_of(pruner, num_rungs),
            direction="minimize" if better == "lower" else "maximize",
            study_name="gpusched",  # Hyperband has its brackets from it
        )
    is_over: list[bool] = []
    # A sampler that has nothing left to try asks for this.
    study.stop = lambda: is_over.append(True)  # type: ignore[method-assign]
    done: list[Attempt] = []
    while len(done) < trials and not is_over:
        asked = [study.ask() for _ in range(min(batch, trials - len(done)))]
        attempts = [_attempt(space, trial) for trial in asked]
        for rung in range(num_rungs):
            running = [attempt for attempt in attempts if attempt.state is None]
            policies = {str(one.policy): one.policy for one in running}
            found = scores(rung, policies) if policies else {}
            for one in running:
                _climb(one, asked[one.number - len(done)], found[str(one.policy)], rung, num_rungs)
        for one, trial in zip(attempts, asked, strict=True):
            _tell(study, trial, one)
        done += attempts
        told(len(done))
    return done


def _attempt(space: PolicySpace, trial: optuna.Trial) -> Attempt:
    one, values = space.draw(trial)
    made = Attempt(trial.number, one.label, values)
    try:
        made.policy = one.with_values(values)
    except (TypeError, ValueError) as error:
        made.state, made.error = "failed", f"{type(error).__name__}: {error}"
    return made


def _climb(one: Attempt, trial: optuna.Trial, score: Score, rung: int, num_rungs: int) -> None:
    """Take what a trial achieved in a window, and say whether it goes on."""
    one.num_runs += score.num_runs
    if score.value is None:
        one.state, one.error = "failed", score.error
        return
    one.scores.append(score.value)
    if rung == num_rungs - 1:
        one.state = "finished"
        return
    trial.report(score.value, REDUCTION**rung)
    if trial.should_prune():
        one.state = "pruned"


def _tell(study: optuna.Study, trial: optuna.Trial, one: Attempt) -> None:
    from optuna.trial import TrialState

    if one.state == "finished":
        study.tell(trial, one.scores[-1])
    else:
        study.tell(trial, state=TrialState.PRUNED if one.state == "pruned" else TrialState.FAIL)


def sampler_of(sampler: Any, seed: int, batch: int) -> BaseSampler:
    """Return a sampler of Optuna as it is, or the one that is named."""
    from optuna import samplers

    if isinstance(sampler, samplers.BaseSampler):
        return sampler
    _check_name("sampler", sampler, _SAMPLERS)
    if sampler != _TPE:
        return samplers.RandomSampler(seed=seed)
    if batch == 1:
        return samplers.TPESampler(seed=seed)
    import warnings

    with warnings.catch_warnings():  # it says that this argument may change
        warnings.simplefilter("ignore")
        return samplers.TPESampler(seed=seed, constant_liar=True)


def pruner_of(pruner: Any, num_rungs: int) -> BasePruner:
    """Return a pruner of Optuna as it is, or the one that is named."""
    from optuna import pruners

    if isinstance(pruner, pruners.BasePruner):
        return pruner
    _check_name("pruner", pruner, _PRUNERS)
    if pruner == _KEEP_ALL or num_rungs == 1:
        return pruners.NopPruner()
    if pruner == "hyperband":
        most = REDUCTION ** (num_rungs - 1)
        return pruners.HyperbandPruner(
            min_resource=1, max_resource=most, reduction_factor=REDUCTION
        )
    return pruners.SuccessiveHalvingPruner(min_resource=1, reduction_factor=REDUCTION)


def _check_name(what: str, given: Any, names: Sequence[str]) -> None:
    if not isinstance(given, str):
        raise TypeError(f"{what}: expected a name or a {what} of Optuna, not {given!r}")
    if given not in names:
        raise ValueError(f"{what}: unknown {given!r}{nearest(given, list(names))}")


@contextmanager
def _quietly() -> Iterator[None]:
    import optuna

    before = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    try:
        yield
    finally:
        optuna.logging.set_verbosity(before)
