"""Results as files: complete, checked when read, and never trusted."""

import dataclasses
import json
import zipfile
from datetime import UTC, datetime

import msgspec
import numpy as np
import pytest

import gpusched as gs
from gpusched.base import container
from gpusched.base.labels import Labels
from gpusched.base.rejects import Rejects
from gpusched.model.job_graphs import JobGraph, Stage
from gpusched.reference import Network, Profile
from gpusched.results.result import Result
from gpusched.results.result_store import KIND
from gpusched.specs.run_spec import TraceSource
from tests.unit.small_runs import job, simulated

PROFILE = Profile(1e8, 2.0, {"V100": 0.125}, {"V100": 0.25})
GRAPHS = (
    JobGraph("pipeline", (Stage(1, 0.5, 1e8, 2e6), Stage(3, {"V100": 1.0}, 3e8)), "made up"),
    JobGraph("wide", (Stage(99, 1.0, 1e9),)),
)


@pytest.fixture(scope="module")
def result():
    """A trace with every column that there is."""
    jobs = [
        job(0, 5, 4, weight=2.0, checkpoint_us=3, restart_us=4, profile=PROFILE),
        job(1, 2, 4, allowed=frozenset({"V100"}), profile=PROFILE),
        job(2, 1, 99, profile=PROFILE),
    ]
    made = simulated(
        jobs, [(3, "V100"), (2, "V100")], "srtf", "first-fit",
        network=Network([1.0, 1.0], [10.0, 10.0], [0, 1], [1, None], [1.0, None]),
        contention="shared", contention_params={"scaling": 0.5}, id=["a", "b", "ç"],
        user=["ann", "bob", "ann"], queue=["q", "", "r"], group=[1, 2, 1],
        status=["ok", "ok", "failed"], estimate_s=[1.0, float("nan"), 3.0],
        predicted_s=[2.0, float("nan"), 1.5], source_wait_s=[float("nan"), 0.0, 2.0],
        gpu_share=[1, 1, 1], cpu=[0, 0, 0], memory_gib=[0, 0, 0],
        deadline_s=[9.5, float("nan"), 2.5], value=[1.0, 2.0, 0.5],
        checkpoint_every_s=[9.0, float("nan"), 5.0], max_requeues=[1, float("nan"), 0],
        requeue_back=[0, 1, float("nan")],
        min_gpus=[1, 2, 99], max_gpus=[4, 8, float("nan")], time_limit_s=[9.0, float("nan"), 5.0],
        eligible_s=[float("nan"), 1.0, float("inf")], cancel_at_s=[float("nan"), 99.0, 99.0],
        array=["m", "", "m"], array_limit=[2, float("nan"), 2], priority=[1.0, -2.5, 0.0],
        nice=[0.0, 10.0, -10.0], gpus_per_node=[0, 0, 33], partition=["p", "", "q"],
        account=["x", "x", ""], qos=[1, 1, 2], dependency=["", "afterok:z", ""],
        ran_on=["V100", "", "V100"], epoch=datetime(2020, 1, 2, tzinfo=UTC), graphs=GRAPHS,
    )  # fmt: skip
    trace = dataclasses.replace(
        made.trace,
        rejects=Rejects({"gpus must be positive": 2}, {"gpus must be positive": (3, 5)}),
        reference_type="V100",
        checkpoint_write_us=np.zeros(3, np.int64),
    )
    spec = msgspec.structs.replace(made.spec, trace=TraceSource.of(trace))
    queued_us = np.array([0, 1_000_000, -1])  # nothing holds a job, and the last one is rejected
    schedule = dataclasses.replace(made.schedule, eligible_us=queued_us)
    return Result(trace, made.cluster, spec, schedule, 0.25)


@pytest.fixture
def path(result, tmp_path):
    result.save(tmp_path / "run.npz")
    return tmp_path / "run.npz"


def test_a_loaded_result_is_the_saved_one(result, path):
    loaded = gs.load_result(path)
    assert repr(loaded.summary()) == repr(result.summary())  # NaN is not equal to itself
    assert loaded.spec == result.spec
    assert loaded.cluster == result.cluster
    assert loaded.to_polars().equals(result.to_polars())
    assert loaded.schedule.uncontended_us.tolist() == result.schedule.uncontended_us.tolist()
    assert loaded.warnings == result.warnings
    assert dict(loaded.schedule.counters) == dict(result.schedule.counters)
    assert loaded.audit().ok


def test_a_loaded_trace_has_every_column(result, path):
    loaded = gs.load_result(str(path)).trace
    for column in dataclasses.fields(result.trace):
        before, after = getattr(result.trace, column.name), getattr(loaded, column.name)
        assert before is not None, f"{column.name} is not tested"
        if isinstance(before, np.ndarray):
            assert before.dtype == after.dtype, column.name
            np.testing.assert_array_equal(before, after, column.name)
        elif isinstance(before, Labels):
            assert before.names == after.names, column.name
            assert before.codes.tolist() == after.codes.tolist(), column.name
        else:
            assert before == after, column.name


def test_a_trace_without_options_survives(tmp_path):
    plain = simulated([job(0, 1), job(0, 2)])
    plain.save(tmp_path / "run.npz")
    loaded = gs.load_result(tmp_path / "run.npz")
    assert loaded.to_polars().equals(plain.to_polars())
    assert loaded.trace.type_set is None
    assert loaded.trace.user is None
    assert loaded.trace.profiles == ()
    assert loaded.schedule.uncontended_us.tolist() == []


@pytest.mark.parametrize(("policy", "sees_truth"), [("fifo", False), ("srtf", True)])
def test_whether_the_policy_saw_the_true_services_survives(policy, sees_truth, tmp_path):
    simulated([job(0, 1), job(0, 2)], policy=policy).save(tmp_path / "run.npz")
    loaded = gs.load_result(tmp_path / "run.npz")
    assert loaded.clairvoyant is sees_truth
    assert loaded.audit().ok


def test_a_file_of_an_older_layout_is_refused_by_its_number(tmp_path):
    record = b'{"format":"gpusched-result","layout":4,"version":"0.1.0"}'
    np.savez(tmp_path / "old.npz", a=np.arange(3), header=np.frombuffer(record, np.uint8))
    with pytest.raises(ValueError, match=r"old\.npz: .*layout 4, this version .* reads 5"):
        gs.load_result(tmp_path / "old.npz")


def rewritten(path, kind=KIND, **changes):
    """Write ``changes`` (functions of the old array, or None to leave it out) into a file."""
    header, arrays = container.read(path, KIND)
    arrays["header"] = np.frombuffer(header, np.uint8)
    for name, change in changes.items():
        if change is None:
            del arrays[name]
        else:
            arrays[name] = change(arrays.get(name))
    header = arrays.pop("header").tobytes()
    container.write(path, kind, header, arrays)


def header(change):
    def changed(encoded):
        record = json.loads(encoded.tobytes())
        change(record)
        return np.frombuffer(json.dumps(record).encode(), dtype=np.uint8)

    return changed


def add_one(column):
    return np.concatenate((column[:-1], column[-1:] + np.ones(1, column.dtype)))


@pytest.mark.parametrize(
    ("array", "change", "message"),
    [
        ("intervals.end_us", add_one, "schedule does not have the stored digest"),
        ("intervals.mask", add_one, "schedule does not have the stored digest"),
        ("trace.service_us", add_one, "trace does not have the stored fingerprint"),
        ("intervals.job", lambda a: a + 3, "intervals.job: has jobs that are not in the trace"),
        ("intervals.mask", lambda a: a.astype(np.int64), "intervals.mask holds int64, not "),
        ("schedule.held_us", lambda a: a[1:], r"schedule.held_us has shape \(2,\), not \(3,\)"),
        ("schedule.held_us", None, "schedule.held_us is missing"),
        ("schedule.status", lambda a: a + np.uint8(9), "an unknown status or reason"),
        ("schedule.reason", lambda a: a + np.uint8(9), "an unknown status or reason"),
        ("trace.id", lambda a: np.zeros(3), "trace.id holds float64, not integers or text"),
        ("trace.id", lambda a: a[:, None], "trace.id has shape"),
        ("trace.user", lambda a: a + 7, "label codes must lie in"),
        ("trace.type_set", lambda a: a + 7, "trace.type_set points outside"),
        ("trace.submit_us", lambda a: a[:0], "it has no jobs"),
        ("header", lambda a: a[:-9], "truncated"),
        ("header", header(lambda h: h.update(digest="0" * 64)), "stored digest"),
        ("trace.profile", lambda a: a + 1, "trace.profile points outside the profiles"),
        ("trace.profile", None, "trace does not have the stored fingerprint"),
        ("trace.graph", lambda a: a + 1, "trace.graph points outside the graphs"),
        ("trace.graph", None, "trace does not have the stored fingerprint"),
        ("schedule.uncontended_us", lambda a: a[1:], r"uncontended_us has shape \(2,\)"),
        (
            "header",
            header(lambda h: h["trace"]["profiles"][0].update(batch=3.0)),
            "trace does not have the stored fingerprint",
        ),
        ("header", header(lambda h: h.update(layout=5)), "unknown field `layout`"),
        ("trace.more", lambda _: np.zeros(3), "trace.more is not expected"),
        ("header", header(lambda h: h["spec"].update(seed="x")), r"Expected `int`.*\$.spec.seed"),
        ("header", header(lambda h: h["trace"].update(label_names={"x": []})), "unknown label 'x'"),
    ],
)
def test_a_changed_file_is_refused(path, array, change, message):
    rewritten(path, **{array: change})
    with pytest.raises(ValueError, match=message) as raised:
        gs.load_result(path)
    assert str(raised.value).startswith(f"{path}: not a readable gpusched result: ")


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        (container.Kind("gpusched-result", 6), "it has layout 6, this version of gpusched reads 5"),
        (container.Kind("gpusched-predictor", 5), "a 'gpusched-predictor', not a 'gpusched-result"),
    ],
)
def test_a_file_of_another_kind_is_refused_by_its_name(path, kind, message):
    rewritten(path, kind)
    with pytest.raises(ValueError, match=message):
        gs.load_result(path)


def test_what_other_software_wrote_anew_is_refused(path):
    with np.load(path) as archive:
        arrays = dict(archive)
    np.savez(path, **arrays)
    with pytest.raises(ValueError, match="manifest: it, or its entry in the archive, was changed"):
        gs.load_result(path)
    arrays["trace.id"] = arrays["trace.id"].astype(object)  # pickled, and never loaded
    del arrays["manifest"]
    np.savez(path, **arrays)
    with pytest.raises(ValueError, match=r"manifest: does not begin .* other software"):
        gs.load_result(path)


def test_foreign_files_are_refused(tmp_path):
    np.save(tmp_path / "array.npy", np.arange(3))
    np.savez(tmp_path / "arrays.npz", a=np.arange(3))
    (tmp_path / "text.npz").write_text("job_id,submission_time\n")
    with zipfile.ZipFile(tmp_path / "archive.npz", "w") as archive:
        archive.writestr("readme.txt", "hello")
    for path in list(tmp_path.iterdir()):
        with pytest.raises(ValueError, match=f"{path.name}: not a readable gpusched result"):
            gs.load_result(path)
