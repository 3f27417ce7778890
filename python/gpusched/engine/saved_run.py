"""Save open runs and resume them by replaying them, also in another process."""

from __future__ import annotations

import hashlib
import os
import pickle
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, Literal, TypeAlias

import msgspec
import numpy as np

from gpusched import _core
from gpusched.base import container
from gpusched.base.arrays import AnyArray
from gpusched.base.files import naming
from gpusched.base.ticks import MAX_HORIZON_US, us_to_text
from gpusched.engine.code_digest import versions
from gpusched.engine.prepare import Ready, check_object, check_same
from gpusched.engine.seams import Chosen, copied, policy_seam, untouched
from gpusched.model.outages import Outages
from gpusched.plugins.identity import PythonObject, identify
from gpusched.prediction import Predictor
from gpusched.prediction.learner import Header as ModelHeader
from gpusched.prediction.online import OnlineRun
from gpusched.specs.fingerprints import fingerprint
from gpusched.specs.outage_store import OUTAGE_MEMBERS, outage_members, stored_outages
from gpusched.specs.run_spec import RunSpec
from gpusched.traces.trace_store import TRACE_MEMBERS, TraceHeader, stored_trace, trace_members
from gpusched.traces.workload import Trace

_ALL = 2**63 - 1


def opened(ready: Ready) -> tuple[_core.Run, OnlineRun | None]:
    """Return the core's run at its start; signals are handled while it runs."""
    control = _core.RunControl()
    control.watch(None)
    made: list[_core.Run] = []
    online = ready.begin(control, made)
    return made[-1], online


def proceed(
    run: _core.Run,
    online: OnlineRun | None,
    limit_us: int,
    most: int,
    after: Callable[[], None] | None = None,
) -> int:
    """Process at most so many instants before the limit; return how many there were.

    A learning predictor is called before the arrivals; ``after`` is called at the end of each
    instant.
    """
    if online is None and after is None:
        handled: int = run.proceed(limit_us, most)
        return handled
    num_instants = 0
    while num_instants < most:
        next_us = run.next_us
        if online is not None and online.next_us is not None and online.next_us == next_us:
            if next_us >= limit_us:
                break
            online.predict_batch()
        if not run.proceed(limit_us, 1, keeps_finished=online is not None):
            break
        num_instants += 1
        if after is not None:
            after()
    return num_instants


What: TypeAlias = Literal["cancel", "hold", "release"]
_SAID: Final = {"cancel": "cancelled", "hold": "held", "release": "released"}


@dataclass(frozen=True)
class Change:
    """A change to a run after so many instants: of a job of the queue, or another policy."""

    num_instants: int
    at_us: int
    job: int | None = None
    policy: Chosen | None = None
    what: What = "cancel"

    def untouched(self) -> Change:
        """Return a copy with the policy in its current state, for later."""
        return self if self.policy is None else replace(self, policy=untouched(self.policy))

    def apply(self, run: _core.Run, ready: Ready) -> Ready:
        """Apply the change; return the resulting run."""
        if self.job is not None:
            getattr(run, self.what)(self.job, self.at_us)
            return ready
        assert self.policy is not None
        changed = ready.with_seams(self.policy, ready.placement)
        run.hand_over(changed.description(), self.at_us)
        return changed

    def note(self, policy: Chosen) -> str:
        """Describe a change made while a policy decided."""
        what = f"job {self.job} was {_SAID[self.what]}"
        if self.policy is not None:
            what = f"the policy became {self.policy.label} instead of {policy.label}"
        return f"{what} at {us_to_text(self.at_us)} s"


@dataclass(frozen=True)
class Course:
    """All that determines an open run: its start, and the changes since.

    ``first``: the run at its start, with Python objects in their initial state.
    ``changes``: in the order of the instants.
    """

    first: Ready
    changes: tuple[Change, ...] = ()

    def has_held(self, job: int) -> bool:
        """Whether a change has taken the job out of the queue."""
        return any(each.job == job and each.what == "hold" for each in self.changes)

    def notes(self) -> Iterator[str]:
        """Describe the changes, one string per sentence."""
        policy = self.first.policy
        for change in self.changes:
            yield change.note(policy)
            policy = change.policy or policy

    def replayed(self, num_instants: int) -> tuple[Ready, _core.Run, OnlineRun | None]:
        """Replay the run up to so many instants."""
        ready = self.first.anew()
        run, online = opened(ready)

        def go_to(instant: int) -> None:
            proceed(run, online, _ALL, instant - run.num_instants)

        for change in self.changes:
            go_to(change.num_instants)
            if change.policy is not None:
                change = replace(change, policy=copied(change.policy))
            ready = change.apply(run, ready)
        go_to(num_instants)
        return ready, run, online


KIND: Final = container.Kind("gpusched-run", 1)
_PICKLE: Final = "python."
_MODEL: Final = "model."
_MOST: Final = 2**63 - 1


class StoredChange(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A change to the run after so many instants: of a job of the queue, or another policy.

    ``python`` identifies the policy if it is written in Python.
    """

    num_instants: int
    at_us: int
    job: int | None = None
    policy: str | None = None
    python: PythonObject | None = None
    what: What = "cancel"

    def __post_init__(self) -> None:
        if (self.job is None) == (self.policy is None):
            raise ValueError("job, policy: exactly one must be given")
        if self.job is not None and not 0 <= self.job < 2**32 - 1:
            raise ValueError(f"job: {self.job} is not a row")
        if not 0 <= self.at_us <= MAX_HORIZON_US:
            raise ValueError(f"at_us: {self.at_us} is not a time")


class RunHeader(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """All of a saved run except arrays.

    ``version``, ``libraries``: of gpusched, and of Python and the libraries that the package
        computes with.
    ``spec``: specification at the start, with all jobs submitted since.
    ``verify``, ``max_intervals``: as for :func:`gpusched.simulate`.
    ``changes``: in the order of the instants.
    ``num_instants``, ``clock_us``, ``reached``: progress of the run: number of instants, time in
        microseconds, and digest of its state.
    ``wall_s``: wall time so far, seconds.
    ``model``: model of a predictor trained before the run.
    """

    version: str
    libraries: str
    spec: RunSpec
    verify: bool
    changes: tuple[StoredChange, ...]
    num_instants: int
    clock_us: int
    reached: str
    wall_s: float
    trace: TraceHeader
    model: ModelHeader | None = None
    max_intervals: int | None = None

    def __post_init__(self) -> None:
        if not 0 <= self.num_instants <= _MOST:
            raise ValueError(f"num_instants: {self.num_instants} is not a number of instants")
        if not 0 <= self.clock_us <= MAX_HORIZON_US:
            raise ValueError(f"clock_us: {self.clock_us} is not a time")
        order = [0, *(change.num_instants for change in self.changes), self.num_instants]
        if order != sorted(order):
            raise ValueError("changes: must be in the order of the instants")


_OBJECT: Final = "python:"
"""Start of the label of an object that cannot be rebuilt from its text."""


def store(
    path: str | os.PathLike[str],
    course: Course,
    run: _core.Run,
    online: OnlineRun | None,
    clock_us: int,
    wall_s: float,
) -> None:
    """Write a run, replacing an older file once it is complete.

    Errors as for :meth:`gpusched.Simulation.save`.
    """
    first = course.first
    reached = reached_by(run, online, clock_us)
    pickles: dict[str, bytes] = {}
    for role, chosen in (("policy", first.policy), ("placement", first.placement)):
        if chosen.label.startswith(_OBJECT):
            pickles[role] = _pickled(role, copied(chosen).native)
    model: ModelHeader | None = None
    learned: dict[str, AnyArray] = {}
    if first.learner is not None:
        if _is_pickled(first.learner, first.spec.python):
            pickles["predictor"] = _pickled("predictor", first.learner)
        else:
            model, learned = _model_of(first.learner)
    trace_header, arrays = trace_members(first.trace)
    arrays |= outage_members(first.outages)
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
    arrays |= {f"{_MODEL}{name}": array for name, array in learned.items()}
    for role, pickled in pickles.items():
        arrays[f"{_PICKLE}{role}"] = np.frombuffer(pickled, dtype=np.uint8)
    container.write(path, KIND, msgspec.json.encode(header), arrays)


def restored(
    path: str | os.PathLike[str], *, trust_python: bool, max_bytes: int | None
) -> tuple[RunHeader, Course]:
    """Return the start of a saved run, and its changes; errors as for :func:`resume`."""
    with naming(path, "not a readable gpusched run"):
        encoded, arrays = container.read(path, KIND, max_bytes=max_bytes)
        header = msgspec.json.decode(encoded, type=RunHeader, strict=True)
        trace = stored_trace(header.trace, arrays)
        if fingerprint(trace) != header.spec.trace.sha256:
            raise ValueError("its trace does not match the stored digest: it was changed")
        learned = _behind(_MODEL, arrays)
        pickles = {}
        for role, array in _behind(_PICKLE, arrays).items():
            if array.dtype != np.uint8 or array.ndim != 1:
                raise ValueError(f"{_PICKLE}{role} does not hold bytes")
            pickles[role] = array.tobytes()
        outages = stored_outages(header.spec, arrays)
        left = {name for name in arrays if not name.startswith((_MODEL, _PICKLE))}
        left -= TRACE_MEMBERS | OUTAGE_MEMBERS
        if left:
            raise ValueError(f"unexpected entry {min(left)}")
    if header.version != _core.__version__:
        raise ValueError(
            f"{os.fspath(path)}: saved by gpusched {header.version}, but this is "
            f"{_core.__version__}, whose rules may differ; resume it with gpusched {header.version}"
        )
    if pickles and not trust_python:
        held = ", ".join(sorted(pickles))
        raise ValueError(
            f"{os.fspath(path)}: holds Python objects ({held}); loading them can run any "
            "code; if you trust the source of the file, pass trust_python=True"
        )
    with naming(path, "not a readable gpusched run"):
        return header, _course(header, trace, outages, learned, pickles)


def _behind(prefix: str, arrays: Mapping[str, AnyArray]) -> dict[str, AnyArray]:
    """Return the arrays with this prefix, without it."""
    return {
        name.removeprefix(prefix): array
        for name, array in arrays.items()
        if name.startswith(prefix)
    }


def check_reached(header: RunHeader, run: _core.Run, online: OnlineRun | None) -> None:
    """Raise a ValueError unless the replay has reached the saved state."""
    is_as_far = run.num_instants == header.num_instants
    if is_as_far and reached_by(run, online, header.clock_us) == header.reached:
        return
    there = ""
    if header.libraries != versions():
        there = f"; it was saved with Python {header.libraries}, and this is Python {versions()}"
    raise ValueError(
        f"replay diverged from the saved state after {header.num_instants:,} instants: the "
        f"core, or a library it computes with, decides differently here{there}"
    )


def reached_by(run: _core.Run, online: OnlineRun | None, clock_us: int) -> str:
    """Return a SHA-256 of the log so far, of waiting and running jobs, and of predictions."""
    sha = hashlib.sha256(run.glimpse().digest.encode())
    state: Mapping[str, Any] = run.state() | {
        "clock_us": clock_us,
        "next_us": -1 if run.next_us is None else run.next_us,
        "now_us": run.now_us,
        "num_instants": run.num_instants,
    }
    for name in sorted(state):
        values = np.asarray(state[name])
        if name == "held" and not len(values):  # as in files of runs that hold no job
            continue
        sha.update(f" {name} {values.dtype.newbyteorder('<').str} {values.shape} ".encode())
        sha.update(np.ascontiguousarray(values).tobytes())
    if online is not None:
        sha.update(online.predicted_us.tobytes())
    return sha.hexdigest()


def _course(
    header: RunHeader,
    trace: Trace,
    outages: Outages | None,
    learned: dict[str, AnyArray],
    pickles: Mapping[str, bytes],
) -> Course:
    spec = header.spec
    _check_pickles(header, pickles)
    chosen = {
        role: _unpickled(role, pickles) if role in pickles else text
        for role, text in (("policy", spec.policy), ("placement", spec.placement))
    }
    ready = Ready(
        trace,
        spec.cluster,
        policy=chosen["policy"],
        placement=chosen["placement"],
        predictor=_predictor(header, learned, pickles),
        speed=spec.speed,
        contention=spec.contention,
        seed=spec.seed,
        outages=outages,
        kill_invalid_depend=bool(spec.kill_invalid_depend),
        priority_age_s=spec.priority_age_s or None,
        verify=header.verify,
        max_intervals=header.max_intervals,
    )
    check_same(spec, ready.spec, takes_unreadable=True)
    changes = tuple(_change(number, each, pickles) for number, each in enumerate(header.changes))
    return Course(ready, changes)


def _check_pickles(header: RunHeader, pickles: Mapping[str, bytes]) -> None:
    """Raise a ValueError unless the Python objects match the header."""
    spec = header.spec
    texts = {"policy": spec.policy, "placement": spec.placement, "predictor": spec.predictor}
    for number, change in enumerate(header.changes):
        texts[_role_of(number)] = change.policy or ""
    wanted = {role for role, text in texts.items() if text.startswith(_OBJECT)}
    found = set(pickles) - ({"predictor"} - wanted)  # also one of a registered class
    for role in sorted(found ^ wanted):
        is_there = "unexpected" if role in found else "missing"
        raise ValueError(f"python.{role}: {is_there}")


def _predictor(
    header: RunHeader, learned: dict[str, AnyArray], pickles: Mapping[str, bytes]
) -> Any:
    if header.model is None and learned:
        raise ValueError(f"unexpected entry model.{min(learned)}")
    if "predictor" in pickles:
        return _unpickled("predictor", pickles)
    if header.model is None:
        return header.spec.predictor
    from gpusched.prediction.learner import trained

    return trained(header.model, learned)


def _role_of(number: int) -> str:
    return f"policy.{number + 1}"


def _stored(number: int, change: Change, pickles: dict[str, bytes]) -> StoredChange:
    if change.policy is None:
        return StoredChange(change.num_instants, change.at_us, change.job, what=change.what)
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
    return Change(stored.num_instants, stored.at_us, stored.job, chosen, stored.what)


def _is_pickled(learner: Predictor, known: tuple[PythonObject, ...]) -> bool:
    """Whether it cannot be rebuilt from its text and its training data."""
    if not learner.registered_name:
        return True
    own = next((thing for thing in known if thing.role == "predictor"), None)
    if own is None:  # one of gpusched
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
        raise ValueError(f"{role}: the Python object cannot be loaded here: {error}") from error
