"""Names of a package that are loaded on first use."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

_Surface = tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]


def lazy_names(
    package: str,
    homes: Mapping[str, str],
    *,
    submodules: Iterable[str] = (),
) -> _Surface:
    """Return ``__getattr__``, ``__dir__`` and ``__all__`` of a package.

    ``package``: its dotted name.
    ``homes``: the module of each public name, below ``gpusched``.
    ``submodules``: public submodules, loaded on first use and not in ``__all__``.
    """
    names, rooms = sorted(homes), frozenset(submodules)

    def load(name: str) -> Any:
        if name in rooms:
            return import_module(f"{package}.{name}")  # binds it in the package
        if name not in homes:
            text = f"module {package!r} has no attribute {name!r}"
            # An import statement only tests for the name and discards the text.
            if not name.startswith("_") and sys._getframe(1).f_code.co_name != "_handle_fromlist":
                from difflib import get_close_matches

                close = get_close_matches(name, [*names, *rooms], n=1)
                if close := close or [known for known in names if known.startswith(f"{name}_")]:
                    text += f"; did you mean {close[0]!r}?"
            raise AttributeError(text)
        value = getattr(import_module(f"gpusched.{homes[name]}"), name)
        setattr(sys.modules[package], name, value)
        return value

    return load, lambda: sorted({*names, *rooms}), names


def serve_old_names(homes: Mapping[str, str]) -> None:
    """Keep packages and their modules importable by their old dotted names."""
    sys.meta_path.insert(0, _OldNames(homes))


class _OldNames(MetaPathFinder, Loader):
    """Imports a module by an old name as the same module."""

    def __init__(self, homes: Mapping[str, str]) -> None:
        self._homes = homes

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        del path, target
        old = next((old for old in self._homes if f"{name}.".startswith(f"{old}.")), None)
        if old is None:
            return None
        new = self._homes[old] + name.removeprefix(old)
        return ModuleSpec(name, self, origin=new)

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        module = import_module(str(spec.origin))
        spec.loader_state = module.__spec__  # the import system replaces it
        return module

    def exec_module(self, module: ModuleType) -> None:
        spec = module.__spec__
        if spec is not None:
            module.__spec__ = spec.loader_state
