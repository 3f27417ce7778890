"""Job graphs: stages and their figures, and how a trace and the core get them."""

import copy
import math
import pickle
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gpusched as gs
from gpusched.model.cluster import Cluster, ServerGroup
from gpusched.model.job_graphs import JobGraph, Stage
from gpusched.specs.case import job_columns
from gpusched.specs.run_spec import fingerprint
from gpusched.traces.model_columns import model_columns
from gpusched.traces.workload import Trace
from tests.each import each

PIPELINE = JobGraph(
    "pipeline",
    (Stage(2, {"V100": 0.1, "T4": 0.3}, 1e8, 4e6), Stage(3, 0.2, 2e8, 5e6), Stage(3, 0.25, 3e8)),
    source="made up",
)
PLAIN = JobGraph("plain", (Stage(2, 0.5, 1e9),))
ONE = JobGraph("one", (Stage(1, 0.5, 1e9),))
ALL = (PIPELINE, PLAIN, ONE)


def built(**changes: Any) -> Trace:
    columns: dict[str, Any] = {"submit_s": [3, 1, 2.5], "service_s": [1, 2, 3], "gpus": [1, 8, 2]}
    return Trace.from_columns(**{**columns, **changes})


def test_a_graph_is_as_wide_as_its_replicas_are_many():
    assert [graph.gpus for graph in ALL] == [8, 2, 1]
    assert (PIPELINE.gpu_types, PLAIN.gpu_types) == (("V100", "T4"), ())
    first, second, _ = PIPELINE.stages
    assert (first.seconds("T4"), second.seconds("T4"), second.seconds("K80")) == (0.3, 0.2, 0.2)
    assert math.isnan(first.seconds("K80"))
    assert Stage(1, 2, 3) == Stage(1, 2.0, 3.0, 0.0)


@each(
    ("changes", "error", "message"),
    [
        ({"replicas": 0}, ValueError, r"replicas: 0 must lie in 1\.\.1,000,000"),
        ({"replicas": 1.0}, TypeError, r"replicas: 1.0 must be an integer"),
        ({"replicas": True}, TypeError, r"replicas: True must be an integer"),
        ({"compute_s": 0}, ValueError, "compute_s: 0.0 must be positive"),
        ({"compute_s": -1}, ValueError, "compute_s: -1 must lie in"),
        ({"compute_s": math.nan}, ValueError, "compute_s: nan must lie in"),
        ({"compute_s": {}}, ValueError, "compute_s: must have a figure for at least one GPU type"),
        ({"compute_s": {"T4": 0}}, ValueError, r"compute_s\['T4'\]: 0.0 must be positive"),
        ({"compute_s": {"T4": "1"}}, TypeError, r"compute_s\['T4'\]: '1' must be a number"),
        ({"parameter_bytes": -1}, ValueError, r"parameter_bytes: -1 must lie in 0\.\.1e\+15"),
        ({"activation_bytes": math.inf}, ValueError, "activation_bytes: inf must lie in"),
    ],
)
def test_a_wrong_stage_is_an_error_that_names_the_field(changes, error, message):
    right = {"replicas": 1, "compute_s": 1, "parameter_bytes": 1, "activation_bytes": 1}
    Stage(**right)
    with pytest.raises(error, match=f"^{message}"):
        Stage(**{**right, **changes})


@each(
    ("name", "stages", "error", "message"),
    [
        (" ", PLAIN.stages, ValueError, "name: ' ' must not be empty"),
        ("g", (), ValueError, "graph 'g': stages: at least one is needed"),
        ("g", [Stage(1, 1, 1)], TypeError, "graph 'g': stages: must be a tuple of Stage"),
        ("g", (1,), TypeError, "graph 'g': stages: must be a tuple of Stage"),
        ("g", (Stage(1, 1, 1), Stage(1, 1, 1, 2)), ValueError,
         r"graph 'g': stages\[1\].activation_bytes: must be 0, there is no next stage"),
        ("g", (Stage(1, {"T4": 1}, 1), Stage(1, {"T4": 1, "K80": 1}, 1)), ValueError,
         r"graph 'g': stages\[0\].compute_s: has no figure for GPU type 'K80'"),
    ],
)  # fmt: skip
def test_a_wrong_graph_is_an_error_that_names_stage_and_field(name, stages, error, message):
    with pytest.raises(error, match=f"^{message}"):
        JobGraph(name, stages)


def test_a_graph_in_json_is_checked_with_its_path():
    encoded = msgspec.json.encode(ALL)
    assert msgspec.json.decode(encoded, type=tuple[JobGraph, ...]) == ALL
    wrong = encoded.replace(b'"replicas":3', b'"replicas":0', 1)
    with pytest.raises(msgspec.ValidationError, match=r"replicas: 0 .* `\$\[0\].stages\[1\]`"):
        msgspec.json.decode(wrong, type=tuple[JobGraph, ...])


def test_a_graph_of_each_job_follows_it_through_sorting_and_selection():
    trace = built(graph=["one", "pipeline", "plain"], graphs=ALL)
    assert trace.graph.dtype == np.int32
    assert trace.graph.tolist() == [0, 1, 2]  # in the order of submission
    assert trace.filter(trace.gpus < 8).graph.tolist() == [1, 2]
    assert trace.head(1).graph.tolist() == [0]
    assert trace.scale_load(2).graphs == ALL
    assert built(graph=[2, 0, 1], graphs=ALL).graph.tolist() == [0, 1, 2]
    assert built().graph is None


def test_a_job_has_the_one_graph_of_its_width():
    for trace in (built(graphs=ALL), built().with_graphs({graph.name: graph for graph in ALL})):
        assert trace.graph.tolist() == [0, 1, 2]
    assert built(gpus=[2, 2, 2], graphs=PLAIN).graph.tolist() == [0, 0, 0]


def test_rejected_rows_take_their_graphs_with_them():
    trace = built(gpus=[1, 0, 2], graph=["one", "pipeline", "plain"], graphs=ALL, on_bad="reject")
    assert trace.graph.tolist() == [1, 2]


@each(
    ("arguments", "error", "message"),
    [
        ({"graph": ["one"] * 3}, ValueError, "graphs: at least one is needed"),
        ({"graphs": [ONE, PLAIN]}, ValueError, "row 0, column 'graph': no graph has 8 replicas"),
        ({"graphs": [*ALL, JobGraph("other", (Stage(1, 1, 0),))]}, ValueError,
         "row 2, column 'graph': 2 graphs have 1 replicas"),
        ({"graph": ["on", "plain", "one"], "graphs": ALL}, ValueError,
         r"row 0, column 'graph': unknown 'on'; did you mean 'one'\?"),
        ({"graph": [0, 3, 0], "graphs": ALL}, ValueError, r"row 1, .*: 3 must lie in 0\.\.2"),
        ({"graph": [0, 1.5, 0], "graphs": ALL}, TypeError, "row 0, .*: 0.0 must be text"),
        ({"graph": ["one"], "graphs": ALL}, ValueError, r"has shape \(1,\), not \(3,\)"),
        ({"graphs": [ONE, ONE]}, ValueError, r"graphs\[1\].name: 'one' is the name of graphs\[0\]"),
        ({"graphs": ["one"]}, TypeError, "graphs: expected a JobGraph, not 'one'"),
        ({"graph": ["one", "pipeline", "one"], "graphs": ALL}, ValueError,
         r"graph 'one': has 1 replicas, but job 1 \(row 2\) has gpus 2; they must be equal"),
        ({"graph": ["plain"] * 3, "graphs": ALL}, ValueError,
         r"graph 'plain': has 2 replicas, but job 0 .* has gpus 8 \(also wrong for 1 other"),
    ],
)  # fmt: skip
def test_a_wrong_column_of_graphs_is_an_error_that_names_the_row(arguments, error, message):
    with pytest.raises(error, match=message):
        built(**arguments)


def test_graphs_survive_copies_pickles_and_frames():
    trace = built(graphs=ALL)

    for other in (copy.deepcopy(trace), pickle.loads(pickle.dumps(trace))):
        assert other.graphs == ALL
        assert other.graph.tolist() == [0, 1, 2]
        assert not other.graph.flags.writeable
    frame = trace.to_polars()
    assert frame["graph"].to_list() == ["pipeline", "plain", "one"]
    for back in (
        Trace.from_polars(frame, graphs=ALL),
        Trace.from_pandas(frame.to_pandas(), graphs=ALL),
    ):
        assert back.graph.tolist() == [0, 1, 2]
    assert Trace.from_polars(frame).graph is None
    assert "graph" not in built().to_polars().columns


def test_the_fingerprint_tells_graphs_apart():
    other = msgspec.structs.replace(PLAIN, stages=(Stage(2, 0.5, 2e9),))
    twin = msgspec.structs.replace(PLAIN, name="twin")
    traces = [
        built(),
        built(graphs=ALL),
        built(graphs=[PIPELINE, other, ONE]),
        built(graphs=[*ALL, twin], graph=["one", "pipeline", "plain"]),
        built(graphs=[*ALL, twin], graph=["one", "pipeline", "twin"]),
    ]
    assert len({fingerprint(trace) for trace in traces}) == len(traces)
    assert fingerprint(built(graphs=ALL)) == fingerprint(built().with_graphs(ALL))


CLUSTER = Cluster((ServerGroup(1, 8, "T4"), ServerGroup(1, 8, "V100")))


def graph_columns(trace: Any, cluster: Cluster) -> dict[str, Any]:
    return model_columns(trace, cluster, gs.speeds()["stages"].columns, speed="stages")


def test_the_core_gets_the_stages_of_every_graph_in_order():
    columns = job_columns(built(graphs=ALL), CLUSTER, uses_estimates=False, speed="stages")

    assert columns["graph"].tolist() == [0, 1, 2]
    assert columns["graph_begin"].tolist() == [0, 3, 4, 5]
    assert columns["replicas"].tolist() == [2, 3, 3, 2, 1]
    assert columns["stage_compute_s"].tolist() == [0.3, 0.1, 0.2, 0.2, 0.25, 0.25, *[0.5] * 4]
    assert columns["activation_bytes"].tolist() == [4e6, 5e6, 0, 0, 0]
    assert columns["parameter_bytes"].tolist() == [1e8, 2e8, 3e8, 1e9, 1e9]
    for name in ("graph", "graph_begin", "replicas"):
        assert columns[name].dtype == np.int32
    assert all(
        columns[name].flags.c_contiguous for name in graph_columns(built(graphs=ALL), CLUSTER)
    )
    assert "profile" not in columns
    unused = job_columns(built(graphs=ALL), CLUSTER, uses_estimates=False, speed="fixed")
    assert "graph" not in unused


def test_a_missing_figure_matters_only_where_a_job_may_run():
    cluster = Cluster((ServerGroup(1, 8, "V100"), ServerGroup(1, 8, "K80")))

    limited = built(gpu_types=[None, "V100|T4", None], graphs=ALL)
    compute = graph_columns(limited, cluster)["stage_compute_s"]
    assert np.flatnonzero(np.isnan(compute)).tolist() == [1]
    message = (
        r"graph 'pipeline': stages\[0\].compute_s has no figure for GPU type 'K80', on which job "
        r"0 \(row 1\) may run; there are V100, T4"
    )
    with pytest.raises(ValueError, match=message):
        graph_columns(built(gpu_types=[None, "V100|K80", None], graphs=ALL), cluster)
    with pytest.raises(ValueError, match="trace: the jobs have no graphs"):
        graph_columns(built(), cluster)


stages = st.builds(
    Stage, st.integers(1, 9), st.floats(1e-6, 1e6) | st.just({"T4": 1.0, "V100": 2.5}),
    st.floats(0, 1e15), st.just(0.0),
)  # fmt: skip
graphs = st.lists(stages, min_size=1, max_size=4).map(lambda s: JobGraph("drawn", tuple(s)))


@given(graphs)
def test_any_graph_survives_json_and_reaches_the_core(graph):
    assert msgspec.json.decode(msgspec.json.encode(graph), type=JobGraph) == graph
    columns = graph_columns(built(gpus=[graph.gpus] * 3, graphs=graph), CLUSTER)
    assert sum(columns["replicas"]) == graph.gpus
    assert columns["stage_compute_s"].reshape(-1, 2)[:, 1].tolist() == [
        stage.seconds("V100") for stage in graph.stages
    ]
