"""How the texts of the options that several commands share are read."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from gpusched.cli.defaults import ZOO
from gpusched.cli.reading import DEFAULT, Reading
from gpusched.cli.workload_files import Network, Source
from gpusched.plugins.policy import ContentionChoice, SpeedChoice
from gpusched.reporting.chart_library import INLINE, checked


def split_policies(texts: list[str]) -> list[str]:
    """Split ``a,b:x=1,y=2,c`` into ``a``, ``b:x=1,y=2`` and ``c``; errors as :func:`_split`."""
    return _split(texts, "--policies", "policy")


def split_placements(texts: list[str]) -> list[str]:
    """Split placements in the same way."""
    return _split(texts, "--placements", "placement")


def _split(texts: list[str], option: str, kind: str) -> list[str]:
    """Split at commas; a piece of the form key=value goes on with the name before it.

    Raises
    ------
    ValueError
        If such a piece follows no name, or one without a colon.
    """
    names: list[str] = []
    for text in texts:
        begins = len(names)
        for piece in filter(None, (piece.strip() for piece in text.split(","))):
            name, is_parameter, _ = piece.partition("=")
            if not is_parameter or ":" in name:
                names.append(piece)
            elif len(names) == begins:
                raise ValueError(f"{option}: {piece!r} follows no {kind}")
            elif ":" not in names[-1]:
                raise ValueError(f"{option}: parameters follow a colon: {names[-1]}:{piece}")
            else:
                names[-1] += f",{piece}"
    if not names:
        raise ValueError(f"{option}: names no {kind}")
    return names


def speed_of(
    speed: str | None,
    contention: str,
    profiles: str | None,
    graphs: str | None,
    throughputs: str | None = None,
) -> str | None:
    """Return the speed to run at; None leaves it to the run.

    Raises
    ------
    ValueError
        If the texts name no models, or the speed lacks its profiles or graphs: before a trace is
        read, and in terms of the options.
    """
    shares = ContentionChoice.parse(contention)
    if throughputs is not None and profiles is not None:
        raise ValueError("--throughputs: cannot be combined with --profiles")
    if speed is None and graphs is not None:
        speed = "stages"
    if speed is None and throughputs is not None:
        speed = "table"
    default = "fixed" if shares.has("uncontended") else "ring"
    paces = SpeedChoice.parse(default if speed is None else speed)
    if paces.has("steady") and not shares.has("uncontended"):
        raise ValueError(f"--contention {shares}: has no effect under --speed {paces}")
    if not paces.has("graphs") and graphs is not None:
        raise ValueError(f"--graphs {graphs}: has no effect under --speed {paces}")
    if paces.has("graphs") and graphs is None:
        raise ValueError(f"--speed {paces}: needs --graphs {ZOO}")
    is_measured = paces.has("throughputs") or paces.has("samples")
    if not is_measured and throughputs is not None:
        raise ValueError(f"--throughputs {throughputs}: has no effect under --speed {paces}")
    if paces.has("throughputs") and not shares.has("uncontended"):
        raise ValueError(f"--contention {shares}: has no effect under --speed {paces}")
    if is_measured and throughputs is None and profiles is None:
        raise ValueError(f"--speed {paces}: needs --throughputs FILE")
    if paces.has("profiles") and profiles is None:
        raise ValueError(f"--speed {paces}: needs --profiles FILE, or --profiles {ZOO}")
    return speed


def network_of(
    nic_gbps: float | None,
    intra_gbps: float | None,
    servers_per_rack: int | None,
    oversubscription: float | None,
) -> Network:
    """Put together what says how servers are connected."""
    return Network(nic_gbps, intra_gbps, servers_per_rack, oversubscription)


def pairs(option: str, texts: list[str] | None) -> dict[str, str]:
    """Read the KEY=VALUE pairs that ``option`` was given.

    Raises
    ------
    ValueError
        If one is not of that form, or a key is given twice.
    """
    read: dict[str, str] = {}
    for text in texts or ():
        key, _, value = (part.strip() for part in text.partition("="))
        if not (key and value):
            raise ValueError(f"{option}: {text!r} is not of the form KEY=VALUE")
        if key in read:
            raise ValueError(f"{option}: {key} is given twice")
        read[key] = value
    return read


def format_options(options: list[str] | None) -> dict[str, str | int]:
    """Read the options of a format; what looks like a whole number is one."""
    read = pairs("--option", options)
    return {key: int(value) if value.isdigit() else value for key, value in read.items()}


def source_of(
    paths: Sequence[Path] | Path | None,
    format: str | None,
    columns: list[str] | None,
    options: list[str] | None,
    reading: Reading = DEFAULT,
) -> Source:
    """Put together what says which trace to read, and how."""
    typed = format_options(options)
    files = (paths,) if isinstance(paths, Path) else tuple(paths or ())
    return Source(files, format, pairs("--column", columns) or None, typed, reading)


@dataclass(frozen=True)
class Page:
    """How a report is written: see :func:`gpusched.write_report`."""

    plotly: str = INLINE
    window_s: tuple[float, float] | None = None


def page_of(plotly: str, gantt: str | None) -> Page:
    """Return how the report is to be written, checked before anything runs.

    Raises
    ------
    ValueError
        If there is no such library, or ``gantt`` is no window.
    """
    checked(plotly, "--plotly")
    if gantt is None:
        return Page(plotly)
    begin, _, end = gantt.partition(":")
    try:
        window_s = float(begin), float(end)
    except ValueError:
        window_s = math.nan, math.nan
    if not (all(map(math.isfinite, window_s)) and window_s[0] < window_s[1]):
        raise ValueError(f"--gantt: {gantt!r} must be two increasing times in seconds, FROM:TO")
    return Page(plotly, window_s)
