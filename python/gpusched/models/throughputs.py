"""Measured throughputs of several models: what :func:`gpusched.models.read_throughputs` returns."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final, Literal

import msgspec
import numpy as np

from gpusched.base.replacing import replacing
from gpusched.models.profiles import AnyProfiles, JobProfile, known_profiles
from gpusched.models.throughput_tables import Curve, Table, filled_table, greatest_count, lowered

if TYPE_CHECKING:
    import polars

OnRise = Literal["note", "error", "lower"]
ON_RISE: Final = ("note", "error", "lower")
COLUMNS: Final = ("model", "gpu_type", "gpus", "iterations_per_s", "spread")
"""Of a table in a file or a frame; the last one is optional."""


class Throughputs(Mapping[str, JobProfile]):
    """Profiles with throughputs, by model.

    Parameters
    ----------
    profiles
        With distinct names.
    source
        Where they come from.
    notes
        What was left out or is unusual, a sentence each.

    Examples
    --------
    >>> import gpusched as gs
    >>> profile = gs.models.JobProfile("m", throughput={"V100": {1: 10.0, 2: 18.0}})
    >>> from gpusched.models.throughputs import Throughputs
    >>> Throughputs(profile)["m"].throughput["V100"][2]
    18.0
    """

    def __init__(
        self, profiles: AnyProfiles, source: str = "profiles", notes: tuple[str, ...] = ()
    ) -> None:
        self._profiles = {profile.name: profile for profile in known_profiles(profiles)}
        for profile in self._profiles.values():
            if not (profile.throughput or profile.samples_per_s):
                raise ValueError(f"{source}: profile {profile.name!r} has no throughput")
        self.source = source
        self.notes = notes

    def __getitem__(self, model: str) -> JobProfile:
        return self._profiles[model]

    def __iter__(self) -> Iterator[str]:
        return iter(self._profiles)

    def __len__(self) -> int:
        return len(self._profiles)

    def __repr__(self) -> str:
        types = ", ".join(self.gpu_types)
        return f"Throughputs({len(self)} models on {types}, from {self.source})"

    @property
    def gpu_types(self) -> tuple[str, ...]:
        """The GPU types that some model has throughputs for."""
        named = [(*p.throughput, *p.samples_per_s) for p in self._profiles.values()]
        return tuple(dict.fromkeys(gpu_type for types in named for gpu_type in types))

    def concave(self) -> Throughputs:
        """Return tables in which no further GPU gains more than the one before.

        From the least number of GPUs on, a throughput that rises faster than before is lowered to
        the line; the others stay.

        Returns
        -------
        Throughputs
            Of the same models; these stay as they are.

        Examples
        --------
        >>> measured = gs.models.JobProfile("m", throughput={"V100": {1: 10, 2: 18, 4: 40}})
        >>> gs.models.Throughputs(measured).concave()["m"].throughput["V100"][4]
        34.0
        """
        return self._changed(
            lambda table: {name: lowered(curve) for name, curve in table.items()},
            f"{self.source}, lowered to concave tables",
        )

    def extended(self, max_gpus: int) -> Throughputs:
        """Return tables that go on to ``max_gpus``, doubling the number of GPUs.

        How a table goes on stands in :func:`gpusched.models.throughput_tables.filled_table`. A type
        for which only one number of GPUs is known goes on as the others do; a model of which no
        type knows more than one stays as it is.

        Returns
        -------
        Throughputs
            Of the same models; these stay as they are.

        Raises
        ------
        TypeError
            If ``max_gpus`` is no whole number.
        ValueError
            If it does not lie in 1..1,000,000.

        Examples
        --------
        >>> measured = gs.models.JobProfile("m", throughput={"V100": {1: 10, 2: 18}})
        >>> list(gs.models.Throughputs(measured).extended(8)["m"].throughput["V100"])
        [1, 2, 4, 8]
        """
        if isinstance(max_gpus, bool) or not isinstance(max_gpus, int | np.integer):
            raise TypeError(f"max_gpus: {max_gpus!r} must be an integer")
        if not 1 <= max_gpus <= 1_000_000:
            raise ValueError(f"max_gpus: {max_gpus} must lie in 1..1,000,000")

        def extend(table: Table) -> Table:
            if all(len(curve) == 1 for curve in table.values()):
                return table
            known = {count for curve in table.values() for count in curve}
            last = greatest_count(table)
            while last * 2 <= max_gpus:
                last *= 2
                known.add(last)
            if last < max_gpus:
                last = int(max_gpus)
                known.add(last)
            return filled_table(table, sorted(known), last)

        return self._changed(extend, f"{self.source}, extended to {max_gpus} GPUs")

    def to_polars(self) -> polars.DataFrame:
        """Return the measured throughputs as a Polars frame.

        Returns
        -------
        polars.DataFrame
            Columns model, gpu_type, gpus, iterations_per_s and spread (null: none).

        Examples
        --------
        >>> measured = gs.models.JobProfile("m", throughput={"V100": {1: 10, 2: 18}})
        >>> gs.models.Throughputs(measured).to_polars().rows()
        [('m', 'V100', 1, 10.0, None), ('m', 'V100', 2, 18.0, None)]
        """
        import polars

        rows = [
            (name, gpu_type, count, number, profile.spread_throughput.get(gpu_type, {}).get(count))
            for name, profile in self._profiles.items()
            for gpu_type, curve in profile.throughput.items()
            for count, number in curve.items()
        ]
        types = (polars.String, polars.String, polars.Int64, polars.Float64, polars.Float64)
        schema = dict(zip(COLUMNS, types, strict=True))
        return polars.DataFrame(rows, schema=schema, orient="row")

    def to_csv(self, path: str | os.PathLike[str]) -> None:
        """Write the table as CSV; :func:`gpusched.models.read_throughputs` reads it back.

        Returns
        -------
        None
            The table is in the file; one that was there is replaced only by a whole new one.

        Raises
        ------
        OSError
            If it cannot be written; an old one is still there.

        Examples
        --------
        >>> measured = gs.models.JobProfile("m", throughput={"V100": {1: 10, 2: 18}})
        >>> gs.models.Throughputs(measured).to_csv("measured.csv")
        >>> gs.models.read_throughputs("measured.csv")["m"].throughput["V100"][2]
        18.0
        """
        frame = self.to_polars()
        with replacing(path) as partial:
            frame.write_csv(partial)

    def _changed(self, change: Callable[[Table], Table], source: str) -> Throughputs:
        profiles = []
        for profile in self._profiles.values():
            changes: dict[str, Any] = {
                field: change(getattr(profile, field))
                for field in ("throughput", "spread_throughput")
                if getattr(profile, field)
            }
            profiles.append(msgspec.structs.replace(profile, **changes))
        return Throughputs(profiles, source, self.notes)


def checked_rises(throughputs: Throughputs, on_rise: str) -> Throughputs:
    """Note, refuse or lower tables that are not concave.

    Raises
    ------
    ValueError
        If ``on_rise`` is ``"error"`` and there is one; the message names the first.
    """
    if on_rise not in ON_RISE:
        raise ValueError(f"on_rise: {on_rise!r} must be one of {', '.join(ON_RISE)}")
    lines = [line for profile in throughputs.values() for line in profile.check_concave()]
    if not lines:
        return throughputs
    others = f" ({len(lines) - 1:,} other tables too)" if len(lines) > 1 else ""
    said = f"not concave: {lines[0]}{others}"
    if on_rise == "error":
        raise ValueError(f"{throughputs.source}: {said}")
    noted = Throughputs(dict(throughputs), throughputs.source, (*throughputs.notes, said))
    return noted.concave() if on_rise == "lower" else noted


def profile_of(
    model: str, packed: Mapping[str, Curve], spread: Mapping[str, Curve], **others: Any
) -> JobProfile:
    """Make a profile of tables; types that were measured spread only are left out."""
    kept = {gpu_type: curve for gpu_type, curve in spread.items() if gpu_type in packed}
    return JobProfile(model, throughput=dict(packed), spread_throughput=kept, **others)
