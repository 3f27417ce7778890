"""``gpusched decide --stream``: a line of JSON for a line of JSON, whatever it is."""

import json
import signal
import subprocess
import sys
from typing import Any

import pytest
from typer.testing import CliRunner

import gpusched as gs
from gpusched.cli import app
from tests.cli import test_states as states
from tests.each import each

STATE: dict[str, Any] = {**states.STATE, "server_names": ["a", "b"]}
START = {
    "what": "start", "id": "small", "gpus": 4, "why": "starts on 1 server",
    "held": [{"server": 0, "gpus": [0, 1, 2, 3], "name": "a"}],
}  # fmt: skip


def answers(*lines: Any, options: tuple[str, ...] = ("--policy", "fifo-skip")) -> list[Any]:
    given = "\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines)
    done = CliRunner().invoke(app, ["decide", "--stream", *options], input=given)
    assert done.exit_code == 0, done.output
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_a_request_is_answered_with_its_id():
    first, second, third = answers(
        {"id": 7, "state": STATE},
        {"id": "x", "state": STATE, "policy": "fifo"},
        {"state": STATE, "explain": True},
    )
    assert (first["id"], first["now_s"], first["actions"]) == (7, 1800, [START])
    assert first["waiting"] is None
    assert (second["id"], second["actions"]) == ("x", [])
    assert (third["id"], third["actions"]) == (None, [START])
    assert third["waiting"] == [
        {"id": "wide", "why": "waits: it needs 16 GPUs, but 4 are free after this decision"}
    ]


@each(
    ("line", "id", "error"),
    [
        ("{", None, "truncated"),
        ("[]", None, "Expected `object`"),
        ("{} {}", None, "Object missing required field `state`"),
        ('{"id": 3}', 3, "missing required field `state`"),
        ('{"id": "q", "state": {}, "polcy": 1}', "q", "missing required field `now_s`"),
        ('{"id": [3], "state": 1}', None, "Expected"),
        ("\xff\xfe", None, "malformed"),
        ("[" * 100_000, None, "Expected `object`"),
        (json.dumps({"id": 1, "state": STATE, "policy": "fof"}), 1, "unknown policy 'fof'"),
        (json.dumps({"id": 1, "state": {**STATE, "now_s": 5}}), 1, "after now_s"),
        (json.dumps({"id": 1, "state": {**STATE, "server_names": ["a", "a"]}}), 1, "unique"),
        (json.dumps({"id": 1, "state": {**STATE, "server_names": ["a"]}}), 1, "1 names for 2"),
        (json.dumps({"id": 1, "state": STATE, "seed": -1}), 1, "seed"),
    ],
)
def test_a_mistake_is_answered_and_the_stream_goes_on(line, id, error):
    wrong, right = answers(line, {"id": 2, "state": STATE})
    assert set(wrong) == {"id", "error"}
    assert wrong["id"] == id
    assert error in wrong["error"]
    assert (right["id"], right["actions"]) == (2, [START])


def test_a_memory_goes_along():
    jobs = [
        {"id": "a", "submit_s": 0, "gpus": 8, "service_s": 60},
        {"id": "b", "submit_s": 0, "gpus": 16, "service_s": 60},
    ]
    whole = {"cluster": STATE["cluster"], "now_s": 0, "jobs": jobs}
    options = ("--policy", "conservative")
    (refused,) = answers({"state": whole}, options=options)
    assert "keeps more than the state" in refused["error"]
    assert 'requests have a "memory": "" while no job runs' in refused["error"]
    (begun,) = answers({"state": whole, "memory": ""}, options=options)
    (action,) = begun["actions"]
    assert (action["what"], action["id"]) == ("start", "a")
    running = {**jobs[0], "start_s": 0, "held": action["held"]}
    later = {**whole, "now_s": 5, "jobs": [running, jobs[1]]}
    on, wrong, none = answers(
        {"id": 1, "state": later, "memory": begun["memory"]},
        {"id": 2, "state": {**later, "jobs": [jobs[1]]}, "memory": begun["memory"][4:]},
        {"id": 3, "state": later, "memory": "%"},
        options=options,
    )
    assert on["actions"] == []
    assert on["memory"] not in (None, begun["memory"])
    assert "not the memory of an earlier decision" in wrong["error"]
    assert none == {"id": 3, "error": "memory: must be base64"}


def test_empty_lines_and_an_empty_stream_are_nothing():
    assert answers("", "   ", {"state": STATE}, "")[0]["actions"] == [START]
    assert answers() == []


def test_the_schemas_are_those_of_the_lines(gpusched):
    printed = json.loads(gpusched("decide", "--stream", "--schema").stdout)
    assert set(printed) == {"request", "answer"}
    for part, schema in printed.items():
        assert schema == json.loads(json.dumps(gs.online.state_schema(part)))
    (known,) = answers({"state": STATE, "explain": True})
    (wrong,) = answers("{}")
    parts = printed["answer"]["$defs"]
    assert set(known) == set(parts["Answer"]["properties"])
    assert set(wrong) == set(parts["Refusal"]["properties"])
    with pytest.raises(ValueError, match="unknown schema 'answers'"):
        gs.online.state_schema("answers")  # type: ignore[arg-type]


@pytest.fixture
def controller():
    command = [sys.executable, "-m", "gpusched", "decide", "--stream", "-p", "fifo-skip"]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    with process:
        yield process
        process.kill()


def ask(process: subprocess.Popen[bytes], request: Any) -> Any:
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(json.dumps(request).encode() + b"\n")
    process.stdin.flush()
    return json.loads(process.stdout.readline())


def test_each_line_is_answered_before_the_next_is_asked(controller):
    for number in range(3):
        assert ask(controller, {"id": number, "state": STATE})["id"] == number
    controller.stdin.close()
    assert controller.stdout.read() == b""
    assert controller.wait(20) == 0


def test_an_interrupt_ends_it(controller):
    assert ask(controller, {"id": 1, "state": STATE})["id"] == 1
    controller.send_signal(signal.SIGINT)
    assert controller.wait(20) == 130
