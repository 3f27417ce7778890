"""The excerpts are what their script writes, and are told from the real data."""

from __future__ import annotations

import hashlib
import importlib.util
import os
from pathlib import Path

import pytest

from gpusched.base.real_data import PUBLISHED, data_at, data_folder, find_data, need_data
from tests.unit.real_data import EXCERPTS


def digests(folder: Path) -> dict[str, str]:
    return {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.parent != folder and "__pycache__" not in path.parts
    }


def test_the_script_writes_the_same_bytes_again(tmp_path, monkeypatch):
    spec = importlib.util.spec_from_file_location("excerpts_make", EXCERPTS / "make.py")
    make = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(make)
    monkeypatch.setattr(make, "HERE", tmp_path)
    make.main()
    assert digests(tmp_path) == digests(EXCERPTS)


def test_there_is_an_excerpt_of_every_published_folder():
    assert {path.name for path in EXCERPTS.iterdir() if path.is_dir()} >= set(PUBLISHED)


def test_the_folder_is_that_of_the_option_before_that_of_the_variable(tmp_path, monkeypatch):
    monkeypatch.delenv("GPUSCHED_DATA", raising=False)
    assert data_folder() is None
    assert find_data("itp/cluster01.csv") is None
    monkeypatch.setenv("GPUSCHED_DATA", str(EXCERPTS))
    assert find_data("itp/cluster01.csv") == EXCERPTS / "itp" / "cluster01.csv"
    with data_at(tmp_path):
        assert data_folder() == tmp_path
        assert find_data("itp/cluster01.csv") is None
        with data_at(None):
            assert data_folder() == tmp_path
    assert os.environ["GPUSCHED_DATA"] == str(EXCERPTS)
    with pytest.raises(ValueError, match="data: folder /nowhere not found"), data_at("/nowhere"):
        pass


@pytest.mark.parametrize("name", sorted(PUBLISHED))
def test_what_is_missing_is_said_with_where_it_can_be_had(name, tmp_path, monkeypatch):
    about = PUBLISHED[name]
    monkeypatch.delenv("GPUSCHED_DATA", raising=False)
    with pytest.raises(
        ValueError, match=f"^me: needs {name}/x: .* --data or GPUSCHED_DATA to its parent folder$"
    ) as seen:
        need_data(f"{name}/x", "me")
    for text in (about.contents, about.source, about.files):
        assert text in str(seen.value)
    with data_at(tmp_path), pytest.raises(ValueError, match=f"me: no {tmp_path}/{name}/x: "):
        need_data(f"{name}/x", "me")
