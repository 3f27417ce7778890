"""Tables of registered names inside of pages, between a line that names the table and its end.

A page holds ``<!-- table: metrics -->`` and ``<!-- end of table -->`` on lines of their own;
``docs/tables.py`` writes what stands between them.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final

import command_line
import messages
import python_api

import gpusched as gs
from gpusched.bounds.registry import known_bounds
from gpusched.traces.auditing.check_registry import trace_checks
from gpusched.traces.format_registry import trace_formats
from gpusched.traces.intake.column_choice import ALIASES, MORE_ALIASES
from gpusched.traces.job_columns import JOB_COLUMNS, JobColumn
from gpusched_papers.claims import MEANINGS
from gpusched_papers.registry import known_papers

DOCS: Final = Path(__file__).resolve().parent
_MARKED: Final = re.compile(
    r"(<!-- table: (?P<name>[\w ]+) -->\n)(?P<rows>.*?)(<!-- end of table -->\n)", re.DOTALL
)


def marked(text: str) -> str:
    """Return ``text`` with every marked table written anew."""
    return _MARKED.sub(lambda found: f"{found[1]}\n{_TABLES[found['name']]()}\n{found[4]}", text)


def pages() -> dict[Path, str]:
    """Return each page that marks a table, as it should be."""
    texts = {path: path.read_text("utf-8") for path in sorted(DOCS.rglob("*.md"))}
    return {path: marked(text) for path, text in texts.items() if names_in(text)}


def names_in(text: str) -> list[str]:
    """Names of the tables that a text marks."""
    return [found["name"] for found in _MARKED.finditer(text)]


def _metrics(*needs: str) -> str:
    rows = (
        (
            f"`{metric.key}`",
            metric.unit,
            metric.better,
            metric.window if metric.is_of_parts else "-",
            metric.definition or metric.summary,
        )
        for metric in gs.metrics().values()
        if _part(metric.needs) in needs
    )
    return table(("key", "unit", "better", "window", "definition"), rows)


def _part(needs: tuple[str, ...]) -> str:
    """The section in which a metric stands, by what it needs."""
    if "admissions" in needs:
        return "deadlines"
    parts = ("deadlines", "contention", "predictions", "failures", "holds")
    return next((need for need in parts if need in needs), "")


def _bounds(*quantities: str) -> str:
    rows = (
        (f"`{bound.name}`", bound.quantity, bound.summary, bound.assumptions, bound.source)
        for bound in known_bounds().values()
        if bound.quantity in quantities
    )
    return table(("name", "of", "why no schedule is better", "assumptions", "source"), rows)


def _formats() -> str:
    rows = (
        (
            f"`{known.name}`",
            known.summary.removesuffix("."),
            known.detection,
            ", ".join(f"`.{ending}`" for ending in known.endings),
            ", ".join(f"`{option}`" for option in known.options),
            known.source,
        )
        for known in trace_formats().values()
    )
    return table(("name", "what", "recognised by", "written as", "options", "source"), rows)


def _job_columns() -> str:
    rows = (
        (
            f"`{column.name}`",
            column.text.removesuffix(".") + ("" if column.is_used else "; kept, used by no policy"),
            _values(column),
            _empty(column),
            _absent(column),
        )
        for column in JOB_COLUMNS.values()
        if column.kind != "model"
    )
    return table(("column", "meaning", "values", "an empty value", "without the column"), rows)


_KINDS: Final = {
    "duration": "s", "moment": "s or a date", "whole": "whole number", "amount": "number",
    "number": "number", "label": "text", "id": "whole number or text", "types": "text",
}  # fmt: skip


def _values(column: JobColumn) -> str:
    """What a value may be; the greatest values that numbers of their type hold are left out."""
    bounds = [
        f"{word} {bound:g}"
        for word, bound in (("above", column.above), ("at least", column.least))
        if bound is not None
    ]
    if column.most is not None and column.most <= 1:
        bounds.append(f"at most {column.most:g}")
    if column.beside is not None:
        bounds.append(column.beside.rule)
    return ", ".join([_KINDS[column.kind], *bounds])


def _column_names() -> str:
    names = dict.fromkeys([*ALIASES, *MORE_ALIASES])
    rows = (
        (
            f"`{name}`",
            ", ".join(f"`{other}`" for other in ALIASES.get(name, ())),
            ", ".join(f"`{other}`" for other in MORE_ALIASES.get(name, ())),
        )
        for name in names
    )
    return table(("column", "also read as", "if none of these exists"), rows)


def _empty(column: JobColumn) -> str:
    """What a missing value of a column stands for."""
    if column.kind == "id" or (column.is_numeric and not column.may_miss):
        return "an error"
    if column.is_null or not column.is_numeric:
        return column.default if column.default == "unknown" else "none"
    return _default(column)


def _absent(column: JobColumn) -> str:
    """What jobs of a trace without the column have."""
    if column.kind == "id":
        return "the position"
    if column.is_required:
        return "an error"
    return _default(column) if column.is_numeric and not column.is_null else _empty(column)


def _default(column: JobColumn) -> str:
    return f"{column.default / column.units:g}"


def _trace_checks() -> str:
    rows = (
        (f"`{check.name}`", check.summary, check.effect, check.threshold)
        for check in trace_checks().values()
    )
    return table(("check", "what it looks for", "what it does to a study", "threshold"), rows)


def _papers() -> str:
    rows = (
        (f"`{paper.name}`", paper.title, paper.source, ", ".join(paper.reproduces))
        for paper in known_papers().values()
    )
    return table(("name", "paper", "source", "reproduces"), rows)


def _known() -> str:
    return table(("word", "what it says"), ((f"[{word}]", text) for word, text in MEANINGS.items()))


def _laws() -> str:
    rows = (
        (f"`{law.name}`", ", ".join(law.roles), law.sentence) for law in gs.testing.laws().values()
    )
    return table(("law", "asked of", "what holds"), rows)


def _claims() -> str:
    rows = ((f"`{name}`", text) for name, text in gs.testing.claims().items())
    return table(("claim", "what it says"), rows)


def _field_ranks() -> str:
    rows = (
        (f"`{row['policy']}`", *(row[key] for key in _FIELD_RANKS))
        for row in _data("field-ranks.csv")
        if row["ranked_among"] == "21"
    )
    return table(("policy", *_FIELD_RANKS.values()), rows)


def _field_workloads() -> str:
    order = [row["policy"] for row in _data("field-ranks.csv") if row["ranked_among"] == "21"]
    found = {
        (row["workload"], row["policy"]): row
        for row in _data("field.csv")
        if row["run_times"] != "true"
    }
    rows = (
        (
            f"`{policy}`",
            *(found[workload, policy][key] for workload in _FIELD_SHOWN for key in _FIELD_VALUES),
        )
        for policy in order
    )
    head = (f"{of}: {what}" for of in _FIELD_SHOWN.values() for what in _FIELD_VALUES.values())
    return table(("policy", *head), rows)


def _data(name: str) -> list[dict[str, str]]:
    """Rows of a file with data of the studies."""
    with (DOCS / "studies" / "data" / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """Write a table in Markdown."""
    lines = [list(head)]
    lines.append(["---"] * len(lines[0]))
    lines += [[cell.replace("|", "\\|") for cell in row] for row in rows]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


_FIELD_RANKS: Final = {
    "mean_jct_h": "mean JCT",
    "mean_wait_h": "mean wait",
    "p95_wait_h": "p95 wait",
    "p95_bounded_slowdown": "p95 bounded slowdown",
    "tenant_fairness": "fairness between users",
}
_FIELD_SHOWN: Final = {"Philly week 8": "real", "philly (drawn)": "generated"}
_FIELD_VALUES: Final = {
    "mean_jct_h": "mean JCT, h",
    "p95_wait_h": "p95 wait, h",
    "thorough_gap": "gap",
}
_TABLES: Final[dict[str, Callable[[], str]]] = {
    "metrics": lambda: _metrics("", "predictions"),
    "metrics of contention": lambda: _metrics("contention"),
    "metrics of deadlines": lambda: _metrics("deadlines"),
    "metrics of failures": lambda: _metrics("failures"),
    "metrics of holds": lambda: _metrics("holds"),
    "lower bounds": lambda: _bounds("total-jct", "makespan"),
    "bounds on deadlines": lambda: _bounds("deadlines-met"),
    "job columns": _job_columns,
    "column names": _column_names,
    "trace formats": _formats,
    "laws": _laws,
    "claims": _claims,
    "messages": messages.written,
    "papers": _papers,
    "words of what is published": _known,
    "checks of traces": _trace_checks,
    "commands": lambda: command_line.options(table),
    "python api": lambda: python_api.modules(table),
    "field ranks": _field_ranks,
    "field workloads": _field_workloads,
}
