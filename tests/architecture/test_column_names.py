"""The columns of jobs are spelt in one table; others follow from it, or use a few of them."""

import ast
import dataclasses
import re
from pathlib import Path

import numpy as np

import gpusched as gs
from gpusched import _core
from gpusched.traces.job_columns import JOB_COLUMNS
from tests.architecture.sources import CPP, CPP_FILES, PYTHON_FILES, shown

TABLE = CPP / "model" / "job_columns.hpp"
# Words such as weight or gpus are names of other things, too.
NAMES = {column.name for column in _core.JOB_COLUMNS if "_" in column.name}
# More than this many names in one file are a list of columns.
MOST_USED = 3
# Those that use more of them, or have a public list that happens to use the same words.
USERS = {
    "cpp/bindings/bind_state.cpp": "what a policy of Python sees",
    "python/gpusched/audit/holds.py": "judges releases, apart from the code of runs",
    "python/gpusched/audit/readable_run.py": "tells the readable engine what a trace has",
    "python/gpusched/bounds/deadline_bounds.py": "reads the columns of measured speeds",
    "python/gpusched/online/filling.py": "makes a table of requests, which have no times",
    "python/gpusched/online/holding.py": "why jobs are held now, by their conditions",
    "python/gpusched/online/starting.py": "draws services, and moves jobs to other times",
    "python/gpusched/model/profiles.py": "the fields of a profile",
    "python/gpusched/reference/model.py": "a job of the readable engine, apart from the core",
    "python/gpusched/results/holds.py": "why jobs were held, by their conditions",
    "python/gpusched/specs/case.py": "what a run tells of a job beside its columns",
    "python/gpusched/testing/cases.py": "what a failing case is written with",
    "python/gpusched/testing/strategies.py": "draws jobs that may have them",
    "python/gpusched/traces/dependencies.py": "what holds jobs back, as numbers",
    "python/gpusched/traces/job_columns.py": "what each is in a trace, in our units",
    "python/gpusched/traces/model_columns.py": "makes the columns of models",
    "python/gpusched/traces/workload.py": "the columns of a trace, typed",
}


def spelt_in_python(text: str) -> set[str]:
    """Names of columns that stand as texts or as fields; docstrings have other texts."""
    found = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Constant):
            found.add(str(node.value))
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            found.add(node.target.id)
    return found & NAMES


def spelt_in_cpp(text: str) -> set[str]:
    """Names of columns that stand as texts, are declared or are assigned to."""
    code = re.sub(r"//[^\n]*", "", text)
    names = "|".join(NAMES)
    spelt = rf'"({names})"|[>&\w]\s+({names})\s*[;{{=,)]|(?:\.|^\s*)({names}) ='
    return {name for found in re.findall(spelt, code, re.MULTILINE) for name in found if name}


def spelt_in(path: Path) -> set[str]:
    read = spelt_in_python if path.suffix == ".py" else spelt_in_cpp
    return read(path.read_text())


def test_nothing_but_the_table_lists_the_columns() -> None:
    lists = {
        shown(path): sorted(spelt_in(path))
        for path in {*CPP_FILES, *PYTHON_FILES} - {TABLE}
        if len(spelt_in(path)) > MOST_USED
    }
    assert not lists.keys() - USERS.keys(), lists
    assert not USERS.keys() - lists.keys(), "these need not be listed here any more"


def test_lists_of_columns_are_found() -> None:
    named = sorted(NAMES)[:5]
    assert len(spelt_in_python(f"A = {dict.fromkeys(named, 1)}")) == 5
    assert len(spelt_in_python("\n".join(f"{name}: int" for name in named))) == 5
    for line in (
        "std::span<const double> {};", "std::vector<std::int64_t> {};",
        "{} = reader.array<double>();", "  .{} = std::move(given),",
        'py::arg("{}").noconvert(),',
    ):  # fmt: skip
        assert len(spelt_in_cpp("\n".join(line.format(name) for name in named))) == 5, line


def test_every_column_says_what_it_is() -> None:
    for column in _core.JOB_COLUMNS:
        assert column.dtype in ("int32", "int64", "uint64", "float64"), column.name
        assert column.text.endswith("."), column.name
        assert column.rule, column.name


def test_a_trace_holds_columns_of_the_types_of_the_table() -> None:
    types = {"row": "i8"} | {column.stored: column.dtype for column in JOB_COLUMNS.values()}
    shared = {c.name: c.dtype for c in _core.JOB_COLUMNS if c.name in types}
    assert shared == {name: np.dtype(types[name]).name for name in shared}
    # Its fingerprint follows the fields of a trace, its files the table.
    annotated = {"Int64": "i8", "Int32": "i4", "Float64": "f8", "Labels": "i4", "AnyArray": ""}
    fields = {
        field.name: str(field.type).partition(" |")[0] for field in dataclasses.fields(gs.Trace)
    }
    held = {name: annotated[kind] for name, kind in fields.items() if kind in annotated}
    assert held == types
    per_job = {c.name for c in _core.JOB_COLUMNS if c.per == "job"}
    # Made of share_milli, cpu_milli and memory_mib; of status and dependency; of priority and nice;
    # of limits.
    made = {"demand", "exit_failed", "dependency_any", "precedence", "stated_us"}
    assert per_job - shared.keys() == made


def test_speeds_read_columns_of_the_table() -> None:
    names = {column.name for column in _core.JOB_COLUMNS}
    for speed in gs.speeds().values():
        read = (*speed.columns, *speed.optional_columns)
        assert len(set(read)) == len(read)
        assert names.issuperset(read)
