"""Names of a package that are loaded on first use."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from typing import Any

_Surface = tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]


def lazy_names(
    package: str,
    homes: Mapping[str, str],
    *,
    submodules: Iterable[str] = (),
) -> _Surface:
    """Return ``__getattr__``, ``__dir__`` and ``__all__`` of a package.

    Parameters
    ----------
    package
        Its dotted name.
    homes
        By public name the module in which it is made, below ``gpusched``.
    submodules
        Those that are public, too: loaded on first use, and not in ``__all__``.
    """
    names, rooms = sorted(homes), frozenset(submodules)

    def load(name: str) -> Any:
        if name in rooms:
            return import_module(f"{package}.{name}")  # which binds it in the package
        if name not in homes:
            text = f"module {package!r} has no attribute {name!r}"
            # An import statement looks whether a module's name is there, and drops the text.
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
