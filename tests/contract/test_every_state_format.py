"""Every format of states recognises and reads its own excerpt, alone, and refuses a damaged one."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

import gpusched as gs
from gpusched.base.source import Source
from gpusched.cli import app
from gpusched.online.cluster_state import ClusterState
from gpusched.online.states.state_formats import (
    StateFormat,
    detect,
    register_state_format,
    state_formats,
)

FORMATS = state_formats()
every_format = pytest.mark.parametrize("name", sorted(FORMATS))


def excerpt(name: str, folder: Path) -> list[Path]:
    files = []
    for file, data in FORMATS[name].excerpt().items():
        files.append(folder / file)
        files[-1].write_bytes(data)
    return files


def test_the_formats_are_there():
    assert set(FORMATS) >= {"gpusched", "kueue", "slurm"}


@every_format
def test_a_format_says_what_it_is(name):
    known = FORMATS[name]
    assert known.name == name
    assert known.summary.endswith(".")
    assert known.source
    assert known.detection


@every_format
def test_a_format_recognises_its_own_excerpt_and_reads_it(name, tmp_path):
    files = excerpt(name, tmp_path)
    assert detect([Source(file) for file in files]).name == name
    found = gs.online.read_state(tmp_path)
    assert found.is_running.any()
    assert not found.is_running.all()
    assert not found.jobs.rejects
    assert len(found.servers) == found.cluster.num_servers
    named = gs.online.read_state(files, name)
    assert named.held_mask.tolist() == found.held_mask.tolist()
    # In our own format anything may be tried, so that its mistakes are told.
    takers = {
        each.name for each in FORMATS.values() if each.recognises([Source(file) for file in files])
    }
    assert takers - {"gpusched"} == {name} - {"gpusched"}


@every_format
def test_the_command_decides_on_an_excerpt(name, tmp_path):
    excerpt(name, tmp_path)
    done = CliRunner().invoke(
        app, ["decide", "--state", str(tmp_path), "-p", "fifo-skip", "--json"]
    )
    assert done.exit_code == 0, done.output
    (action,) = json.loads(done.stdout)["actions"]
    servers = {server.name: server.gpus for server in gs.online.read_state(tmp_path).servers}
    for held in action["held"]:
        assert set(held["gpus"]) <= set(servers[held["name"]])


@every_format
def test_a_damaged_excerpt_is_a_mistake_or_another_state(name, tmp_path):
    for file in excerpt(name, tmp_path):
        whole = file.read_bytes()
        for number in range(0, len(whole), max(1, len(whole) // 40)):
            for damaged in (whole[:number], whole[:number] + b"7" + whole[number + 1 :]):
                file.write_bytes(damaged)
                message = ""
                try:
                    assert isinstance(gs.online.read_state(tmp_path), ClusterState)
                except ValueError as error:
                    message = str(error)
                assert "\n" not in message
                assert not message or "not a readable cluster state" in message
        file.write_bytes(whole)


@every_format
def test_options_that_a_format_lacks_are_refused(name, tmp_path):
    excerpt(name, tmp_path)
    with pytest.raises(TypeError, match="has no option 'colour'"):
        gs.online.read_state(tmp_path, colour=1)


def test_a_format_may_be_added(tmp_path):
    def read(sources: object) -> ClusterState:
        return ClusterState(gs.Cluster.uniform(1), gs.Trace.from_columns([0], [1], [1]), 0)

    def recognises(sources: list[Source]) -> bool:
        return sources[0].data.startswith(b"mine")

    added = StateFormat("mine", "Mine.", "Me.", "mine", recognises, read, dict)  # type: ignore[arg-type]
    register_state_format(added)
    try:
        path = tmp_path / "a.json"
        path.write_text("mine")
        assert gs.online.read_state(path).cluster.num_gpus == 8
        with pytest.raises(ValueError, match="the name 'mine' is taken"):
            register_state_format(added)
    finally:
        from gpusched.online.states.state_formats import STATE_FORMATS

        STATE_FORMATS.remove("mine")


def test_no_format_and_no_file_are_mistakes(tmp_path):
    with pytest.raises(ValueError, match="no file in the folder ends in"):
        gs.online.read_state(tmp_path)
    with pytest.raises(ValueError, match="at least one file is needed"):
        gs.online.read_state([])
    for name in "ab":
        (tmp_path / f"{name}.json").write_text("{}")
    with pytest.raises(
        ValueError, match=r"unknown format of a cluster state; known: .*kueue, .*slurm"
    ):
        gs.online.read_state(tmp_path)
    with pytest.raises(ValueError, match="unknown state format 'slrum'"):
        gs.online.read_state(tmp_path, "slrum")
