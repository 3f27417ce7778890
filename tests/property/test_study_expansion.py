"""How many runs a study has follows from its axes, whatever they are."""

from __future__ import annotations

import math
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

import gpusched as gs
from gpusched.studies.plan import expand

POLICIES = ["fifo", "sjf", "srtf", "swf", "fifo-skip", "las"]
LOADS = [0.5, 0.7, 0.9]
AXES = ("traces", "clusters", "policies", "placements", "seeds")


@st.composite
def studies(draw: st.DrawFn) -> tuple[dict[str, Any], list[list[str]]]:
    length = {axis: draw(st.integers(1, 3)) for axis in AXES}
    zipped: list[list[str]] = []
    if draw(st.booleans()):
        group = draw(st.lists(st.sampled_from(AXES), min_size=2, max_size=3, unique=True))
        zipped = [group]
        for axis in group:
            length[axis] = length[group[0]]
    traces = [
        {
            "generate": "philly", "label": f"t{at}",
            "jobs": list(range(5, 5 + draw(st.integers(1, 2)))),
            "loads": LOADS[: draw(st.integers(0, 3))],
        }
        for at in range(length["traces"])
    ]  # fmt: skip
    study: dict[str, Any] = {
        "name": "x",
        "traces": traces,
        "clusters": [{"servers": 1 + at, "gpus": 8} for at in range(length["clusters"])],
        "policies": draw(st.permutations(POLICIES))[: length["policies"]],
        "placements": ["consolidated", "count", "best-fit"][: length["placements"]],
        "seeds": draw(st.permutations(range(9)))[: length["seeds"]],
        "zip": zipped,
    }
    return study, zipped


@given(studies())
def test_the_number_of_runs_is_the_product_of_the_axes(drawn):
    study, zipped = drawn
    plan = expand(gs.Study.of(study))
    size = {axis: len(study[axis]) for axis in AXES}
    together = set(zipped[0]) if zipped else set()
    parts = [len(trace["jobs"]) * max(1, len(trace["loads"])) for trace in study["traces"]]
    others = math.prod(size[axis] for axis in AXES if axis not in together | {"traces"})
    once = 1 if not together or "traces" in together else size[zipped[0][0]]
    assert len(plan.runs) == sum(parts) * others * once
    assert len(set(plan.runs)) == len(plan.runs)
    labels = [tuple(plan.labels(run).items()) for run in plan.runs]
    assert len(set(labels)) == len(labels)
    names = [run.recipe for run in plan.runs]
    blocks = [name for at, name in enumerate(names) if not at or names[at - 1] != name]
    assert len(blocks) == len(set(blocks))
    for group in zipped:
        column = {"traces": "trace", "clusters": "cluster", "policies": "policy",
                  "placements": "placement", "seeds": "seed"}  # fmt: skip
        pairs = {tuple(plan.labels(run)[column[axis]] for axis in group) for run in plan.runs}
        assert len(pairs) == len(study[group[0]])
