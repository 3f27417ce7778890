"""What the commands that write files check before they begin."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from gpusched.base.replacing import check_folder, check_target, refuse_inputs
from gpusched.cli.defaults import ZOO

Input = str | Path | None


def read_files(
    *,
    trace: Input | Sequence[Path] = None,
    cluster: Input = None,
    profiles: Input = None,
    throughputs: Input = None,
) -> dict[str, Input]:
    """Return the files that a command reads, by what they are."""
    traces = (trace,) if isinstance(trace, str | Path) else trace or ()
    files = [path for path in traces if str(path) != "-"]
    return {
        **{
            f"trace {number}" if number > 1 else "trace": path
            for number, path in enumerate(files, 1)
        },
        "cluster": cluster,
        "file of profiles": None if profiles == ZOO else profiles,
        "file of throughputs": throughputs,
    }


def _numbered(name: str, index: int) -> str:
    return f"{name} {index + 1}" if index else name


def prepare_folder(folder: Path, names: tuple[str, ...], inputs: dict[str, Input]) -> None:
    """Make a folder, and see that files ``names`` can be written there and are no inputs."""
    check_folder(folder, names)
    refuse_inputs((folder / name for name in names), inputs)


def prepare_target(target: Path, inputs: dict[str, Input]) -> None:
    """See that a file can be written and is no input."""
    refuse_inputs((target,), inputs)
    check_target(target)
