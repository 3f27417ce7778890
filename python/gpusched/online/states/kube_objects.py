"""Objects of Kubernetes in files: one or many, in lists or not, as JSON or YAML."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, date, datetime
from fractions import Fraction
from typing import Any, Final

from gpusched.base.libraries import need
from gpusched.base.source import Source

MAX_DEPTH: Final = 200
"""Of one value within another; objects of Kueue have about 20."""
_QUANTITY: Final = re.compile(r"([0-9]{1,18})(?:\.([0-9]{1,9}))?(m|k|Ki|M|Mi|G|Gi)?")
_UNITS: Final = {
    "m": Fraction(1, 1000), None: Fraction(1), "k": Fraction(1000), "Ki": Fraction(1024),
    "M": Fraction(10**6), "Mi": Fraction(2**20), "G": Fraction(10**9), "Gi": Fraction(2**30),
}  # fmt: skip

HOSTNAME: Final = "kubernetes.io/hostname"
"""The label of a server's own name."""


class KubeObject:
    """An object of Kubernetes, read field by field.

    Attributes
    ----------
    kind, group
        Such as ``"Workload"`` and ``"kueue.x-k8s.io"``.
    """

    def __init__(self, fields: Mapping[str, Any], source: Source) -> None:
        self._fields = fields
        self._source = source
        self.kind = text_of(fields.get("kind"))
        self.group = text_of(fields.get("apiVersion")).rpartition("/")[0]

    def __str__(self) -> str:
        return f"{self._source}, {self.kind} {self.key}"

    @property
    def name(self) -> str:
        """Its name."""
        return text_of(self.at("metadata", "name"))

    @property
    def namespace(self) -> str:
        """Its namespace; empty if it has none."""
        return text_of(self.at("metadata", "namespace"))

    @property
    def key(self) -> str:
        """Its name after its namespace."""
        return f"{self.namespace}/{self.name}" if self.namespace else self.name

    def at(self, *path: str) -> Any:
        """Return the value of a field in fields; None if it is not there."""
        return at(self._fields, *path)

    def condition(self, kind: str) -> tuple[bool, float]:
        """Return whether a condition holds, and since when, in seconds since 1970 or NaN."""
        for each in items_of(self.at("status", "conditions")):
            if each.get("type") == kind:
                return each.get("status") == "True", seconds_of(each.get("lastTransitionTime"))
        return False, float("nan")


def objects_of(sources: Sequence[Source]) -> Iterator[KubeObject]:
    """Yield all objects in the files, those in lists one by one.

    Raises
    ------
    ValueError
        If a file is neither JSON nor YAML, or holds what is no object.
    ImportError
        If one is YAML, and no library can read that.
    """
    for source in sources:
        for document in _documents(source):
            yield from _listed(document, source)


def _documents(source: Source) -> Iterator[Any]:
    text = source.text.lstrip()
    if text[:1] in "{[":
        try:
            yield json.loads(text)
        except json.JSONDecodeError as error:
            raise ValueError(f"{source}, line {error.lineno}: {error.msg}") from None
        except RecursionError:
            raise ValueError(f"{source}: nested too deeply") from None
        return
    need("yaml", f"{source}: YAML", "gpusched[yaml]")
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        _check_depth(yaml.parse(text, Loader=loader), source)
        yield from yaml.load_all(text, Loader=loader)
    except yaml.YAMLError as error:
        raise ValueError(f"{source}: {' '.join(str(error).split())}") from None


def _check_depth(events: Iterator[Any], source: Source) -> None:
    """Refuse what the library would follow so deep that the process ends."""
    depth = 0
    for event in events:
        name = type(event).__name__
        depth += name.endswith("StartEvent") - name.endswith("EndEvent")
        if depth > MAX_DEPTH:
            raise ValueError(f"{source}: nested too deeply")


def _listed(document: Any, source: Source) -> Iterator[KubeObject]:
    if document is None:  # an empty document between two marks
        return
    for each in document if isinstance(document, list) else [document]:
        if not isinstance(each, Mapping) or not isinstance(each.get("kind"), str):
            raise ValueError(f"{source}: {str(each)[:60]!r} is no object with a kind")
        if not (each["kind"].endswith("List") and isinstance(each.get("items"), list)):
            yield KubeObject(each, source)
            continue
        kind = each["kind"].removesuffix("List")
        for item in each["items"]:
            if not isinstance(item, Mapping):
                raise ValueError(f"{source}: {str(item)[:60]!r} in a list is no object")
            known = {"kind": kind, "apiVersion": each.get("apiVersion")}
            yield KubeObject({**known, **item}, source)


def at(fields: Any, *path: str) -> Any:
    """Return the value of a field in fields; None if it is not there."""
    for name in path:
        fields = fields.get(name) if isinstance(fields, Mapping) else None
    return fields


def items_of(value: Any) -> list[Mapping[str, Any]]:
    """Return the objects of a list; what is none is passed over."""
    given = value if isinstance(value, list) else []
    return [each for each in given if isinstance(each, Mapping)]


def text_of(value: Any) -> str:
    """Return a text; "" for what is none."""
    return value if isinstance(value, str) else ""


def seconds_of(value: Any) -> float:
    """Return a time in seconds since 1970, NaN for what is none."""
    if isinstance(value, date) and not isinstance(value, datetime):
        return float("nan")
    try:
        found = value if isinstance(value, datetime) else datetime.fromisoformat(value)
        return (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()
    except (TypeError, ValueError, OverflowError):
        return float("nan")


def count_of(value: Any) -> int | None:
    """Return a quantity such as ``8``, ``"8"`` or ``"1k"``; None if it is no whole number."""
    found = _QUANTITY.fullmatch(str(value)) if isinstance(value, int | str) else None
    if found is None or isinstance(value, bool):
        return None
    whole, part, unit = found.groups()
    amount = (int(whole) + Fraction(int(part or 0), 10 ** len(part or ""))) * _UNITS[unit]
    return int(amount) if amount.denominator == 1 else None
