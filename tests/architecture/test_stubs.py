"""A type checker sees every public name of the native core, and that the package is typed."""

import ast
import inspect

from gpusched import _core
from tests.architecture.sources import PYTHON

STUB = ast.parse((PYTHON / "_core.pyi").read_text())

# What Python itself puts on every class, and what only the tests may use.
PRIVATE = {"_remade", "_testing"}


def public(names: object) -> set[str]:
    return {name for name in dir(names) if not name.startswith("_")}


def in_stub(body: list[ast.stmt]) -> dict[str, ast.stmt]:
    """Names that a body of the stub defines."""
    found: dict[str, ast.stmt] = {}
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found[node.name] = node
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            found[node.target.id] = node
        elif isinstance(node, ast.Assign):
            found |= {t.id: node for t in node.targets if isinstance(t, ast.Name)}
    return found


TOP = in_stub(STUB.body)


def test_the_package_says_that_it_is_typed() -> None:
    assert (PYTHON / "py.typed").exists()


def test_every_public_name_of_the_core_is_in_the_stub() -> None:
    assert public(_core) - PRIVATE == set(TOP) - {"__all__", "__version__"} - PRIVATE
    assert "__version__" in TOP


def test_every_public_member_of_a_native_class_is_in_the_stub() -> None:
    for name in sorted(n for n in public(_core) if inspect.isclass(getattr(_core, n))):
        own = {member for member in vars(getattr(_core, name)) if not member.startswith("_")}
        node = TOP[name]
        assert isinstance(node, ast.ClassDef)
        assert {member for member in in_stub(node.body) if not member.startswith("_")} == own, name


def test_the_stub_of_a_function_names_its_arguments() -> None:
    for name in sorted(n for n in public(_core) if inspect.isbuiltin(getattr(_core, n))):
        node = TOP[name]
        assert isinstance(node, ast.FunctionDef)
        signature = (getattr(_core, name).__doc__ or "").partition("\n")[0]
        for argument in (*node.args.args, *node.args.kwonlyargs):
            assert f"{argument.arg}: " in signature, name
        assert node.returns is not None, name
        assert ast.unparse(node.returns) not in ("dict", "list", "tuple", "typing.Any"), name
