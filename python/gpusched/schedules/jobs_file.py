"""Tables of jobs as Parquet files: :func:`write_jobs`."""

from __future__ import annotations

import inspect
import os
from typing import TYPE_CHECKING, Any, Literal

from gpusched.base.replacing import replacing

if TYPE_CHECKING:
    import polars


def write_jobs(
    frame: polars.DataFrame,
    path: str | os.PathLike[str],
    compression: Literal["lz4", "zstd"] = "zstd",
) -> None:
    """Write ``frame`` as it is, its texts as the views that they are in memory.

    Polars otherwise copies all texts of a column into one buffer first; where they are all empty
    there is none, and comparing texts at an address that is not mapped takes some processors ten
    times as long.
    """
    import polars

    options: dict[str, Any] = {}
    if "arrow_schema" in inspect.signature(polars.DataFrame.write_parquet).parameters:
        options["arrow_schema"] = frame.schema
    with replacing(path) as partial:
        frame.write_parquet(partial, compression=compression, **options)
