"""Which versions an advisory is about, as a release is audited where OSV is not reached."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

FILE = Path(__file__).parents[3] / ".ci" / "advisories.py"


@pytest.fixture(scope="module")
def advisories() -> ModuleType:
    pytest.importorskip("yaml")
    pytest.importorskip("packaging")
    spec = importlib.util.spec_from_file_location("advisories", FILE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def advisory(*events: dict[str, str], **fields: Any) -> dict[str, Any]:
    package = {"name": "Some.Package", "ecosystem": "PyPI"}
    ranges = [{"type": "ECOSYSTEM", "events": list(events)}]
    return {"affected": [{"package": package, "ranges": ranges, **fields}]}


@pytest.mark.parametrize(
    ("events", "affected", "free"),
    [
        ([("introduced", "0"), ("fixed", "1.10.0")], ["0.1", "1.9.3", "1.10.0rc1"], ["1.10", "2"]),
        ([("introduced", "1.2")], ["1.2", "9"], ["1.1.9"]),
        ([("introduced", "0"), ("last_affected", "2.0")], ["1", "2.0"], ["2.0.1"]),
        (
            [("fixed", "1.5"), ("introduced", "2"), ("introduced", "1"), ("fixed", "2.5")],
            ["1.0", "1.4", "2.4"],
            ["0.9", "1.5", "1.9", "2.5"],
        ),
        ([("introduced", "0"), ("fixed", "commit abc")], ["0", "9"], []),
    ],
)
def test_a_version_lies_between_what_introduces_and_what_mends(advisories, events, affected, free):
    made = advisory(*({kind: version} for kind, version in events))
    found = [one for one in affected + free if advisories.is_affected(made, "some-package", one)]
    assert found == affected


def test_a_version_may_be_named_and_another_package_is_not_meant(advisories):
    named = advisory({"introduced": "5"}, versions=["1.0"])
    assert advisories.is_affected(named, "some-package", "1.0")
    assert not advisories.is_affected(named, "some-package", "1.1")
    assert not advisories.is_affected(named, "other", "1.0")


def test_a_folder_without_advisories_is_refused_by_name(advisories, tmp_path):
    with pytest.raises(SystemExit, match=f"{tmp_path}: no vulns/PACKAGE"):
        advisories.read_advisories(tmp_path)
