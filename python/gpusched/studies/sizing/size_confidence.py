"""How sure a size is: the same question, asked of weeks that are drawn again."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from gpusched.base.arrays import Bool, Int64
from gpusched.base.progress import OnProgress, Progress
from gpusched.base.supervision import Cancelled, is_asked
from gpusched.base.ticks import US_PER_S
from gpusched.studies.sizing.fewest import fewest
from gpusched.studies.sizing.sizing_runs import Counts, SizingRuns
from gpusched.traces.resampling import num_blocks, resampled
from gpusched.traces.trace_facts import nearest_rank

LEAST_BLOCKS: Final = 2
"""With fewer there is nothing to draw from."""
FEW_BLOCKS: Final = 8
"""Below so many an interval is a rough one."""
PART: Final = "resamples"
_POLL_SECONDS: Final = 0.1


@dataclass(frozen=True, eq=False)
class SizeConfidence:
    """What traces need that the same weeks could have made.

    Attributes
    ----------
    block_s, num_blocks
        Length of a block, seconds, and how many the trace has.
    meets
        Whether the answer meets the goals, bool[resamples].
    servers
        The fewest servers that meet them, int64[resamples], -1 where no number does; empty for
        a mix of several types.
    """

    block_s: float
    num_blocks: int
    meets: Bool
    servers: Int64

    @property
    def share(self) -> float:
        """The share of resamples whose goals the answer meets."""
        return float(np.mean(self.meets))

    @property
    def interval(self) -> tuple[int, int] | None:
        """The 5th and the 95th percentile of the servers needed; None if that is not known."""
        if not len(self.servers) or (self.servers < 0).any():
            return None
        ordered = np.sort(self.servers)
        return int(nearest_rank(ordered, 5)), int(nearest_rank(ordered, 95))

    def share_with(self, servers: int) -> float:
        """The share of resamples for which so many servers are enough; NaN for a mix."""
        if not len(self.servers):
            return np.nan
        return float(np.mean((self.servers >= 0) & (self.servers <= servers)))


def size_confidence(
    runs: SizingRuns,
    counts: Counts,
    *,
    resamples: int,
    block_s: float,
    seed: int,
    threads: int | None,
    progress: OnProgress | None,
) -> SizeConfidence | None:
    """Ask again of ``resamples`` traces; None if the trace has too few blocks to draw from.

    A resample depends on the seed and its number only, and so not on the number of threads.
    """
    block_us = round(block_s * US_PER_S)
    number = num_blocks(runs.trace, block_us)
    if number < LEAST_BLOCKS or resamples == 0:
        return None
    is_mix = len(counts) > 1

    def ask(index: int, ends: threading.Event) -> tuple[bool, int]:
        rng = np.random.default_rng([seed, index])
        trace = resampled(runs.trace, block_us, rng)
        own = replace(runs, trace=trace, stop=ends, runs={})
        meets = own.meets(counts)
        return meets, -1 if is_mix else _servers(own, counts[0])

    found = _in_threads(ask, resamples, threads, runs.stop, progress)
    meets, servers = zip(*found, strict=True)
    return SizeConfidence(
        block_s,
        number,
        np.array(meets, dtype=np.bool_),
        np.array(() if is_mix else servers, dtype=np.int64),
    )


def _servers(runs: SizingRuns, guess: int) -> int:
    (gpus,) = runs.kinds.gpus
    least = -(-int(runs.trace.gpus.max()) // gpus)
    most = max(least, runs.kinds.most_useful(runs.trace)[0])
    within = min(max(guess, least), most)
    found = fewest(lambda servers: runs.meets((servers,)), least, within, most, neighbours=0)
    return -1 if found is None else found


def _in_threads(
    ask: Callable[[int, threading.Event], tuple[bool, int]],
    number: int,
    threads: int | None,
    stop: threading.Event | None,
    progress: OnProgress | None,
) -> list[tuple[bool, int]]:
    """Answer for each index below ``number``; Ctrl-C and ``stop`` end it within a second."""
    ends = threading.Event()
    pool = ThreadPoolExecutor(min(threads or os.cpu_count() or 1, number), "gpusched-resample")
    futures: list[Future[tuple[bool, int]]] = [pool.submit(ask, i, ends) for i in range(number)]
    try:
        pending = set(futures)
        while pending:
            done, pending = wait(pending, timeout=_POLL_SECONDS, return_when=FIRST_COMPLETED)
            for future in done:
                future.result()
            if is_asked(stop):
                raise Cancelled(number - len(pending), number, PART)
            if progress is not None:
                progress(Progress(number - len(pending), number, PART))
        return [future.result() for future in futures]
    finally:
        ends.set()
        pool.shutdown(wait=False, cancel_futures=True)
