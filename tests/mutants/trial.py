"""One fault at a time in a copy of the checkout: built, and tested until something fails."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.mutants.operators import Mutant

BUILD_SECONDS: Final = 600
CPP_STAGES: Final = (
    ("tests/golden", "tests/unit/core"),
    ("tests/contract",),
    ("tests/property",),
    ("tests/parity",),
    ("tests/unit/deciding", "tests/unit/bounds", "tests/unit/engine", "tests/unit/results"),
)
"""What is asked after a fault in the core, the quickest first."""
PYTHON_STAGES: Final = (("tests/property/test_bounds_hold.py", "tests/property/test_core_laws.py"),)
"""What is asked of a fault in Python after the unit tests of its room."""


@dataclass(frozen=True)
class Verdict:
    """What became of a fault.

    Attributes
    ----------
    kind
        ``"killed"`` by a test, ``"hung"`` (it made a test run into its limit, which counts as
        noticed), ``"survived"`` all, or ``"unbuilt"``: no program came of it.
    by
        The first test that failed.
    seconds
        It took, with the build.
    """

    kind: str
    by: str
    seconds: float


class Trial:
    """A copy of a checkout in which faults are tried, one after the other.

    Parameters
    ----------
    checkout
        What is copied: tracked files as they are, the extension and the build of `.ci/dev.sh`.
    copy
        An empty folder.
    limit_s
        A stage that takes longer counts as hung.
    """

    def __init__(self, checkout: Path, copy: Path, limit_s: float) -> None:
        self._root, self._limit_s = copy, limit_s
        names = subprocess.run(
            ["git", "ls-files", "-z"], cwd=checkout, capture_output=True, check=True
        ).stdout
        for name in filter(None, names.decode().split("\0")):
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(checkout / name, copy / name)
        self._env = os.environ | {
            "PYTHONPATH": str(copy / "python"), "CCACHE_BASEDIR": str(copy), "CI": "true",
            "CCACHE_NOHASHDIR": "1",
        }  # fmt: skip
        built = self._run(["bash", ".ci/dev.sh"], BUILD_SECONDS * 6)
        if built is None or built.returncode:
            raise RuntimeError(f"the checkout does not build:\n{built and built.stderr[-2000:]}")

    def verdict(self, mutant: Mutant) -> Verdict:
        """Try a fault, and take it out again."""
        begin = time.monotonic()
        path = self._root / mutant.file
        before = path.read_bytes()
        try:
            mutant.apply(self._root)
            kind, by = self._tried(mutant)
        finally:
            path.write_bytes(before)
        return Verdict(kind, by, time.monotonic() - begin)

    def _tried(self, mutant: Mutant) -> tuple[str, str]:
        stages: tuple[tuple[str, ...], ...]
        if mutant.file.endswith(".py"):
            room = mutant.file.split("/")[2]
            own = f"tests/unit/{room}"
            stages = ((own,), *PYTHON_STAGES) if (self._root / own).is_dir() else PYTHON_STAGES
        else:
            built = self._run(["bash", ".ci/dev.sh"], BUILD_SECONDS)
            if built is None or built.returncode:
                return "unbuilt", ""
            stages = CPP_STAGES
        for stage in stages:
            kind, by = self._asked(stage)
            if kind != "survived":
                return kind, by
        return "survived", ""

    def _asked(self, stage: tuple[str, ...]) -> tuple[str, str]:
        """Run some tests up to the first failure."""
        command = [
            sys.executable, "-m", "pytest", "-n", "0", "-x", "-q", "--no-header", "--tb=no",
            "-p", "no:cacheprovider", "--hypothesis-seed=0", *stage,
        ]  # fmt: skip
        ran = self._run(command, self._limit_s)
        if ran is None:
            return "hung", stage[0]
        if ran.returncode == 0:
            return "survived", ""
        failed = [line for line in ran.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
        return "killed", failed[0].split(" ")[1] if failed else f"{stage[0]}: {ran.returncode}"

    def _run(self, command: list[str], limit_s: float) -> subprocess.CompletedProcess[str] | None:
        """Run a command and all that it starts; None if it takes too long."""
        with subprocess.Popen(
            command, cwd=self._root, env=self._env, text=True, start_new_session=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        ) as process:  # fmt: skip
            try:
                out, errors = process.communicate(timeout=limit_s)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, 9)
                process.communicate()
                return None
        return subprocess.CompletedProcess(command, process.returncode, out, errors)
