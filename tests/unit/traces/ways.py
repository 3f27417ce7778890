"""The ways on which a trace is written and read again."""

import pickle
from pathlib import Path

import gpusched as gs
from gpusched.traces.trace_store import stored_trace, trace_members
from gpusched.traces.writers import write_trace


def through_all(trace: gs.Trace, folder: Path) -> list[gs.Trace]:
    """The trace as it comes back from frames, files, the container and a pickle."""
    frame = trace.to_polars()
    found = [
        gs.Trace.from_polars(frame), gs.Trace.from_pandas(frame.to_pandas()),
        stored_trace(*trace_members(trace)), pickle.loads(pickle.dumps(trace)),
        trace.with_columns(),
    ]  # fmt: skip
    for ending in ("csv", "parquet", "npz"):
        write_trace(trace, folder / f"jobs.{ending}")
        found.append(gs.read_trace(folder / f"jobs.{ending}"))
    return found
