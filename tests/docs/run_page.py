"""Runs the code of one page in the present folder: ``python -m tests.docs.run_page PAGE``.

Blocks of Python share one namespace; commands run in between, as processes. Where the comment
after an expression is itself a value, as in ``plan.price  # 0.25``, it must be the value.
"""

import ast
import contextlib
import io
import shlex
import subprocess
import sys
import tokenize
import traceback
import types
from collections.abc import Iterator
from typing import Any

from tests.docs.blocks import PYTHON, SHELL, Block, Command, blocks, commands

VARYING = ("wall time", "jobs/s")
"""Rows of printed tables that are never the same twice."""


class Wrong(Exception):
    """What a page says is not what happens."""


def run_page(page: str, text: str | None = None) -> None:
    """Run all blocks; raise what the first one that fails raises."""
    printed = ""
    main = types.ModuleType("__main__")  # what processes of their own are started from
    sys.modules["__main__"] = main
    for block in blocks(page, text):
        if block.file is not None:
            with open(block.file, "w", encoding="utf-8") as file:
                file.write(block.text)
        if block.not_run is not None:
            continue
        if block.is_output:
            if [*map(_loose, block.text.splitlines())] != [*map(_loose, printed.splitlines())]:
                raise Wrong(f"{block.where}: shown is\n{block.text}\nprinted was\n{printed}")
        elif block.language in PYTHON:
            with contextlib.redirect_stdout(io.StringIO()) as output:
                run_python(block, vars(main))
            printed = output.getvalue()
        elif block.language in SHELL:
            run_shell(block)


def run_python(block: Block, namespace: dict[str, Any]) -> None:
    """Run a block statement by statement."""
    source = block.runnable()
    comments = dict(_comments(source))
    tree = ast.parse(source, block.where)
    ast.increment_lineno(tree, block.line - 1)
    file = str(block.source)  # so that a traceback shows the page's line
    for statement in tree.body:
        if not isinstance(statement, ast.Expr):
            exec(compile(ast.Module([statement], []), file, "exec", dont_inherit=True), namespace)
            continue
        expression = ast.Expression(statement.value)
        value = eval(compile(expression, file, "eval", dont_inherit=True), namespace)
        line = (statement.end_lineno or 0) - block.line + 1
        _check_value(f"{block.page}:{statement.end_lineno}", value, comments.get(line))


def _comments(source: str) -> Iterator[tuple[int, str]]:
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string.removeprefix("#").strip()


def _check_value(where: str, value: object, comment: str | None) -> None:
    try:
        shown = ast.literal_eval(comment or "")
    except (SyntaxError, ValueError):
        return  # words
    if isinstance(shown, float):
        half_digit = 0.5001 * 10.0 ** -len((comment or "").partition(".")[2])
        if not (isinstance(value, float) and abs(value - shown) <= half_digit):
            raise Wrong(f"{where}: shown is {shown}, it is {value!r}")
    elif value != shown:
        raise Wrong(f"{where}: shown is {shown!r}, it is {value!r}")


def run_shell(block: Block) -> None:
    """Run the commands of a block, one by one; each must succeed and print what is shown."""
    for command in commands(block):
        if not command.is_run:
            continue
        words = shlex.split(command.text)
        start = [sys.executable] + (["-m", "gpusched"] if words[0] == "gpusched" else [])
        done = subprocess.run(
            [*start, *words[1:]], capture_output=True, text=True, stdin=subprocess.DEVNULL
        )
        if done.returncode != 0:
            raise Wrong(
                f"{block.page}:{command.line}: {command.text!r} ended with {done.returncode}:\n"
                f"{done.stderr}"
            )
        _check_output(block, command, done.stderr + done.stdout)


def _check_output(block: Block, command: Command, printed: str) -> None:
    lines = iter([_loose(line) for line in printed.splitlines()])
    for shown in map(_loose, command.shown):
        if shown and not shown.startswith(VARYING) and shown not in lines:
            raise Wrong(
                f"{block.page}:{command.line}: {command.text!r} does not print, after what is shown"
                f" before it,\n  {shown}\nbut\n{printed}"
            )


def _loose(line: str) -> str:
    return " ".join(line.strip(" ─-=").split())


if __name__ == "__main__":
    try:
        run_page(sys.argv[1])
    except Exception:
        traceback.print_exc()
        sys.exit(1)
