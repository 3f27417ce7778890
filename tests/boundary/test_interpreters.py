"""What the core says of itself to interpreters that it does not work in."""

import subprocess
import sys

IN_A_SUB_INTERPRETER = """
try:
    import _interpreters as interpreters
except ImportError:
    import _xxsubinterpreters as interpreters
{before}
script = '''
try:
    {imported}
except ImportError as error:
    print("refused:", error, flush=True)
'''
{options}
for _ in range(2):
    interpreters.run_string(interpreters.create(*options), script)
{after}
print("done")
"""
# From 3.13 on an interpreter may share the GIL and not ask what modules declare.
LEGACY = 'options = ("legacy",) if interpreters.__name__ == "_interpreters" else ()'
RUN = """
import gpusched as gs
jobs = gs.Trace.from_columns([0, 1], [5, 5], [1, 1])
digest = gs.simulate(jobs, gs.Cluster.uniform(1, 1)).digest
"""


def said(imported: str, before: str = "", after: str = "", options: str = "options = ()") -> str:
    """Return what a process prints that imports in two sub-interpreters; they must not hang."""
    code = IN_A_SUB_INTERPRETER.format(
        imported=imported, before=before, after=after, options=options
    )
    made = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code],
        capture_output=True,
        text=True,
        timeout=60,  # a hang; it takes less than a second
        check=False,
    )
    assert made.returncode == 0, made.stderr
    return made.stdout


def test_the_core_is_refused_in_a_sub_interpreter():
    for options in ("options = ()", LEGACY):
        lines = said("import gpusched._core", options=options).splitlines()
        assert [line.partition(":")[0] for line in lines] == ["refused", "refused", "done"]
    if sys.version_info < (3, 12):
        assert "works only in the main interpreter of a process" in lines[0]


def test_the_package_is_refused_in_a_sub_interpreter():
    lines = said("import gpusched; gpusched.simulate").splitlines()
    assert [line.partition(":")[0] for line in lines] == ["refused", "refused", "done"]


def test_the_main_interpreter_goes_on_around_a_refusal():
    after = "assert gs.simulate(jobs, gs.Cluster.uniform(1, 1)).digest == digest"
    lines = said("import gpusched._core", before=RUN, after=after).splitlines()
    assert [line.partition(":")[0] for line in lines] == ["refused", "refused", "done"]


def test_the_core_can_be_loaded_after_a_refusal():
    lines = said("import gpusched._core", after=RUN).splitlines()
    assert [line.partition(":")[0] for line in lines] == ["refused", "refused", "done"]
