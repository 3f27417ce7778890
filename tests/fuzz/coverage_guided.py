"""Fuzzes the readers guided by coverage, where atheris is installed (`pip install atheris`).

    python -m tests.fuzz.coverage_guided READER [-max_total_time=600] [CORPUS]

READER is a name that ``python -m tests.fuzz --list`` prints; what follows goes to libFuzzer. The
corpus begins with the whole files of the reader, the dictionary is that of the mutator. A fault,
judged as by ``python -m tests.fuzz``, ends the run and leaves its input in the folder.
"""

import sys
import tempfile
from pathlib import Path

from tests.fuzz.damage import ODD


def dictionary(path: Path) -> Path:
    """Write the words of the mutator as libFuzzer reads them."""
    words = ("".join(f"\\x{byte:02x}" for byte in word) for word in ODD if 0 < len(word) <= 64)
    path.write_text("".join(f'"{word}"\n' for word in words))
    return path


def main(arguments: list[str]) -> int:
    """Fuzz one reader until a limit of libFuzzer or a fault ends it."""
    try:
        import atheris
    except ImportError:
        print("atheris is not installed; `python -m tests.fuzz` needs nothing", file=sys.stderr)
        return 2
    if len(arguments) < 2:
        print(__doc__, file=sys.stderr)
        return 2
    with atheris.instrument_imports(include=["gpusched"]):
        from tests.fuzz.judging import verdict_on
        from tests.fuzz.readers import readers
    name, *options = arguments[1:]
    folder = Path(tempfile.mkdtemp(prefix="gpusched-fuzz-"))
    known = readers(folder)
    if name not in known:
        print(f"no reader is called {name!r}; they are {', '.join(known)}", file=sys.stderr)
        return 2
    reader = known[name]
    path = reader.folder / reader.files[0][0]
    corpus = folder / "corpus"
    corpus.mkdir()
    for number, (_, data) in enumerate(reader.files):
        (corpus / str(number)).write_bytes(data)

    def test_one_input(data):
        path.write_bytes(data)
        verdict = verdict_on(reader, path, data)
        if verdict.startswith("fault"):
            raise RuntimeError(verdict)

    words = f"-dict={dictionary(folder / 'words')}"
    atheris.Setup([arguments[0], words, *options, str(corpus)], test_one_input)
    atheris.Fuzz()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
