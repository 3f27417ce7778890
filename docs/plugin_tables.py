"""Tables of policies, placements, performance models and predictors, inside of their pages.

A page holds ``<!-- generated: WORDS -->`` and ``<!-- end of generated -->`` on lines of their own;
``docs/tables.py`` writes what is between them. The first of the words says what:

``policy NAME...``
    What the registry knows of the policies that the heading above names, and their parameters.
``family PAGE HEADING``
    The policies under a heading of a page, each with the first sentence of its section.
``parameters NAME...``
    The parameters that several plug-ins share. They are then left out of the tables of each.
``plug-ins KIND``, ``flags KIND...``, ``parameters of KIND...``
    All of a kind: policies, placements, speeds, contentions or predictors.
``differences``, ``credits``
    Where policies depart from their sources; what of the plug-ins is that of a paper.

Each policy must have a section, and one only, on the pages of policies. The pages of placements and
performance models must name each of these outside of what is generated.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import marked_tables

import gpusched as gs
from gpusched.plugins.info import APPROXIMATE, FLAGS
from gpusched_papers import chronus_leases as _of_papers  # noqa: F401
from gpusched_papers.registry import known_papers

Plugin = gs.plugins.PluginInfo

REFERENCE: Final = Path(__file__).resolve().parent / "reference"
PAGES_OF_POLICIES: Final = (
    "policies-queues", "policies-network", "policies-elastic", "policies-deadlines",
)  # fmt: skip

OTHER_PAGES: Final = {
    "placements": "placements",
    "speeds": "performance-models",
    "contentions": "performance-models",
}

_MARKED: Final = re.compile(
    r"(<!-- generated: (?P<words>[^\n]+) -->\n)(?P<rows>.*?)(<!-- end of generated -->\n)",
    re.DOTALL,
)
_HEADING: Final = re.compile(r"^(?P<level>#+) (?P<title>.+)$", re.MULTILINE)
_NAME: Final = re.compile(r"`([\w-]+)`")
_SENTENCE: Final = re.compile(r"(?P<text>.+?[.:])(?=\s|$)", re.DOTALL)


def marked(text: str) -> str:
    """Return ``text`` with all that is generated written again."""
    return _MARKED.sub(lambda found: f"{found[1]}\n{_rows(found['words'])}\n{found[4]}", text)


def pages() -> list[Path]:
    """Return each page that marks something generated.

    Raises
    ------
    ValueError
        If a policy has no section of its own, or several, or another plug-in no rule.
    """
    check_sections()
    return [path for path in sorted(REFERENCE.glob("*.md")) if words_in(path.read_text("utf-8"))]


def words_in(text: str) -> list[str]:
    """Return what a text marks."""
    return [found["words"] for found in _MARKED.finditer(text)]


def sections_of_policies() -> list[tuple[str, str, str]]:
    """Return (policy, page, title) of every heading that names a policy, page by page."""
    found = []
    for page in PAGES_OF_POLICIES:
        for heading in _HEADING.finditer(_outside_of_code(_text_of(page))):
            found += [
                (name, page, heading["title"])
                for name in _NAME.findall(heading["title"])
                if name in gs.policies()
            ]
    return found


def check_sections() -> None:
    """Raise ValueError unless each policy is in one heading and in one generated table."""
    headings = [name for name, _, _ in sections_of_policies()]
    told = [
        name
        for page in PAGES_OF_POLICIES
        for words in words_in(_text_of(page))
        if words.startswith("policy ")
        for name in words.split()[1:]
    ]
    for where, names in (("headings", headings), ("generated tables", told)):
        if sorted(names) != sorted(gs.policies()):
            wrong = sorted(name for name in gs.policies() if names.count(name) != 1)
            raise ValueError(f"not once in the {where} of the pages of policies: {wrong}")
    for kind, page in OTHER_PAGES.items():
        text = _MARKED.sub("", _text_of(page))
        if missing := [p.name for p in _of_kind(kind) if f"`{p.name}`" not in text]:
            raise ValueError(f"{page}.md has no rule of the {kind} {missing}")


def _text_of(page: str) -> str:
    path = REFERENCE / f"{page}.md"
    return path.read_text("utf-8") if path.exists() else ""


def _outside_of_code(text: str) -> str:
    return re.sub(r"^```.*?^```$", "", text, flags=re.DOTALL | re.MULTILINE)


def _rows(words: str) -> str:
    kind, *rest = words.split()
    if kind == "parameters" and rest[0] == "of":
        return _parameters(plugin for name in rest[1:] for plugin in _of_kind(name))
    return _TABLES[kind](*rest)


def _of_kind(kind: str) -> list[Plugin]:
    return list(getattr(gs, kind)().values())


def _named(names: Iterable[str]) -> list[Plugin]:
    return [gs.policies()[name] for name in names]


def _shared() -> set[tuple[str, str]]:
    """(plug-in, parameter) of all parameters that stand in tables of their own."""
    return {
        (plugin.name, parameter["name"])
        for page in PAGES_OF_POLICIES
        for words in words_in(_text_of(page))
        if words.startswith("parameters ")
        for plugin, parameter in _common(words.split()[1:])
    }


def _common(names: Iterable[str]) -> Iterator[tuple[Plugin, Mapping[str, Any]]]:
    """Those parameters of some policies whose name and meaning two of them have."""
    plugins = _named(names)
    keys = [_key(parameter) for plugin in plugins for parameter in plugin.parameters]
    for plugin in plugins:
        for parameter in plugin.parameters:
            if sum(key[::2] == _key(parameter)[::2] for key in keys) > 1:
                yield plugin, parameter


def _policy(*names: str) -> str:
    """What is known of one policy, or of several under one heading."""
    policies, shared = _named(names), _shared()
    if len(policies) == 1:
        facts = [(label, cell(policies[0])) for label, cell in _FACTS.items()]
        tables = [marked_tables.table((" ", " "), ((f"**{k}**", v) for k, v in facts if v))]
    else:
        columns = {k: cell for k, cell in _FACTS.items() if any(cell(p) for p in policies)}
        rows = ([f"`{p.name}`", *(cell(p) for cell in columns.values())] for p in policies)
        tables = [marked_tables.table(("Policy", *columns), rows)]
    own = [
        (policy, parameter)
        for policy in policies
        if not policy.alias_of
        for parameter in policy.parameters
        if (policy.name, parameter["name"]) not in shared
    ]
    if own:
        tables.append(_table_of_parameters(own))
    return "\n".join(tables)


def _family(page: str, *title: str) -> str:
    """The policies under a heading of a page."""
    text = _text_of(page)
    start = text.index(f"\n## {' '.join(title)}\n") + 1
    rest = text[start + 3 :]
    end = re.search(r"^## ", rest, re.MULTILINE)
    part = rest[: end.start()] if end else rest
    rows = []
    for heading in _HEADING.finditer(_outside_of_code(part)):
        names = [name for name in _NAME.findall(heading["title"]) if name in gs.policies()]
        anchor = _anchor(heading["title"])
        sentence = _first_sentence(part[part.index(heading[0]) + len(heading[0]) :])
        for policy in _named(names):
            link = f"[`{policy.name}`]({page}.md#{anchor}){_mark(policy)}"
            rows.append((link, sentence, _is_preemptive(policy), _needs(policy), policy.source))
    return marked_tables.table(("Policy", "What it does", "Preempts", "Needs", "Source"), rows)


def _anchor(title: str) -> str:
    return re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-")


def _first_sentence(text: str) -> str:
    prose = re.sub(r"<!-- generated.*?end of generated -->", "", text, flags=re.DOTALL).strip()
    found = _SENTENCE.match(prose)
    if found is None:
        raise ValueError(f"a section of a policy begins with no sentence: {prose[:60]!r}")
    return " ".join(found["text"].split()).replace(":", ".")


def _mark(policy: Plugin) -> str:
    return f" {APPROXIMATE}" if policy.differs else ""


def _is_preemptive(policy: Plugin) -> str:
    if policy.preempts:
        return "yes"
    return next((f"no, {flag}" for flag in ("strict", "skip") if policy.has(flag)), "no")


def _needs(policy: Plugin) -> str:
    words = {"deadlines": "deadlines", "clairvoyant": "run times", "estimate": "estimates"}
    return ", ".join(text for flag, text in words.items() if policy.has(flag))


def _preempts(policy: Plugin) -> str:
    bound = policy.preemption
    if not policy.preempts or bound is None:
        return "no"
    once = " In a pool of one-GPU jobs: at most one job per arrival, then." * bound.one_per_arrival
    at = "" if str(bound).startswith("of ") else "at "
    return f"{at}{bound}. {bound.reason}{once}"


def _package(policy: Plugin) -> str:
    home = policy.python_class and policy.python_class.__module__.partition(".")[0]
    return "`pip install gpusched-papers`" if home == "gpusched_papers" else ""


def _widths(policy: Plugin) -> str:
    return "yes, if the performance model is elastic" if policy.has("elastic") else ""


_FACTS: Final[dict[str, Callable[[Plugin], str]]] = {
    "Same as": lambda policy: f"`{policy.alias_of}`" if policy.alias_of else "",
    "Install": _package,
    "Preempts": _preempts,
    "Needs": _needs,
    "Changes job sizes": _widths,
    "Chooses GPUs itself": lambda policy: "yes" if policy.has("places") else "",
    "Source": lambda policy: policy.source,
    f"Differs {APPROXIMATE}": lambda policy: policy.differs,
}


def _plugins(kind: str) -> str:
    rows = ((f"`{p.name}`", p.summary, p.source) for p in _of_kind(kind))
    return marked_tables.table(
        (kind.removesuffix("s").capitalize(), "What it does", "Source"), rows
    )


def _flags(*kinds: str) -> str:
    """One row per flag that one of the plug-ins has, with those that have it."""
    known = [plugin for kind in kinds for plugin in _of_kind(kind)]
    users = {flag: [p.name for p in known if p.has(flag)] for flag in FLAGS}
    return marked_tables.table(
        ("Flag", "Meaning", "Plug-ins"),
        (
            (f"`{flag}`", FLAGS[flag], ", ".join(f"`{name}`" for name in names))
            for flag, names in users.items()
            if names
        ),
    )


def _differences() -> str:
    rows = ((f"`{p.name}`", p.differs) for p in gs.policies().values() if p.differs)
    return marked_tables.table(("Policy", "How its defaults differ from the source"), rows)


def _credits() -> str:
    return marked_tables.table(
        ("Plug-in", "Paper", "Theirs", "Known from", "Parameters that are theirs"),
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
    )


def _parameters(plugins: Iterable[Plugin]) -> str:
    return _table_of_parameters((plugin, each) for plugin in plugins for each in plugin.parameters)


def _table_of_parameters(parameters: Iterable[tuple[Plugin, Mapping[str, Any]]]) -> str:
    """One row per parameter, with the plug-ins that share its meaning and their defaults."""
    known = list(parameters)
    defaults: dict[tuple[str, str, str], dict[str, str]] = {}
    for plugin, parameter in known:
        defaults.setdefault(_key(parameter), {})[plugin.name] = _text(parameter["default"])
    names = {plugin.name for plugin, _ in known}
    return marked_tables.table(
        ("Parameter", "Values", "Default", "Meaning"),
        (
            (f"`{name}`", values, _defaults(of, names), text)
            for (name, values, text), of in defaults.items()
        ),
    )


def _key(parameter: Mapping[str, Any]) -> tuple[str, str, str]:
    return parameter["name"], _values(parameter), parameter["help"]


def _defaults(defaults: Mapping[str, str], all_names: set[str]) -> str:
    """Each default with those that have it, unless all plug-ins of a table have one."""
    values = list(dict.fromkeys(defaults.values()))
    if len(values) == 1 and set(defaults) == all_names:
        return values[0]
    users = {v: [f"`{name}`" for name, own in defaults.items() if own == v] for v in values}
    return "; ".join(f"{value} ({', '.join(names)})" for value, names in users.items())


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


_TABLES: Final[dict[str, Callable[..., str]]] = {
    "policy": _policy,
    "family": _family,
    "parameters": lambda *names: _table_of_parameters(_common(names)),
    "plug-ins": _plugins,
    "flags": _flags,
    "differences": _differences,
    "credits": _credits,
}
