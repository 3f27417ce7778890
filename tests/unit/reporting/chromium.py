"""A headless Chromium that is driven through a pipe, to see pages as their readers do."""

import base64
import json
import os
import select
import shutil
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

COMMANDS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
_SECONDS = 60.0
# Chromium reads commands from descriptor 3 and answers on 4.
_START = 'exec "$@" 3<&"$COMMANDS" 4>&"$ANSWERS"'


def command() -> str | None:
    """Where Chromium is, if it is."""
    return next(filter(None, map(shutil.which, COMMANDS)), None)


class Browser:
    """One browser with one tab."""

    def __init__(self, to_browser: int, from_browser: int) -> None:
        self._out, self._in = to_browser, from_browser
        self._buffer = b""
        self._last = 0
        self._session: str | None = None
        self._events: list[dict[str, Any]] = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        attached = self.call("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Send a command and wait for its answer; what happens meanwhile is kept."""
        self._last += 1
        message: dict[str, Any] = {"id": self._last, "method": method, "params": parameters}
        if self._session is not None:
            message["sessionId"] = self._session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        end = time.monotonic() + _SECONDS
        while True:
            answer = self._next(end)
            if answer.get("id") == self._last:
                assert "error" not in answer, (method, answer["error"])
                result: dict[str, Any] = answer["result"]
                return result
            self._events.append(answer)

    def open(self, path: Path, width: int, height: int, *, dark: bool = False) -> None:
        """Show a file in a window of this size, and wait until it is loaded."""
        self._events.clear()
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width, height=height, deviceScaleFactor=1, mobile=False,
        )  # fmt: skip
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])
        self.call("Page.navigate", url=path.resolve().as_uri())
        self._until(lambda: any(e.get("method") == "Page.loadEventFired" for e in self._events))

    def evaluate(self, expression: str) -> Any:
        """Return the value of an expression of the page."""
        answer = self.call(
            "Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True
        )
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def wait_for(self, expression: str) -> None:
        """Wait until an expression of the page is true."""
        self._until(lambda: bool(self.evaluate(expression)))

    def press(self, key: str) -> None:
        """Press and release a key where the focus is."""
        texts: Mapping[str, str] = {"Enter": "\r"}
        text = texts.get(key, key if len(key) == 1 else "")
        for kind in ("keyDown", "keyUp"):
            more = {"text": text} if text and kind == "keyDown" else {}
            self.call("Input.dispatchKeyEvent", type=kind, key=key, **more)

    def complaints(self) -> list[str]:
        """What the page wrote to the console as an error or a warning, and what it threw."""
        self.evaluate("0")
        found = []
        for event in self._events:
            told = event.get("params", {})
            if event.get("method") == "Runtime.exceptionThrown":
                found.append(json.dumps(told["exceptionDetails"])[:500])
            elif event.get("method") == "Runtime.consoleAPICalled":
                if told["type"] in ("error", "warning", "assert"):
                    found.append(json.dumps(told["args"])[:500])
            elif event.get("method") == "Log.entryAdded":
                found.append(json.dumps(told["entry"])[:500])
        return found

    def screenshot(self, path: Path) -> None:
        """Write what is seen as PNG."""
        made = self.call("Page.captureScreenshot", format="png")
        path.write_bytes(base64.b64decode(made["data"]))

    def _until(self, is_so: Any) -> None:
        end = time.monotonic() + _SECONDS
        while not is_so():
            assert time.monotonic() < end, "the page took too long"
            self.evaluate("new Promise(done => setTimeout(done, 50))")

    def _next(self, end: float) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._in], [], [], max(0.0, end - time.monotonic()))
            assert ready, "the browser does not answer"
            piece = os.read(self._in, 1 << 16)
            assert piece, "the browser has ended"
            self._buffer += piece
        message, _, self._buffer = self._buffer.partition(b"\0")
        decoded: dict[str, Any] = json.loads(message)
        return decoded


@contextmanager
def browser(folder: Path) -> Iterator[Browser]:
    """Start Chromium with a profile of its own in ``folder``."""
    found = command()
    assert found is not None
    commands, to_browser = os.pipe()
    from_browser, answers = os.pipe()
    process = subprocess.Popen(
        [
            "/bin/bash", "-c", _START, "chromium", found, "--headless", "--no-sandbox",
            "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars", "--no-first-run",
            "--disable-extensions", "--remote-debugging-pipe", f"--user-data-dir={folder}",
        ],
        pass_fds=(commands, answers),
        env=os.environ | {"COMMANDS": str(commands), "ANSWERS": str(answers)},
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    os.close(commands)
    os.close(answers)
    try:
        yield Browser(to_browser, from_browser)
    finally:
        os.close(to_browser)
        os.close(from_browser)
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
