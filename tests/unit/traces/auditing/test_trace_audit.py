"""The audit of traces finds every planted defect, and nothing in clean traces."""

import json
from typing import Any

import numpy as np
import pytest

import gpusched as gs
from gpusched.traces.auditing.check_registry import CHECKS, trace_check
from gpusched.traces.auditing.findings import VERDICTS
from gpusched.traces.checked_columns import duplicate_ids_kept
from gpusched.traces.job_columns import JOB_COLUMNS
from tests.each import each
from tests.examples import number_of
from tests.unit.real_data import DATA, needs_real_data
from tests.unit.traces.auditing.planted_defects import CLUSTER, KINDS, PLANTS, Planted, columns_of

LOADED = {"missing-long-runs": 4.0, "running-at-end": 4.0}
"""Where the time must be short beside the jobs for the defect to show."""


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("jobs", [50, 300, 1_000, pytest.param(5_000, marks=pytest.mark.long)])
def test_nothing_is_odd_in_clean_traces(kind, jobs):
    if jobs == 50 and kind == "philly":
        jobs = 2  # the smallest with a load
    for seed in range(number_of(20)):
        trace = gs.generate(kind, jobs, seed=seed)
        audit = gs.traces.audit_trace(trace, CLUSTER)
        assert audit.ok
        assert audit.verdict == "fine", f"seed {seed}: {audit}"
        assert str(audit) == "nothing is wrong or odd"


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_is_odd_where_waits_and_estimates_are_known(kind, tmp_path):
    trace = gs.generate(kind, 3_000, seed=5)
    result = gs.simulate(trace, CLUSTER, policy="fifo")
    columns = columns_of(trace)
    columns["source_wait_s"] = (result.schedule.start_us - trace.submit_us) / 1e6
    random = np.random.default_rng(1)
    columns["estimate_s"] = trace.service_s * random.uniform(1.1, 9.0, len(trace)) + 3.0
    full = gs.Trace.from_columns(**columns)
    audit = gs.traces.audit_trace(full, CLUSTER)
    assert audit.verdict == "fine", str(audit)
    gs.traces.reading.write_trace(full, tmp_path / "a.parquet")
    assert gs.traces.audit_trace(tmp_path / "a.parquet", CLUSTER).verdict == "fine"


def planted(check: str, kind: str, jobs: int, seed: int) -> Planted:
    trace = gs.generate(kind, jobs, load=LOADED.get(check, 0.9), seed=seed)
    return PLANTS[check](columns_of(trace), np.random.default_rng(seed))


def test_there_is_a_defect_for_every_check():
    assert set(PLANTS) == set(gs.traces.trace_checks())


@each("check", sorted(PLANTS))
@each("kind", KINDS)
@each(("jobs", "seed"), [(1_000, 1), (4_000, 2)])
def test_every_planted_defect_is_found(check, kind, jobs, seed):
    made = planted(check, kind, jobs, seed)
    with duplicate_ids_kept():
        trace = made.trace
    audit = gs.traces.audit_trace(trace, made.cluster)
    found = audit[check]
    if made.verdict == "any":
        assert found.verdict in ("odd", "wrong"), found
    else:
        assert found.verdict == made.verdict, found
    if made.rows is not None:
        assert found.count == len(made.rows), found
        assert list(found.rows) == [int(row) for row in made.rows[:10]], found
    assert found.count >= len(found.rows) > 0
    others = {one.name for one in audit.findings if one.verdict in ("odd", "wrong")}
    assert others <= {check, *made.also}, audit


def test_ids_that_are_there_twice_are_found_in_a_file_that_is_not_read_otherwise(tmp_path):
    path = tmp_path / "jobs.csv"
    path.write_text("id,submit_s,service_s,gpus\na,0,5,1\nb,1,6,1\na,2,7,1\nb,3,8,2\n")
    with pytest.raises(ValueError, match="must be unique"):
        gs.read_trace(path)
    audit = gs.traces.audit_trace(path)
    assert not audit.ok
    found = audit["duplicate-ids"]
    assert (found.verdict, found.count, found.rows, found.unit) == ("wrong", 2, (4, 5), "line")
    with pytest.raises(ValueError, match="must be unique"):  # and it is refused afterwards
        gs.read_trace(path)


def test_jobs_that_differ_in_any_column_are_not_equal():
    kinds = {"label": ("a", "b"), "types": ("A", "B"), "moment": (10, 11)}
    values: dict[str, tuple[Any, Any]] = {
        name: kinds.get(column.kind, (1, 2))
        for name, column in JOB_COLUMNS.items()
        if column.kind not in ("id", "model") and name not in ("submit_s", "max_gpus")
    }
    values |= {"status": ("ok", "failed"), "gpu_share": (0.5, 1), "max_gpus": (2, 3)}
    values |= {"requeue_back": (0, 1)}
    for name, (one, other) in values.items():
        row = {"service_s": 5, "gpus": 1 if name in ("gpus", "gpu_share") else 2}
        for second, verdict in ((one, "odd"), (other, "fine")):
            if name == "checkpoint_write_s":
                row["checkpoint_every_s"] = 9
            columns = {key: [value] * 2 for key, value in row.items()} | {name: [one, second]}
            trace = gs.Trace.from_columns([0, 0], **columns)
            assert gs.traces.audit_trace(trace)["duplicate-rows"].verdict == verdict, name


def test_an_swf_header_states_an_inventory(tmp_path):
    row = "{} {} 0 50 {} -1 -1 {} 100 -1 1 1 1 1 1 1 -1 -1\n"
    rows = "".join(row.format(n + 1, n, width, width) for n, width in enumerate((4, 8, 16)))
    path = tmp_path / "log.swf"
    path.write_text("; MaxProcs: 12\n" + rows)
    audit = gs.traces.audit_trace(path)
    assert (audit["wider-than-cluster"].verdict, audit["wider-than-cluster"].rows) == (
        "wrong",
        (4,),
    )
    assert audit["more-gpus-in-use"].what.startswith("up to 28 of 12 GPUs")
    scaled = gs.traces.audit_trace(path, processors_per_gpu=4)
    assert scaled["wider-than-cluster"].verdict == "unknown"
    assert gs.traces.audit_trace(path, gs.Cluster.uniform(4, 8))["more-gpus-in-use"].count == 0


def test_widths_are_compared_with_the_gpus_of_the_types_that_a_job_allows():
    cluster = gs.Cluster(
        (gs.ServerGroup(1, 8, gpu_type="V100"), gs.ServerGroup(1, 4, gpu_type="T4"))
    )
    trace = gs.Trace.from_columns(
        [0, 1, 2, 3], [5] * 4, [8, 8, 12, 12], gpu_types=["V100", "T4", "V100|T4", ""]
    )
    found = gs.traces.audit_trace(trace, cluster)["wider-than-cluster"]
    assert (found.verdict, found.rows) == ("wrong", (1,))


def test_the_smallest_traces_are_audited():
    for columns in (([0], [1], [1]), ([0, 0], [1, 1], [1, 1]), ([0, 1, 2], [1, 1, 1], [3, 3, 3])):
        trace = gs.Trace.from_columns(*columns)
        audit = gs.traces.audit_trace(trace, gs.Cluster.uniform(1, 4))
        assert {found.name for found in audit.findings} == set(gs.traces.trace_checks())
    assert gs.traces.audit_trace(gs.Trace.from_columns([0], [1], [1])).verdict == "fine"


def test_findings_are_listed_from_the_worst_with_rows_effect_and_threshold():
    made = planted("service-limit", "philly", 1_000, 1)
    audit = gs.traces.audit_trace(made.trace)
    ranks = [VERDICTS.index(found.verdict) for found in audit.findings]
    assert ranks == sorted(ranks, reverse=True)
    assert audit.of("wrong") == audit.findings[:1]
    assert str(audit).startswith("wrong: service-limit: ")
    assert "(rows " in str(audit)
    plain = json.loads(json.dumps(audit.to_dict()))
    assert plain["findings"][0]["rows"] == list(audit["service-limit"].rows)
    with pytest.raises(KeyError):
        audit["nothing"]


def test_a_verdict_that_is_misspelt_is_refused():
    trace = gs.Trace.from_columns([0, 60], [600, 30], [1, 2])
    with pytest.raises(ValueError, match=r"^verdict: unknown 'wrng'; did you mean 'wrong'\?$"):
        gs.traces.audit_trace(trace).of("wrng")


def test_every_check_says_what_it_is():
    for name, check in gs.traces.trace_checks().items():
        assert check.name == name
        for text in (check.summary, check.effect, check.threshold):
            assert text.endswith("."), name


def test_options_go_with_a_path_and_a_check_of_ones_own_is_asked(tmp_path):
    trace = gs.generate("philly", 100)
    with pytest.raises(TypeError, match="'format' applies only to files"):
        gs.traces.audit_trace(trace, format="csv")
    with pytest.raises(ValueError, match="summary must not be empty"):
        trace_check("mine", summary="", effect="b", threshold="c", rank=1)
    assert "submit-gaps" in CHECKS.all()  # which loads them
    with pytest.raises(ValueError, match="taken"):
        trace_check("submit-gaps", summary="a", effect="b", threshold="c", rank=1)(lambda _: None)
    assert "mine" not in CHECKS.all()


@needs_real_data
def test_the_filter_of_itp_and_the_cut_of_philly_are_found():
    for name in ("01", "02", "03", "05", "06", "10"):
        audit = gs.traces.audit_trace(DATA / "itp" / f"cluster{name}.csv")
        found = audit["short-jobs-filtered"]
        assert found.verdict == "odd"
        assert "shorter than 600 s" in found.what
    philly = gs.traces.audit_trace(DATA / "philly" / "philly.csv")
    assert philly["missing-long-runs"].verdict == "wrong"
    assert philly["submit-order"].verdict == "odd"
