"""Changes bytes of cases, of the runs of a study and of those of a paper: none is taken for whole.

    python -m tests.campaigns.changed_stores --cases 100000 --seed 1 [--only case|study|paper]

Results, predictors and saved runs have :mod:`tests.changed_files`. A case is refused by the replay
tool (GPUSCHED_REPLAY, or that of `.ci/dev.sh`) with a line that names it; a part of a study is left
out and told of; a run of a paper counts as none.
"""

import argparse
import os
import random
import subprocess
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

import gpusched as gs
from gpusched.studies.calls import Outcome
from gpusched.studies.kept_runs import KeptRuns
from gpusched.studies.run_store import RunStore
from tests.changed_files import BYTES, swapped_case

ROOT = Path(__file__).resolve().parents[2]
BATCH = 500
CHANGES = tuple(change for change in BYTES if change is not swapped_case)


def changes(data: bytes, num: int, seed: int, of: str) -> Iterator[tuple[str, bytes]]:
    """Yield changes of a file, each with its name; none leaves it as it is."""
    for case in range(num):
        draw = random.Random(f"{of}/{seed}/{case}")
        change = draw.choice(CHANGES)
        try:
            made = change(data, draw)
        except (ValueError, IndexError):  # too short for that, or without such a record
            made = data
        while made == data:
            place = draw.randrange(len(data))
            made = data[:place] + bytes([data[place] ^ draw.randrange(1, 256)]) + data[place + 1 :]
        yield f"{of} {case}, {change.__name__}", made


def replay_tool() -> Path:
    """Return the native tool that reads cases."""
    tool = Path(os.environ.get("GPUSCHED_REPLAY", ROOT / "build/dev/gpusched-replay"))
    if not tool.exists():
        raise FileNotFoundError(f"{tool}: build it, or set GPUSCHED_REPLAY")
    return tool


def cases(num: int, seed: int, folder: Path) -> Iterator[str]:
    """Change cases, of which one has profiles and deadlines; yield what was taken for whole."""
    tool = replay_tool()
    trace = gs.generate("philly", jobs=40, load=0.9, seed=3)
    gs.simulate(trace, gs.Cluster.uniform(16, 8), policy="srtf").save_case(folder / "plain")
    richer = gs.generate("philly", jobs=20, load=0.9, seed=4).with_deadlines(seed=1)
    gs.simulate(richer, gs.Cluster.uniform(16, 8), policy="edf").save_case(folder / "richer")
    whole = [(folder / name).read_bytes() for name in ("plain", "richer")]
    made = [changes(data, num // 2, seed, f"case {at}") for at, data in enumerate(whole)]
    left = [(what, data) for one in made for what, data in one]
    for begin in range(0, len(left), BATCH):
        part = left[begin : begin + BATCH]
        with tempfile.TemporaryDirectory() as name:
            for at, (_, data) in enumerate(part):
                (Path(name) / f"{at:05}").write_bytes(data)
            done = subprocess.run(
                [tool, name, "--seconds", "10"], capture_output=True, text=True, check=False
            )
            if done.returncode != 2:
                yield f"cases from {begin} on: exit code {done.returncode}"
            told = done.stderr.splitlines()
            for line, (what, _), error in zip(done.stdout.splitlines(), part, told, strict=True):
                path = line.split("  ")[-1]
                if not line.startswith("refused") or path not in error:
                    yield what


def study(num: int, seed: int, folder: Path) -> Iterator[str]:
    """Change a part of a study; yield what was taken for whole, or not told of."""
    store = RunStore(folder)
    store.add([{"run": f"{at:032x}", "mean_jct_s": 1.5 * at, "error": None} for at in range(50)])
    store.add(
        [{"run": f"{at:032x}", "mean_jct_s": 2.5 * at, "error": None} for at in range(50, 60)]
    )
    part = max((folder / "runs").glob("*.parquet"), key=lambda path: path.stat().st_size)
    whole = part.read_bytes()
    assert len(store.read()) == 60
    for what, made in changes(whole, num, seed, "study"):
        part.write_bytes(made)
        if len(store.read()) != 10 or len(store.damaged) != 1 or str(part) not in store.damaged[0]:
            yield what


def made_here(task: int) -> dict[str, list[float]]:
    """Return something that is worth keeping."""
    return {"values": np.linspace(0.0, task, 40).tolist()}


def paper(num: int, seed: int, folder: Path) -> Iterator[str]:
    """Change a kept run of a paper; yield what was taken for whole."""
    kept = KeptRuns(folder)
    whole_run = Outcome(made_here(7), processor_s=0.5)
    kept.keep(made_here, 7, whole_run)
    (path,) = folder.glob("*.run")
    whole = path.read_bytes()
    assert kept.find(made_here, 7) == whole_run
    for what, made in changes(whole, num, seed, "paper"):
        path.write_bytes(made)
        if kept.find(made_here, 7) is not None:
            yield what


STORES: dict[str, Callable[[int, int, Path], Iterator[str]]] = {
    "case": cases, "study": study, "paper": paper,
}  # fmt: skip


def check(store: str, num: int, seed: int) -> list[str]:
    """Change files of a store; return the changes that were taken for whole."""
    with tempfile.TemporaryDirectory() as name:
        return list(STORES[store](num, seed, Path(name)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--cases", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", choices=list(STORES))
    given = parser.parse_args()
    taken: Counter[str] = Counter()
    for store in [given.only] if given.only else STORES:
        missed = check(store, given.cases, given.seed)
        taken[store] = len(missed)
        print(f"{store}: {given.cases:,} changed, {len(missed):,} taken for whole", flush=True)
        for what in missed[:10]:
            print(f"  {what}")
    raise SystemExit(1 if taken.total() else 0)


if __name__ == "__main__":
    main()
