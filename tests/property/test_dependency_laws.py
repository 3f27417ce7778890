"""Dependencies against their definition, pair by pair, on tiny traces."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import gpusched as gs
from gpusched.traces.dependencies import Condition, Dependency, holds_of, parsed

AFTER, ANY, OK, _, CORR, SINGLETON = range(6)
NAMES = [*"abcdef"]
ARRAYS = ["", "m", "n"]
TARGETS = [*NAMES, "m", "n", "m_*", "x", "y"]

kinds = st.sampled_from(range(5))
delays = st.integers(0, 3).map(lambda minutes: minutes * 60_000_000)
conditions = st.builds(
    lambda kind, target, delay_us: Condition(kind, target, delay_us * (kind == AFTER)),
    kinds, st.sampled_from(TARGETS), delays,
)  # fmt: skip
several = st.lists(conditions | st.just(Condition(SINGLETON)), max_size=3)
all_of = several.map(lambda each: Dependency(tuple(each)))
any_of = st.lists(conditions, min_size=2, max_size=3).map(
    lambda each: Dependency(tuple(each), True)
)
jobs = st.lists(
    st.tuples(all_of | any_of, st.sampled_from(ARRAYS), st.sampled_from("uv"), st.booleans()),
    min_size=1, max_size=len(NAMES),
)  # fmt: skip
texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters=":,?+()"), min_size=1)


@given(
    st.lists(
        st.builds(
            lambda kind, target, delay_us: Condition(kind, target, delay_us * (kind == AFTER)),
            kinds, texts.map(str.strip).filter(bool), st.integers(0, 2**45),
        )
        | st.just(Condition(SINGLETON)),
        min_size=1,
    )
)  # fmt: skip
def test_what_is_written_is_read_again(written: list[Condition]) -> None:
    together = Dependency(tuple(written))
    assert parsed(str(together)) == together
    alternatives = Dependency(tuple(one for one in written if one.kind != SINGLETON), True)
    if len(alternatives.conditions) > 1:
        assert parsed(str(alternatives)) == alternatives


Pairs = list[tuple[int, int, int, int]]


def expected(rows: list[tuple[Dependency, str, str, bool]]) -> tuple[Pairs, bool]:
    """The conditions of all jobs, and whether '?' joins an array of several tasks."""
    tasks = {name: [job for job, row in enumerate(rows) if row[1] == name] for name in ARRAYS[1:]}
    found, is_undefined = [], False
    for job, (dependency, array, user, _) in enumerate(rows):
        place = tasks[array].index(job) if array else 0
        own: Pairs = []
        is_met = False
        for kind, target, delay_us in dependency.conditions:
            name = target.removesuffix("_*")
            if kind == SINGLETON:
                own += [(job, other, ANY, 0) for other in range(job) if rows[other][2] == user]
            elif target in NAMES[: len(rows)]:
                number = OK if kind == CORR else kind
                own.append((job, NAMES.index(target), number, delay_us))
            elif not tasks.get(name):
                is_met = True
            elif kind == CORR and place < len(tasks[name]):
                own.append((job, tasks[name][place], OK, 0))
            elif kind == CORR:
                is_met = True
            elif dependency.is_any and len(tasks[name]) > 1:
                is_undefined = True
            else:
                own += [(job, other, kind, delay_us) for other in tasks[name]]
        found += [] if is_met and dependency.is_any else own
    return found, is_undefined


def has_circle(found: Pairs, num_jobs: int) -> bool:
    """Whether a job waits for itself, directly or through others."""
    waits = {(job, target) for job, target, *_ in found}
    for middle, first, last in product(range(num_jobs), repeat=3):
        if {(first, middle), (middle, last)} <= waits:
            waits.add((first, last))
    return any(job == target for job, target in waits)


@given(jobs)
@example([(Dependency((Condition(OK, "b"),)), "", "u", False), (Dependency(()), "m", "u", True)])
def test_the_columns_are_the_conditions_of_each_job(
    rows: list[tuple[Dependency, str, str, bool]],
) -> None:
    num_jobs = len(rows)
    written, array, user, failed = zip(*rows, strict=True)
    trace = gs.Trace.from_columns(
        [0] * num_jobs, [1] * num_jobs, [1] * num_jobs, id=NAMES[:num_jobs], array=array,
        user=user, dependency=[*map(str, written)],
        status=["failed" if bad else "ok" for bad in failed],
    )  # fmt: skip
    found, is_undefined = expected(rows)
    if is_undefined or has_circle(found, num_jobs):
        told = "does not define" if is_undefined else "wait(s for itself| for each other)"
        with pytest.raises(ValueError, match=told):
            holds_of(trace)
        return
    columns = holds_of(trace).columns
    if not found:
        assert columns == {}
        return
    begin = columns["dependency_begin"].tolist()
    assert (begin[0], begin[-1], len(begin)) == (0, len(found), num_jobs + 1)
    delay_us = columns.get("dependency_delay_us", [0] * len(found))
    made = zip(columns["dependency_target"], columns["dependency_kind"], delay_us, strict=True)
    every = [tuple(map(int, each)) for each in made]
    for job in range(num_jobs):
        own = [rest for of, *rest in found if of == job]
        assert sorted(every[begin[job] : begin[job + 1]]) == sorted(map(tuple, own))
    is_any = columns.get("dependency_any", [False] * num_jobs)
    has_some = [begin[job] < begin[job + 1] for job in range(num_jobs)]
    assert [*is_any] == [
        dependency.is_any and some for dependency, some in zip(written, has_some, strict=True)
    ]
    assert [*columns.get("exit_failed", [False] * num_jobs)] == [*failed]
