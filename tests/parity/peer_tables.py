"""Our baselines beside the authors' programs, as tables of docs/studies/data/baselines.md.

python -m tests.parity.peer_tables    # prints both; needs $GPUSCHED_DATA
"""

from collections.abc import Iterable
from typing import Any

import numpy as np

import gpusched as gs
from tests.parity import test_peer_elasticflow as elasticflow
from tests.parity import test_peer_gavel as gavel
from tests.parity import test_peers as pool

Row = tuple[str, ...]

COUNT_HEAD: Row = ("baseline", "program", "ours", "equal", "of", "what is compared")
GAVEL_HEAD: Row = ("policy there", "ours", "mean JCT there", "ours", "off", "rank correlation")

TITLES = {
    "tiresias_fifo_count": ("FIFO, head of line", "Tiresias"),
    "tiresias_srtf_count": ("SRTF", "Tiresias"),
    "tiresias_las_count": ("discretised 2D-LAS", "Tiresias"),
    "lucid_fifo_consolidate": ("FIFO", "Lucid"),
    "lucid_sjf_consolidate": ("SJF", "Lucid"),
    "lucid_qssf_consolidate": ("QSSF, true services", "Lucid"),
    "lucid_srtf_consolidate": ("SRTF", "Lucid"),
    "lucid_tiresias_consolidate": ("Tiresias", "Lucid"),
}
ALL = "start, finish, preemptions"


def count_rows() -> Iterable[Row]:
    """How many jobs fare as in the program, policy by policy."""
    for name, (policy, placement, params) in pool.SAME_RULES.items():
        outcome = pool.core(pool.peer_jobs(), pool.SERVERS, policy, placement, policy_params=params)
        theirs = pool.rows(name, "start_s", "finish_s", "preemptions")
        ours = pool.in_seconds(outcome)
        spelling = f"`{gs.Policy(policy, **params)}`, `{placement}`"
        equal = sum(one == other for one, other in zip(ours, theirs, strict=True))
        yield (*TITLES[name], spelling, str(equal), str(len(theirs)), ALL)
    for name, site in elasticflow.SITES.items():
        trace = f"ElasticFlow, {name}"
        yield from edf_rows(name, trace, site.slot_s)
        yield from admission_rows(name, trace, site.slot_s)


def edf_rows(name: str, trace: str, slot_s: int) -> Iterable[Row]:
    """EDF without admission: who ends within the same second."""
    policy = f"edf-greatest:slot_s={slot_s}"
    ours = elasticflow.our_ends(elasticflow.run(name, policy))
    theirs = elasticflow.peer_ends(name, "edf")
    equal = sum(abs(ours[job] - end) <= 1.0 for job, end in theirs.items())
    yield ("EDF", trace, f"`{policy}`", str(equal), str(len(ours)), "finish, to the second")


def admission_rows(name: str, trace: str, slot_s: int) -> Iterable[Row]:
    """Who is admitted."""
    widest = elasticflow.WIDEST_ON_T4 if name == "fig8a" else None
    for title, rule, policy, limits in (
        ("EDF, admission", "edf-accessctrl", f"edf-greatest:admission=true,slot_s={slot_s}", None),
        ("ElasticFlow", "ef-accessctrl", f"elasticflow:slot_s={slot_s}", widest),
        ("ElasticFlow", "ef-accessctrl", f"elasticflow:admission=batch,slot_s={slot_s}", widest),
    ):
        result = elasticflow.run(name, policy, limits)
        ours = elasticflow.admitted(result)
        theirs = set(elasticflow.peer_ends(name, rule))
        num = len(result.trace)
        kind = f"admission: {len(ours)} here, {len(theirs)} there"
        yield (title, trace, f"`{policy}`", str(num - len(ours ^ theirs)), str(num), kind)


def gavel_rows() -> Iterable[Row]:
    """The mean and the order of job completion times."""
    for name, policy in gavel.OURS.items():
        ours, theirs = gavel.our_jct_s(policy), gavel.peer_jct_s(name)
        yield (
            f"`{name}`", f"`{policy}`", f"{theirs.mean():,.0f} s", f"{ours.mean():,.0f} s",
            f"{ours.mean() / theirs.mean() - 1:+.1%}",
            f"{gavel.rank_correlation(ours, theirs):.3f}",
        )  # fmt: skip


def table(head: Row, rows: Iterable[Row]) -> str:
    """Write a table in Markdown."""
    lines: list[Any] = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


def read(page: str, head: Row) -> list[Row]:
    """Read the rows of the table with this head."""
    lines = page.splitlines()
    begin = lines.index(f"| {' | '.join(head)} |") + 2
    rows: list[Row] = []
    for line in lines[begin:]:
        if not line.startswith("|"):
            break
        rows.append(tuple(cell.strip() for cell in line.strip("|").split("|")))
    return rows


if __name__ == "__main__":
    np.seterr(all="raise")
    print(table(COUNT_HEAD, count_rows()))
    print(table(GAVEL_HEAD, gavel_rows()))
