"""Ask an old build of the package and a new one the same, and list where their answers differ.

    PYTHONPATH=python python -m bench.same_as OLD_PYTHON [NEW_PYTHON]
        [--known FILE] [--only SECTION ...] [--every N]

``OLD_PYTHON`` is the interpreter of an environment in which the old package is installed, built
from the commit that is compared with; it is run without ``PYTHONPATH``. ``NEW_PYTHON`` (default:
this one) keeps it. Both answer at the same time, each in a process and a folder of its own, with a
constant clock, so that what depends on time is equal. The sections:

    signatures  parameters and defaults of ``gpusched.__all__``, and the names of its submodules
    calls       random calls of the public functions (``--calls``), good and bad ones
    mistakes    the mistakes of ``tests/mistakes.py`` in Python
    readers     every excerpt, and every file of ``$GPUSCHED_DATA``, through every reader
    states      every state of a cluster among these files through ``decide`` and ``when``
    kept        results, predictors, sweeps and saved runs that the old package wrote
    commands    about 150 command lines: exit code, output, JSON, and the files that they leave

A line of the answer is ``section/question: place: old -> new``; equal differences of several
questions are told once. Of lists of unequal lengths only the rows that differ are told, at the
place ``[]``. An attribute or submodule name that only the new package has is no difference.
``--known`` names a TOML file of the differences that are meant, each with the reason:

    [[known]]
    where = "commands/run *: value.stdout.*"  # question and place; or a list of these
    old = "weighted_jct_s *"                  # optional, what was there; or a list of these
    new = "(nothing)"                         # optional, what is there now
    reason = "The table of a run has a row less."

In these texts ``*`` is any text and ``?`` any letter; all others are literal. The exit
code is 1 if a difference is not known, and 2 if a process could not be asked.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher, get_close_matches
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).resolve().parents[1]
SECTIONS: Final = ("signatures", "calls", "mistakes", "readers", "states", "kept", "commands")
OWN_TYPE: Final = "()"  # as in bench.same_values, which imports what an interpreter may not have
NOTHING: Final = "(nothing)"
MOST_DEATHS: Final = 20
MOST_LIKE: Final = 20


@dataclass
class Side:
    """One of the two packages: how it is asked, and its folder."""

    name: str
    python: str
    path: str
    folder: Path
    deaths: list[str] = field(default_factory=list)

    def ask(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run ``bench.same_questions`` in this package."""
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        environment |= {
            "PYTHONPATH": os.pathsep.join(part for part in (str(ROOT), self.path) if part),
            "PYTHONHASHSEED": "0", "TZ": "UTC", "COLUMNS": "160", "NO_COLOR": "1", "TERM": "dumb",
        }  # fmt: skip
        command = [self.python, "-P", "-m", "bench.same_questions", str(self.folder), *arguments]
        return subprocess.run(
            command, env=environment, cwd=self.folder, capture_output=True, text=True, check=False
        )

    def answers(self, section: str, calls: int, seed: int, every: int) -> dict[str, Any]:
        """Ask a section, again from the next question wherever the process dies."""
        found: dict[str, Any] = {}
        while True:
            out = self.folder / f"{section}.jsonl"
            out.unlink(missing_ok=True)
            done = self.ask(
                section, str(out), "--skip", str(len(found) * every), "--calls", str(calls),
                "--seed", str(seed), "--every", str(every),
            )  # fmt: skip
            asked = ""
            for line in out.read_text().splitlines() if out.exists() else ():
                record = json.loads(line)
                asked = record["question"]
                if "answer" in record:
                    found[asked] = record["answer"]
            if not done.returncode:
                return found
            self.deaths.append(f"{section}/{asked}")
            print(
                f"{self.name}: {section}/{asked} ended it with {done.returncode}", file=sys.stderr
            )
            print(done.stderr[-2000:], file=sys.stderr)
            if not asked or asked in found or len(self.deaths) > MOST_DEATHS:
                raise SystemExit(2)
            found[asked] = {"process": f"ended with {done.returncode}"}


@dataclass
class Difference:
    """Two answers that differ, and every question in which they do so in the same way."""

    place: str
    old: str
    new: str
    questions: list[str]
    reason: str = ""

    def __str__(self) -> str:
        more = f" (and {len(self.questions) - 1} more)" if len(self.questions) > 1 else ""
        return f"{self.questions[0]}{more}: {self.place}\n    {self.old}\n -> {self.new}"


def places(old: Any, new: Any, place: str = "") -> Iterator[tuple[str, Any, Any]]:
    """Yield every place at which two descriptions differ, with what each has there."""
    if isinstance(old, dict) and isinstance(new, dict):
        may_grow = OWN_TYPE in old and old.get(OWN_TYPE) == new.get(OWN_TYPE)
        for key in [*old, *(() if may_grow else (key for key in new if key not in old))]:
            inner = f"{place}.{key}" if place else key
            yield from places(old.get(key, NOTHING), new.get(key, NOTHING), inner)
    elif isinstance(old, list) and isinstance(new, list):
        if len(old) == len(new):
            for index, (first, second) in enumerate(zip(old, new, strict=True)):
                yield from places(first, second, f"{place}[{index}]")
        else:
            yield from _rows(old, new, f"{place}[]")
    elif old != new or type(old) is not type(new):
        yield place, old, new


def _rows(old: list[Any], new: list[Any], place: str) -> Iterator[tuple[str, Any, Any]]:
    """Yield the rows that only one of two lists has; one like another is held against that."""
    texts = [[json.dumps(row) for row in rows] for rows in (old, new)]
    for _, i, j, k, m in SequenceMatcher(None, *texts, autojunk=False).get_opcodes():
        if texts[0][i:j] == texts[1][k:m]:
            continue
        here = k
        for row in range(i, j):
            like = [k + row - i] if j - i == m - k else _like(texts[0][row], texts[1], here, m)
            if not like:
                yield place, old[row], NOTHING
                continue
            yield from ((place, NOTHING, other) for other in new[here : like[0]])
            yield from places(old[row], new[like[0]], place)
            here = like[0] + 1
        yield from ((place, NOTHING, other) for other in new[here:m])


def _like(text: str, others: list[str], first: int, last: int) -> list[int]:
    """Return where among the others, if anywhere, the one is that the text is most like."""
    close = get_close_matches(text, others[first : min(last, first + MOST_LIKE)], 1)
    return [others.index(close[0], first)] if close else []


def differences(section: str, old: dict[str, Any], new: dict[str, Any]) -> list[Difference]:
    """Return where the answers of a section differ, equal differences as one."""
    found: dict[tuple[str, str, str], Difference] = {}
    for question in [*old, *(question for question in new if question not in old)]:
        before, after = old.get(question, NOTHING), new.get(question, NOTHING)
        for place, first, second in _told(before, after):
            key = (place, _short(first), _short(second))
            found.setdefault(key, Difference(*key, [])).questions.append(f"{section}/{question}")
    return list(found.values())


def _told(before: Any, after: Any) -> Iterator[tuple[str, Any, Any]]:
    """Yield the places of two answers; that one has no value is one difference, and says why."""
    answers = [
        answer if isinstance(answer, dict) else {"process": answer} for answer in (before, after)
    ]
    whys = [_why(answer) for answer in answers]
    if whys[0] == whys[1]:
        yield from places(*answers)
        return
    yield "outcome", *whys
    left_out = {"value", "process", "raises", "is_a", "message"}
    if not any("process" in answer for answer in answers):
        yield from places(
            *(
                {key: said for key, said in answer.items() if key not in left_out}
                for answer in answers
            )
        )


def _why(answer: dict[str, Any]) -> str:
    """Say why an answer has no value."""
    if "process" in answer:
        return f"the process {answer['process']}"
    return f"{answer['raises']}: {_short(answer['message'])}" if "raises" in answer else "a value"


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 400 else f"{text[:400]} ... ({len(text)} characters)"


@dataclass
class Known:
    """A difference that is meant: patterns of where it is, what was there and what is, and why."""

    where: list[re.Pattern[str]]
    old: list[re.Pattern[str]]
    new: list[re.Pattern[str]]
    reason: str
    text: str

    @classmethod
    def of(cls, entry: dict[str, Any]) -> Known:
        """Return what an entry of a file says; KeyError, TypeError if it is none."""
        if set(entry) - {"where", "old", "new", "reason"} or not entry["reason"].strip():
            raise KeyError("reason")
        patterns = (
            _patterns(entry["where"]),
            *(_patterns(entry.get(k, "*")) for k in ("old", "new")),
        )
        return cls(*patterns, reason=entry["reason"], text=str(entry["where"]))

    def fits(self, question: str, difference: Difference) -> bool:
        """Whether a difference seen in a question is this one."""
        seen = (f"{question}: {difference.place}", difference.old, difference.new)
        return all(
            any(pattern.fullmatch(text) for pattern in patterns)
            for patterns, text in zip((self.where, self.old, self.new), seen, strict=True)
        )


def _patterns(given: str | list[str]) -> list[re.Pattern[str]]:
    wild = {"*": ".*", "?": "."}
    return [
        re.compile("".join(wild.get(letter, re.escape(letter)) for letter in one), re.DOTALL)
        for one in ([given] if isinstance(given, str) else given)
    ]


def explain(found: Sequence[Difference], known: Sequence[Known]) -> list[Known]:
    """Give each difference the reason that is known of it; return the entries that met none.

    A difference is known if an entry meets every question in which it was seen.
    """
    used: set[int] = set()
    for difference in found:
        reasons = []
        for question in difference.questions:
            fits = [n for n, entry in enumerate(known) if entry.fits(question, difference)]
            used.update(fits)
            reasons.append(known[fits[0]].reason if fits else "")
        difference.reason = "; ".join(dict.fromkeys(reasons)) if all(reasons) else ""
    return [entry for number, entry in enumerate(known) if number not in used]


def read_known(path: Path | None) -> list[Known]:
    """Return the entries of a file of known differences."""
    if path is None:
        return []
    known = []
    for entry in tomllib.loads(path.read_text(encoding="utf-8")).get("known", []):
        try:
            known.append(Known.of(entry))
        except (KeyError, TypeError, AttributeError):
            raise SystemExit(
                f"{path}: an entry has a where and a reason, maybe old and new, not {entry}"
            ) from None
    return known


def ask_both(sides: Sequence[Side], section: str, *how: int) -> list[dict[str, Any]]:
    """Ask both sides a section at the same time."""
    answers: list[dict[str, Any]] = [{}, {}]

    def ask(number: int) -> None:
        answers[number] = sides[number].answers(section, *how)

    threads = [threading.Thread(target=ask, args=(number,)) for number in (0, 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if not all(answers):
        raise SystemExit(2)
    return answers


def main(arguments: Sequence[str] | None = None) -> int:
    """Compare the two packages and print the differences."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("old", help="interpreter of the environment that has the old package")
    parser.add_argument("new", nargs="?", default=sys.executable, help="that of the new one")
    parser.add_argument("--known", type=Path, help="TOML file of the differences that are meant")
    parser.add_argument("--only", nargs="+", choices=SECTIONS, default=SECTIONS)
    parser.add_argument("--calls", type=int, default=3000, help="random calls (default: 3000)")
    parser.add_argument("--seed", type=int, default=0, help="of the random calls (default: 0)")
    parser.add_argument("--every", type=int, default=1, help="ask each N-th question only")
    parser.add_argument("--all", action="store_true", help="print the known differences too")
    given = parser.parse_args(arguments)
    known = read_known(given.known)
    found: list[Difference] = []
    with tempfile.TemporaryDirectory(prefix="same-as-") as name:
        folders = [Path(name).resolve() / side for side in ("old", "new")]
        for folder in folders:
            folder.mkdir()
        path = os.pathsep.join(
            os.path.abspath(part)
            for part in os.environ.get("PYTHONPATH", "").split(os.pathsep)
            if part
        )
        old = Side("old", given.old, "", folders[0])
        new = Side("new", given.new, path, folders[1])
        # The old package alone writes the names to draw from, and the files to be read by both.
        for side in (old, new):
            done = side.ask("prepare", str(folders[0].parent / "kept"))
            if done.returncode:
                print(done.stderr, file=sys.stderr)
                return 2
            print(f"{side.name}: {done.stdout.strip()}")
        for section in given.only:
            answers = ask_both((old, new), section, given.calls, given.seed, given.every)
            here = differences(section, *answers)
            found += here
            print(
                f"{section}: {len(answers[0])} questions, {len(here)} kinds of differences",
                flush=True,
            )
    unmet = explain(found, known)
    unknown = [difference for difference in found if not difference.reason]
    for difference in found if given.all else unknown:
        print(
            difference,
            *([f"    known: {difference.reason}"] if difference.reason else []),
            sep="\n",
        )
    if given.only == SECTIONS:
        for entry in unmet:
            print(f"known, but not seen: {entry.text}")
    print(f"{len(unknown)} unknown differences, {len(found) - len(unknown)} known ones")
    return int(bool(unknown))


if __name__ == "__main__":
    sys.exit(main())
