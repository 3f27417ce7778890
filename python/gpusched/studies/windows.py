"""Split a study into search windows that grow, and held-out jobs."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import msgspec
import numpy as np

from gpusched.base.wording import plural
from gpusched.studies.plan import Recipe, jobs_of, source_of
from gpusched.studies.study import Study, StudyTrace
from gpusched.traces.workload import Trace

# Drawn again for each run, after the jobs are cut.
_MODELS: Final = ("profiles", "throughputs", "deadlines")


@dataclass(frozen=True)
class Windows:
    """A study split in two.

    ``rungs``: the search windows, shorter ones first; the last has all search jobs.
    ``shares``: the share of its jobs that each window has.
    ``held_out``: the held-out part: its runs have jobs that no run of the search has.
    ``titles``: by the label of each trace of ``held_out`` the title of the original trace.
    ``notes``: what is searched and held out of each trace, one string per sentence.
    """

    rungs: tuple[Study, ...]
    shares: tuple[float, ...]
    held_out: Study
    titles: dict[str, str]
    notes: tuple[str, ...]


@dataclass(frozen=True)
class _Cut:
    """A trace and its parts: an entry for each rung, and the held-out ones."""

    title: str
    rungs: tuple[StudyTrace, ...]
    held_out: tuple[StudyTrace, ...]
    note: str


def windows_of(
    study: Study, shares: Sequence[float], search_share: float, seeds: Sequence[int]
) -> Windows:
    """Split a study.

    Generated jobs are searched with the seeds of the study and held out with others. For jobs that
    are read or given, the first part is searched, and the rest is held out in as many consecutive
    windows as there are seeds.

    ``shares``: shares of the search jobs; the last is 1.
    ``search_share``: share of the jobs of a trace that is read or given, for the search.
    ``seeds``: seeds of the held-out runs.
    """
    _check(study, seeds)
    cuts = [
        cut
        for entry in study.traces
        for cut in (
            _generated(entry, shares, study.seeds, seeds)
            if entry.generate is not None
            else _read(entry, shares, search_share, study.seeds[0], len(seeds))
        )
    ]
    rungs = tuple(
        msgspec.structs.replace(study, traces=tuple(cut.rungs[at] for cut in cuts))
        for at in range(len(shares))
    )
    wanted = tuple(
        {"trace": part.title} | ({"seed": seed} if len(cut.held_out) > 1 else {})
        for cut in cuts
        for part, seed in zip(cut.held_out, seeds, strict=False)
    )
    held_out = msgspec.structs.replace(
        study,
        seeds=tuple(seeds),
        traces=tuple(part for cut in cuts for part in cut.held_out),
        runs=wanted,
    )
    titles = {part.title: cut.title for cut in cuts for part in cut.held_out}
    return Windows(rungs, tuple(shares), held_out, titles, tuple(cut.note for cut in cuts))


def _check(study: Study, seeds: Sequence[int]) -> None:
    for field in ("zip", "runs"):
        if getattr(study, field):
            raise ValueError(
                f"study {study.name}: all axes must be crossed to tune it - at `$.{field}`"
            )
    for position, axis in enumerate(study.parameters):
        if axis.role == "policy":
            raise ValueError(
                f"study {study.name}: options of policies must be in the search space, not here - "
                f"at `$.parameters[{position}]`"
            )
    if not seeds:
        raise ValueError("held_out: at least one is needed")
    for at, seed in enumerate(seeds):
        if seed in study.seeds or seed in seeds[:at]:
            told = "of the search" if seed in study.seeds else "listed twice"
            raise ValueError(f"held_out: seed {seed} is {told}")


def _generated(
    entry: StudyTrace, shares: Sequence[float], searched: Sequence[int], seeds: Sequence[int]
) -> Iterator[_Cut]:
    for jobs in entry.numbers_of_jobs:
        assert jobs is not None
        title = entry.title if len(entry.numbers_of_jobs) == 1 else f"{entry.title} {jobs:,}"
        sizes = [max(1, round(share * jobs)) for share in shares]
        parts = tuple(msgspec.structs.replace(entry, jobs=n, label=title) for n in sizes)
        yield _Cut(
            title,
            parts,
            parts[-1:],
            f"{title}: searched with {_seeds(searched)} in windows of {_counts(sizes)} jobs; held "
            f"out: {_seeds(seeds)}, {jobs:,} jobs each",
        )


def _read(
    entry: StudyTrace,
    shares: Sequence[float],
    search_share: float,
    seed: int,
    num_held_out: int,
) -> Iterator[_Cut]:
    models: dict[str, Any] = {key: getattr(entry, key) for key in _MODELS}
    bare = msgspec.structs.replace(entry, **dict.fromkeys(_MODELS))
    source = source_of(entry)

    def part(jobs: Trace, label: str) -> StudyTrace:
        return StudyTrace(trace=jobs.rebased(), label=label, loads=entry.loads, **models)

    windows = range(len(entry.windows)) if entry.windows else (None,)
    for jobs, window in itertools.product(entry.numbers_of_jobs, windows):
        trace = jobs_of(bare, source, None, Recipe("", 0, -1, jobs, window, None, seed))
        title = entry.title
        title += f" {jobs:,}" if len(entry.numbers_of_jobs) > 1 else ""
        title += f" {entry.windows[window]}" if window is not None else ""
        num_searched = round(search_share * len(trace))
        num_left = len(trace) - num_searched
        if num_searched < 1 or num_left < num_held_out:
            raise ValueError(
                f"trace {title}: of its {plural(len(trace), 'job')} {num_searched:,} would be "
                f"searched and {num_left:,} be left for {plural(num_held_out, 'held-out window')}: "
                "too few"
            )
        order = np.arange(len(trace))
        sizes = [max(1, round(share * num_searched)) for share in shares]
        # Of equal numbers of jobs, not of equal times: a quiet window would show little.
        ends = np.linspace(num_searched, len(trace), num_held_out + 1).round().astype(np.int64)
        yield _Cut(
            title,
            tuple(part(trace.head(size), title) for size in sizes),
            tuple(
                part(
                    trace.filter((order >= begin) & (order < end)),
                    f"{title}, held out {number + 1}" if num_held_out > 1 else title,
                )
                for number, (begin, end) in enumerate(itertools.pairwise(ends))
            ),
            f"{title}: searched in its first {_counts(sizes)} jobs; held out: the {num_left:,} "
            f"jobs after them, in {plural(num_held_out, 'window')}",
        )


def _counts(sizes: Sequence[int]) -> str:
    shown = [f"{size:,}" for size in dict.fromkeys(sizes)]
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"


def _seeds(seeds: Sequence[int]) -> str:
    if len(seeds) > 2 and list(seeds) == list(range(seeds[0], seeds[-1] + 1)):
        return f"seeds {seeds[0]} to {seeds[-1]}"
    return f"seed{'s' if len(seeds) > 1 else ''} {', '.join(map(str, seeds))}"
