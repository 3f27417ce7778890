"""The floors of the package: a module imports its own floor and those below; what loads when."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.architecture.sources import MODULES, imports

# A folder stands for what is in it. Imports inside functions count as well.
FLOORS = (
    "base",
    "clusters models traces",
    "schedules plugins",
    "specs",
    "prediction generator audit bounds",
    "results",
    "engine",
    "deciding studies",
    "reporting papers",
    "cli __main__",
)
FLOOR = {name: floor for floor, names in enumerate(FLOORS) for name in names.split()}

INSIDE = {module: imports(path) & {*MODULES, "_core"} for module, path in MODULES.items()}
modules = pytest.mark.parametrize("module", sorted(set(MODULES) - {""}))


def floor_of(module: str) -> int:
    folder = module.partition(".")[0]
    assert folder in FLOOR, f"{module}: give it a floor in this test"
    return FLOOR[folder]


@modules
def test_a_module_imports_only_its_own_floor_and_those_below(module: str) -> None:
    higher = {
        other for other in INSIDE[module] - {"_core", ""} if floor_of(other) > floor_of(module)
    }
    assert not higher, f"floor {floor_of(module)} imports {higher}"


def test_every_floor_has_its_modules() -> None:
    assert {module.partition(".")[0] for module in MODULES if module} == set(FLOOR)


def test_modules_import_each_other_without_a_circle() -> None:
    # result and the file format it is kept in know each other; one of the two waits for a call.
    left = {name: set(needed) - {"_core", ""} for name, needed in INSIDE.items()}
    left["results.result"] -= {"results.result_store"}
    for package in {name for name in left if any(o.startswith(f"{name}.") for o in left if name)}:
        for inner in left:
            if inner.startswith(f"{package}."):
                left[inner] -= {package}  # the package is there before its modules are
    while left:
        free = {name for name, needed in left.items() if not needed & left.keys()}
        assert free, f"a circle among {sorted(left)}"
        left = {name: needed for name, needed in left.items() if name not in free}


def test_only_the_command_imports_the_command() -> None:
    users = {m for m, needed in INSIDE.items() if any(n.partition(".")[0] == "cli" for n in needed)}
    assert {user.partition(".")[0] for user in users} == {"cli", "__main__"}


def test_few_modules_touch_the_native_core() -> None:
    users = {module for module, needed in INSIDE.items() if "_core" in needed}
    assert users <= {
        "base.supervision", "bounds.lower_bounds", "deciding.assignment", "deciding.batch_planning",
        "deciding.deadline_planning", "deciding.filling", "deciding.market", "engine.ready_run",
        "engine.seams", "engine.simulation", "plugins.policy_labels", "plugins.registry",
        "plugins.schedulers.gavel", "specs.speed_limits", "studies.comparison",
    }  # fmt: skip


def test_the_audit_shares_nothing_with_what_it_judges() -> None:
    seen: set[str] = set()
    waiting = {module for module in MODULES if module.startswith("audit")}
    while waiting:
        module = waiting.pop()
        seen.add(module)
        waiting |= INSIDE.get(module, set()) - seen
    judged = {"results.metrics", "schedules.series", "schedules.contention"}
    rooms = {"_core", "bounds", "engine", "plugins"}
    assert not seen & judged
    assert not {module.partition(".")[0] for module in seen} & rooms


def test_the_package_itself_imports_nothing_at_once() -> None:
    assert INSIDE[""] == {"base.lazy_names"}


def loaded_after(code: str) -> set[str]:
    """First names of the modules that are loaded once ``code`` has run in a fresh process."""
    program = f"import sys\n{code}\nprint(*{{name.partition('.')[0] for name in sys.modules}})"
    made = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True
    )
    return set(made.stdout.split())


HEAVY = {"matplotlib", "msgspec", "pandas", "plotly", "polars", "pyarrow", "rich", "scipy"}
HEAVY |= {"sklearn", "typer"}

RUN = """
import gpusched as gs
trace = gs.Trace.from_columns([0, 1], [5, 5], [1, 1])
result = gs.simulate(trace, gs.Cluster.uniform(1, 1), policy="srtf")
result.summary(), result.audit(), result.digest
"""


def test_importing_the_package_loads_no_library() -> None:
    assert not loaded_after("import gpusched") & (HEAVY | {"numpy"})


def test_looking_at_the_public_names_loads_no_heavy_library() -> None:
    code = """
import gpusched as gs
for package in (gs, *(getattr(gs, name) for name in gs._SUBMODULES)):
    [getattr(package, name) for name in package.__all__]
"""
    assert not loaded_after(code) & (HEAVY - {"msgspec"})


def test_a_run_loads_no_heavy_library() -> None:
    assert not loaded_after(RUN) & (HEAVY - {"msgspec"})
