"""One input and what is asked of its reader: a result, or a documented error by name."""

import random
import resource
import sys
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from tests.fuzz.damage import damaged
from tests.fuzz.hostile_files import hostile
from tests.fuzz.readers import Reader

READ, REFUSED = "read", "refused"

MOST_MIB: Final = 1024
"""What reading one input may add to the process; bombs may unpack to 64 MiB of text."""
_LONGEST: Final = 20_000
_HOSTILE_SHARE: Final = 0.2


def made(reader: Reader, seed: int, index: int) -> tuple[str, str, bytes]:
    """Return a file's name, what was done to it, and its contents; always the same for a case."""
    draw = random.Random(f"{reader.name}/{seed}/{index}")
    name, data = reader.begin(draw)
    if draw.random() < _HOSTILE_SHARE:
        what, data = hostile(name, draw)
    else:
        what, data = damaged(data, draw)
    return name, what, data


def verdict_on(reader: Reader, path: Path, data: bytes) -> str:
    """Judge what a reader makes of this input, which stands at ``path``; as :func:`judged`."""
    verdict = judged(reader.read, path, reader.argument)
    is_whole = any(data == whole for _, whole in reader.files)
    if reader.is_sealed and verdict == READ and not is_whole:
        return "fault: read a file that was changed"
    return verdict


def judged(read: Callable[[Path], Any], path: Path, argument: str | None = None) -> str:
    """Read a file; return ``read``, ``refused``, or ``fault: `` and what is wrong.

    An error must name the file, or what the reader was given in its stead.
    """
    before = _most_mib()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            read(path)
    except (ValueError, TypeError, OSError) as error:
        verdict = told(error, path.name, argument or path.name)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        verdict = _fault(error)
    else:
        verdict = READ
    taken = _most_mib() - before
    if taken > MOST_MIB and verdict in (READ, REFUSED):
        return f"fault: took {taken:,.0f} MiB"
    return verdict


def told(error: Exception, *names: str) -> str:
    """Judge an error of a documented type by what it says."""
    message = str(error)
    # Who raises one of these for an input passed it on from where it says nothing to a user.
    if not any(name in message for name in names):
        return f"fault: does not name the file\n{_traceback(error)}"
    if len(message.splitlines()) > 1:
        return f"fault: a message of several lines\n{message}"
    if len(message) > _LONGEST:
        return f"fault: a message of {len(message):,} characters: {message[:200]}"
    return REFUSED


def _fault(error: BaseException) -> str:
    return f"fault: {type(error).__name__}\n{_traceback(error)}"


def _traceback(error: BaseException) -> str:
    return "".join(traceback.format_exception(error))[-6_000:]


def _most_mib() -> float:
    """Return the most that this process has held so far."""
    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return used / 1024 if sys.platform != "darwin" else used / (1 << 20)
