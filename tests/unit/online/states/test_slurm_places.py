"""Lists of servers and GPUs as Slurm writes them."""

from __future__ import annotations

from typing import Any

import pytest

from gpusched.online.states.slurm_places import Place, mask_of, names_of, places_of
from tests.each import each


@each(
    ("text", "names"),
    [
        ("gpu14", ["gpu14"]),
        ("gpu[01-03,07],login", ["gpu01", "gpu02", "gpu03", "gpu07", "login"]),
        ("prod-[099-101]", ["prod-099", "prod-100", "prod-101"]),
        ("r[1-2]n[0-1]-ib", ["r1n0-ib", "r1n1-ib", "r2n0-ib", "r2n1-ib"]),
        ("a[5]", ["a5"]),
    ],
)
def test_a_list_of_servers_is_spelled_out(text, names):
    assert names_of(text) == names


@each("text", ["", "gpu[1-", "gpu[a-b]", "gpu]1[", "gpu[1-999999999]", "x[0-9999]y[0-9999]", "a[]"])
def test_what_is_no_list_or_too_long_is_refused(text):
    with pytest.raises(ValueError, match="is no list of servers"):
        names_of(text)


@each(
    ("text", "mask"),
    [
        ("gpu:a100:2(IDX:0-1)", 0b11),
        ("gpu:4(IDX:0-2,5)", 0b100111),
        ("gpu:a100:2(IDX:0,2),gpu:v100:1(IDX:4),mps:10", 0b10101),
        ("gpu:a100:0(IDX:N/A)", 0),
        ("gpu:2(IDX:N/A)", 0),
        ("gpu:2(IDX:0,70)", 0),
        ("gpu:2", 0),
        ("", 0),
    ],
)
def test_gpus_in_use_are_read_where_they_are_named(text, mask):
    assert mask_of(text) == mask


JOBS: list[tuple[dict[str, Any], int, list[Place]]] = [
    (
        {"nodes": "g[1-2]", "gres_detail": ["gpu:4(IDX:0-3)", "gpu:2(IDX:5,7)"]}, 6,
        [Place("g1", 4, 0b1111), Place("g2", 2, 0b10100000)],
    ),
    ({"nodes": "g[1-2]", "gres_detail": []}, 6, [Place("g1", 3, None), Place("g2", 3, None)]),
    ({"nodes": "g[1-2]", "gres_detail": ["gpu:4", ""]}, 4, [Place("g1", 4, None)]),
    # The order of the allocation is that of the details; that of the list may be another.
    (
        {
            "nodes": "g[1-2]", "gres_detail": ["gpu:1(IDX:3)", "gpu:2(IDX:0-1)"],
            "job_resources": {"nodes": {"list": "g[1-2]", "allocation": [
                {"index": 0, "name": "g2"}, {"index": 1, "name": "g1"}]}},
        }, 3, [Place("g2", 1, 0b1000), Place("g1", 2, 0b11)],
    ),
    ({"job_resources": {"nodes": "g7"}, "gres_detail": ["gpu:8(IDX:0-7)"]}, 8,
     [Place("g7", 8, 0xFF)]),
]  # fmt: skip


@each(("job", "gpus", "places"), JOBS)
def test_a_job_holds_gpus_on_servers(job, gpus, places):
    assert places_of(job, gpus) == places


def test_an_uneven_job_without_details_is_refused():
    with pytest.raises(ValueError, match="does not tell how 5 GPUs are spread over 2 servers"):
        places_of({"nodes": "g[1-2]"}, 5)
