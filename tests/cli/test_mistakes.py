"""A mistake of the user is one line on stderr and exit code 2, never a traceback.

Those that newcomers make are in tests/mistakes.py; docs/reference/messages.md explains the answers.
"""

from pathlib import Path

import gpusched as gs
from tests.each import each
from tests.unit.studies.site_logs import jobs, with_waits

TUNE = "tune study.toml --space space.toml --metric mean_jct_s"
MISTAKES = [
    ("compare -p srft", "did you mean 'srtf'"),
    ("compare --placement consolidatd", "did you mean 'consolidated'"),
    ("compare -p 2d-las:presett=lucid", "did you mean 'preset'"),
    ("compare -p 2d-las:preset=lucidd", "lucid"),
    ("compare -p 2d-las:period_s=soon", "period_s"),
    ("compare --predictor oracel", "oracle"),
    ("compare --load heavy", "'--load': 'heavy' "),
    ("compare --cluster nowhere.toml --servers 4", "cannot be combined"),
    ("compare good.csv --column a", "KEY=VALUE"),
    ("compare odd.csv", "(name yours: --column service_s=...)"),
    ("compare both.csv", "choose one with --column gpus=num_gpus"),
    ("compare good.csv --column gpu=n", "--column: unknown name 'gpu'; did you mean 'gpus'?"),
    ("compare --speed ring:overhead_s=-1 --profiles zoo", "overhead_s is -1.0"),
    ("compare --speed ring --profiles zoo", "nic_gbps"),
    ("compare --contention shard", "did you mean 'shared'"),
    ("compare --contention shared:scaling=0 --profiles zoo", "scaling is 0"),
    ("compare --profiles zooo --speed ring", "zooo: No such file"),
    ("compare --profiles odd.toml --speed ring", "odd.toml: Object contains unknown field"),
    ("compare --speed stages", "--speed stages: needs --graphs zoo"),
    ("compare --graphs zoo", "nic_gbps"),
    ("compare --graphs zoo --speed fixed", "--graphs zoo: has no effect under --speed fixed"),
    ("compare --graphs zooo", "--graphs: 'zooo' is not of the form zoo"),
    ("compare --graphs zoo:heavy=1", "--graphs: 'zoo:heavy=1' is not of the form zoo"),
    ("compare --graphs zoo:heavy_share=2", "heavy_share '2' must lie in 0..1"),
    ("compare --intra-gbps fast", "--intra-gbps"),
    ("compare --oversubscription 2", "--oversubscription: needs --servers-per-rack"),
    ("compare --cluster odd.toml --nic-gbps 10",
     "--cluster: cannot be combined with network options"),
    ("run good.csv -p count", "count"),
    ("compare -p a:x=1 -p y=2", "follows no policy"),
    ("compare -p a,x=1", "a:x=1"),
    ("compare -p ,", "names no policy"),
    ("run -p fifo --jobs 20 --explain 20", "there is no job 20; the last one is 19"),
    ("trace generate phily out.csv", "did you mean 'philly'"),
    ("decide --stream --state a.json", "--stream: cannot be combined with --state"),
    ("reproduce fgd --dask a:1 --ray local", "--dask and --ray: cannot be combined"),
    ("policies srft", "did you mean 'srtf'"),
    ("metrics mean_jct", "unknown metric or bound 'mean_jct'; did you mean 'mean_jct_s'?"),
    ("trace convert good.csv out.xyz", "xyz"),
    ("run -p fifo --servers 4 --jobs 200 --report a.html --gantt 5",
     "--gantt: '5' must be two increasing times"),
    ("run -p fifo --servers 4 --jobs 200 --report a.html --gantt 9:5",
     "--gantt: '9:5' must be two increasing times"),
    ("run -p fifo --servers 4 --jobs 200 --report a.html --gantt 0:inf",
     "--gantt: '0:inf' must be two increasing"),
    ("run -p fifo --servers 4 --jobs 200 --gantt 0:5", "--gantt: needs --report or --out"),
    ("run -p fifo --by users", "--by: unknown 'users'; did you mean 'user'"),
    ("run jobs.csv -p fifo --by user", "has no column user"),
    ("run -p fifo --price dear", "--price: 'dear' must be a number"),
    ("run -p fifo --price A100=2", "no GPU is of type 'A100'"),
    ("run -p fifo --price -1", "must be finite and not negative"),
    ("compare -p fifo --losers", "--losers: needs two policies or more"),
    ("compare -p fifo,sjf --baseline srtf", "--baseline: 'srtf' is not compared"),
    ("compare -p fifo,sjf --by years", "--by: unknown 'years'"),
    ("run -p fifo --jobs 20 --deadlines tight=1",
     "--deadlines: unknown 'tight'; did you mean 'tightness'?"),
    ("run -p fifo --jobs 20 --deadlines seed=1,seed=2", "--deadlines: seed is given twice"),
    ("run -p fifo --jobs 20 --deadlines tightness=x",
     "--deadlines: tightness 'x' must be a number"),
    ("run -p fifo --jobs 20 --deadlines tightness=0", "tightness: 0.0 must be finite and positive"),
    ("run -p fifo --jobs 20 --speed table", "--speed table: needs --throughputs FILE"),
    ("run -p fifo --jobs 20 --throughputs t.csv --profiles zoo",
     "cannot be combined with --profiles"),
    ("run -p fifo --jobs 20 --throughputs t.csv --speed fixed",
     "has no effect under --speed fixed"),
    ("run -p fifo --jobs 20 --throughputs none.csv", "none.csv"),
    ("size jobs.csv", "--goal"),
    ("size jobs.csv --goal p95", "must have the form METRIC < NUMBER"),
    ("size jobs.csv --goal p95_wait<5", "did you mean 'p95_wait_s'"),
    ("size jobs.csv --goal p95_wait_s<5 --prices many", "--prices: 'many' must be a number"),
    ("size jobs.csv --goal p95_wait_s<5 --prices V100=", "KEY=VALUE"),
    ("size jobs.csv --goal p95_wait_s<5 --prices 1 --price-per rack", "'gpu' or 'server'"),
    ("size jobs.csv --goal p95_wait_s<5 --types V100,V100", "each once"),
    ("size jobs.csv --goal p95_wait_s<5 --gpus-per-server x", "--gpus-per-server: 'x'"),
    ("size jobs.csv --goal p95_wait_s<5 --gpus-per-server 0", "1..64"),
    ("size jobs.csv --goal p95_wait_s<5 --max-servers 1", "cannot fit the largest job"),
    ("size jobs.csv --goal p95_wait_s<5 --block-days 0",
     "--block-days: 0 must be finite and positive"),
    ("size jobs.csv --goal p95_wait_s<5 -p srft", "did you mean 'srtf'"),
    ("fidelity", "TRACE"),
    ("fidelity bare.csv", "bare: no recorded starts (source_wait_s)"),
    ("fidelity log.parquet --servers six", "--servers: 'six' must be whole numbers"),
    ("fidelity log.parquet --servers 6,,8", "--servers: '6,,8' must be whole numbers"),
    ("fidelity log.parquet --servers 0", "servers: 0 must lie in 1..262,144"),
    ("fidelity log.parquet --placements kappa=2", "--placements: 'kappa=2' follows no placement"),
    ("fidelity log.parquet --placements spred", "did you mean 'spread'"),
    ("fidelity log.parquet -p esay", "did you mean 'easy'"),
    ("fidelity log.parquet --warm-up 1e9", "at least 10 are needed"),
    ("fidelity log.parquet --tail -1", "tail_s: -1"),
    ("fidelity log.parquet --cluster x.toml --servers 4", "--cluster: cannot be combined"),
    ("fidelity nowhere.csv", "nowhere.csv: No such file"),
    ("whatif log.parquet", "--change: at least one is needed, such as --change servers=+4"),
    ("whatif log.parquet --change server=+4", "did you mean 'servers'"),
    ("whatif log.parquet --change servers", "must be of the form KEY=VALUE"),
    ("whatif log.parquet --change servers=-60", "change servers=-60: count: -"),
    ("whatif log.parquet --change policy=esay", "did you mean 'easy'"),
    ("whatif log.parquet --base esay --change load=1", "did you mean 'easy'"),
    ("whatif log.parquet --change load=high", "change load=high: must be a positive number"),
    ("whatif log.parquet --change speed=ring", "speed=ring: "),
    ("whatif nowhere.csv --change load=1", "nowhere.csv: No such file"),
    ("sweep study.toml --table mean_jct", "--table: unknown metric 'mean_jct'; did you mean"),
    ("sweep study.toml --threads 2 --processes 2", "--threads and --processes: cannot be combined"),
    ("sweep study.toml --only zz", "no run of the study has a name that starts with 'zz'"),
    ("sweep study.toml --dask x:1 --ray local", "--dask and --ray: cannot be combined"),
    ("tune study.toml --space space.toml --metric mean_jct",
     "metric: unknown metric 'mean_jct'; did you mean"),
    (f"{TUNE} --threads 2 --processes 2", "--threads and --processes: cannot be combined"),
    ("tune study.toml --space nowhere.toml --metric mean_jct_s",
     "nowhere.toml: No such file or directory"),
    (f"{TUNE} --trials 0", "--trials"),
    (f"{TUNE} --sampler tpee", "sampler: unknown 'tpee'; did you mean 'tpe'?"),
    ("run -p fifo --report new/folder/a.html --placement spred", "did you mean 'spread'"),
    (f"{TUNE} --report study.toml", "study.toml"),
    ("sweep wrong.toml",
     "wrong.toml: Object contains unknown field `sedes`; did you mean 'seeds'? - at `$`"),
    ("sweep nowhere.toml", "nowhere.toml: No such file or directory"),
    ("tune study.toml --space wrong-space.toml --metric mean_jct_s",
     "wrong-space.toml: Object contains unknown field `lwo`; did you mean 'low'?"),
]  # fmt: skip


STUDY = """
name = "loads"
seeds = [1, 2]
policies = ["fifo", "sjf"]

[[traces]]
generate = "philly"
jobs = 60
loads = [0.7]

[[clusters]]
servers = 8
gpus = 8
"""
SPACE = """
[[space]]
policy = "las"
period_s = { low = 10, high = 600, log = true }
"""
FILES = {
    "good.csv": "submit_s,service_s,gpus\n0,10,1\n5,20,2\n",
    "bare.csv": "submit_s,service_s,gpus\n0,10,1\n5,20,2\n",
    "odd.csv": "submit_s,length,gpus\n0,10,1\n",
    "both.csv": "submit_s,service_s,gpus,num_gpus\n0,10,1,2\n",
    "odd.toml": "[[serverz]]\ncount = 1\ngpus = 8\n",
    "study.toml": STUDY,
    "wrong.toml": STUDY.replace("seeds", "sedes"),
    "space.toml": SPACE,
    "wrong-space.toml": SPACE.replace("low", "lwo"),
}


@each(("arguments", "message"), MISTAKES)
def test_a_mistake_is_one_line_and_leaves_no_file_behind(
    gpusched, jobs_csv, tmp_path, arguments, message
):
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    log = jobs(0, 60)
    with_waits(log, log.service_us).to_polars().write_parquet(tmp_path / "log.parquet")
    there, folders = files_in(tmp_path), folders_in(tmp_path)
    result = gpusched(*arguments.split())
    assert result.exit_code == 2, result.output
    assert message in " ".join(result.stderr.split())
    assert result.stderr.startswith("gpusched: ")
    assert result.stderr.count("\n") == 1
    assert result.stdout == ""
    assert files_in(tmp_path) == there
    assert folders_in(tmp_path) == folders


def files_in(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def folders_in(folder: Path) -> set[Path]:
    return {path for path in folder.rglob("*") if path.is_dir()}


def test_a_defect_of_ours_keeps_its_traceback(gpusched, monkeypatch):
    def fails(*_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(gs.Policy, "parse", fails)
    result = gpusched("compare", "-p", "fifo")
    assert isinstance(result.exception, ZeroDivisionError)


def test_the_traceback_of_a_mistake_can_be_asked_for(gpusched, monkeypatch):
    monkeypatch.setenv("GPUSCHED_TRACEBACK", "1")
    assert isinstance(gpusched("compare", "-p", "srft").exception, ValueError)


@each(
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
def test_help_fits_a_terminal_and_goes_to_stdout(gpusched, command):
    result = gpusched(*command.split(), "--help")
    assert result.exit_code == 0
    assert f"Usage: gpusched {command}".strip() in result.stdout.replace("root", "gpusched")
    assert max(map(len, result.stdout.splitlines())) <= 80
    assert "\\[" not in result.stdout


@each("command", ["compare", "run", "size", "policies", "trace convert"])
def test_help_shows_examples(gpusched, command):
    _, _, examples = gpusched(*command.split(), "--help").stdout.partition("Example")
    assert f"gpusched {command}" in examples


def test_help_shows_defaults_and_groups(gpusched):
    text = gpusched("compare", "--help").stdout
    for part in ("Workload", "Cluster", "Run", "Output", "[default: consolidated]"):
        assert part in text
