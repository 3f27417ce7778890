"""No code decides by the name of a plug-in: what it must know is a flag, or a rule of its own."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import gpusched as gs
from gpusched.plugins.info import FLAGS
from tests.architecture.sources import MODULES, PYTHON, ROOT, parsed, shown

REGISTRIES = (
    gs.policies(), gs.placements(), gs.speeds(), gs.contentions(), gs.predictors()
)  # fmt: skip
NAMES = {name for registry in REGISTRIES for name in registry}

# Rooms that are about certain plug-ins: a paper's figures have colours for its policies, a file
# that registers one says its name, and so does a rule by which the audit judges one.
# The readable engine is one twin of each, and chooses among them; who calls it speaks its words.
ABOUT_NAMES = (
    "plugins.schedulers", "audit.declarations", "audit.rules", "audit.readable_run", "reference",
)  # fmt: skip

# Names of plug-ins that are also the field's words for something else.
OTHER_WORDS = {
    "base.real_data": {"gavel", "swf"},  # folders of data sets
    "base.wording": {"count"},  # a kind of figure
    "cli.trace": {"count"},  # of rows, a key of the JSON
    "traces.kube_objects": {"count"},  # of pods, in the objects of Kueue
    "traces.generating.graph_zoo": {"stages"},  # a column: how many a graph has
    "model.throughputs": {"spread"},  # a column: throughput on several servers
    "plugins.registry": {"chronus-leases"},  # who asks for it is told where it is
    "reporting.drawing.style": {"column"},  # of a paper, whose width a chart has
    "results.metric_registry": {"count", "none"},  # kinds of figures, and of tables
    "results.shown_metrics": {"none"},  # the same
    "testing.cases": {"count", "random"},  # of servers, a field; a claim
    "testing.known.answers": {"fixed"},  # a lifetime
    "testing.law_registry": {"random"},  # a claim
    "traces.workload": {"elasticflow"},  # a recipe for deadlines, after its paper
    "traces.formats.sacct_json": {"count"},  # of a resource, in the JSON of Slurm
    "traces.formats.swf": {"estimate"},  # a time of a job
}

LOOKED_UP = {"get", "pop", "setdefault", "startswith", "endswith", "index"}
COLLECTED = {"set", "frozenset", "dict"}


def texts(node: ast.AST | None) -> Iterator[str]:
    """Texts in an expression, but for those inside of calls: they are somebody else's arguments."""
    if node is None or isinstance(node, ast.Call):
        return
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    for child in ast.iter_child_nodes(node):
        yield from texts(child)


def decided_by(node: ast.AST) -> Iterator[str]:
    """Texts by which a node of the code decides or looks something up."""
    if isinstance(node, ast.Compare):
        for side in (node.left, *node.comparators):
            yield from texts(side)
    elif isinstance(node, ast.MatchValue):
        yield from texts(node.value)
    elif isinstance(node, ast.Dict):
        for key in node.keys:
            yield from texts(key)
    elif isinstance(node, ast.Set):
        yield from texts(node)
    elif isinstance(node, ast.Subscript):
        yield from texts(node.slice)
    elif isinstance(node, ast.Call):
        function = node.func
        is_method = isinstance(function, ast.Attribute) and function.attr in LOOKED_UP
        if is_method or (isinstance(function, ast.Name) and function.id in COLLECTED):
            for argument in node.args:
                yield from texts(argument)


def names_in(path: Path) -> dict[str, list[int]]:
    """The names of plug-ins by which a file decides, with its lines."""
    found: dict[str, list[int]] = {}
    for node in ast.walk(parsed(path)):
        for text in decided_by(node):
            name = text.partition(":")[0]
            if name in NAMES:
                found.setdefault(name, []).append(getattr(node, "lineno", 0))
    return found


def test_no_code_branches_on_the_name_of_a_plug_in() -> None:
    found = {
        f"{shown(path)}, lines {lines}: {name}"
        for module, path in MODULES.items()
        if not module.startswith(ABOUT_NAMES)
        for name, lines in names_in(path).items()
        if name not in OTHER_WORDS.get(module, ())
    }
    assert not found


def test_every_word_that_is_let_through_is_still_there() -> None:
    for module, words in OTHER_WORDS.items():
        assert words <= names_in(MODULES[module]).keys(), module


@pytest.mark.parametrize(
    ("code", "name"),
    [
        ('if policy.name == "fifo": pass', "fifo"),
        ('x = name in ("buddy", "fgd")', "buddy"),
        ('x = frozenset(("lwf", "count"))', "lwf"),
        ('x = {"ring": f}', "ring"),
        ('x = {("2d-las", "lucid"): f}', "2d-las"),
        ('x = table["shared"]', "shared"),
        ('x = text.startswith("2d-las:")', "2d-las"),
        ('if spec.predictor == "oracle": pass', "oracle"),
        ('x = predictor in ("estimate", "column")', "column"),
        ('match name:\n    case "gavel":\n        pass', "gavel"),
    ],
)
def test_a_branch_is_found_in_whatever_form(code: str, name: str, tmp_path: Path) -> None:
    path = tmp_path / "branch.py"
    path.write_text(code)
    assert name in names_in(path)


def test_a_flag_is_asked_for_by_a_method_that_knows_how_it_is_spelt() -> None:
    # `"elastik" in info.flags` is false for ever; `info.has("elastik")` is an error.
    for path in (*PYTHON.rglob("*.py"), *(ROOT / "docs").glob("*.py")):
        for node in ast.walk(parsed(path)):
            if not isinstance(node, ast.Compare):
                continue
            sides = [node.left, *node.comparators]
            is_flags = any(
                isinstance(side, ast.Attribute) and side.attr == "flags" for side in sides
            )
            asked = {text for side in sides for text in texts(side)} & set(FLAGS)
            assert not (is_flags and asked), f"{shown(path)}, line {node.lineno}: {asked}"
