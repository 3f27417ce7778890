"""``gpusched whatif``."""

import pytest

import gpusched as gs
from tests.unit.studies.site_logs import SITE, jobs, logged


@pytest.fixture
def log(tmp_path):
    path = tmp_path / "log.parquet"
    logged(jobs(0), policy="easy").to_polars().write_parquet(path)
    return path


def test_it_prints_what_the_package_finds(gpusched, log):
    result = gpusched(
        "whatif", log, "--base", "easy", "--change", "policy=sjf", "--change", "servers=+1"
    )
    assert result.exit_code == 0, result.stderr
    assert "base: easy, placement consolidated, predictor estimate, 6 servers" in result.stdout
    assert "grade A (all measures)" in result.stdout
    assert "all together" in result.stdout
    assert max(map(len, result.stdout.splitlines())) <= 100


def test_json_holds_the_differences_and_the_grade(gpusched_json, log):
    made = gpusched_json("whatif", log, "--servers", 6, "--base", "fifo", "--change", "policy=easy")
    expected = gs.whatif(gs.read_trace(log), SITE, "fifo", ["policy=easy"])
    assert made == expected.to_dict() | {"assumptions": []}
    assert made["grade"]["letter"] in "DE"


def test_a_trace_without_starts_has_no_grade_and_an_assumed_cluster(gpusched, jobs_csv):
    result = gpusched("whatif", jobs_csv, "--change", "load=*1.2")
    assert result.exit_code == 0, result.stderr
    assert "no grade: the trace has no recorded starts" in result.stdout
    assert ", the fewest 8-GPU servers with load at most 0.9" in result.stdout
    assert "left out of the trace" in result.stderr


def test_it_needs_no_trace(gpusched_json):
    made = gpusched_json("whatif", "--jobs", 200, "--servers", 2, "--change", "policy=srtf")
    assert made["trace"]["num_jobs"] == 200
    assert any("generated philly-like jobs" in said for said in made["assumptions"])


def test_links_and_profiles_reach_the_base_case(gpusched_json, jobs_csv):
    made = gpusched_json(
        "whatif", jobs_csv, "--profiles", "zoo", "--speed", "ring", "--nic-gbps", 10,
        "--intra-gbps", 400, "--servers", 8, "--change", "contention=shared",
    )  # fmt: skip
    assert made["base"]["speed"].startswith("ring")
    assert [change["contention"].partition(":")[0] for change in made["changes"]] == ["shared"]


def test_jobs_that_name_gpu_types_get_servers_of_them(gpusched_json, tmp_path):
    rows = [f"{n * 600},3600,8,{'V100' if n % 3 else 'T4'},{n % 2 * 90}" for n in range(30)]
    header = "submit_s,service_s,gpus,gpu_types,source_wait_s"
    (tmp_path / "typed.csv").write_text("\n".join([header, *rows]))
    made = gpusched_json("whatif", "typed.csv", "--change", "policy=easy")
    [said] = [line for line in made["remarks"] if line.startswith("cluster assumed: ")]
    expected = gs.traces.smallest_cluster(gs.read_trace("typed.csv"))
    assert said.startswith(
        f"cluster assumed: {expected}, 8-GPU servers of each type that jobs ask for"
    )
    assert set(expected.gpu_types) == {"T4", "V100"}


def test_a_change_takes_the_count_of_a_type_and_keeps_its_speed(gpusched_json, jobs_csv, tmp_path):
    groups = (gs.ServerGroup(3, 8, "V100"), gs.ServerGroup(2, 8, "A100", speed=2.1))
    (tmp_path / "typed.toml").write_text(gs.Cluster(groups).to_toml())
    asked = ("whatif", jobs_csv, "--cluster", "typed.toml", "--change", "servers[A100]=+1")
    made = gpusched_json(*asked)
    more = gs.Cluster((groups[0], gs.ServerGroup(3, 8, "A100", speed=2.1)))
    expected = gs.simulate(gs.read_trace(jobs_csv), more, policy="fifo")
    [change] = made["changes"]
    assert change["mean_jct_s"] == expected.metric("mean_jct_s")
    assert "run times assumed: on a GPU of speed 1" in made["assumptions"]
