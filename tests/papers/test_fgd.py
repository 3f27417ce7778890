"""The filling experiment of the FGD paper, on a list and a cluster as small as can be."""

import json

import numpy as np
import pytest

from gpusched_papers.fgd import (
    ALLOCATED,
    AUTHORS,
    DEFAULT,
    DEMANDS,
    FGD,
    LARGEST_REDUCTION,
    MORE_GPUS,
    OF_DEFAULT_LIST,
    OTHERS,
    OURS,
    PLACEMENTS,
    PUBLISHED,
    RECORDED,
    SHOWN,
    SHOWN_LISTS,
    WORKLOADS,
    Fgd,
    Summary,
    reproduce,
    run,
)
from gpusched_papers.study import running
from tests.unit.real_data import DATA, needs_real_data

SERVERS = "sn,cpu_milli,memory_mib,gpu,model\n" + "".join(
    f"s{number},64000,65536,{gpus},{model}\n"
    for number, (gpus, model) in enumerate([(8, "G2"), (0, ""), (2, "T4"), (4, "P100"), (8, "G2")])
)
PODS = "name,cpu_milli,memory_mib,num_gpu,gpu_milli\n" + "".join(
    f"p{number},{cpu},1024,{gpus},{share}\n"
    for number, (cpu, gpus, share) in enumerate(
        [(4000, 1, 1000), (2000, 1, 300), (2000, 1, 700), (16000, 4, 1000), (8000, 0, 0)]
    )
)


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    """All runs of two seeds on few servers."""
    folder = tmp_path_factory.mktemp("data")
    (folder / "openb").mkdir()
    (folder / "openb" / "openb_node_list_all_node.csv").write_text(SERVERS)
    for workload in WORKLOADS:
        (folder / "openb" / workload.file).write_text(PODS)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GPUSCHED_DATA", str(folder))
        with running("threads:1"):  # where the patches are
            found = reproduce(seeds=2, quick=False, exact=False, progress=lambda *_: None)
        yield found


def test_every_placement_fills_with_every_list_and_seed(tiny):
    runs = {(one.workload, one.placement, one.seed) for one in tiny.runs}
    assert len(runs) == len(tiny.runs) == len(WORKLOADS) * len(PLACEMENTS) * 2
    for one in tiny.runs:
        assert one.num_gpus == 22
        unallocated, fragmented = np.array(one.unallocated), np.array(one.fragmented)
        assert len(unallocated) == len(DEMANDS)
        assert (np.diff(unallocated) <= 0).all()
        assert (fragmented <= unallocated + 1e-9).all()
        assert unallocated[0] >= 0.5 - 1e-9


def test_every_recorded_list_is_filled_once():
    names = [workload.name for workload in WORKLOADS]
    assert len(set(names)) == len(names) == 17
    assert set(names) == set(RECORDED)
    assert set(SHOWN_LISTS) <= set(WORKLOADS)


def test_every_recorded_result_is_compared_with_the_authors_form(tiny):
    found = tiny.comparisons()
    assert {one.claim.key for one in found} == {claim.key for claim in PUBLISHED.results}
    assert sum(one.claim.key.startswith("allocated-") for one in found) == 17 * 6
    cut = Fgd([one for one in tiny.runs if one.workload == DEFAULT.name])
    assert [one.claim for one in cut.comparisons()] == list(OF_DEFAULT_LIST)
    summary = Summary(tiny.runs)
    for one in found:
        for workload in OTHERS:
            if one.claim.key == f"allocated-best-fit-{workload.name}":
                left = summary.mean(workload, AUTHORS["best-fit"], "unallocated", 1.3)
                assert one.mean is not None
                assert one.mean.value == pytest.approx(1 - left.value)
                assert one.claim.value == RECORDED[workload.name]["best-fit"]


def test_the_demands_of_the_tables_are_taken_down():
    assert DEMANDS[0] == 0.5
    assert DEMANDS[-1] == 1.3
    assert all(np.isclose(DEMANDS, demand).any() for demand in SHOWN)


def test_the_published_figures_agree_with_each_other():
    most = (ALLOCATED[FGD] - ALLOCATED["dot-product"]) / (1 - ALLOCATED["dot-product"])
    assert most == pytest.approx(LARGEST_REDUCTION, abs=0.01)
    more = (ALLOCATED[FGD] - ALLOCATED["dot-product"]) * 6_212
    assert more == pytest.approx(MORE_GPUS, abs=10)


@pytest.mark.long
def test_tables_figures_and_results_are_written(tiny, tmp_path):
    pytest.importorskip("vl_convert")
    default = Fgd(
        [one for one in tiny.runs if one.workload == DEFAULT.name]
    )  # the others look alike
    files = {path.name for path in default.write(tmp_path)}
    assert files == {"filling.png", "tables.md", "runs.csv", "results.json"}
    results = json.loads((tmp_path / "results.json").read_text(encoding="utf-8"))
    assert len(results["runs"]) == len(default.runs) * len(SHOWN)
    assert set(results["tables"][0]) == {"title", "headings", "rows", "notes"}
    markdown = (tmp_path / "tables.md").read_text(encoding="utf-8")
    assert "[abstract]: FGD leaves up to 49% less GPUs unallocated" in markdown
    assert all(f"| {name} |" in markdown for name in PLACEMENTS)
    first = tiny.tables()[0]
    assert first.headings[:2] == ("placement", "allocated, %")
    assert first.texts[0][0] == FGD
    assert first.texts[0][2] == ""


@needs_real_data
def test_fgd_leaves_the_least_near_saturation(monkeypatch):
    monkeypatch.setenv("GPUSCHED_DATA", str(DATA))
    summary = Summary([run(DEFAULT, name, seed) for seed in (0, 1) for name in PLACEMENTS])

    def left(name: str, demand: float) -> float:
        return summary.mean(DEFAULT, name, "unallocated", demand).value

    for demand in (1.0, 1.1, 1.3):
        assert min(OURS, key=lambda name: left(name, demand)) == FGD
        assert min(AUTHORS, key=lambda name: left(AUTHORS[name], demand)) == FGD
        assert left("random", demand) > 2 * left(FGD, demand)
    for name, placement in AUTHORS.items():
        assert 1 - left(placement, 1.3) == pytest.approx(ALLOCATED[name], abs=0.01)
