"""Measured throughputs: files, curves between the measured numbers of GPUs, jobs that have them."""

import json
import math
import os
import subprocess
from typing import Any

import msgspec
import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gpusched as gs
from gpusched.model.cluster import Cluster, ServerGroup
from gpusched.model.profiles import JobProfile, filled_curve, filled_table, lowered, rises
from gpusched.model.throughputs import Throughputs, _pollux_profile, read_throughputs
from gpusched.specs.case import job_columns
from gpusched.traces.workload import Trace
from tests.each import each
from tests.unit.real_data import DATA, counted

WIDE = JobProfile("wide", throughput={"V100": {1: 10.0, 2: 18.0, 4: 30.0}, "K80": {1: 2.0}})
BIG = JobProfile(
    "big",
    throughput={"V100": {2: 4.0, 4: 7.0}, "K80": {2: 0.0, 4: 0.0}},
    spread_throughput={"V100": {2: 3.0}},
)
BOTH = Throughputs([WIDE, BIG])
CLUSTER = Cluster((ServerGroup(1, 4, "K80"), ServerGroup(2, 4, "V100")))


def jobs(**changes: Any) -> Trace:
    columns: dict[str, Any] = {"submit_s": [0, 1, 2], "service_s": [9, 9, 9], "gpus": [1, 2, 4]}
    return Trace.from_columns(**{**columns, **changes})


@each(
    ("changes", "error", "message"),
    [
        ({}, ValueError, "profile 'm': batch: is missing; a profile has"),
        ({"batch": 1, "gradient_bytes": 1}, ValueError, "forward_s: is missing"),
        ({"throughput": {"T4": {}}}, ValueError, r"throughput\['T4'\]: must have at least one"),
        ({"throughput": {"T4": {1: 0}}}, ValueError,
         "throughput: is 0 everywhere, so the model fits no GPU type"),
        ({"throughput": {"T4": {1: -1}}}, ValueError, r"throughput\['T4'\]\[1\]: -1 must lie in"),
        ({"throughput": {"T4": {1: math.nan}}}, ValueError, "nan must lie in"),
        ({"throughput": {"T4": {1: 1e-290}}}, ValueError, "1e-290 must be 0 or lie in 1e-09"),
        ({"throughput": {"T4": {0: 1}}}, ValueError, r"0 GPUs must lie in 1\.\."),
        ({"throughput": {"T4": {"1": 1}}}, TypeError, "'1' GPUs must be an integer"),
        ({"throughput": {"T4": 1}}, TypeError, "must be a table by number of GPUs"),
        ({"samples_per_s": {"T4": 1}}, ValueError, "global_batch: is missing"),
        ({"samples_per_s": {"T4": 1e-10}}, ValueError, "1e-10 must be 0 or lie in 1e-09"),
        ({"samples_per_s": {"T4": 0}, "global_batch": 1}, ValueError, "it fits no GPU type"),
        ({"samples_per_s": {"T4": 1}, "global_batch": 1, "max_samples": {"T4": 0}}, ValueError,
         r"max_samples\['T4'\]: 0 must lie in 1\.\."),
        ({"throughput": {"T4": {1: 1}}, "spread_throughput": {"K80": {1: 1}}}, ValueError,
         "spread_throughput: GPU type 'K80' has no throughput"),
    ],
)  # fmt: skip
def test_a_wrong_table_is_an_error_that_names_the_field(changes, error, message):
    with pytest.raises(error, match=message):
        JobProfile("m", **changes)


def test_profiles_of_throughputs_survive_json_and_toml(tmp_path):
    assert msgspec.json.decode(msgspec.json.encode(BIG), type=JobProfile) == BIG
    path = tmp_path / "models.toml"
    path.write_text("[[profiles]]\nname = 'm'\nthroughput.T4 = { 1 = 2.5, 4 = 8 }\n")
    assert read_throughputs(path)["m"].throughput == {"T4": {1: 2.5, 4: 8.0}}
    (tmp_path / "models.json").write_bytes(msgspec.json.encode({"profiles": [WIDE]}))
    assert read_throughputs(tmp_path / "models.json")["wide"].throughput == WIDE.throughput
    with pytest.raises(ValueError, match=r"profile 'wide': has no .*, which speed 'ring' needs"):
        job_columns(jobs().with_profiles(WIDE), CLUSTER, uses_estimates=False, speed="ring")


def test_a_curve_is_straight_between_its_points_and_bends_down_beyond():
    table = {"a": {1: 10.0, 2: 18.0, 4: 30.0, 16: 50.0}, "b": {1: 4.0}, "c": {2: 6.0, 4: 9.0}}
    filled = filled_table(table, [1, 2, 3, 4, 8, 16, 32])
    assert filled["a"] == {1: 10, 2: 18, 3: 24, 4: 30, 8: 30 + 20 / 3, 16: 50, 32: 0}
    assert filled["b"][2] == pytest.approx(4 * 1.8)  # only a knows 1 and 2
    assert filled["b"][32] == 0
    assert filled["c"][1] == 0  # the memory may not suffice
    assert filled["c"][8] == pytest.approx(13.5)  # 1.5 times for twice the GPUs
    assert filled["c"][16] == pytest.approx(20.25)
    assert filled_curve({1: 5.0, 2: 0.0}, [1, 2, 4]) == {1: 5, 2: 0, 4: 0}
    assert filled_curve({2: 5.0, 4: 4.0}, [8]) == {8: 4}


points = st.dictionaries(st.sampled_from([1, 2, 3, 4, 6, 8]), st.integers(0, 30), min_size=1)


@given(points, st.lists(points, max_size=2))
def test_a_filled_curve_keeps_what_is_known_and_never_gains_faster(known, others):
    def curve(given: dict[int, int]) -> dict[int, float]:
        return {n: float(given[n]) for n in sorted(given)}

    counts = list(range(1, 33))
    filled = filled_curve(curve(known), counts, [curve(other) for other in others])
    assert {n: filled[n] for n in known} == curve(known)
    end = max(known)
    gains = np.diff([filled[n] for n in range(end, 33)])
    assert (gains >= -1e-9).all()
    assert (np.diff(gains) <= 1e-9).all()
    low = lowered(curve(known))
    assert not list(rises(low))
    assert all(low[n] <= known[n] + 1e-9 for n in known)


def test_the_core_gets_a_figure_for_each_profile_type_and_number():
    trace = jobs().with_profiles([WIDE, BIG], ["wide", "big", "wide"])
    columns = job_columns(trace, CLUSTER, uses_estimates=False, speed="table")
    assert columns["table_counts"].tolist() == [1, 2, 4]
    assert columns["throughput"].reshape(2, 2, 3).tolist() == [
        [[2, 3.6, 6], [10, 18, 30]],
        [[0, 0, 0], [0, 4, 7]],
    ]
    spread = columns["spread_throughput"].reshape(2, 2, 3)
    assert spread[0].tolist() == [[2, 3.6, 6], [10, 18, 30]]
    assert spread[1, 1].tolist() == [0, 3, 6]
    dtypes = {"table_counts": "i4", "throughput": "f8", "spread_throughput": "f8", "profile": "i4"}
    for name, dtype in dtypes.items():
        assert columns[name].dtype == np.dtype(dtype)
    # Job 1 has a model that no K80 runs.
    masks = [columns["type_masks"][index] for index in columns["type_set"].tolist()]
    assert [mask & 0b11 for mask in masks] == [0b11, 0b10, 0b11]


def test_a_job_that_no_type_runs_is_rejected_and_others_run():
    trace = jobs(gpus=[1, 2, 8]).with_profiles([WIDE, BIG], ["big", "big", "wide"])
    result = gs.simulate(trace, CLUSTER, speed="table")
    assert result.jobs.status.tolist() == ["rejected", "finished", "rejected"]
    assert "knows no configuration" in result.jobs.reason[0]


def test_a_cluster_of_other_types_is_an_error_that_names_those_known():
    trace = jobs().with_throughputs(BOTH)
    with pytest.raises(ValueError, match="no profile has a throughput for GPU type 'gpu'"):
        gs.simulate(trace, Cluster.uniform(2, 8), speed="table")
    with pytest.raises(ValueError, match=r"the jobs have no profiles, see .*with_throughputs"):
        gs.simulate(jobs(), CLUSTER, speed="table")


def test_a_job_has_the_model_of_its_group_or_a_drawn_one_that_can_run():
    trace = jobs(group=["big", "wide", "other"])
    named = trace.with_throughputs(BOTH, seed=1)
    assert named.profile.tolist()[:2] == [1, 0]
    assert named.source.endswith("profiles drawn from 2 models for 1 jobs of other groups (seed 1)")
    assert trace.head(2).with_throughputs(BOTH).source == "columns"
    many = Trace.from_columns(np.arange(400), np.ones(400), [1, 4] * 200)
    drawn = many.with_throughputs(BOTH, seed=2).profile
    assert (drawn[::2] == 0).all()  # only one model runs on one GPU
    assert 70 < drawn[1::2].sum() < 130
    late = many.filter(many.row >= 200).with_throughputs(BOTH, seed=2).profile
    assert late.tolist() == drawn[200:].tolist()
    with pytest.raises(ValueError, match="choose: 'any' must be"):
        many.with_throughputs(BOTH, choose="any")
    with pytest.raises(ValueError, match="profile 'resnet50' has no throughput"):
        many.with_throughputs({"resnet50": gs.model.zoo()["resnet50"]})


HEAD = "model,gpu_type,gpus,iterations_per_s\n"
CSV = "model,gpu_type,gpus,iterations_per_s,spread\nm,V100,1,10,\nm,V100,2,18,15\nm,T4,1,0,\n"


def test_csv_and_frames_are_read_alike(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text(CSV)
    read = read_throughputs(path)
    assert read["m"].throughput == {"V100": {1: 10, 2: 18}, "T4": {1: 0}}
    assert read["m"].spread_throughput == {"V100": {2: 15}}
    frame = pl.read_csv(path)
    for other in (frame, frame.to_pandas()):
        assert read_throughputs(other)["m"].throughput == read["m"].throughput
    read.to_csv(path)
    assert read_throughputs(path)["m"] == read["m"]


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.csv", HEAD, "the file has no row below its header"),
        ("a.csv", CSV.replace("10,", "-1,", 1), "line 2, column 'iterations_per_s': '-1' must be"),
        ("a.csv", CSV.replace("10,", "inf,", 1), "line 2, .*'inf' must be finite and at least 0"),
        ("a.csv", CSV.replace("10,", "x,", 1), "line 2, .*'x' must be finite"),
        ("a.csv", CSV.replace("V100,2,", "V100,1.5,"), "line 3, .*'1.5' must be an integer"),
        ("a.csv", CSV.replace("V100,2,", "V100,1,"), "line 3, .*'m' on 1 V100 occurs twice"),
        ("a.csv", CSV.replace("m,T4", ",T4"), "line 4, column 'model': '' must be a name"),
        ("a.csv", CSV.replace("gpus,", "count,"), "column 'gpus' is missing; there are model"),
        ("a.csv", CSV.replace("m,T4", "n,T4"), "model 'n' has no throughput above 0"),
        ("a.json", "{}", "has no isolated throughput"),
        ("a.json", '{"v100": {"(\'m\', 1)": {"null": 1e999}}}', "Number out of range"),
        (
            "a.json", json.dumps({"v100": {"('m', 1)": {"null": 10**400}}}),
            r"'v100', \"\('m', 1\)\": the throughput must be below 1.8e308",
        ),
    ],
)  # fmt: skip
def test_a_bad_row_is_an_error_that_names_it(tmp_path, name, text, message):
    (tmp_path / name).write_text(text)
    with pytest.raises(ValueError, match=f"{name}.*{message}"):
        read_throughputs(tmp_path / name)


def test_a_table_that_is_not_concave_is_noted_refused_or_lowered():
    rows = {"model": ["m"] * 3, "gpu_type": ["T4"] * 3, "gpus": [1, 2, 4]}
    frame = pl.DataFrame({**rows, "iterations_per_s": [1.0, 1.5, 9.0]})
    (note,) = read_throughputs(frame).notes
    assert "throughput['T4'] gains 3.75 iterations/s per GPU from 2 to 4 GPUs, but 0.5" in note
    with pytest.raises(ValueError, match="frame: not concave: profile 'm'"):
        read_throughputs(frame, on_rise="error")
    assert read_throughputs(frame, on_rise="lower")["m"].throughput == {
        "T4": {1: 1, 2: 1.5, 4: 2.5}
    }


def test_tables_go_on_to_wider_gangs_on_request():
    longer = BOTH.extended(16)
    assert longer["big"].throughput["V100"] == {2: 4, 4: 7, 8: 12.25, 16: pytest.approx(21.4375)}
    assert longer["big"].throughput["K80"][16] == 0
    alone = Throughputs(JobProfile("one", throughput={"T4": {1: 1.0}}))
    assert alone.extended(8)["one"] == alone["one"]


def test_gavel_keys_are_parsed_and_never_evaluated(tmp_path):
    path = tmp_path / "t.json"
    evil = "__import__('os').system('x')"
    table = {
        "v100": {
            "('LM (batch size 5)', 1)": {"null": 4.0, "('LM (batch size 5)', 1)": [1.0, 2.0]},
            "('LM (batch size 5)', 2)": {"null": 6.0},
            "('A3C', 1)": {"('LM (batch size 5)', 1)": [1.0, 2.0]},
            evil: {"null": 1.0},
        },
        "v100_unconsolidated": {"('LM (batch size 5)', 2)": {"null": 5.0}},
    }
    path.write_text(json.dumps(table))
    read = read_throughputs(path)
    assert list(read) == ["LM (batch size 5)", evil]
    model = read["LM (batch size 5)"]
    assert model.throughput == {"V100": {1: 4, 2: 6}}
    assert model.spread_throughput == {"V100": {2: 5}}
    assert (model.samples_per_s, model.global_batch) == ({"V100": 20}, 10)
    assert "1 entries left out: measured only with a partner" in read.notes
    path.write_text('{"v100": 1}')
    with pytest.raises(ValueError, match=r"t\.json: Expected `object`"):
        read_throughputs(path)


def test_the_published_tables_are_read():
    gavel = read_throughputs(DATA / "gavel" / "simulation_throughputs.json")
    assert (len(gavel), set(gavel.gpu_types)) == (
        counted(real=26, excerpt=3),
        {"K80", "P100", "V100"},
    )
    model = gavel["ResNet-50 (batch size 128)"]
    assert [model.throughput["K80"][n] > 0 for n in (1, 2, 4, 8)] == [True, False, False, False]
    assert sum(len(p.throughput[t]) for p in gavel.values() for t in p.throughput) == counted(
        real=3 * 83, excerpt=3 * 12
    )
    plain = read_throughputs(DATA / "gavel" / "oracle_throughputs.json")
    entries = counted(real=78, excerpt=9)
    assert plain.notes == (f"{entries} entries without a number of GPUs; assumed 1",)
    pollux = read_throughputs(DATA / "pollux")
    assert (len(pollux), pollux.gpu_types) == (counted(real=6, excerpt=2), ("T4",))
    assert pollux["imagenet"].global_batch == 200
    smaller = read_throughputs(DATA / "pollux", global_batch={"imagenet": 100})
    assert max(smaller["imagenet"].throughput["T4"]) == 5
    table = pl.read_csv(DATA / "pollux" / "imagenet" / "placements.csv", infer_schema=False)
    alone = table.filter((pl.col("placement") == "1") & (pl.col("local_bsz") == "200"))
    assert pollux["imagenet"].throughput["T4"][1] == 1 / float(alone["step_time"][0])


def test_a_gavel_trace_finds_its_own_models():
    trace = gs.read_trace(DATA / "gavel" / "traces" / "max_min_fairness.trace")
    gavel = read_throughputs(DATA / "gavel" / "simulation_throughputs.json")
    given = trace.with_throughputs(gavel)
    assert given.source == trace.source
    names = [given.profiles[index].name for index in given.profile.tolist()]
    assert names == given.group.values().tolist()


TOOL = os.environ.get("GPUSCHED_REPLAY", "")


@pytest.mark.skipif(not TOOL, reason="set GPUSCHED_REPLAY to the native tool gpusched-replay")
@pytest.mark.parametrize(
    ("speed", "asks"),
    [
        ("fixed", {"memory_gib": [1, 2, 4], "gpu_share": [0.5, 1, 1]}),
        ("table", {}),
        ("table", {"cpu": [2, 1, 1]}),
        ("proportional", {}),
    ],
)
def test_a_saved_case_replays_to_the_same_digest(tmp_path, speed, asks):
    widths = {"gpus": [1, 2, 2], "min_gpus": [1, 1, 1], "max_gpus": [4, 4, 4]}
    trace = jobs(submit_s=[0, 0, 0], **widths, **asks).with_deadlines(value=2)
    samples = {"samples_per_s": {"V100": 9.0}, "global_batch": 64, "max_samples": {"V100": 64}}
    trace = trace.with_throughputs(Throughputs(msgspec.structs.replace(WIDE, **samples)))
    servers = Cluster((ServerGroup(1, 4, "K80", 4, 8), ServerGroup(2, 2, "V100", 3, 8)))
    servers = servers.with_bandwidth(nic_gbps=10, intra_gbps=100)
    result = gs.simulate(trace, servers, placement="best-fit", speed=speed)
    result.save_case(tmp_path / "case.bin")
    command = [TOOL, str(tmp_path / "case.bin")]
    made = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    assert made.stdout.strip() == result.digest


FOUND = Throughputs(WIDE)


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (
            lambda path: read_throughputs(path, global_batch=8),
            r"a.csv: global_batch is for the .*ux",
        ),
        (lambda path: read_throughputs(path, on_rise="up"), "on_rise: 'up' must be one of"),
        (lambda path: read_throughputs(pl.read_csv(path).clear()), "frame: has no rows"),
        (lambda path: FOUND.extended(0), r"max_gpus: 0 must lie in 1\.\.1,000,000"),
        (lambda path: FOUND.extended(True), "max_gpus: True must be an integer"),
    ],
)
def test_what_cannot_be_asked_of_figures_is_refused(ask, message, tmp_path):
    (tmp_path / "a.csv").write_text(CSV)
    with pytest.raises((ValueError, TypeError), match=message):
        ask(tmp_path / "a.csv")


STEPS = pl.DataFrame({"gpus": [2, 2], "servers": [1, 2], "batch": [8, 8], "step_s": [1.0, 1.5]})


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        (None, ValueError, "profile 'm': global_batch is needed, as none ran on one GPU"),
        (2.5, TypeError, "profile 'm': global_batch: 2.5 must be an integer"),
        (0, ValueError, "profile 'm': global_batch: 0 must be at least 1"),
    ],
)
def test_a_batch_must_be_known(given, error, message):
    with pytest.raises(error, match=message):
        _pollux_profile("m", STEPS, given)
