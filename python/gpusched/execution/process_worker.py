"""What a worker process does: calls, as long as the one that started it wants them."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import shutil
import struct
import threading
from contextlib import suppress
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any, Final

from gpusched.base.stop_scopes import StopScope
from gpusched.execution.calls import within
from gpusched.execution.shared_files import values_of

ENDED: Final = "ended"
"""The mark of a parent that wants its processes to end."""

_NUMBER: Final = struct.Struct("<q")
# How often a worker looks whether its parent is there, in case something keeps the pipe open.
_POLL_SECONDS: Final = 1.0

# A process that is killed in the middle of a longer message leaves its parent waiting for the rest.
_LONGEST_MESSAGE: Final = 8_192

_scope: Final = StopScope()  # the parent listens for Ctrl-C
_folder = ""
_mark: int | None = None


def end_if_starting() -> None:
    """End this process if it is one that starts, and imports its parent's script for that.

    The script has come to where it wants processes itself, so its main part has no guard. A worker
    that ends here is one that its parent misses, and speaks of; what the script would do next, the
    parent does.

    Raises
    ------
    SystemExit
        In such a process.
    """
    if getattr(multiprocessing.current_process(), "_inheriting", False):
        raise SystemExit(1)


def begin_worker(lifeline: Connection, folder: str, marks: str) -> None:
    """Make this process one that ends with its parent, and says what it does."""
    global _folder, _mark
    _folder = folder
    parent = multiprocessing.parent_process()
    assert parent is not None
    threading.Thread(
        target=_end_with_parent,
        args=(lifeline, parent.pid, folder, marks),
        name="lifeline",
        daemon=True,
    ).start()
    try:
        _mark = os.open(Path(marks) / str(os.getpid()), os.O_CREAT | os.O_WRONLY, 0o600)
    except FileNotFoundError:  # the parent has ended meanwhile, and its files with it
        os._exit(0)


def _end_with_parent(lifeline: Connection, parent: int | None, folder: str, marks: str) -> None:
    while not wait([lifeline], timeout=_POLL_SECONDS) and os.getppid() == parent:
        pass
    if not (Path(marks) / ENDED).exists():  # the parent was killed, and could not clean up
        shutil.rmtree(folder, ignore_errors=True)
    os._exit(0)


def run_pickled(number: int, pickled: bytes) -> bytes | str:
    """Call what was pickled, after a mark that says so, should it end the process.

    Returns
    -------
    bytes or str
        What it made, pickled, or the file that this is in.
    """
    if _mark is not None:
        os.pwrite(_mark, _NUMBER.pack(number), 0)
    call, args = pickle.loads(pickled)
    made = pickle.dumps(within(_scope, call, values_of(args)))
    if len(made) <= _LONGEST_MESSAGE:
        return made
    path = Path(_folder) / f"{number}.made"
    path.write_bytes(made)  # it is read once it is whole, and need not outlive a loss of power
    return str(path)


def unpickled(made: bytes | str) -> Any:
    """Return what a call made; a file is read once."""
    if isinstance(made, str):
        path = Path(made)
        made = path.read_bytes()
        path.unlink()
    return pickle.loads(made)


def begun_in(marks: Path) -> set[int]:
    """Return the number of the last call that each process began."""
    found = set()
    for path in marks.iterdir():
        with suppress(struct.error):  # it has begun none
            found.add(_NUMBER.unpack(path.read_bytes())[0])
    return found


def is_ready() -> bool:
    """Say that a process has started."""
    return True
