"""What ``progress=True`` shows: a bar where somebody looks, and nothing elsewhere."""

from __future__ import annotations

import io
import sys
from itertools import count
from types import SimpleNamespace
from typing import Any

import pytest

from gpusched.base.progress import Progress, watched


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_function_is_given_as_it_is(monkeypatch):
    for given in (print, None):
        with watched(given, "loads", "runs") as tell:
            assert tell is given
    monkeypatch.setattr(sys, "stderr", Terminal())
    with watched(False, "loads", "runs") as tell:
        assert tell is None


def test_nothing_is_shown_where_nobody_looks(monkeypatch):
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    with watched(True, "loads", "runs") as tell:
        assert tell is None
    assert sys.stderr.getvalue() == ""


def test_a_terminal_has_a_bar(monkeypatch):
    monkeypatch.setattr(sys, "stderr", Terminal())
    monkeypatch.setenv("TERM", "xterm")
    with watched(True, "loads [x]", "runs") as tell:
        assert tell is not None
        tell(Progress(3, 40))
        tell(Progress(40, 40))
    shown = sys.stderr.getvalue()
    assert "loads [x]" in shown
    assert "40/40" in shown


class Notebook:
    """IPython as far as it is asked: one cell, and what stands below it."""

    def __init__(self) -> None:
        self.shown: list[dict[str, str]] = []
        self.kernel: Any = object()

    def get_ipython(self) -> Any:
        return self

    def display(self, bundle: dict[str, str], *, raw: bool, display_id: bool) -> Any:
        assert raw
        assert display_id
        self.shown.append(bundle)
        return SimpleNamespace(update=lambda bundle, raw: self.shown.append(bundle))


@pytest.fixture
def notebook(monkeypatch: pytest.MonkeyPatch) -> Notebook:
    """Return a notebook that is open, where each look at the clock comes ten seconds later."""
    made = Notebook()
    monkeypatch.setitem(sys.modules, "IPython", made)
    monkeypatch.setitem(sys.modules, "IPython.display", made)
    clock = count(100.0, 10.0)
    monkeypatch.setattr("time.monotonic", lambda: next(clock))
    return made


def test_a_notebook_has_a_line_with_the_time_left(notebook):
    with watched(True, "<loads>", "runs") as tell:
        assert tell is not None
        for done in (1_000, 1_010, 1_030):  # a thousand were kept
            tell(Progress(done, 1_030))
    assert [shown["text/plain"] for shown in notebook.shown] == [
        "<loads>",
        "<loads>: 1,000 of 1,030 runs",
        "<loads>: 1,010 of 1,030 runs 40.0 s left",
        "<loads>: 1,030 of 1,030 runs in 30.0 s",
        "<loads>: 1,030 of 1,030 runs in 40.0 s",
    ]
    assert notebook.shown[0]["text/html"] == "&lt;loads&gt;"
    assert notebook.shown[2]["text/html"] == (
        '<progress max="1030" value="1010"></progress> '
        "&lt;loads&gt;: 1,010 of 1,030 runs 40.0 s left"
    )


def stop_midway(label: str) -> None:
    """Do some of what is to be done under a bar, and raise."""
    with watched(True, label, "runs") as tell:
        assert tell is not None
        tell(Progress(0, 8))
        tell(Progress(3, 8))
        raise KeyboardInterrupt


def test_the_line_of_what_was_stopped_tells_no_time_left(notebook):
    with pytest.raises(KeyboardInterrupt):
        stop_midway("loads")
    assert "left" in notebook.shown[-2]["text/plain"]
    assert notebook.shown[-1]["text/plain"] == "loads: 3 of 8 runs in 30.0 s"


def test_a_shell_without_a_kernel_is_no_notebook(monkeypatch):
    shell = Notebook()
    shell.kernel = None
    monkeypatch.setitem(sys.modules, "IPython", shell)
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    with watched(True, "loads", "runs") as tell:
        assert tell is None
    assert shell.shown == []
