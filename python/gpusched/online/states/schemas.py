"""The JSON schemas of what is read and written: states, and the lines of a stream."""

from __future__ import annotations

from typing import Any, Final, Literal

import msgspec

from gpusched.base.suggest import nearest
from gpusched.online.decision_lines import Answer, Refusal, Request
from gpusched.online.states.state_schema import StateFile

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
