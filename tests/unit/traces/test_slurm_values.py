"""Durations, trackable resources and memory as Slurm writes them."""

from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

from gpusched.traces import slurm_json
from gpusched.traces.slurm_values import Resources, duration_s, memory_mib, of_gres, of_tres
from tests.each import each


@given(st.integers(0, 999), st.integers(0, 23), st.integers(0, 59), st.integers(0, 59))
def test_every_way_of_writing_a_duration_tells_the_same_seconds(days, hours, minutes, seconds):
    expected = ((days * 24 + hours) * 60 + minutes) * 60 + seconds
    assert duration_s(f"{days}-{hours:02}:{minutes:02}:{seconds:02}") == expected
    assert duration_s(f"{days * 24 + hours:02}:{minutes:02}:{seconds:02}") == expected
    assert duration_s(f"{(days * 24 + hours) * 60 + minutes:02}:{seconds:02}") == expected
    assert duration_s(f"{days}-{hours:02}:{minutes:02}") == expected - seconds
    assert duration_s(f"{days}-{hours:02}") == expected - minutes * 60 - seconds
    assert duration_s(f"{minutes:02}:{seconds:02}.250") == minutes * 60 + seconds + 0.25


@each("text", ["1:2:3:4", "-5", "1-", "x", "1.5h", "00:00:00:00", "1-2-3"])
def test_what_is_no_duration_is_nan(text):
    assert math.isnan(duration_s(text))


@each(
    ("text", "mib"),
    [
        ("64G", 65_536), ("500000M", 500_000), ("62.50G", 64_000), ("1024K", 1), ("2T", 2 << 20),
        ("300", 300), ("4Gc", 32_768), ("4Gn", 8192),
    ],
)  # fmt: skip
def test_memory_is_counted_in_mib(text, mib):
    assert memory_mib(text, cpus=8, nodes=2) == mib


@each("text", ["", "G", "4X", "-4G", "4GG", "?"])
def test_memory_that_cannot_be_read_is_nan(text):
    assert math.isnan(memory_mib(text))
    assert math.isnan(memory_mib("4Gc"))


@each(
    ("text", "gpus", "types"),
    [
        ("gpu:2", 2, ()),
        ("gpu", 1, ()),
        ("gpu:tesla", 1, ("tesla",)),
        ("gpu:tesla:2,gpu:k80:1", 3, ("k80", "tesla")),
        ("gres:gpu:a100:4(S:0-1),mps:400", 4, ("a100",)),
        ("gpu:1080ti:1(IDX:0),gpu:980:1(IDX:1)", 2, ("1080ti", "980")),
        ("gpu:tesla:no_consume:2", 2, ("tesla",)),
        ("gres/gpu:a100=4", 4, ("a100",)),
        ("gpu:0", 0, ()),
        ("(null)", 0, ()),
        ("gpumem:3,mic:2", 0, ()),
        ("", 0, ()),
    ],
)
def test_gpus_are_found_among_generic_resources(text, gpus, types):
    assert of_gres(text).gpus == gpus
    assert of_gres(text).types == types


def test_trackable_resources_are_those_of_the_job():
    read = of_tres("billing=8,cpu=64,gres/gpu:h100=8,gres/gpu=8,gres/gpumem=1G,mem=512G,node=2")
    assert read == Resources(8, ("h100",), 64, 524_288, 2)
    assert of_tres("").gpus == 0
    assert math.isnan(of_tres("gres/gpu=x").gpus)
    assert of_tres("gres/gpu:a100=0,gres/gpu=0").types == ()


def test_numbers_may_be_wrapped():
    assert slurm_json.number({"set": True, "infinite": False, "number": 60}) == 60
    assert slurm_json.number({"set": True, "infinite": True, "number": 0}) == math.inf
    assert slurm_json.number({"set": False, "infinite": False, "number": 0}) is None
    assert slurm_json.number(60) == 60
    assert math.isnan(slurm_json.count("60"))
    assert slurm_json.tasks("0-6:3,9%4") == [0, 3, 6, 9]
    assert slurm_json.tasks("0-999999") is not None
    assert slurm_json.tasks("0-999999,5") is None
