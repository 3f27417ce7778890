"""Why a job waited, in sentences that hold for every policy."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from gpusched.base.ticks import US_PER_S
from gpusched.base.wording import duration, plural
from gpusched.results.waits import EARLIER, LATER, RUNNING, Holder, Wait

if TYPE_CHECKING:
    from gpusched.traces.workload import Trace

_MOST_HOLDERS: Final = 5
_HOW: Final = {
    RUNNING: "running by then",
    EARLIER: "came earlier, started first",
    LATER: "came later, started first",
}


def wait_story(trace: Trace, wait: Wait, *, is_first: bool) -> Iterator[str]:
    """Tell who held the GPUs, and whether they were too few, in pieces, or kept from the job."""
    yield _at_begin(wait, is_first=is_first)
    yield _over_time(wait)
    yield from _room(trace, wait)
    if wait.free_of_others >= 0.05:
        yield (
            f"  Of the types that it may not use, {wait.free_of_others:.1f} GPUs were free on "
            "average."
        )
    if wait.holders:
        shown = wait.holders[:_MOST_HOLDERS]
        named = "; ".join(_holder(trace, holder) for holder in shown)
        rest = len(wait.holders) - len(shown)
        more = f"; and {plural(rest, 'more job')}" if rest else ""
        yield f"  Most was held by {named}{more}."


def _at_begin(wait: Wait, *, is_first: bool) -> str:
    when = "When it came" if is_first else "When it had lost its GPUs"
    holders = plural(wait.holders_at_begin, "job")
    free, usable = wait.free_at_begin, wait.usable
    if not wait.holders_at_begin:
        return f"  {when}, all {usable:,} GPUs that it may use were free."
    return (
        f"  {when}, {free:g} of the {usable:,} GPUs that it may use were free; "
        f"{holders} held {usable - free:g}."
    )


def _over_time(wait: Wait) -> str:
    said = {
        RUNNING: "by jobs that were running by then",
        EARLIER: "by jobs that came earlier and started while it waited",
        LATER: "by jobs that came later and started while it waited",
    }
    parts = [f"{_percent(wait.shares[side])} {text}" for side, text in said.items()
             if wait.shares[side] > 0]  # fmt: skip
    if wait.free_share > 0.0005:
        parts.append(f"{_percent(wait.free_share)} by nobody")
    return f"  Over the wait their GPU time was held {', '.join(parts)}."


def _room(trace: Trace, wait: Wait) -> Iterator[str]:
    needed = f"its {wait.gpus:g} GPUs" if wait.gpus > 1 else f"its {wait.gpus:g} GPU"
    if wait.short_us:
        yield f"  Fewer than {needed} were free for {_part(wait.short_us, wait)}."
    if wait.fits_us is None:
        if left := wait.length_us - wait.short_us:
            yield f"  As much was free in all, if not on one GPU, for {_part(left, wait)}."
        return
    if wait.scattered_us:
        where = "servers that were wholly free" if wait.is_wide else "any one server"
        yield f"  As many were free, but not on {where}, for {_part(wait.scattered_us, wait)}."
    if wait.fits_us:
        kept = "the policy or the placement"
        if trace.cpu_milli is not None or trace.memory_mib is not None:
            kept = "the policy, the placement, or a lack of CPU or memory"
        yield (
            f"  There was room for it on {'whole servers' if wait.is_wide else 'one server'} for "
            f"{_part(wait.fits_us, wait)}: then {kept} kept it waiting, not a lack of GPUs."
        )


def _holder(trace: Trace, holder: Holder) -> str:
    user = ""
    if trace.user is not None and trace.user[holder.job]:
        user = f" of {trace.user[holder.job]}"
    width = plural(int(holder.gpus), "GPU") if holder.gpus % 1 == 0 else f"{holder.gpus:g} GPUs"
    return f"job {holder.job}{user} ({width}, {_percent(holder.share)}, {_HOW[holder.side]})"


def _part(time_us: int, wait: Wait) -> str:
    return f"{duration(time_us / US_PER_S)} ({_percent(time_us / wait.length_us)})"


def _percent(share: float) -> str:
    percent = 100 * share
    if 0 < percent < 0.1:
        return "<0.1 %"
    return f"{percent:.1f} %" if percent < 10 else f"{percent:.0f} %"
