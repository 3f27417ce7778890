"""Compare all policies on the workloads of examples/field.toml, and write the page of it.

python -m bench.field                        # hours; real traces from $GPUSCHED_DATA, or --data
python -m bench.field --policy easy:extra=false        # one more row: what is kept is not run again
python -m bench.field --only fifo-skip --only mine --seeds 5 --out mine
"""

from __future__ import annotations

import argparse
import os
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import msgspec
import numpy as np
import polars as pl

import gpusched as gs
from gpusched.base.replacing import write_text
from gpusched.base.tables import Table, table
from gpusched.plugins.policy import Policy, known_choice

STUDY = Path(__file__).parents[1] / "examples" / "field.toml"
ORACLE = "oracle"
RANKED_BY = "mean_jct_s"
BASE = "fifo-skip"
"""What the rows are in the order of."""
_ASKS_FOR_MORE = ("deadlines", "elastic", "offline")
_KNOWS_SERVICES = ("clairvoyant", "estimate")
_SCALES = {"s": (1 / 3600, 2, "h"), "ratio": (1.0, 2, "")}
_HEAD = """\
<!-- Written by `python -m bench.field`: do not edit. -->

# The state of the field

All policies on the same jobs: the study `examples/field.toml`, which `gpusched sweep` runs,
measured by `{command}`. To add a policy, run the same command with `--policy NAME`: completed
runs are kept.

Jobs run whole, on servers of 8 GPUs under the placement `consolidated`. They do not slow each
other down, and each resume costs a job 60 s. The clusters behind the real traces are unknown
(ITP) or far larger than one window needs (Philly): each window has the fewest servers at which
`fifo-skip` keeps the mean wait within an hour. The generated workloads have a load of 0.9.

A policy that uses run times has two rows. One is with predictions (the mean of the user and group
where the jobs name them, else a random forest of one seed). The other, marked *clairvoyant*, is
with true run times. Only the former can be deployed, and only these are compared with each other.
Values are of typical runs, with 95% intervals over seeds (Hodges-Lehmann; with fewer than six
seeds their range). A value without an interval is of one run: on a real window only `random` and
a forest draw anything. Policies for deadlines, for elastic jobs and for complete batches are left
out. Policies that differ only where jobs communicate, have weights or are elastic have equal
values.
"""


def knows_services(policy: str) -> bool:
    """Whether a policy decides by services: then it has a row by predictions, and one by the truth.

    Raises
    ------
    ValueError
        If its name is not known, or it asks for deadlines, other widths or all jobs at the start.
    """
    choice = known_choice(Policy, policy)
    for flag in filter(choice.has, _ASKS_FOR_MORE):
        raise ValueError(f"policy {choice}: is {flag}, and the jobs are not made for that")
    return any(map(choice.has, _KNOWS_SERVICES))


def field_study(
    data: str | os.PathLike[str] | None = None,
    more: Iterable[str] = (),
    only: Iterable[str] | None = None,
    num_seeds: int | None = None,
) -> tuple[gs.Study, list[str]]:
    """Return the study of the windows that are there, and the names of those that are not.

    Parameters
    ----------
    data
        The folder of the published traces; None: ``$GPUSCHED_DATA``.
    more, only
        Policies in addition to those of the study, or instead of them, with options.
    num_seeds
        Fewer of the study's seeds.
    """
    folder = Path(data or os.environ.get("GPUSCHED_DATA") or "missing").absolute()
    study = gs.Study.from_toml(STUDY.read_bytes(), str(STUDY)).beside(folder)
    here = [not one.files or Path(one.files[0]).exists() for one in study.traces]
    traces = [one.label for one, is_here in zip(study.traces, here, strict=True) if is_here]
    names = dict.fromkeys([*(study.policies if only is None else only), *more])
    policies = {str(Policy.parse(name)): knows_services(name) for name in names}
    seeds = study.seeds[:num_seeds]
    tables = []
    for asked in study.runs:
        # A list of policies in the file is of those that decide by services.
        chosen = [name for name, knows in policies.items() if knows or "predictor" not in asked]
        if not isinstance(asked.get("policy"), list):
            chosen = [name for name in policies if name == asked.get("policy", name)]
        kept = {"policy": chosen, "trace": [t for t in asked.get("trace", traces) if t in traces]}
        if all(kept.values()):
            tables.append(asked | kept)
    entries = zip(study.traces, study.clusters, here, strict=True)
    shown = [(trace, cluster) for trace, cluster, is_here in entries if is_here]
    missing = [one.label for one in study.traces if one.label not in traces]
    return msgspec.structs.replace(
        study,
        traces=tuple(trace for trace, _ in shown),
        clusters=tuple(cluster for _, cluster in shown),
        policies=tuple(policies),
        seeds=seeds,
        runs=tuple(tables),
    ), missing


@dataclass(frozen=True)
class Standings:
    """All figures of all policies.

    Attributes
    ----------
    study
        What was run.
    runs
        Its finished runs, a row each.
    """

    study: gs.Study
    runs: pl.DataFrame

    @cached_property
    def rows(self) -> list[str]:
        """The rows of every table, those that can be deployed first."""
        told = [f"{name} (clairvoyant)" for name in self.study.policies if knows_services(name)]
        return [*self.study.policies, *told]

    @property
    def workloads(self) -> list[str]:
        """The names of the workloads."""
        return [one.label for one in self.study.traces]

    @cached_property
    def _figures(self) -> Mapping[tuple[object, ...], pl.DataFrame]:
        told = [name for name in self.study.policies if knows_services(name)]
        is_told = (pl.col("predictor") == ORACLE) & pl.col("policy").is_in(told)
        label = pl.when(is_told).then(pl.col("policy") + " (clairvoyant)").otherwise("policy")
        return self.runs.with_columns(row=label).sort("seed").partition_by(
            "row", "trace", as_dict=True
        )  # fmt: skip

    def values(self, row: str, workload: str, metric: str) -> np.ndarray:
        """Return a metric of a policy on a workload, a value per seed; empty if it is not there."""
        found = self._figures.get((row, workload))
        if found is None or metric not in found.columns:
            return np.empty(0)
        return found[metric].drop_nulls().drop_nans().to_numpy().astype(np.float64)

    @cached_property
    def complete(self) -> list[str]:
        """The rows that have finished on every workload; only these are compared."""
        return [
            row
            for row in self.rows
            if all(len(self.values(row, work, RANKED_BY)) for work in self.workloads)
        ]

    def compared(
        self, metric: str, *, is_deployable: bool = True
    ) -> gs.studies.ComparedRuns | None:
        """Compare the policies over the workloads; None if there is too little to compare.

        Parameters
        ----------
        metric
            Workloads that lack it for a policy are left out.
        is_deployable
            Compare only those that are not clairvoyant.
        """
        rows = [row for row in self.complete if not (is_deployable and "(clairv" in row)]
        found = {work: [self.values(row, work, metric) for row in rows] for work in self.workloads}
        frame = pl.DataFrame(
            [
                {"policy": row, "seed": work, metric: middle(values).value}
                for work, some in found.items()
                if all(map(len, some))
                for row, values in zip(rows, some, strict=True)
            ]
        )
        if not len(frame) or frame["seed"].n_unique() < 2 or len(rows) < 2:
            return None
        return gs.studies.compare_runs(frame, metric, baseline=BASE if BASE in rows else rows[0])


def middle(values: np.ndarray) -> gs.studies.Estimate:
    """What is typical of the seeds of a workload."""
    of = gs.studies.typical if (values > 0).all() else gs.studies.signed_rank
    return of(values)


def standing_table(standings: Standings, *, is_deployable: bool = True) -> Table:
    """Return what each policy typically is to the baseline, a column per metric."""
    metrics = standings.study.metrics
    tests = {name: standings.compared(name, is_deployable=is_deployable) for name in metrics}
    main = tests[RANKED_BY]
    title = f"Typical ratios of {'what can be deployed' if is_deployable else 'all'}"
    if main is None:
        return table(title, ("policy", *map(_label, metrics)), [])
    frames = {
        name: {row["policy"]: row for row in test.frame.iter_rows(named=True)}
        for name, test in tests.items()
        if test is not None
    }

    def cell(name: str, policy: str) -> str:
        row = frames.get(name, {}).get(policy)
        if row is None:
            return "-"
        value, p = row[tests[name].scale], row["p_adjusted"]
        return f"{value:.2f}{'*' if p is not None and p <= 0.05 else ''}"

    order = sorted(frames[RANKED_BY].values(), key=lambda row: row["ratio"])
    body = [
        (row["policy"], *(cell(name, row["policy"]) for name in metrics),
         "-" if row["num_better"] is None else f"{row['num_better']}/{row['num_pairs']}")
        for row in order
    ]  # fmt: skip
    notes = [
        f"To {main.baseline}, over {len(standings.workloads)} workloads: what a policy "
        "typically is times it on the same jobs (Hodges-Lehmann of the logarithms; where a metric "
        "may be zero, by how much it differs). * exact signed-rank, Holm over the policies: p of "
        f"at most 0.05. Better: workloads in which its {_label(RANKED_BY)} is lower."
    ]
    return table(title, ("policy", *map(_label, metrics), "better"), body, notes)


def workload_table(standings: Standings, place: int) -> Table:
    """Return all figures of one workload, ordered by the mean JCT."""
    work, metrics = standings.workloads[place], standings.study.metrics
    found: list[tuple[float, tuple[str, ...]]] = []
    for row in standings.rows:
        if len(values := standings.values(row, work, RANKED_BY)):
            cells = (_cell(standings.values(row, work, name), name) for name in metrics)
            found.append((middle(values).value, (row, *cells)))
    body = [cells for _, cells in sorted(found, key=lambda one: one[0])]
    title = f"{work}, {standings.study.clusters[place].servers} servers of 8 GPUs"
    columns = (
        f"{_label(name)}, {_SCALES[gs.metrics()[name].unit][2]}".removesuffix(", ")
        for name in metrics
    )
    return table(title, ("policy", *columns), body)


def page(standings: Standings, command: str, missing: Sequence[str]) -> str:
    """Return the page in Markdown."""
    parts = [_HEAD.format(command=command)]
    if missing:
        parts.append(f"Left out, as the data are not there: {', '.join(missing)}.\n")
    unfinished = [row for row in standings.rows if row not in standings.complete]
    if unfinished:
        parts.append(
            f"Not compared, as some runs are not done or failed: {', '.join(unfinished)}.\n"
        )
    both = [standing_table(standings), standing_table(standings, is_deployable=False)]
    parts += ["## All workloads\n", *(one.to_markdown() for one in both), "## Every workload\n"]
    places = range(len(standings.workloads))
    return "\n".join([*parts, *(workload_table(standings, at).to_markdown() for at in places)])


def _label(metric: str) -> str:
    return gs.metrics()[metric].label


def _cell(values: np.ndarray, metric: str) -> str:
    if not len(values):
        return "-"
    scale, digits, _ = _SCALES[gs.metrics()[metric].unit]
    found = middle(values)
    value, low, high = (f"{end * scale:.{digits}f}" for end in (found.value, found.low, found.high))
    return value if found.num == 1 else f"{value} [{low}, {high}]"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, prog="python -m bench.field")
    parser.add_argument("--data", help="the folder of the published traces")
    parser.add_argument("--policy", action="append", default=[], help="one more, with options")
    parser.add_argument("--only", action="append", help="this one in place of those of the study")
    parser.add_argument("--seeds", type=int, help="fewer than the study has")
    parser.add_argument("--out", type=Path, default=Path("field"), help="field.md and the runs")
    parser.add_argument("--executor", default="processes", help="as of gs.sweep")
    given = parser.parse_args()
    study, missing = field_study(given.data, given.policy, given.only, given.seeds)
    result = gs.sweep(study, folder=given.out / "runs", executor=given.executor, progress=True)
    words = ["python", "-m", "bench.field"]
    words += [word for name in given.policy for word in ("--policy", name)]
    words += [word for name in given.only or () for word in ("--only", name)]
    words += ["--seeds", str(given.seeds)] if given.seeds else []
    standings = Standings(study, result.finished)
    write_text(given.out / "field.md", page(standings, shlex.join(words), missing))
    for is_deployable in (True, False):
        print(standing_table(standings, is_deployable=is_deployable).to_markdown())
    print(*result.warnings, f"wrote {given.out / 'field.md'}", sep="\n")


if __name__ == "__main__":
    main()
