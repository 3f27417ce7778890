"""What a flag says is so: each plug-in that has it behaves like that, and the others do not."""

import dataclasses
import re

import numpy as np
import pytest

import gpusched as gs
from gpusched import _core
from gpusched.plugins.info import FLAGS, KINDS, PluginInfo
from gpusched.reference.packing import NAMES as KNOW_DEMANDS
from gpusched.specs.case import job_columns
from tests.contract.runs import CLUSTER, TYPED, run, run_networked, run_urgent
from tests.each import each
from tests.golden import workload as golden

POLICIES, PLACEMENTS = gs.policies(), gs.placements()
SPEEDS, CONTENTIONS = gs.speeds(), gs.contentions()
PLUG_INS = [*POLICIES.values(), *PLACEMENTS.values(), *SPEEDS.values(), *CONTENTIONS.values()]
ALIASES = {name: info for name, info in POLICIES.items() if info.alias_of}

FINISHED = 0


def with_flag(flag: str, plug_ins: dict[str, PluginInfo]) -> set[str]:
    return {name for name, info in plug_ins.items() if info.has(flag)}


@each("flag", FLAGS)
def test_a_flag_is_explained_in_a_sentence_and_has_users(flag):
    assert re.fullmatch(r"[a-z]+(-[a-z]+)*", flag)
    assert re.fullmatch(r"[A-Z].{10,}[^.]\.", FLAGS[flag])
    assert KINDS[flag] <= {"order", "scheduler", "placement", "speed", "contention"}
    # Only what is not known of a scheduler of Python is worth a promise.
    assert any(info.has(flag) for info in PLUG_INS) == (flag != "non-preemptive")


@each("info", PLUG_INS)
def test_a_misspelt_flag_is_an_error_and_not_false(info):
    with pytest.raises(ValueError, match="unknown flag 'preemtive'; did you mean 'preemptive'"):
        info.has("preemtive")


@each("policy", [n for n, i in POLICIES.items() if i.kind == "order"])
def test_the_scan_that_an_order_declares_is_its_default(policy):
    info = POLICIES[policy]
    scan = info.parameter("scan")
    assert scan is not None
    if not info.has("preemptive"):
        assert info.has(scan["default"])


@each("policy", POLICIES)
def test_only_policies_that_say_so_look_at_estimates(policy):
    jobs = TYPED["plain"]
    services = jobs.service_us
    told = [
        run_on(dataclasses.replace(jobs, estimate_us=estimates), policy)
        for estimates in (services * 2, services[::-1] + services.max())
    ]
    assert (told[0] != told[1]) == POLICIES[policy].has("estimate")


def run_on(jobs: gs.Trace, policy: str) -> str:
    return gs.simulate(jobs, CLUSTER, policy=policy, predictor="oracle").digest


@pytest.mark.parametrize("policy", POLICIES)
def test_only_policies_that_say_so_take_outages_and_others_are_refused_by_name(policy):
    outages = gs.Outages.from_columns(server=[0, 1], start_s=[100, 5000], end_s=[4000, 9000])
    if POLICIES[policy].has("outages"):
        assert run(policy, outages=outages).capacity.down > 0
        return
    with pytest.raises(ValueError, match=f"^policy {policy} does not support outages$"):
        run(policy, outages=outages)


@pytest.mark.parametrize("policy", POLICIES)
def test_only_policies_that_say_so_go_by_priorities_and_others_warn(policy):
    jobs = golden.fitting(policy)[0]
    ranked = TYPED[jobs].with_columns(priority=np.arange(len(TYPED[jobs])) % 5)
    result = run(policy, jobs=ranked)
    assert (result.digest != run(policy).digest) == POLICIES[policy].has("priorities")
    warning = f"policy={policy} does not use priorities"
    assert (warning in result.warnings) != POLICIES[policy].has("priorities")


@each("policy", POLICIES)
def test_only_policies_that_say_so_plan_a_batch(policy):
    jobs = gs.Trace.from_columns([0, 0, 0], [5, 6, 7], [1, 3, 2])
    cluster = gs.Cluster.uniform(2, 2)
    if not POLICIES[policy].has("offline"):
        with pytest.raises(ValueError, match=f"policy {policy}: .*cannot plan"):
            gs.online.plan(jobs, cluster, policy=policy, contention="none")
        with pytest.raises(ValueError, match="cannot plan a batch"):  # nor could the core
            plan_natively(jobs, cluster, policy)
        return
    plan_natively(jobs, cluster, policy)
    assert len(gs.online.plan(jobs, cluster, policy=policy, contention="none").result.trace) == 3
    late = gs.Trace.from_columns([0, 0, 1], [5, 6, 7], [1, 3, 2])
    with pytest.raises(ValueError, match=r"submit_s\[2\] is 1"):
        gs.online.plan(late, cluster, policy=policy, contention="none")


def plan_natively(jobs: gs.Trace, cluster: gs.Cluster, policy: str) -> None:
    table = _core.JobTable(**job_columns(jobs, cluster, uses_estimates=False))
    servers = _core.Cluster(cluster.server_gpus, cluster.server_type, **cluster.core_columns())
    _core.plan_gangs(table, servers, policy, {}, 0, 1e-3, _core.RunControl())


def test_the_placements_of_the_reference_know_demands_and_shares():
    assert with_flag("demands", PLACEMENTS) >= set(KNOW_DEMANDS)
    assert with_flag("shares", PLACEMENTS) >= set(KNOW_DEMANDS)


def sharing(speed: str = "fixed", placement: str = "consolidated") -> gs.Result:
    """Two halves of the only GPU, at once if they may share it."""
    profile = gs.model.JobProfile(
        "m", gradient_bytes=1e6, forward_s=0.1, backward_s=0.1, batch=1,
        throughput={"gpu": {1: 1.0}}, samples_per_s={"gpu": 1.0}, global_batch=1,
    )  # fmt: skip
    jobs = gs.Trace.from_columns(
        [0, 0], [10, 10], [1, 1], gpu_share=[0.5, 0.5], profiles=[profile], profile=[0, 0],
        graphs=[gs.model.JobGraph("one", (gs.model.Stage(1, 0.5, 1e9),))], graph=[0, 0],
    )  # fmt: skip
    cluster = gs.Cluster.uniform(1, 1, nic_gbps=10, intra_gbps=100)
    return gs.simulate(jobs, cluster, speed=speed, placement=placement)


@each("placement", PLACEMENTS)
def test_only_placements_that_say_so_share_a_gpu(placement):
    if PLACEMENTS[placement].has("shares"):
        assert sharing(placement=placement).summary()["makespan_s"] == 10
    else:
        with pytest.raises(ValueError, match="supports whole GPUs only"):
            sharing(placement=placement)


@each("speed", SPEEDS)
def test_only_speeds_that_say_so_know_jobs_that_share_a_gpu(speed):
    if SPEEDS[speed].has("shares"):
        assert sharing(speed).summary()["makespan_s"] == 10
    else:
        with pytest.raises(ValueError, match="does not support jobs that share a GPU"):
            sharing(speed)


CLUSTERS = [(8, 4, 4, 2), (4, 4, 4), (8, 8, 3, 1), (6, 5, 5), (1, 1, 1)]


def fits_on_fewest(sizes: tuple[int, ...], gpus: int) -> bool:
    """A server for all, or full ones of the largest size and another server for the rest."""
    whole, left = divmod(gpus, max(sizes))
    if whole == 0:
        return True
    others = sorted(sizes, reverse=True)[whole:]
    is_full = sizes.count(max(sizes)) >= whole
    return is_full and (left == 0 or any(size >= left for size in others))


@each("sizes", CLUSTERS)
@each("placement", PLACEMENTS)
def test_an_empty_cluster_takes_what_the_placement_says(placement, sizes):
    widths = np.arange(1, sum(sizes) + 1)
    jobs = gs.Trace.from_columns(widths * 10, np.ones(len(widths)), widths)
    servers = tuple(gs.ServerGroup(1, size, "A") for size in sizes)
    result = gs.simulate(jobs, gs.Cluster(servers), policy="fifo", placement=placement)
    result.audit().raise_if_bad()
    takes = result.schedule.status == FINISHED
    if PLACEMENTS[placement].has("scatters"):
        assert takes.all()
    if PLACEMENTS[placement].has("consolidates"):
        assert takes.tolist() == [fits_on_fewest(sizes, gpus) for gpus in widths.tolist()]


NEEDS = {
    "profiles": {
        "profiles": [
            gs.model.JobProfile("m", gradient_bytes=1e6, forward_s=0.1, backward_s=0.1, batch=1)
        ]
    },
    "throughputs": {"profiles": [gs.model.JobProfile("m", throughput={"gpu": {1: 1.0, 2: 1.5}})]},
    "samples": {"profiles": [gs.model.JobProfile("m", samples_per_s={"gpu": 1.0}, global_batch=2)]},
    "graphs": {
        "graphs": [
            gs.model.JobGraph("two", (gs.model.Stage(1, 0.5, 1e9), gs.model.Stage(1, 0.5, 1e9)))
        ]
    },
}


@each("given", [*NEEDS, "nothing"])
@each("speed", SPEEDS)
def test_a_speed_needs_what_it_says_and_nothing_else(speed, given):
    columns: dict = dict(NEEDS.get(given, {}))
    columns |= {name[:-1]: [0] for name in columns}
    jobs = gs.Trace.from_columns([0], [10], [2], **columns)
    cluster = gs.Cluster.uniform(1, 2, nic_gbps=10, intra_gbps=100, gpu_type="gpu")
    needed = {flag for flag in NEEDS if SPEEDS[speed].has(flag)}
    # Where it has no flag for what it needs, any profile or graph will do.
    indices = {"profile", "graph"} & set(SPEEDS[speed].columns)
    if needed <= {given} and (needed or indices <= set(columns)):
        gs.simulate(jobs, cluster, speed=speed).audit().raise_if_bad()
    else:
        with pytest.raises(ValueError, match=r"with_profiles|with_throughputs|with_graphs|profile"):
            gs.simulate(jobs, cluster, speed=speed)


@each("speed", SPEEDS)
def test_a_speed_is_steady_exactly_if_places_do_not_matter(speed):
    together, apart = (
        run_networked("fifo", placement, speed=speed) for placement in ("consolidated", "spread")
    )
    is_steady = SPEEDS[speed].has("steady")
    assert together.is_fixed == is_steady
    lasts_its_service = []
    for result in (together, apart):
        ran = result.schedule.status == FINISHED
        held = result.schedule.finish_us - result.schedule.start_us
        lasts_its_service += (held == result.trace.service_us)[ran].tolist()
    assert all(lasts_its_service) == is_steady


@each("speed", [name for name in SPEEDS if not SPEEDS[name].has("steady")])
def test_a_speed_is_linkless_exactly_if_no_contention_matters(speed):
    digests = {
        run_networked("fifo", "spread", speed=speed, contention=contention).digest
        for contention in CONTENTIONS
    }
    assert (len(digests) == 1) == SPEEDS[speed].has("linkless")


@each("speed", SPEEDS)
def test_only_speeds_that_say_so_let_jobs_have_other_widths(speed):
    one = run_networked if SPEEDS[speed].has("graphs") else run_urgent
    result = one(policy="matching", placement="consolidated", speed=speed)
    result.audit().raise_if_bad()
    jobs, masks = result.intervals["job"], result.intervals["mask"]
    first = np.flatnonzero(np.diff(jobs * 2**40 + result.intervals["start_us"], prepend=-1))
    held = np.add.reduceat(np.bitwise_count(masks).astype(int), first)
    assert (held != result.trace.gpus[jobs[first]]).any() == SPEEDS[speed].has("elastic")


MANY = 8


def on_one_link(contention: str, num_rings: int) -> int:
    """When the first of some equal rings between two servers ends."""
    profile = gs.model.JobProfile("m", gradient_bytes=1e9, forward_s=0.01, backward_s=0.01, batch=1)
    ones = np.ones(num_rings)
    jobs = gs.Trace.from_columns(
        0 * ones, 100 * ones, (2 * ones).astype(int), profiles=[profile],
        profile=(0 * ones).astype(int),
    )  # fmt: skip
    cluster = gs.Cluster.uniform(2, MANY, nic_gbps=1, intra_gbps=100)
    result = gs.simulate(
        jobs, cluster, placement="spread", speed="ring", contention=contention, verify=True
    )
    return int(result.schedule.finish_us[0])


@pytest.mark.parametrize("contention", CONTENTIONS)
def test_a_contention_interacts_exactly_if_others_matter(contention):
    alone, beside_others = on_one_link(contention, 1), on_one_link(contention, MANY)
    assert (alone < beside_others) == CONTENTIONS[contention].has("interacting")
    if CONTENTIONS[contention].has("uncontended"):
        assert alone == beside_others
        assert alone <= min(on_one_link(other, 1) for other in CONTENTIONS)


@each("alias", ALIASES)
@each("placement", ["consolidated", "count", "random"])
def test_an_alias_is_another_name_of_its_target(alias, placement):
    target = ALIASES[alias].alias_of
    assert run(alias, placement).digest == run(target, placement).digest
    assert (
        run(alias, placement, predictor="estimate").digest
        == run(target, placement, predictor="estimate").digest
    )


@each("alias", ALIASES)
def test_an_alias_differs_from_its_target_in_defaults_alone(alias):
    target = gs.Policy.parse(ALIASES[alias].alias_of)
    own = {entry["name"]: entry for entry in ALIASES[alias].parameters}
    others = {entry["name"]: entry for entry in target.info.parameters}
    assert target.parameters
    assert not target.info.alias_of
    assert own == {
        name: {**entry, "default": target.parameters.get(name, entry["default"])}
        for name, entry in others.items()
    }
    # What a user sets comes before what the name sets.
    defaults = {name: others[name]["default"] for name in target.parameters}
    assert run(gs.Policy(alias, **defaults)).digest == run(target.name).digest
    assert run(alias).digest != run(target.name).digest
