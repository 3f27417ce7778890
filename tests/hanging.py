"""An end to a process in which a test hangs, in native code as well."""

import faulthandler
import os
import time
from dataclasses import dataclass, field


@dataclass
class Watch:
    """Ends the process, and says where each of its threads was, if a test takes too long.

    A timer is a thread. To start and end one for each of thousands of short tests has each of them
    wait twice for the scheduler of a busy machine, so one timer stays for many tests: each has at
    least ``limit_s`` from its start, and at most ``spare_s`` more.
    """

    limit_s: float
    spare_s: float
    # Capturing replaces the descriptor 2, not this one.
    stderr: int = field(default_factory=lambda: os.dup(2))
    _ends_at: float | None = None

    def begin(self, limit_s: float | None = None) -> None:
        """Give what begins now its time, or one of its own."""
        limit_s = self.limit_s if limit_s is None else limit_s
        now = time.monotonic()
        if self._ends_at is None or now + limit_s > self._ends_at:
            self._ends_at = now + limit_s + self.spare_s
            faulthandler.dump_traceback_later(limit_s + self.spare_s, exit=True, file=self.stderr)

    def end(self) -> None:
        """Let what comes now take as long as it likes."""
        self._ends_at = None
        faulthandler.cancel_dump_traceback_later()
