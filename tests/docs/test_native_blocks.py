"""The plug-ins in C++ that the docs show compile as they stand."""

import shutil
import subprocess

import pytest

from tests.docs.blocks import ROOT, blocks, pages

pytestmark = pytest.mark.long

NATIVE = [block for page in pages() for block in blocks(page) if block.language == "cpp"]
COMPILER = shutil.which("c++") or shutil.which("g++")
FOLDERS = [ROOT / "cpp" / "include", ROOT / "cpp"]


def test_the_docs_show_a_native_plug_in_for_each_seam():
    registered = "".join(block.text for block in NATIVE)
    for seam in ("Order", "Placement", "Scheduler", "Speed"):
        assert f"GPUSCHED_REGISTER({seam}," in registered, seam


@pytest.mark.skipif(COMPILER is None, reason="no C++ compiler")
@pytest.mark.parametrize("block", NATIVE, ids=[block.where for block in NATIVE])
def test_a_native_plug_in_compiles(block, tmp_path):
    source = tmp_path / "plug_in.cpp"
    source.write_text(f'#line {block.line} "{block.page}"\n{block.text}', encoding="utf-8")
    includes = [f"-I{folder}" for folder in FOLDERS if folder.is_dir()]
    done = subprocess.run(
        [COMPILER, "-std=c++20", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", *includes, source],
        capture_output=True,
        text=True,
        timeout=200,
    )
    assert done.returncode == 0, done.stderr
