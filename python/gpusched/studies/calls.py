"""A call on a worker: its shared data, its result or error, and how it is stopped."""

from __future__ import annotations

import mmap
import multiprocessing
import os
import pickle
import shutil
import threading
import time
import traceback
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from gpusched.base.supervision import StopScope

_ALIGNMENT: Final = 64  # of any array
_MOST_LOADED: Final = 16
# How often a worker checks that its parent still runs.
_POLL_SECONDS: Final = 0.5

_scopes: Final[dict[str, StopScope]] = {}


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of a call, or its error.

    ``processor_s``: processor time of its process while it ran; includes calls that ran there at
        the same time.
    """

    made: Any = None
    error: Exception | None = None
    processor_s: float = 0.0


def outcome_in(scope: StopScope, run: Callable[..., Any], *args: Any) -> Outcome:
    """Call under a scope that can stop it; return errors, so that others are the worker's own.

    ``sys.exit()`` in a policy ends its run, not the worker.
    """
    began_s = time.process_time()
    try:
        with scope.entered():
            made = run(*args)
        return Outcome(made, processor_s=time.process_time() - began_s)
    except Exception as error:
        return Outcome(error=error)
    except BaseException as error:
        ended = RuntimeError(f"{type(error).__name__}: {error}")
        ended.__cause__ = error
        return Outcome(error=ended)


def outcome_of(study: str, run: Callable[..., Any], *args: Any) -> Outcome:
    """Do the same in another process, for a study that can stop its calls there."""
    outcome = outcome_in(_scope_of(study), run, *args)
    return outcome if outcome.error is None else Outcome(error=_portable(outcome.error))


def end_calls_of(study: str) -> None:
    """Stop the calls of a study in this process, also those not yet begun."""
    _scope_of(study).set()


def _scope_of(study: str) -> StopScope:
    return _scopes.setdefault(study, StopScope())


def _portable(error: Exception) -> Exception:
    """Return a copy of an error that can be pickled, with its traceback."""
    trace = "".join(traceback.format_exception(error))
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        error = RuntimeError(f"{type(error).__qualname__}: {error}")
    error.__traceback__ = error.__cause__ = error.__context__ = None
    error.add_note(trace)
    return error


class SharedFile:
    """A value in a file that processes of this machine map: one copy in memory for all.

    Workers unpickle the value itself, once. The file is deleted with this object.
    """

    def __init__(self, value: Any, path: Path) -> None:
        buffers: list[pickle.PickleBuffer] = []
        head = pickle.dumps(value, protocol=5, buffer_callback=buffers.append)
        parts: list[bytes | memoryview] = [head, *(buffer.raw() for buffer in buffers)]
        places = []
        with open(path, "wb") as file:  # its path is handed out only once it is complete
            for part in parts:
                file.write(bytes(-file.tell() % _ALIGNMENT))
                begin = file.tell()
                file.write(part)
                places.append((begin, file.tell()))
        self._where = str(path), tuple(places)
        weakref.finalize(self, path.unlink, missing_ok=True)

    def __reduce__(self) -> tuple[Any, ...]:
        return _loaded, self._where


@lru_cache(maxsize=_MOST_LOADED)
def _loaded(path: str, places: tuple[tuple[int, int], ...]) -> Any:
    with open(path, "rb") as file:
        mapped = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    head, *buffers = (mapped[begin:end] for begin, end in places)
    return pickle.loads(head, buffers=buffers)


def end_with_parent(parent: int, folder: str) -> None:
    """Make this process end when its parent does, and remove the folder then."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(_POLL_SECONDS)
        shutil.rmtree(folder, ignore_errors=True)  # the parent was killed before it could
        os._exit(0)

    threading.Thread(target=watch, name="gpusched-parent", daemon=True).start()


def end_if_starting() -> None:
    """End this process if it is a worker that is starting and imports its parent's script.

    The script needed processes at its top level, so its main part has no guard. The parent
    notices the missing worker, reports it, and runs the rest of the script itself.
    """
    if getattr(multiprocessing.current_process(), "_inheriting", False):
        raise SystemExit(1)


def is_ready() -> bool:
    """Say that a process has started."""
    return True
