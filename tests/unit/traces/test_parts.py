"""Parts of traces, and several files as one: cuts, weeks drawn again, jobs that fit, one clock."""

from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest

import gpusched as gs
from gpusched.model.cluster import Cluster, ServerGroup
from gpusched.traces.cluster_sizing import fitting_jobs, fitting_load
from gpusched.traces.dependencies import holds_of
from gpusched.traces.resampling import num_blocks, resampled
from tests.each import each

DATES = ["2024-05-01T09:00", "2024-05-01T10:00", "2024-05-02T09:00"]


def dated(zone: str = "") -> gs.Trace:
    return gs.Trace.from_columns([date + zone for date in DATES], [60] * 3, [1, 8, 4])


@each(
    ("start", "end", "gpus"),
    [
        ("2024-05-01T10:00", None, [8, 4]),
        (None, "2024-05-01T10:00", [1]),
        (datetime(2024, 5, 1, 9, 30), datetime(2024, 5, 2), [8]),
        ("2024-05-02", None, [4]),
        ("3600", 3601.0, [8]),
        (None, None, [1, 8, 4]),
    ],
)
def test_jobs_between_moments(start, end, gpus):
    assert dated().between(start, end).gpus.tolist() == gpus
    if isinstance(start, str) and "T" in start:
        zoned = dated("Z")
        assert zoned.between(start, end).gpus.tolist() == gpus
        assert zoned.between(f"{start}Z", end).gpus.tolist() == gpus
    moment = datetime(2024, 5, 1, 10, tzinfo=UTC)
    assert dated("+00:00").between(moment).gpus.tolist() == [8, 4]


@each(
    ("trace", "limits", "message"),
    [
        (dated(), ("soon",), "from: 'soon' must be seconds, or a time like"),
        (dated(), ("2024-05-99",), "from: '2024-05-99' must be seconds, or a time like"),
        (dated(), ("2024-05-01T09:00Z",), "has dates without a zone"),
        (dated(), (5, 4), "to: 4 must not lie before 5"),
        (dated(), (float("nan"),), "from: nan must be a number of seconds"),
        (dated(), ("2025-01-01",), "no jobs are left"),
        (gs.Trace.from_columns([0], [1], [1]), ("2024-05-01",), "has seconds without a date"),
    ],
)
def test_limits_that_cannot_be_meant_are_refused(trace, limits, message):
    with pytest.raises(ValueError, match=message):
        trace.between(*limits)
    with pytest.raises(TypeError, match="from: True must be seconds"):
        trace.between(True)


def trace() -> gs.Trace:
    return gs.Trace.from_columns(
        [0, 1, 2, 3], [10, 20, 30, 40], [1, 8, 8, 16], user=["x", "x", "y", "z"],
        estimate_s=[1, float("nan"), 5, 9],
    )  # fmt: skip


@each(
    ("condition", "rows"),
    [
        ("gpus >= 8 and user != 'x'", [2, 3]),
        ("user = 'x'", [0, 1]),
        ("user in ('user', 'y')", [2]),
        ("\"user\" like 'x%' or gpus = 16", [0, 1, 3]),
        ("estimate_s > 1", [2, 3]),
        ("estimate_s is null", [1]),
        ("service_s * gpus between 100 and 250", [1, 2]),
        ("abs(gpus) = 1", [0]),
        ("1 = 1", [0, 1, 2, 3]),
    ],
)
def test_a_condition_in_sql_chooses_jobs(condition, rows):
    taken = trace().filter(condition)
    assert taken.row.tolist() == rows
    assert taken.source == f"columns; filtered by {condition}"


@each("column", ["user", "queue", "group", "status"])
def test_a_column_that_this_trace_does_not_have_is_named(column):
    bare = gs.Trace.from_columns([0, 1], [10, 20], [1, 8])
    with pytest.raises(ValueError, match=f"filter: unknown column '{column}'"):
        bare.filter(f"gpus >= 8 and {column} != 'x'")


@each(
    ("condition", "message"),
    [
        ("gpu > 1", r"filter: unknown column 'gpu'; did you mean 'gpus'\?"),
        ('user = "bob"', "filter: unknown column 'bob'; put a text in single quotes: 'bob'"),
        ("gpus > > 1", "filter: 'gpus > > 1' cannot be read"),
        ("gpus", "filter: 'gpus' must be a condition"),
        ("", "cannot be read"),
        ("gpus > 99", "no jobs are left"),
        ("user > 3", "cannot be read"),
        ("gpus > 1; drop table jobs", "must be one condition"),
    ],
)
def test_what_is_no_condition_is_refused(condition, message):
    with pytest.raises(ValueError, match=message):
        trace().filter(condition)


def test_a_sample_is_about_that_part_and_the_same_again():
    whole = gs.generate("philly", 5_000, seed=1)
    tenth = whole.sample(0.1, seed=3)
    assert 400 < len(tenth) < 600
    assert tenth.row.tolist() == whole.sample(0.1, seed=3).row.tolist()
    assert tenth.row.tolist() != whole.sample(0.1, seed=4).row.tolist()
    assert set(tenth.row.tolist()) <= set(whole.sample(0.3, seed=3).row.tolist())
    # What is drawn for a job does not depend on the others.
    half = whole.head(2_500)
    kept = set(half.sample(0.1, seed=3).row.tolist())
    assert kept == set(tenth.row.tolist()) & set(half.row.tolist())
    assert tenth.source.endswith("; 0.1 of the jobs drawn (seed 3)")
    assert len(whole.sample(1.0)) == len(whole)


@each("fraction", [0, -1, 1.5, float("nan")])
def test_a_sample_is_a_part(fraction):
    with pytest.raises(ValueError, match="must be above 0 and at most 1"):
        trace().sample(fraction)
    with pytest.raises(TypeError, match="sample: '1' must be a number"):
        trace().sample("1")


def test_a_part_can_begin_at_0_again():
    late = dated().between("2024-05-01T10:00").rebased()
    assert late.submit_s.tolist() == [0, 23 * 3600]
    assert late.epoch == datetime(2024, 5, 1, 10)
    assert late.origin_s == dated().origin_s + 3600
    due = gs.Trace.from_columns([5, 9], [1, 1], [1, 1], deadline_s=[8, np.nan]).rebased()
    assert due.deadline_us.tolist() == [3_000_000, -1]
    assert due.rebased() is due


HEADER = "submit_s,service_s,gpus"


def written(tmp_path: Path, name: str, text: str) -> Path:
    path = tmp_path / name
    path.write_text(text)
    return path


def test_jobs_of_several_files_stand_in_the_order_of_their_submission(tmp_path):
    a = written(tmp_path, "a.csv", f"{HEADER},user\n10,1,1,ann\n30,2,2,bob\n20,0,1,bob\n")
    b = written(tmp_path, "b.csv", f"{HEADER},estimate_s,gpu_types\n20,3,3,9,T4\n5,4,4,,\n")
    trace = gs.read_trace([a, b])
    assert trace.submit_s.tolist() == [0, 5, 15, 25]
    assert trace.origin_s == 5
    assert trace.gpus.tolist() == [4, 1, 3, 2]
    assert len(set(trace.id.tolist())) == len(set(trace.row.tolist())) == 4
    assert trace.user.values().tolist() == ["", "ann", "", "bob"]
    assert trace.estimate_us.tolist() == [-1, -1, 9_000_000, -1]
    assert trace.allowed_types == [(), (), ("T4",), ()]
    assert trace.rejects.counts == {f"{a}: service_s must be positive": 1}
    assert trace.name == "a + b"


def test_one_file_cut_in_two_is_the_trace_of_the_whole(tmp_path):
    jobs = gs.generate("philly", 200, seed=3).with_deadlines(share=0.5, value=2.0)
    frame = jobs.to_polars()
    whole = tmp_path / "whole.csv"
    frame.write_csv(whole)
    frame[:80].write_csv(tmp_path / "a.csv")
    frame[80:].write_csv(tmp_path / "b.csv")
    expected = gs.read_trace(whole)
    for names in (("a", "b"), ("b", "a")):
        made = gs.read_trace([tmp_path / f"{name}.csv" for name in names])
        assert made.to_polars().drop("row").equals(expected.to_polars().drop("row"))


@each(
    ("other", "kind"),
    [("7", "seconds without a date"), ("2024-05-01T09:59:00", "dates without a zone")],
)
def test_dates_are_one_clock_and_files_without_a_common_one_are_both_named(tmp_path, other, kind):
    a = written(tmp_path, "a.csv", f"{HEADER}\n2024-05-01T12:00:00+02:00,1,1\n")
    b = written(tmp_path, "b.csv", f"{HEADER}\n2024-05-01T09:59:00Z,1,2\n")
    trace = gs.read_trace([a, b])
    assert trace.epoch == datetime(2024, 5, 1, 9, 59, tzinfo=UTC)
    assert trace.submit_s.tolist() == [0, 60]
    assert trace.gpus.tolist() == [2, 1]
    b = written(tmp_path, "b.csv", f"{HEADER}\n{other},1,2\n")
    with pytest.raises(ValueError, match=rf"a.csv has .* with a zone and .*b.csv in {kind}"):
        gs.read_trace([a, b])


def test_an_id_in_two_files_is_an_error_that_names_both(tmp_path):
    a = written(tmp_path, "a.csv", f"{HEADER},id\n10,1,1,x\n")
    b = written(tmp_path, "b.csv", f"{HEADER},id\n20,3,3,y\n30,3,3,x\n")
    with pytest.raises(ValueError, match=r"a.csv and .*b.csv: both have a job 'x'"):
        gs.read_trace([a, b])
    c = written(tmp_path, "c.csv", f"{HEADER},id\n20,3,3,7001\n30,3,3,7002\n")
    d = written(tmp_path, "d.csv", f"{HEADER},id\n40,3,3,7002\n50,3,3,7003\n")
    with pytest.raises(ValueError, match=r"c.csv and .*d.csv: both have a job 7002"):
        gs.read_trace([c, d])
    assert gs.read_trace([a, c]).id.tolist() == ["x", "7001", "7002"]


def test_a_file_counts_once(tmp_path):
    a = written(tmp_path, "a.csv", f"{HEADER}\n10,1,1\n")
    with pytest.raises(ValueError, match=r"a.csv: the file is given twice"):
        gs.read_trace([a, f"{tmp_path}/./a.csv"])
    with pytest.raises(ValueError, match="at least one file is needed"):
        gs.read_trace([])


def test_notes_say_which_file_they_are_about(tmp_path):
    a = written(tmp_path, "a.csv", f"{HEADER},x\n10,1,1,1\n")
    b = written(tmp_path, "b.csv", f"{HEADER},y\n10,1,1,1\n")
    assert gs.read_trace([a, b]).notes == (
        "a: columns not used: x", "b: columns not used: y",
    )  # fmt: skip
    c = written(tmp_path, "c.csv", f"{HEADER},x\n10,1,1,1\n")
    assert gs.read_trace([a, c]).notes == ("columns not used: x",)


DAY = 86_400_000_000
WEEK = 7 * DAY


@pytest.fixture(scope="module")
def weeks() -> gs.Trace:
    """Five whole weeks and a half, the submissions from 3 s on; deadlines for some."""
    rng = np.random.default_rng(1)
    submit = np.sort(rng.uniform(3, 5.5 * 7 * 86_400, 400))
    submit[0], submit[-1] = 3, 5.5 * 7 * 86_400
    return gs.Trace.from_columns(
        submit,
        rng.uniform(1, 9_999, 400),
        rng.integers(1, 9, 400),
        user=[f"u{i}" for i in range(400)],
    ).with_deadlines(share=0.5, seed=1)


def test_every_job_is_one_of_its_week_moved_by_whole_weeks(weeks):
    drawn = resampled(weeks, WEEK, np.random.default_rng(2))
    assert np.all(np.diff(drawn.submit_us) >= 0)
    names = {name: job for job, name in enumerate(weeks.user.values())}
    source = [names[name] for name in drawn.user.values()]
    moved = drawn.submit_us - weeks.submit_us[source]
    assert np.all(moved % WEEK == 0)
    assert len(set(moved // WEEK)) > 2
    assert np.array_equal(drawn.service_us, weeks.service_us[source])
    assert np.array_equal(drawn.gpus, weeks.gpus[source])
    given = weeks.deadline_us[source] >= 0
    assert np.array_equal(drawn.deadline_us >= 0, given)
    late = (drawn.deadline_us - weeks.deadline_us[source])[given]
    assert np.array_equal(late, moved[given])


def test_weeks_come_whole_and_as_many_as_there_are(weeks):
    assert num_blocks(weeks, WEEK) == 5
    first = int(weeks.submit_us[0])
    counts = np.histogram(weeks.submit_us, first + WEEK * np.arange(6))[0]
    # The last block of histogram is closed: nothing lies on its end.
    for seed in range(5):
        drawn = resampled(weeks, WEEK, np.random.default_rng(seed))
        found = np.histogram(drawn.submit_us, first + WEEK * np.arange(6))[0]
        assert set(found) <= set(counts)
        assert len(drawn) == found.sum()


def test_draws_differ_by_their_seed_and_are_equal_for_one(weeks):
    lengths = [len(resampled(weeks, WEEK, np.random.default_rng(seed))) for seed in (1, 1, 2, 3)]
    assert lengths[0] == lengths[1]
    assert len(set(lengths)) > 1


def test_every_week_is_drawn_as_often(weeks):
    first = int(weeks.submit_us[0])
    of_name = dict(zip(weeks.user.values(), (weeks.submit_us - first) // WEEK, strict=True))
    seen = np.zeros(6)
    for seed in range(100):
        drawn = resampled(weeks, WEEK, np.random.default_rng(seed))
        names, times = np.unique(drawn.user.values(), return_counts=True)
        for week in range(5):
            some = next(name for name in of_name if of_name[name] == week)
            seen[week] += times[names == some].sum()
        assert not any(of_name[name] == 5 for name in names), "the half week is in no block"
    assert np.all(np.abs(seen[:5] / 100 - 1) < 0.4)


def test_a_week_that_is_drawn_twice_has_its_own_dependencies_and_arrays(weeks):
    held = weeks.with_columns(
        dependency=["", *(f"after:{job - 1}+2,afterok:{job // 9}" for job in range(1, 400))],
        array=["" if job % 3 else f"m{job // 9}" for job in range(400)],
    )
    drawn = resampled(held, WEEK, np.random.default_rng(2))
    source = np.array([int(name[1:]) for name in drawn.user.values()])
    copy = (drawn.submit_us - weeks.submit_us[0]) // WEEK
    assert len({*zip(source.tolist(), copy.tolist(), strict=True)}) == len(drawn)
    assert len(set(drawn.id.tolist())) == len(drawn)
    columns = holds_of(drawn).columns
    job = np.repeat(np.arange(len(drawn)), np.diff(columns["dependency_begin"]))
    target = columns["dependency_target"]
    assert np.array_equal(copy[job], copy[target])
    is_last = columns["dependency_kind"] == 0
    assert np.array_equal(source[target[is_last]], source[job[is_last]] - 1)
    assert np.array_equal(source[target[~is_last]], source[job[~is_last]] // 9)
    week = (weeks.submit_us - weeks.submit_us[0]) // WEEK
    inside = (source > 0) & (week[source] == week[source - 1])
    assert is_last.sum() == inside.sum()
    names = {name for name in drawn.array.values() if name}
    first = {name.partition(".")[0] for name in names}
    assert len(first) == 5
    assert len(names) > len({name.partition(".")[2] for name in names})


def test_a_trace_shorter_than_a_block_has_none(weeks):
    with pytest.raises(ValueError, match="its submissions fill no block"):
        resampled(weeks, 40 * DAY, np.random.default_rng(0))


MIXED = Cluster(
    (
        ServerGroup(2, 8, "V100", cpu=32, memory_gib=64),
        ServerGroup(3, 4, "T4", cpu=16, memory_gib=256),
        ServerGroup(1, 2, "K80"),
    )
)


def jobs(**columns: object) -> gs.Trace:
    num_jobs = len(next(iter(columns.values())))
    given = {"submit_s": list(range(num_jobs)), "service_s": [10] * num_jobs, **columns}
    return gs.Trace.from_columns(**given)


def test_jobs_are_as_wide_as_the_types_that_they_may_run_on():
    types = ["", "", "V100", "V100", "V100|T4", "V100|T4", "K80", "A100"]
    trace = jobs(gpus=[30, 31, 16, 17, 28, 29, 3, 1], gpu_types=types)
    assert fitting_jobs(trace, MIXED).tolist() == [
        True, False, True, False, True, False, False, False,
    ]  # fmt: skip


def test_workers_find_room_for_their_cpus_and_memory():
    # 8 CPUs each: 4 on a V100 server, 2 on one with T4, 2 on the one that is never short.
    trace = jobs(gpus=[16, 17, 14, 15, 1], cpu=[8, 8, 4, 4, 33], memory_gib=[1, 1, 60, 65, 1])
    assert fitting_jobs(trace, MIXED).tolist() == [True, False, True, False, True]
    only = Cluster(MIXED.servers[:1])
    assert fitting_jobs(trace, only).tolist() == [False, False, False, False, False]


@each("seed", range(5))
def test_what_fits_by_gpus_and_types_is_what_a_run_does_not_reject(seed):
    draw = np.random.default_rng(seed)
    names = np.array(["", "V100", "T4", "V100|T4", "K80|T4", "A100"])
    trace = jobs(gpus=draw.integers(1, 33, 60), gpu_types=names[draw.integers(0, 6, 60)].tolist())
    cluster = Cluster(tuple(ServerGroup(g.count, g.gpus, g.gpu_type) for g in MIXED.servers))
    with pytest.warns(UserWarning, match="rejected"):
        result = gs.simulate(trace, cluster, policy="fifo", placement="spread")
    fits = fitting_jobs(trace, cluster)
    assert 0 < fits.sum() < len(trace)
    assert fits.tolist() == (result.to_polars()["status"] != "rejected").to_list()
    assert fitting_load(trace, cluster, fits) == pytest.approx(result.metric("load"))


def test_the_load_is_that_of_the_jobs_that_fit():
    trace = jobs(gpus=[1, 99, 3])
    cluster = Cluster.uniform(1, 4)
    fits = fitting_jobs(trace, cluster)
    assert fitting_load(trace, cluster, fits) == pytest.approx(40 / (4 * 2))
    assert fitting_load(trace, cluster, np.zeros(3, dtype=bool)) == 0
