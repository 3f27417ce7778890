"""Public names are the field's own words, spelt one way; files stay short enough to be read."""

import ast
import inspect
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import gpusched as gs
from gpusched import _core
from tests.architecture.sources import (
    CPP_FILES,
    MODULES,
    PYTHON,
    PYTHON_FILES,
    code_of,
    parsed,
    shown,
)

# Ours are server, job, JCT, and period or decision where others say epoch.
FOREIGN = {"node", "nodes", "host", "hosts", "machine", "machines", "task", "tasks", "turnaround"}
FOREIGN_PAIRS = ("scale_factor", "world_size")
AS_SLURM_SAYS = "gpus_per_node"


def words(name: str) -> set[str]:
    """The words of an identifier: ``num_jobs`` and ``NumJobs`` both hold ``jobs``."""
    return {word.lower() for word in re.findall(r"[A-Za-z][a-z0-9]*|[A-Z0-9]+", name)}


def is_foreign(name: str) -> bool:
    """Whether an identifier says something that has another name here."""
    if name == AS_SLURM_SAYS:
        return False
    return bool(words(name) & FOREIGN) or any(pair in name.lower() for pair in FOREIGN_PAIRS)


def public_names(value: Any, name: str) -> Iterator[str]:
    """The name, its parameters, and those of its public members."""
    yield name
    if inspect.isclass(value):
        for member, inner in vars(value).items():
            if not member.startswith("_"):
                yield from public_names(inner, member)
        yield from vars(value).get("__annotations__", {})
    if callable(value):
        try:
            yield from inspect.signature(value).parameters
        except (TypeError, ValueError):
            return  # a native function shows its arguments in the stub


def test_public_names_speak_the_language_of_the_project() -> None:
    foreign = [
        f"{package.__name__}.{public}: {name}"
        for package in (gs, *(getattr(gs, name) for name in gs._SUBMODULES))
        for public in package.__all__
        for name in public_names(getattr(package, public), public)
        if is_foreign(name)
    ]
    assert not foreign


# What a predictor, a Python policy and the core compute with, documented as raw.
RAW = {
    "submit_us", "service_us", "estimate_us", "predicted_us", "checkpoint_us", "restart_us",
    "source_wait_us", "deadline_us", "time_limit_us", "eligible_us", "finish_us",
    "checkpoint_every_us", "checkpoint_write_us", "cancel_at_us",
    "start_us", "end_us", "known_us", "cut_us", "now_us", "remaining_us", "span_us", "attained_us",
}  # fmt: skip


def other_units(names: Iterable[str]) -> set[str]:
    """Names that end in a unit of time which is not the second."""
    return {name for name in names if re.search(r"_(us|ms|ns|min|minutes|h|hours?|days?)$", name)}


def test_public_times_are_seconds() -> None:
    found = {
        name
        for package in (gs, *(getattr(gs, name) for name in gs._SUBMODULES))
        for public in package.__all__
        for name in other_units(public_names(getattr(package, public), public))
    }
    assert found <= RAW
    assert other_units(["wait_s", "wait_us", "cap_hours"]) == {"wait_us", "cap_hours"}


def test_the_check_of_names_can_fail() -> None:
    assert all(map(is_foreign, ("num_nodes", "TaskId", "scale_factor", "turnaround_s", "host")))
    assert not any(map(is_foreign, ("num_servers", "hostility", "masked", "JobTable", "epoch")))

    def launch(world_size: int, gpus: int) -> None: ...

    assert [name for name in public_names(launch, "launch") if is_foreign(name)] == ["world_size"]


def test_the_stub_speaks_the_language_of_the_project() -> None:
    stub = ast.parse((PYTHON / "_core.pyi").read_text())
    found = {node.name for node in ast.walk(stub) if isinstance(node, ast.FunctionDef)}
    found |= {node.arg for node in ast.walk(stub) if isinstance(node, ast.arg)}
    assert len(found) > 50
    assert not {name for name in found if is_foreign(name)}


def test_policies_placements_and_their_parameters_do_too() -> None:
    for info in (*gs.policies().values(), *gs.placements().values()):
        assert not is_foreign(info.name)
        assert not any(is_foreign(parameter["name"]) for parameter in info.parameters)
        assert not words(info.summary) & FOREIGN


def test_raw_columns_carry_their_unit() -> None:
    times = {"submit", "service", "start", "finish", "wait", "jct", "predicted", "estimate"}
    for owner in (_core.State, _core.Schedule, gs.Trace, gs.Result):
        bare = {name for name in dir(owner) if name in times}
        assert not bare, f"{owner.__name__}: {bare} without a unit"


def test_the_command_and_the_package_call_options_alike() -> None:
    options = {"policy", "placement", "predictor", "seed"}
    assert options <= set(inspect.signature(gs.simulate).parameters)
    assert options - {"policy"} <= set(inspect.signature(gs.compare).parameters)


def oddly_named(code: str) -> Iterator[str]:
    """Types that are not in Pascal case, and constants that are not like ``kThis``."""
    types = re.findall(r"\b(?:class|struct|enum class)\s+(?:alignas\(\w+\)\s+)?(\w+)\s*[:{;]", code)
    types += re.findall(r"\b(?:class|struct)\s+(\w+)\s+final\b", code)
    yield from (name for name in types if not re.fullmatch(r"[A-Z][A-Za-z0-9]*", name))
    constants = re.findall(r"\bconstexpr\s+(?:static\s+)?[\w:]+(?:<[^>]*>)?\s+(k\w*)\s*[={]", code)
    yield from (name for name in constants if not re.fullmatch(r"k[A-Z][A-Za-z0-9]*", name))


def test_native_types_are_in_pascal_case_and_constants_like_it() -> None:
    odd = [f"{shown(path)}: {name}" for path in CPP_FILES for name in oddly_named(code_of(path))]
    assert not odd
    assert list(oddly_named("struct a_b {};\nconstexpr int k_one = 1;")) == ["a_b", "k_one"]


def undocumented(path: Path) -> Iterator[str]:
    """The module and its public functions and classes where they have no docstring."""
    tree = parsed(path)
    if not ast.get_docstring(tree):
        yield shown(path)
    definitions = {  # of an overloaded function the last one is documented
        node.name: node for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)
    }
    for name, node in definitions.items():
        if not name.startswith("_") and "cli" not in path.parts and not ast.get_docstring(node):
            yield f"{shown(path)}: {name}"


def test_every_python_module_and_public_function_has_a_docstring() -> None:
    assert not [name for path in PYTHON_FILES for name in undocumented(path)]


def test_every_module_was_looked_at() -> None:
    assert len(MODULES) == len(PYTHON_FILES) >= 60
    assert len(CPP_FILES) >= 80
