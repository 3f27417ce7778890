"""Small things of the base: memos, numbering, old names, missing libraries, advisories."""

import gc
import importlib.util
import subprocess
import sys
import weakref
from collections.abc import Callable
from functools import partial
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gpusched as gs
from gpusched.base.arrays import numbered
from gpusched.base.libraries import need
from gpusched.base.memo import Memo, kept
from tests.boundary.workloads import CLUSTER, trace
from tests.each import each
from tests.learners import learner


class Owner:
    pass


def _same(held: Owner) -> Owner:
    return held


def test_a_value_is_computed_once_for_an_owner_and_a_key():
    memo: Memo[Owner, int] = Memo(2)
    asked: list[str] = []

    def value(owner: Owner, key: str) -> int:
        def compute() -> int:
            asked.append(key)
            return len(asked)

        return memo.of(owner, key, compute)

    one, other = Owner(), Owner()
    assert [value(one, "a"), value(one, "a"), value(other, "a"), value(one, "b")] == [1, 1, 2, 3]
    assert asked == ["a", "a", "b"]


def test_of_more_values_than_it_keeps_the_oldest_is_forgotten():
    memo: Memo[Owner, str] = Memo(2)
    owner, made = Owner(), []

    def value(key: str) -> str:
        def compute() -> str:
            made.append(key)
            return key

        return memo.of(owner, key, compute)

    for key in ("a", "b", "c", "c", "b", "a"):
        assert value(key) == key
    assert made == ["a", "b", "c", "a"]


def test_nothing_is_kept_of_an_owner_that_is_gone():
    memo: Memo[Owner, Owner] = Memo(2)
    owner, held = Owner(), Owner()
    seen = weakref.ref(held)
    memo.of(owner, "a", partial(_same, held))
    del held
    assert seen() is not None
    del owner
    gc.collect()
    assert seen() is None


def test_an_error_is_not_remembered():
    memo: Memo[Owner, int] = Memo(2)
    owner = Owner()
    for _ in range(2):
        try:
            memo.of(owner, "a", lambda: 1 // 0)
        except ZeroDivisionError:
            continue
        raise AssertionError("the error was lost")
    assert memo.of(owner, "a", lambda: 7) == 7


class Column:
    def __init__(self) -> None:
        self.asked = 0

    @kept
    def total(self) -> int:
        """The sum."""
        self.asked += 1
        return 7


def test_a_kept_property_is_computed_once_for_each_object():
    one, other = Column(), Column()
    assert (one.total, one.total, other.total) == (7, 7, 7)
    assert (one.asked, other.asked) == (1, 1)
    assert Column.total.__doc__ == "The sum."


few = st.integers(-3, 5)
many = st.integers(-(2**62), 2**62)


@given(st.one_of(st.lists(few), st.lists(many)))
def test_values_are_numbered_as_numpy_does(drawn):
    values = np.array(drawn, dtype=np.int64)
    known, number = numbered(values)
    truth, inverse = np.unique(values, return_inverse=True)
    assert known.tolist() == truth.tolist()
    assert number.tolist() == inverse.tolist()
    assert known.dtype == number.dtype == np.int64


OLD = {
    "clusters": "model",
    "deciding": "online",
    "generator": "traces.generating",
    "models": "model",
    "plot": "reporting.plot",
    "readable": "reference",
    "statistics": "studies",
    "sweeping": "studies",
    "tuning": "studies",
}


@each("old", OLD)
def test_a_package_by_an_old_name_is_the_package(old):
    room = import_module(f"gpusched.{OLD[old]}")
    assert import_module(f"gpusched.{old}") is getattr(gs, old) is room
    assert room.__spec__.name == room.__name__ == f"gpusched.{OLD[old]}"


def test_a_module_by_an_old_name_is_the_module_whichever_is_imported_first():
    program = (
        "import gpusched; print(gpusched.traces.generating.__name__, gpusched.reporting.plot);"
        "import gpusched.models.job_graphs as old, gpusched.model.job_graphs as new;"
        "from gpusched.statistics import holm; from gpusched.studies import holm as same;"
        "print(old is new, holm is same, new.__spec__.name)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    # A package inside another is there without an import.
    assert "gpusched.traces.generating <module 'gpusched.reporting.plot'" in done.stdout
    assert done.stdout.endswith("True True gpusched.model.job_graphs\n"), done.stderr


def test_what_an_old_package_never_had_is_not_found():
    with pytest.raises(ModuleNotFoundError, match=r"gpusched\.model\.nothing"):
        import_module("gpusched.clusters.nothing")


GROUPED = trace(group=["a", "b"] * 30)

CALLS: dict[str, tuple[str, Callable[[Path], Any], str]] = {
    "picture": (
        "vl_convert",
        lambda path: gs.plot.save(gs.plot.queue(gs.simulate(GROUPED, CLUSTER)), path / "a.pdf"),
        r'a file of a chart needs vl_convert: pip install "gpusched-core\[plot\]"',
    ),
    "forest": ("sklearn", lambda _: learner("forest:trees=2,leaf=2,refit_jobs=5").train(GROUPED),
               "predictor forest needs sklearn: pip install scikit-learn"),
    "pandas": ("pandas", lambda _: gs.simulate(GROUPED, CLUSTER).to_pandas(),
               r'this needs pandas: pip install "gpusched-core\[pandas\]"'),
}  # fmt: skip


@pytest.mark.parametrize("call", sorted(CALLS))
def test_a_missing_library_is_named(call, tmp_path, monkeypatch):
    module, work, message = CALLS[call]
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ImportError, match=message):
        work(tmp_path)


def test_what_is_there_is_not_loaded_by_the_check():
    code = "import sys; from gpusched.base.libraries import need; need('altair', 'x', 'altair')"
    code += "; assert 'altair' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
    with pytest.raises(ImportError, match="x needs nowhere_at_all: pip install y"):
        need("nowhere_at_all", "x", "y")


# All that a run, its summary, its audit, the command and its page need without these.
BLOCKED = """
import sys
sys.modules["vl_convert"] = sys.modules["sklearn"] = sys.modules["scipy"] = None
import gpusched as gs
trace = gs.generate("philly", 60, seed=1)
cluster = gs.Cluster.uniform(8, 8)
found = gs.compare(trace, cluster, ["fifo", "srtf"])
for result in found.results.values():
    assert result.audit().ok
result = gs.simulate(trace, cluster, policy="sjf", predictor="group-mean")
result.summary()
from gpusched.cli import main
sys.argv = ["gpusched", "compare", "--jobs", "60", "--servers", "8", "-p", "fifo,sjf"]
sys.argv += ["--out", sys.argv[0] + "-out"]
main()
"""


def test_runs_and_pages_need_neither_vl_convert_nor_scikit_learn(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", BLOCKED],
        cwd=tmp_path, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "mean JCT" in done.stdout
    written = sorted(path.name for path in (tmp_path / "gpusched-out").iterdir())
    assert written == ["report.html", "runs.parquet"]


FILE = Path(__file__).parents[3] / ".ci" / "advisories.py"


@pytest.fixture(scope="module")
def advisories() -> ModuleType:
    pytest.importorskip("yaml")
    pytest.importorskip("packaging")
    spec = importlib.util.spec_from_file_location("advisories", FILE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def advisory(*events: dict[str, str], **fields: Any) -> dict[str, Any]:
    package = {"name": "Some.Package", "ecosystem": "PyPI"}
    ranges = [{"type": "ECOSYSTEM", "events": list(events)}]
    return {"affected": [{"package": package, "ranges": ranges, **fields}]}


@each(
    ("events", "affected", "free"),
    [
        ([("introduced", "0"), ("fixed", "1.10.0")], ["0.1", "1.9.3", "1.10.0rc1"], ["1.10", "2"]),
        ([("introduced", "1.2")], ["1.2", "9"], ["1.1.9"]),
        ([("introduced", "0"), ("last_affected", "2.0")], ["1", "2.0"], ["2.0.1"]),
        (
            [("fixed", "1.5"), ("introduced", "2"), ("introduced", "1"), ("fixed", "2.5")],
            ["1.0", "1.4", "2.4"],
            ["0.9", "1.5", "1.9", "2.5"],
        ),
        ([("introduced", "0"), ("fixed", "commit abc")], ["0", "9"], []),
    ],
)
def test_a_version_lies_between_what_introduces_and_what_mends(advisories, events, affected, free):
    made = advisory(*({kind: version} for kind, version in events))
    found = [one for one in affected + free if advisories.is_affected(made, "some-package", one)]
    assert found == affected


def test_a_version_may_be_named_and_another_package_is_not_meant(advisories):
    named = advisory({"introduced": "5"}, versions=["1.0"])
    assert advisories.is_affected(named, "some-package", "1.0")
    assert not advisories.is_affected(named, "some-package", "1.1")
    assert not advisories.is_affected(named, "other", "1.0")


def test_a_folder_without_advisories_is_refused_by_name(advisories, tmp_path):
    with pytest.raises(SystemExit, match=f"{tmp_path}: no vulns/PACKAGE"):
        advisories.read_advisories(tmp_path)
