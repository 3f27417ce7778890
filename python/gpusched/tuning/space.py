"""What a search chooses among: policies, and values for their options."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Self

import msgspec

from gpusched.base.files import decode_toml, naming, read_bytes
from gpusched.base.suggest import nearest
from gpusched.plugins.policy import Policy
from gpusched.sweeping.spec_parts import sequence_of
from gpusched.tuning.options import Choices as Choices
from gpusched.tuning.options import Option, checked, option_of, registered_option
from gpusched.tuning.options import Range as Range

if TYPE_CHECKING:
    from optuna.trial import Trial

FIELD: Final = "space"
_OWN: Final = ("policy", "label", "tune")


@dataclass(frozen=True)
class TunedPolicy:
    """A policy with what may be chosen for its options.

    Attributes
    ----------
    label
        In tables.
    fixed
        The policy with the values that are not searched: with all others as by default.
    options
        What is searched, by option.
    """

    label: str
    fixed: Policy
    options: dict[str, Option]

    def with_values(self, values: Mapping[str, Any]) -> Policy:
        """Return the policy with these values of its options."""
        return Policy(self.fixed.name, **(self.fixed.parameters | dict(values)))

    def __str__(self) -> str:
        told = "; ".join(f"{option} {what}" for option, what in self.options.items())
        return f"{self.label}: {told or 'as it is'}"


@dataclass(frozen=True)
class PolicySpace:
    """Policies with what may be chosen for their options, see :meth:`of`."""

    policies: tuple[TunedPolicy, ...]

    @classmethod
    def of(cls, space: Any) -> PolicySpace:
        """Decode a space.

        Parameters
        ----------
        space
            A list of policies, one alone, or a mapping or a TOML or JSON file with such a list as
            ``space``. Each is a text, such as ``"fifo"``, or a table: ``policy`` (a text), a
            ``label``, and options. An option has one value; a list of values, one of which is
            chosen; or a table with ``low``, ``high`` and if wanted ``log = true`` or ``step``.
            ``tune`` lists options whose ranges follow from how they were registered.

        Raises
        ------
        OSError
            If the file cannot be read.
        TypeError, ValueError
            If a name is unknown, a value is out of its range, or there is nothing to choose; the
            message has the path.
        """
        if isinstance(space, cls):
            return space
        if isinstance(space, os.PathLike) or (isinstance(space, str) and _is_file(space)):
            return cls._read(space)
        with naming("space"):
            if isinstance(space, Mapping) and "policy" not in space:
                return cls._decoded(space)
            return cls._of(space if isinstance(space, list | tuple) else [space])

    @classmethod
    def _read(cls, path: str | os.PathLike[str]) -> Self:
        text = read_bytes(path)
        with naming(os.fspath(path)):
            if os.fspath(path).endswith(".json"):
                return cls._decoded(msgspec.json.decode(text, type=dict[str, Any], strict=True))
            return cls._decoded(decode_toml(text, dict[str, Any]))

    @classmethod
    def _decoded(cls, fields: Mapping[str, Any]) -> Self:
        for key in fields:
            if key != FIELD:
                raise ValueError(
                    f"Object contains unknown field `{key}`{nearest(key, [FIELD])} - at `$`"
                )
        if FIELD not in fields:
            raise ValueError(f"Object missing required field `{FIELD}` - at `$`")
        return cls._of(fields[FIELD])

    @classmethod
    def _of(cls, entries: Any) -> Self:
        made = tuple(
            _policy_of(entry, f"{FIELD}[{position}]")
            for position, entry in enumerate(sequence_of(entries, FIELD))
        )
        labels = [one.label for one in made]
        for position, label in enumerate(labels):
            if label in labels[:position]:
                raise ValueError(
                    f"two are called {label!r}; give one a label of its own - at "
                    f"`$.{FIELD}[{position}]`"
                )
        if len(made) == 1 and not made[0].options:
            raise ValueError(
                f"there is nothing to choose: {labels[0]} has no option that is searched - at "
                f"`$.{FIELD}`"
            )
        return cls(made)

    def draw(self, trial: Trial) -> tuple[TunedPolicy, dict[str, Any]]:
        """Have a trial choose a policy, and values for its options."""
        one = self.policies[0]
        if len(self.policies) > 1:
            labels = [policy.label for policy in self.policies]
            one = self.policies[labels.index(trial.suggest_categorical("policy", labels))]
        values = {
            option: what.draw(trial, f"{one.label} {option}")
            for option, what in one.options.items()
        }
        return one, values

    @property
    def columns(self) -> dict[tuple[str, str], str]:
        """What tables call each option, by the label of its policy and its name."""
        several = len(self.policies) > 1
        return {
            (one.label, option): f"{one.label}.{option}" if several else option
            for one in self.policies
            for option in one.options
        }

    def __str__(self) -> str:
        return "\n".join(map(str, self.policies))


def _is_file(text: str) -> bool:
    return text.endswith((".toml", ".json"))


def _policy_of(entry: Any, path: str) -> TunedPolicy:
    if isinstance(entry, Policy):
        return TunedPolicy(str(entry), entry, {})
    if isinstance(entry, str):
        entry = {"policy": entry}
    if not isinstance(entry, Mapping):
        raise TypeError(f"expected a policy or a table, not {entry!r} - at `$.{path}`")
    if "policy" not in entry:
        raise ValueError(f"Object missing required field `policy` - at `$.{path}`")
    base = _base(entry["policy"], f"{path}.policy")
    fixed: dict[str, Any] = dict(base.parameters)
    options: dict[str, Option] = {}
    for key, told in entry.items():
        if key in _OWN:
            continue
        if key in base.parameters:
            raise ValueError(f"{key} has a value in {str(base)!r} already - at `$.{path}.{key}`")
        found = option_of(base.name, key, told, f"{path}.{key}")
        if found is None:
            fixed[key] = checked(base.name, key, told, f"{path}.{key}")
        else:
            options[key] = found
    for position, key in enumerate(_names(entry.get("tune"), f"{path}.tune")):
        where = f"{path}.tune[{position}]"
        if key in fixed or key in options:
            raise ValueError(f"{key} is given already - at `$.{where}`")
        options[key] = registered_option(base.name, key, where)
    known = Policy(base.name, **fixed)
    label = entry.get("label", str(known))
    if not (isinstance(label, str) and label.strip()):
        raise ValueError(f"{label!r} must be text that is not empty - at `$.{path}.label`")
    return TunedPolicy(label, known, options)


def _base(told: Any, path: str) -> Policy:
    if isinstance(told, Policy):
        return told
    try:
        made: Policy = Policy.parse(told)
    except (TypeError, ValueError) as error:
        raise type(error)(f"{error} - at `$.{path}`") from None
    return made


def _names(told: Any, path: str) -> Sequence[str]:
    if told is None:
        return ()
    for position, name in enumerate(sequence_of(told, path)):
        if not isinstance(name, str):
            raise ValueError(
                f"Expected the name of an option, not {name!r} - at `$.{path}[{position}]`"
            )
    return list(told)
