"""Files leave the package through one door, which keeps the old one until the new one is whole."""

import ast

from tests.architecture.sources import PYTHON, PYTHON_FILES, parsed, shown

DOOR = PYTHON / "base" / "replacing.py"
# What these get is a temporary file, or it is that of an example.
GIVEN_ONE = (
    PYTHON / "traces" / "formats",
    PYTHON / "traces" / "format_registry.py",
    PYTHON / "traces" / "formats" / "swf.py",
    PYTHON / "results" / "formats",
    # Nobody but the processes of one call knows of this, and none when the call has ended.
    PYTHON / "studies" / "calls.py",
)
WRITERS = {"write_text", "write_bytes", "write_csv", "write_parquet", "write_ipc", "savefig"}


def bare_writes(tree: ast.Module) -> list[str]:
    """Calls that write a file by its name and are not inside ``with replacing(...)``."""
    safe = {
        id(node)
        for block in ast.walk(tree)
        if isinstance(block, ast.With)
        and any("replacing(" in ast.unparse(item) for item in block.items)
        for node in ast.walk(block)
    }
    found = []
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or id(node) in safe:
            continue
        called = ast.unparse(node.func)
        is_method = isinstance(node.func, ast.Attribute) and node.func.attr in WRITERS
        modes = [ast.unparse(argument) for argument in node.args[:2]]
        is_open = called.endswith("open") and any(mode in ("'w'", "'wb'", "'xb'") for mode in modes)
        if is_method or is_open:
            found.append(f"line {node.lineno}: {called}")
    return found


def test_files_are_written_beside_their_target_and_renamed() -> None:
    found = [
        f"{shown(path)}, {write}"
        for path in PYTHON_FILES
        if path != DOOR and not any(path.is_relative_to(place) for place in GIVEN_ONE)
        for write in bare_writes(parsed(path))
    ]
    assert not found


def test_a_bare_write_is_seen() -> None:
    for code in ("Path('a').write_text('b')", "frame.write_csv(path)", "open('a', 'w')"):
        assert bare_writes(ast.parse(code)), code
