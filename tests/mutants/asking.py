"""Asks tests in a process that has the libraries loaded already and forks for each fault.

    python -m tests.mutants.asking

is run in the checkout with the fault, reads a line of JSON for each question, the stages of tests
and a limit in seconds, and answers with one. A child loads the package as it is then.
"""

import importlib
import json
import os
import resource
import select
import signal
import sys
import time
from typing import Final, NamedTuple

import hypothesis
import pytest

_LOADED: Final = (
    "numpy", "polars", "msgspec", "scipy.optimize", "scipy.sparse", "scipy.stats",
    "hypothesis.strategies", "hypothesis.extra.numpy",
)  # fmt: skip
_MEMORY_BYTES: Final = 6 << 30
ENDED: Final = " (the process ended)"
"""Follows the test in which a fault ended the process."""


class Answer(NamedTuple):
    """What became of a question.

    Attributes
    ----------
    kind
        ``"killed"``: a test failed, or the process ended; ``"hung"``: a test took longer than the
        limit; or ``"survived"``.
    by
        The test.
    """

    kind: str
    by: str


class Noted:
    """Writes what happens to a pipe, a line each: the test that begins, and the one that fails."""

    def __init__(self, pipe: int) -> None:
        self._pipe = pipe

    def say(self, word: str, what: str) -> None:
        """Write a line."""
        os.write(self._pipe, f"{word} {what}\n".encode())

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        """Begin a test."""
        self.say("begins", nodeid)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note a failure."""
        if report.failed:
            self.say("failed", report.nodeid)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Note what cannot even be collected."""
        self.say("failed" if report.failed else "begins", report.nodeid or "collecting")


def main() -> None:
    """Answer until nobody asks."""
    for name in _LOADED:
        importlib.import_module(name)
    # What fails need not be made small, and what failed once must not be tried again first.
    hypothesis.settings.register_profile(
        "mutants", database=None, deadline=None,
        phases=(hypothesis.Phase.explicit, hypothesis.Phase.generate),
    )  # fmt: skip
    for line in sys.stdin:
        question = json.loads(line)
        answer = asked(question["stages"], question["limit_s"])
        print(json.dumps(answer._asdict()), flush=True)


def asked(stages: list[list[str]], limit_s: float) -> Answer:
    """Run stages of tests up to the first failure, in a child."""
    reads, writes = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            _ask(stages, Noted(writes))
        finally:
            os._exit(1)
    os.close(writes)
    try:
        return _watched(reads, limit_s)
    finally:
        os.close(reads)
        os.killpg(child, signal.SIGKILL)
        os.waitpid(child, 0)


def _ask(stages: list[list[str]], noted: Noted) -> None:
    os.setpgid(0, 0)
    silent = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(silent, descriptor)
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY_BYTES, _MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    for stage in stages:
        code = pytest.main(
            [
                "-n", "0", "-x", "-q", "--no-header", "--tb=no", "-p", "no:cacheprovider",
                "--assert=plain", "-m", "not long",
                "--hypothesis-profile=mutants", "--hypothesis-seed=0", *stage,
            ],
            plugins=[noted],
        )  # fmt: skip
        if code not in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
            noted.say("failed", f"{stage[0]}: {code}")
            break
    noted.say("ended", "")


def _watched(pipe: int, limit_s: float) -> Answer:
    """Read what a child notes until it fails, ends, or is silent for too long."""
    last, text = "the import", ""
    while True:
        end = time.monotonic() + limit_s
        while "\n" not in text:
            ready, _, _ = select.select([pipe], [], [], max(0.0, end - time.monotonic()))
            if not ready:
                return Answer("hung", last)
            got = os.read(pipe, 1 << 16)
            if not got:
                return Answer("killed", last + ENDED)
            text += got.decode()
        line, _, text = text.partition("\n")
        word, _, what = line.partition(" ")
        if word == "failed":
            return Answer("killed", what)
        if word == "ended":
            return Answer("survived", "")
        last = what


if __name__ == "__main__":
    main()
