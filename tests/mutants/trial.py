"""One fault at a time in a copy of the checkout: built, and tested until something fails."""

import json
import os
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.mutants.building import Units
from tests.mutants.operators import Mutant
from tests.mutants.rooms import stages_of

_BUILD_SECONDS: Final = 3600


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
        What is copied: tracked files as they are.
    copy
        A folder that is there only if this has made it before: what is built in it is kept.
    limit_s
        A test that takes longer counts as hung.
    """

    def __init__(self, checkout: Path, copy: Path, limit_s: float) -> None:
        self._root, self._limit_s = copy, limit_s
        names = subprocess.run(
            ["git", "ls-files", "-z"], cwd=checkout, capture_output=True, check=True
        ).stdout
        for name in filter(None, names.decode().split("\0")):
            _update(checkout / name, copy / name)
        env = os.environ | {
            "PYTHONPATH": str(copy / "python"), "CCACHE_BASEDIR": str(copy), "CI": "true",
            "CCACHE_NOHASHDIR": "1", "PYTHONDONTWRITEBYTECODE": "1",
        }  # fmt: skip
        built = subprocess.run(
            ["bash", ".ci/dev.sh"],
            cwd=copy, env=env, capture_output=True, text=True, timeout=_BUILD_SECONDS,
        )  # fmt: skip
        if built.returncode:
            raise RuntimeError(f"the checkout does not build:\n{built.stdout[-2000:]}")
        self._units = Units(copy, env)
        self._asker = subprocess.Popen(
            [sys.executable, "-m", "tests.mutants.asking"],
            cwd=copy, env=env, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        )  # fmt: skip

    def num_units(self, file: str) -> int:
        """Return how many units of the core must be compiled for a fault in a file."""
        return len(self._units.of(file))

    def unharmed(self, tests: list[str]) -> None:
        """Raise RuntimeError if one of the tests fails, or takes too long, without any fault."""
        kind, by = self._asked([tests])
        if kind != "survived":
            raise RuntimeError(f"without a fault: {kind} by {by}")

    def verdict(self, mutant: Mutant) -> Verdict:
        """Try a fault, and take it out again."""
        begin = time.monotonic()
        path = self._root / mutant.file
        before = path.read_bytes()
        is_native = not mutant.file.endswith(".py")
        try:
            mutant.apply(self._root)
            if is_native and not self._units.rebuild(mutant.file):
                kind, by = "unbuilt", ""
            else:
                kind, by = self._asked(stages_of(mutant.file))
        finally:
            path.write_bytes(before)
            if is_native:
                self._units.restore()
        return Verdict(kind, by, time.monotonic() - begin)

    def _asked(self, stages: list[list[str]]) -> tuple[str, str]:
        """Run tests up to the first failure."""
        assert self._asker.stdin is not None
        assert self._asker.stdout is not None
        print(
            json.dumps({"stages": stages, "limit_s": self._limit_s}),
            file=self._asker.stdin, flush=True,
        )  # fmt: skip
        answer = json.loads(self._asker.stdout.readline())
        return answer["kind"], answer["by"]


def _update(source: Path, target: Path) -> None:
    """Copy a file that is another one; one that is the same keeps its time, and what it built."""
    if target.exists() and target.read_bytes() == source.read_bytes():
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(source, target)
