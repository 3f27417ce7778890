"""Writes what the docs say of registered names, or with ``--check`` compares it with that.

``policies.md`` is written in whole, marked tables of other pages in part.

python docs/tables.py            # needs gpusched installed
python docs/tables.py --check
"""

from __future__ import annotations

import difflib
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import marked_tables

import gpusched as gs
from gpusched.plugins.info import APPROXIMATE, FLAGS
from gpusched_papers import chronus_leases as _of_papers  # noqa: F401
from gpusched_papers.registry import known_papers

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

CREDITS = """\
Of the papers whose experiments `gpusched reproduce` runs: what of a plug-in is theirs, and how that
is [known](../studies/index.md#what-is-published). Their parameters and presets that are not named
here are ours.
"""

LEGEND = """\
*Takes GPUs back*: yes if running jobs can be preempted; otherwise whether the scan of the queue
is strict (the first job that does not fit blocks the others) or skips what does not fit. *Knows*:
the service time (with the predictor `oracle` the true one, so that no live scheduler could decide
alike; results are then marked clairvoyant), or an estimate of it where the trace has one. Another
name of a policy takes the parameters of the policy that it stands for. *Source*: where the idea
comes from ([what is theirs](#what-of-them-is-the-papers)); ≈: the defaults depart from it
([how](#where-they-differ)).
"""


DIFFERS = """\
Policies whose defaults depart from their sources; all others that name one do by default what it
says. `gpusched compare` and the report mark them with ≈ and say the same under the table.
"""

PREEMPTIONS = """\
At each of these instants a policy preempts a job at most once, and at most all jobs that run: the
number of such instants bounds the preemptions of every job, and times the number of GPUs those of
the run. Where a period is 0 its multiples are the arrivals and finishes. Orders give GPUs out anew
at these instants only. Policies that are not listed preempt nobody. In a pool of jobs of one GPU
(`count`, default parameters, true predictions) {singles} preempt no more jobs than arrive, at
that instant.
[Changes in the course of a run](semantics.md#changes-in-the-course-of-a-run) come on top. Every
statement is tested on drawn workloads (`tests/contract/test_every_preemption.py`).
"""

PREDICTORS = """What policies know of service times (`--predictor`, `predictor=`); see
[prediction](../howto/prediction.md).
"""

SPEEDS = """\
A speed other than `fixed` needs job profiles in the trace (`gs.model.zoo()`, or your own) and
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
        marked_tables.table(
            ("policy", "takes GPUs back", "knows", "what it does", "source"),
            ((_marked(p), _taking(p), _knowledge(p), _summary(p), p.source) for p in policies),
        ),
        LEGEND,
        "### Where they differ\n",
        DIFFERS,
        marked_tables.table(
            ("policy", "what it does in another way than its source"),
            ((f"`{p.name}`", p.differs) for p in policies if p.differs),
        ),
        "### When they take GPUs back\n",
        PREEMPTIONS.format(singles=_singles(policies)),
        marked_tables.table(
            ("policy", "preempts at", "because"),
            (
                (f"`{p.name}`", str(p.preemption), p.preemption.reason)
                for p in _preempting(policies)
            ),
        ),
        "### Their flags\n",
        _flags(policies),
        "### Their parameters\n",
        _parameters(p for p in policies if not p.alias_of),
        "## Placements\n",
        marked_tables.table(
            ("placement", "what it does", "source"),
            ((f"`{p.name}`", _summary(p), p.source) for p in placements),
        ),
        "### Their flags\n",
        _flags(placements),
        "### Their parameters\n",
        _parameters(placements),
        "## Speeds and contentions\n",
        SPEEDS,
        marked_tables.table(
            ("speed", "what it does", "source"),
            ((f"`{p.name}`", _summary(p), p.source) for p in speeds),
        ),
        marked_tables.table(
            ("contention", "what it does", "source"),
            ((f"`{p.name}`", _summary(p), p.source) for p in contentions),
        ),
        "### Their flags\n",
        _flags([*speeds, *contentions]),
        "### Their parameters\n",
        _parameters([*speeds, *contentions]),
        "## Predictors\n",
        PREDICTORS,
        marked_tables.table(
            ("predictor", "what it does", "source"),
            ((f"`{p.name}`", p.summary, p.source) for p in predictors),
        ),
        "### Their parameters\n",
        _parameters(predictors),
        "## What of them is the papers'\n",
        CREDITS,
        marked_tables.table(
            ("plug-in", "paper", "theirs", "known", "parameters that are theirs"),
            (
                (
                    f"`{credit.plug_in}`",
                    paper.venue,
                    credit.what,
                    f"[{credit.known}]",
                    ", ".join(f"`{name}`" for name in credit.parameters),
                )
                for paper in known_papers().values()
                for credit in paper.known().credits
            ),
        ),
    ]
    return "\n".join(sections)


def _marked(policy: gs.plugins.PluginInfo) -> str:
    return f"`{policy.name}` {APPROXIMATE}" if policy.differs else f"`{policy.name}`"


def _preempting(policies: Iterable[gs.plugins.PluginInfo]) -> list[gs.plugins.PluginInfo]:
    return [policy for policy in policies if policy.preempts and policy.preemption is not None]


def _taking(policy: gs.plugins.PluginInfo) -> str:
    if policy.has("preemptive"):
        return "yes"
    return next((f"no, {flag}" for flag in ("strict", "skip") if policy.has(flag)), "no")


def _singles(policies: Iterable[gs.plugins.PluginInfo]) -> str:
    names = [f"`{p.name}`" for p in _preempting(policies) if p.preemption.one_per_arrival]
    return f"{', '.join(names[:-1])} and {names[-1]}"


def _knowledge(policy: gs.plugins.PluginInfo) -> str:
    if policy.has("clairvoyant"):
        return "service"
    return "estimate" if policy.has("estimate") else ""


def _summary(plugin: gs.plugins.PluginInfo) -> str:
    home = plugin.python_class and plugin.python_class.__module__.partition(".")[0]
    if home == "gpusched_papers":
        return f"{plugin.summary} With the papers: `pip install gpusched-papers`."
    if not plugin.alias_of:
        return plugin.summary
    return f"{plugin.summary} Another name of `{plugin.alias_of}`."


def _flags(plugins: Iterable[gs.plugins.PluginInfo]) -> str:
    """One row per flag that one of the plug-ins has, with those that have it."""
    known = list(plugins)
    users = {flag: [p.name for p in known if p.has(flag)] for flag in FLAGS}
    return marked_tables.table(
        ("flag", "what it means", "who has it"),
        (
            (f"`{flag}`", FLAGS[flag], ", ".join(f"`{name}`" for name in names))
            for flag, names in users.items()
            if names
        ),
    )


def _parameters(plugins: Iterable[gs.plugins.PluginInfo]) -> str:
    """One row per parameter, with the plug-ins that share its meaning and their defaults."""
    defaults: dict[tuple[str, str, str], dict[str, str]] = {}
    for plugin in plugins:
        for parameter in plugin.parameters:
            key = (parameter["name"], _values(parameter), parameter["help"])
            defaults.setdefault(key, {})[plugin.name] = _text(parameter["default"])
    return marked_tables.table(
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
    if parameter["least_positive"] is not None:
        return f"{text}, 0 or {parameter['least_positive']:g} to {high:g}"
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


def pages() -> dict[Path, str]:
    """Return every page that is written here, in whole or in part, as it should be."""
    return {PAGE: page(), **marked_tables.pages()}


def main() -> None:
    for path, text in pages().items():
        if "--check" not in sys.argv[1:]:
            path.write_text(text, encoding="utf-8")
            continue
        committed = path.read_text(encoding="utf-8") if path.exists() else ""
        if text != committed:
            lines = (committed.splitlines(keepends=True), text.splitlines(keepends=True))
            sys.stderr.writelines(difflib.unified_diff(*lines, "committed", "generated"))
            sys.exit(f"{path.name} is out of date: run `python docs/tables.py`")


if __name__ == "__main__":
    main()
