"""What a Python object of a run is known by: its code, and the state that it begins with.

Two objects are the same only if both are. What cannot be read is never said to be equal to
anything: it gets a text of its own.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Callable
from typing import Any, Literal

import msgspec

Role = Literal["policy", "placement", "predictor"]


class PythonObject(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A Python policy, placement or predictor of a run.

    Attributes
    ----------
    role
        What it is in the run.
    name, module
        Of its class.
    code_sha256
        Of the compiled methods of the class and its bases, and of what they refer to outside of
        installed packages. Another minor version of Python compiles otherwise.
    state_sha256
        Of its attributes when the run began; of ``spec_key`` alone, an attribute or a method,
        where the class has one.
    unreadable, token
        Empty, or what could not be read, and a text that no other run has.
    """

    role: Role
    name: str
    module: str
    code_sha256: str
    state_sha256: str
    unreadable: str = ""
    token: str = ""

    @property
    def short(self) -> str:
        """Eight hexadecimal digits that tell it from others in a label."""
        return hashlib.sha256(msgspec.json.encode(msgspec.structs.astuple(self))).hexdigest()[:8]


def identify(role: Role, thing: Any) -> PythonObject | None:
    """Describe an object before its run, which may change it; None if its class is gpusched's.

    What gpusched and its papers hold is known by their version.
    """
    kind = type(thing)
    if kind.__module__.partition(".")[0] in ("gpusched", "gpusched_papers"):
        return None
    from gpusched.base.object_digests import ObjectReader, UnreadableError

    reader = ObjectReader()
    unreadable: list[str] = []

    def read(digest: Callable[[Any], bytes], value: Any) -> str:
        try:
            return digest(value).hex()
        except UnreadableError as error:
            unreadable.append(str(error))
        except RecursionError:
            unreadable.append("it is nested too deeply")
        return ""

    code, state = read(reader.code_of, kind), read(reader.state_of, thing)
    token = secrets.token_hex(16) if unreadable else ""
    return PythonObject(
        role, kind.__qualname__, kind.__module__, code, state, "; ".join(unreadable), token
    )
