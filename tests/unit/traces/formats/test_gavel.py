"""The Gavel reader: durations from steps and a table of throughputs."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

import gpusched as gs
from gpusched.traces.reading import read_trace
from tests.unit.real_data import DATA, counted

SHORT = "ResNet-18 (batch size 16)\tpython3 main.py\t--num_steps\t1\t1000\t{arrival}\t{scale}\n"


def folder_with(tmp_path: Path, table: object, *rows: str) -> Path:
    """Lay out a trace below its table, as Gavel does."""
    (tmp_path / "traces").mkdir()
    (tmp_path / "oracle_throughputs.json").write_text(json.dumps(table))
    path = tmp_path / "traces" / "small.trace"
    path.write_text("".join(rows))
    return path


@pytest.mark.parametrize(
    ("name", "jobs", "widest"),
    counted(
        real=[("artifact_evaluation", 15, 2), ("ee9e8c", 2_000, 32), ("max_min_fairness", 96, 4)],
        excerpt=[("artifact_evaluation", 15, 2), ("ee9e8c", 40, 16), ("max_min_fairness", 24, 1)],
    ),
)
def test_the_published_traces_of_seven_and_ten_columns_are_read(name, jobs, widest):
    path = DATA / "gavel" / "traces" / f"{name}.trace"
    trace = read_trace(path)
    assert len(trace) == jobs
    assert not trace.rejects
    assert trace.gpus.max() == widest
    assert "oracle_throughputs.json, v100" in trace.source


def test_a_duration_is_the_steps_over_the_isolated_throughput():
    throughput = json.loads((DATA / "gavel" / "oracle_throughputs.json").read_text())
    path = DATA / "gavel" / "traces" / "artifact_evaluation.trace"
    first = path.read_text().splitlines()[0].split("\t")
    for gpu_type in ("v100", "k80"):
        trace = read_trace(path, gpu_type=gpu_type)
        expected = int(first[5]) / throughput[gpu_type][first[0]]["null"]
        assert trace.service_s[np.flatnonzero(trace.row == 1)[0]] == pytest.approx(expected)
        assert trace.group[0] in throughput[gpu_type]


def test_a_table_by_scale_leaves_out_jobs_of_other_scales_and_says_so():
    trace = read_trace(
        DATA / "gavel" / "traces" / "ee9e8c.trace",
        throughputs=DATA / "gavel" / "simulation_throughputs.json",
    )
    rejected = counted(real=373, excerpt=8)
    assert len(trace) == counted(real=1_627, excerpt=32)
    assert trace.rejects.counts == {
        "job_type must have a throughput at its scale on v100 in simulation_throughputs.json": (
            rejected
        )
    }


def test_a_job_takes_the_entry_of_its_own_scale(tmp_path):
    table = {
        "v100": {
            "('ResNet-18 (batch size 16)', 1)": {"null": 10.0, "('LM', 1)": [1.0, 2.0]},
            "('ResNet-18 (batch size 16)', 4)": {"null": 25.0},
            "('ResNet-18 (batch size 16)', 8)": {"null": 0.0},
            "('LM', 1)": {"('LM', 1)": [1.0, 2.0]},
        }
    }
    path = folder_with(
        tmp_path, table, SHORT.format(arrival=5, scale=4), SHORT.format(arrival=2.5, scale=1),
        SHORT.format(arrival=9, scale=8),
    )  # fmt: skip

    trace = read_trace(path)

    assert trace.service_s.tolist() == [100, 40]
    assert trace.submit_s.tolist() == [0, 2.5]
    assert trace.rejects.first == {
        "job_type must fit at its scale on v100 in oracle_throughputs.json": (3,)
    }


def test_priorities_of_the_long_form_become_weights(tmp_path):
    table = {"v100": {"LM": {"null": 2.0}}}
    path = folder_with(tmp_path, table, "LM\tcmd\twd\t--steps\t1\t10\t2\t5\t-1.0\t0\n")
    trace = read_trace(path)
    assert trace.weight.tolist() == [5.0]
    assert (trace.gpus[0], trace.service_s[0]) == (2, 5.0)


def test_a_missing_table_is_an_error_that_says_where_it_was_looked_for(tmp_path):
    path = tmp_path / "small.trace"
    path.write_text(SHORT.format(arrival=0, scale=1))
    with pytest.raises(
        ValueError, match=r"small.trace: durations need a table of throughputs"
    ) as e:
        read_trace(path)
    assert str(tmp_path.parent / "oracle_throughputs.json") in str(e.value)
    assert str(tmp_path / "oracle_throughputs.json") in str(e.value)


def test_an_unknown_gpu_type_suggests_the_nearest(tmp_path):
    path = folder_with(tmp_path, {"v100": {}, "k80": {}}, SHORT.format(arrival=0, scale=1))
    with pytest.raises(ValueError, match=r"no GPU type 'v10'; did you mean 'v100'\?"):
        read_trace(path, gpu_type="v10")


def test_a_damaged_table_is_an_error_that_names_its_file(tmp_path):
    path = folder_with(tmp_path, {"v100": {"LM": 3}}, SHORT.format(arrival=0, scale=1))
    with pytest.raises(ValueError, match=r"oracle_throughputs.json: Expected `object`"):
        read_trace(path)


MIXED = {
    "v100": {"ResNet-18 (batch size 16)": {"null": 4.0}, "LM": {"null": 2.0}},
    "k80": {"ResNet-18 (batch size 16)": {"null": 1.0}, "LM": {"null": 5.0}},
}
ROWS = [SHORT.format(arrival=0, scale=1)]
ROWS += [ROWS[0].replace("ResNet-18 (batch size 16)", "LM")]


def test_of_several_types_the_fastest_makes_the_duration(tmp_path):
    path = folder_with(tmp_path, MIXED, *ROWS)
    assert read_trace(path).service_s.tolist() == [250, 500]
    assert read_trace(path, gpu_type="v100, k80").service_s.tolist() == [250, 200]
    with pytest.raises(ValueError, match="no GPU type 'k81'; did you mean 'k80'"):
        read_trace(path, gpu_type="v100,k81")


def test_a_run_does_the_steps_of_the_trace_or_says_how_it_differs(tmp_path):
    path = folder_with(tmp_path, MIXED, *ROWS)
    models = gs.model.read_throughputs(tmp_path / "oracle_throughputs.json")
    both = gs.Cluster((gs.ServerGroup(1, 1, "V100"), gs.ServerGroup(1, 1, "K80")))

    trace = read_trace(path, gpu_type="v100,k80").with_throughputs(models)
    right = gs.simulate(trace, both, policy="allox", speed="table", placement="first-fit")
    assert right.jobs["finish_s"].tolist() == [250, 200]  # each on its fastest type
    assert right.warnings == []

    told = (
        "run times were measured on V100, but are read as run times on the fastest of V100/K80: "
        "1 job of 2 have 1.00 to 2.50 times the intended work"
    )
    trace = read_trace(path).with_throughputs(models)
    with pytest.warns(gs.RunWarning, match=re.escape(told)):
        gs.simulate(trace, both, policy="allox", speed="table", placement="first-fit")
    only = gs.Cluster((gs.ServerGroup(2, 1, "V100"),))
    same = gs.simulate(trace, only, policy="fifo", speed="table", placement="first-fit")
    assert same.warnings == []
    fixed = gs.simulate(trace, both, policy="fifo", speed="fixed", placement="first-fit")
    assert not any("steps" in line or "services" in line for line in fixed.warnings)


def test_the_form_of_shockwave_tells_durations(tmp_path):
    path = tmp_path / "small.trace"
    row = "LM (batch size 10)\tpython3 main.py\tlm\t--steps\t1\t134583\t2\tgns\t3\t-1\t{}\t{}\n"
    path.write_text(row.format(1418, 0) + row.format(60, 7.5))
    trace = gs.read_trace(path)
    assert trace.service_s.tolist() == [1418, 60]
    assert trace.submit_s.tolist() == [0, 7.5]
    assert (trace.gpus.tolist(), trace.weight.tolist()) == ([2, 2], [3, 3])
    assert trace.group.names == ("LM (batch size 10)",)
    with pytest.raises(ValueError, match="throughputs: the file has durations, in column 11"):
        gs.read_trace(path, throughputs="table.json")
