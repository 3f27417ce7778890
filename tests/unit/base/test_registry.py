"""A registry: names, duplicates, the order, and what is loaded when."""

import importlib
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from gpusched.base import registry as registering
from gpusched.base.registry import PluginWarning, Registry, among, load_entry_points, told


@dataclass(frozen=True)
class Fruit:
    name: str
    rank: int = 0


@pytest.fixture
def no_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registering, "found", list)


@pytest.fixture
def fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a process that has not looked at other packages yet."""
    monkeypatch.setattr(registering, "_state", registering._State())


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A folder of two entries that register themselves."""
    folder = tmp_path / "orchard"
    folder.mkdir()
    (folder / "__init__.py").write_text("loaded = []\n")
    for name in ("pear", "apple"):
        code = f"import orchard\norchard.loaded.append({name!r})\n"
        code += "from tests.unit.base.test_registry import FRUITS, Fruit\n"
        code += f"FRUITS.add({name!r}, Fruit({name!r}))\n"
        (folder / f"{name}.py").write_text(code)
    monkeypatch.syspath_prepend(tmp_path)
    yield "orchard"
    for name in list(sys.modules):
        if name.partition(".")[0] == "orchard":
            del sys.modules[name]


FRUITS: Registry[Fruit] = Registry("fruit")


@pytest.mark.usefixtures("no_packages", "fresh")
def test_a_home_is_loaded_at_the_first_look_and_not_before(home, monkeypatch):
    registry: Registry[Fruit] = Registry("fruit", home)
    monkeypatch.setitem(globals(), "FRUITS", registry)
    assert home not in sys.modules
    assert list(registry.all()) == ["apple", "pear"]
    assert sys.modules[home].loaded == ["apple", "pear"]
    assert registry.find("pear") == Fruit("pear")


@pytest.mark.usefixtures("no_packages")
def test_a_home_may_be_one_module(home, monkeypatch):
    registry: Registry[Fruit] = Registry("fruit", f"{home}.pear")
    monkeypatch.setitem(globals(), "FRUITS", registry)
    with pytest.raises(ValueError, match="fruit: the name 'pear' is taken"):
        registry.add("pear", Fruit("another"))
    assert registry.own() == {"pear": Fruit("pear")}
    assert sys.modules[home].loaded == ["pear"]


@pytest.mark.usefixtures("no_packages")
def test_a_name_of_the_home_is_refused_though_the_home_was_not_loaded(home, monkeypatch):
    registry: Registry[Fruit] = Registry("fruit", home)
    monkeypatch.setitem(globals(), "FRUITS", registry)
    with pytest.raises(ValueError, match="fruit: the name 'pear' is taken"):
        registry.add("pear", Fruit("another"))
    registry.add("fig", Fruit("fig"))
    assert registry.own() == {name: Fruit(name) for name in ("apple", "fig", "pear")}


@pytest.mark.usefixtures("no_packages")
def test_a_module_of_the_home_that_is_imported_by_itself_loads_no_other(home, monkeypatch):
    registry: Registry[Fruit] = Registry("fruit", home)
    monkeypatch.setitem(globals(), "FRUITS", registry)
    importlib.import_module("orchard.pear")
    assert sys.modules[home].loaded == ["pear"]
    assert list(registry.own()) == ["apple", "pear"]


@pytest.mark.usefixtures("no_packages")
def test_entries_are_listed_in_order():
    registry: Registry[Fruit] = Registry("fruit", order=lambda fruit: fruit.rank)
    for fruit in (Fruit("fig", 2), Fruit("plum", 1), Fruit("date", 1)):
        registry.add(fruit.name, fruit)
    assert list(registry.all()) == ["date", "plum", "fig"]


@pytest.mark.usefixtures("no_packages")
def test_names_are_checked():
    registry: Registry[Fruit] = Registry("fruit")
    registry.add("fig", Fruit("fig"))
    with pytest.raises(ValueError, match="fruit: the name 'fig' is taken"):
        registry.add("fig", Fruit("fig"))
    with pytest.raises(ValueError, match="fruit: the name 'plum' is taken"):
        registry.add("plum", Fruit("plum"), taken=["plum"])
    for name in ("", "a b", "a:b", "a=b", "a,b"):
        with pytest.raises(ValueError, match="must not be empty or hold"):
            registry.add(name, Fruit(name))
    with pytest.raises(TypeError, match="a name must be a text, not 7"):
        registry.add(7, Fruit("seven"))
    with pytest.raises(ValueError, match="unknown fruit 'fog'; did you mean 'fig'"):
        registry.find("fog")
    registry.remove("fig")
    registry.remove("fig")
    assert registry.all() == {}


def test_fields_are_checked():
    told("fruit", "fig", summary="Sweet.")
    with pytest.raises(ValueError, match="fruit fig: summary must not be empty"):
        told("fruit", "fig", summary=" ")
    with pytest.raises(TypeError, match="fruit fig: summary must be a text, not 3"):
        told("fruit", "fig", summary=3)
    with pytest.raises(ValueError, match="fruit fig: unknown colour 'gren'; did you mean 'green'"):
        among("fruit", "fig", "colour", "gren", ["green", "blue"])


class Point:
    """An entry point that does what it is told to."""

    def __init__(self, name: str, error: BaseException | None = None) -> None:
        self.name, self.value, self.dist = name, f"{name}.plugins", None
        self.error = error
        self.loads = 0

    def load(self) -> None:
        self.loads += 1
        load_entry_points()  # a module that lists names when it is imported: must not hang
        if self.error is not None:
            raise self.error


@pytest.mark.usefixtures("fresh")
def test_packages_are_loaded_once_and_a_broken_one_is_named(monkeypatch):
    good, bad = Point("good"), Point("bad", ZeroDivisionError("by zero"))
    monkeypatch.setattr(registering, "found", lambda: [bad, good])
    registry: Registry[Fruit] = Registry("fruit")
    with pytest.warns(PluginWarning, match=r"'bad' \(bad.plugins\).*ZeroDivisionError: by zero"):
        registry.all()
    registry.all()
    assert (good.loads, bad.loads) == (1, 1)


@pytest.mark.usefixtures("fresh")
def test_a_known_name_is_found_without_a_look_at_other_packages(monkeypatch):
    other = Point("other")
    monkeypatch.setattr(registering, "found", lambda: [other])
    registry: Registry[Fruit] = Registry("fruit")
    registry.add("fig", Fruit("fig"))
    registry.find("fig")
    assert other.loads == 0
    with pytest.raises(ValueError, match="unknown fruit"):
        registry.find("plum")
    assert other.loads == 1


@pytest.mark.usefixtures("fresh")
def test_a_module_that_ends_the_process_and_damaged_packages_are_warned_about(monkeypatch):
    monkeypatch.setattr(registering, "found", lambda: [Point("leaving", SystemExit(3))])
    with pytest.warns(PluginWarning, match="'leaving' .* is left out: SystemExit: 3"):
        load_entry_points()
    monkeypatch.setattr(registering, "_state", registering._State())
    monkeypatch.setattr(registering, "found", lambda: [][0])
    with pytest.warns(PluginWarning, match="the installed packages cannot be read: IndexError"):
        load_entry_points()
    load_entry_points()


@pytest.mark.usefixtures("fresh")
def test_threads_wait_until_packages_are_loaded(monkeypatch):
    registry: Registry[Fruit] = Registry("fruit")
    began, go_on = threading.Event(), threading.Event()

    class Slow(Point):
        def load(self) -> None:
            began.set()
            assert go_on.wait(60)
            registry.add("fig", Fruit("fig"))

    monkeypatch.setattr(registering, "found", lambda: [Slow("slow")])
    seen: list[list[str]] = []
    threads = [threading.Thread(target=lambda: seen.append(list(registry.all()))) for _ in range(4)]
    for thread in threads:
        thread.start()
    assert began.wait(60)
    go_on.set()
    for thread in threads:
        thread.join(60)
    assert seen == [["fig"]] * 4
