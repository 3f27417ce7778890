"""What other processes print: the same, whatever the seed of their hashes."""

import signal
import subprocess
import sys
import time
from pathlib import Path


def printed_by_processes(program: str) -> set[str]:
    """Run the program in two processes that order sets and dicts of texts otherwise.

    Returns
    -------
    set of str
        What each of them printed; one text if they agree.
    """
    return {
        subprocess.run(
            [sys.executable, "-c", program],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(["", *sys.path])},
            capture_output=True, text=True, check=True, timeout=120,
        ).stdout.strip()
        for seed in ("0", "1")
    }  # fmt: skip


def interrupted_at(pattern: str, *arguments: object, folder: Path) -> str:
    """Send Ctrl-C to a command once a file of that pattern is there; return what it says.

    It must end soon, by exit code 130.
    """
    command = [sys.executable, "-m", "gpusched", *map(str, arguments)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, cwd=folder) as process:
        deadline = time.monotonic() + 60
        while not list(folder.glob(pattern)):
            assert time.monotonic() < deadline
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        asked = time.monotonic()
        _, said = process.communicate(timeout=30)
    assert time.monotonic() - asked < 5  # a second on a machine that has time
    assert process.returncode == 130
    return said
