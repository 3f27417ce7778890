"""Answers pip-audit as OSV does, from a checkout of PyPA's advisory database, and runs it.

    python .ci/advisories.py CHECKOUT pip-audit -s osv [PIP-AUDIT ARGUMENTS]

For machines that reach neither PyPI's list of advisories nor OSV. What has become known since the
checkout is not in it: the date of the youngest advisory is printed first.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import yaml
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

Advisory = dict[str, Any]


def main() -> int:
    checkout, *command = sys.argv[1:]
    advisories = read_advisories(Path(checkout))
    youngest = max(one["modified"] for one in advisories)
    print(f"{len(advisories)} advisories of PyPA's database, the youngest of {youngest[:10]}")

    class Answers(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            name, version = canonicalize_name(asked["package"]["name"]), asked["version"]
            found = [one for one in advisories if is_affected(one, name, version)]
            body = json.dumps({"vulns": found} if found else {}).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *arguments: object) -> None:
            """Leave the output to pip-audit."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Answers) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}/v1/query"
        status = subprocess.run(command, env={**os.environ, "PIP_AUDIT_OSV_URL": url}).returncode
        server.shutdown()
    return status


def read_advisories(checkout: Path) -> list[Advisory]:
    """All of the checkout; one without any is none."""
    paths = sorted(checkout.glob("vulns/*/*.yaml"))
    if not paths:
        sys.exit(f"{checkout}: no vulns/PACKAGE/*.yaml, so this is no checkout of the database")
    # All as text: versions are no numbers, and dates go on as they are.
    return [yaml.load(path.read_bytes(), yaml.CBaseLoader) for path in paths]


def is_affected(advisory: Advisory, name: str, version: str) -> bool:
    """Whether a version is named, or lies where a range begins and before it is mended."""
    for affected in advisory.get("affected", ()):
        package = affected["package"]
        if package["ecosystem"] != "PyPI" or canonicalize_name(package["name"]) != name:
            continue
        if version in affected.get("versions", ()):
            return True
        ranges = affected.get("ranges", ())
        if any(one["type"] == "ECOSYSTEM" and lies_in(one["events"], version) for one in ranges):
            return True
    return False


def lies_in(events: list[dict[str, str]], version: str) -> bool:
    """Whether the last event at or before the version is one that introduces the fault.

    What mends it in a version that cannot be read mends nothing, so that the fault is told.
    """
    dated = []
    for event in events:
        kind, text = next(iter(event.items()))
        try:
            dated.append((Version(text), kind))
        except InvalidVersion:
            if kind == "introduced":
                dated.append((Version("0"), kind))
    asked, inside = Version(version), False
    for at, kind in sorted(dated, key=lambda one: one[0]):
        if kind == "last_affected":
            inside = inside and asked <= at
        elif asked >= at:
            inside = kind == "introduced"
    return inside


if __name__ == "__main__":
    sys.exit(main())
