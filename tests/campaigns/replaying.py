"""Cases of a campaign, run by the native replay tool."""

import argparse
import subprocess
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.campaigns.seams import trial_of

AT_ONCE = 500
"""Cases that one process of the tool runs."""


def replayed(seam: str, seed: int, indices: range, given: argparse.Namespace) -> int:
    """Save the cases and replay them; return how many failed."""
    begin = time.monotonic()
    batches = [indices[at : at + AT_ONCE] for at in range(0, len(indices), AT_ONCE)]

    def batch(part: range) -> tuple[int, list[str]]:
        return replay_batch(seam, seed, part, given)

    with ThreadPoolExecutor(given.jobs) as pool:
        outcomes = list(pool.map(batch, batches))
    num_cases = sum(count for count, _ in outcomes)
    failures = [failure for _, found in outcomes for failure in found]
    for failure in failures:
        print(f"{seam} --seed {seed}, {failure}\n")
    seconds = time.monotonic() - begin
    print(f"{seam}: {num_cases:,} cases replayed in {seconds:.0f} s, {len(failures)} failed")
    return len(failures)


def replay_batch(
    seam: str, seed: int, part: range, given: argparse.Namespace
) -> tuple[int, list[str]]:
    """Replay some cases; after one that ends the tool, go on with those behind it."""
    with tempfile.TemporaryDirectory(prefix="gpusched-cases-") as name:
        folder = Path(name)
        expected: dict[int, str] = {}
        for index in part:
            digest = trial_of(seam, seed, index).save(folder / str(index))
            if digest is not None:
                expected[index] = digest
        failures: list[str] = []
        left = list(expected)
        while left:
            (folder / "list").write_text("".join(f"{folder / str(i)}\n" for i in left), "utf-8")
            status, found, message = run_tool(given, folder / "list")
            wrong = [i for i in left if found.get(i, expected[i]) != expected[i]]
            failures += [f"--only {i}: {found[i]}, not {expected[i]}" for i in wrong]
            missing = [i for i in left if i not in found]
            if not missing:
                if status not in (0, 2, 3):
                    failures.append(f"exit code {status}\n{message[-6000:]}")
                break
            keep(folder / str(missing[0]), given.save, f"{seam}-{seed}-{missing[0]}.case")
            failures.append(f"--only {missing[0]}: the tool ended\n{message[-6000:]}")
            left = missing[1:]
        return len(expected), failures


def run_tool(given: argparse.Namespace, cases: Path) -> tuple[int, dict[int, str], str]:
    """Return the exit code, a digest for each case that was run, and what the tool said."""
    command = [str(given.replay), f"@{cases}", "--verify", "--seconds", str(given.seconds)]
    command += ["--threads", str(given.threads)] if given.threads > 1 else []
    done = subprocess.run(command, capture_output=True, check=False, encoding="utf-8")
    rows = (line.split("  ", 1) for line in done.stdout.splitlines())
    found = {int(Path(path).name): digest for digest, path in rows}
    return done.returncode, found, done.stderr


def keep(case: Path, folder: Path | None, name: str) -> None:
    """Copy a case on which the tool ended."""
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(case.read_bytes())
