"""Models that jobs are given from a file of throughputs."""

import pytest

import gpusched as gs
from gpusched.traces.model_columns import add_throughputs

CURVE = {1: 10.0, 2: 18.0, 4: 32.4}
READ = gs.model.Throughputs(
    [
        gs.model.JobProfile("m", throughput={"V100": CURVE}),
        gs.model.JobProfile("n", throughput={"V100": CURVE | {8: 60.0, 16: 110.0}}),
    ]
)
CLUSTER = gs.Cluster((gs.ServerGroup(1, 16, "V100"),))


def test_tables_go_on_to_the_widest_job_and_that_is_said():
    jobs = gs.Trace.from_columns([0, 0, 0, 0], [9] * 4, [4, 8, 16, 16], group=["m", "m", "m", "n"])
    made, said = add_throughputs(jobs, READ, 0)
    assert said == (
        "throughputs assumed for 2 jobs with more GPUs than were measured: tables are extended to "
        "16 GPUs by the factor between their last two values",
    )
    table = made.profiles[0].throughput["V100"]
    assert table[8] == pytest.approx(32.4 * 1.8)
    assert table[16] == pytest.approx(32.4 * 1.8**2)
    result = gs.simulate(made, CLUSTER, policy="fifo", speed="table")
    assert result.jobs["status"].tolist() == ["finished"] * 4


def test_tables_that_are_wide_enough_stay_as_they_are():
    jobs = gs.Trace.from_columns([0, 0], [9, 9], [4, 16], group=["m", "n"])
    made, said = add_throughputs(jobs, READ, 0)
    assert said == ()
    assert made.profiles == tuple(READ.values())


def test_in_python_tables_end_where_they_end_and_who_is_wider_is_named():
    jobs = gs.Trace.from_columns([0, 0, 0], [9] * 3, [4, 8, 16], group=["m"] * 3)
    jobs = jobs.with_throughputs(gs.model.Throughputs(READ["m"]))
    said = r"2 jobs rejected: .* \(of 8 to 16 GPUs; throughputs end at 4, see Throughputs.extended"
    with pytest.warns(gs.RunWarning, match=said):
        gs.simulate(jobs, CLUSTER, policy="fifo", speed="table")
