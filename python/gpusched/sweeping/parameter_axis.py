"""An axis of a study that is an option of a policy, a placement or the like."""

from __future__ import annotations

from typing import Final

import msgspec

from gpusched.base.field_checks import check_name

ROLES: Final = ("policy", "placement", "speed", "contention", "predictor")


class ParameterAxis(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """An option of a policy, a placement, a speed, a contention or a predictor over values.

    Entries of the study that have another name are run once, and have no value in the column.

    Attributes
    ----------
    option
        Name of the parameter, such as ``tau``.
    values
        Its values; at least one.
    policy, placement, speed, contention, predictor
        One of them: the registered name that has the parameter, such as ``a-srpt``.
    name
        Of the column; default: ``option``.
    """

    option: str
    values: tuple[bool | int | float | str | tuple[float, ...], ...]
    policy: str | None = None
    placement: str | None = None
    speed: str | None = None
    contention: str | None = None
    predictor: str | None = None
    name: str = ""

    def __post_init__(self) -> None:
        check_name("option", self.option)
        roles = [role for role in ROLES if getattr(self, role) is not None]
        if len(roles) != 1:
            said = f"{roles[0]} and {roles[1]} are given" if roles else "none is given"
            raise ValueError(f"{', '.join(ROLES)}: one of them is needed, {said}")
        if not self.values:
            raise ValueError("values: at least one is needed")
        if len({*map(repr, self.values)}) < len(self.values):
            raise ValueError(f"values: one value is listed twice in {list(self.values)}")

    @property
    def role(self) -> str:
        """Whose option it is: ``policy``, ``placement`` ..."""
        return next(role for role in ROLES if getattr(self, role) is not None)

    @property
    def of(self) -> str:
        """The registered name that has it."""
        return str(getattr(self, self.role))

    @property
    def title(self) -> str:
        """Name of the column."""
        return self.name or self.option
