"""Throughputs and deadlines on the command line."""

import pytest

import gpusched as gs
from gpusched.model.throughputs import read_throughputs

TABLE = "model,gpu_type,gpus,iterations_per_s\n" + "".join(
    f"{model},gpu,{count},{rate * count}\n"
    for model, rate in (("small", 2), ("large", 1))
    for count in (1, 8, 32)
)


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text(TABLE)
    return path


def test_options_and_arguments_make_the_same_run(gpusched_json, jobs_csv, table):
    made = gpusched_json(
        "run", jobs_csv, "-p", "fifo", "--servers", 4, "--seed", 3, "--throughputs", table,
        "--deadlines", "tightness=2,seed=5,share=0.5",
    )  # fmt: skip
    trace = gs.read_trace(jobs_csv).with_throughputs(read_throughputs(table), seed=3)
    trace = trace.with_deadlines(tightness=2, seed=5, share=0.5)
    expected = gs.simulate(trace, gs.Cluster.uniform(4, 8), policy="fifo", speed="table", seed=3)
    assert made["result"]["digest"] == expected.digest
    assert any(line.startswith("models assumed: those of 300") for line in made["assumptions"])


@pytest.mark.parametrize("command", ["run", "compare"])
def test_deadlines_met_stand_beside_their_bound_and_the_gap(gpusched, jobs_csv, tmp_path, command):
    shown = gpusched(
        command, jobs_csv, "--servers", 4, "-p", "edf", "--deadlines", "tightness=1,seed=1",
        "--out", tmp_path, "--wide", "--as", "csv",
    )  # fmt: skip
    assert shown.exit_code == 0, shown.stderr
    figures = dict(zip(*(line.split(",") for line in shown.stdout.splitlines()), strict=True))
    met, bound, gap = (float(figures[key]) for key in ("dsr", "dsr_bound", "dsr_gap"))
    assert 0 < met < bound < 1
    assert gap == pytest.approx(bound / met - 1)


def test_a_converted_trace_has_its_deadlines(gpusched, jobs_csv, tmp_path):
    target = tmp_path / "due.parquet"
    made = gpusched("trace", "convert", jobs_csv, target, "--deadlines", "tightness=1,seed=1")
    assert made.exit_code == 0, made.stderr
    expected = gs.read_trace(jobs_csv).with_deadlines(seed=1).deadline_us
    assert gs.read_trace(target).deadline_us.tolist() == expected.tolist()  # type: ignore
    shown = gpusched("trace", "info", target)
    assert "deadlines" in shown.stdout
    assert "300 jobs, p50" in shown.stdout
