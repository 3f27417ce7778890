"""Files of throughputs that say nothing, or something else, are refused by model, row and rule."""

from __future__ import annotations

import json

import msgspec
import polars
import pytest

import gpusched as gs
from gpusched.model.model_zoo import zoo
from gpusched.model.throughputs import _pollux_profile

HEAD = "model,gpu_type,gpus,iterations_per_s\n"


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("speeds.csv", HEAD, "the file has no row below its header"),
        ("speeds.csv", HEAD + "m,V100,1,-2\n", "line 2"),
        ("speeds.csv", "model,gpus\nm,1\n", "column 'gpu_type' is missing; there are model, gpus"),
        ("speeds.json", "{}", "has no isolated throughput"),
        ("speeds.json", '{"v100": {"(\'m\', 1)": {"null": 1e999}}}', "speeds.json: "),
        (
            "speeds.json",
            json.dumps({"v100": {"('m', 1)": {"null": 10**400}}}),
            r"'v100', \"\('m', 1\)\": the throughput must be below 1.8e308",
        ),
    ],
)
def test_a_file_without_figures_is_refused(name, text, message, tmp_path):
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(ValueError, match=message):
        gs.model.read_throughputs(path)


def test_a_frame_without_rows_is_refused():
    with pytest.raises(ValueError, match="frame: has no rows"):
        gs.model.read_throughputs(polars.DataFrame({name: [] for name in HEAD.strip().split(",")}))


def test_a_batch_is_for_the_tables_of_pollux(tmp_path):
    path = tmp_path / "speeds.csv"
    path.write_text(HEAD + "m,V100,1,2\n")
    with pytest.raises(ValueError, match=r"speeds.csv: global_batch is for the tables of Pollux"):
        gs.model.read_throughputs(path, global_batch=8)


def test_a_file_of_profiles_is_one_of_throughputs(tmp_path):
    measured = gs.model.JobProfile("m", throughput={"V100": {1: 10.0, 2: 18.0}})
    path = tmp_path / "profiles.json"
    path.write_bytes(msgspec.json.encode({"profiles": [measured]}))
    assert gs.model.read_throughputs(path)["m"].throughput == measured.throughput


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda found: found.extended(0), ValueError, r"max_gpus: 0 must lie in 1\.\.1,000,000"),
        (lambda found: found.extended(True), TypeError, "max_gpus: True must be an integer"),
    ],
)
def test_a_table_is_extended_to_a_number_of_gpus(call, error, message):
    measured = gs.model.JobProfile("m", throughput={"V100": {1: 10, 2: 18}})
    with pytest.raises(error, match=message):
        call(gs.model.Throughputs(measured))


def test_what_to_do_with_a_rise_is_one_of_three(tmp_path):
    path = tmp_path / "speeds.csv"
    path.write_text(HEAD + "m,V100,1,2\n")
    with pytest.raises(ValueError, match="on_rise: 'up' must be one of"):
        gs.model.read_throughputs(path, on_rise="up")


STEPS = polars.DataFrame({"gpus": [2, 2], "servers": [1, 2], "batch": [8, 8], "step_s": [1.0, 1.5]})


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        (None, ValueError, "profile 'm': global_batch: is missing, none ran on one GPU"),
        (2.5, TypeError, "profile 'm': global_batch: 2.5 must be an integer"),
        (0, ValueError, "profile 'm': global_batch: 0 must be at least 1"),
    ],
)
def test_a_batch_must_be_known(given, error, message):
    with pytest.raises(error, match=message):
        _pollux_profile("m", STEPS, given)


def test_nobody_changes_the_zoo_for_others():
    zoo().clear()
    assert zoo()
