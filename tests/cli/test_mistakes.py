"""A mistake of the user is one line on stderr and exit code 2, never a traceback."""

from __future__ import annotations

from pathlib import Path

import pytest

import gpusched as gs


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("compare nowhere.csv", "nowhere.csv: No such file or directory"),
        ("compare --polices fifo", "--policies"),
        ("comprae", "compare"),
        ("compare -p srft", "did you mean 'srtf'"),
        ("compare --placement consolidatd", "did you mean 'consolidated'"),
        ("compare -p fifo,sjf,fifo", "'fifo' is listed twice"),
        ("compare -p 2d-las:presett=lucid", "did you mean 'preset'"),
        ("compare -p 2d-las:preset=lucidd", "lucid"),
        ("compare -p 2d-las:period_s=soon", "period_s"),
        ("compare -p preset=lucid", "follows no policy"),
        ("compare --predictor oracel", "oracle"),
        ("compare --jobs 0", "'--jobs': 0 "),
        ("compare --seed -1", "'--seed': -1 "),
        ("compare --servers 0", "'--servers': 0 "),
        ("compare --servers many", "'--servers': 'many' "),
        ("compare --load heavy", "'--load': 'heavy' "),
        ("compare --servers 4 --gpus-per-server 65", "1..64"),
        ("compare --load nan", "--load"),
        ("compare --load -0.5", "--load"),
        ("compare --threads 0", "'--threads': 0 "),
        ("compare --cluster nowhere.toml", "nowhere.toml"),
        ("compare --cluster nowhere.toml --servers 4", "cannot be combined"),
        ("compare --format itp", "need a TRACE"),
        ("compare empty.csv", "empty.csv"),
        ("compare words.csv", "words.csv: no jobs; the only row was rejected: submit_s must be"),
        ("compare good.csv --format itpp", "did you mean 'itp'"),
        ("compare good.csv --column a", "KEY=VALUE"),
        ("compare good.csv --column a=b --column a=c", "given twice"),
        ("compare odd.csv", "(name yours: --column service_s=...)"),
        ("compare both.csv", "choose one with --column gpus=num_gpus"),
        ("compare good.csv --column gpu=n", "--column: unknown name 'gpu'; did you mean 'gpus'?"),
        ("compare good.csv --option x=1", "no option 'x'"),
        ("compare good.csv --out good.csv", "good.csv"),
        ("compare good.csv --cluster odd.toml", "serverz"),
        ("compare --speed rong --profiles zoo", "did you mean 'ring'"),
        ("compare --speed ring", "--speed ring: needs --profiles FILE, or --profiles zoo"),
        ("compare --speed ring:overhead_s=-1 --profiles zoo", "overhead_s is -1.0"),
        ("compare --speed ring --profiles zoo", "nic_gbps"),
        ("compare --contention shard", "did you mean 'shared'"),
        ("compare --contention shared:scaling=0 --profiles zoo", "scaling is 0"),
        ("compare --contention shared --speed fixed", "no effect under --speed fixed"),
        ("compare --profiles zooo --speed ring", "zooo: No such file"),
        ("compare --profiles odd.toml --speed ring", "odd.toml: Object contains unknown field"),
        ("compare --speed stages", "--speed stages: needs --graphs zoo"),
        ("compare --graphs zoo", "nic_gbps"),
        ("compare --graphs zoo --speed fixed", "--graphs zoo: has no effect under --speed fixed"),
        ("compare --graphs zooo", "--graphs: 'zooo' is not of the form zoo"),
        ("compare --graphs zoo:heavy=1", "--graphs: 'zoo:heavy=1' is not of the form zoo"),
        ("compare --graphs zoo:heavy_share=2", "heavy_share '2' must lie in 0..1"),
        ("compare --nic-gbps 0", "nic_gbps: 0.0 must be finite and positive"),
        ("compare --intra-gbps fast", "--intra-gbps"),
        ("compare --servers-per-rack 2", "--servers-per-rack: needs --nic-gbps"),
        ("compare --oversubscription 2", "--oversubscription: needs --servers-per-rack"),
        ("compare --cluster odd.toml --nic-gbps 10", "--cluster: cannot be combined with options"),
        ("run good.csv", "--policy"),
        ("run good.csv -p count", "count"),
        ("trace info", "FILE"),
        ("trace convert good.csv out.xyz", "xyz"),
        ("trace info good.csv extra", "extra"),
    ],
)
def test_a_mistake_is_one_line(gpusched, tmp_path: Path, arguments: str, message: str) -> None:
    (tmp_path / "empty.csv").write_text("")
    (tmp_path / "words.csv").write_text("submit_s,service_s,gpus\none,two,three\n")
    (tmp_path / "good.csv").write_text("submit_s,service_s,gpus\n0,10,1\n5,20,2\n")
    (tmp_path / "odd.csv").write_text("submit_s,length,gpus\n0,10,1\n")
    (tmp_path / "both.csv").write_text("submit_s,service_s,gpus,num_gpus\n0,10,1,2\n")
    (tmp_path / "odd.toml").write_text("[[serverz]]\ncount = 1\ngpus = 8\n")
    result = gpusched(*arguments.split())
    assert result.exit_code == 2, result.output
    assert message in result.stderr
    assert result.stderr.startswith("gpusched: ")
    assert result.stderr.count("\n") == 1
    assert result.stdout == ""


def test_a_mistake_in_a_trace_leaves_no_folder_behind(gpusched, tmp_path: Path) -> None:
    gpusched("compare", "nowhere.csv")
    assert list(tmp_path.iterdir()) == []


def test_a_defect_of_ours_keeps_its_traceback(gpusched, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(gs.Policy, "parse", fails)
    result = gpusched("compare", "-p", "fifo")
    assert isinstance(result.exception, ZeroDivisionError)


def test_the_traceback_of_a_mistake_can_be_asked_for(
    gpusched, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GPUSCHED_TRACEBACK", "1")
    assert isinstance(gpusched("compare", "-p", "srft").exception, ValueError)


@pytest.mark.parametrize(
    "command",
    [
        "",
        "compare",
        "run",
        "size",
        "policies",
        "trace",
        "trace info",
        "trace convert",
        "trace generate",
    ],
)
def test_help_fits_a_terminal_and_goes_to_stdout(gpusched, command: str) -> None:
    result = gpusched(*command.split(), "--help")
    assert result.exit_code == 0
    assert f"Usage: gpusched {command}".strip() in result.stdout.replace("root", "gpusched")
    assert max(map(len, result.stdout.splitlines())) <= 80
    assert "\\[" not in result.stdout


@pytest.mark.parametrize("command", ["compare", "run", "size", "policies", "trace convert"])
def test_help_shows_examples(gpusched, command: str) -> None:
    _, _, examples = gpusched(*command.split(), "--help").stdout.partition("Example")
    assert f"gpusched {command}" in examples


def test_help_shows_defaults_and_groups(gpusched) -> None:
    text = gpusched("compare", "--help").stdout
    for part in ("Workload", "Cluster", "Run", "Output", "[default: consolidated]"):
        assert part in text
