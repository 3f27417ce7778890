"""Values in files that several processes of one machine map: one copy in memory for all."""

from __future__ import annotations

import mmap
import pickle
import struct
import weakref
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from gpusched.execution.backend import Handle

# Count and sizes of the parts come first; each part begins where any array may.
_COUNT: Final = struct.Struct("<q")
_ALIGNMENT: Final = 64
_MOST_LOADED: Final = 16


@dataclass(frozen=True, eq=False)
class FileHandle(Handle):
    """A value in a file, which goes when the handle does."""

    path: str

    def __reduce__(self) -> tuple[Any, ...]:
        return FileHandle, (self.path,)  # what it stands for stays here


def to_file(value: Any, path: Path) -> FileHandle:
    """Write a value: its arrays as they lie in memory, all else pickled."""
    buffers: list[pickle.PickleBuffer] = []
    head = pickle.dumps(value, protocol=5, buffer_callback=buffers.append)
    parts = [memoryview(head), *(buffer.raw() for buffer in buffers)]
    with open(path, "wb") as file:  # nobody knows of it before it is whole
        file.writelines(_laid_out(parts))
    handle = FileHandle(str(path))
    weakref.finalize(handle, path.unlink, missing_ok=True)
    return handle


def _laid_out(parts: list[memoryview]) -> Iterator[bytes | memoryview]:
    sizes = _COUNT.pack(len(parts)) + b"".join(_COUNT.pack(part.nbytes) for part in parts)
    yield sizes
    at = len(sizes)
    for part in parts:
        yield b"\0" * (-at % _ALIGNMENT)
        yield part
        at += -at % _ALIGNMENT + part.nbytes


def _from_file(path: str) -> Any:
    with open(path, "rb") as file:
        mapped = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    (count,) = _COUNT.unpack_from(mapped)
    at = _COUNT.size * (count + 1)
    parts = []
    for size in struct.unpack_from(f"<{count}q", mapped, _COUNT.size):
        at += -at % _ALIGNMENT
        parts.append(mapped[at : at + size])
        at += size
    return pickle.loads(parts[0], buffers=parts[1:])


_loaded: OrderedDict[str, Any] = OrderedDict()


def values_of(args: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the arguments with the values of file handles in their places.

    Each is loaded once in a process; of many, those used last are kept.
    """
    return tuple(_value_of(arg.path) if isinstance(arg, FileHandle) else arg for arg in args)


def _value_of(path: str) -> Any:
    if path not in _loaded:
        _loaded[path] = _from_file(path)
        while len(_loaded) > _MOST_LOADED:
            _loaded.popitem(last=False)
    _loaded.move_to_end(path)
    return _loaded[path]
