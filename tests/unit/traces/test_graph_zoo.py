"""The zoo of graphs: what a model looks like on some GPUs, and how the jobs of a trace get one."""

import re
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gpusched as gs
from gpusched.model.model_zoo import MODELS, graph_for, stages_of
from gpusched.traces.generating.graph_zoo import assign_graphs, describe_graphs
from tests.each import each

CLUSTER = gs.Cluster.uniform(8, 8, nic_gbps=25, intra_gbps=2400)
WIDTHS = [1, 2, 3, 4, 8, 16, 32]


def trace_of(num_jobs: int = 400, **columns: Any) -> gs.Trace:
    jobs = {
        "submit_s": np.arange(num_jobs),
        "service_s": np.linspace(100, 5000, num_jobs),
        "gpus": np.resize(WIDTHS, num_jobs),
    }
    return gs.Trace.from_columns(**(jobs | columns))


@given(st.sampled_from(MODELS), st.integers(1, 70), st.sampled_from([1, 2, 8]))
def test_a_graph_has_the_parameters_and_the_work_of_its_model(model, gpus, accumulation):
    profile = gs.model.zoo()[model]
    for stages in stages_of(model, gpus):
        graph = graph_for(model, gpus, stages=stages, accumulation=accumulation)
        assert graph.gpus == gpus
        assert len(graph.stages) == stages
        counts = [stage.replicas for stage in graph.stages]
        assert max(counts) - min(counts) <= 1
        total = sum(stage.parameter_bytes for stage in graph.stages)
        assert total == pytest.approx(profile.gradient_bytes)
        # GPU-seconds of an iteration are those of as many data-parallel workers.
        for gpu_type in profile.gpu_types:
            work = sum(stage.replicas * stage.seconds(gpu_type) for stage in graph.stages)
            assert work == pytest.approx(gpus * accumulation * profile.compute_s(gpu_type))


def test_a_pipeline_hands_on_a_vector_per_token():
    graph = graph_for("bert-large", 8)
    assert [stage.replicas for stage in graph.stages] == [2, 2, 2, 2]
    # 8 GPUs x 4 samples x 384 tokens x 1,024 numbers of 4 bytes.
    assert [stage.activation_bytes for stage in graph.stages] == [8 * 4 * 384 * 1024 * 4] * 3 + [0]
    layer = (1.36e9 - 4 * 31_036 * 1024) / 24
    assert graph.stages[3].parameter_bytes == pytest.approx(6 * layer)
    assert graph.stages[0].parameter_bytes == pytest.approx(6 * layer + 4 * 31_036 * 1024)
    twice = graph_for("bert-large", 8, accumulation=2)
    assert twice.stages[0].activation_bytes == 2 * graph.stages[0].activation_bytes
    assert twice.stages[0].parameter_bytes == graph.stages[0].parameter_bytes


def test_the_name_of_a_graph_tells_its_shape():
    names = [graph_for(*arguments).name for arguments in [("vgg19", 3), ("gpt2-xl", 5)]]
    assert names == ["vgg19 1x3", "gpt2-xl 2+1+1+1"]
    assert graph_for("gpt2-xl", 12, stages=3, accumulation=4).name == "gpt2-xl 3x4 a4"
    assert [stages_of("gpt2-xl", n) for n in (1, 2, 3, 6, 7, 8)] == [
        (1,), (2,), (3,), (3, 2), (4, 3, 2), (4, 2),
    ]  # fmt: skip
    assert stages_of("vgg19", 8) == (1,)
    assert "24 layers" in graph_for("xlnet-large", 4).source


@each(
    ("arguments", "error", "message"),
    [
        ({"model": "vgg"}, ValueError, "model: unknown 'vgg'; did you mean 'vgg19'"),
        ({"gpus": 0}, ValueError, "gpus: 0 must be at least 1"),
        ({"gpus": 2.0}, TypeError, "gpus: 2.0 must be an integer"),
        ({"accumulation": 0}, ValueError, "accumulation: 0 must be at least 1"),
        ({"stages": 5}, ValueError, r"stages: 5 must lie in 1\.\.4"),
        ({"gpus": 2, "stages": 4}, ValueError, r"stages: 4 must lie in 1\.\.2"),
        ({"model": "vgg19", "stages": 2}, ValueError, r"stages: 2 must lie in 1\.\.1"),
    ],
)
def test_a_wrong_graph_is_an_error_that_names_the_argument(arguments, error, message):
    with pytest.raises(error, match=message):
        graph_for(**({"model": "bert-large", "gpus": 8} | arguments))


def test_every_job_gets_a_graph_of_its_width_and_the_source_tells():
    trace = trace_of()
    made = assign_graphs(trace, CLUSTER, seed=3)

    widths = np.array([graph.gpus for graph in made.graphs])
    assert (widths[made.graph] == trace.gpus).all()
    assert {graph.name.split()[0] for graph in made.graphs} == set(MODELS)
    assert re.fullmatch(
        r"columns; graphs drawn from resnet152, vgg19, bert-large, xlnet-large, gpt2-xl \(PCG64, "
        r"seed 3\): [\d,]+ of 342 jobs with more than one GPU are heavy \(amax/amin >= 1.5\), "
        r"service = run time x alow/amin",
        made.source,
    )
    again = assign_graphs(trace, CLUSTER, seed=3)
    assert again.graph.tolist() == made.graph.tolist()
    assert again.source == made.source
    other = assign_graphs(trace, CLUSTER, seed=4)
    assert other.graph is not None
    assert [other.graphs[i].name for i in other.graph] != [made.graphs[i].name for i in made.graph]


def test_the_service_is_the_run_time_at_the_bound():
    trace = trace_of(estimate_s=np.where(np.arange(400) % 2, np.linspace(200, 9000, 400), np.nan))
    made = assign_graphs(trace, CLUSTER)
    limits = gs.bounds.iteration_limits(made, CLUSTER, speed="stages")
    ratio = limits["low"] / limits["min"]
    assert (ratio <= 1).all()
    assert ratio.min() < 0.95
    np.testing.assert_allclose(made.service_us, trace.service_us * ratio, atol=0.5)
    given_us = trace.estimate_us
    assert given_us is not None
    assert ((made.estimate_us == -1) == (given_us == -1)).all()
    scaled = given_us * ratio
    np.testing.assert_allclose(made.estimate_us[1::2], scaled[1::2], atol=0.5)

    kept = assign_graphs(trace, CLUSTER, keep_service=True)
    assert kept.service_us.tolist() == trace.service_us.tolist()
    assert kept.graph.tolist() == made.graph.tolist()
    assert assign_graphs(kept, CLUSTER, keep_service=True).source == kept.source
    with pytest.raises(ValueError, match="the jobs already have graphs"):
        assign_graphs(made, CLUSTER)


def test_a_job_alone_on_the_cluster_runs_for_the_time_that_the_trace_says():
    trace = trace_of(40, submit_s=np.arange(40) * 1e6)
    made = assign_graphs(trace, CLUSTER)
    alone = gs.simulate(
        made, CLUSTER, placement="heavy-edge", speed="stages", contention="reserved"
    )
    held = alone.schedule.held_us
    np.testing.assert_allclose(held, trace.service_us, rtol=1e-6)


@each("share", [0.0, 0.25, 0.5, 0.8])
@each("nic_gbps", [10, 100])
def test_the_share_of_heavy_jobs_is_the_one_asked_for(share, nic_gbps):
    cluster = CLUSTER.with_bandwidth(nic_gbps=nic_gbps)
    trace = trace_of()
    made = assign_graphs(trace, cluster, heavy_share=share, zoo=["vgg19", "bert-large", "gpt2-xl"])
    limits = gs.bounds.iteration_limits(made, cluster, speed="stages")
    is_heavy = (limits["max"] / limits["min"] >= 1.5) & (trace.gpus > 1)
    assert is_heavy.sum() == round(share * (trace.gpus > 1).sum())
    assert f"heavy_share {share:g}): {is_heavy.sum():,} of 342 jobs" in made.source


def test_a_share_that_no_graph_allows_is_an_error_that_names_the_range():
    fast = CLUSTER.with_bandwidth(nic_gbps=1e6)
    message = "heavy_share: 0.5 cannot be reached on this cluster, only 0 to 0 of the jobs"
    with pytest.raises(ValueError, match=message):
        assign_graphs(trace_of(), fast, heavy_share=0.5)


def test_jobs_of_one_group_have_one_graph():
    groups = np.arange(400) % 28  # of one width each
    trace = trace_of(group=[str(group) for group in groups], user=["ann"] * 400)
    for share in (None, 0.5):
        made = assign_graphs(trace, CLUSTER, heavy_share=share, seed=1)
        graphs = [set(made.graph[groups == group].tolist()) for group in range(28)]
        assert sum(len(found) > 1 for found in graphs) <= (share is not None)
        assert len(set.union(*graphs)) > 7


def test_allowed_types_decide_what_a_job_may_gain():
    cluster = gs.Cluster(
        (
            gs.ServerGroup(4, 8, "V100", nic_gbps=25, intra_gbps=2400),
            gs.ServerGroup(4, 8, "K80", nic_gbps=25, intra_gbps=100),
        )
    )
    trace = trace_of(gpu_types=["V100" if job % 2 else "K80" for job in range(400)])
    made = assign_graphs(trace, cluster, heavy_share=0.4)
    frame = describe_graphs(made, cluster)
    assert set(frame["gpu_types"]) == {"V100", "K80"}
    assert frame["jobs"].sum() == 400
    heavy = frame.filter(pl.col("heavy") & (pl.col("gpus") > 1))["jobs"].sum()
    assert heavy == round(0.4 * (trace.gpus > 1).sum())


def test_the_table_tells_models_and_limits():
    made = assign_graphs(trace_of(), CLUSTER, zoo={"vgg19": 1, "bert-large": 3})
    frame = describe_graphs(made, CLUSTER)
    assert frame.columns == [
        "model", "graph", "stages", "gpus", "gpu_types", "jobs", "alow_s", "amin_s", "amax_s",
        "heavy",
    ]  # fmt: skip
    jobs = dict(frame.group_by("model").agg(pl.col("jobs").sum()).iter_rows())
    assert jobs["vgg19"] + jobs["bert-large"] == 400
    assert 250 < jobs["bert-large"] < 350
    assert (frame["alow_s"] <= frame["amin_s"] * (1 + 1e-12)).all()
    assert (frame["amin_s"] <= frame["amax_s"]).all()
    assert frame.filter(pl.col("gpus") == 1)["heavy"].not_().all()
    with pytest.raises(ValueError, match="the jobs have no graphs"):
        describe_graphs(trace_of(), CLUSTER)


@each(
    ("arguments", "error", "message"),
    [
        ({"zoo": ["vgg"]}, ValueError, "zoo: unknown 'vgg'; did you mean 'vgg19'"),
        ({"zoo": {"vgg19": -1}}, ValueError, r"zoo\['vgg19'\]: -1 must lie in"),
        ({"zoo": {"vgg19": 0}}, ValueError, "zoo: at least one weight must be positive"),
        ({"heavy_share": 1.5}, ValueError, r"heavy_share: 1.5 must lie in 0\.\.1"),
        ({"seed": -1}, ValueError, "seed: -1 must not be negative"),
        ({"seed": 0.5}, TypeError, "seed: expected an integer, not 0.5"),
        ({"speed": "ring"}, ValueError, "speed: must be one that reads graphs, .* not ring"),
        ({"cluster": gs.Cluster.uniform(8, 8)}, ValueError, "nic_gbps of server 0 is missing"),
    ],
)
def test_a_wrong_argument_is_an_error_that_names_it(arguments, error, message):
    with pytest.raises(error, match=message):
        assign_graphs(**({"trace": trace_of(20), "cluster": CLUSTER} | arguments))
