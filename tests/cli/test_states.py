"""``gpusched decide`` and ``gpusched when``, and the file that both read."""

import json
from typing import Any

import pytest

import gpusched as gs
from gpusched.online.states.state_formats import state_formats

STATE: dict[str, Any] = {
    "now_s": 1800,
    "cluster": {"servers": [{"count": 2, "gpus": 8}]},
    "jobs": [
        {"id": "wide", "submit_s": 10, "gpus": 16, "service_s": 60},
        {
            "id": "runs", "submit_s": 0, "gpus": 8, "service_s": 3600, "start_s": 0,
            "held": [{"server": 1, "gpus": [0, 1, 2, 3, 4, 5, 6, 7]}],
        },
        {"id": "small", "submit_s": 20, "gpus": 4, "service_s": 60, "user": "ann"},
    ],
}  # fmt: skip


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "cluster.json"
    path.write_text(json.dumps(STATE))
    return path


def test_a_state_is_read_in_the_order_of_submission(path):
    state = gs.online.read_state(path)
    assert state.jobs.id.tolist() == ["runs", "wide", "small"]
    assert state.attained_s.tolist() == [1800, 0, 0]
    assert state.held_mask.tolist() == [0xFF]


def test_decide_prints_actions(path, gpusched):
    done = gpusched("decide", "--state", path, "--policy", "fifo-skip")
    assert "start" in done.stdout
    assert "small" in done.stdout
    assert "0:0-3" in done.stdout
    done = gpusched("decide", "--state", path, "--policy", "fifo-skip", "--json")
    found = json.loads(done.stdout)
    assert found["actions"] == [
        {
            "what": "start", "id": "small", "gpus": 4,
            "held": [{"server": 0, "gpus": [0, 1, 2, 3]}], "why": "starts on 1 server",
        }
    ]  # fmt: skip
    assert found["waiting"] == [
        {"id": "wide", "why": "waits: it needs 16 GPUs, but 4 are free after this decision"}
    ]  # fmt: skip
    done = gpusched("decide", "--state", path)
    assert "no action needed now" in done.stdout


def test_decide_prints_the_schema(gpusched):
    schema = json.loads(gpusched("decide", "--schema").stdout)
    assert schema == json.loads(json.dumps(gs.online.state_schema()))
    assert {"StateFile", "StateJob", "Cluster"} <= set(schema["$defs"])


def test_when_prints_quantiles(path, tmp_path, gpusched):
    done = gpusched("when", "wide", "--state", path)
    assert "50%: in 30 min" in done.stdout
    assert "with one more server: 30 min earlier" in done.stdout
    assert "--history" in done.stderr
    assert "future submissions are not simulated" in done.stderr
    past = tmp_path / "past.csv"
    gs.generate("philly", 300, load=0.9, cluster=gs.Cluster.uniform(2, 8), seed=1).to_polars()[
        ["submit_s", "service_s", "gpus"]
    ].write_csv(past)
    done = gpusched("when", "wide", "--state", path, "--history", past, "--samples", 50, "--json")
    found = json.loads(done.stdout)
    assert (found["id"], found["num_samples"], found["is_sampled"]) == ("wide", 50, True)
    assert found["start_s"]["p50"] > 1800
    done = gpusched("when", "wide", "--state", path, "--history", past, "--samples", 5)
    assert "still to be submitted" not in done.stderr
    done = gpusched("when", "--all", "--state", path, "--json")
    every = {each["id"]: each["start_s"]["p50"] for each in json.loads(done.stdout)["jobs"]}
    assert every["wide"] == 3600
    assert "30 min" in gpusched("when", "--all", "--state", path).stdout


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda s: s.update(later=1), "unknown field `later`"),
        (lambda s: s["jobs"][0].update(gpu=8), "unknown field `gpu`"),
        (lambda s: s["jobs"][0].update(gpus=0), "Expected `int` >= 1"),
        (lambda s: s["jobs"][0].pop("service_s"), "missing required field `service_s`"),
        (lambda s: s["jobs"][0].update(submit_s="now"), "Expected `float`, got `str`"),
        (lambda s: s["jobs"][1].update(held=[]), "'runs' has start_s but no held GPUs"),
        (lambda s: s["jobs"][1].pop("start_s"), "'runs' holds GPUs but has no start_s"),
        (lambda s: s["jobs"][1]["held"].append({"server": 1, "gpus": [0]}), "server twice"),
        (lambda s: s["jobs"][1]["held"][0].update(gpus=[0, 99]), "Expected `int` <= 63"),
        (
            lambda s: s["jobs"][1]["held"][0].update(server=5),
            "held_server: 5 is out of range; there are 2",
        ),
        (lambda s: s["jobs"][2].update(id="wide"), "wide"),
        (lambda s: s.update(now_s=5), "after now_s"),
        (lambda s: s["cluster"].update(servers=[]), "servers"),
    ],
)
def test_a_file_that_is_wrong_is_refused_by_name(path, change, message):
    wrong = json.loads(path.read_text())
    change(wrong)
    path.write_text(json.dumps(wrong))
    with pytest.raises(ValueError, match="not a readable cluster state") as caught:
        gs.online.read_state(path)
    assert message in str(caught.value)


@pytest.mark.parametrize("length", range(0, 360, 37))
def test_a_file_that_is_cut_short_is_refused(path, length):
    path.write_bytes(path.read_bytes()[:length])
    with pytest.raises(ValueError, match=r"cluster\.json: not a readable cluster state"):
        gs.online.read_state(path)


def test_held_jobs_are_named_with_their_reasons(tmp_path, gpusched):
    job = {"submit_s": 0, "gpus": 8, "service_s": 60}
    jobs = [
        {"id": "a", "hold": "JobHeldUser"}, {"id": "b", "eligible_s": 90},
        {"id": "c", "dependency": "afterok:b,afterok:z"}, {"id": "d", "estimate_s": 60},
    ]  # fmt: skip
    path = tmp_path / "now.json"
    cluster = {"servers": [{"count": 1, "gpus": 8}]}
    told = {"now_s": 5, "cluster": cluster, "jobs": [job | each for each in jobs]}
    path.write_text(json.dumps(told | {"server_names": ["n1"]}))
    why = {"a": "JobHeldUser", "b": "until 90 s", "c": "waits for afterok:b,afterok:z"}
    decided = gpusched("decide", "--state", path, "--policy", "easy", "--json")
    answer = json.loads(decided.stdout)
    assert [each["id"] for each in answer["actions"]] == ["d"]
    assert {each["id"]: each["why"] for each in answer["waiting"]} == {
        name: f"is held: {text}" for name, text in why.items()
    }
    (tmp_path / "out.csv").write_text("server,start_s,end_s\nn1,100,200\n")
    options = ("--state", path, "--outages", tmp_path / "out.csv", "--json")
    done = gpusched("when", "--all", *options)
    starts = [each["start_s"]["p50"] for each in json.loads(done.stdout)["jobs"]]
    assert starts == [None, 90, 260, 5]
    assert [each["share_hit"] for each in json.loads(done.stdout)["jobs"]] == [0, 1, 0, 0]
    for name, text in why.items():
        line = f"job {name} is held: {text}\n"
        assert line in gpusched("decide", "--state", path).stderr
        assert line in done.stderr
    assert "1 target not found in the trace, counted as met (first: 'z'" in done.stderr
    assert "outages: 1 failure, 0 drains of 1 server" in done.stderr
    (tmp_path / "window.csv").write_text("server,start_s,end_s,kind\nn1,60,90,maint\n")
    done = gpusched("decide", "--state", path, "--outages", tmp_path / "window.csv")
    assert "no action needed now" in done.stdout
    assert "1 maintenance window of 1 server" in done.stderr


@pytest.mark.parametrize("command", ["decide", "when --all"])
def test_columns_that_no_policy_uses_are_remarked_if_they_say_something(
    command, tmp_path, gpusched
):
    queue, sinfo = state_formats()["slurm"].excerpt().items()
    (tmp_path / sinfo[0]).write_bytes(sinfo[1])
    for column, told in ((b"", ""), (b'"priority": 7, ', ""), (b'"qos": "x", ', ", qos")):
        (tmp_path / queue[0]).write_bytes(queue[1].replace(b'"job_id"', column + b'"job_id"', 1))
        done = gpusched(
            *command.split(), "--state", tmp_path / queue[0], "--state", tmp_path / sinfo[0]
        )
        assert done.exit_code == 0, done.stderr
        said = f"columns kept, but used by no policy: partition, account{told}\n"
        assert said in done.stderr
    excerpt = state_formats()["kueue"].excerpt()["kueue.json"]
    (tmp_path / "kueue.json").write_bytes(excerpt.replace(b'"maxim', b'"priority":1,"maxim'))
    done = gpusched(*command.split(), "--state", tmp_path / "kueue.json")
    assert "columns kept" not in done.stderr


def test_mistakes_are_one_line(path, gpusched):
    for arguments, message in (
        (("decide",), "--state: a file is needed"),
        (
            ("decide", "--state", path, "--policy", "conservative"),
            "snapshot; use gpusched decide --stream",
        ),
        (("when", "nobody", "--state", path), "has no job 'nobody'"),
        (("when", "--state", path), "ID: name one waiting job, or use --all"),
        (("when", "wide", "--all", "--state", path), "ID: name one waiting job, or use --all"),
        (("when", "runs", "--state", path), "is already running"),
    ):
        done = gpusched(*arguments)
        assert done.exit_code == 2
        assert message in done.stderr
        assert "Traceback" not in done.stderr
