"""Writes ``policies.md`` from the registry, or with ``--check`` compares it with the committed one.

python docs/tables.py            # needs gpusched installed
python docs/tables.py --check
"""

from __future__ import annotations

import difflib
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import gpusched as gs

PAGE = Path(__file__).resolve().parent / "reference" / "policies.md"

HEAD = """\
<!-- Written by `python docs/tables.py` from the registry: do not edit. -->

# Policies, placements and speeds

A policy says which jobs hold GPUs and when; a placement says which GPUs; a speed says how long a
job takes there, and a contention what jobs on one link do to each other. Parameters follow a
colon, lists are written with slashes:
`2d-las:limits=1000/10000,inside=entry`, or in Python `gs.Policy("2d-las", limits=[1000, 10000])`.
`gpusched policies NAME` shows the same in a terminal. The exact rules are in
[the semantics](semantics.md).
"""

LEGEND = """\
*Takes GPUs back*: yes if running jobs can be preempted; otherwise whether the scan of the queue
is strict (the first job that does not fit blocks the others) or skips what does not fit. *Knows*:
the service time (with the predictor `oracle` the true one, so that no live scheduler could decide
alike; results are then marked clairvoyant), or an estimate of it where the trace has one.
"""


PREDICTORS = """What policies know of service times (`--predictor`, `predictor=`); see
[prediction](../howto/prediction.md).
"""

SPEEDS = """\
A speed other than `fixed` needs job profiles in the trace (`gs.models.zoo()`, or your own) and
bandwidths in the cluster (`nic_gbps`, `intra_gbps`); a contention other than `none` needs such a
speed: `gs.simulate(..., speed="ring", contention="shared:degradation=0.1")`, or `--speed` and
`--contention` on the command line.
"""


def page() -> str:
    policies, placements = gs.policies().values(), gs.placements().values()
    speeds, contentions = gs.speeds().values(), gs.contentions().values()
    predictors = gs.predictors().values()
    sections = [
        HEAD,
        "## Policies\n",
        _table(
            ("policy", "takes GPUs back", "knows", "what it does", "source"),
            (
                (f"`{p.name}`", _taking(p.flags), _knowledge(p.flags), p.summary, p.source)
                for p in policies
            ),
        ),
        LEGEND,
        "### Their parameters\n",
        _parameters(policies),
        "## Placements\n",
        _table(
            ("placement", "what it does", "source"),
            ((f"`{p.name}`", p.summary, p.source) for p in placements),
        ),
        "### Their parameters\n",
        _parameters(placements),
        "## Speeds and contentions\n",
        SPEEDS,
        _table(
            ("speed", "what it does", "source"),
            ((f"`{p.name}`", p.summary, p.source) for p in speeds),
        ),
        _table(
            ("contention", "what it does", "source"),
            ((f"`{p.name}`", p.summary, p.source) for p in contentions),
        ),
        "### Their parameters\n",
        _parameters([*speeds, *contentions]),
        "## Predictors\n",
        PREDICTORS,
        _table(
            ("predictor", "what it does", "source"),
            ((f"`{p.name}`", p.summary, p.source) for p in predictors),
        ),
        "### Their parameters\n",
        _parameters(predictors),
    ]
    return "\n".join(sections)


def _taking(flags: Iterable[str]) -> str:
    if "preemptive" in flags:
        return "yes"
    return next((f"no, {flag}" for flag in flags if flag in ("strict", "skip")), "no")


def _knowledge(flags: Iterable[str]) -> str:
    if "clairvoyant" in flags:
        return "service"
    return "estimate" if "estimate" in flags else ""


def _parameters(plugins: Iterable[gs.PluginInfo]) -> str:
    """One row per parameter, with the plug-ins that share its meaning and their defaults."""
    defaults: dict[tuple[str, str, str], dict[str, str]] = {}
    for plugin in plugins:
        for parameter in plugin.parameters:
            key = (parameter["name"], _values(parameter), parameter["help"])
            defaults.setdefault(key, {})[plugin.name] = _text(parameter["default"])
    return _table(
        ("parameter", "values", "default", "what it sets"),
        (
            (f"`{name}`", values, "; ".join(_grouped(of)), text)
            for (name, values, text), of in defaults.items()
        ),
    )


def _grouped(defaults: Mapping[str, str]) -> Iterator[str]:
    for value in dict.fromkeys(defaults.values()):
        names = ", ".join(f"`{name}`" for name, own in defaults.items() if own == value)
        yield f"{value} ({names})"


def _values(parameter: Mapping[str, Any]) -> str:
    if parameter["choices"]:
        return ", ".join(f"`{choice}`" for choice in parameter["choices"])
    kind, low, high = parameter["type"], parameter["minimum"], parameter["maximum"]
    words = {"bool": "`true`, `false`", "int": "whole number", "float": "number", "str": "text"}
    text = words.get(kind, "numbers")
    if low is None and high is None:
        return text
    if high is None:
        return f"{text}, at least {low:g}"
    return f"{text}, at most {high:g}" if low is None else f"{text}, {low:g} to {high:g}"


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list | tuple):
        return "/".join(map(_text, value))
    return f"{value:g}" if isinstance(value, float) else str(value)


def _table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    lines = [list(head)]
    lines.append(["---"] * len(lines[0]))
    lines += [[cell.replace("|", "\\|") for cell in row] for row in rows]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


def main() -> None:
    text = page()
    if "--check" not in sys.argv[1:]:
        PAGE.write_text(text, encoding="utf-8")
        return
    committed = PAGE.read_text(encoding="utf-8") if PAGE.exists() else ""
    if text != committed:
        lines = (committed.splitlines(keepends=True), text.splitlines(keepends=True))
        sys.stderr.writelines(difflib.unified_diff(*lines, "committed", "generated"))
        sys.exit(f"{PAGE.name} is out of date: run `python docs/tables.py`")


if __name__ == "__main__":
    main()
