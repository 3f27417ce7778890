"""What is put to the test, made anew for each run."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from gpusched import _core
from gpusched.engine.seams import Chosen, placement_seam, policy_seam
from gpusched.plugins.flags import has
from gpusched.plugins.info import PluginInfo
from gpusched.plugins.policy import Choice

_SEAMS: Final[dict[str, Callable[[Any], Chosen]]] = {
    "policy": policy_seam,
    "placement": placement_seam,
}
_OBJECTS: Final = (_core.Order, _core.Scheduler, _core.Placement)


@dataclass(frozen=True, eq=False)
class Subject:
    """A policy or a placement as it was given: a name, an object, or what makes objects.

    Attributes
    ----------
    given
        A name or a choice; an object of Python, of which each run gets a copy; or a class or a
        function without arguments, which is called for each run.
    info, flags, label
        What is known of it.
    """

    given: Any
    info: PluginInfo
    flags: tuple[str, ...]
    label: str

    @classmethod
    def of(cls, role: str, given: Any) -> Subject:
        """Look at what was given; errors as of :func:`gpusched.simulate`."""
        makes = callable(given) and not isinstance(given, _OBJECTS)
        chosen = _SEAMS[role](given() if makes else given)
        kept = given if makes or not isinstance(given, _OBJECTS) else copy.deepcopy(given)
        return cls(kept, chosen.info, chosen.flags, chosen.label)

    def has(self, flag: str) -> bool:
        """Whether it has the flag; a ValueError if there is no such flag."""
        return has(self.flags, flag)

    def make(self) -> Any:
        """Return one that has done no run."""
        if isinstance(self.given, str | Choice):
            return self.given
        return copy.deepcopy(self.given) if isinstance(self.given, _OBJECTS) else self.given()

    def object(self) -> Any:
        """Return an object of Python as :meth:`make` does; None of what is native."""
        if isinstance(self.given, str | Choice):
            role = "placement" if self.info.kind == "placement" else "policy"
            native = _SEAMS[role](self.given).native
            return None if isinstance(native, str) else native
        return self.make()

    def code(self, role: str) -> str:
        """Return how to name it in a line of code."""
        if isinstance(self.given, str | Choice):
            return repr(self.given) if isinstance(self.given, str) else f"gs.{self.given!r}"
        if isinstance(self.given, _OBJECTS):
            return role if vars(self.given) else f"{type(self.given).__name__}()"
        return getattr(self.given, "__name__", role)
