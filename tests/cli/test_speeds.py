"""Speeds, contentions, profiles and networks on the command line."""

import gpusched as gs

SMALL = ("--servers", 4, "--jobs", 200)
NETWORK = ("--nic-gbps", 10, "--intra-gbps", 400)
SHARED = ("--profiles", "zoo", "--contention", "shared:degradation=0.2")
MODELS = """
[[profiles]]
name = "small"
gradient_bytes = 1e6
batch = 32
forward_s = 0.001
backward_s = 0.01
[[profiles]]
name = "large"
gradient_bytes = 2e9
batch = 4
forward_s = 0.01
backward_s = 0.1
"""


def test_a_contention_takes_the_ring_and_says_so(gpusched):
    result = gpusched("run", "-p", "fifo-skip", *SMALL, *NETWORK, *SHARED, "--placement", "spread")
    assert result.exit_code == 0, result.stderr
    flat = " ".join(result.stdout.split())
    assert "speed ring, contention shared:degradation=0.2" in flat
    assert "profiles assumed: drawn for each job from 14, seed 0" in flat
    assert "slowdown from contention" in flat


def test_options_and_arguments_make_the_same_run(gpusched_json, jobs_csv):
    arguments = (jobs_csv, "-p", "srtf", "--servers", 4, *NETWORK, *SHARED, "--seed", 3)
    made = gpusched_json(
        "run", *arguments, "--placement", "spread", "--speed", "ring:overhead_s=0.01",
        "--servers-per-rack", 2, "--oversubscription", 3,
    )  # fmt: skip
    cluster = gs.Cluster.uniform(4, 8, nic_gbps=10, intra_gbps=400).with_racks(2, 3)
    expected = gs.simulate(
        gs.read_trace(jobs_csv).with_profiles(gs.model.zoo(), seed=3), cluster, policy="srtf",
        placement="spread", speed="ring:overhead_s=0.01", contention="shared:degradation=0.2",
        seed=3,
    )  # fmt: skip
    assert made["result"]["digest"] == expected.digest
    fixed = gs.simulate(gs.read_trace(jobs_csv), cluster, policy="srtf", placement="spread")
    assert made["result"]["digest"] != fixed.digest


def test_a_comparison_passes_speed_and_contention_to_every_run(gpusched_json):
    made = gpusched_json("compare", "--seeds", 1, "-p", "fifo-skip,srtf", *SMALL, *NETWORK, *SHARED)
    for row in made["results"]:
        assert (row["speed"], row["contention"]) == ("ring", "shared:degradation=0.2")


def test_a_single_profile_is_no_assumption(gpusched_json, tmp_path):
    (tmp_path / "one.toml").write_text(MODELS.partition('\n[[profiles]]\nname = "large"')[0])
    made = gpusched_json(
        "run", "-p", "fifo", *SMALL, *NETWORK, "--profiles", "one.toml", "--speed", "ring"
    )
    assert not any("profiles" in line for line in made["assumptions"])


def test_groups_that_name_profiles_choose_them(gpusched, gpusched_json, tmp_path):
    (tmp_path / "models.toml").write_text(MODELS)
    trace = tmp_path / "jobs.csv"
    trace.write_text("submit_s,service_s,gpus,group\n0,10,16,small\n100,10,16,large\n")
    run = ("run", trace, "-p", "fifo", "--servers", 2, *NETWORK, "--profiles", "models.toml")

    made = gpusched_json(*run, "--speed", "ring", "--placement", "spread")
    assert made["assumptions"] == []
    done = gpusched(*run, "--speed", "ring", "--out", "made")
    assert done.exit_code == 0, done.stderr
    loaded = gs.load_result(tmp_path / "made" / "result.npz").trace
    assert [loaded.profiles[index].name for index in loaded.profile] == ["small", "large"]


def test_a_cluster_file_brings_its_own_network(gpusched_json, tmp_path):
    cluster = gs.Cluster.uniform(4, 8, nic_gbps=10, intra_gbps=400).with_racks(2)
    (tmp_path / "racks.toml").write_text(cluster.to_toml())
    made = gpusched_json("run", "-p", "fifo", "--jobs", 200, "--cluster", "racks.toml", *SHARED)
    assert made["cluster"]["description"] == "4 servers x 8 GPUs (32 GPUs in 3 domains)"


def test_graphs_take_the_speed_of_stages_and_say_what_was_drawn(gpusched_json):
    run = ("run", "-p", "fifo-skip", *SMALL, *NETWORK, "--placement", "heavy-edge", "--seed", 2)
    run += ("--option", "model=1")  # of which some jobs are wider than a server
    made = gpusched_json(*run, "--graphs", "zoo", "--contention", "shared")
    row = made["result"]
    assert (row["speed"], row["contention"]) == ("stages", "shared")
    assert (
        "graphs assumed: drawn for each job or group from 5 models, seed 2" in made["assumptions"]
    )
    light = gpusched_json(*run, "--graphs", "zoo:heavy_share=0.1", "--speed", "stages")
    assert light["result"]["digest"] != row["digest"]


def test_graphs_on_the_command_line_are_those_of_the_library(gpusched_json, jobs_csv):
    made = gpusched_json(
        "compare", jobs_csv, "-p", "fifo,srtf", "--servers", 4, *NETWORK, "--seed", 3,
        "--graphs", "zoo:heavy_share=0.5", "--speed", "stages:micro_batches=4",
    )  # fmt: skip
    cluster = gs.Cluster.uniform(4, 8, nic_gbps=10, intra_gbps=400)
    speed = "stages:micro_batches=4"
    trace = gs.read_trace(jobs_csv)
    trace = gs.traces.generating.assign_graphs(trace, cluster, heavy_share=0.5, seed=3, speed=speed)
    for row, policy in zip(made["results"], ["fifo", "srtf"], strict=True):
        expected = gs.simulate(trace, cluster, policy=policy, speed=speed, seed=3)
        assert row["digest"] == expected.digest
