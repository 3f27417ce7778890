"""The files of examples/data are those that the script makes, and each is what it stands for."""

import importlib.util
from pathlib import Path

import pytest

import gpusched as gs
from tests.docs.blocks import ROOT

DATA = ROOT / "examples" / "data"
FILES = sorted(path.relative_to(DATA).as_posix() for path in DATA.rglob("*") if path.is_file())


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Path:
    place = importlib.util.spec_from_file_location("make_data", ROOT / "examples" / "make_data.py")
    script = importlib.util.module_from_spec(place)
    place.loader.exec_module(script)
    folder = tmp_path_factory.mktemp("data")
    script.main(folder)
    return folder


def test_the_script_makes_these_files(made):
    assert sorted(p.relative_to(made).as_posix() for p in made.rglob("*") if p.is_file()) == FILES
    for name in FILES:
        assert (made / name).read_bytes() == (DATA / name).read_bytes(), name
    assert sum((DATA / name).stat().st_size for name in FILES) < 200 * 1024


def test_each_is_read_as_what_it_is():
    own = gs.read_trace(DATA / "jobs.csv")
    log = gs.read_trace(DATA / "sacct.txt")
    assert (len(own), own.rejects.total) == (240, 0)
    assert (len(log), log.rejects.total) == (114, 18)  # steps, and jobs without GPUs
    assert gs.traces.audit_trace(own, gs.Cluster.uniform(4, 8)).verdict == "fine"
    both = [job for job in own.id.tolist() if str(job) in set(map(str, log.id.tolist()))]
    assert len(both) == 114
    tables = gs.model.read_throughputs(DATA / "throughputs.csv")
    assert len(own.with_throughputs(tables)) == len(own)
    assert set(own.group.names) == {"bert", "resnet"}
    for name, waiting in (("slurm", 4), ("kueue", 3)):
        state = gs.online.read_state(DATA / name)
        assert not state.jobs.rejects
        assert len(state.jobs) - len(set(state.held_job.tolist()) - {-1}) == waiting
