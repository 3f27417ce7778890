"""The rooms of the package: a room imports itself and the rooms below it; what loads when."""

import ast
import functools
import subprocess
import sys

from tests.architecture.sources import MODULES, ROOT, imports

# From the ground up. A room is a folder with all that is in it, unless a part of it is named here
# as well. What is imported inside functions, or for a type checker alone, counts.
FLOORS = """
    reference
    base
    model
    traces
    schedules plugins
    specs
    prediction traces.generating audit bounds
    results
    engine
    studies
    online testing gym
    reporting
""".strip()
FLOOR = {room: floor for floor, rooms in enumerate(FLOORS.splitlines()) for room in rooms.split()}
# The package itself names what it shows; the command stands on all of it.
ABOVE = ("", "cli", "__main__")

UNIT = ROOT / "tests" / "unit"
OTHER_FOLDERS = {"bench", "campaigns", "core", "reference"}

# Where the native core is called. All else hands columns to these.
NATIVE = {
    "base.supervision", "bounds", "engine", "gym", "online", "plugins", "results", "schedules",
    "specs", "studies", "testing", "traces.generating",
}  # fmt: skip


@functools.cache
def inside() -> dict[str, set[str]]:
    """What of the package and its core each module imports."""
    return {module: imports(path) & {*MODULES, "_core"} for module, path in MODULES.items()}


def room_of(module: str) -> str:
    """The longest name in the table that the module is, or lies in; its first folder if none."""
    parts = module.split(".")
    names = (".".join(parts[:size]) for size in range(len(parts), 0, -1))
    return next((name for name in names if name in FLOOR or name in ABOVE), parts[0])


def test_a_module_imports_only_its_own_room_and_those_below() -> None:
    upward = [
        f"{module} imports {other}"
        for module in sorted(MODULES)
        if room_of(module) not in ABOVE
        for other in sorted(inside()[module] - {"_core"})
        if (room := room_of(module)) != room_of(other)
        and FLOOR.get(room_of(other), len(FLOOR)) >= FLOOR[room]
    ]
    assert not upward


def test_the_table_has_every_room_and_no_other() -> None:
    assert {room_of(module) for module in MODULES} == {*FLOOR, *ABOVE}


def test_unit_tests_stand_in_the_rooms_of_what_they_test() -> None:
    folders = {path.relative_to(UNIT).parts[0] for path in UNIT.rglob("test_*.py")}
    assert folders <= {room.partition(".")[0] for room in FLOOR} | OTHER_FOLDERS


def test_modules_import_each_other_without_a_circle() -> None:
    left = {name: needed - {"_core"} for name, needed in inside().items()}
    while left:
        free = {name for name, needed in left.items() if not needed & left.keys()}
        assert free, f"a circle among {sorted(left)}"
        left = {name: needed for name, needed in left.items() if name not in free}


def test_only_the_command_imports_the_command_and_the_public_names() -> None:
    for above in ("", "cli"):
        users = {
            module
            for module, needed in inside().items()
            if any(name == above or (above and name.startswith(f"{above}.")) for name in needed)
        }
        assert {room_of(user) for user in users} <= {"cli", "__main__"}


def test_few_rooms_touch_the_native_core() -> None:
    users = {module for module, needed in inside().items() if "_core" in needed}
    named = {user if user in NATIVE else room_of(user) for user in users}
    assert named - {""} == NATIVE


def test_the_audit_shares_nothing_with_what_it_judges() -> None:
    seen: set[str] = set()
    waiting = {module for module in MODULES if module.startswith("audit")}
    while waiting:
        module = waiting.pop()
        seen.add(module)
        if module in MODULES:  # it may know the types of what it is given
            waiting |= imports(MODULES[module], for_types=False) & {*MODULES, "_core"} - seen
    rooms = {"_core", "bounds", "engine", "plugins", "results", "schedules"}
    assert not {module.partition(".")[0] for module in seen} & rooms


def test_the_readable_engine_imports_nothing_else_and_is_not_loaded_with_the_package() -> None:
    own = {module for module in MODULES if module.partition(".")[0] == "reference"}
    assert own
    assert not {other for module in own for other in inside()[module]} - own
    program = "import sys, gpusched as gs; gs.simulate; print('gpusched.reference' in sys.modules)"
    made = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert made.stdout.strip() == "False"


def test_the_package_itself_imports_nothing_at_once() -> None:
    at_once = [
        ast.unparse(node)
        for node in ast.parse(MODULES[""].read_text()).body
        if isinstance(node, ast.Import | ast.ImportFrom)
    ]
    lazy = "from gpusched.base.lazy_names import lazy_names, serve_old_names"
    assert [line for line in at_once if "gpusched" in line] == [lazy]


def loaded_after(code: str) -> set[str]:
    """First names of the modules that are loaded once ``code`` has run in a fresh process."""
    program = f"import sys\n{code}\nprint(*{{name.partition('.')[0] for name in sys.modules}})"
    made = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True
    )
    return set(made.stdout.split())


HEAVY = {"altair", "jinja2", "msgspec", "pandas", "polars", "pyarrow", "rich", "scipy"}
HEAVY |= {"sklearn", "typer", "vl_convert"}

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


PAPERS = ROOT / "papers" / "gpusched_papers"
PUBLIC = {"bounds", "model", "online", "prediction", "studies", "traces", "traces.generating"}
"""Packages that users are told of."""
# Of the package, beside these: this list only becomes shorter.
PRIVATE = """
    base.failures base.real_data base.registry base.replacing base.supervision
    cli cli.console cli.errors cli.progress
    studies.calls studies.executors studies.driver studies.kept_runs
    plugins.schedulers.type_parts base.tables
"""


def test_the_papers_take_no_more_from_inside_the_package() -> None:
    trees = [ast.parse(path.read_text()) for path in PAPERS.rglob("*.py")]
    names = {
        str(node.module).removeprefix("gpusched.")
        for tree in trees
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith("gpusched.")
    }
    assert names - PUBLIC - set(PRIVATE.split()) == set()
