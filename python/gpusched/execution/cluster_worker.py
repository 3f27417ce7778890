"""Calls on a worker of a cluster, which may be told that nobody waits for them any more."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from gpusched.base.stop_scopes import StopScope
from gpusched.execution.calls import within

_scopes: Final[dict[str, StopScope]] = {}


def run_for(study: str, call: Callable[..., Any], *args: Any) -> Any:
    """Call on behalf of a study."""
    return within(_scope_of(study), call, args)


def end_runs_of(study: str) -> None:
    """End the runs of a study in this process, also those that are still to come."""
    _scope_of(study).set()


def _scope_of(study: str) -> StopScope:
    return _scopes.setdefault(study, StopScope())
