"""What changes to a base case would do, and how they are read."""

import dataclasses
import json
import pickle
import re
import threading

import numpy as np
import pytest

import gpusched as gs
from gpusched.studies.what_if import LOST, MEASURES, Change, Scenario, can_join, parse_changes
from gpusched.traces.outages import drawn_for
from tests.each import each
from tests.unit.studies.site_logs import SITE, jobs, logged

CHANGES = ["policy=sjf", "servers=+1", "estimates=exact"]


@pytest.fixture(scope="module")
def site() -> gs.Trace:
    return logged(jobs(0), policy="easy")


@pytest.fixture(scope="module")
def answer(site: gs.Trace) -> gs.studies.WhatIf:
    return gs.whatif(site, SITE, "easy", CHANGES)


def run(trace: gs.Trace, cluster: gs.Cluster, policy: str) -> gs.Result:
    return gs.simulate(trace, cluster, policy=policy, predictor="estimate")


def test_the_figures_are_those_of_the_runs(answer, site):
    base, sjf = run(site, SITE, "easy"), run(site, SITE, "sjf")
    assert [outcome.label for outcome in answer.outcomes] == [*CHANGES, "all together"]
    for outcome, result in ((answer.base, base), (answer.outcomes[0], sjf)):
        summary = result.summary()
        for key in ("mean_wait_s", "mean_jct_s", "p95_jct_s", "utilisation", "makespan_s"):
            assert outcome.measures[key] == summary[key]
        ordered = np.sort(result.jobs.wait_s)
        assert outcome.measures["p95_wait_s"] == ordered[int(np.ceil(0.95 * len(site))) - 1]
    change_s = sjf.jobs.jct_s - base.jobs.jct_s
    assert answer.outcomes[0].num_gain == np.count_nonzero(change_s < -60)
    assert answer.outcomes[0].num_lose == np.count_nonzero(change_s > 60)
    assert answer.outcomes[0].gain_s == pytest.approx(-change_s[change_s < -60].mean())
    assert answer.outcomes[0].loss_s == pytest.approx(change_s[change_s > 60].mean())
    difference = answer.difference("policy=sjf", "mean_wait_s")
    assert difference == sjf.summary()["mean_wait_s"] - base.summary()["mean_wait_s"] != 0


def test_all_changes_together_are_one_run(answer, site):
    exact = dataclasses.replace(site, estimate_us=site.service_us)
    result = run(exact, gs.Cluster.uniform(7, 8), "sjf")
    together = answer.outcomes[-1]
    assert together.cluster == gs.Cluster.uniform(7, 8)
    assert together.measures["mean_wait_s"] == result.summary()["mean_wait_s"]


def test_one_thing_changed_once_or_in_two_ways_has_no_row_for_all(site):
    alone = gs.whatif(site, SITE, "easy", ["servers=+1"])
    both = gs.whatif(site, SITE, "easy", ["servers=+1", "servers=+2"])
    assert [outcome.label for outcome in alone.outcomes] == ["servers=+1"]
    assert [outcome.label for outcome in both.outcomes] == ["servers=+1", "servers=+2"]
    assert not any("all together" in remark for remark in alone.remarks)
    assert "no row for all together: one setting changes in several ways" in both.remarks


def test_the_right_base_case_carries_the_best_grade(answer):
    assert answer.grade.letter == "A"
    assert "grade A" in str(answer)
    assert set(answer.table()["grade"]) == {"A"}


def test_the_grade_is_that_of_the_base_case(site):
    wrong = gs.whatif(site, SITE, "fifo", {"policy": "easy", "estimates": "*1"})
    same = gs.fidelity(site, SITE, ["fifo"], ["consolidated"])
    assert wrong.grade == same.grade
    assert wrong.likeness == same.best.likeness
    assert wrong.grade.letter in "DE"
    text = " ".join(str(wrong).split())
    assert "the baseline misses the recorded mean wait by a factor of " in text
    assert "these changes are not larger: estimates=*1" in text


def test_a_trace_without_starts_has_no_grade():
    answer = gs.whatif(jobs(0), SITE, "easy", CHANGES)
    assert answer.grade is answer.likeness is None
    assert "no grade: the trace has no recorded starts" in str(answer)
    assert answer.table()["grade"].null_count() == 5
    assert answer.to_dict()["no_grade"] == "the trace has no recorded starts"


def test_too_few_starts_give_no_grade_unless_one_asked_for_the_window():
    few = logged(jobs(0, 8), policy="fifo")
    answer = gs.whatif(few, SITE, "fifo", ["servers=+1"])
    assert answer.grade is None
    assert "at least 10 are needed" in answer.no_grade
    with pytest.raises(ValueError, match="at least 10 are needed"):
        gs.whatif(few, SITE, "fifo", ["servers=+1"], warm_up_s=0)


def test_the_cluster_is_the_one_on_which_jobs_wait_as_long_as_they_did(site):
    answer = gs.whatif(site, base="easy", changes=["servers=+1"])
    assert answer.base.cluster == SITE
    assert answer.outcomes[0].cluster == gs.Cluster.uniform(7, 8)
    assert answer.grade.letter == "A"
    assert any(remark.startswith("cluster assumed: 6 servers") for remark in answer.remarks)


def test_without_starts_the_cluster_is_the_smallest_with_room():
    trace = jobs(0)
    answer = gs.whatif(trace, changes=["servers=+1"])
    assert answer.base.cluster == gs.traces.smallest_cluster(trace)
    assert any("load at most 0.9" in remark for remark in answer.remarks)


def test_jobs_that_only_one_of_two_runs_finishes_gain_or_lose(site):
    answer = gs.whatif(site, SITE, "fifo-skip", ["servers=1"])
    lost = int(np.count_nonzero(site.gpus > 8))
    (small,) = answer.outcomes
    assert small.num_finished == len(site) - lost
    assert small.num_lose >= lost
    never = f"servers=1: {lost:,} jobs rejected: needs more GPUs than the cluster has"
    assert never in answer.remarks
    back = gs.whatif(site, gs.Cluster.uniform(1, 8), "fifo-skip", ["servers=6"])
    assert back.outcomes[0].num_gain >= lost


def test_measures_are_of_the_jobs_that_every_case_finishes(site):
    answer = gs.whatif(site, SITE, "fifo-skip", ["servers=1"])
    narrow = site.gpus <= 8
    for outcome, servers in ((answer.base, SITE), (answer.outcomes[0], gs.Cluster.uniform(1, 8))):
        jobs = gs.simulate(site, servers, policy="fifo-skip").jobs
        wait_s = jobs.wait_s[narrow]
        assert outcome.measures["mean_wait_s"] == pytest.approx(wait_s.mean())
        assert outcome.measures["p95_jct_s"] in jobs.jct_s[narrow]
    # The wide jobs are more than a hundredth of the work: what the others gain is no gain.
    share = float((site.gpus * site.service_s)[~narrow].sum() / site.gpu_seconds)
    said = f"the {narrow.sum()} jobs that every case finishes; {(~narrow).sum()} others ask for "
    assert f"{said}{100 * share:.3g}% of the GPU time" in str(answer).replace("\n  ", " ")
    assert answer.to_dict()["share_of_others"] == pytest.approx(share)
    assert not re.search(r"[+-][\d.]+%", str(answer).split("gain, lose")[0])


def test_changes_are_told_as_a_person_would(site):
    answer = gs.whatif(
        site, SITE, "srtf", ["servers=-10%", "restart=10m", "load=+20%"], predictor="oracle"
    )
    fewer, paid, busier, _ = answer.outcomes
    assert fewer.cluster.num_servers == SITE.num_servers - 1
    run = gs.simulate(site.with_columns(restart_s=600), SITE, policy="srtf", predictor="oracle")
    assert paid.measures["mean_jct_s"] == run.metric("mean_jct_s")
    run = gs.simulate(site.scale_load(1.2), SITE, policy="srtf", predictor="oracle")
    assert busier.measures["mean_jct_s"] == run.metric("mean_jct_s")
    points = 100 * (fewer.measures["utilisation"] - answer.base.measures["utilisation"])
    assert f"{points:+.1f} points" in str(answer)
    (told,) = [line for line in answer.remarks if line.startswith("a restart")]
    assert "costs nothing under base" in told
    assert "10 min under restart=10m" in told
    same = gs.whatif(site, SITE, "srtf", ["servers=+0"])
    assert "no change" in str(same)


def test_failures_and_limits_may_change(site):
    outages = gs.Outages.from_columns([0, 1], [3600, 7200], [9e4, None], ["fail", "drain"])
    trace = site.with_columns(checkpoint_every_s=600, checkpoint_write_s=5)
    changes = ["mtbf=1d", "checkpoint_every=off", "max_requeues=0", "time_limit=2h", "requeue=back"]
    answer = gs.whatif(trace, SITE, "fifo", changes, outages=outages)
    drawn = drawn_for(trace, SITE, 86_400.0)
    expected = [
        (trace, outages), (trace, drawn),
        (site, outages),
        (trace.with_columns(max_requeues=0), outages),
        (trace.with_columns(time_limit_s=7200), outages),
        (trace.with_columns(requeue_back=1), outages),
        (site.with_columns(max_requeues=0, time_limit_s=7200, requeue_back=1), drawn),
    ]  # fmt: skip
    for outcome, (jobs_, failures) in zip((answer.base, *answer.outcomes), expected, strict=True):
        run = gs.simulate(jobs_, SITE, policy="fifo", outages=failures)
        assert outcome.measures["makespan_s"] == run.metric("makespan_s"), outcome.label
        assert outcome.num_finished == np.count_nonzero(run.jobs.is_finished)
        for measure in LOST:
            assert outcome.measures[measure] == run.metric(measure)
    assert answer.outcomes[0].measures[LOST[0]] > 0
    assert answer.outcomes[3].measures[LOST[1]] > 0
    assert "GPU s lost" in str(answer)
    lost = [outcome.measures[LOST[0]] for outcome in answer.outcomes]
    before = answer.base.measures[LOST[0]]
    assert answer.table()[f"d_{LOST[0]}"].to_list() == [0.0, *(each - before for each in lost)]
    plain = gs.whatif(site, SITE, "fifo", ["mtbf=1d"])
    assert plain.base.measures[LOST[0]] == 0
    assert set(gs.whatif(site, SITE, "fifo", ["policy=sjf"]).base.measures) == set(MEASURES)
    assert any(line.endswith(": 2 outages from columns") for line in answer.remarks)
    with pytest.raises(ValueError, match=r"servers=1: columns, row 1, .*unknown server 1"):
        gs.whatif(site, SITE, "fifo", ["servers=1"], outages=outages)
    with pytest.raises(ValueError, match="mtbf_s: cannot be combined with outages"):
        gs.whatif(site, SITE, "fifo", ["servers=1"], outages=outages, mtbf_s=1e6)
    for wrong in ({"mtbf_s": 0}, {"repair_s": -1}):
        with pytest.raises(
            ValueError, match=f"{next(iter(wrong))}: .* must be finite and positive"
        ):
            gs.whatif(site, SITE, "fifo", ["servers=1"], **wrong)


def test_drawn_failures_are_those_of_the_changed_cluster(site):
    asked = ["servers=+2", "repair=1h", "mtbf=off"]
    answer = gs.whatif(site, SITE, "fifo", asked, mtbf_s=4e5, repair_s=9000, seed=5)
    more = gs.Cluster.uniform(SITE.num_servers + 2, 8)
    expected = [
        (SITE, drawn_for(site, SITE, 4e5, 9000, 5)), (more, drawn_for(site, more, 4e5, 9000, 5)),
        (SITE, drawn_for(site, SITE, 4e5, 3600, 5)), (SITE, None), (more, None),
    ]  # fmt: skip
    for outcome, (cluster, outages) in zip((answer.base, *answer.outcomes), expected, strict=True):
        run = gs.simulate(site, cluster, policy="fifo", outages=outages, seed=5)
        assert outcome.measures["mean_jct_s"] == run.metric("mean_jct_s"), outcome.label


def test_a_clairvoyant_change_is_marked(site):
    answer = gs.whatif(site, SITE, "easy", ["policy=srtf"], predictor="oracle")
    assert answer.outcomes[0].clairvoyant
    assert "policy=srtf: clairvoyant (†): uses true run times" in answer.remarks


def test_run_times_may_depend_on_the_placement():
    trace = jobs(0, 100).with_profiles(gs.model.zoo()["resnet50"])
    cluster = gs.Cluster.uniform(6, 8, nic_gbps=10, intra_gbps=400)
    answer = gs.whatif(
        trace, cluster, "fifo", ["contention=shared", "placement=spread"], speed="ring"
    )
    assert answer.base.speed == "ring"
    assert answer.difference("placement=spread", "mean_jct_s") > 0
    assert answer.outcomes[0].contention == "shared"


def test_the_text_fits_a_terminal_and_the_json_is_plain(answer):
    assert max(map(len, str(answer).splitlines())) <= 100
    made = json.loads(json.dumps(answer.to_dict(), allow_nan=False))
    assert [change["label"] for change in made["changes"]] == [*CHANGES, "all together"]
    assert repr(answer) == (
        "WhatIf('site', easy: policy=sjf, servers=+1, estimates=exact, all together; grade A)"
    )
    table = answer.table()
    assert table["d_mean_wait_s"][0] == 0
    assert table["d_mean_wait_s"][1] == answer.difference("policy=sjf", "mean_wait_s")
    assert table.equals(answer.to_polars())


def test_threads_change_nothing_progress_is_told_and_it_pickles(answer, site):
    seen: list[gs.Progress] = []
    again = gs.whatif(site, SITE, "easy", CHANGES, threads=1, progress=seen.append)
    assert again.to_dict() == answer.to_dict()
    assert seen[-1] == gs.Progress(5, 5)
    assert pickle.loads(pickle.dumps(answer)).to_dict() == answer.to_dict()


def test_a_stop_ends_it(site):
    stop = threading.Event()
    stop.set()
    with pytest.raises(gs.Cancelled, match="stopped after 0 of 5 runs"):
        gs.whatif(site, SITE, "easy", CHANGES, stop=stop)


def test_an_error_in_a_run_names_its_change(site):
    with pytest.raises(ValueError, match=r"^speed=ring: .*profile"):
        gs.whatif(site, SITE, "easy", ["speed=ring"])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"changes": ()}, "changes: at least one is needed"),
        ({"base": "esay"}, "did you mean 'easy'"),
        ({"resolution_s": -1}, "resolution_s: -1"),
        ({"predictor": "oracel"}, "unknown predictor .*oracle"),
    ],
)
def test_wrong_arguments_are_refused(site, arguments, message):
    with pytest.raises(ValueError, match=message):
        gs.whatif(site, SITE, **({"changes": ["servers=+1"]} | arguments))


@pytest.fixture(scope="module")
def base() -> Scenario:
    return Scenario(jobs(0), SITE, "fifo", "consolidated", "estimate", None, "none", 0)


def changed(base: Scenario, text: str) -> Scenario:
    (change,) = parse_changes([text])
    return change.applied(base, base)


def test_changes_are_read_from_texts_and_mappings():
    texts = ["policy=2d-las:preset=lucid", "servers=+4", "gpus-per-server=4", "servers[V100]=-1"]
    read = parse_changes(texts)
    assert read == (
        Change("policy", "2d-las:preset=lucid"),
        Change("servers", "+4"),
        Change("gpus_per_server", "4"),
        Change("servers", "-1", "V100"),
    )
    assert str(read[3]) == "servers[V100]=-1"
    assert parse_changes({"policy": "2d-las:preset=lucid", "servers": "+4"}) == read[:2]


@each(
    ("texts", "joins"),
    [
        (["policy=sjf", "servers=+1"], True),
        (["policy=sjf", "policy=easy"], False),
        (["servers[a]=1", "servers[b]=1"], True),
        (["servers=1", "servers=2"], False),
    ],
)
def test_changes_of_one_thing_cannot_be_made_together(texts, joins):
    assert can_join(parse_changes(texts)) == joins


@each(
    ("text", "servers", "gpus"),
    [
        ("servers=9", 9, 8),
        ("servers=+3", 9, 8),
        ("servers=-2", 4, 8),
        ("gpus_per_server=4", 6, 4),
        ("gpus_per_server=+8", 6, 16),
    ],
)
def test_servers_are_set_added_and_taken_away(base, text, servers, gpus):
    assert changed(base, text).cluster == gs.Cluster.uniform(servers, gpus)


def test_servers_of_one_of_several_types_are_changed(base):
    mixed = gs.Cluster((gs.ServerGroup(2, 8, "V100"), gs.ServerGroup(3, 4, "T4")))
    start = Scenario(base.trace, mixed, "fifo", "consolidated", "oracle", None, "none", 0)
    groups = changed(start, "servers[T4]=+2").cluster.servers
    assert [(group.count, group.gpu_type) for group in groups] == [(2, "V100"), (5, "T4")]
    with pytest.raises(ValueError, match=r"change servers=\+2: the cluster has 2 groups.*V100, T4"):
        changed(start, "servers=+2")
    with pytest.raises(ValueError, match=r"no servers of this type; known types: V100, T4"):
        changed(start, "servers[A100]=+2")


def test_a_load_is_that_of_the_base_cluster(base):
    assert changed(base, "load=0.5").trace.offered_load(48) == pytest.approx(0.5, rel=1e-3)
    factor = changed(base, "load=*1.2").trace.offered_load(48) / base.trace.offered_load(48)
    assert factor == pytest.approx(1.2, rel=1e-3)
    more, load = parse_changes(["servers=12", "load=0.5"])
    joined = load.applied(more.applied(base, base), base)
    assert joined.trace.offered_load(48) == pytest.approx(0.5, rel=1e-3)


def test_estimates_become_exact_or_longer(base):
    exact = changed(base, "estimates=exact").trace.estimate_us
    assert np.array_equal(exact, base.trace.service_us)
    twice = changed(base, "estimates=*2").trace.estimate_us
    assert np.array_equal(twice, 2 * base.trace.estimate_us)


def test_names_are_replaced(base):
    assert str(changed(base, "policy=sjf").policy) == "sjf"
    assert str(changed(base, "placement=spread").placement) == "spread"
    assert changed(base, "predictor=oracle").predictor == "oracle"
    assert str(changed(base, "speed=ring").speed) == "ring"
    assert str(changed(base, "contention=shared").contention) == "shared"


@each(
    ("changes", "error", "message"),
    [
        ([], ValueError, "at least one is needed"),
        ("servers=4", TypeError, "expected a list of texts or a mapping"),
        ([4], TypeError, "expected texts such as 'servers=.4', not 4"),
        (["servers"], ValueError, "'servers': must be of the form KEY=VALUE"),
        (["=4"], ValueError, "must be of the form KEY=VALUE"),
        (["server=4"], ValueError, "change 'server': unknown; did you mean 'servers'"),
        (["load[V100]=1"], ValueError, "only servers and gpus_per_server have types"),
        (["servers=+4", "servers=+4"], ValueError, r"servers=\+4 is listed twice"),
        ({3: 4}, ValueError, "change 3: unknown"),
    ],
)
def test_malformed_changes_are_refused(changes, error, message):
    with pytest.raises(error, match=message):
        parse_changes(changes)


@each(
    ("text", "message"),
    [
        ("servers=many", "change servers=many: must be a number or a difference"),
        ("servers=4.5", "must be a number"),
        ("servers=-6", "count: 0 must lie in 1"),
        ("servers=*2", "must be a number"),
        ("gpus_per_server=65", "gpus: 65 must lie in 1..64"),
        ("load=0", "change load=0: must be a positive number, or a factor"),
        ("load=nan", "must be a positive number"),
        ("load=*-1", "must be a positive number"),
        ("load=high", "must be a positive number"),
        ("estimates=good", "must be exact, or a factor"),
        ("policy=esay", "change policy=esay: unknown policy 'esay'; did you mean 'easy'"),
        ("placement=spred", "did you mean 'spread'"),
        ("speed=rong", "did you mean 'ring'"),
    ],
)
def test_changes_that_cannot_be_made_say_why(base, text, message):
    with pytest.raises(ValueError, match=message):
        changed(base, text)


def test_a_cluster_with_domains_is_not_resized(base):
    racks = gs.Cluster.uniform(4, 8, nic_gbps=100).with_racks(2)
    start = Scenario(base.trace, racks, "fifo", "consolidated", "oracle", None, "none", 0)
    with pytest.raises(ValueError, match="the cluster has domains"):
        changed(start, "servers=+2")


def test_estimates_that_are_not_there_cannot_be_scaled(base):
    bare = gs.Trace.from_columns([0, 1], [5, 5], [1, 1])
    start = Scenario(bare, SITE, "fifo", "consolidated", "oracle", None, "none", 0)
    with pytest.raises(ValueError, match=r"change estimates=\*2: the trace has no estimates"):
        changed(start, "estimates=*2")
    assert np.array_equal(changed(start, "estimates=exact").trace.estimate_us, bare.service_us)
