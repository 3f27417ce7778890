"""One self-contained HTML page of a comparison: :func:`write_report`."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING, Any, Final

from gpusched.base.libraries import need
from gpusched.base.replacing import write_text
from gpusched.base.wording import duration
from gpusched.plugins.registry import contention_has
from gpusched.reporting.notes import caption, footnotes, policy_name, remarks
from gpusched.results.shown_metrics import MARK, Column, columns

if TYPE_CHECKING:
    from gpusched.studies.comparison import Comparison

# Bounds the page: Plotly itself is 4.8 MB, and all curves together take at most 0.7 MB.
_MOST_POINTS: Final = 64_000
# The buttons are listed so that none of them sends the data anywhere.
_FIGURE_CONFIG: Final = {
    "modeBarButtons": [["toImage"], ["zoom2d", "pan2d"], ["resetScale2d", "autoScale2d"]],
    "displaylogo": False,
    "responsive": True,
}


def write_report(
    comparison: Comparison, path: str | os.PathLike[str], assumptions: Sequence[str] = ()
) -> None:
    """Write the report of ``comparison`` as one HTML file that needs no network.

    It holds the table of metrics, the distributions of JCT and wait, allocation and queue over
    time (where links are shared the slowdowns and the rings, too), what was left out and warned
    about, the settings, the version and the digests.

    Parameters
    ----------
    assumptions
        Choices that were made for the user, to be named beside the workload.

    Returns
    -------
    None
        The page is in the file.

    Raises
    ------
    ImportError
        Without Plotly; the message says what to install.

    Examples
    --------
    >>> cluster = gs.Cluster.uniform(servers=2, gpus=8)
    >>> trace = gs.generate("philly", 100, load=0.9, cluster=cluster, seed=1)
    >>> comparison = gs.compare(trace, cluster, ["fifo", "sjf"])
    >>> gs.write_report(comparison, "report.html")
    """
    write_text(path, render_report(comparison, assumptions))


def render_report(comparison: Comparison, assumptions: Sequence[str] = ()) -> str:
    """Return the page that :func:`write_report` writes."""
    need("plotly", "the report", "plotly")
    from plotly.offline import get_plotlyjs

    notes = remarks(comparison)
    sections = [
        "<h1>Scheduling policies compared</h1>",
        _paragraphs([*caption(comparison), *assumptions], "caption"),
        _paragraphs(_headline(comparison), "headline"),
        _metrics_table(comparison),
        _paragraphs(footnotes(comparison), "footnote"),
        f"<script>{get_plotlyjs()}</script>",
        f'<div class="figures">{"".join(_figures(comparison))}</div>',
        f"<h2>Remarks</h2>{_list(notes)}" if notes else "",
        "<h2>Runs</h2>",
        _paragraphs(_sources(comparison), "caption"),
        _settings_table(comparison),
        "<h2>Metrics</h2>",
        _definitions(comparison),
    ]
    return _PAGE.format(style=_STYLE, body="\n".join(sections))


def _headline(comparison: Comparison) -> list[str]:
    """The findings in a sentence or two each, if there are any."""
    return _mean_jct_headline(comparison) + _deadlines_headline(comparison)


def _mean_jct_headline(comparison: Comparison) -> list[str]:
    means = {label: row["mean_jct_s"] for label, row in comparison.summaries.items()}
    means = {label: mean for label, mean in means.items() if math.isfinite(mean)}
    if len(means) < 2:
        return []
    best = min(means, key=lambda label: means[label])
    sentence = f"{best} has the lowest mean JCT: {duration(means[best])}."
    gap = comparison.summaries[best]["gap"]
    if math.isfinite(gap):
        # The gap is relative to the bound, the room for improvement to the mean itself. It is
        # rounded up: the sentence must stay true.
        room = math.ceil(1_000 * gap / (1 + gap)) / 10
        sentence += f" No schedule of these jobs can lower that by more than {room:g} %."
    return [sentence]


def _deadlines_headline(comparison: Comparison) -> list[str]:
    rows = {
        label: row
        for label, row in comparison.summaries.items()
        if math.isfinite(row.get("dsr", math.nan))
    }
    if len(rows) < 2:
        return []
    best = max(rows, key=lambda label: rows[label]["dsr"])
    sentence = f"{best} meets the most deadlines: {100 * rows[best]['dsr']:.1f} %."
    bound = rows[best]["dsr_bound"]
    if math.isfinite(bound):
        sentence += (
            f" No schedule of these jobs meets more than {math.ceil(1_000 * bound) / 10:g} %."
        )
    return [sentence]


def _metrics_table(comparison: Comparison) -> str:
    shown = columns(comparison.summaries.values())
    head = "".join(_heading(column) for column in shown)
    rows = []
    for index, (label, result) in enumerate(comparison.results.items()):
        cells = "".join(_cell(column, index) for column in shown)
        rows.append(f"<tr><th>{escape(policy_name(label, result))}</th>{cells}</tr>")
    return (
        f'<div class="scroll"><table><thead><tr><th>policy</th>{head}</tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table></div>"
    )


def _heading(column: Column) -> str:
    metric = column.metric
    lines = [escape(line) for line in metric.short.split("|")]
    lines.append(f"<small>{escape(column.unit)}</small>")
    return f'<th title="{escape(metric.label)}: {escape(metric.summary)}">{"<br>".join(lines)}</th>'


def _cell(column: Column, index: int) -> str:
    cell = column.cells[index]
    return f'<td class="best">{cell.text}{MARK}</td>' if cell.best else f"<td>{cell.text}</td>"


def _figures(comparison: Comparison) -> Iterable[str]:
    from gpusched.reporting import plotting

    figures = [plotting.jct_cdf, plotting.wait_cdf, plotting.allocation, plotting.queue]
    if _has_contention(comparison):
        figures += [plotting.slowdown_cdf, plotting.contention]
    cdfs = (plotting.jct_cdf, plotting.wait_cdf, plotting.slowdown_cdf)
    most = max(50, _MOST_POINTS // (len(figures) * max(1, len(comparison.results))))
    for draw in figures:
        points = min(most, 1_000 if draw in cdfs else 400)
        figure = draw(comparison, points)
        yield figure.to_html(
            full_html=False, include_plotlyjs=False, div_id=draw.__name__, config=_FIGURE_CONFIG
        )


def _has_contention(comparison: Comparison) -> bool:
    used = {result.spec.contention for result in comparison.results.values()}
    return not all(contention_has(contention, "uncontended") for contention in used)


def _sources(comparison: Comparison) -> list[str]:
    """Where the jobs come from, and the fingerprint by which they are known again."""
    lines = [f"trace: {comparison.trace.source}", f"cluster: {comparison.cluster}"]
    for result in list(comparison.results.values())[:1]:
        lines.insert(1, f"SHA-256 of its jobs: {result.spec.trace.sha256}")
    return lines


def _settings_table(comparison: Comparison) -> str:
    names = ["placement", "predictor", "seed"]
    if not all(result.is_fixed for result in comparison.results.values()):
        names += ["speed", "contention"]
    names.append("version")
    rows = []
    for label, result in comparison.results.items():
        settings = [label, *(str(getattr(result.spec, name)) for name in names)]
        cells = "".join(f"<td>{escape(text)}</td>" for text in settings)
        rows.append(f"<tr>{cells}<td><code>{escape(result.digest)}</code></td></tr>")
    headings = ["policy", *names[:-1], "gpusched", "digest of the schedule"]
    head = "".join(f"<th>{name}</th>" for name in headings)
    return (
        f'<div class="scroll"><table class="text"><thead><tr>{head}</tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table></div>"
    )


def _definitions(comparison: Comparison) -> str:
    shown = [column.metric for column in columns(comparison.summaries.values())]
    terms = "".join(f"<dt>{escape(m.label)}</dt><dd>{escape(m.summary)}</dd>" for m in shown)
    return f"<dl>{terms}</dl>"


def _paragraphs(lines: Iterable[Any], kind: str) -> str:
    return "".join(f'<p class="{kind}">{escape(str(line))}</p>' for line in lines)


def _list(lines: Iterable[str]) -> str:
    return f"<ul>{''.join(f'<li>{escape(line)}</li>' for line in lines)}</ul>"


_PAGE: Final = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>gpusched: policies compared</title>
<style>{style}</style>
</head>
<body>
{body}
</body>
</html>
"""

_STYLE: Final = """
body { font: 15px/1.5 system-ui, sans-serif; color: #1f2933; max-width: 1400px;
       margin: 2rem auto; padding: 0 1.5rem; }
h1 { font-size: 1.6rem; margin: 0 0 .5rem; }
h2 { font-size: 1.15rem; margin: 2rem 0 .5rem; }
p { margin: 0; }
.caption, .footnote { color: #52606d; }
.footnote { font-size: .85rem; }
.headline { font-size: 1.1rem; margin: 1rem 0; }
.scroll { overflow-x: auto; margin: 1rem 0 .5rem; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: .35rem .8rem; text-align: right; border-bottom: 1px solid #e3e6ea; }
thead th { vertical-align: bottom; white-space: nowrap; font-weight: 600;
           border-bottom: 2px solid #9aa3ad; }
tbody th { white-space: nowrap; font-weight: 600; }
th:first-child, .text th, .text td { text-align: left; }
th small { color: #52606d; font-weight: 400; }
td { white-space: nowrap; }
.best { color: #00704f; font-weight: 700; }
.figures { display: grid; gap: 1.5rem; margin-top: 1.5rem; }
@media (min-width: 1100px) { .figures { grid-template-columns: 1fr 1fr; } }
.figures > div { min-width: 0; }
code { font-size: .8rem; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .2rem 1.2rem; margin: 0; }
dt { font-weight: 600; } dd { margin: 0; }
"""
