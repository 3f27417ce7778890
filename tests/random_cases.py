"""Long campaigns of random cases: the core against the readable engine, and against its laws.

    python -m tests.random_cases SEAM [--cases N] [--seed S] [--jobs 2] [--save DIR]
    python -m tests.random_cases SEAM --seed S --only I
    python -m tests.random_cases SEAM --cases N --replay build/sanitize/gpusched-replay

SEAM is ``order``, ``placement``, ``speed``, ``scheduler``, ``demands``, ``nodes``, ``parts``,
``outages``, ``holds``, ``elastic``, ``fast-path`` or ``all``. The cases are those of the property
tests, drawn from a seed: case I of seed S is the same for ever, whatever the number of cases and
processes. Each is run in both engines, and every column and the digest are compared; a policy
without a readable twin has to satisfy the audit and to give the same digest twice (in ``holds`` the
readable engine repeats its schedule), and a fast path is compared with its slow twin. A case that
takes longer than ``--seconds`` is a failure.

Of the first failures the smallest failing case that taking jobs away leads to is printed, and with
``--save`` written: as text, and as a case for the replay tool where no Python takes part.

``--replay`` compares no engines. It saves the cases and has the given replay tool, built with some
sanitizer, run them: each must have the digest that it has in the package.

Exit code 1 if any case failed.
"""

from __future__ import annotations

import argparse
import functools
import sys
import time
from pathlib import Path

from tests.campaigns.replaying import replayed
from tests.campaigns.seams import SEAMS, trial_of
from tests.campaigns.trials import Difference, brief, shrunk
from tests.campaigns.workers import Tally, campaign

NUM_SHOWN = 10


def check(seam: str, seed: int, index: int) -> tuple[tuple[str, ...], str]:
    """Return the names of a case and the verdict."""
    trial = trial_of(seam, seed, index)
    try:
        return trial.names, trial.check()
    except Difference as difference:
        return trial.names, f"differs: {difference}"
    except Exception as error:
        return trial.names, f"broken: {type(error).__name__}: {error}"


def describe(seam: str, seed: int, failure: tuple[int, str], folder: Path | None) -> None:
    """Print a failure, as small as it can be made, and write it down."""
    index, verdict = failure
    trial = trial_of(seam, seed, index)
    is_quick = verdict.startswith(("differs", "broken"))
    smallest = shrunk(trial) if is_quick else trial
    print(f"\n{seam} --seed {seed} --only {index}: {verdict[:1000]}\n{brief(smallest)}", flush=True)
    if folder is None:
        return
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{seam}-{seed}-{index}"
    path.with_suffix(".txt").write_text(f"{verdict}\n\n{smallest}\n\n{trial}\n", "utf-8")
    if is_quick:
        smallest.save(path.with_suffix(".case"))


def report(seam: str, tally: Tally, seconds: float) -> None:
    """Print the counts."""
    for title, counts in zip(("policy", "placement", "speed"), tally.names, strict=False):
        row = ", ".join(f"{name} {count:,}" for name, count in sorted(counts.items()))
        print(f"{title}: {row}")
    counts = ", ".join(f"{kind} {count:,}" for kind, count in sorted(tally.verdicts.items()))
    slow, index = tally.slowest
    print(
        f"{seam}: {tally.num_cases:,} cases in {seconds:.0f} s: {counts}; "
        f"the slowest took {slow:.2f} s (--only {index})"
    )


def parsed(arguments: list[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.random_cases",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("seam", choices=[*SEAMS, "all"])
    parser.add_argument("--cases", type=int, default=10_000, help="of each seam")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0, help="number of the first case")
    parser.add_argument("--only", type=int, help="run this case alone")
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    parser.add_argument("--seconds", type=float, default=60.0, help="limit per case")
    parser.add_argument("--save", type=Path, help="where failing cases are written")
    parser.add_argument("--replay", type=Path, help="the tool that runs the saved cases")
    parser.add_argument("--threads", type=int, default=1, help="of the tool")
    return parser.parse_args(arguments)


def main(arguments: list[str] | None = None) -> int:
    """Run the campaigns of the command line; return 1 if any case failed."""
    given = parsed(arguments)
    num_failed = 0
    for seam in SEAMS if given.seam == "all" else [given.seam]:
        indices = range(given.first, given.first + given.cases)
        if given.only is not None:
            indices = range(given.only, given.only + 1)
        begin = time.monotonic()
        if given.replay is not None:
            num_failed += replayed(seam, given.seed, indices, given)
            continue
        work = functools.partial(check, seam, given.seed)
        tally = campaign(work, indices, given.jobs, given.seconds, progress)
        print("\r", end="", file=sys.stderr)
        for failure in sorted(tally.failures)[:NUM_SHOWN]:
            describe(seam, given.seed, failure, given.save)
        if len(tally.failures) > NUM_SHOWN:
            rest = sorted(tally.failures)[NUM_SHOWN:]
            print(f"\nand {len(rest)} others:")
            for index, verdict in rest[:200]:
                print(f"--only {index}: {verdict[:160]}")
        report(seam, tally, time.monotonic() - begin)
        num_failed += len(tally.failures)
    return 1 if num_failed else 0


def progress(tally: Tally) -> None:
    """Show on a terminal how far the campaign is."""
    if sys.stderr.isatty():
        text = f"\r{tally.num_cases:,} cases, {len(tally.failures)} failed"
        print(text, end="", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
