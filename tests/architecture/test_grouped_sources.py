"""The wheel compiles many sources as one, so what each keeps for itself needs a name of its own."""

import re
from collections import defaultdict
from pathlib import Path

import pytest

from tests.architecture.sources import CPP_FILES, code_of, room_of, shown

# Functions may overload each other; the compiler tells where two of them clash.
DEFINED = re.compile(
    r"^(?:(?:static |inline )?constexpr [\w:<>,\s]+?[ &*](\w+)(?:\{|\[| =)"
    r"|using (\w+) ="
    r"|(?:struct|class|enum class) (\w+)(?: final)?(?: :[^;{]*)? ?\{)",
    re.MULTILINE,
)
UNITS = {
    "bindings": [path for path in CPP_FILES if room_of(path) == "bindings"],
    "core": [path for path in CPP_FILES if room_of(path) not in ("bindings", "tools")],
}


def defined(path: Path) -> set[str]:
    """Constants, aliases and types of a source that stand in no other."""
    return {next(filter(None, found.groups())) for found in DEFINED.finditer(code_of(path))}


@pytest.mark.parametrize("unit", UNITS)
def test_no_two_sources_give_what_they_define_one_name(unit: str) -> None:
    places = defaultdict(list)
    for path in UNITS[unit]:
        if path.suffix == ".cpp":
            for name in defined(path):
                places[name].append(shown(path))
    twice = {name: files for name, files in places.items() if len(files) > 1}
    assert not twice


@pytest.mark.parametrize("unit", UNITS)
def test_no_source_defines_a_name_that_a_header_has_for_something_else(unit: str) -> None:
    headers = {
        name: shown(path) for path in CPP_FILES if path.suffix == ".hpp" for name in defined(path)
    }
    twice = {
        (name, shown(path)): headers[name]
        for path in UNITS[unit]
        if path.suffix == ".cpp"
        for name in defined(path) & headers.keys()
    }
    assert not twice


def test_what_a_source_defines_is_found(tmp_path: Path) -> None:
    path = tmp_path / "a.cpp"
    path.write_text(
        "constexpr std::int64_t kOne = 1;\nusing Two = int;\n"
        "struct Three {\n  int kInner = 1;\n};\n"
        "class Four final : public Five {\n};\nconstexpr double kTable[] = {1.0};\n"
        "// constexpr int kComment = 1;\nstruct Declared;\nvoid f();\n"
    )
    assert defined(path) == {"kOne", "Two", "Three", "Four", "kTable"}
