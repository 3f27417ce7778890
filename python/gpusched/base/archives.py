"""Archives of several files: one of them is read, and never more of it than may be."""

from __future__ import annotations

import io
import lzma
import tarfile
import zipfile
import zlib
from typing import Final

from gpusched.base.files import too_long
from gpusched.base.hints import HintedError

_TAR_MAGIC: Final = slice(257, 262)
_PIECE: Final = 1 << 20
_ENCRYPTED: Final = 0x1
_NUM_SHOWN: Final = 8


def is_tar(data: bytes) -> bool:
    """Whether bytes begin as a tape archive."""
    return data[_TAR_MAGIC] == b"ustar"


def zip_member(path: object, data: bytes, limit: int, member: str | None) -> tuple[bytes, str]:
    """Read one file of a zip archive, but no more than ``limit`` bytes.

    Returns
    -------
    tuple
        Its bytes, and its name.

    Raises
    ------
    ValueError
        If it is damaged, encrypted or too long, or it is not clear which file is meant.
    """
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        entries = [
            entry
            for entry in archive.infolist()
            if not entry.is_dir() and not _is_aside(entry.filename)
        ]
        chosen = [entry for entry in entries if member in (None, entry.filename)]
        if len(chosen) != 1:
            raise _no_member(path, [entry.filename for entry in entries], member)
        entry = chosen[0]
        where = f"{path}, member {entry.filename!r}"
        if entry.flag_bits & _ENCRYPTED:
            raise ValueError(f"{where}: is encrypted")
        if entry.file_size > limit:
            raise too_long(where, entry.file_size, limit)
        content = bytearray()
        try:
            with archive.open(entry) as file:
                while piece := file.read(_PIECE):
                    content += piece
                    if len(content) > limit:
                        raise too_long(where, None, limit)
        except HintedError:
            raise
        except (
            zipfile.BadZipFile, NotImplementedError, EOFError, OSError, RuntimeError, ValueError,
            zlib.error, lzma.LZMAError,
        ) as error:  # fmt: skip
            raise ValueError(f"{where}: truncated or damaged zip: {error}") from None
    return bytes(content), entry.filename


def tar_member(path: object, data: bytes, limit: int, member: str | None) -> tuple[bytes, str]:
    """Read one file of a tape archive; returns and errors are those of :func:`zip_member`."""
    try:
        return _tar_member(path, data, limit, member)
    except tarfile.TarError as error:
        raise ValueError(f"{path}: damaged archive: {error}") from None


def _tar_member(path: object, data: bytes, limit: int, member: str | None) -> tuple[bytes, str]:
    entries = []
    # "r:" - what was packed is unpacked by now.
    with tarfile.open(fileobj=io.BytesIO(data), mode="r:") as archive:
        place = -1
        while (entry := archive.next()) is not None:
            if not place < entry.offset <= len(data):
                raise ValueError(f"{path}: damaged archive: its members overlap")
            place = entry.offset
            if entry.isfile() and not _is_aside(entry.name):
                entries.append(entry)
            # The next one must lie behind it, or a damaged archive would never end.
            if archive.offset <= entry.offset:
                raise ValueError(f"{path}: damaged archive: its members overlap")
        chosen = [entry for entry in entries if member in (None, entry.name)]
        if len(chosen) != 1:
            raise _no_member(path, [entry.name for entry in entries], member)
        entry = chosen[0]
        if entry.size > limit:
            raise too_long(f"{path}, member {entry.name!r}", entry.size, limit)
        if entry.size > len(data) or entry.issparse():
            raise ValueError(f"{path}: damaged archive: a file is longer than the archive")
        content = archive.extractfile(entry)
        assert content is not None  # it is a file
        return content.read(), entry.name


def _is_aside(name: str) -> bool:
    """Whether it is one of those that macOS puts beside each file."""
    return name.startswith("__MACOSX/") or name.rpartition("/")[2].startswith("._")


def _no_member(path: object, names: list[str], member: str | None) -> ValueError:
    more = f" and {len(names) - _NUM_SHOWN:,} more" if len(names) > _NUM_SHOWN else ""
    listed = ", ".join(names[:_NUM_SHOWN]) + more or "none"
    if member is not None:
        what = "several members" if member in names else "no member"
        return ValueError(f"{path}: the archive has {what} {member!r}; there are {listed}")
    if not names:
        return ValueError(f"{path}: the archive holds no file")
    return HintedError(
        f"{path}: the archive holds {len(names):,} files ({listed}); name one",
        f" with member={names[0]!r}", f" with --member {names[0]}",
    )  # fmt: skip
