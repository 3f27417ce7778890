"""The baseline loops from Python: builds ``bench/floor`` on demand and runs them."""

from __future__ import annotations

import fcntl
import importlib.machinery
import importlib.util
import shutil
import subprocess
import sys
import sysconfig
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

SOURCE = Path(__file__).resolve().parent
POLICIES = ("fifo", "sjf", "srtf")


class FloorUnavailableError(RuntimeError):
    """The floor cannot be built here: CMake, pybind11 or a C++20 compiler is missing."""


@dataclass(frozen=True)
class FloorRun:
    """One run of a loop; ``wall_s`` is the loop alone, without any conversion."""

    finish_us: NDArray[np.int64]
    start_us: NDArray[np.int64] | None
    wall_s: float
    max_waiting: int
    preemptions: int


def run(
    policy: str,
    submit_us: NDArray[np.int64],
    service_us: NDArray[np.int64],
    gpus: NDArray[np.int32],
    num_gpus: int,
    *,
    starts: bool = False,
    finish_us: NDArray[np.int64] | None = None,
) -> FloorRun:
    """Schedule the columns, sorted by submit, on one pool of ``num_gpus`` GPUs.

    Parameters
    ----------
    policy
        ``"fifo"``, ``"sjf"`` or ``"srtf"``, all with skipping.
    starts
        Whether the first starts are written as well.
    finish_us
        Where the finishes are written; None: in a column of their own.
    """
    if policy not in POLICIES:
        raise ValueError(f"the floor has {', '.join(POLICIES)}, not {policy!r}")
    loop = getattr(load(), policy)
    out: dict[str, Any] = loop(submit_us, service_us, gpus, num_gpus, starts, finish_us)
    return FloorRun(
        finish_us=out["finish_us"],
        start_us=out["start_us"] if starts else None,
        wall_s=out["wall_s"],
        max_waiting=out["max_waiting"],
        preemptions=out["preemptions"],
    )


@cache
def load() -> ModuleType:
    """Build the extension where it is missing or older than its sources, and import it.

    Raises
    ------
    FloorUnavailableError
        If a tool is missing or the build fails; the message holds the build's last lines.
    """
    directory = SOURCE.parent / "build" / f"bench-floor-{sysconfig.get_config_var('SOABI')}"
    library = directory / f"floor{sysconfig.get_config_var('EXT_SUFFIX')}"
    sources = [SOURCE / "CMakeLists.txt", *(SOURCE / "floor").glob("*.[ch]pp")]
    directory.mkdir(parents=True, exist_ok=True)
    with open(directory / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # another process may be at it
        newest = max(source.stat().st_mtime for source in sources)
        if not library.exists() or library.stat().st_mtime < newest:
            _build(directory)
    loader = importlib.machinery.ExtensionFileLoader("floor", str(library))
    spec = importlib.util.spec_from_file_location("floor", library, loader=loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


def _build(directory: Path) -> None:
    try:
        import pybind11
    except ImportError:
        raise FloorUnavailableError("the floor needs pybind11: pip install pybind11") from None
    _call(
        "cmake",
        f"-S{SOURCE}",
        f"-B{directory}",
        "-DCMAKE_BUILD_TYPE=Release",
        f"-Dpybind11_DIR={pybind11.get_cmake_dir()}",
        f"-DPython_EXECUTABLE={sys.executable}",
        *(["-GNinja"] if shutil.which("make") is None else []),
    )
    _call("cmake", "--build", str(directory))


def _call(*command: str) -> None:
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        raise FloorUnavailableError(
            f"the floor needs {command[0]}: pip install {command[0]}"
        ) from None
    if done.returncode != 0:
        last = "\n".join((done.stdout + done.stderr).splitlines()[-20:])
        raise FloorUnavailableError(f"the floor does not build:\n{last}")
