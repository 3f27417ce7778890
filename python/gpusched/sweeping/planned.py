"""A study made ready: its runs with their names, and which of them are done."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from gpusched.sweeping.expansion import Expansion, PlannedRun, expand
from gpusched.sweeping.run_names import run_names
from gpusched.sweeping.run_store import frame_of
from gpusched.sweeping.running import OFFERED_LOAD
from gpusched.sweeping.study import Study

if TYPE_CHECKING:
    import polars as pl

_LAST: Final = ("wall_s", "total_s", "clairvoyant", "warnings", "error", "repeat")
SHORT_NAME: Final = 12
"""Digits of a name that are shown."""


@dataclass(frozen=True, eq=False)
class PlannedStudy:
    """The runs of a study in the order in which they are done, and their names."""

    expansion: Expansion
    names: list[str]

    @classmethod
    def of(cls, study: Study, only: str | None = None) -> PlannedStudy:
        """Plan a study; ``only``: the runs whose names begin with it.

        Raises
        ------
        OSError, ValueError, TypeError
            As :func:`~gpusched.sweeping.expansion.expand`; or if no name begins with ``only``.
        """
        expansion = expand(study)
        names = run_names(expansion)
        if only is None:
            return cls(expansion, names)
        chosen = [at for at, name in enumerate(names) if name.startswith(only)]
        if not chosen:
            raise ValueError(
                f"only: no run of the study has a name that begins with {only!r}; names change "
                "with the study, its files and the version of gpusched"
            )
        runs = [expansion.runs[at] for at in chosen]
        from dataclasses import replace

        return cls(replace(expansion, runs=runs), [names[at] for at in chosen])

    def __len__(self) -> int:
        return len(self.names)

    @cached_property
    def by_name(self) -> dict[str, PlannedRun]:
        """The runs by their names."""
        return dict(zip(self.names, self.expansion.runs, strict=True))

    def left(self, done: Collection[str]) -> list[tuple[str, PlannedRun]]:
        """Return the runs that are not done, each once."""
        return [(name, run) for name, run in self.by_name.items() if name not in done]

    @cached_property
    def labels(self) -> pl.DataFrame:
        """One row per run: its name, and its value on each axis."""
        import polars as pl

        of_runs = self.expansion.label_columns(self.expansion.runs)
        types: dict[str, Any] = {
            "load": pl.Float64, "jobs": pl.Int64, "seed": pl.Int64, "window": pl.String,
        }  # fmt: skip
        columns = [pl.Series("run", self.names, pl.String)]
        for key in self.expansion.columns:
            columns.append(pl.Series(key, of_runs[key], types.get(key), strict=False))
        return pl.DataFrame(columns)

    @cached_property
    def _places(self) -> dict[str, int]:
        return {name: place for place, name in enumerate(self.names)}

    def labelled(self, rows: Sequence[dict[str, Any]]) -> pl.DataFrame:
        """Return the rows of runs with their values on each axis."""
        labels = self.labels[[self._places[row["run"]] for row in rows]].drop("run")
        frame = frame_of(rows)
        return frame.drop(labels.columns, strict=False).hstack(labels)

    def table(self, kept: pl.DataFrame, repeat: str) -> pl.DataFrame:
        """Put what is known of the runs behind their axes.

        Parameters
        ----------
        kept
            Rows with the column ``run``, more than one for none.
        repeat
            A line that does a run again, with ``{run}`` where its name belongs.
        """
        import polars as pl

        labels = self.labels
        own = [key for key in kept.columns if key == "run" or key not in labels.columns]
        joined = labels.join(kept.select(own), on="run", how="left", maintain_order="left")
        missing: dict[str, Any] = {
            "wall_s": pl.Float64, "total_s": pl.Float64, "clairvoyant": pl.Boolean,
            "warnings": pl.List(pl.String), "error": pl.String, OFFERED_LOAD: pl.Float64,
        }  # fmt: skip
        joined = joined.with_columns(
            pl.lit(None, kind).alias(key)
            for key, kind in missing.items()
            if key not in joined.columns
        )
        before, _, after = repeat.partition("{run}")
        line = pl.concat_str(pl.lit(before), pl.col("run").str.head(SHORT_NAME), pl.lit(after))
        joined = joined.with_columns(
            repeat=pl.when(pl.col("error").is_not_null()).then(line).otherwise(None)
        )
        if "num_jobs" in joined.columns:
            joined = joined.with_columns(jobs=pl.coalesce("jobs", "num_jobs"))
        first = [key for key in joined.columns if key not in _LAST]
        return joined.select(*first, *_LAST)


def names_of(frame: pl.DataFrame, names: Sequence[str]) -> set[str]:
    """Return which of ``names`` have a row without an error."""
    import polars as pl

    if "error" in frame.columns:
        frame = frame.filter(pl.col("error").is_null())
    return set(frame["run"].to_list()) & set(names)
