"""What the page of a study says first."""

from __future__ import annotations

from gpusched.base.wording import plural
from gpusched.reporting.sweeps.cells import Cell
from gpusched.reporting.sweeps.page_cells import PageCells


def headlines(page: PageCells) -> list[str]:
    """Return which policy is the best at how many settings, and how it stands to the baseline."""
    study, of = page.study, page.measures[0]
    sign = -1.0 if of.better == "higher" else 1.0
    word = "highest" if of.better == "higher" else "lowest"
    by_setting: dict[tuple[object, ...], list[Cell]] = {}
    for cell in page.first:
        if cell.mean.is_known and study.names[cell.policy] == cell.policy:
            by_setting.setdefault(cell.setting, []).append(cell)
    if not by_setting or len(study.policies) < 2:
        return []
    best = [min(cells, key=lambda cell: sign * cell.mean.value) for cells in by_setting.values()]
    counts: dict[str, int] = {}
    for cell in best:
        counts[cell.policy] = counts.get(cell.policy, 0) + 1
    policy = max(counts, key=counts.__getitem__)
    where = ""
    if len(best) > 1:
        where = f" at {counts[policy]:,} of {plural(len(best), 'setting')}"
    scope = "Of the policies that could be deployed, " if _has_clairvoyant(page) else ""
    lines = [f"{scope}{policy} has the {word} {of.label}{where}."]
    ratios = [
        cell.ratio
        for cells in by_setting.values()
        for cell in cells
        if cell.policy == policy and cell.ratio.is_known
    ]
    if policy != study.baseline and ratios:
        least, most = min(r.value for r in ratios), max(r.value for r in ratios)
        amount = f"{least:.3g}" if f"{least:.3g}" == f"{most:.3g}" else f"{least:.3g} to {most:.3g}"
        clear = sum(sign * end < sign for end in (_worst(r.low, r.high, sign) for r in ratios))
        lines.append(
            f"It is {amount} times that of {study.baseline}; the {study.level:.0%} interval of the "
            f"ratio leaves no doubt that it is better at {clear:,} of "
            f"{plural(len(ratios), 'setting')}."
        )
    return lines


def _worst(low: float, high: float, sign: float) -> float:
    return high if sign > 0 else low


def _has_clairvoyant(page: PageCells) -> bool:
    return any(label != name for name, label in page.study.names.items())
