"""What ``progress=True`` shows: a bar where somebody looks, and nothing elsewhere."""

from __future__ import annotations

import io
import sys
from types import SimpleNamespace
from typing import Any

import pytest

from gpusched.base.progress import Progress
from gpusched.base.progress_bar import watched


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_function_is_given_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    for given in (print, None):
        with watched(given, "loads", "runs") as tell:
            assert tell is given
    monkeypatch.setattr(sys, "stderr", Terminal())
    with watched(False, "loads", "runs") as tell:
        assert tell is None


def test_nothing_is_shown_where_nobody_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    with watched(True, "loads", "runs") as tell:
        assert tell is None
    assert sys.stderr.getvalue() == ""


def test_a_terminal_has_a_bar(monkeypatch: pytest.MonkeyPatch) -> None:
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
        self.shown: list[str] = []
        self.kernel: Any = object()
        self.HTML = str

    def get_ipython(self) -> Any:
        return self

    def display(self, text: str, display_id: bool) -> Any:
        assert display_id
        self.shown.append(text)
        return SimpleNamespace(update=self.shown.append)


def test_a_notebook_has_a_line_with_the_time_left(monkeypatch: pytest.MonkeyPatch) -> None:
    notebook = Notebook()
    monkeypatch.setitem(sys.modules, "IPython", notebook)
    monkeypatch.setitem(sys.modules, "IPython.display", notebook)
    clock = iter([100.0, 110.0, 130.0])
    monkeypatch.setattr("time.monotonic", lambda: next(clock))
    with watched(True, "<loads>", "runs") as tell:
        assert tell is not None
        for done in (1_000, 1_010, 1_030):  # a thousand were kept
            tell(Progress(done, 1_030))
    assert notebook.shown[0] == "&lt;loads&gt;"
    assert notebook.shown[1].endswith("1,000 of 1,030 runs ")
    assert notebook.shown[2].endswith("1,010 of 1,030 runs 20.0 s left")
    assert notebook.shown[3].endswith("1,030 of 1,030 runs in 30.0 s")
    assert '<progress max="1030" value="1010">' in notebook.shown[2]


def test_a_shell_without_a_kernel_is_no_notebook(monkeypatch: pytest.MonkeyPatch) -> None:
    shell = Notebook()
    shell.kernel = None
    monkeypatch.setitem(sys.modules, "IPython", shell)
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    with watched(True, "loads", "runs") as tell:
        assert tell is None
    assert shell.shown == []
