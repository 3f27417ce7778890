"""Digests of the Python objects of a run: their code, and their initial state.

Two objects are equal only if both digests are. An object that cannot be read never equals
another: it gets a unique token.
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

    ``role``: its role in the run.
    ``name``, ``module``: of its class.
    ``code_sha256``: digest of the compiled methods of the class and its bases, and of what they
        refer to outside installed packages. It depends on the minor version of Python.
    ``state_sha256``: digest of its attributes at the start of the run; of ``spec_key`` alone, an
        attribute or a method, if the class has it.
    ``unreadable``, ``token``: empty, or the parts that could not be read and a token that no other
        run has.
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
        """Eight hexadecimal digits that distinguish it in a label."""
        return hashlib.sha256(msgspec.json.encode(msgspec.structs.astuple(self))).hexdigest()[:8]


def is_ours(kind: type) -> bool:
    """Whether a class is of gpusched or its papers."""
    return kind.__module__.partition(".")[0] in ("gpusched", "gpusched_papers")


def identify(role: Role, thing: Any) -> PythonObject | None:
    """Describe an object before its run, which may change it; None if its class is gpusched's.

    Objects of gpusched and its papers are identified by their version.
    """
    kind = type(thing)
    if is_ours(kind):
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
