"""Tables of jobs as Parquet files."""

from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from gpusched.schedules.jobs_table import write_jobs

FRAME = pl.DataFrame(
    {
        "policy": pl.Series(["fifo", "sjf", "fifo"], dtype=pl.Enum(["fifo", "sjf"])),
        "status": ["finished", "rejected", "unfinished"],
        "reason": ["", "", ""],
        "user": ["ann", None, "somebody whose name is long"],
        "wait_s": [0.5, None, 2.0],
    }
)


@pytest.mark.parametrize("rows", [0, 3])
@pytest.mark.parametrize("compression", ["lz4", "zstd"])
def test_a_file_reads_back_as_one_of_polars_own_does(rows, compression, tmp_path):
    path, plain = tmp_path / "frame.parquet", tmp_path / "plain.parquet"
    write_jobs(FRAME.head(rows), path, compression)
    FRAME.head(rows).write_parquet(plain)
    assert_frame_equal(pl.read_parquet(path), pl.read_parquet(plain))


def test_a_version_of_polars_that_takes_no_schema_writes_the_same(monkeypatch, tmp_path):
    write = pl.DataFrame.write_parquet

    def without_schema(self: pl.DataFrame, path: Path, *, compression: str) -> None:
        write(self, path, compression=compression)

    monkeypatch.setattr(pl.DataFrame, "write_parquet", without_schema)
    write_jobs(FRAME, tmp_path / "frame.parquet")
    assert_frame_equal(pl.read_parquet(tmp_path / "frame.parquet"), FRAME)


def test_readers_of_arrow_find_texts(tmp_path):
    pa = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    write_jobs(FRAME, tmp_path / "frame.parquet")
    texts = parquet.read_table(tmp_path / "frame.parquet")["reason"]
    assert texts.cast(pa.string()).to_pylist() == ["", "", ""]
