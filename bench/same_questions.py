"""The questions of ``bench.same_as``; runs in the interpreter of each side."""

from __future__ import annotations

import time

# Before anything is imported that takes them by name: times are then equal on both sides.
time.perf_counter = time.thread_time = lambda: 0.0

import argparse  # noqa: E402
import importlib  # noqa: E402
import json  # noqa: E402
import os  # noqa: E402
import re  # noqa: E402
import shutil  # noqa: E402
import signal  # noqa: E402
import subprocess  # noqa: E402
import sys  # noqa: E402
from collections.abc import Callable, Iterator  # noqa: E402
from pathlib import Path  # noqa: E402
from typing import Any, Final  # noqa: E402

import polars as pl  # noqa: E402

import gpusched as gs  # noqa: E402
from bench import same_values  # noqa: E402
from bench.same_calls import Draw, draw_call  # noqa: E402

ROOT: Final = Path(__file__).resolve().parents[1]
# The package of then knows the first model of workloads alone.
MODEL: Final = gs.generate.__kwdefaults__
if MODEL:
    MODEL["model"] = 1
PATIENCE_S: Final = 120
Question = tuple[str, Callable[[], Any]]
SUBMODULES: Final = (
    "bounds", "clusters", "deciding", "engine", "generator", "gym", "models", "plot", "plugins",
    "prediction", "readable", "reporting", "statistics", "studies", "sweeping", "testing",
    "traces", "tuning",
)  # fmt: skip
SMALL: Final = 100_000
"""Bytes of the greatest file that every reader gets; greater ones go through that which fits."""
READERS: Final = {
    "read_cluster": lambda path: gs.read_cluster(path),
    "read_requests": lambda path: gs.traces.read_requests(path),
    "read_state": lambda path: gs.deciding.read_state(path),  # type: ignore[attr-defined]
    "read_throughputs": lambda path: gs.models.read_throughputs(path),
    "read_pollux": lambda path: gs.models.read_pollux(path),
    "read_profiles": lambda path: gs.models.read_profiles(path),
    "read_topology": lambda path: gs.clusters.read_topology(path),
    "load_result": lambda path: gs.load_result(path),
    "audit_trace": lambda path: gs.traces.audit_trace(gs.read_trace(path)),
}
FROZEN: Final = (
    "import sys, time; time.perf_counter = time.thread_time = lambda: 0.0; "
    "import gpusched; (gpusched.generate.__kwdefaults__ or {}).update(model=1); "
    "sys.argv[0] = 'gpusched'; from gpusched.__main__ import main; sys.exit(main())"
)
STUDY: Final = """name = "loads"
seeds = [1, 2]
policies = ["fifo", "srtf", "easy"]
baseline = "fifo"
[[traces]]
generate = "philly"
jobs = 60
loads = [0.7, 0.9]
%s[[clusters]]
servers = 4
gpus = 8
""" % ("model = 1\n" if MODEL else "")
SPACE: Final = """[[space]]
policy = "2d-las"
promote = { low = 1, high = 1000, log = true }
[[space]]
policy = "las"
tune = ["period_s"]
"""
STATE: Final[dict[str, Any]] = {
    "now_s": 1800,
    "cluster": {"servers": [{"count": 2, "gpus": 8}]},
    "jobs": [
        {"id": "wide", "submit_s": 10, "gpus": 16, "service_s": 60},
        {"id": "runs", "submit_s": 0, "gpus": 8, "service_s": 3600, "start_s": 0,
         "held": [{"server": 1, "gpus": [0, 1, 2, 3, 4, 5, 6, 7]}]},
        {"id": "small", "submit_s": 20, "gpus": 4, "service_s": 60, "user": "ann"},
    ],
}  # fmt: skip
STATE_POLICIES: Final = ("fifo", "fifo-skip", "sjf", "srtf", "2d-las", "easy", "matching", "afs")


def signatures(setting: Setting) -> Iterator[Question]:
    """Ask for what can be called, and how."""
    yield "names", lambda: sorted(gs.__all__)
    for name in setting.names["all"]:
        yield (
            name,
            lambda name=name: same_values.Plain(
                same_values.signature(getattr(gs, name), setting.mask)
            ),
        )
    for name in SUBMODULES:
        yield f"submodule {name}", lambda name=name: same_values.Plain(_members(name, setting.mask))
    for listed in ("policies", "placements", "speeds", "contentions", "predictors", "metrics"):
        yield listed, lambda listed=listed: getattr(gs, listed)()


def _members(name: str, mask: same_values.Mask) -> Any:
    module = importlib.import_module(f"gpusched.{name}")
    told: dict[str, Any] = {same_values.OWN_TYPE: "module"}
    for member in sorted(getattr(module, "__all__", ())):
        told[member] = same_values.signature(getattr(module, member), mask)
    return told


def calls(setting: Setting) -> Iterator[Question]:
    """Make random calls, each from a stream of random numbers of its own."""
    for number in range(setting.calls):
        draw = Draw(f"{setting.seed}:{number}", setting.names, setting.here)
        name, call = draw_call(draw)
        yield f"{number} {name}", call


def mistakes(setting: Setting) -> Iterator[Question]:
    """Make the mistakes of newcomers."""
    from tests import mistakes as known

    with known.folder(_fresh(setting.here / "mistakes")):
        names = known.given()
        for expressions in known.PYTHON.values():
            for expression in expressions:
                yield expression, lambda expression=expression: eval(expression, dict(names))


def readers(setting: Setting) -> Iterator[Question]:
    """Read every file with every reader."""
    for shown, path in _files():
        yield f"{shown} read_trace", lambda path=path: gs.read_trace(path)
        size = path.stat().st_size
        if size > SMALL:
            continue
        for name, read in READERS.items():
            yield f"{shown} {name}", lambda path=path, read=read: read(path)
        for name in setting.names["formats"]:
            yield f"{shown} as {name}", lambda path=path, name=name: gs.read_trace(path, name)
    for shown, path in _folders():
        for name in ("read_pollux", "read_throughputs", "read_state"):
            yield f"{shown} {name}", lambda path=path, name=name: READERS[name](path)


def _roots() -> Iterator[tuple[str, Path]]:
    yield "excerpts", ROOT / "tests" / "excerpts"
    data = os.environ.get("GPUSCHED_DATA")
    if data:
        yield "data", Path(data).resolve()


def _files() -> Iterator[tuple[str, Path]]:
    left_out = (".py", ".sh", ".md", "LICENSE", "expected.txt", ".pyc")
    for name, root in _roots():
        for path in sorted(path for path in root.rglob("*") if path.is_file()):
            if not path.name.endswith(left_out):
                yield f"{name}/{path.relative_to(root)}", path


def _folders() -> Iterator[tuple[str, Path]]:
    for name, root in _roots():
        for path in sorted(path for path in root.rglob("*") if path.is_dir()):
            if path.name != "__pycache__":
                yield f"{name}/{path.relative_to(root)}", path


def states(setting: Setting) -> Iterator[Question]:
    """Decide on every state that can be read, and ask when its first waiting jobs start."""
    written = setting.here / "state.json"
    written.write_text(json.dumps(STATE))
    found: list[tuple[str, Any]] = [("state.json", written)]
    for shown, path in _files():
        if path.suffix == ".json" and "kueue" in path.name:
            found.append((shown, path))
    for shown, path in _folders():
        parts = sorted(path.glob("s*.json"))
        if (len(parts) == 2 and path.parent.name == "reports") or path.name == "slurm":
            found.append((shown, parts))
    for shown, source in found:
        try:
            state = gs.deciding.read_state(source)  # type: ignore[attr-defined]
        except Exception as raised:
            yield f"{shown} refused", lambda raised=raised: raised
            continue
        yield f"{shown} read", lambda state=state: state
        for policy in STATE_POLICIES:
            for placement in ("consolidated", "best-fit"):
                chosen: dict[str, Any] = {"policy": policy, "placement": placement}
                yield f"{shown} {policy} {placement}", lambda s=state, c=chosen: gs.decide(s, **c)
                yield f"{shown} {policy} {placement} again", lambda s=state, c=chosen: _again(s, c)
        waits = [job for job in range(len(state.jobs)) if not state.is_running[job]]
        for job in waits[:2]:
            for policy in ("fifo", "srtf", "easy"):
                chosen = {"policy": policy, "samples": 30, "seed": 1, "threads": 1}
                for history in (None, gs.generate("philly", 200, seed=2)):
                    yield (
                        f"{shown} when {job} {policy} history={history is not None}",
                        lambda j=job, s=state, c=chosen, h=history: gs.when(j, s, history=h, **c),
                    )


def _again(state: Any, chosen: dict[str, Any]) -> Any:
    first = gs.decide(state, memory=b"", **chosen)
    return gs.decide(state, memory=first.memory, **chosen)


def kept(setting: Setting) -> Iterator[Question]:
    """Read what the old package wrote, and go on with it."""
    here = _fresh(setting.here / "kept")
    shutil.copytree(setting.kept, here, dirs_exist_ok=True)
    for path in sorted(here.glob("*.npz")):
        yield path.name, lambda path=path: gs.load_result(path)
    for path in sorted(here.glob("*.run")):
        yield path.name, lambda path=path: _finish(gs.resume(path))
    for path in sorted(here.glob("*.model")):
        yield path.name, lambda path=path: _predictions(path)
    for path in sorted(here.glob("*.parquet")):
        yield path.name, lambda path=path: gs.read_trace(path)
    memory, state = here / "memory", here / "state.json"
    yield (
        "memory",
        lambda: gs.decide(
            gs.deciding.read_state(state),  # type: ignore[attr-defined]
            policy="2d-las",
            memory=memory.read_bytes(),
        ),
    )
    yield "sweep", lambda: gs.sweep(str(here / "study.toml"), folder=str(here / "study.sweep"))
    yield "sweep status", lambda: gs.sweeping.sweep_status(str(here / "study.sweep"))  # type: ignore[attr-defined]
    yield (
        "sweep again",
        lambda: sorted(setting.mask(path.name) for path in (here / "study.sweep").rglob("*")),
    )


def _finish(run: Any) -> Any:
    run.run()
    return run.result()


def _predictions(path: Path) -> Any:
    found = gs.prediction.load_predictor(path)
    return gs.simulate(gs.generate("philly", 80, seed=9), gs.Cluster.uniform(4), policy="sjf",
                       predictor=found)  # fmt: skip


def write_kept(folder: Path) -> None:
    """Write results, predictors, saved runs and a sweep half done, for both sides to read."""
    folder.mkdir()
    cluster = gs.Cluster.uniform(4)
    traces = {name: gs.generate(name, 80, 1.1, cluster, 3) for name in ("philly", "helios", "acme")}
    for (name, trace), policy in zip(traces.items(), ("srtf", "easy", "2d-las"), strict=True):
        gs.simulate(trace, cluster, policy=policy).save(folder / f"{name}.npz")
        run = gs.Simulation(trace, cluster, policy=policy)
        run.run_until(float(trace.submit_s[40]))
        run.save(folder / f"{name}.run")
        trace.to_polars().write_parquet(folder / f"{name}.parquet")
    for name in ("group-mean", "last-value", "forest"):
        learner: Any = gs.prediction.predictor(name)
        learner.train(traces["helios"]).save(folder / f"{name}.model")
    waiting = [job for job in STATE["jobs"] if "held" not in job]  # what remembers begins so
    (folder / "state.json").write_text(json.dumps({**STATE, "jobs": waiting}))
    state = gs.deciding.read_state(folder / "state.json")  # type: ignore[attr-defined]
    (folder / "memory").write_bytes(gs.decide(state, policy="2d-las", memory=b"").memory)
    (folder / "study.toml").write_text(STUDY.replace("[1, 2]", "[1]"))
    gs.sweep(str(folder / "study.toml"), folder=str(folder / "study.sweep"))
    (folder / "study.toml").write_text(STUDY)


def commands(setting: Setting) -> Iterator[Question]:
    """Run command lines, each in a folder of its own."""
    from tests.mistakes import CLI, FILES

    lines = [line for part in CLI.values() for line in part]
    lines += (ROOT / "bench" / "same_commands.txt").read_text().splitlines()
    files = {
        **FILES, "study.toml": STUDY, "space.toml": SPACE, "state.json": json.dumps(STATE),
        "result.npz": (setting.kept / "philly.npz").read_bytes(),
    }  # fmt: skip
    for line in dict.fromkeys(lines):
        if line and not line.startswith("#"):
            yield line, lambda line=line: same_values.Plain(_command(line, files, setting))


def _command(line: str, files: dict[str, Any], setting: Setting) -> Any:
    folder = _fresh(setting.here / "command")
    for name, held in files.items():
        (folder / name).write_bytes(held if isinstance(held, bytes) else held.encode())
    (folder / "folder").mkdir()
    (folder / "folder.csv").mkdir()
    text = (folder / "jobs.csv").read_text() if " - " in f" {line} " else ""
    done = subprocess.run(
        [sys.executable, "-P", "-c", FROZEN, *line.split()], cwd=folder, capture_output=True,
        text=True, input=text, check=False,
    )  # fmt: skip
    told: dict[str, Any] = {"exit": done.returncode}
    try:
        told["json"] = same_values.describe(_by_name(json.loads(done.stdout)), setting.mask)
    except ValueError:
        told["stdout"] = same_values.describe(_narrow(done.stdout), setting.mask)
    told["stderr"] = same_values.describe(done.stderr, setting.mask)
    left: dict[str, list[Path]] = {}
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        if files.get(path.name) is None or path.parent != folder:
            left.setdefault(setting.mask(str(path.relative_to(folder))), []).append(path)
    told["files"] = {
        name: same_values.file(paths[0], setting.mask)
        if str(paths[0]).endswith(name)
        else _parts(paths, setting.mask)
        for name, paths in left.items()
    }
    return told


def _parts(paths: list[Path], mask: same_values.Mask) -> Any:
    """Return what files hold whose names vary; rows of tables go to one or the other by the name
    of a run, which varies too.
    """
    if paths[0].suffix != ".parquet":
        return sorted((same_values.file(path, mask) for path in paths), key=json.dumps)
    rows = pl.concat([pl.read_parquet(path) for path in paths], how="diagonal_relaxed")
    rows = rows.with_columns(pl.lit("<varies>").alias("run"))
    plain = [name for name, kind in rows.schema.items() if not kind.is_nested()]
    return same_values.describe(rows.sort(plain), mask)


def _narrow(table: str) -> str:
    """Return a text without column padding, which depends on one cell."""
    return re.sub(r"(?<=\S) {2,}(?=\S)", "  ", re.sub("─+", "─", table))


def _by_name(held: Any) -> Any:
    """Return plain JSON, in which lists of what has names are in order of these, under them."""
    if isinstance(held, dict):
        return {key: _by_name(value) for key, value in held.items()}
    if not isinstance(held, list):
        return held
    named = {
        " ".join(str(one[key]) for key in ("kind", "key", "name") if key in one): one
        for one in held
        if isinstance(one, dict) and ("name" in one or "key" in one)
    }
    return _by_name(named) if held and len(named) == len(held) else [_by_name(one) for one in held]


class Setting:
    """Where a side works, and what it draws from."""

    def __init__(self, folder: Path, calls: int = 0, seed: int = 0) -> None:
        self.here = folder
        self.kept = folder.parent / "kept"
        self.mask = same_values.mask_of(folder)
        self.calls, self.seed = calls, seed
        names = folder.parent / "names.json"
        self.names = json.loads(names.read_text()) if names.exists() else {}


def write_names(path: Path) -> None:
    """Write the names from which calls are drawn: those of the old package, for both sides."""
    from gpusched.traces.format_registry import trace_formats

    names: dict[str, Any] = {"all": sorted(gs.__all__), "formats": list(trace_formats())}
    for kind in ("policies", "placements", "speeds", "contentions", "predictors"):
        entries = getattr(gs, kind)()
        names[kind] = list(entries)
        names[f"{kind} parameters"] = {
            name: [
                {key: parameter.get(key) for key in ("name", "default", "choices")}
                for parameter in entry.parameters
            ]
            for name, entry in entries.items()
        }
    names["metrics"] = list(gs.metrics())
    path.write_text(json.dumps(names))


def _fresh(folder: Path) -> Path:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


def _too_long(*_: Any) -> None:
    raise TimeoutError(f"no answer after {PATIENCE_S} s")


def main() -> None:
    """Write the names and files, or answer a section, a line for each question and answer."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("section")
    parser.add_argument("out", type=Path)
    parser.add_argument("--skip", type=int, default=0)
    parser.add_argument("--calls", type=int, default=0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--every", type=int, default=1)
    given = parser.parse_args()
    if given.section == "prepare":
        print(gs.__file__)
        if not given.out.exists():
            write_names(given.folder.parent / "names.json")
            write_kept(given.out)
        return
    setting = Setting(given.folder, given.calls, given.seed)
    os.chdir(given.folder)
    signal.signal(signal.SIGALRM, _too_long)
    with given.out.open("w") as out:
        for number, (question, ask) in enumerate(globals()[given.section](setting)):
            if number < given.skip or number % given.every:
                continue
            out.write(json.dumps({"question": question}) + "\n")
            out.flush()
            signal.alarm(PATIENCE_S)
            said = same_values.answer(ask, setting.mask)
            signal.alarm(0)
            out.write(json.dumps({"question": question, "answer": said}) + "\n")
            out.flush()


if __name__ == "__main__":
    main()
