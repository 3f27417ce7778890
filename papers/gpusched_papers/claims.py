"""What papers publish, how it is known, ours beside it, and one of four words by one rule.

A paper gives a figure without an interval, of one run or the mean of some. It is judged against the
95 % prediction interval of the same from our runs: where the mean of so many further runs of ours
would lie. *Reproduced*: it lies inside. *Stronger*, *weaker*: it lies outside, and ours is better,
or worse, for what the claim is about. *Not comparable*: something that decides the figure is not
known.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from typing import Any, Final, Literal, get_args

import msgspec
import numpy as np
from numpy.typing import ArrayLike

from gpusched.base.registry import among, told
from gpusched.base.tables import Table, table
from gpusched_papers.intervals import Interval, figure_of, mean

Known = Literal["text", "abstract", "artefact", "second-hand", "derived"]
"""How a published figure or statement is known."""

MEANINGS: Final[Mapping[str, str]] = {
    "text": "stated in the body of the paper, which we read",
    "abstract": "stated in the abstract; we did not read the body, or it says no more",
    "artefact": "recorded in files that the authors published with the paper",
    "second-hand": "reported by others; we did not check it in the paper",
    "derived": "computed here from published figures, or proved here in the paper's terms",
}
"""What each of the words means."""

Better = Literal["lower", "higher", ""]
Verdict = Literal["reproduced", "stronger", "weaker", "not comparable"]

RULE: Final = (
    "Reproduced: the published figure lies in the 95 % prediction interval of ours, where as many "
    "further runs as it is of would lie. Stronger, weaker: it lies outside, and ours is better, or "
    "worse, for what the row is about. Not comparable: what decides the figure is not known, or "
    "not alike."
)


@dataclass(frozen=True)
class Claim:
    """One published figure or statement.

    Attributes
    ----------
    key
        A name for it, unlike that of every other claim of the paper.
    says
        The statement, in words of ours.
    place
        Where: a section, a figure, a table, the abstract.
    known
        How it is known; see :data:`MEANINGS`.
    value
        The figure in ``unit``; None: a statement without one.
    up_to
        The other end where a range is published.
    better
        Which values are better for what the claim is about; empty where neither is.
    runs
        The published value is the mean of so many runs.
    lacks
        What would have to be known to set a figure of ours beside it; empty: nothing.
    is_setting
        It says what was run or how, and is no result.
    """

    key: str
    says: str
    place: str
    known: Known
    value: float | None = None
    up_to: float | None = None
    unit: str = ""
    better: Better = ""
    runs: int = 1
    lacks: str = ""
    is_setting: bool = False

    @property
    def figure(self) -> str:
        """The value as tables show it; empty for a statement without one."""
        if self.value is None:
            return ""
        if self.up_to is None:
            return shown(self.value, self.unit)
        low, high = (shown(value, self.unit) for value in (self.value, self.up_to))
        return f"{low.removesuffix(self.unit).rstrip()} to {high}"


@dataclass(frozen=True)
class Credit:
    """What a plug-in has from the paper; all else of it is ours.

    Attributes
    ----------
    plug_in
        Its registered name.
    what
        The paper's part of it, in a few words.
    known
        How that is known.
    parameters
        Parameters and presets that the paper has as well.
    """

    plug_in: str
    what: str
    known: Known
    parameters: tuple[str, ...] = ()


@dataclass(frozen=True)
class Published:
    """All that is used of one paper.

    Attributes
    ----------
    claims, credits
        Its figures and statements, and what plug-ins have from it.
    named
        Words by which the ``source`` of a plug-in names the paper.
    """

    claims: tuple[Claim, ...]
    credits: tuple[Credit, ...] = ()
    named: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        keys = [claim.key for claim in self.claims]
        for claim in self.claims:
            told("claim", claim.key, says=claim.says, place=claim.place)
            among("claim", claim.key, "known", claim.known, get_args(Known))
            if keys.count(claim.key) > 1:
                raise ValueError(f"claim {claim.key}: the key is taken")
            if not (claim.is_setting or claim.lacks or claim.better):
                raise ValueError(
                    f"claim {claim.key}: a result that can be compared must say which values are "
                    "better"
                )
        for credit in self.credits:
            told("credit", credit.plug_in, what=credit.what)
            among("credit", credit.plug_in, "known", credit.known, get_args(Known))

    def claim(self, key: str) -> Claim:
        """Return the claim of that key."""
        return self.by_key[key]

    @property
    def by_key(self) -> dict[str, Claim]:
        """All claims by their keys."""
        return {claim.key: claim for claim in self.claims}

    @property
    def settings(self) -> tuple[Claim, ...]:
        """Those that say what was run, or how."""
        return tuple(claim for claim in self.claims if claim.is_setting)

    @property
    def results(self) -> tuple[Claim, ...]:
        """Those that are no settings."""
        return tuple(claim for claim in self.claims if not claim.is_setting)


def claims_file(name: str) -> dict[str, Any]:
    """Read the claims file of a paper: what it is, what it publishes, and figures that it takes."""
    text = resources.files("gpusched_papers").joinpath(f"{name}.toml").read_text("utf-8")
    return tomllib.loads(text)


def published_of(name: str) -> Published:
    """Return what the claims file of a paper says of it."""
    return msgspec.convert(claims_file(name)["published"], Published)


class Texts:
    """The tables of a paper as its claims file tells of them: title, headings, notes.

    Texts may name facts in braces. A table's ``digits``, and ``scale`` over ``per``, say how all of
    its figures are written; its ``columns`` are headings with the figure below each, how that one
    is written, and by what it is multiplied and divided.
    """

    def __init__(self, name: str) -> None:
        self._of: dict[str, Any] = claims_file(name)["tables"]

    def table(
        self,
        name: str,
        rows: Iterable[Sequence[Any]],
        *headings: str,
        notes: Iterable[str] = (),
        **facts: Any,
    ) -> Table:
        """Return a table of texts, intervals and numbers; further headings and notes come last."""
        told = self._of[name]
        digits, scale = told.get("digits", 0), told.get("scale", 1) / told.get("per", 1)

        def cell(value: Any) -> str:
            if isinstance(value, Interval):
                return figure_of(value, digits, scale)
            if isinstance(value, float):
                return f"{value * scale:.{digits}f}"
            return "" if value is None else str(value)

        first = told.get("headings", ()) or [column[0] for column in told.get("columns", ())]
        return table(
            told["title"].format(**facts),
            (*(heading.format(**facts) for heading in first), *headings),
            (tuple(map(cell, row)) for row in rows),
            (*(note.format(**facts) for note in told.get("notes", ())), *notes),
        )

    def figures(self, name: str, value: Callable[[str], float | str]) -> list[str]:
        """Return a row of a table with ``columns``: what ``value`` gives for each; texts stay."""
        row = []
        for _, key, form, *scales in self._of[name]["columns"]:
            found = value(key)
            times, per = (*scales, 1, 1)[:2]
            row.append(found if isinstance(found, str) else f"{found * times / per:{form}}")
        return row


def shown(value: float, unit: str) -> str:
    """Write a figure: a ratio as per cent where the unit is ``%``, all else as it is."""
    if unit == "%":
        return f"{100 * value:.3g} %"
    text = f"{value:g}" if abs(value) < 10 else f"{value:.0f}"
    return f"{text} {unit}".rstrip()


@dataclass(frozen=True)
class Comparison:
    """A claim, and what our runs give.

    Attributes
    ----------
    claim
        What was published.
    what
        Of what ours is, where the claim does not say it; often empty.
    mean
        Of our runs, with the 95 % interval of the mean; None where nothing of ours is beside it.
    predicted
        The 95 % prediction interval of a mean of as many runs as the published value is of.
    verdict
        One of four words.
    """

    claim: Claim
    what: str
    mean: Interval | None
    predicted: tuple[float, float] | None
    verdict: Verdict

    @property
    def why(self) -> str:
        """What is lacking where the two are not comparable."""
        return self.claim.lacks if self.verdict == "not comparable" else ""


def compare(claim: Claim, values: ArrayLike, what: str = "") -> Comparison:
    """Set runs of ours, one value each, beside a claim."""
    if claim.is_setting:
        raise ValueError(f"claim {claim.key} is a setting: there is nothing to compare")
    ours = mean(values)
    predicted = prediction(values, claim.runs)
    return Comparison(claim, what, ours, predicted, _verdict(claim, ours, predicted))


def beside(claim: Claim, ours: Interval | None = None, what: str = "") -> Comparison:
    """Set a figure of ours, or none, beside a claim with which nothing can be compared."""
    if not claim.lacks:
        raise ValueError(f"claim {claim.key} can be compared, and no runs of ours are")
    return Comparison(claim, what, ours, None, "not comparable")


def prediction(values: ArrayLike, runs: int = 1) -> tuple[float, float]:
    """Where 95 % of the means of ``runs`` further runs would lie, by Student's t.

    Wider than the interval of the mean by sqrt(1 + n / runs), with n the number of values. NaN for
    a single value. It takes runs to be independent and nearly normal.
    """
    found = mean(values)
    num = np.size(values)
    half = found.half_width * math.sqrt(1 + num / runs)
    return found.value - half, found.value + half


def _verdict(claim: Claim, ours: Interval, predicted: tuple[float, float]) -> Verdict:
    if claim.lacks or claim.value is None or not claim.better or math.isnan(predicted[0]):
        return "not comparable"
    low, high = predicted
    if low <= claim.value <= high:
        return "reproduced"
    is_higher = ours.value > claim.value
    return "stronger" if is_higher == (claim.better == "higher") else "weaker"


def with_all(found: Iterable[Comparison], claims: Iterable[Claim]) -> list[Comparison]:
    """Return the comparisons in the order of the claims, with one for each that has none."""
    of: dict[str, list[Comparison]] = {}
    for one in found:
        of.setdefault(one.claim.key, []).append(one)
    return [one for claim in claims for one in of.get(claim.key) or [beside(claim)]]


@dataclass(frozen=True)
class Row:
    """A comparison in texts, as tables and pages show it.

    ``claim``, ``published``, ``known``: what is published, with its place; the figure; how it is
        known.
    ``ours``, ``predicted``: our mean with its 95 % interval, and the 95 % prediction interval of
        one like theirs.
    ``verdict``, ``why``: one of four words, and what is lacking where it is the last of them.
    """

    claim: str
    published: str
    known: str
    ours: str
    predicted: str
    verdict: str
    why: str


def row_of(one: Comparison) -> Row:
    """Return a comparison in texts."""
    claim, ours, likely = one.claim, "", ""
    about = f"{claim.says}, {claim.place}" + (f": {one.what}" if one.what else "")
    scale, is_part = (100, True) if claim.unit == "%" else (1, False)
    if one.mean is not None:
        digits = 1 if is_part else 0 if abs(one.mean.value) >= 10 else 3
        ours = f"{figure_of(one.mean, digits, scale)} {claim.unit}".rstrip()
    if one.predicted is not None and not math.isnan(one.predicted[0]) and not one.why:
        low, high = (f"{scale * end:.{int(is_part)}f}" for end in one.predicted)
        likely = f"{low} to {high} {claim.unit}".rstrip()
    return Row(about, claim.figure, claim.known, ours, likely, one.verdict, one.why)


def verdicts(found: Sequence[Comparison], title: str = "Published, and ours") -> Table:
    """Return the table of what is published, how it is known, what ours is, and the verdict."""
    return table_of([row_of(one) for one in found], title)


def table_of(rows: Sequence[Row], title: str) -> Table:
    """Return the table of :func:`verdicts` of comparisons in texts."""
    lacking = {row.why: None for row in rows if row.why}
    numbers = {why: f" ({number})" for number, why in enumerate(lacking, 1)}
    return table(
        title,
        ("what", "published", "known", "ours", "one like theirs", "verdict"),
        (
            (row.claim, row.published, row.known, row.ours, row.predicted,
             row.verdict + numbers.get(row.why, ""))
            for row in rows
        ),
        (RULE, *(f"{number.strip()} {why}" for why, number in numbers.items())),
    )  # fmt: skip
