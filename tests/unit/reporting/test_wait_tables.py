"""The tables of the report that tell who waits."""

from __future__ import annotations

import re
from typing import Any

import polars as pl
import pytest

import gpusched as gs
from gpusched.base.wording import duration
from gpusched.reporting.tables import MOST_GROUPS, wait_tables
from gpusched.studies.comparison import Comparison


def rows_of(page: str, by: str) -> dict[str, list[str]]:
    """Return the cells of each group of a table."""
    table = page.split(f"<summary>Waits by {by}</summary>")[1].split("</table>")[0]
    found = re.findall(r'<tr><th scope="row">(.*?)</th>(.*?)</tr>', table)
    return {name: re.findall(r"<td[^>]*>(.*?)</td>", cells) for name, cells in found}


@pytest.fixture(scope="module")
def compared() -> Comparison:
    types = gs.Cluster((gs.ServerGroup(2, 8, "V100"), gs.ServerGroup(2, 8, "A100")))
    trace = gs.generate("philly", 600, load=1.2, cluster=types, seed=2)
    return gs.compare(trace, types, ["fifo", "srtf"])


@pytest.mark.parametrize(
    ("by", "title"),
    [("gpus", "number of GPUs"), ("queue", "queue"), ("type", "GPU type that jobs held")],
)
def test_a_table_has_the_percentiles_of_each_group_under_each_policy(compared, by, title):
    rows = rows_of(wait_tables(compared), title)
    for number, (label, result) in enumerate(compared.results.items()):
        frame = result.by(by)
        assert set(rows) >= set(frame[by].to_list()), label
        for row in frame.iter_rows(named=True):
            waits = (row[f"p{percent}_wait_s"] for percent in (50, 95, 99))
            wanted = " / ".join(duration(wait) if wait else "0" for wait in waits)
            assert rows[row[by]][1 + number] == wanted
    counts = compared.by(by).group_by(by).agg(low=pl.col("num_jobs").min(), high=pl.max("num_jobs"))
    for name, low, high in counts.iter_rows():
        assert rows[name][0].replace(",", "") == (str(low) if low == high else f"{low}-{high}")


def test_what_all_jobs_share_has_no_table_and_many_users_are_cut():
    users = [f"<u{index % 50}>" for index in range(100)]
    trace = gs.Trace.from_columns(range(100), [60] * 100, [8] * 100, user=users)
    page = wait_tables(gs.compare(trace, gs.Cluster.uniform(2, 8), ["fifo"]))
    assert len(rows_of(page, "user")) == MOST_GROUPS
    assert "20 more, of less GPU time, are not shown." in page
    assert "<u1>" not in page
    assert "&lt;u1&gt;" in page
    for absent in ("queue", "group", "GPU type", "month"):
        assert f"Waits by {absent}" not in page


class Idle(gs.Scheduler):
    """Starts nothing."""

    def decide(self, state: Any, finished: Any, arrived: Any, actions: Any) -> None: ...


@pytest.mark.filterwarnings("ignore::gpusched.RunWarning")
def test_a_group_of_which_no_job_finished_has_no_waits():
    trace = gs.Trace.from_columns([0, 1], [60, 60], [8, 8], queue=["a", "b"])
    compared = gs.compare(trace, gs.Cluster.uniform(1, 8), ["fifo", Idle()])
    assert rows_of(wait_tables(compared), "queue")["b"] == ["1", "59.0 s / 59.0 s / 59.0 s", "-"]
