"""The names of runs: hashes of all that decides what they make."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any, Final

import msgspec

from gpusched import _core
from gpusched.base.object_digests import ObjectReader, UnreadableError
from gpusched.engine.seams import placement_seam, policy_seam
from gpusched.execution.code_digest import code_digest
from gpusched.plugins.identity import PythonObject, identify
from gpusched.plugins.policy import Choice, Policy
from gpusched.prediction import Predictor
from gpusched.prediction.choose import predictor
from gpusched.prediction.registry import PredictorChoice
from gpusched.results.metric_registry import metrics
from gpusched.sweeping.expansion import Expansion, PlannedRun
from gpusched.sweeping.recipes import cluster_content
from gpusched.sweeping.spec_parts import ROLES

_DIGITS: Final = 32


def run_names(plan: Expansion) -> list[str]:
    """Return the name of each run of a study, 32 hexadecimal digits.

    Two runs have one name only if they make the same: the recipe of the jobs, the cluster, the
    policy with all values of its parameters, placement, speed, contention, predictor, seed,
    warm-up and metrics are the same, and so is the code. The labels are not in it. An object of
    Python counts by its code and its state; one that cannot be read has a name of its own each
    time.
    """
    study = plan.study
    common = msgspec.json.encode(
        [
            "gpusched run 1",
            _core.__version__,
            code_digest(),
            study.warm_up_s,
            study.tail_s,
            metric_content(study),
        ]
    )
    clusters = [cluster_content(cluster) for cluster in plan.clusters]
    begun = hashlib.sha256(common)
    of_choice: dict[tuple[int, int, tuple[int, ...]], bytes] = {}

    def content(run: PlannedRun) -> bytes:
        """Return what is the same for all jobs and seeds."""
        parts = [clusters[run.cluster]]
        for role in range(len(ROLES)):
            key = (role, run.choices[role], run.values)
            if key not in of_choice:
                of_choice[key] = choice_content(ROLES[role], plan.choice(run, role))
            parts.append(of_choice[key])
        return b"\0".join(parts)

    contents: dict[tuple[Any, ...], bytes] = {}
    names = []
    for run in plan.runs:
        of = (run.cluster, run.choices, run.values)
        if of not in contents:
            contents[of] = content(run)
        sha = begun.copy()
        sha.update(f"{run.recipe.name} {run.seed} ".encode() + contents[of])
        names.append(sha.hexdigest()[:_DIGITS])
    return names


def choice_content(role: str, choice: Any) -> bytes:
    """Return all that a policy, placement, speed, contention or predictor is."""
    python: PythonObject | None = None
    told: Any = None
    if isinstance(choice, Choice):
        # The defaults are written, too: an option that is given as it is by default is no other.
        own = {entry["name"]: entry["default"] for entry in choice.info.parameters}
        told = [choice.name, own | choice.parameters]
        if choice.info.python_class is not None:
            if isinstance(choice, PredictorChoice):
                python = identify("predictor", predictor(choice))
            elif isinstance(choice, Policy):
                python = policy_seam(choice).python
            else:
                python = placement_seam(choice).python  # type: ignore[arg-type]
    elif isinstance(choice, Predictor):
        python, told = identify("predictor", choice), choice.label
    elif choice is not None:
        python = identify("policy" if role == "policy" else "placement", choice)
    return msgspec.json.encode([role, told, python], order="deterministic")


def unreadable(plan: Expansion) -> list[str]:
    """Return a sentence for each object of Python that no later run can be said to be equal to."""
    lines = []
    for role, named in zip(ROLES, plan.named, strict=True):
        for one in named:
            if isinstance(one.choice, Choice) or one.choice is None:
                continue
            found = identify(role, one.choice)  # type: ignore[arg-type]
            if found is not None and found.unreadable:
                lines.append(
                    f"{one.label}: its runs cannot be kept, it cannot be told from others "
                    f"({found.unreadable})"
                )
    return lines


def metric_content(study: Any) -> list[Any]:
    """Return what decides which metrics a run has: those asked for, and those of other packages."""
    own: list[Any] = []
    for key, metric in sorted(metrics().items()):
        if not metric.is_default and key not in study.metrics:
            continue
        module = getattr(metric.compute, "__module__", "")
        if module.partition(".")[0] == "gpusched" and metric.is_default:
            continue  # the digest of the code has it
        own.append([key, _code_of(metric.compute)])
    return own


def _code_of(compute: Any) -> str:
    try:
        return ObjectReader().of(compute).hex()
    except (UnreadableError, RecursionError):
        return f"{getattr(compute, '__module__', '')}.{getattr(compute, '__qualname__', '')}"


def extra_metrics(study: Any) -> Sequence[str]:
    """Return the metrics of a study that no summary has without being asked."""
    known = metrics()
    return [key for key in study.metrics if not known[key].is_default]
