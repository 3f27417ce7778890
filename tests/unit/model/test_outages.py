"""Outages: columns, files of our own, and draws against closed forms."""

from __future__ import annotations

import math
import pickle
from typing import Any

import numpy as np
import pytest

import gpusched as gs
from gpusched.model.outages import core_outages, outage_remarks
from gpusched.reference import rng
from tests.each import each

SURE = 3.290527  # 99.9 % of a normal distribution lie within so many deviations
MIXED = gs.Cluster(
    (gs.ServerGroup(1, 4), gs.ServerGroup(2, devices=(("A", 1), ("B", 2))), gs.ServerGroup(1, 8))  # type: ignore[arg-type]
)


def built(**changes: Any) -> gs.Outages:
    columns: dict[str, Any] = {
        "server": [3, 1, 0], "start_s": [60, 30, 1], "end_s": [90, None, 2],
        "kind": ["fail", "drain", None],
    }  # fmt: skip
    return gs.Outages.from_columns(**{**columns, **changes})


def test_columns_are_sorted_by_start_and_exact():
    outages = built(start_s=np.array([60, 0.5e-6, 1.5e-6]))
    assert outages.server.tolist() == [1, 0, 3]
    assert outages.start_us.tolist() == [0, 2, 60_000_000]
    assert outages.end_us.tolist() == [-1, 2_000_000, 90_000_000]
    assert outages.kind.tolist() == [1, 0, 0]
    assert outages.row.tolist() == [1, 2, 0]
    assert [column.dtype.str for column in outages._columns] == ["<i4", "<i8", "<i8", "|u1"]
    assert len(outages) == 3
    assert repr(outages) == "Outages(2 failures, 1 drain of 3 servers, from columns)"
    frame = outages.to_polars()
    assert frame.columns == ["server", "start_s", "end_s", "kind"]
    assert gs.Outages.from_columns(**frame.to_dict()).sha256 == outages.sha256
    assert len(gs.Outages.from_columns([], [])) == 0
    assert gs.Outages.from_columns([1, 2], [3, 4], kind="drain").kind.tolist() == [1, 1]


def test_maintenance_is_known_from_the_start_unless_said_otherwise(tmp_path):
    columns: dict[str, Any] = {"kind": ["maint", "drain", "maint"]}
    known = built(**columns, known_s=[60, None, None])
    assert known.known_us.tolist() == [0, 30_000_000, 60_000_000]  # by start
    assert known.is_known_ahead
    assert repr(known).startswith("Outages(0 failures, 1 drain, 2 maintenance windows of 3 ")
    assert known.to_polars()["known_s"].to_list() == [0, None, 60]
    unknown = built(**columns, known_s=[60, None, 1])
    assert not unknown.is_known_ahead
    assert built().known_us is None
    assert len({each.sha256 for each in (known, unknown, built(**columns), built())}) == 4
    unknown.to_csv(tmp_path / "ours.csv")
    assert gs.read_outages(tmp_path / "ours.csv").sha256 == unknown.sha256


def test_names_stand_for_servers():
    named = built(server=["d", "b", "0"], names=["a", "b", "c", "d"])
    assert named.sha256 == built().sha256


def test_what_was_built_stays():
    outages = pickle.loads(pickle.dumps(built()))
    with pytest.raises(ValueError, match="read-only"):
        outages.start_us[0] = 5
    with pytest.raises(AttributeError):
        outages.source = "here"


def test_each_value_decides_the_digest():
    others = [
        {"server": [3, 1, 2]}, {"start_s": [61, 30, 1]}, {"end_s": [90, None, 3]},
        {"end_s": [None, None, 2]}, {"kind": ["fail", "fail", "fail"]},
    ]  # fmt: skip
    assert len({built(**change).sha256 for change in [{}, *others]}) == 6
    assert built(kind=["", "drain", "fail"]).sha256 == built().sha256


@each(
    ("change", "message"),
    [
        ({"end_s": [60, None, 2]}, "row 0, column 'end_s': 60.0 must be after start_s"),
        ({"end_s": [90, 3, 2]}, "row 1, column 'end_s': 3 must be after start_s"),
        ({"end_s": [90, 30.0000001, 2]}, "row 1, column 'end_s'"),
        ({"start_s": [60, -1, 1]}, "row 1, column 'start_s': -1 must not be negative"),
        ({"start_s": [60, np.nan, 1]}, "row 1, column 'start_s': nan must be a finite number"),
        ({"start_s": [60, 30, 1e13]}, "row 2, column 'start_s': 1.*must be at most 2305843009214"),
        ({"end_s": [1e13, None, 2]}, "row 0, column 'end_s': 1.*must be at most 2305843009214 s"),
        ({"kind": ["fail", "down", ""]}, "row 1, column 'kind': 'down' must be fail, drain or ma"),
        ({"kind": "slow"}, "row 0, column 'kind': 'slow' must be fail, drain or maint"),
        ({"known_s": [5, None, None]}, "row 0, column 'known_s': 5.* must be blank unless kind is"),
        ({"kind": "maint", "known_s": [0, 31, 0]}, "row 1, column 'known_s': 31.* must not be aft"),
        ({"kind": "maint", "known_s": [0, 1, -1]}, "row 2, column 'known_s': -1.* must not be neg"),
        ({"server": [3, -1, 0]}, "row 1, column 'server': -1 must be the number of a server"),
        ({"server": [3, 1.5, 0]}, "row 1, column 'server': 1.5 must be the number of a server"),
        ({"server": [3, True, 0]}, "row 1, column 'server': True must be the number of a"),
        ({"server": [3, "all", 0]}, "row 1, column 'server': 'all' must be the number of a"),
        ({"server": [2**20, 1, 0]}, "row 0, column 'server': 1048576 must be the number of a"),
        (
            {"server": ["a", "b", "gpu-1"], "names": ["a", "b", "gpu1"]},
            r"row 2, column 'server': unknown server 'gpu-1'; did you mean 'gpu1'\?",
        ),
        ({"server": [3, 1]}, "column 'server' has length 2, not 3"),
        ({"end_s": [90, None]}, "column 'end_s' has length 2, not 3"),
        ({"kind": ["fail"]}, "column 'kind' has length 1, not 3"),
        ({"start_s": 5}, "column 'start_s' must be one-dimensional"),
    ],
)
def test_a_bad_value_is_named(change, message):
    with pytest.raises(ValueError, match=message) as caught:
        built(**change)
    assert "\n" not in str(caught.value)


@each(("column", "value"), [("start_s", ["a", "b", "c"]), ("end_s", "x"), ("kind", 3)])
def test_a_column_of_another_type_is_named(column, value):
    with pytest.raises(TypeError, match=f"column '{column}' must hold"):
        built(**{column: value})


def test_the_core_gets_a_row_for_each_part_of_a_server():
    outages = gs.Outages.from_columns([0, 3, 2, 5], [1, 2, 3, 4], [9, 9, None, 9])
    given = core_outages(outages, MIXED)  # servers 1 and 2 have a part of type B each: 3 and 4
    assert given["outage_server"] == [0, 1, 3, 2, 4, 5]
    assert [start // 10**6 for start in given["outage_start_us"]] == [1, 2, 2, 3, 3, 4]
    assert given["outage_end_us"][3:5] == [-1, -1]
    assert given["outage_kind"] == [0] * 6
    with pytest.raises(ValueError, match="columns, row 1, column 'server': unknown server 5; the "):
        core_outages(gs.Outages.from_columns([0, 5], [1, 2]), gs.Cluster.uniform(5))


def test_overlaps_and_outages_before_the_jobs_are_remarked():
    outages = gs.Outages.from_columns(
        [0, 0, 0, 1, 1, 2], [0, 5, 8, 3, 9, 0], [5, 9, 12, None, 10, 2]
    )
    assert outage_remarks(outages, 2_000_000) == [
        "outages: 2 rows with a start while another outage of the server lasts (first: row 2)",
        "outages: 1 row with an end before the first submission (first: row 5)",
    ]
    assert outage_remarks(built(), 0) == []


def uptimes(outages: gs.Outages, servers: int, most: int) -> tuple[np.ndarray, np.ndarray]:
    """The first times between repairs and failures of each server, and to repair, in seconds."""
    ups, downs = [], []
    for server in range(servers):
        own = outages.server == server
        begin, end = outages.start_us[own] / 1e6, outages.end_us[own] / 1e6
        assert len(begin) >= most
        ups.append((begin - np.concatenate([[0], end[:-1]]))[:most])
        downs.append((end - begin)[:most])
    return np.concatenate(ups), np.concatenate(downs)


@each(
    ("shape", "repair_shape"), [(None, None), (0.7, 1.5), (0.48, 0.58), (3.0, None)]
)  # the third are fits to failures of Los Alamos
def test_times_have_the_means_and_the_medians_of_their_distributions(shape, repair_shape):
    servers, each_server = 400, 25
    options = {
        name: value
        for name, value in (
            ("shape", shape), ("repair_shape", repair_shape),
            ("distribution", "weibull" if shape else None),
            ("repair_distribution", "weibull" if repair_shape else None),
        )
        if value is not None
    }  # fmt: skip
    cluster = gs.Cluster.uniform(servers)
    outages = gs.generate_outages(cluster, until_s=2e7, mtbf_s=1e5, repair_s=2e4, seed=7, **options)
    found = uptimes(outages, servers, each_server)
    for times, mean, power in zip(found, (1e5, 2e4), (shape or 1, repair_shape or 1), strict=True):
        first, second = math.gamma(1 + 1 / power), math.gamma(1 + 2 / power)
        deviation = mean * math.sqrt(second / first**2 - 1)
        assert abs(times.mean() - mean) < SURE * deviation / math.sqrt(len(times))
        median = mean / first * math.log(2) ** (1 / power)
        share = (times < median).mean()
        assert abs(share - 0.5) < SURE * 0.5 / math.sqrt(len(times))


def test_availability_is_the_closed_form():
    servers, until, mtbf, repair = 300, 4e6, 1e5, 2e4
    cluster = gs.Cluster.uniform(servers)
    outages = gs.generate_outages(cluster, until_s=until, mtbf_s=mtbf, repair_s=repair, seed=3)
    down = (np.minimum(outages.end_us / 1e6, until) - outages.start_us / 1e6).sum()
    rate = 1 / mtbf + 1 / repair
    share = repair / (mtbf + repair)  # all servers are up at 0
    expected = servers * share * (until - (1 - math.exp(-rate * until)) / rate)
    variance = servers * until * 2 * mtbf**2 * repair**2 / (mtbf + repair) ** 3
    assert abs(down - expected) < SURE * math.sqrt(variance)
    assert abs(1 - down / (servers * until) - mtbf / (mtbf + repair)) < 0.01


def test_a_draw_depends_on_seed_server_and_number_alone():
    def drawn(seed: int, server: int, number: int) -> float:
        bits = rng.mix(seed + rng.GOLDEN)
        for part in (32, server, number):
            bits = rng.mix(bits + part * rng.GOLDEN + rng.GOLDEN)
        return -math.log1p(-rng.uniform(bits))

    outages = gs.generate_outages(
        gs.Cluster.uniform(3), until_s=1e6, mtbf_s=1e5, repair_s=1e4, seed=11
    )
    for server in range(3):
        own = outages.server == server
        clock = 0.0
        pairs = zip(outages.start_us[own] / 1e6, outages.end_us[own] / 1e6, strict=True)
        for number, (start, end) in enumerate(pairs):
            assert start == pytest.approx(clock + 1e5 * drawn(11, server, 2 * number), abs=1e-4)
            assert end == pytest.approx(start + 1e4 * drawn(11, server, 2 * number + 1), abs=1e-4)
            clock = end


def test_more_servers_and_a_longer_time_only_add_outages():
    def rows(servers: int, until_s: float) -> set[Any]:
        drawn = gs.generate_outages(
            gs.Cluster.uniform(servers), until_s=until_s, mtbf_s=1e5, repair_s=1e4, seed=5
        )
        assert (np.diff(drawn.start_us) >= 0).all()
        assert drawn.until_s == until_s
        return set(drawn.to_polars().rows())

    few, many = rows(3, 1e6), rows(8, 1e6)
    assert few == {row for row in many if row[0] < 3}
    assert many == {row for row in rows(8, 3e6) if row[1] < 1e6}
    parts = gs.generate_outages(MIXED, until_s=1e6, mtbf_s=1e5, repair_s=1e4)
    assert set(parts.server.tolist()) == {0, 1, 2, 5}


@each(
    ("change", "error", "message"),
    [
        ({"mtbf_s": 0}, ValueError, "mtbf_s: 0 must be finite and positive"),
        ({"mtbf_s": -1.0}, ValueError, "mtbf_s: -1.0 must be finite and positive"),
        ({"repair_s": float("inf")}, ValueError, "repair_s: inf must be finite and positive"),
        ({"until_s": "x"}, TypeError, "until_s: 'x' must be a number"),
        ({"until_s": 1e13}, ValueError, "until_s"),
        ({"distribution": "weibul"}, ValueError, r"distribution: unknown 'weibul'; did you mean"),
        ({"repair_distribution": "gamma"}, ValueError, "repair_distribution: unknown 'gamma'"),
        ({"distribution": "weibull"}, ValueError, "shape: must be given for weibull, and only for"),
        ({"shape": 2.0}, ValueError, "shape: must be given for weibull, and only for it"),
        ({"repair_shape": 2.0}, ValueError, "repair_shape: must be given for weibull"),
        ({"distribution": "weibull", "shape": 0.0}, ValueError, "shape: 0.0 must be finite and"),
        ({"seed": -1}, ValueError, "seed: -1 must lie between"),
        ({"mtbf_s": 1e-4, "repair_s": 1e-4}, ValueError, "mtbf_s: 0.0001 makes more than 16,777"),
    ],
)
def test_a_bad_argument_of_a_draw_is_named(change, error, message):
    asked = {"until_s": 1e6, "mtbf_s": 1e5, "repair_s": 1e4} | change
    with pytest.raises(error, match=message):
        gs.generate_outages(gs.Cluster.uniform(3), **asked)
