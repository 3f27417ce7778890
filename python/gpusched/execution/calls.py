"""A call as it runs on a worker, and its error as it travels back."""

from __future__ import annotations

import pickle
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from gpusched.base.stop_scopes import StopScope


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a call made, or its error.

    Attributes
    ----------
    processor_s
        Processor time of its process while it ran: its own where nothing else ran there.
    """

    made: Any = None
    error: Exception | None = None
    processor_s: float = 0.0


def outcome_of(call: Callable[..., Any], *args: Any) -> Outcome:
    """Call, and return an error as a value; whatever else is raised comes from the worker."""
    began_s = time.process_time()
    try:
        made = call(*args)
        return Outcome(made, processor_s=time.process_time() - began_s)
    except Exception as error:
        return Outcome(error=error)
    except BaseException as error:  # sys.exit() in a policy ends its run, and not the worker
        ended = RuntimeError(f"{type(error).__name__}: {error}")
        ended.__cause__ = error
        return Outcome(error=ended)


def portable_outcome_of(call: Callable[..., Any], *args: Any) -> Outcome:
    """Do the same in another process, from which the outcome travels back."""
    outcome = outcome_of(call, *args)
    return outcome if outcome.error is None else Outcome(error=portable(outcome.error))


def within(scope: StopScope, call: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    """Call with the runs in it under ``scope``."""
    with scope.entered():
        return call(*args)


def portable(error: Exception) -> Exception:
    """Return an error that survives the way to another process, with where it was raised."""
    trace = "".join(traceback.format_exception(error))
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        error = RuntimeError(f"{type(error).__qualname__}: {error}")
    error.__traceback__ = error.__cause__ = error.__context__ = None
    error.add_note(trace)
    return error
