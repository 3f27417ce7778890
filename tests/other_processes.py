"""What other processes print: the same, whatever the seed of their hashes."""

from __future__ import annotations

import subprocess
import sys


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
            capture_output=True,
            text=True,
            check=True,
            timeout=120,
        ).stdout.strip()
        for seed in ("0", "1")
    }
