"""Experiments of papers, run again: a module per paper, reached by ``gpusched reproduce NAME``.

A paper is loaded when its runs are asked for.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib import import_module, resources
from typing import Any, Final

import msgspec

import gpusched as gs
from gpusched.base.real_data import data_at
from gpusched.base.registry import Registry, told
from gpusched_papers.claims import Published, claims_file
from gpusched_papers.study import LEAST_SEEDS, Reproduction, running

ALL: Final = "all"
"""What the command calls all of them together; no paper has that name."""
OnProgress = Callable[[gs.Progress], None]


@dataclass(frozen=True)
class Paper:
    """One reproduction.

    Attributes
    ----------
    title, authors, venue, text
        Of the paper: where it was published, and where it can be read (empty: unknown).
    summary
        What is reproduced, in a line.
    reproduces
        The figures, tables or claims of the paper that are run again.
    module
        Where its functions ``reproduce(seeds, quick, exact, progress)`` and
        ``stages(seeds, quick, exact)`` are; loaded when one of them is called.
    seeds
        How many random instances it takes by itself.
    has_exact
        Whether it knows the option ``exact``.
    published
        The module whose ``PUBLISHED`` says what is known of the paper, and how; empty: none.
    """

    name: str
    title: str
    authors: str
    venue: str
    summary: str
    reproduces: tuple[str, ...]
    module: str
    text: str = ""
    seeds: int = 20
    has_exact: bool = False
    published: str = ""

    @property
    def source(self) -> str:
        """Authors, venue and text in a line."""
        return f"{self.authors}, {self.venue}" + (f" ({self.text})" if self.text else "")

    @property
    def options(self) -> tuple[str, ...]:
        """The options of :meth:`reproduce` that it knows."""
        return ("seeds", "quick", *(("exact",) if self.has_exact else ()))

    def known(self) -> Published:
        """Return what is known of the paper, and how; nothing where it does not say."""
        return import_module(self.published).PUBLISHED if self.published else Published(())

    def stages(
        self,
        *,
        seeds: int | None = None,
        quick: bool = False,
        exact: bool = False,
        data: str | os.PathLike[str] | None = None,
    ) -> dict[str, int]:
        """Return the stages that :meth:`reproduce` would go through, each with its parts.

        Nothing is run. Parts that real data would add are left out where it is not there; data
        without which nothing can be run is not asked for. Parameters and errors otherwise as of
        :meth:`reproduce`.
        """
        checked = self._checked(seeds, exact)
        stages: Callable[..., dict[str, int]] = import_module(self.module).stages
        with data_at(data):
            return stages(seeds=checked, quick=quick, exact=exact)

    def reproduce(
        self,
        *,
        seeds: int | None = None,
        quick: bool = False,
        exact: bool = False,
        data: str | os.PathLike[str] | None = None,
        keep: str | os.PathLike[str] | None = None,
        executor: Any = None,
        progress: OnProgress | None = None,
    ) -> Reproduction:
        """Run the experiments.

        Parameters
        ----------
        seeds
            Random instances, each the same for all policies; None: :attr:`seeds`.
        quick
            The main comparison alone.
        exact
            Add the gap to the optimum of small instances (extra: exact).
        data
            The folder of the real traces, see :mod:`gpusched.base.real_data`; None: as the
            environment variable GPUSCHED_DATA says.
        keep
            A folder in which every finished run is kept, in a file that is named by all that
            decides it (what is run, this version of the package, the data): a second call takes
            what is there, and runs what is left. None: nothing is kept.
        executor
            Where the runs take place: None: in a process per CPU; ``"processes:N"``,
            ``"dask:ADDRESS"``, ``"ray"``, ``"ray:ADDRESS"``, any ``concurrent.futures.Executor``
            or a ``distributed.Client``. What is timed runs here, one at a time.
        progress
            As for :func:`gpusched.simulate`; its ``part`` is the stage.

        Raises
        ------
        ValueError
            If ``seeds`` is less than 2 (an interval needs two), nothing is ``exact``, or real data
            are missing: the message says where they can be had.
        ImportError
            If ``exact`` is asked for without SciPy.
        Interrupted
            On Ctrl-C; it carries what was done.

        Notes
        -----
        An error of one part is raised when all others are done; see
        :func:`~gpusched_papers.study.run_study`.
        """
        checked = self._checked(seeds, exact)
        run: Callable[..., Reproduction] = import_module(self.module).reproduce
        with data_at(data), running(executor, keep):
            return run(seeds=checked, quick=quick, exact=exact, progress=partial(_tell, progress))

    def _checked(self, seeds: int | None, exact: bool) -> int:
        number = self.seeds if seeds is None else seeds
        if number < LEAST_SEEDS:
            raise ValueError(f"seeds: {number} must be at least {LEAST_SEEDS}")
        if exact and not self.has_exact:
            raise ValueError(f"exact: {self.name} has no part with an exact optimum")
        return number


PAPERS: Final[Registry[Paper]] = Registry("paper", "gpusched_papers.registry")


def register_paper(paper: Paper) -> None:
    """Add ``paper`` to those that ``gpusched reproduce`` lists and runs."""
    if paper.name == ALL:
        raise ValueError(f"paper {ALL}: the word stands for all papers")
    texts = {name: getattr(paper, name) for name in ("title", "authors", "venue", "summary")}
    told("paper", paper.name, module=paper.module, **texts)
    if not paper.reproduces:
        raise ValueError(f"paper {paper.name}: reproduces must name a figure or a table at least")
    if paper.seeds < LEAST_SEEDS:
        raise ValueError(f"paper {paper.name}: seeds: {paper.seeds} must be at least 2")
    PAPERS.add(paper.name, paper)


def known_papers() -> dict[str, Paper]:
    """Every reproduction by name, sorted."""
    return PAPERS.all()


def paper(name: str) -> Paper:
    """Return the reproduction ``name``."""
    return PAPERS.find(name)


def _tell(progress: OnProgress | None, stage: str, done: int, total: int) -> None:
    if progress is not None:
        progress(gs.Progress(done, total, stage))


# The papers here: of each a claims file, NAME.toml, and a module, NAME.py.
for _path in sorted(resources.files("gpusched_papers").iterdir(), key=str):
    _stem, _, _ending = _path.name.partition(".")
    if _ending == "toml":
        _module = f"gpusched_papers.{_stem}"
        _about = {"name": _stem.replace("_", "-"), "module": _module, "published": _module}
        register_paper(msgspec.convert(_about | claims_file(_stem)["paper"], Paper))
