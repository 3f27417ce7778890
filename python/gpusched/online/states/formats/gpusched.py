"""gpusched's own JSON; it also reports errors of files that no other format recognises."""

from __future__ import annotations

from codecs import BOM_UTF8
from collections.abc import Sequence

import msgspec

from gpusched.base.source import Source
from gpusched.online.cluster_state import ClusterState
from gpusched.online.states.state_formats import StateFormat, register_state_format
from gpusched.online.states.state_schema import StateFile, state_of
from gpusched.traces.format_registry import excerpt_files

LAST = 1_000


def read(sources: Sequence[Source]) -> ClusterState:
    """Read one file; its schema is that of :func:`gpusched.online.state_schema`."""
    if len(sources) != 1:
        raise ValueError(f"a state in gpusched's format must be one file, not {len(sources)}")
    data = sources[0].data.removeprefix(BOM_UTF8)
    return state_of(msgspec.json.decode(data, type=StateFile, strict=True))


register_state_format(
    StateFormat(
        name="gpusched",
        summary="gpusched's own JSON; gpusched decide --schema prints its schema.",
        source="gpusched.",
        detection="one file that no other format recognises",
        recognises=lambda sources: len(sources) == 1,
        read=read,
        excerpt=excerpt_files(__file__, "state.json"),
        rank=LAST,
    )
)
