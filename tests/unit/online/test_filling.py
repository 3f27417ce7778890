"""Filling a cluster: what arrives, what is placed, and what is written down of it."""

import threading
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gpusched as gs
from gpusched.online.filling import FillResult, fill
from gpusched.traces import Requests
from tests.each import each
from tests.examples import examples

# Placements that know shares, CPU and memory.
DEMANDING = (
    "best-fit", "dot-product", "fgd", "first-fit", "gpu-clustering", "gpu-packing", "random",
    "worst-fit",
)  # fmt: skip
CLUSTER = gs.Cluster(
    (
        gs.ServerGroup(2, 4, "a", cpu=8, memory_gib=4),
        gs.ServerGroup(3, 4, "b", cpu=16, memory_gib=2),
    )
)
SERVER_TYPE = [CLUSTER.gpu_types[index] for index in CLUSTER.server_type]
SERVER_CPU = np.repeat([8000, 16000], [2, 3])
SERVER_MEMORY = np.repeat([4096, 2048], [2, 3])

asked = st.tuples(
    st.integers(0, 4),  # gpus
    st.sampled_from([1.0, 0.5, 0.3, 0.7]),  # share, of a single GPU
    st.sampled_from([1, 2, 3, 6]),  # cpu
    st.sampled_from([0, 0.25, 1]),  # memory
    st.sampled_from(["", "a", "b", "a|b"]),
)
lists = st.lists(asked, min_size=1, max_size=6).filter(lambda rows: any(row[0] for row in rows))


def requests_of(rows: list[tuple[int, float, int, float, str]]) -> Requests:
    gpus, shares, cpu, memory, types = zip(*rows, strict=True)
    return Requests.from_columns(
        list(gpus),
        gpu_share=[share if width == 1 else 1.0 for width, share in zip(gpus, shares, strict=True)],
        cpu=list(cpu),
        memory_gib=list(memory),
        gpu_types=list(types),
    )


class Servers:
    """What is free on each server, kept in plain numbers."""

    def __init__(self) -> None:
        self.gpus = np.full((5, 4), 1000)
        self.cpu = SERVER_CPU.copy()
        self.memory = SERVER_MEMORY.copy()

    def take(self, server: int, gpus: list[int], requests: Requests, row: int) -> None:
        workers = max(1, len(gpus))
        self.gpus[server, gpus] -= requests.share_milli[row]
        self.cpu[server] -= workers * requests.cpu_milli[row]
        self.memory[server] -= workers * requests.memory_mib[row]

    def first_fit(self, requests: Requests, row: int) -> tuple[int, list[int]] | None:
        """The lowest server that has room; a share goes where least is left."""
        width, share = int(requests.gpus[row]), int(requests.share_milli[row])
        types = requests.type_sets[requests.type_set[row]] if requests.type_set is not None else ()
        workers = max(1, width)
        for server in range(5):
            if types and SERVER_TYPE[server] not in types:
                continue
            if self.cpu[server] < workers * requests.cpu_milli[row]:
                continue
            if self.memory[server] < workers * requests.memory_mib[row]:
                continue
            left = self.gpus[server]
            if share < 1000:
                fitting = sorted((left[gpu], gpu) for gpu in range(4) if left[gpu] >= share)
                if fitting:
                    return server, [fitting[0][1]]
            elif len(whole := [gpu for gpu in range(4) if left[gpu] == 1000][:width]) == width:
                return server, whole
        return None

    def fragmented_milli(self, requests: Requests) -> float:
        """What a request is expected to be unable to use: by the definition, memory left out."""
        total = 0.0
        for row in range(len(requests)):
            width, share = int(requests.gpus[row]), int(requests.share_milli[row])
            kind = requests.type_set
            types = requests.type_sets[kind[row]] if kind is not None else ()
            for server in range(5):
                left = self.gpus[server]
                fits = self.cpu[server] >= max(1, width) * requests.cpu_milli[row]
                fits &= not types or SERVER_TYPE[server] in types
                fits &= width > 0 and np.count_nonzero(left >= share) >= width
                total += left[left < share].sum() if fits else left.sum()
        return total / len(requests)


def pieces_of(filled: FillResult) -> dict[int, list[tuple[int, list[int]]]]:
    """Server and GPUs of each arrival that was placed."""
    held: dict[int, list[tuple[int, list[int]]]] = {}
    pieces = filled.pieces
    for arrival, server, mask in zip(
        pieces.arrival.tolist(), pieces.server.tolist(), pieces.mask.tolist(), strict=True
    ):
        held.setdefault(arrival, []).append((server, [g for g in range(64) if mask >> g & 1]))
    return held


@given(lists, st.integers(0, 3))
@examples(60)
def test_first_fit_and_the_fragments_equal_the_readable_ones(rows, seed):
    requests = requests_of(rows)
    filled = fill(requests, CLUSTER, placement="first-fit", until=1.2, seed=seed)
    held, servers = pieces_of(filled), Servers()
    for arrival, row in enumerate(filled.arrivals.tolist()):
        found = servers.first_fit(requests, row)
        assert held.get(arrival) == (None if found is None else [found])
        if found is not None:
            servers.take(*found, requests, row)
        assert filled.fragmented_milli[arrival] == pytest.approx(servers.fragmented_milli(requests))


@pytest.mark.parametrize("placement", DEMANDING)
@given(rows=lists, seed=st.integers(0, 3))
@examples(12)
def test_nothing_is_given_twice(placement, rows, seed):
    requests = requests_of(rows)
    filled = fill(requests, CLUSTER, placement=placement, until=1.2, seed=seed)
    held, servers = pieces_of(filled), Servers()
    for arrival, row in enumerate(filled.arrivals.tolist()):
        pieces = held.get(arrival, [])
        assert bool(pieces) == filled.is_placed[arrival]
        for server, gpus in pieces:
            servers.take(server, gpus, requests, row)
            assert len(gpus) == requests.gpus[row]
            types = (
                requests.type_sets[requests.type_set[row]] if requests.type_set is not None else ()
            )
            assert not types or SERVER_TYPE[server] in types
        assert min(servers.gpus.min(), servers.cpu.min(), servers.memory.min()) >= 0
        free = servers.gpus.sum() / 20_000
        assert filled.unallocated[arrival] == pytest.approx(free)
        assert filled.fragmented[arrival] <= free + 1e-9


def test_the_arrivals_are_those_of_the_seed_whatever_the_placement():
    requests = Requests.from_columns([1, 2, 4], cpu=[1, 1, 1])
    one = fill(requests, CLUSTER, placement="first-fit", seed=5)
    other = fill(requests, CLUSTER, placement="random", seed=5)
    again = fill(requests, CLUSTER, placement="random", seed=5)
    assert one.arrivals.tolist() == other.arrivals.tolist()
    assert other.pieces.mask.tolist() == again.pieces.mask.tolist()
    assert other.arrivals.tolist() != fill(requests, CLUSTER, seed=6).arrivals.tolist()


def test_requests_are_drawn_by_their_popularity():
    cluster = gs.Cluster.uniform(500, 8)
    filled = fill(Requests.from_columns([1, 1, 1, 4]), cluster, placement="first-fit", until=2)
    share = np.bincount(filled.arrivals, minlength=4) / len(filled)
    assert share == pytest.approx(0.25, abs=0.02)


def test_a_list_is_begun_again_where_it_does_not_suffice():
    filled = fill(
        Requests.from_columns([3, 1]), gs.Cluster.uniform(2, 4), placement="first-fit", until=1.25,
        order="listed",
    )  # fmt: skip
    assert filled.arrivals.tolist() == [0, 1, 0, 1, 0]
    assert filled.is_placed.tolist() == [True, True, True, True, False]
    assert filled.arrived.tolist() == [0.375, 0.5, 0.875, 1.0, 1.375]
    assert filled.num_lost == 1
    state = filled.at([0.1, 0.5, 1.1, 1.375])
    assert state["allocated"].tolist() == [0, 0.5, 1, 1]
    assert state["unallocated"].tolist() == [1, 0.5, 0, 0]
    assert state["lost"].tolist() == [0, 0, 0, 0.2]
    assert np.isnan(state["fragmented"][0])
    assert "5 arrivals for 137.5% of 8 GPUs, 0.0% unallocated" in repr(filled)
    with pytest.raises(ValueError, match=r"demand: must lie in 0..1.375"):
        filled.at(1.4)


@each("seed", range(5))
def test_a_shuffled_list_comes_once_in_another_order_and_then_is_drawn_from(seed):
    requests = Requests.from_columns([1] * 40)
    filled = fill(
        requests, gs.Cluster.uniform(40, 2), placement="first-fit", until=1, order="shuffled",
        seed=seed,
    )  # fmt: skip
    first, then = filled.arrivals[:40], filled.arrivals[40:]
    assert sorted(first) == list(range(40))
    assert first.tolist() != list(range(40))
    assert 1 < len(set(then.tolist())) < len(then) == 40
    drawn = fill(requests, gs.Cluster.uniform(40, 2), placement="first-fit", until=1, seed=seed)
    assert drawn.arrivals[40:].tolist() == then.tolist()


def test_fewer_arrivals_are_the_beginning_of_the_same_shuffled_list():
    requests = Requests.from_columns([1, 2, 3, 4] * 20)
    long, short = (
        fill(
            requests, gs.Cluster.uniform(9, 4), placement="first-fit", until=until,
            order="shuffled",
        ).arrivals.tolist()
        for until in (4, 0.5)
    )  # fmt: skip
    assert long[: len(short)] == short


def test_a_gang_finds_no_place_among_fragments():
    cluster = gs.Cluster.uniform(2, 4)
    requests = Requests.from_columns([3, 2], cpu=[1, 1])
    filled = fill(requests, cluster, placement="first-fit", until=1.2, order="listed")
    # 3 + 1 and 2 + 2 GPUs: of the last one neither can use anything.
    assert filled.is_placed.tolist() == [True, True, False, True]
    assert (filled.fragmented * 8).tolist() == [1 + 0, 1 + 2 / 2, 1 + 2 / 2, 1]


def test_a_placement_in_python_fills_as_well():
    class Lowest(gs.Placement):
        """The lowest server that has room."""

        def place(self, free: Any, request: Any) -> list[tuple[int, int]] | None:
            for server, left in enumerate(free.free_gpus.tolist()):
                if left >= request.gpus:
                    return [(server, free.lowest_free(server, request.gpus))]
            return None

    requests = Requests.from_columns([1])
    cluster = gs.Cluster.uniform(2, 4)
    filled = fill(requests, cluster, placement=Lowest(), until=1)
    native = fill(requests, cluster, placement="first-fit", until=1)
    assert filled.placement == "python:" + Lowest.__qualname__
    assert filled.pieces.server.tolist() == native.pieces.server.tolist()


@each(
    ("answer", "message"),
    [
        ([(0, 0b1)], "arrival 0: the allocation must have all that was requested"),
        ([(5, 0b11)], "arrival 0: unknown server"),
        ([(0, 0b11000)], "arrival 0: unknown GPU"),
        ([(0, 0b1), (0, 0b10)], "arrival 0: servers must be listed once each, in order"),
        ([], "arrival 0: the allocation must have all that was requested"),
    ],
)
def test_a_wrong_placement_is_found_out(answer, message):
    class Wrong(gs.Placement):
        """Always the same."""

        def place(self, free: Any, request: Any) -> Any:
            return answer

    with pytest.raises(gs.InvariantError, match=message):
        fill(Requests.from_columns([2]), gs.Cluster.uniform(2, 4), placement=Wrong())


def test_what_was_given_is_not_given_again():
    class Same(gs.Placement):
        """Always the same GPU."""

        def place(self, free: Any, request: Any) -> Any:
            return [(0, 1)]

    with pytest.raises(gs.InvariantError, match="arrival 1: the resources placed are not free"):
        fill(Requests.from_columns([1]), gs.Cluster.uniform(2, 4), placement=Same())


@each(
    ("change", "error", "message"),
    [
        ({"until": 0}, ValueError, r"until: 0 must be finite and positive"),
        ({"until": float("nan")}, ValueError, r"until: nan must be finite"),
        ({"until": "1"}, TypeError, r"until: '1' must be a number"),
        ({"until": 1e9}, ValueError, r"until: 1e\+09 needs about .* arrivals, more than"),
        (
            {"order": "sorted"},
            ValueError,
            r"order: 'sorted' must be 'drawn', 'listed' or 'shuffled'",
        ),
        ({"seed": -1}, ValueError, r"seed: -1 must"),
        ({"placement": "count"}, ValueError, r"a single pool without servers cannot be filled"),
        ({"placement": "fdg"}, ValueError, r"unknown placement 'fdg'; did you mean 'fgd'\?"),
        ({"placement": "heavy-edge"}, ValueError, r"placement: supports whole GPUs only"),
        ({"requests": [1, 2]}, TypeError, r"requests: expected Requests or a Trace"),
        ({"cluster": 3}, TypeError, r"cluster: expected a Cluster"),
    ],
)
def test_a_wrong_argument_is_an_error_that_names_it(change, error, message):
    given: dict[str, Any] = {"requests": Requests.from_columns([1], cpu=[1]), "cluster": CLUSTER}
    with pytest.raises(error, match=message):
        fill(**(given | change))


def test_no_gpus_are_asked_for():
    with pytest.raises(ValueError, match=r"requests: no request asks for GPUs"):
        fill(Requests.from_columns([0, 0], cpu=[1, 2]), CLUSTER)


def test_a_trace_is_filled_by_what_its_jobs_ask_for():
    trace = gs.Trace.from_columns(
        [3, 0], [1, 1], [1, 2], gpu_share=[0.5, 1], cpu=[2, 1], gpu_types=["a", ""]
    )
    requests = Requests.from_trace(trace)
    assert requests.gpus.tolist() == [2, 1]
    assert requests.gpu_milli.tolist() == [2000, 500]
    assert requests.cpu.tolist() == [1, 2]
    assert len(fill(trace, CLUSTER, placement="first-fit")) > 5


def test_requests_are_made_of_a_trace_alone():
    with pytest.raises(TypeError, match=r"^trace: expected a Trace, not 'jobs.csv'$"):
        Requests.from_trace("jobs.csv")


def test_filling_can_be_watched_and_stopped():
    requests, seen = Requests.from_columns([1]), []
    fill(requests, CLUSTER, placement="first-fit", progress=seen.append)
    assert seen[-1] == gs.Progress(26, 26)
    stop = threading.Event()
    stop.set()
    cluster = gs.Cluster.uniform(50_000, 8)
    with pytest.raises(gs.Cancelled):
        fill(Requests.from_columns([1]), cluster, placement="random", until=5, stop=stop)


def test_a_row_per_arrival():
    requests = Requests.from_columns([1, 0], gpu_share=[0.5, 1], cpu=[1, 2], id=["x", "y"])
    frame = fill(requests, CLUSTER, placement="first-fit", until=0.1, order="listed").to_polars()
    assert frame["id"].to_list() == ["x", "y"] * 3 + ["x"]
    assert frame["gpu_share"].to_list()[:2] == [0.5, 1.0]
    assert frame["is_placed"].all()
    assert frame["allocated"].to_list()[-1] == 0.1


def test_requests_say_what_they_are():
    requests = Requests.from_columns([1, 0, 2], gpu_share=[0.25, 0.5, 1], cpu=[1, 2, 3])
    assert repr(requests) == (
        "Requests('requests': 3 for 2.2 GPUs, 1 of them for a share of one and 1 for none)"
    )
    assert requests.is_share.tolist() == [True, False, False]
    assert requests.share_milli.tolist() == [250, 1000, 1000]


@each(
    ("columns", "message"),
    [
        ({"gpus": [1, -1]}, r"columns, row 1, column 'gpus': -1 must not be negative"),
        ({"gpus": [1.5]}, r"column 'gpus': 1.5 must be a whole number"),
        ({"gpus": [np.inf]}, r"column 'gpus': inf must be a finite number"),
        ({"gpus": [2], "gpu_share": [0.5]}, r"column 'gpu_share': 0.5 must be 1"),
        ({"gpus": [1], "gpu_share": [1.5]}, r"column 'gpu_share': 1.5 must be at most 1"),
        ({"gpus": [1], "gpu_share": [0]}, r"column 'gpu_share': 0 must be positive"),
        ({"gpus": [1], "cpu": [-1]}, r"column 'cpu': -1 must not be negative"),
        ({"gpus": [1], "cpu": [1, 2]}, r"column 'cpu' has length 2, not 1"),
        ({"gpus": [0], "cpu": [0]}, r"column 'gpus': 0 must not be 0 without CPU and memory"),
        ({"gpus": [1, 1], "id": ["a", "a"]}, r"'a' must be unique"),
        ({"gpus": []}, r"columns: no jobs"),
    ],
)
def test_a_wrong_request_is_an_error_that_names_it(columns, message):
    with pytest.raises(ValueError, match=message):
        Requests.from_columns(**columns)


def test_wrong_requests_can_be_counted_instead():
    requests = Requests.from_columns([1, -1, 2], on_bad="reject")
    assert requests.gpus.tolist() == [1, 2]
    assert requests.row.tolist() == [0, 2]
    assert requests.rejects.counts == {"gpus must not be negative": 1}
