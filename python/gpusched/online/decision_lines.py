"""Decisions over a JSON-lines protocol: one request per line, one reply per line."""

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
    """A request for one decision.

    ``state``: the current cluster state.
    ``id``: returned in the reply.
    ``policy``, ``placement``, ``seed``: as for :func:`gpusched.decide`; default: those of the
        command.
    ``memory``: as for :func:`gpusched.decide`, in base64: empty for the first decision of a policy
        with memory, then the memory of the previous reply. Absent: no memory.
    ``explain``: whether the reply explains why each remaining job waits.
    """

    state: StateFile
    id: Id = None
    policy: str | None = None
    placement: str | None = None
    seed: int | None = None
    memory: str | None = None
    explain: bool = False


class Held(msgspec.Struct, frozen=True, omit_defaults=True):
    """GPUs on one server: its position in the cluster, their numbers, and its name if any."""

    server: int
    gpus: tuple[int, ...]
    name: str | None = None


class Action(msgspec.Struct, frozen=True):
    """An action on a job: what, on which GPUs, and why. Actions are in a feasible order."""

    what: Literal["preempt", "start", "resize", "reject"]
    id: str
    gpus: int
    held: tuple[Held, ...]
    why: str


class Stay(msgspec.Struct, frozen=True):
    """A job that keeps waiting, and why."""

    id: str
    why: str


class Answer(msgspec.Struct, frozen=True):
    """A decision.

    ``id``: the id of the request.
    ``now_s``: the time of the state.
    ``actions``: the actions.
    ``waiting``: the jobs that keep waiting; null unless the request has ``explain``.
    ``wake_s``: time of the policy's requested wake-up, even if nothing happens before; null if it
        only reacts to events.
    ``decision_s``: seconds that the decision took.
    ``memory``: memory for the next request, if this one had some.
    """

    id: Id
    now_s: float
    actions: tuple[Action, ...]
    waiting: tuple[Stay, ...] | None
    wake_s: float | None
    decision_s: float
    memory: str | None


class Refusal(msgspec.Struct, frozen=True):
    """The error of an invalid request; ``id`` is null if the request has none."""

    id: Id
    error: str


class _Named(msgspec.Struct):
    id: Id = None


_MISTAKES: Final = (ValueError, TypeError, OverflowError, RecursionError, _core.InvariantError)


def answer(line: bytes, defaults: dict[str, Any]) -> bytes:
    """Return the reply to one request line, without line end; errors become replies, too.

    ``defaults``: ``policy``, ``placement`` and ``seed`` for requests without them.
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
    """Return the GPUs that each job gets, with numbers and names of the state's source."""
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
        raise ValueError("memory: must be base64") from None


def _id_of(line: bytes) -> Id:
    """Return the id of an invalid request, if it can be read."""
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
    """Return the JSON schema of state files, or of the lines of a decision stream.

    Parameters
    ----------
    of
        ``"state"``: files in gpusched's own format for :func:`gpusched.online.read_state`.
        ``"request"`` and ``"answer"``: the lines that ``gpusched decide --stream`` reads and
        writes.

    Returns
    -------
    dict
        A JSON Schema 2020-12.

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
