"""What a paper says, where, and how it is known here: the words that docs and tables show."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal, get_args

from gpusched.base.registry import among, told

Known = Literal["text", "abstract", "artefact", "second-hand", "derived"]
"""How a published figure or statement is known."""

MEANINGS: Final[Mapping[str, str]] = {
    "text": "stands in the body of the paper, and was read there",
    "abstract": "stands in the abstract; the body was not read, or does not say more",
    "artefact": "recorded in files that the authors published beside the paper",
    "second-hand": "told by others of the paper; whether it says so was not seen",
    "derived": "computed here from published figures, or proved here in the paper's terms",
}
"""What each of the words means."""

Better = Literal["lower", "higher", ""]


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
        """Return the claim of that key.

        Raises
        ------
        KeyError
            If there is none.
        """
        return self.by_key[key]

    @property
    def by_key(self) -> dict[str, Claim]:
        """All claims by their keys."""
        return {claim.key: claim for claim in self.claims}

    @property
    def results(self) -> tuple[Claim, ...]:
        """Those that are no settings."""
        return tuple(claim for claim in self.claims if not claim.is_setting)


def shown(value: float, unit: str) -> str:
    """Write a figure: a ratio as per cent where the unit is ``%``, all else as it is."""
    if unit == "%":
        return f"{100 * value:.3g} %"
    text = f"{value:g}" if abs(value) < 10 else f"{value:.0f}"
    return f"{text} {unit}".rstrip()
