"""Policies written in Python that every installation has; the registry lists them with the core's.

A module defines one subclass of :class:`gpusched.Scheduler` with the attributes that
:func:`gpusched.register_scheduler` explains, and imports nothing heavier than NumPy before a run
needs it.
"""

from __future__ import annotations

from typing import Final

from gpusched.plugins.schedulers.gavel import Gavel

BUILT_IN: Final[dict[str, type]] = {"gavel": Gavel}
