"""Files and rooms stay small enough to be read; those that are larger may not grow."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.architecture.sources import CPP_FILES, PYTHON_FILES, shown

LINES = {"header": 200, "source": 400, "binding": 120, "python": 300}
"""At most so many lines: more means that two ideas share a file."""
FILES = 24
"""At most so many files of one folder: more means that two ideas share a room."""

LARGER_FILES = {
    "cpp/bindings/bind_asking.cpp": 124,
    "cpp/bindings/bind_assignment.cpp": 124,
    "cpp/bindings/bind_deadlines.cpp": 155,
    "cpp/bindings/bind_decision.cpp": 123,
    "cpp/bindings/bind_market.cpp": 145,
    "cpp/bindings/bind_registry.cpp": 160,
    "cpp/bindings/bind_run_measures.cpp": 171,
    "cpp/bindings/bind_schedule.cpp": 163,
    "cpp/bindings/bind_simulation.cpp": 236,
    "cpp/bindings/bind_speed_limits.cpp": 123,
    "cpp/bindings/bind_state.cpp": 202,
    "cpp/bindings/run.cpp": 229,
    "cpp/bindings/trampolines.hpp": 148,
    "cpp/bindings/views.hpp": 186,
    "cpp/model/job_columns.hpp": 224,
    "cpp/plugins/schedulers/a_srpt.cpp": 404,
    "cpp/preemption/kinetic_choice.hpp": 230,
    "cpp/preemption/preemptive_scheduler.cpp": 411,
    "cpp/seams/state.hpp": 201,
    "python/gpusched/deciding/states/formats/slurm.py": 306,
    "python/gpusched/plugins/schedulers/gavel.py": 328,
    "python/gpusched/readable/engine.py": 303,
}
LARGER_ROOMS = {
    "cpp/bindings": 39,
    "python/gpusched/base": 41,
    "python/gpusched/cli": 41,
    "python/gpusched/deciding": 33,
    "python/gpusched/readable": 30,
    "python/gpusched/results": 26,
    "python/gpusched/results/metrics": 27,
    "python/gpusched/traces": 41,
}


def kind_of(path: Path) -> str:
    """Which budget of lines a file has."""
    if path.suffix == ".py":
        return "python"
    if "bindings" in path.parts:
        return "binding"
    return "header" if path.suffix == ".hpp" else "source"


def num_lines(path: Path) -> int:
    return path.read_bytes().count(b"\n")


def faults(
    sizes: Mapping[str, int], budgets: Mapping[str, int], known: Mapping[str, int]
) -> list[str]:
    """What is over its budget and not known to be, has grown, or is known without need."""
    grown = [
        f"{name}: {size}, at most {known.get(name, budgets[name])}"
        for name, size in sizes.items()
        if size > known.get(name, budgets[name])
    ]
    return grown + [
        f"{name}: no exception is needed"
        for name in known
        if name not in sizes or sizes[name] <= budgets[name]
    ]


def test_a_file_is_within_its_budget_or_has_not_grown() -> None:
    files = [*CPP_FILES, *PYTHON_FILES]
    sizes = {shown(path): num_lines(path) for path in files}
    budgets = {shown(path): LINES[kind_of(path)] for path in files}
    assert not faults(sizes, budgets, LARGER_FILES)


def test_a_room_is_within_its_budget_or_has_not_grown() -> None:
    sizes = Counter(shown(path.parent) for path in [*CPP_FILES, *PYTHON_FILES])
    assert not faults(sizes, dict.fromkeys(sizes, FILES), LARGER_ROOMS)


@pytest.mark.parametrize(
    ("size", "known", "fault"),
    [
        (5, {}, []),
        (6, {}, ["a: 6, at most 5"]),
        (6, {"a": 6}, []),
        (7, {"a": 6}, ["a: 7, at most 6"]),
        (5, {"a": 6}, ["a: no exception is needed"]),
        (5, {"b": 6}, ["b: no exception is needed"]),
    ],
)
def test_the_check_of_sizes_can_fail(size: int, known: dict[str, int], fault: list[str]) -> None:
    assert faults({"a": size}, {"a": 5}, known) == fault
