"""gpusched's own JSON; it also reports errors of files that no other format recognises."""

from __future__ import annotations

import json
from codecs import BOM_UTF8
from collections.abc import Sequence
from typing import Any

import msgspec

from gpusched.base.source import Source
from gpusched.online.cluster_state import ClusterState
from gpusched.online.states.state_formats import StateFormat, register_state_format
from gpusched.online.states.state_schema import StateFile, state_of

LAST = 1_000


def read(sources: Sequence[Source]) -> ClusterState:
    """Read one file; its schema is that of :func:`gpusched.online.state_schema`."""
    if len(sources) != 1:
        raise ValueError(f"a state in gpusched's format must be one file, not {len(sources)}")
    data = sources[0].data.removeprefix(BOM_UTF8)
    return state_of(msgspec.json.decode(data, type=StateFile, strict=True))


def _excerpt() -> dict[str, bytes]:
    held = [{"server": 1, "gpus": list(range(8))}]
    document: dict[str, Any] = {
        "now_s": 1800,
        "cluster": {"servers": [{"count": 2, "gpus": 8}]},
        "server_names": ["gpu01", "gpu02"],
        "jobs": [
            {"id": "a", "submit_s": 0, "gpus": 8, "service_s": 3600, "start_s": 0, "held": held},
            {"id": "b", "submit_s": 10, "gpus": 16, "service_s": 60},
            {"id": "c", "submit_s": 20, "gpus": 4, "service_s": 60},
        ],
    }
    return {"state.json": json.dumps(document, indent=1).encode()}


register_state_format(
    StateFormat(
        name="gpusched",
        summary="gpusched's own JSON; gpusched decide --schema prints its schema.",
        source="gpusched.",
        detection="one file that no other format recognises",
        recognises=lambda sources: len(sources) == 1,
        read=read,
        excerpt=_excerpt,
        rank=LAST,
    )
)
