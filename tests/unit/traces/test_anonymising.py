"""A trace that is sent tells of its jobs, and of nobody."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gpusched as gs
from gpusched.traces.anonymising import NAMES
from tests.each import each

ROUND_S = 60
job = st.tuples(st.integers(0, 500), st.integers(1, 500), st.integers(1, 4), st.sampled_from("abc"))


@given(st.lists(job, min_size=1, max_size=8))
def test_order_widths_and_who_is_who_stay(jobs):
    submit, service, gpus, user = zip(*jobs, strict=True)
    trace = gs.Trace.from_columns(
        submit, service, gpus, user=user, deadline_s=np.add(submit, 7), estimate_s=service
    )
    sent = gs.traces.anonymise(trace, salt=b"x", round_s=ROUND_S)
    assert sent.gpus.tolist() == trace.gpus.tolist()
    for columns in (sent.submit_s, sent.service_s, sent.deadline_s):
        assert (columns % ROUND_S == 0).all()
    assert (np.abs(sent.service_s - trace.service_s) < ROUND_S).all()
    assert (sent.service_us == sent.estimate_us).all()
    assert (np.abs(sent.submit_s - trace.rebased().submit_s) < ROUND_S).all()
    names = dict(zip(trace.user.values().tolist(), sent.user.values().tolist(), strict=True))
    assert [names[name] for name in trace.user.values().tolist()] == sent.user.values().tolist()
    assert len({*names.values()}) == len(names)
    assert not set(names) & set(names.values())
    assert len({*sent.id.tolist()}) == len(jobs)


def test_every_column_of_names_is_hashed():
    columns = {name: ["ann", ""] for name in NAMES if name != "id"}
    trace = gs.Trace.from_columns(
        [0, 1], [1, 1], [1, 1], id=["ann", "bob"], dependency=["", "afterok:ann:bob?after:ann"],
        **columns,
    )  # fmt: skip
    frame = gs.traces.anonymise(trace).to_polars()
    assert "ann" not in str(frame.to_dicts())
    assert frame["group"][1] == ""
    first, second = frame["id"]
    assert frame["dependency"][1] == f"afterok:{first}:{second}?after:{first}"
    assert frame["array"][0] == first  # a dependency may name either
    assert len({frame[name][0] for name in NAMES}) == len(NAMES) - 1


@each("text", [
        "afterok:{0}:+5,singleton", "after:{0}+5:{1}", "afterany:{1}(unfulfilled)?afternotok:{0}",
        "singleton(failed)", "{0},{1}", "afterany:{2}", "beforeok:{1}", "{2}:{0}",
    ])  # fmt: skip
def test_of_a_dependency_kinds_minutes_and_states_stay(text):
    ids = ("after-hours_7", "afterok", "singleton-8")
    trace = gs.Trace.from_columns(
        [0, 1, 2], [1, 1, 1], [1, 1, 1], id=ids, dependency=[text.format(*ids), "", ""]
    )
    sent = gs.traces.anonymise(trace)
    assert sent.dependency[0] == text.format(*sent.id.tolist())


@pytest.mark.parametrize(
    ("options", "message"), [({"salt": ""}, "salt: must"), ({"round_s": 0.5}, "round_s: 0.5 must")]
)
def test_a_secret_that_is_none_is_refused(options, message):
    with pytest.raises(ValueError, match=message):
        gs.traces.anonymise(gs.Trace.from_columns([0], [1], [1]), **options)
