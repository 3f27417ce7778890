"""Report errors to the user: one line on stderr and exit code 2."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Mapping
from typing import Final

from gpusched.base.early_interrupts import INTERRUPTED as INTERRUPTED
from gpusched.base.failures import message_of
from gpusched.base.registry import PluginWarning
from gpusched.base.run_warning import RunWarning
from gpusched.base.suggest import HintedError

_MISTAKES: Final = (ValueError, TypeError, OSError, ImportError, MemoryError)
_TRACEBACK: Final = "GPUSCHED_TRACEBACK"


def report_failures(failed: Mapping[str, Exception], what: str = "") -> int:
    """Print a line for each failed run and return the exit code."""
    sys.stdout.flush()
    for name, error in failed.items():
        text = message_of(f"{what}{name}", " ".join(_message(error).split()))
        print(f"gpusched: {text}", file=sys.stderr)
    return 2 if all(isinstance(error, _MISTAKES) for error in failed.values()) else 1


def warn_in_a_line() -> None:
    """Print warnings about plug-ins and runs as one line, without file and line number."""
    default = warnings.formatwarning

    def formatted(
        message: Warning | str,
        category: type[Warning],
        filename: str,
        lineno: int,
        line: str | None = None,
    ) -> str:
        if issubclass(category, PluginWarning | RunWarning):
            return f"gpusched: {' '.join(str(message).split())}\n"
        return default(message, category, filename, lineno, line)

    warnings.formatwarning = formatted


def explain(error: Exception) -> int:
    """Print ``error`` and return its exit code; re-raise it if it is a bug in gpusched."""
    if type(error).__name__ == "NoArgsIsHelpError":  # the help has been printed
        return 2
    if hasattr(error, "format_message"):  # from the parser of the command line
        message, code = error.format_message(), int(getattr(error, "exit_code", 2))
    elif isinstance(error, _MISTAKES) and not os.environ.get(_TRACEBACK):
        message, code = _message(error), 2
    else:
        raise error
    sys.stdout.flush()
    print(f"gpusched: {' '.join(message.split())}", file=sys.stderr)
    return code


def _message(error: Exception) -> str:
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {error.strerror}"
    if isinstance(error, HintedError):
        return error.command_text
    return str(error) or type(error).__name__
