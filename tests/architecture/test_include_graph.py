"""The floors of the core: a file includes its own floor and those below, and nothing foreign."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.architecture.sources import CPP, CPP_FILES, HEADERS, code_of, includes, shown

FLOORS = {
    0: """allocation assignment auction backfill_queue buffer category change_log check
          class_tree cluster cut_memo dancer_batch dancer_bounds dancer_filling dancer_planner
          dancer_segments deadline_plan deadline_plan_ledger decision demand exchange
          gang_packer gang_plan graph_cut hash heap ids index_set job_classes job_table
          keyed_job lanes market market_exact market_model matching_market network number_text
          one_type_search plan_oracle price_bound prices prices_market progressive_filling
          promise_runs proportional rng run_control running_index squashed_machine stage_graph
          stop_check time transportation virtual_machine waiting_queue wrapping""",
    1: "contention fragmentation interval_log occupancy parameters registry speed state",
    2: """actions gained_servers heavy_edge livelock order packing packing_index placement
          placement_parts progress scheduler""",
    3: """bound_scheduler consolidation dancer dancer_exchange dancer_jobs elastic_jobs filling
          head_reservation list_scheduler matching_jobs matching_targets matching_widths policy
          pooled_srpt preemptive_scheduler promising_scheduler reallocation schedule simulation""",
}
FLOOR_OF_HEADER = {name: floor for floor, names in FLOORS.items() for name in names.split()}

# Plug-ins and algorithms are added without a word here.
FLOOR_OF_FOLDER = {
    "src/algorithms": 0,
    "src/orders": 2,
    "src/placements": 2,
    "src/speeds": 2,
    "src/contentions": 2,
    "src/schedulers": 3,
    "bindings": 4,
    "tools": 4,
}

CORE = [path for path in CPP_FILES if path.relative_to(CPP).parts[0] in ("include", "src")]
TOOLS = [path for path in CPP_FILES if path.relative_to(CPP).parts[0] == "tools"]

# Where the standard library has no word for it.
FOREIGN_HEADERS = {"cpp/src/buffer.cpp": {"sys/mman.h"}}

core_files = pytest.mark.parametrize("path", CORE, ids=shown)
all_files = pytest.mark.parametrize("path", CPP_FILES, ids=shown)


def floor_of(path: Path) -> int:
    folder = path.parent.relative_to(CPP).as_posix()
    if folder in FLOOR_OF_FOLDER:
        return FLOOR_OF_FOLDER[folder]
    assert path.stem in FLOOR_OF_HEADER, f"{shown(path)}: give it a floor in this test"
    return FLOOR_OF_HEADER[path.stem]


def own_headers(path: Path) -> set[str]:
    """The core's headers that a file includes, by their stems."""
    return {Path(name).stem for name in includes(path) if name.startswith("gpusched/")}


@all_files
def test_a_file_includes_only_its_own_floor_and_those_below(path: Path) -> None:
    higher = {name for name in own_headers(path) if FLOOR_OF_HEADER[name] > floor_of(path)}
    assert not higher, f"floor {floor_of(path)} includes {higher}"


def test_every_header_has_a_floor_and_every_floor_its_headers() -> None:
    assert {path.stem for path in HEADERS.iterdir()} == set(FLOOR_OF_HEADER)


def test_every_source_has_a_header_or_is_a_plug_in() -> None:
    for path in (CPP / "src").glob("*.cpp"):
        assert path.stem in FLOOR_OF_HEADER, f"{shown(path)} has no header"
        assert path.stem in own_headers(path)


def test_headers_include_each_other_without_a_circle() -> None:
    left = {path.stem: own_headers(path) for path in HEADERS.iterdir()}
    while left:
        free = {name for name, needed in left.items() if not needed & left.keys()}
        assert free, f"a circle among {sorted(left)}"
        left = {name: needed for name, needed in left.items() if name not in free}


@core_files
def test_the_core_includes_nothing_but_itself_and_the_standard_library(path: Path) -> None:
    foreign = {
        name for name in includes(path) if not re.fullmatch(r"gpusched/\w+\.hpp|[a-z_]+", name)
    }
    assert foreign == FOREIGN_HEADERS.get(shown(path), set())


@core_files
def test_the_core_has_no_io_no_clock_and_no_random_numbers_of_others(path: Path) -> None:
    banned = {"iostream", "fstream", "cstdio", "random", "ctime", "thread", "mutex", "filesystem"}
    banned |= {"unordered_map", "unordered_set"}  # their order is nobody's
    assert not includes(path) & banned
    words = r"system_clock|steady_clock|high_resolution_clock|printf|std::cout|std::cerr"
    words += r"|\brand\(|\btime\(nullptr|std::mt19937|getenv|\bexit\(|unordered_"
    assert not re.search(words, code_of(path))


@core_files
def test_the_core_knows_nothing_of_python(path: Path) -> None:
    assert "pybind11" not in path.read_text()
    assert not re.search(r"\bPy[A-Z_]|Python\.h", code_of(path))


@pytest.mark.parametrize("path", TOOLS, ids=shown)
def test_the_native_tools_know_nothing_of_python(path: Path) -> None:
    assert not re.search("pybind11|bindings/", path.read_text())


def test_algorithms_know_nothing_of_the_simulator() -> None:
    sources = list((CPP / "src" / "algorithms").iterdir())
    pure = {name for path in sources for name in own_headers(path)}
    for path in sources:
        assert own_headers(path), f"{shown(path)} has no header"
    for name in pure:
        assert FLOOR_OF_HEADER[name] == 0
        assert not own_headers(HEADERS / f"{name}.hpp") & {"cluster", "job_classes", "job_table"}


def test_orders_and_placements_know_nothing_of_who_calls_them() -> None:
    callers = {"actions", "scheduler", "simulation"}
    for seam in ("orders", "placements"):
        for path in (CPP / "src" / seam).iterdir():
            assert not own_headers(path) & callers


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
