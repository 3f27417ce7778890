"""A test without an end does not hang a run."""

from __future__ import annotations

import faulthandler
import os
import subprocess
import sys
from pathlib import Path

from tests.hanging import Watch

ROOT = Path(__file__).resolve().parents[3]

HANGING = """
import threading
from tests.hanging import Watch

def waits_for_ever():
    threading.Lock().acquire() and threading.Event().wait()

watch = Watch(limit_s=0.1, spare_s=0.1)
watch.begin()
waits_for_ever()
"""


def test_a_process_that_hangs_ends_and_says_where():
    done = subprocess.run(
        [sys.executable, "-c", HANGING], cwd=ROOT, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 1
    assert "waits_for_ever" in done.stderr


def test_the_timer_is_set_anew_once_its_spare_time_is_over(monkeypatch):
    set_to, now = [], [100.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    monkeypatch.setattr(
        faulthandler, "dump_traceback_later", lambda limit, **_: set_to.append((now[0], limit))
    )
    monkeypatch.setattr(faulthandler, "cancel_dump_traceback_later", lambda: set_to.append(None))
    watch = Watch(limit_s=600, spare_s=60)
    os.close(watch.stderr)
    for now[0] in (100.0, 130.0, 160.0, 161.0, 200.0):
        watch.begin()
    watch.end()
    watch.begin()
    watch.begin(limit_s=3_000)
    assert set_to == [(100.0, 660), (161.0, 660), None, (200.0, 660), (200.0, 3_060)]
