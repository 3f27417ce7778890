"""Builds the extension with a fault in it: the units that the fault is in, and one link."""

import json
import os
import re
import shlex
import shutil
import subprocess
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Final

_LIMIT_S: Final = 600


class Units:
    """What `.ci/dev.sh` has compiled in a checkout, unit by unit.

    A unit takes 1 to 3 s to compile, of the bindings up to 9, most of it headers, so that a build
    for each fault costs less than the tests that are asked. Ninja and CMake, which look at every
    file first, are asked once only.

    Parameters
    ----------
    root
        The checkout; it has been built.
    env
        The environment of the compiler.
    """

    def __init__(self, root: Path, env: Mapping[str, str]) -> None:
        self._root, self._build, self._env = root, root / "build/dev", env
        database = json.loads((self._build / "compile_commands.json").read_text())
        self._commands = {
            Path(entry["file"]).relative_to(root).as_posix(): _compiled(entry["command"])
            for entry in database
            if "/tools/" not in entry["file"]
        }
        self._module = next(self._build.glob("_core*.so")).name
        self._module_beside = root / "python/gpusched" / self._module
        self._link = _linked(self._ninja("commands", self._module).splitlines()[-1])
        self._including = _including(self._ninja("deps"), root)

    def of(self, file: str) -> list[str]:
        """Return the units that a source or a header is part of."""
        return sorted(({file} | self._including[file]) & self._commands.keys())

    def rebuild(self, file: str) -> bool:
        """Compile what a file is part of, and put the module beside the package if it builds.

        What was compiled before stays as it is, for the next fault.
        """
        link = self._link
        for number, unit in enumerate(self.of(file)):
            command = self._commands[unit]
            old, new = command[command.index("-o") + 1], f"mutant_{number}.o"
            if not self._run([new if word == old else word for word in command]):
                return False
            link = [new if word == old else word for word in link]
        # Removed, not written over: a process that has loaded it keeps it.
        self._module_beside.unlink(missing_ok=True)
        beside = str(self._module_beside)
        return self._run([beside if word == self._module else word for word in link])

    def restore(self) -> None:
        """Put the module without a fault beside the package."""
        self._module_beside.unlink(missing_ok=True)
        shutil.copy(self._build / self._module, self._module_beside)

    def _run(self, command: list[str]) -> bool:
        ran = subprocess.run(
            command, cwd=self._build, env=self._env, capture_output=True, timeout=_LIMIT_S
        )
        return ran.returncode == 0

    def _ninja(self, *tool: str) -> str:
        return subprocess.run(
            ["ninja", "-t", *tool],
            cwd=self._build, env=self._env, capture_output=True, text=True, check=True,
        ).stdout  # fmt: skip


def _compiled(command: str) -> list[str]:
    """Return a command without ccache, for which every fault is new, and without warnings.

    The assertions of the library are in, as in the builds under sanitizers.
    """
    words = shlex.split(command)
    kept = [word for word in words if os.path.basename(word) != "ccache" and word != "-Werror"]
    return [*kept, "-D_GLIBCXX_ASSERTIONS"]


def _linked(line: str) -> list[str]:
    """Return the command that ninja wraps in empty ones."""
    return shlex.split(line.removeprefix(": && ").removesuffix(" && :"))


def _including(deps: str, root: Path) -> dict[str, set[str]]:
    """Return, for each file, the units it is part of, from what ninja has noted of each object."""
    found: dict[str, set[str]] = defaultdict(set)
    unit = ""
    for line in deps.splitlines():
        begins = re.match(r"CMakeFiles/[^/]+\.dir/(cpp/.*)\.o: ", line)
        if begins:
            unit = begins[1]
        elif line.startswith(" "):
            path = Path(os.path.normpath(root / "build/dev" / line.strip()))
            if path.is_relative_to(root):
                found[path.relative_to(root).as_posix()].add(unit)
    return found
