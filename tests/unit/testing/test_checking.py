"""What check_policy and its like draw, take and refuse."""

import subprocess
import sys
from functools import partial

import numpy as np
import pytest
from hypothesis import find, given
from hypothesis import strategies as st

import gpusched as gs
from gpusched.testing.cases import (
    Subject,
    cluster_code,
    columns_of,
    moved,
    outages_code,
    trace_code,
    with_rows,
)
from gpusched.testing.law_registry import LAWS, law
from gpusched.testing.strategies import COLUMNS
from tests.each import each
from tests.examples import examples
from tests.golden import workload as golden


class Narrow(gs.Order):
    """Narrow jobs first."""

    def __init__(self, sign: int = 1) -> None:
        super().__init__()
        self.sign = sign

    def rank(self, view, jobs):
        return self.sign * view.gpus[jobs]


class Greedy(gs.Placement):
    """The first free GPUs that are allowed."""

    def place(self, free, request):
        pieces, left = [], request.gpus
        for server, count in enumerate(free.free_gpus.tolist()):
            taken = min(count, left)
            if taken and request.types >> int(free.server_type[server]) & 1:
                pieces.append((server, free.lowest_free(server, taken)))
                left -= taken
        return None if left else pieces


FEW_LAWS = ("capacity", "repeats", "work-conserving", "scale-free")


@each("policy", [Narrow, Narrow(), partial(Narrow, -1), "sgf", gs.Policy("sgf")])
def test_a_policy_may_be_a_name_an_object_or_what_makes_one(policy):
    declares = ["work-conserving", "scale-free"]
    gs.testing.check_policy(policy, examples=3, declares=declares, laws=FEW_LAWS)


@each("placement", [Greedy, Greedy(), "best-fit"])
def test_a_placement_may_be_a_name_an_object_or_what_makes_one(placement):
    gs.testing.check_placement(placement, examples=3, laws=FEW_LAWS)
    gs.testing.check_policy("srtf", placement=placement, examples=3, laws=FEW_LAWS)


def test_an_object_is_left_as_it_was():
    order = Narrow(-1)
    gs.testing.check_policy(order, examples=2)
    assert vars(order) == {"sign": -1}


@each(
    ("policy", "options", "error", "message"),
    [
        ("fifo", {"declares": ["work-conserve"]}, ValueError, "unknown claim 'work-conserve'; did"),
        ("fifo", {"laws": ["capacities"]}, ValueError, "unknown law 'capacities'; did you mean"),
        ("fifo", {"placement": "first"}, ValueError, "unknown placement 'first'"),
        ("fifo", {"speed": "fast"}, ValueError, "unknown speed 'fast'"),
        ("fifo", {"declares": "capacity"}, TypeError, "declares: expected a collection"),
        ("fifo", {"laws": "capacity"}, TypeError, "laws: expected a collection"),
        # Numbers out of range are mistakes, and not broken laws.
        ("fifo", {"examples": -1}, ValueError, "examples: -1 must lie in 0"),
        ("fifo", {"examples": 1.5}, TypeError, "examples: 1.5 must be an integer"),
        ("fifo", {"seed": -1}, ValueError, "seed: -1 must lie between"),
        (3, {}, TypeError, "policy: expected a name, a Policy"),
    ],
)
def test_what_cannot_be_checked_is_refused_by_name(policy, options, error, message):
    with pytest.raises(error, match=message):
        gs.testing.check_policy(policy, **options)


@pytest.mark.parametrize(
    ("policy", "claim", "broken"),
    [
        ("srtf", "non-preemptive", "keeps-gpus"),
        pytest.param("fifo", "work-conserving", "work-conserving", marks=pytest.mark.long),
        pytest.param("las", "scale-free", "scale-free", marks=pytest.mark.long),
    ],
)
def test_a_claim_that_is_false_breaks_its_law(policy, claim, broken):
    with pytest.raises(gs.testing.LawBroken) as caught:
        gs.testing.check_policy(policy, declares=[claim], laws=[broken])
    assert caught.value.law == broken


def test_what_draws_at_random_is_known_by_its_flag():
    gs.testing.check_policy("random", examples=2)


def test_only_the_laws_that_are_named_are_asked():
    asked = []

    @law("noted", "A law of this test.")
    def noted(case):
        asked.append(case)
        yield from ()

    try:
        gs.testing.check_policy("fifo", laws=["noted"], examples=5)
        gs.testing.check_placement("best-fit", laws=["noted"], examples=0)
        with pytest.raises(ValueError, match="the name 'noted' is taken"):
            law("noted", "Another one.")(noted)
    finally:
        LAWS.remove("noted")
    assert len(asked) > 10
    assert {case.role for case in asked} == {"policy", "placement"}


def test_the_same_seed_asks_the_same_workloads():
    seen: list[list[str]] = []

    @law("noted", "A law of this test.")
    def noted(case):
        seen[-1].append(repr((case.columns, case.cluster)))
        yield from ()

    try:
        for seed in (1, 1, 2):
            seen.append([])
            gs.testing.check_policy("fifo", laws=["noted"], examples=20, seed=seed)
    finally:
        LAWS.remove("noted")
    assert seen[0] == seen[1] != seen[2]


def test_a_law_that_ends_with_an_error_is_broken():
    @law("faulty", "A law of this test.")
    def faulty(case):
        raise ZeroDivisionError("by nothing")
        yield ""

    try:
        with pytest.raises(gs.testing.LawBroken, match="ZeroDivisionError: by nothing"):
            gs.testing.check_policy("fifo", laws=["faulty"])
    finally:
        LAWS.remove("faulty")


def test_a_subject_is_made_anew_for_each_run():
    order = Narrow()
    subject = Subject.of("policy", order)
    order.sign = 5  # what was given was copied
    first, second = subject.make(), subject.make()
    assert first is not second
    assert first.sign == second.sign == 1
    assert subject.code("policy") == "policy"  # its constructor's arguments are not known
    assert Subject.of("policy", Narrow).code("policy") == "Narrow"
    assert Subject.of("policy", gs.Policy("las")).code("policy") == "gs.Policy('las')"


@pytest.mark.parametrize(
    ("policy", "may_fail"), [("fifo", True), ("srtf", True), ("dancer", False)]
)
def test_servers_fail_where_the_policy_can_go_on(policy, may_fail):
    @law("whole", "A law of this test.")
    def whole(case):
        if case.outages is not None and len(case.trace) > 1:
            yield f"{len(case.outages)} outages"

    try:
        if not may_fail:
            gs.testing.check_policy(policy, laws=["whole"], examples=40)
            return
        with pytest.raises(gs.testing.LawBroken, match="outages = gs") as caught:
            gs.testing.check_policy(policy, laws=["whole"], examples=40)
        found = caught.value
        assert (len(found.outages), len(found.trace)) == (1, 2)
        assert "on=(trace, cluster, outages)" in str(found)
        on = (found.trace, found.cluster, found.outages)
        with pytest.raises(gs.testing.LawBroken, match="1 outages"):
            gs.testing.check_policy(policy, laws=["whole"], on=on)
        gs.testing.check_policy(policy, laws=["whole"], on=on[:2])
    finally:
        LAWS.remove("whole")


few = examples(30)


@few
@given(gs.testing.workloads(columns=COLUMNS, gpu_types=("A", "B"), max_jobs=5))
def test_a_workload_fits_its_cluster_and_its_code_builds_it_again(workload):
    trace, cluster = workload
    assert 1 <= len(trace) <= 5
    assert trace.gpus.max() <= cluster.num_gpus <= 16
    assert (trace.submit_us % 1_000_000 == 0).all()
    names = {"gs": gs}
    exec(trace_code(trace), names)
    exec(cluster_code(cluster), names)
    assert names["cluster"] == cluster
    assert repr(columns_of(names["trace"])) == repr(columns_of(trace))


@few
@given(gs.testing.outages(gs.Cluster.uniform(3), max_outages=5))
def test_outages_are_of_the_cluster_and_their_code_builds_them_again(outages):
    assert 1 <= len(outages) <= 5
    assert outages.server.max() < 3
    assert (outages.start_us % 1_000_000 == 0).all()
    names = {"gs": gs}
    exec(outages_code(outages), names)
    assert names["outages"].sha256 == outages.sha256
    later = moved(moved(outages, times=2), later_s=3)
    assert (later.start_us == 2 * outages.start_us + 3_000_000).all()
    assert ((later.end_us == -1) == (outages.end_us == -1)).all()
    ends = outages.end_us >= 0
    assert (later.end_us[ends] == 2 * outages.end_us[ends] + 3_000_000).all()


def test_the_code_of_real_columns_builds_them_again():
    for trace in (golden.urgent(is_typed=True), golden.demanding(), golden.networked()):
        names = {"gs": gs}
        exec(trace_code(trace), names)
        made = names["trace"]
        assert repr(columns_of(made)) == repr(columns_of(trace))
        for column in ("submit_us", "service_us", "gpus", "share_milli", "memory_mib", "type_set"):
            assert np.array_equal(getattr(made, column), getattr(trace, column)), column
    for cluster in (golden.roomy_cluster(), golden.networked_cluster()):
        names = {"gs": gs}
        exec(cluster_code(cluster), names)
        assert names["cluster"] == cluster


@pytest.mark.long
def test_what_is_found_is_as_small_as_it_can_be():
    trace, cluster = find(
        gs.testing.workloads(columns=("weight", "estimate_s")), lambda of: len(of[0]) >= 2
    )
    assert columns_of(trace) == {"submit_s": [0, 0], "service_s": [1, 1], "gpus": [1, 1]}
    assert (cluster.num_servers, cluster.num_gpus) == (1, 1)


@pytest.mark.long
def test_some_jobs_do_not_fit_if_asked_for():
    trace, cluster = find(
        gs.testing.workloads(is_fitting=False), lambda of: of[0].gpus.max() > of[1].num_gpus
    )
    assert len(trace) == 1
    assert trace.gpus[0] == cluster.num_gpus + 1


@few
@given(gs.testing.states(policy="srtf", placement="best-fit", max_jobs=6), st.data())
def test_a_state_is_one_of_its_run(run, data):
    state = run.state
    assert state.num_arrived >= 1
    digest = gs.simulate(run.trace, run.cluster, policy="srtf", placement="best-fit").digest
    fork = run.fork()
    fork.run()
    assert fork.result().digest == digest


def test_rows_come_with_their_models():
    columns = columns_of(golden.networked())
    some = with_rows(columns, [5, 2])
    assert some.graphs
    assert sorted(some.gpus.tolist()) == sorted(columns["gpus"][row] for row in (5, 2))


def test_a_mistake_is_refused_by_name():
    with pytest.raises(ValueError, match="columns: unknown column 'wight'; did you mean 'weight'"):
        gs.testing.traces(columns=["wight"])
    with pytest.raises(ValueError, match="max_jobs: 0 must be at least 1"):
        gs.testing.traces(max_jobs=0)


WITHOUT = """
import sys
sys.modules["hypothesis"] = None
from importlib import util
known = util.find_spec
util.find_spec = lambda name, *more: None if name == "hypothesis" else known(name, *more)
import gpusched as gs
trace, cluster = gs.Trace.from_columns([0], [1], [1]), gs.Cluster.uniform(1, 1)
gs.testing.check_policy("fifo", on=(trace, cluster))
try:
    gs.testing.check_policy("fifo")
except ImportError as error:
    print(error)
"""


def test_without_hypothesis_the_extra_is_named_and_a_given_case_is_checked():
    made = subprocess.run(
        [sys.executable, "-c", WITHOUT], capture_output=True, text=True, timeout=120, check=True
    )
    told = 'gpusched.testing needs hypothesis: pip install "gpusched-core[testing]"'
    assert made.stdout.strip() == told


class ByUser(gs.Order):
    """Jobs of the users with most jobs first."""

    lifetime = "fixed"

    def rank(self, view, jobs):
        codes = view.user.codes
        return -np.bincount(codes)[codes[jobs]].astype(float)


class ByName(gs.Order):
    """Jobs by the names of their users."""

    lifetime = "fixed"

    def rank(self, view, jobs):
        places = np.argsort(np.argsort(view.user.names))
        return places[view.user.codes[jobs]].astype(float)


def test_a_policy_may_look_at_users_but_not_at_their_names():
    trace = gs.Trace.from_columns([0, 0, 0, 0], [5, 5, 2, 1], [1] * 4, user=["bz", "bz", "aa", ""])
    on = (trace, gs.Cluster.uniform(1, 1))
    gs.testing.check_policy(ByUser, laws=["ids"], on=on)
    with pytest.raises(gs.testing.LawBroken, match="other ids and names"):
        gs.testing.check_policy(ByName, laws=["ids"], on=on)
