"""Digests of Python code and values, equal only for equal ones."""

from __future__ import annotations

import dis
import functools
import hashlib
import sys
import sysconfig
import types
from collections.abc import Iterable
from typing import Any, Final

import numpy as np

_CORE: Final = "gpusched._core"
# Attributes of a class that its author did not write.
_NOT_CODE: Final = {
    "__module__", "__qualname__", "__dict__", "__weakref__", "__doc__", "__firstlineno__",
    "__static_attributes__", "__abstractmethods__", "_abc_impl", "__annotations__", "__slotnames__",
    "__annotate_func__", "__annotations_cache__", "__annotate__", "__parameters__",
}  # fmt: skip


def is_installed(module: str | None) -> bool:
    """Return whether a module belongs to Python, to gpusched or to an installed package."""
    if module is None or module == "__main__":
        return False
    root = module.partition(".")[0]
    path = getattr(sys.modules.get(module), "__file__", None)
    if root == "gpusched":
        return True
    if path is None:  # built in, or created by hand
        return root in sys.stdlib_module_names
    return "-packages" in path or path.startswith(_installed_folders())


@functools.cache  # Python recomputes each on every call
def _installed_folders() -> tuple[str, ...]:
    return tuple(
        sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")
    )


class UnreadableError(Exception):
    """The object has no stable digest."""


class ObjectReader:
    """Computes digests of values, equal only for equal values."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[Any, bytes]] = {}
        self._open: dict[int, int] = {}

    def code_of(self, kind: type) -> bytes:
        """Digest a class: its bases, attributes and methods, or its name if it is installed."""
        return self._once(kind, self._class)

    def state_of(self, thing: Any) -> bytes:
        """Digest the attributes of an object, or its own state."""
        if hasattr(type(thing), "spec_key"):
            key = thing.spec_key
            return _joined("key", self.of(key() if callable(key) else key))
        return _joined("state", self._attributes(thing))

    def of(self, value: Any) -> bytes:
        """Digest any value."""
        if value is None or value is Ellipsis or isinstance(value, bool | int | str | bytes):
            if type(value) in (type(None), type(Ellipsis), bool, int, str, bytes):
                return _joined(type(value).__name__, repr(value).encode())
        elif type(value) in (float, complex):
            return _joined(type(value).__name__, repr(value).encode())
        return self._once(value, self._any)

    def _once(self, value: Any, read: Any) -> bytes:
        known = self._known.get(id(value))
        if known is not None:
            return known[1]
        if id(value) in self._open:  # a cycle: digest its distance
            return _joined("above", str(len(self._open) - self._open[id(value)]).encode())
        self._open[id(value)] = len(self._open)
        try:
            digest: bytes = read(value)
        finally:
            del self._open[id(value)]
        self._known[id(value)] = (value, digest)  # kept alive, so that its id stays unique
        return digest

    def _any(self, value: Any) -> bytes:
        kind = type(value)
        if kind in (list, tuple):
            return _joined(kind.__name__, *map(self.of, value))
        if kind in (dict, types.MappingProxyType):
            return _joined("dict", *self._pairs(value.items()))
        if kind in (set, frozenset):
            return _joined(kind.__name__, *sorted(map(self.of, value)))
        if kind is np.ndarray and value.dtype.kind in "biufcUSmM":
            own = np.ascontiguousarray(value, value.dtype.newbyteorder("<"))
            facts = f"{own.dtype.str} {value.shape}".encode()
            return _joined("array", facts, hashlib.sha256(own.tobytes()).digest())
        if isinstance(value, type):
            return self._class(value)
        if isinstance(value, types.FunctionType):
            return self._function(value)
        if isinstance(value, types.CodeType):
            return self._code(value)
        if isinstance(value, types.MethodType):
            return _joined("method", self.of(value.__func__), self.of(value.__self__))
        if isinstance(value, types.ModuleType):
            return _joined("module", value.__name__.encode())
        if isinstance(value, types.BuiltinFunctionType | np.ufunc):
            owner = getattr(value, "__self__", None)
            is_free = owner is None or isinstance(owner, types.ModuleType)
            is_free = is_free or type(owner).__name__ == "PyCapsule"  # of an extension
            inner = b"" if is_free else self.of(owner)
            module = getattr(value, "__module__", None) or "builtins"
            return _joined("builtin", f"{module}.{value.__name__}".encode(), inner)
        if isinstance(value, staticmethod | classmethod):
            return _joined(kind.__name__, self.of(value.__func__))
        if isinstance(value, property):
            return _joined("property", *map(self.of, (value.fget, value.fset, value.fdel)))
        if isinstance(value, functools.cached_property):
            return _joined("cached_property", self.of(value.func))
        if isinstance(value, types.MemberDescriptorType | types.GetSetDescriptorType):
            return _joined("slot", value.__name__.encode())
        if hasattr(value, "__wrapped__"):  # a function behind a cache
            return _joined("wrapped", kind.__name__.encode(), self.of(value.__wrapped__))
        # A Python order's state is its attributes; the core's objects have more, and no pickle.
        is_seam = kind.__module__ != _CORE and any(b.__module__ == _CORE for b in kind.__mro__)
        if is_seam or hasattr(kind, "spec_key"):
            return _joined("object", self.of(kind), self.state_of(value))
        return self._reduced(value)

    def _reduced(self, value: Any) -> bytes:
        """Digest what a pickle would hold: a callable, its arguments and the state."""
        try:
            parts = value.__reduce_ex__(4)
        except UnreadableError:
            raise
        except Exception as error:
            raise UnreadableError(f"{type(value).__qualname__}: {error}") from None
        if isinstance(parts, str):
            return _joined("global", f"{type(value).__module__}.{parts}".encode())
        make, arguments, *rest = parts
        state = rest[0] if rest else None
        if isinstance(state, dict):  # the order of assignment does not matter
            state = dict(sorted(state.items(), key=lambda item: str(item[0])))
        items = [list(part) for part in rest[1:3] if part is not None]
        return _joined("reduced", *map(self.of, (make, arguments, state, items)))

    def _attributes(self, thing: Any) -> bytes:
        held = dict(getattr(thing, "__dict__", {}))
        for kind in type(thing).__mro__:
            for name, slot in vars(kind).items():
                if isinstance(slot, types.MemberDescriptorType) and _is_set(slot, thing):
                    held[f"{kind.__qualname__}.{name}"] = slot.__get__(thing)
        parts = self._pairs(sorted(held.items()))
        if isinstance(thing, dict | list | tuple | set | frozenset | str | bytes | int | float):
            parts.append(self._reduced(thing))
        return _joined("attributes", *parts)

    def _pairs(self, items: Iterable[tuple[Any, Any]]) -> list[bytes]:
        return [_joined("pair", self.of(key), self.of(value)) for key, value in items]

    def _class(self, kind: type) -> bytes:
        name = f"{kind.__module__}.{kind.__qualname__}".encode()
        # A class created without a module claims to be built in.
        is_ours = kind.__module__ == "builtins" and "__module__" in vars(kind)
        if is_installed(kind.__module__) and not is_ours and "<" not in kind.__qualname__:
            return _joined("installed", name)
        own = {key: value for key, value in vars(kind).items() if key not in _NOT_CODE}
        bases = [self.of(base) for base in kind.__bases__]
        return _joined("class", name, *bases, *self._pairs(sorted(own.items())))

    def _function(self, function: types.FunctionType) -> bytes:
        name = f"{function.__module__}.{function.__qualname__}".encode()
        is_made = "<" in function.__qualname__  # in a function, or a lambda
        is_ours = function.__module__ == "builtins"  # no function of Python's own is
        if is_installed(function.__module__) and not (is_made or is_ours):
            return _joined("installed", name)
        cells = [self._cell(cell) for cell in function.__closure__ or ()]
        used = {
            key: function.__globals__[key]
            for key in sorted(_globals_of(function.__code__))
            if key in function.__globals__
        }
        parts = (function.__defaults__, function.__kwdefaults__, vars(function))
        return _joined(
            "function",
            self._code(function.__code__),
            *map(self.of, parts),
            *cells,
            *self._pairs(used.items()),
            *self._members(function.__code__, used),
        )

    def _members(self, code: types.CodeType, used: dict[str, Any]) -> list[bytes]:
        """Digest what the code may use from modules that are not installed."""
        return [
            self.of(getattr(module, name))
            for module in used.values()
            if isinstance(module, types.ModuleType) and not is_installed(module.__name__)
            for name in sorted(names_of(code))
            if hasattr(module, name)
        ]

    def _cell(self, cell: types.CellType) -> bytes:
        try:
            return self.of(cell.cell_contents)
        except ValueError:
            return _joined("empty")

    def _code(self, code: types.CodeType) -> bytes:
        facts = (code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags)
        names = (code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars)
        table = getattr(code, "co_exceptiontable", b"")
        version = sys.implementation.cache_tag
        parts = (version, code.co_name, facts, names, code.co_code, table, code.co_consts)
        return _joined("code", *map(self.of, parts))


def _joined(kind: str, *parts: bytes) -> bytes:
    sha = hashlib.sha256()
    for part in (kind.encode(), *parts):
        sha.update(f"{len(part)}:".encode() + part)
    return sha.digest()


def _is_set(slot: types.MemberDescriptorType, thing: Any) -> bool:
    try:
        slot.__get__(thing)
    except AttributeError:
        return False
    return True


@functools.lru_cache(maxsize=4096)
def _globals_of(code: types.CodeType) -> frozenset[str]:
    """Return the names that the code, and functions inside it, look up in their module."""
    used = {
        str(step.argval)
        for step in dis.get_instructions(code)
        if step.opname in ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS")
    }
    inner = (part for part in code.co_consts if isinstance(part, types.CodeType))
    return frozenset(used).union(*map(_globals_of, inner))


def names_of(code: types.CodeType) -> set[str]:
    """Names of globals and attributes in code, and in functions inside of it."""
    inner = (part for part in code.co_consts if isinstance(part, types.CodeType))
    return set(code.co_names).union(*map(names_of, inner))
