"""Saved predictors: complete, checked when read, and never trusted."""

import os
import pickle
import zipfile

import msgspec
import numpy as np
import pytest

import gpusched as gs
from gpusched.base import container
from gpusched.prediction import load_predictor, predictor
from gpusched.prediction.forest import Forest
from gpusched.prediction.learner import KIND, Header, read_model, write_model
from tests.each import each
from tests.learners import learner
from tests.unit.prediction.predicting import recurring

LEARNERS = (
    "forest:trees=3", "forest:target=mean,trees=3", "forest:target=log,trees=3", "group-mean",
    "last-value", "quantile:q=0.9",
)  # fmt: skip


@pytest.fixture(scope="module")
def trained():
    return learner("forest:trees=3").train(recurring(120, gpu_types=["V100"] * 120))


@pytest.fixture
def path(trained, tmp_path):
    trained.save(tmp_path / "model.npz")
    return tmp_path / "model.npz"


@pytest.mark.parametrize("text", LEARNERS)
def test_a_loaded_predictor_predicts_what_the_saved_one_does(text, tmp_path):
    trained = learner(text).train(recurring(120, seed=1))
    trained.save(tmp_path / "model.npz")
    loaded = load_predictor(tmp_path / "model.npz")
    other = recurring(60, seed=2)
    assert str(loaded) == text
    assert loaded.label == trained.label
    assert loaded.predict_trace(other).tolist() == trained.predict_trace(other).tolist()
    untrained = predictor(text).predict_trace(other).tolist()
    assert loaded.predict_trace(other).tolist() != untrained


def test_labels_are_matched_by_name(path):
    loaded = load_predictor(path)
    seen = recurring(30, seed=3)
    columns = ("submit_s", "service_s", "gpus", "queue")
    renamed = {column: getattr(seen, column) for column in columns}
    # The same names, numbered the other way round.
    backwards = gs.Trace.from_columns(
        **renamed, user=numbered_backwards(seen.user), group=numbered_backwards(seen.group)
    )
    assert loaded.predict_trace(backwards).tolist() == loaded.predict_trace(seen).tolist()
    strangers = gs.Trace.from_columns(**renamed, user=["x"] * 30, group=["y"] * 30)
    assert loaded.predict_trace(strangers).tolist() != loaded.predict_trace(seen).tolist()


def numbered_backwards(labels):
    last = len(labels.names) - 1
    return type(labels)(last - labels.codes, labels.names[::-1])


def test_parameters_can_be_replaced_when_a_predictor_is_loaded(path):
    assert str(load_predictor(path, mode="frozen")) == "forest:mode=frozen,trees=3"
    with pytest.raises(ValueError, match=r"model\.npz: .*unknown parameter 'mod'"):
        load_predictor(path, mod="frozen")


def test_what_the_leaves_of_a_forest_hold_cannot_be_replaced(path, tmp_path):
    with pytest.raises(ValueError, match=r"parameter target: is mean, .* saved with the default"):
        load_predictor(path, target="mean")
    assert "target=log" in str(load_predictor(path, target="log"))
    learner("forest:target=mean,trees=3").train(recurring(120)).save(tmp_path / "means.npz")
    with pytest.raises(ValueError, match=r"parameter target: is log, .* saved with mean"):
        load_predictor(tmp_path / "means.npz", target="log")


def test_a_loaded_predictor_can_be_trained_further(path):
    loaded = load_predictor(path)
    further = loaded.train(recurring(80, seed=4))
    assert len(further.records) == len(loaded.records) + 80
    assert isinstance(further, Forest)
    assert len(further.old_features) == 200


def test_what_is_not_trained_is_not_saved(tmp_path):
    with pytest.raises(ValueError, match="predictor forest: is untrained"):
        learner("forest").save(tmp_path / "model.npz")
    assert list(tmp_path.iterdir()) == []


# Files that are something else, or were changed


def refused(path, message):
    with pytest.raises(ValueError, match=message) as caught:
        load_predictor(path)
    assert str(caught.value).startswith(f"{path}: not a readable gpusched predictor: ")


class Evil:
    def __reduce__(self):
        return os.mkdir, ("pickle-was-run",)


def test_a_pickle_is_never_run(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path.write_bytes(pickle.dumps(Evil()))
    refused(path, "not an .npz archive")
    np.savez(path, header=np.array([Evil()], dtype=object), allow_pickle=True)
    refused(path, "no 'gpusched-pred|manifest: does not begin the archive")
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("header.npy", pickle.dumps(Evil()))
    refused(path, "manifest: does not begin the archive")
    assert not (tmp_path / "pickle-was-run").exists()


def compress(path):
    with np.load(path) as archive:
        arrays = dict(archive)
    np.savez_compressed(path, **arrays)


def write_old_layout(path):
    record = b'{"format":"gpusched-predictor","layout":1,"predictor":"forest"}'
    np.savez(path, header=np.frombuffer(record, np.uint8))


@each(
    ("write", "message"),
    [
        (compress, "manifest: "),
        (write_old_layout, "it has layout 1, this version of gpusched reads 2"),
        (lambda path: np.savez(path, a=np.zeros(3)), "manifest: does not begin the archive"),
    ],
)
def test_an_archive_of_another_kind_is_refused(write, message, path):
    write(path)
    refused(path, message)


def rewritten(path, header=lambda record: record, **changes):
    """Write the file anew with other arrays and a checksum that fits them."""
    old, arrays = read_model(path)
    for name, change in changes.items():
        field = name.replace("__", ".")
        if change is None:
            del arrays[field]
        else:
            arrays[field] = change(arrays.get(field))
    record = header(msgspec.to_builtins(old))
    write_model(path, Header(**record), arrays)


def put(index, value):
    def change(array):
        changed = array.copy()
        changed[index] = value
        return changed

    return change


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"records__gpus": None}, "records.gpus is missing"),
        ({"records__gpus": lambda a: a[1:]}, r"records.gpus has shape \(119,\), not \(120,\)"),
        ({"records__gpus": lambda a: a.astype("i8")}, "records.gpus holds int64, not int32"),
        ({"records__gpus": put(0, 0)}, "records.gpus must be at least 1"),
        ({"records__service_us": put(3, 0)}, "records.service_us is not a time"),
        ({"records__service_us": put(3, 2**60)}, "records.service_us is not a time"),
        ({"records__user": put(0, 3)}, "records.user is outside the names"),
        ({"records__group": put(0, -2)}, "records.group is outside the names"),
        ({"features": lambda a: a[:, 1:]}, r"features has shape \(120, 23\)"),
        ({"features": put((0, 0), np.nan)}, "features must be finite"),
        ({"forest__child": put(0, 0)}, "forest.threshold: must be infinite at leaves"),
        ({"forest__child": put(5, 1)}, "forest.child: must come after its parent"),
        ({"forest__child": put(0, 10**6)}, "forest.child: must come after its parent"),
        ({"forest__root": put(0, -1)}, "forest.root: must name a vertex"),
        ({"forest__root": lambda a: a[:0]}, "forest.root: must name a vertex"),
        ({"forest__feature": put(0, 24)}, r"forest.feature: must lie in 0\.\.23"),
        ({"forest__threshold": put(0, np.nan)}, "forest.threshold: must be"),
        ({"forest__value": put(0, np.inf)}, "forest.value: must be logarithms"),
        ({"forest__value": lambda a: a[1:]}, "forest.value has shape"),
        ({"more": lambda _: np.zeros(3)}, "more is not expected"),
        ({"header": lambda record: {**record, "predictor": "noise"}}, "'noise' learns nothing"),
        ({"header": lambda record: {**record, "predictor": "x"}}, "unknown predictor 'x'"),
        ({"header": lambda record: {**record, "features": ["a"]}}, "header.features: expected"),
        ({"header": lambda record: {**record, "names": {"user": []}}}, "header.names: must hold"),
    ],
)
def test_contents_that_cannot_be_are_refused_even_with_the_right_checksum(path, changes, message):
    rewritten(path, **changes)
    refused(path, message)


def test_the_rewriting_itself_changes_nothing(path, trained):
    rewritten(path)
    assert load_predictor(path).label == trained.label


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        (container.Kind("gpusched-predictor", 7), "it has layout 7, this version .* reads 2"),
        (container.Kind("gpusched-result", 2), "a 'gpusched-result', not a 'gpusched-predictor'"),
    ],
)
def test_a_file_of_another_kind_is_refused_by_its_name(path, kind, message):
    header, arrays = container.read(path, KIND)
    container.write(path, kind, header, arrays)
    refused(path, message)
