"""What is known to be wrong, said as it should be: strict, so that whoever mends it hears of it."""

import ast
import json
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from typer.testing import CliRunner

import gpusched as gs
from gpusched.base.rejects import Rejects
from gpusched.base.replacing import replacing
from gpusched.cli import app
from gpusched.engine import saved_run
from gpusched.traces.writers import write_trace

CLUSTER = gs.Cluster.uniform(servers=2, gpus=4)
PACKAGE = Path(gs.__file__).parent
BERLIN = ZoneInfo("Europe/Berlin")
BEFORE_SUMMER = datetime(2024, 3, 31, 1, 30, tzinfo=BERLIN)  # half an hour before clocks go on


def jobs(**columns: object) -> gs.Trace:
    return gs.Trace.from_columns([7200.0, 9000.0], [60.0, 60.0], [1, 1], **columns)


def study(**more: object) -> gs.Study:
    return gs.Study.of(
        {
            "name": "odd",
            "traces": [{"generate": "philly", "jobs": 9}],
            "clusters": [{"servers": 1, "gpus": 8}],
        }
        | more
    )


@pytest.mark.xfail(strict=True, reason="infinity and None are written as JSON, which is no TOML")
@pytest.mark.parametrize("value", [float("inf"), None])
def test_a_study_folder_that_is_written_can_be_read(value):
    made = study(traces=[{"generate": "philly", "jobs": 9, "deadlines": {"share": value}}])
    assert gs.Study.from_toml(made.to_toml()) == made


def test_a_trace_that_begins_later_begins_so_much_later_over_a_change_of_clock():
    trace = jobs(epoch=BEFORE_SUMMER)  # two hours later, by which the wall clock goes three
    epoch = trace.rebased().epoch
    assert epoch is not None
    assert epoch.timestamp() == BEFORE_SUMMER.timestamp() + 7200


def test_a_trace_is_cut_at_the_moment_that_is_named_over_a_change_of_clock():
    trace = jobs(epoch=BEFORE_SUMMER)
    second = (BEFORE_SUMMER.astimezone(UTC) + timedelta(seconds=9000)).astimezone(BERLIN)
    assert trace.between(second, None).submit_s.tolist() == [9000.0]


@pytest.mark.xfail(strict=True, reason="the story adds seconds to the wall clock of the zone")
def test_the_story_of_a_job_tells_the_clock_of_its_zone():
    result = gs.simulate(jobs(epoch=BEFORE_SUMMER), CLUSTER, policy="fifo")
    assert "was submitted at 2024-03-31 04:30:00" in " ".join(result.explain(0).lines)


def test_a_merged_trace_knows_in_which_columns_rows_were_rejected():
    first, second = (
        gs.Trace.from_columns([0.0], [60.0], [1], id=[number], name=name)
        for number, name in enumerate("ab")
    )
    object.__setattr__(
        first, "rejects", Rejects({"no service": 1}, {"no service": (7,)}, columns={"x": "y"})
    )
    assert dict(gs.Trace.concat([first, second], ["a", "b"]).rejects.columns) != {}


@pytest.mark.xfail(strict=True, reason="costs and groups are of other parts of the run")
def test_one_answer_has_one_number_of_gpu_hours():
    options = ["--servers", "4", "--jobs", "300", "-p", "fifo", "--warm-up", "100000"]
    found = CliRunner().invoke(app, ["run", *options, "--by", "gpus", "--price", "1", "--json"])
    told = json.loads(found.stdout)
    hours = {
        told["result"]["gpu_hours"],
        sum(kind["held_gpu_hours"] for kind in told["cost"]["types"]),
        sum(row["gpu_hours"] for row in told["by"]["gpus"]),
    }
    assert max(hours) == pytest.approx(min(hours))


@pytest.mark.xfail(strict=True, reason="submit does the run again at each call")
def test_jobs_submitted_one_after_another_have_the_run_done_again_once(monkeypatch):
    run = gs.Simulation(jobs(), CLUSTER, policy="fifo")
    run.run_until(5000)
    opened, num_opened = saved_run.opened, list[int]()

    def counted(ready: Any) -> Any:
        num_opened.append(1)
        return opened(ready)

    monkeypatch.setattr(saved_run, "opened", counted)
    for number in range(3):
        run.submit(gs.Trace.from_columns([6000.0], [60.0], [1], id=[10 + number]))
    run.run()
    assert len(num_opened) == 1


@pytest.mark.skipif(not os.path.isdir("/dev/shm"), reason="there is no /dev/shm")
@pytest.mark.xfail(strict=True, reason="whatever lies below /dev is taken for a device")
def test_a_file_in_shared_memory_is_replaced_and_never_half_written():
    path = Path(f"/dev/shm/gpusched-{os.getpid()}.txt")
    path.write_text("old")
    try:
        with replacing(path) as partial:
            partial.write_text("new")
            assert path.read_text() == "old"
    finally:
        path.unlink()


@pytest.mark.xfail(strict=True, reason="a date without a zone is written as if it were UTC")
def test_swf_does_not_give_a_zone_to_dates_that_have_none(tmp_path):
    write_trace(jobs(epoch=datetime(2024, 5, 1)), tmp_path / "jobs.swf")
    epoch = gs.read_trace(tmp_path / "jobs.swf").epoch
    assert epoch is None or epoch.tzinfo is None


@pytest.mark.xfail(strict=True, reason="the environments draw from one sequence of the seed")
def test_environment_i_of_a_vector_is_that_of_seed_plus_i():
    trace = gs.generate("philly", 60, load=1.0, cluster=CLUSTER, seed=1)
    together, apart = (gs.gym.QueueVectorEnv(3, trace, CLUSTER, jobs=20, slots=4) for _ in "ab")
    assert np.array_equal(together.reset(seed=5)[0], apart.reset(seed=[5, 6, 7])[0])


@pytest.mark.xfail(strict=True, reason="all processors of the machine are counted in some places")
def test_threads_are_as_many_as_the_process_may_use():
    calls = [
        f"{path.relative_to(PACKAGE)}:{node.lineno}"
        for path in PACKAGE.rglob("*.py")
        if "cpu_count" in (text := path.read_text("utf-8"))
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Attribute) and node.attr == "cpu_count"
    ]
    assert calls == []


@pytest.mark.xfail(strict=True, reason="the folder is told to other processes by the environment")
def test_a_folder_of_data_for_one_call_is_not_set_for_the_whole_process(tmp_path):
    from gpusched.base.real_data import VARIABLE, data_at

    before = os.environ.get(VARIABLE)
    with data_at(tmp_path):
        assert os.environ.get(VARIABLE) == before
