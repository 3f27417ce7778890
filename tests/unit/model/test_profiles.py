"""Job profiles: gradients, compute times, and how a trace and the core get them."""

import copy
import csv
import json
import math
import pickle
import re
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gpusched as gs
from bench.ring_calibration import fit_line
from gpusched.model.cluster import Cluster, ServerGroup
from gpusched.model.model_zoo import MEASURED, zoo
from gpusched.model.profiles import JobProfile, read_profiles
from gpusched.specs.case import job_columns
from gpusched.traces.model_columns import model_columns
from gpusched.traces.workload import Trace
from tests.each import each
from tests.unit.real_data import DATA, needs_real_data

SMALL = JobProfile("small", 1e6, 32, 0.001, 0.01)
TYPED = JobProfile("typed", 2e8, 8, {"V100": 0.01, "T4": 0.03}, {"V100": 0.1, "T4": 0.2})


def built(**changes: Any) -> Trace:
    columns: dict[str, Any] = {"submit_s": [3, 1, 2.5], "service_s": [1, 2, 3], "gpus": [1, 8, 2]}
    return Trace.from_columns(**{**columns, **changes})


def test_an_iteration_computes_per_sample_and_once():
    assert SMALL.compute_s("any") == 0.001 * 32 + 0.01
    assert TYPED.compute_s("T4") == 0.03 * 8 + 0.2
    assert math.isnan(TYPED.compute_s("K80"))
    assert (SMALL.gpu_types, TYPED.gpu_types) == ((), ("V100", "T4"))
    assert JobProfile("half", 1, 1, 0, {"T4": 1}).compute_s("T4") == 1


@each(
    ("changes", "error", "message"),
    [
        ({"name": " "}, ValueError, "name: ' ' must not be empty"),
        ({"gradient_bytes": -1}, ValueError, "profile 'm': gradient_bytes: -1 must lie in 0..1e"),
        ({"gradient_bytes": math.nan}, ValueError, "gradient_bytes: nan must lie in"),
        ({"gradient_bytes": "1"}, TypeError, "gradient_bytes: '1' must be a number"),
        ({"batch": 0}, ValueError, "profile 'm': batch: 0 must be finite and positive"),
        ({"forward_s": -1}, ValueError, "profile 'm': forward_s: -1 must lie in"),
        ({"forward_s": math.inf}, ValueError, "forward_s: inf must lie in"),
        ({"forward_s": {"T4": -1}}, ValueError, r"forward_s\['T4'\]: -1 must lie in"),
        ({"forward_s": {}}, ValueError, "forward_s: must have a figure for at least one GPU type"),
        ({"forward_s": {"": 1}}, ValueError, "forward_s: GPU type: '' must not be empty"),
        ({"forward_s": 0, "backward_s": 0}, ValueError, r"\+ backward_s: 0.0 must be positive"),
        (
            {"forward_s": {"T4": 1, "K80": 1}, "backward_s": {"T4": 1}},
            ValueError,
            "profile 'm': backward_s: has no figure for GPU type 'K80'",
        ),
    ],
)
def test_a_wrong_profile_is_an_error_that_names_the_field(changes, error, message):
    right = {"name": "m", "gradient_bytes": 1, "batch": 1, "forward_s": 1, "backward_s": 1}
    JobProfile(**right)
    with pytest.raises(error, match=message):
        JobProfile(**{**right, **changes})


def test_a_profile_of_each_job_follows_it_through_sorting_and_selection():
    trace = built(profile=["typed", "small", "typed"], profiles=[SMALL, TYPED], id=["x", "y", "z"])
    assert trace.profile.dtype == np.int32
    assert trace.profile.tolist() == [0, 1, 1]  # in the order of submission: y, z, x
    assert trace.filter(trace.gpus < 8).profile.tolist() == [1, 1]
    assert trace.head(1).profile.tolist() == [0]
    assert trace.scale_load(2).profiles == (SMALL, TYPED)
    assert built(profile=[1, 0, 1], profiles=[SMALL, TYPED]).profile.tolist() == [0, 1, 1]


def test_rejected_rows_take_their_profiles_with_them():
    trace = built(
        gpus=[1, 0, 2], profile=["typed", "small", "small"], profiles=[SMALL, TYPED],
        on_bad="reject",
    )  # fmt: skip
    assert trace.profile.tolist() == [0, 1]


def test_a_single_profile_is_that_of_every_job():
    assert built(profiles=SMALL).profile.tolist() == [0, 0, 0]
    assert built().with_profiles(TYPED).profile.tolist() == [0, 0, 0]
    assert built().profile is None


@each(
    ("arguments", "error", "message"),
    [
        ({"profiles": [SMALL, TYPED]}, ValueError, "profile: missing; name one of the 2 profiles"),
        ({"profile": ["small"] * 3}, ValueError, "profiles: at least one is needed"),
        ({"profile": ["smal"] * 3, "profiles": SMALL}, ValueError,
         r"row 0, column 'profile': unknown 'smal'; did you mean 'small'\?"),
        ({"profile": [0, 0, 1], "profiles": SMALL}, ValueError,
         r"row 2, column 'profile': 1 must lie in 0\.\.0"),
        ({"profile": [0, -1, 0], "profiles": SMALL}, ValueError, "row 1, .*: -1 must lie in"),
        ({"profile": [0.0, 0, 0], "profiles": SMALL}, TypeError, "row 0, .*: 0.0 must be text"),
        ({"profile": ["small"], "profiles": SMALL}, ValueError, r"has shape \(1,\), not \(3,\)"),
        ({"profiles": [SMALL, SMALL]}, ValueError, r"profiles\[1\].name: 'small' is the name of"),
        ({"profiles": ["small"]}, TypeError, "profiles: expected a JobProfile, not 'small'"),
    ],
)  # fmt: skip
def test_a_wrong_column_of_profiles_is_an_error_that_names_the_row(arguments, error, message):
    with pytest.raises(error, match=message):
        built(**arguments)


def test_a_draw_depends_on_the_seed_alone_and_is_told():
    trace = built(submit_s=range(400), service_s=[1] * 400, gpus=[1] * 400)
    drawn = trace.with_profiles({"a": SMALL, "b": TYPED}, seed=7, weights=[1, 3])

    assert drawn.source == (
        "columns; profiles drawn from small, typed (PCG64, seed 7, weights 1/3)"
    )
    again = drawn.with_profiles([SMALL, TYPED], seed=7, weights=[1, 3])
    assert again.profile.tolist() == drawn.profile.tolist()
    assert again.source == drawn.source
    assert 240 < drawn.profile.sum() < 360  # 300 expected, of deviation 9
    other = trace.with_profiles([SMALL, TYPED], seed=8, weights=[1, 3])
    assert other.profile.tolist() != drawn.profile.tolist()
    told = drawn.with_profiles([SMALL, TYPED], ["typed"] * 400)
    assert (told.source, set(told.profile.tolist())) == ("columns", {1})


@given(st.lists(st.sampled_from([0.0, 0.3, 1.0]), min_size=1, max_size=5), st.integers(0, 99))
def test_a_profile_of_weight_zero_is_never_drawn(weights, seed):
    profiles = [JobProfile(str(number), 1, 1, 1, 1) for number in range(len(weights))]
    trace = built(submit_s=range(50), service_s=[1] * 50, gpus=[1] * 50)
    if not any(weights):
        with pytest.raises(ValueError, match="weights: at least one must be positive"):
            trace.with_profiles(profiles, seed=seed, weights=weights)
        return
    drawn = trace.with_profiles(profiles, seed=seed, weights=weights)
    assert all(weights[index] for index in drawn.profile.tolist())


@each(
    ("arguments", "error", "message"),
    [
        ({"weights": [1]}, ValueError, "weights: 1 given for 2 profiles"),
        ({"weights": [1, -1]}, ValueError, r"weights\[1\]: -1 must lie in"),
        ({"weights": [1, math.nan]}, ValueError, r"weights\[1\]: nan must lie in"),
        ({"seed": -1}, ValueError, "seed: -1 must not be negative"),
        ({"seed": 1.5}, TypeError, "seed: expected an integer, not 1.5"),
    ],
)
def test_a_wrong_draw_is_an_error_that_names_the_argument(arguments, error, message):
    with pytest.raises(error, match=message):
        built().with_profiles([SMALL, TYPED], **arguments)


def test_profiles_survive_copies_pickles_frames_and_json():
    trace = built(profile=["typed", "small", "typed"], profiles=[SMALL, TYPED])

    for other in (copy.deepcopy(trace), pickle.loads(pickle.dumps(trace))):
        assert other.profiles == trace.profiles
        assert other.profile.tolist() == [0, 1, 1]
        assert not other.profile.flags.writeable
    frame = trace.to_polars()
    assert frame["profile"].to_list() == ["small", "typed", "typed"]
    for back in (
        Trace.from_polars(frame, profiles=[SMALL, TYPED]),
        Trace.from_pandas(frame.to_pandas(), profiles=[SMALL, TYPED]),
    ):
        assert back.profile.tolist() == [0, 1, 1]
    assert Trace.from_polars(frame).profile is None
    assert "profile" not in built().to_polars().columns
    named = frame.rename({"profile": "model"})
    mapped = Trace.from_polars(named, {"profile": "model"}, profiles=[SMALL, TYPED])
    assert mapped.profile.tolist() == [0, 1, 1]
    encoded = msgspec.json.encode(trace.profiles)
    assert msgspec.json.decode(encoded, type=tuple[JobProfile, ...]) == trace.profiles


def profile_columns(trace: Any, cluster: Cluster) -> dict[str, Any]:
    return model_columns(trace, cluster, gs.speeds()["ring"].columns, speed="ring")


def test_the_core_gets_one_figure_per_profile_and_type_of_the_cluster():
    trace = built(profile=["small", "typed", "small"], profiles=[SMALL, TYPED])
    cluster = Cluster((ServerGroup(1, 8, "T4"), ServerGroup(1, 8, "V100")))
    columns = job_columns(trace, cluster, uses_estimates=False, speed="ring")

    assert columns["profile"].tolist() == [1, 0, 0]
    assert columns["gradient_bytes"].tolist() == [1e6, 2e8]
    assert columns["compute_s"].tolist() == [
        SMALL.compute_s("T4"), SMALL.compute_s("V100"), TYPED.compute_s("T4"),
        TYPED.compute_s("V100"),
    ]  # fmt: skip
    for name, dtype in (("profile", "i4"), ("gradient_bytes", "f8"), ("compute_s", "f8")):
        assert columns[name].dtype == np.dtype(dtype)
        assert columns[name].flags.c_contiguous
    unused = job_columns(trace, cluster, uses_estimates=False)
    assert not {"profile", "gradient_bytes", "compute_s"} & unused.keys()


def test_a_missing_figure_matters_only_where_a_job_may_run():
    cluster = Cluster((ServerGroup(1, 8, "V100"), ServerGroup(1, 8, "K80")))
    arguments = {"profile": ["typed"] * 3, "profiles": [SMALL, TYPED]}

    limited = built(gpu_types=["V100", "V100|T4", "V100"], **arguments)
    compute = profile_columns(limited, cluster)["compute_s"]
    assert np.isnan(compute).tolist() == [False, False, False, True]
    limited = built(gpu_types=["V100", "V100|K80", "V100"], **arguments)
    message = (
        r"profile 'typed': forward_s has no figure for GPU type 'K80', on which job 0 \(row 1\) "
        r"may run; there are V100, T4"
    )
    with pytest.raises(ValueError, match=message):
        profile_columns(limited, cluster)
    with pytest.raises(ValueError, match=r"job 0 \(row 1\) may run, nor for 2 other jobs"):
        profile_columns(built(**arguments), cluster)
    with pytest.raises(ValueError, match="trace: the jobs have no profiles"):
        profile_columns(built(), cluster)


def test_a_file_of_profiles_is_toml_or_json(tmp_path):
    toml, other = tmp_path / "models.toml", tmp_path / "models.json"
    toml.write_text(
        "[[profiles]]\nname = 'typed'\ngradient_bytes = 2e8\nbatch = 8\n"
        "forward_s = { V100 = 0.01, T4 = 0.03 }\nbackward_s = { V100 = 0.1, T4 = 0.2 }\n"
    )
    other.write_text(msgspec.json.encode({"profiles": [TYPED]}).decode())
    assert read_profiles(toml) == read_profiles(other) == (TYPED,)

    toml.write_text(toml.read_text().replace("batch = 8", "batch = 0"))
    with pytest.raises(ValueError, match=r"models.toml: profile 'typed': batch: 0.* `\$.*\[0\]`"):
        read_profiles(toml)
    toml.write_text("profiles = []")
    with pytest.raises(ValueError, match=r"models.toml: profiles: at least one is needed"):
        read_profiles(toml)
    toml.write_text("[[profile]]")
    with pytest.raises(ValueError, match=r"models.toml: Object contains unknown field `profile`"):
        read_profiles(toml)


def test_the_zoo_has_sizes_of_four_bytes_per_parameter_and_figures_for_each_type():
    profiles = zoo()
    assert len(profiles) == 14
    everywhere = ("V100", "P100", "K80", "T4", "gpu")
    for name, profile in profiles.items():
        assert profile.name == name
        assert profile.gpu_types == everywhere
        assert profile.compute_s("gpu") == profile.compute_s("V100") < profile.compute_s("K80")
        millions = re.search(r"([\d.]+) (M|G) parameters", profile.source)
        parameters = float(millions[1]) * {"M": 1e6, "G": 1e9}[millions[2]]
        assert profile.gradient_bytes == pytest.approx(4 * parameters, rel=0.011)
    fixed = {p.name: p.gradient_bytes for p in profiles.values()}
    assert (fixed["vgg19"], fixed["bert-large"], fixed["gpt2-xl"]) == (575e6, 1.36e9, 6.2e9)
    profiles.clear()
    assert zoo()  # nobody can change it for the others


POLLUX = {
    "resnet50": "imagenet", "resnet18-cifar10": "cifar10", "bert-base": "bert",
    "deepspeech2": "deepspeech2", "yolov3": "yolov3", "ncf": "ncf",
}  # fmt: skip


@needs_real_data
@pytest.mark.parametrize("name", sorted(POLLUX))
def test_the_zoo_on_a_t4_is_the_line_through_the_measured_steps(name):
    with open(DATA / "pollux" / POLLUX[name] / "placements.csv") as file:
        rows = [row for row in csv.DictReader(file) if row["placement"] == "1"]
    seconds = [float(row["step_time"]) - float(row["sync_time"]) for row in rows]
    line = fit_line([float(row["local_bsz"]) for row in rows], seconds)
    assert MEASURED[name]["T4"] == pytest.approx(line, rel=1e-3)


@needs_real_data
@pytest.mark.parametrize("name", ["resnet50", "resnet18-cifar10"])
@pytest.mark.parametrize("gpu_type", ["V100", "P100", "K80"])
def test_the_zoo_on_other_types_is_the_line_through_the_measured_rates(name, gpu_type):
    table = json.loads((DATA / "gavel" / "oracle_throughputs.json").read_text())
    model = {"resnet50": "ResNet-50", "resnet18-cifar10": "ResNet-18"}[name]
    rates = {
        int(key.split()[-1].strip(")")): entry["null"]
        for key, entry in table[gpu_type.lower()].items()
        if key.startswith(f"{model} (batch size ")
    }
    assert len(rates) >= 4
    line = fit_line(list(rates), [1 / rate for rate in rates.values()])
    assert MEASURED[name][gpu_type] == pytest.approx(line, rel=1e-3)
