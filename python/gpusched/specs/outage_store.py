"""Outages as members of a file, which the specification of their run describes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from gpusched.base.arrays import AnyArray
from gpusched.model.outages import Outages
from gpusched.specs.run_spec import OutageSource, RunSpec
from gpusched.traces.trace_store import stored_column

_PREFIX: Final = "outages."
_COLUMNS: Final = {"server": "i4", "start_us": "i8", "end_us": "i8", "kind": "u1", "row": "i8"}
OUTAGE_MEMBERS: Final = frozenset(f"{_PREFIX}{name}" for name in (*_COLUMNS, "until_s", "known_us"))


def outage_members(outages: Outages | None) -> dict[str, AnyArray]:
    """Return the members of outages; none without any."""
    if not outages:
        return {}
    columns = {name: getattr(outages, name) for name in _COLUMNS}
    columns["until_s"] = np.array([] if outages.until_s is None else [outages.until_s])
    if outages.known_us is not None:
        columns["known_us"] = outages.known_us
    return {f"{_PREFIX}{name}": column for name, column in columns.items()}


def stored_outages(spec: RunSpec, arrays: Mapping[str, AnyArray]) -> Outages | None:
    """Return the stored outages; a ValueError names an invalid member."""
    if not spec.outages:
        if there := OUTAGE_MEMBERS & set(arrays):
            raise ValueError(f"unexpected entry {min(there)}")
        return None
    num_rows = spec.outages.num_rows
    until_s = stored_column(arrays, f"{_PREFIX}until_s", "f8", None).tolist()
    columns: dict[str, Any] = {
        name: stored_column(arrays, f"{_PREFIX}{name}", dtype, num_rows)
        for name, dtype in _COLUMNS.items()
    }
    if f"{_PREFIX}known_us" in arrays:
        columns["known_us"] = stored_column(arrays, f"{_PREFIX}known_us", "i8", num_rows)
    made = Outages(
        **columns,
        source=spec.outages.source,
        until_s=until_s[0] if until_s else None,
    )
    if OutageSource.of(made) != spec.outages:
        raise ValueError("its outages do not match the stored digest: they were changed")
    return made
