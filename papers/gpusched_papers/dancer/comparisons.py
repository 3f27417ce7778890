"""The published gains of Dancer beside ours."""

from __future__ import annotations

from collections.abc import Iterator

from gpusched.statistics.means import relative_change
from gpusched_papers.claims import Comparison, beside, with_all
from gpusched_papers.dancer.published import PUBLISHED
from gpusched_papers.dancer.settings import COMPARED, DANCER
from gpusched_papers.dancer.summary import Summary, dsr
from gpusched_papers.dancer.tables import where


def comparisons(summary: Summary) -> list[Comparison]:
    """Set our largest gain over each of some baselines of our choice beside the published one."""
    return with_all(_beside(summary), PUBLISHED.results)


def _beside(summary: Summary) -> Iterator[Comparison]:
    for arm in COMPARED:
        here = [setting for setting in summary.main() if summary.has(setting, arm)]
        gains = [
            (relative_change(ours, theirs, method="t"), setting)
            for setting in here
            for ours, theirs in [(summary.values(setting, DANCER, dsr),
                                  summary.values(setting, arm, dsr))]
            if theirs.any()
        ]  # fmt: skip
        if gains:
            most, setting = max(gains, key=lambda found: found[0].value)
            what = f"over {arm.name}, {where(setting)}, where ours is most"
            yield beside(PUBLISHED.claim("gains"), most, what)
