"""Every reader of files there is, with the whole files that it reads."""

import dataclasses
import json
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any, Final

import yaml

import gpusched as gs
from gpusched.online.states.state_formats import state_formats
from gpusched.traces.format_registry import trace_formats
from tests import changed_files
from tests.fuzz import whole_files as whole

Whole = tuple[str, bytes]
"""A file's name and contents."""

_OWN: Final = 0.7
"""A reader of one format is mostly given files of that format, and now and then of another."""


@dataclass(frozen=True)
class Reader:
    """A function that reads files.

    Attributes
    ----------
    name
        ``function/what``: the public function, and what it is given.
    files
        Whole files that it reads.
    read
        Takes the path of a file that may be damaged.
    others
        Whole files that it should refuse, which it is given as well.
    folder
        Where the file must be put, beside what the reader looks for there.
    argument
        What messages may name in the stead of the file: the folder that it is a part of.
    is_sealed
        Whether it must refuse whatever differs from its whole files by a byte.
    """

    name: str
    files: tuple[Whole, ...]
    read: Callable[[Path], Any]
    others: tuple[Whole, ...] = ()
    folder: Path = Path()
    argument: str | None = None
    is_sealed: bool = False

    def begin(self, draw: random.Random) -> Whole:
        """Draw the whole file that a case begins with."""
        if self.others and draw.random() >= _OWN:
            return draw.choice(self.others)
        return draw.choice(self.files)


def readers(folder: Path) -> dict[str, Reader]:
    """Return every reader by name; each has a folder of its own in ``folder``."""
    (folder / "beside").mkdir()
    beside = folder / "beside"
    every = [
        *_of_traces(beside), *_of_clusters(), *_of_outages(), *_of_models(beside),
        *_of_saved(beside), *_of_states(beside),
    ]  # fmt: skip
    named = {}
    for number, reader in enumerate(every):
        own = folder / str(number)
        own.mkdir()
        for known in trace_formats().values():
            for name, data in list(known.excerpt().items())[1:]:
                (own / name).write_bytes(data)
        (own / "oracle_throughputs.json").write_text(whole.ORACLE)
        named[reader.name] = dataclasses.replace(reader, folder=own)
    return named


def _text(name: str, text: str) -> Whole:
    return name, text.encode()


# Traces by format, beside the excerpt that each format brings along.
_TRACES: Final[dict[str, tuple[Whole, ...]]] = {
    "csv": (_text("any.csv", whole.CSV), _text("wall.csv", whole.WALL),
            _text("any.tsv", whole.CSV.replace(",", "\t")),
            ("any.csv.gz", whole.gzipped(whole.CSV))),
    "gavel": (_text("gavel.trace", whole.GAVEL),),
    "helios": (_text("helios.csv", whole.HELIOS),),
    "itp": (_text("itp.csv", whole.ITP),),
    "numpy": (("columns.npz", whole.npz()), ("packed.npz", whole.npz(packed=True)),
              ("columns.npy", whole.npy())),
    "openb": (_text("pods.csv", whole.PODS),),
    "parquet": (("columns.parquet", whole.parquet()),
                *(("jobs.parquet", data) for data in whole.parquets().values())),
    "philly-csv": (_text("philly.csv", whole.PHILLY_CSV),),
    "philly-json": (_text("philly.json", whole.PHILLY_JSON),
                    ("philly.json.gz", whole.gzipped(whole.PHILLY_JSON))),
    "swf": (_text("log.swf", whole.SWF), ("log.swf.gz", whole.gzipped(whole.SWF))),
}  # fmt: skip


def _of_traces(folder: Path) -> Iterator[Reader]:
    """Each format as it is found by looking, and as it is named, then also for other files."""
    by_format: dict[str, tuple[Whole, ...]] = {}
    for name, known in trace_formats().items():
        first, data = next(iter(known.excerpt().items()))
        by_format[name] = ((first, data), *_TRACES.get(name, ()))
    (folder / "oracle.json").write_text(whole.ORACLE)
    for name, files in by_format.items():
        others = tuple(one for kind, those in by_format.items() if kind != name for one in those)
        options = {"throughputs": folder / "oracle.json"} if name == "gavel" else {}
        yield Reader(f"read_trace/{name}", files, lambda path: gs.read_trace(path))
        yield Reader(f"read_trace/format={name}", files, _as_format(name, options), others)
    every = tuple(one for those in by_format.values() for one in those)
    yield Reader("read_requests/traces", every, gs.traces.read_requests)
    pods = (_text("pods.csv", whole.PODS),)
    yield Reader("read_requests/pods", pods, gs.traces.read_requests, every)


def _as_format(name: str, options: dict[str, Any]) -> Callable[[Path], Any]:
    return lambda path: gs.read_trace(path, name, **options)


def _of_clusters() -> Iterator[Reader]:
    lists = (
        _text("servers.csv", whole.SERVERS),
        _text("pai.csv", whole.PAI),
        _text("nodes.json", whole.SLURM_NODES),
        _text("sinfo.json", whole.SLURM_LINES),
        ("servers.tar.gz", whole.tar(whole.SERVERS)),
        _text("topology.csv", whole.TOPOLOGY),
    )
    file = _text("cluster.toml", whole.CLUSTER)
    yield Reader("read_cluster/lists", lists, gs.read_cluster)
    yield Reader("read_cluster/toml", (file,), gs.read_cluster)
    yield Reader("Cluster.from_toml", (file,), _of_cluster_text, lists)
    yield Reader("read_topology", (lists[-1],), gs.model.read_topology, lists)


def _of_outages() -> Iterator[Reader]:
    files = (
        _text("outages.csv", whole.OUTAGES),
        _text("outages.toml", whole.OUTAGE_TABLES),
        _text("events.txt", whole.SLURM_EVENTS),
    )
    epoch = datetime(2024, 5, 1)
    trace = gs.Trace.from_columns([0, 1], [5, 5], [1, 1], epoch=epoch)
    names = ["n1", "n2", "n3"]
    read = partial(gs.read_outages, names=names, trace=trace)
    yield Reader("read_outages", files, read, (_text("pods.csv", whole.PODS),))


def _of_cluster_text(path: Path) -> Any:
    return gs.Cluster.from_toml(path.read_bytes().decode("utf-8", "replace"), str(path))


def _of_models(folder: Path) -> Iterator[Reader]:
    profiles = (_text("profiles.toml", whole.PROFILES), _text("profiles.json", whole.PROFILES_JSON))
    tables = (
        _text("curves.csv", whole.CURVES),
        _text("oracle_throughputs.json", whole.ORACLE),
        _text("curves.toml", whole.MEASURED),
    )
    yield Reader("read_profiles", profiles, gs.model.read_profiles, tables)
    yield Reader("read_throughputs", tables, gs.model.read_throughputs, profiles)
    (folder / "whole.tsv").write_text(whole.GAVEL)
    yield Reader(
        "read_trace/throughputs=",
        (tables[1],),
        lambda path: gs.read_trace(folder / "whole.tsv", "gavel", throughputs=path),
    )
    steps = (_text("placements.csv", whole.PLACEMENTS), _text("scalability.csv", whole.SCALABILITY))
    yield Reader("read_pollux", steps, _of_pollux(folder / "pollux"))
    yield Reader(
        "read_throughputs/pollux",
        steps,
        _of_pollux(folder / "steps", throughputs=True),
        argument=str(folder / "steps"),
    )


def _of_pollux(folder: Path, *, throughputs: bool = False) -> Callable[[Path], Any]:
    """Put a table beside a whole one of the other kind, and read the folder."""
    (folder / "bert").mkdir(parents=True)

    def read(path: Path) -> Any:
        (folder / "bert" / "placements.csv").write_text(whole.PLACEMENTS)
        (folder / "bert" / "scalability.csv").write_text(whole.SCALABILITY)
        (folder / "bert" / path.name).write_bytes(path.read_bytes())
        return (gs.model.read_throughputs if throughputs else gs.model.read_pollux)(folder)

    return read


def _of_states(folder: Path) -> Iterator[Reader]:
    """Each file of each format, beside whole ones of the others that the format has."""
    for known in state_formats().values():
        files = known.excerpt()
        for name in files:
            others = [folder / f"{known.name}-{other}" for other in files if other != name]
            for path in others:
                path.write_bytes(files[path.name.removeprefix(f"{known.name}-")])
            given = [(name, files[name])]
            if known.name == "kueue":
                objects = json.loads(files[name])["items"]
                given.append(_text("kueue.yaml", yaml.safe_dump_all(objects)))
            yield Reader(f"read_state/{known.name}/{name}", tuple(given), _beside(others))


def _beside(others: list[Path]) -> Callable[[Path], Any]:
    return lambda path: gs.online.read_state([path, *others])


def _of_saved(folder: Path) -> Iterator[Reader]:
    (_, result), (_, model), (_, run) = changed_files.saved_files(folder)
    trace = gs.Trace.from_columns([0, 1], [5, 5], [1, 1])
    spec = gs.simulate(trace, gs.Cluster.uniform(2, 4), policy="srtf:cost_s=3").spec
    saved = (("result.npz", result.read_bytes()), ("model.npz", model.read_bytes()))
    runs = (("monday.run", run.read_bytes()),)
    yield Reader("resume", runs, gs.resume, saved, is_sealed=True)
    yield Reader("read_state", (_text("state.json", whole.STATE),), gs.online.read_state)
    yield Reader("load_result", saved[:1], gs.load_result, saved[1:], is_sealed=True)
    load = gs.prediction.load_predictor
    yield Reader("load_predictor", saved[1:], load, saved[:1], is_sealed=True)
    yield Reader(
        "RunSpec.from_json",
        (_text("spec.json", spec.to_json()),),
        lambda path: gs.RunSpec.from_json(path.read_bytes(), str(path)),
    )
    yield Reader(
        "RunSpec.from_toml",
        (_text("spec.toml", spec.to_toml()),),
        lambda path: gs.RunSpec.from_toml(path.read_bytes(), str(path)),
    )
