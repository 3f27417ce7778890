"""The floors of the core: a file includes its own floor and those below, and nothing foreign."""

import re
from pathlib import Path

from tests.architecture.sources import CORE, CPP, CPP_FILES, code_of, includes, room_of, shown

# From the ground up: a room includes those above it in this table, and itself.
ROOMS = (
    "base", "model", "solvers", "seams", "engine", "placing", "queueing", "preemption", "elastic",
    "gangs", "market", "deadlines", "plugins", "runs", "bindings", "tools",
)  # fmt: skip
FLOOR = {room: floor for floor, room in enumerate(ROOMS)}

TOOLS = [path for path in CPP_FILES if path.relative_to(CPP).parts[0] == "tools"]

# Where the standard library has no word for it.
FOREIGN_HEADERS = {"cpp/base/buffer.cpp": {"sys/mman.h", "sys/resource.h"}}


def own_headers(path: Path) -> set[str]:
    """The core's headers that a file includes, with their rooms."""
    return {name for name in includes(path) if "/" in name and name.endswith(".hpp")}


def test_a_file_includes_its_own_room_and_those_below() -> None:
    upward = [
        f"{shown(path)} includes {name}"
        for path in CPP_FILES
        for name in sorted(own_headers(path))
        if FLOOR[name.partition("/")[0]] > FLOOR[room_of(path)]
    ]
    assert not upward


def test_every_room_stands_in_the_table() -> None:
    assert {path.name for path in CPP.iterdir() if path.is_dir()} == set(ROOMS)


def test_a_header_stands_beside_its_source() -> None:
    # A source may be one of several of a header's.
    for path in CORE:
        if path.suffix == ".cpp" and room_of(path) != "plugins":
            heads = {name for name in own_headers(path) if name.startswith(f"{room_of(path)}/")}
            assert any(path.stem.startswith(Path(name).stem) for name in heads), shown(path)


def test_headers_include_each_other_without_a_circle() -> None:
    left = {
        path.relative_to(CPP).as_posix(): own_headers(path)
        for path in CORE
        if path.suffix == ".hpp"
    }
    while left:
        free = {name for name, needed in left.items() if not needed & left.keys()}
        assert free, f"a circle among {sorted(left)}"
        left = {name: needed for name, needed in left.items() if name not in free}


def test_the_core_includes_nothing_but_itself_and_the_standard_library() -> None:
    foreign = {
        shown(path): names
        for path in CORE
        if (names := {n for n in includes(path) if not re.fullmatch(r"[a-z]+/\w+\.hpp|[a-z_]+", n)})
    }
    assert foreign == FOREIGN_HEADERS


def test_the_core_has_no_io_no_clock_and_no_random_numbers_of_others() -> None:
    banned = {"iostream", "fstream", "cstdio", "random", "ctime", "thread", "mutex", "filesystem"}
    banned |= {"unordered_map", "unordered_set"}  # their order is nobody's
    words = r"system_clock|steady_clock|high_resolution_clock|printf|std::cout|std::cerr"
    words += r"|\brand\(|\btime\(nullptr|std::mt19937|getenv|\bexit\(|unordered_"
    found = [
        shown(path) for path in CORE if includes(path) & banned or re.search(words, code_of(path))
    ]
    assert not found


def test_the_core_and_the_native_tools_know_nothing_of_python() -> None:
    python = r"\bPy[A-Z_]|Python\.h"
    found = [
        shown(path)
        for path in (*CORE, *TOOLS)
        if re.search("pybind11|bindings/", path.read_text()) or re.search(python, code_of(path))
    ]
    assert not found


def test_solvers_know_nothing_of_the_simulator() -> None:
    for path in CORE:
        if room_of(path) == "solvers":
            rooms = {name.partition("/")[0] for name in own_headers(path)}
            assert rooms <= {"solvers", "base"}, shown(path)


def test_orders_and_placements_know_nothing_of_who_calls_them() -> None:
    callers = {"seams/actions.hpp", "seams/scheduler.hpp"}
    for seam in ("orders", "placements"):
        for path in (CPP / "plugins" / seam).iterdir():
            assert not own_headers(path) & callers


def test_plug_ins_know_nothing_of_the_engine_and_the_engine_nothing_of_them() -> None:
    above = set(ROOMS[FLOOR["placing"] : FLOOR["runs"]])
    for path in CORE:
        rooms = {name.partition("/")[0] for name in own_headers(path)}
        assert not (room_of(path) in above and "engine" in rooms), shown(path)
        assert not (room_of(path) == "engine" and above & rooms), shown(path)


def test_the_module_only_calls_its_bindings() -> None:
    module = code_of(CPP / "bindings" / "module.cpp")
    assert includes(CPP / "bindings" / "module.cpp") == {"bindings.hpp"}
    assert ".def" not in module
    called = set(re.findall(r"bindings::(bind_\w+)\(m\)", module))
    declared = set(re.findall(r"void (bind_\w+)\(", (CPP / "bindings/bindings.hpp").read_text()))
    assert called == declared


def test_headers_are_guarded_in_one_way() -> None:
    for path in CPP_FILES:
        if path.suffix == ".hpp":
            assert path.read_text().startswith("#pragma once\n"), shown(path)
