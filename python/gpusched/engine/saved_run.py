"""Open runs that are saved, and go on later: the other process does them again up to there."""

from __future__ import annotations

import hashlib
import os
import pickle
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from gpusched import _core
from gpusched.base.files import naming
from gpusched.engine.ready_run import Ready
from gpusched.engine.run_course import Change, Course
from gpusched.engine.run_store import RunHeader, StoredChange, StoredRun, read, write
from gpusched.engine.same_run import check_object, check_same
from gpusched.engine.seams import Chosen, copied, policy_seam
from gpusched.execution.code_digest import versions
from gpusched.plugins.identity import PythonObject, identify
from gpusched.traces.trace_store import trace_members

if TYPE_CHECKING:
    from gpusched.base.arrays import AnyArray
    from gpusched.prediction import Predictor
    from gpusched.prediction.learner import Header as ModelHeader
    from gpusched.prediction.online import OnlineRun

_OBJECT: Final = "python:"
"""How the label of an object begins that its text does not make again."""


def store(
    path: str | os.PathLike[str],
    course: Course,
    run: _core.Run,
    online: OnlineRun | None,
    clock_us: int,
    wall_s: float,
) -> None:
    """Write a run; errors as of :meth:`gpusched.Simulation.save`."""
    first = course.first
    reached = reached_by(run, online, clock_us)
    pickles: dict[str, bytes] = {}
    for role, chosen in (("policy", first.policy), ("placement", first.placement)):
        if chosen.label.startswith(_OBJECT):
            pickles[role] = _pickled(role, copied(chosen).native)
    model: ModelHeader | None = None
    arrays: dict[str, AnyArray] = {}
    if first.learner is not None:
        if _is_pickled(first.learner, first.spec.python):
            pickles["predictor"] = _pickled("predictor", first.learner)
        else:
            model, arrays = _model_of(first.learner)
    trace_header, _ = trace_members(first.trace)
    header = RunHeader(
        version=_core.__version__,
        libraries=versions(),
        spec=first.spec,
        verify=first.verify,
        changes=tuple(_stored(number, each, pickles) for number, each in enumerate(course.changes)),
        num_instants=run.num_instants,
        clock_us=clock_us,
        reached=reached,
        wall_s=wall_s,
        trace=trace_header,
        model=model,
        max_intervals=first.max_intervals,
    )
    write(StoredRun(header, first.trace, arrays, pickles), path)


def restored(
    path: str | os.PathLike[str], *, trust_python: bool, max_bytes: int | None
) -> tuple[RunHeader, Course]:
    """Return how a saved run began, and what was done to it; errors as of :func:`resume`."""
    with naming(path, "not a readable gpusched run"):
        stored = read(path, max_bytes=max_bytes)
    header = stored.header
    if header.version != _core.__version__:
        raise ValueError(
            f"{os.fspath(path)}: was saved by gpusched {header.version}, and this is "
            f"{_core.__version__}, whose rules may differ; resume it with gpusched {header.version}"
        )
    if stored.pickles and not trust_python:
        held = ", ".join(sorted(stored.pickles))
        raise ValueError(
            f"{os.fspath(path)}: holds objects of Python ({held}), and to load these can run any "
            "code; if you trust whoever wrote the file, pass trust_python=True"
        )
    with naming(path, "not a readable gpusched run"):
        return header, _course(stored)


def check_reached(header: RunHeader, run: _core.Run, online: OnlineRun | None) -> None:
    """Raise a ValueError unless the run has come to where it was saved."""
    is_as_far = run.num_instants == header.num_instants
    if is_as_far and reached_by(run, online, header.clock_us) == header.reached:
        return
    there = ""
    if header.libraries != versions():
        there = f"; it was saved with Python {header.libraries}, and this is Python {versions()}"
    raise ValueError(
        f"done again, the run does not come to what was saved after {header.num_instants:,} "
        f"instants: the core, or what is computed with, decides otherwise here{there}"
    )


def reached_by(run: _core.Run, online: OnlineRun | None, clock_us: int) -> str:
    """Return a SHA-256 of the log so far, of what waits and runs, and of what was predicted."""
    sha = hashlib.sha256(run.glimpse().digest.encode())
    state: Mapping[str, Any] = run.state() | {
        "clock_us": clock_us,
        "next_us": -1 if run.next_us is None else run.next_us,
        "now_us": run.now_us,
        "num_instants": run.num_instants,
    }
    for name in sorted(state):
        values = np.asarray(state[name])
        sha.update(f" {name} {values.dtype.newbyteorder('<').str} {values.shape} ".encode())
        sha.update(np.ascontiguousarray(values).tobytes())
    if online is not None:
        sha.update(online.predicted_us.tobytes())
    return sha.hexdigest()


def _course(stored: StoredRun) -> Course:
    header, spec = stored.header, stored.header.spec
    _check_pickles(stored)
    chosen = {
        role: _unpickled(role, stored.pickles) if role in stored.pickles else text
        for role, text in (("policy", spec.policy), ("placement", spec.placement))
    }
    ready = Ready(
        stored.trace,
        spec.cluster,
        chosen["policy"],
        chosen["placement"],
        _predictor(stored),
        spec.speed,
        spec.contention,
        seed=spec.seed,
        verify=header.verify,
        max_intervals=header.max_intervals,
    )
    check_same(spec, ready.spec, takes_unreadable=True)
    changes = tuple(
        _change(number, each, stored.pickles) for number, each in enumerate(header.changes)
    )
    return Course(ready, changes)


def _check_pickles(stored: StoredRun) -> None:
    """Raise a ValueError unless the objects of Python are those that the header tells of."""
    header, spec = stored.header, stored.header.spec
    texts = {"policy": spec.policy, "placement": spec.placement, "predictor": spec.predictor}
    for number, change in enumerate(header.changes):
        texts[_role_of(number)] = change.policy or ""
    wanted = {role for role, text in texts.items() if text.startswith(_OBJECT)}
    found = set(stored.pickles) - ({"predictor"} - wanted)  # one of a registered class is, too
    for role in sorted(found ^ wanted):
        is_there = "is not expected" if role in found else "is missing"
        raise ValueError(f"python.{role} {is_there}")


def _predictor(stored: StoredRun) -> Any:
    if stored.header.model is None and stored.model:
        raise ValueError(f"model.{min(stored.model)} is not expected")
    if "predictor" in stored.pickles:
        return _unpickled("predictor", stored.pickles)
    if stored.header.model is None:
        return stored.header.spec.predictor
    from gpusched.prediction.choose import trained

    return trained(stored.header.model, dict(stored.model))


def _role_of(number: int) -> str:
    return f"policy.{number + 1}"


def _stored(number: int, change: Change, pickles: dict[str, bytes]) -> StoredChange:
    if change.policy is None:
        return StoredChange(change.num_instants, change.at_us, job=change.job)
    chosen = change.policy
    if chosen.label.startswith(_OBJECT):
        pickles[_role_of(number)] = _pickled("policy", copied(chosen).native)
    return StoredChange(
        change.num_instants, change.at_us, policy=chosen.label, python=chosen.python
    )


def _change(number: int, stored: StoredChange, pickles: Mapping[str, bytes]) -> Change:
    chosen: Chosen | None = None
    if stored.policy is not None:
        role = _role_of(number)
        given = _unpickled(role, pickles) if role in pickles else stored.policy
        chosen = policy_seam(given)
        if stored.python is not None:
            check_object(stored.python, chosen.python, takes_unreadable=True)
    return Change(stored.num_instants, stored.at_us, job=stored.job, policy=chosen)


def _is_pickled(learner: Predictor, known: tuple[PythonObject, ...]) -> bool:
    """Whether its text, and what it was trained on, do not make it again."""
    if not learner.registered_name:
        return True
    own = next((thing for thing in known if thing.role == "predictor"), None)
    if own is None:  # gpusched's
        return False
    from gpusched.prediction.choose import predictor

    return identify("predictor", predictor(str(learner))) != own


def _model_of(learner: Predictor) -> tuple[ModelHeader | None, dict[str, AnyArray]]:
    from gpusched.prediction.learner import Learner

    if isinstance(learner, Learner) and len(learner.records):
        return learner.stored()
    return None, {}


def _pickled(role: str, thing: Any) -> bytes:
    try:
        return pickle.dumps(thing, protocol=5)
    except Exception as error:
        raise TypeError(f"{role}: {type(thing).__qualname__} cannot be saved: {error}") from error


def _unpickled(role: str, pickles: Mapping[str, bytes]) -> Any:
    try:
        return pickle.loads(pickles[role])
    except Exception as error:
        raise ValueError(f"{role}: the object of Python cannot be loaded here: {error}") from error
