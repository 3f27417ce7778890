"""Any answer of the package as plain JSON, so that two processes can be compared."""

from __future__ import annotations

import dataclasses
import hashlib
import inspect
import json
import re
import sys
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np
import polars as pl

LONG: Final = 64
"""More elements than this are represented by a digest and the first few."""
DEEP: Final = 4
OWN_TYPE: Final = "()"
"""The key under which an object names its type; other attributes of it may be added."""
BRIEF: Final = {"Trace", "Cluster"}
"""Types abbreviated inside other values, as nearly every object holds one."""
METHODS: Final[dict[str, tuple[str, ...]]] = {
    "Result": ("summary", "audit", "to_polars"),
    "Comparison": ("table", "to_dict", "winners", "losers", "jobs", "without_summary"),
    "Trace": ("describe", "to_polars", "rebased"),
    "Cluster": ("to_toml", "core_columns"),
    "ClusterDecision": ("to_polars",),
    "SweepResult": ("table",),
    "Tuning": ("table",),
    "Study": ("to_toml",),
    "ClusterState": (),
}
"""Methods whose answers belong to an object's description."""

Mask = Callable[[str], str]


@dataclasses.dataclass(frozen=True)
class Plain:
    """What is plain JSON already."""

    value: Any


def mask_of(folder: Path) -> Mask:
    """Return what hides the folder of this side, the place of the package, addresses, a digest of
    the code, and names of runs in sweeps and of their files, which hold that or are random.
    """
    import gpusched

    package = str(Path(gpusched.__file__).parent)
    hidden = [(package, "<package>"), (str(folder), "<here>"), (sys.prefix, "<prefix>")]

    def mask(text: str) -> str:
        for path, name in hidden:
            text = text.replace(path, name)
        text = re.sub(r'("code": ?)"[0-9a-f]{16}"', r'\1"<varies>"', text)
        return re.sub(r"0x[0-9a-f]{6,}|\b[0-9a-f]{32}\b", "<varies>", text)

    return mask


def describe(value: Any, mask: Mask, depth: int = 0) -> Any:
    """Return ``value`` as what JSON can hold: type, value, shape, names and public attributes."""
    inner = depth + 1
    match value:
        case None | bool():
            return value
        case str():
            return _lines(mask(str(value)))
        case int():
            return value if abs(value) < 2**53 else str(value)
        case float():
            return repr(float(value))
        case bytes() | bytearray():
            return {"bytes": len(value), "digest": _digest(bytes(value))}
        case np.generic():
            return {str(value.dtype): repr(value.item())}
        case np.ndarray():
            return _array(value, mask, inner)
        case pl.DataFrame():
            columns = {name: _series(value[name], mask) for name in value.columns}
            return {"frame": list(value.columns), "columns": columns}
        case pl.Series():
            return _series(value, mask)
        case BaseException():
            return error(value, mask)
        case Mapping():
            keys = [mask(str(key)) for key in value]
            pairs = zip(keys, value.values(), strict=True)
            return {"order": keys, **{key: describe(held, mask, inner) for key, held in pairs}}
        case list() | tuple():
            return _sequence(value, mask, inner)
        case set() | frozenset():
            return {"set": sorted(mask(repr(held)) for held in value)}
        case Path():
            return mask(str(value))
        case Plain():
            return value.value
        case type():
            return f"class {value.__name__}"
    name = type(value).__name__
    if type(value).__module__.startswith("gpusched"):
        return _object(value, name, mask, depth)
    if callable(value):
        return f"callable {getattr(value, '__name__', name)}"
    if type(value).__module__.startswith(("pandas", "pyarrow")):
        return {name: _foreign(value, mask, inner)}
    return {name: _lines(mask(repr(value)))}


def error(raised: BaseException, mask: Mask) -> dict[str, Any]:
    """Return an exception's type, what else it counts as, its message and its cause."""
    said: dict[str, Any] = {
        "raises": type(raised).__name__,
        "is_a": [base.__name__ for base in type(raised).__mro__ if base.__module__ == "builtins"],
        "message": _lines(mask(str(raised))),
    }
    notes = getattr(raised, "__notes__", None)
    if notes:
        said["notes"] = [mask(note) for note in notes]
    return said


def answer(ask: Callable[[], Any], mask: Mask, depth: int = 0) -> dict[str, Any]:
    """Return what ``ask`` gives or raises, and its warnings in the order of their texts."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            said = {"value": describe(ask(), mask, depth)}
        except Exception as raised:
            said = error(raised, mask)
    told = sorted({f"{one.category.__name__}: {mask(str(one.message))}" for one in caught})
    return {**said, "warnings": told}


def signature(value: Any, mask: Mask) -> Any:
    """Return names, kinds and defaults of parameters; of a class, of its public members too."""
    if not callable(value):
        return type(value).__name__
    told: dict[str, Any] = {OWN_TYPE: type(value).__name__, "call": _parameters(value, mask)}
    if inspect.isclass(value):
        for name in _public(value):
            member = inspect.getattr_static(value, name)
            function = getattr(member, "__func__", member)
            told[name] = _parameters(function, mask) if callable(function) else "attribute"
    return told


def file(path: Path, mask: Mask) -> Any:
    """Return what a file that was left behind holds."""
    if path.suffix == ".parquet":
        return describe(pl.read_parquet(path), mask)
    if path.suffix == ".npz":
        with np.load(path, allow_pickle=False) as held:
            return describe({name: held[name] for name in held.files}, mask)
    data = path.read_bytes()
    try:
        text = data.decode()
        return _lines(mask(tags_apart(text) if path.suffix == ".html" else text))
    except UnicodeDecodeError:
        return describe(data, mask)


def tags_apart(page: str) -> str:
    """Return a page of HTML with each tag on a line, so that differences are separate.

    Cells are sorted alike by 44 and by 44.0.
    """
    return re.sub(r'(data-value="-?\d+)\.0"', r'\1"', page.replace("><", ">\n<"))


def _parameters(function: Any, mask: Mask) -> Any:
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return "no signature"
    return [
        f"{one.name} {one.kind.name}"
        + ("" if one.default is one.empty else f" = {mask(repr(one.default))}")
        for one in parameters
    ]


def _public(value: Any) -> list[str]:
    fields = getattr(value, "__struct_fields__", ())
    names = {*dir(type(value) if not inspect.isclass(value) else value), *fields}
    if not inspect.isclass(value):
        names.update(getattr(value, "__dict__", ()))
        if dataclasses.is_dataclass(value):
            names.update(field.name for field in dataclasses.fields(value))
    return sorted(name for name in names if not name.startswith("_"))


def _object(value: Any, name: str, mask: Mask, depth: int) -> Any:
    told: dict[str, Any] = {OWN_TYPE: name}
    if depth >= DEEP or (depth and name in BRIEF):
        return {**told, "text": _lines(mask(repr(value)))} if name in BRIEF else told
    for attribute in _public(value):
        try:
            held = getattr(value, attribute)
        except Exception as raised:
            told[attribute] = error(raised, mask)
            continue
        if not callable(held) or inspect.isclass(held):
            told[attribute] = describe(held, mask, depth + 1)
    if type(value).__str__ is not object.__str__ and not dataclasses.is_dataclass(value):
        told["text"] = _lines(mask(str(value)))
    if not depth:
        for method in METHODS.get(name, ()):
            told[f"{method}()"] = answer(getattr(value, method), mask, 1)
    return told


def _array(value: Any, mask: Mask, depth: int) -> Any:
    told = {"array": str(value.dtype), "shape": list(value.shape)}
    if value.dtype.kind in "OUS":
        return {**told, "held": describe(value.tolist(), mask, depth)}
    if value.size <= LONG:
        return {**told, "held": repr(value.tolist())}
    head = value.ravel()[:4].tolist()
    return {**told, "digest": _digest(np.ascontiguousarray(value).tobytes()), "head": repr(head)}


def _series(value: pl.Series, mask: Mask) -> Any:
    held = mask(repr(value.to_list()))
    told = {"series": str(value.dtype), "len": len(value)}
    if len(value) <= LONG // 4:
        return {**told, "held": held}
    return {**told, "digest": _digest(held.encode()), "head": mask(repr(value.head(3).to_list()))}


def _sequence(value: list[Any] | tuple[Any, ...], mask: Mask, depth: int) -> Any:
    fields = getattr(value, "_fields", None)
    if fields:
        named = {name: describe(held, mask, depth) for name, held in value._asdict().items()}  # type: ignore[union-attr]
        return {OWN_TYPE: type(value).__name__, **named}
    kind = "tuple" if isinstance(value, tuple) else "list"
    if len(value) <= LONG:
        return {kind: [describe(held, mask, depth) for held in value]}
    held = json.dumps([describe(held, mask, depth) for held in value])
    head = [describe(held, mask, depth) for held in value[:3]]
    return {kind: len(value), "digest": _digest(held.encode()), "head": head}


def _foreign(value: Any, mask: Mask, depth: int) -> Any:
    try:
        frame = pl.from_pandas(value) if hasattr(value, "iloc") else pl.from_arrow(value)
    except Exception:
        return mask(repr(value))
    return describe(frame, mask, depth)


def _lines(text: str) -> Any:
    if "\n" not in text:
        return text if len(text) < 4000 else {"text": len(text), "digest": _digest(text.encode())}
    lines = text.split("\n")
    if len(lines) > 20_000:
        return {"lines": len(lines), "digest": _digest(text.encode())}
    return {"lines": [line if len(line) < 4000 else _lines(line) for line in lines]}


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:16]
