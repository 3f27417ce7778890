"""Decisions as lines of JSON: a request in, an answer out, for a controller in any language."""

from __future__ import annotations

from base64 import b64decode, b64encode
from typing import Any, Final, Literal

import msgspec

from gpusched import _core
from gpusched.base.files import in_a_line
from gpusched.base.suggest import HintedError, nearest
from gpusched.online.decision import ClusterDecision, decide
from gpusched.online.states.state_schema import StateFile, state_of

Id = str | int | None


class Request(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One decision that is asked for.

    Attributes
    ----------
    state
        The cluster now.
    id
        Given back in the answer.
    policy, placement, seed
        As of :func:`gpusched.decide`; absent: what the command was given.
    memory
        As of :func:`gpusched.decide`, in base64: empty for the first decision of a policy that
        remembers, then what the answer before gave. Absent: the state alone decides.
    explain
        Whether the answer says of each job that stays waiting why.
    """

    state: StateFile
    id: Id = None
    policy: str | None = None
    placement: str | None = None
    seed: int | None = None
    memory: str | None = None
    explain: bool = False


class Held(msgspec.Struct, frozen=True, omit_defaults=True):
    """GPUs on one server: its position in the cluster, their numbers, its name if it has one."""

    server: int
    gpus: tuple[int, ...]
    name: str | None = None


class Action(msgspec.Struct, frozen=True):
    """What is to be done with a job, where, and why; in an order in which it can be done."""

    what: Literal["preempt", "start", "resize", "reject"]
    id: str
    gpus: int
    held: tuple[Held, ...]
    why: str


class Stay(msgspec.Struct, frozen=True):
    """A job that stays waiting, and why."""

    id: str
    why: str


class Answer(msgspec.Struct, frozen=True):
    """A decision.

    Attributes
    ----------
    id
        That of the request.
    now_s
        That of the state.
    actions
        What to do.
    waiting
        The jobs that stay waiting; null unless that was asked for.
    wake_s
        When the policy wants to be asked again, whatever happens by then; null if only what happens
        matters.
    decision_s
        Seconds that it took.
    memory
        To be passed along, if the request had one.
    """

    id: Id
    now_s: float
    actions: tuple[Action, ...]
    waiting: tuple[Stay, ...] | None
    wake_s: float | None
    decision_s: float
    memory: str | None


class Refusal(msgspec.Struct, frozen=True):
    """A request that cannot be answered, and why; ``id`` is null where the request has none."""

    id: Id
    error: str


class _Named(msgspec.Struct):
    id: Id = None


_MISTAKES: Final = (ValueError, TypeError, OverflowError, RecursionError, _core.InvariantError)


def answer(line: bytes, defaults: dict[str, Any]) -> bytes:
    """Return the line that answers one line, without its end; a mistake is answered, not raised.

    Parameters
    ----------
    defaults
        ``policy``, ``placement`` and ``seed`` for requests without.
    """
    try:
        request = msgspec.json.decode(line, type=Request, strict=True)
    except (*_MISTAKES, UnicodeDecodeError) as error:
        return _refusal(_id_of(line), error)
    given = {name: getattr(request, name) for name in defaults}
    chosen = {name: value for name, value in given.items() if value is not None}
    try:
        if request.memory is not None:
            chosen["memory"] = _unpacked(request.memory)
        found = decide(state_of(request.state), **{**defaults, **chosen})
        return msgspec.json.encode(answer_of(found, id=request.id, explain=request.explain))
    except _MISTAKES as error:
        return _refusal(request.id, error)


def answer_of(found: ClusterDecision, *, id: Id = None, explain: bool = True) -> Answer:
    """Return a decision as plain values."""
    state = found.state
    names = [str(name) for name in state.jobs.id]
    gpus = state.jobs.gpus
    held = _held(found)
    rows = [*zip(found.what.tolist(), found.job.tolist(), strict=True)]
    rows += [("reject", job) for job in found.rejected.tolist()]
    actions = tuple(
        Action(
            what, names[job], int(gpus[job]),
            tuple(held.get(job, ())) if what in ("start", "resize") else (), found.why(job),
        )
        for what, job in rows
    )  # fmt: skip
    waiting = None
    if explain:
        acted = {job for _, job in rows}
        waits = (~state.is_running).nonzero()[0].tolist()
        waiting = tuple(Stay(names[row], found.why(row)) for row in waits if row not in acted)
    memory = None if found.memory is None else b64encode(found.memory).decode()
    return Answer(id, state.now_s, actions, waiting, found.wake_s, found.decision_s, memory)


def _held(found: ClusterDecision) -> dict[int, list[Held]]:
    """Return the GPUs that each job gets, by the numbers and names of the state's source."""
    servers = found.state.servers
    held: dict[int, list[Held]] = {}
    columns = (found.held_job, found.held_server, found.held_mask)
    for job, server, mask in zip(*(column.tolist() for column in columns), strict=True):
        bits = [bit for bit in range(64) if mask >> bit & 1]
        own = servers[server] if servers else None
        numbers = tuple(own.gpus[bit] for bit in bits) if own else tuple(bits)
        held.setdefault(job, []).append(Held(server, numbers, own.name if own else None))
    return held


def _unpacked(memory: str) -> bytes:
    try:
        return b64decode(memory, validate=True)
    except ValueError:
        raise ValueError("memory: is no base64") from None


def _id_of(line: bytes) -> Id:
    """Return the id of a request that cannot be read, if that part of it can."""
    try:
        return msgspec.json.decode(line, type=_Named, strict=True).id
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
        return None


def _refusal(id: Id, error: BaseException) -> bytes:
    told = error.command_text if isinstance(error, HintedError) else str(error)
    return msgspec.json.encode(Refusal(id, in_a_line(" ".join(told.split()))))


Part = Literal["state", "request", "answer"]
_TYPES: Final[dict[str, list[Any]]] = {
    "state": [StateFile],
    "request": [Request],
    "answer": [Answer, Refusal],
}


def state_schema(of: Part = "state") -> dict[str, Any]:
    """Return the JSON schema of a state as we write it, or of the lines of a stream.

    Parameters
    ----------
    of
        ``"state"``: the files that :func:`gpusched.online.read_state` reads as our own.
        ``"request"`` and ``"answer"``: the lines that ``gpusched decide --stream`` reads and
        writes.

    Returns
    -------
    dict
        As of JSON Schema 2020-12.

    Raises
    ------
    ValueError
        If there is no such schema.

    Examples
    --------
    >>> sorted(gs.online.state_schema()["$defs"]["StateFile"]["required"])
    ['cluster', 'jobs', 'now_s']
    >>> gs.online.state_schema("request")["$defs"]["Request"]["required"]
    ['state']
    """
    if of not in _TYPES:
        raise ValueError(f"of: unknown schema {of!r}{nearest(str(of), list(_TYPES))}")
    either, parts = msgspec.json.schema_components(_TYPES[of], ref_template="#/$defs/{name}")
    chosen = either[0] if len(either) == 1 else {"anyOf": list(either)}
    return {**chosen, "$defs": parts}
