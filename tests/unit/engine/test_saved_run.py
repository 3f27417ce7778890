"""Saved runs: what they hold, and what is refused."""

import itertools
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

import gpusched as gs
from gpusched.base import container
from gpusched.engine import saved_run
from tests.boundary.workloads import CLUSTER, FirstFit, ShortestFirst, Strict, trace
from tests.each import each
from tests.learners import learner

JOBS = trace(80)


class Constant(gs.Predictor):
    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.count = itertools.count()

    def begin(self, trace: gs.Trace, seed: int = 0) -> None:
        self.known = 0

    def observe(self, jobs: Any, finish_s: Any) -> None:
        self.known += len(jobs)

    def predict(self, jobs: Any) -> Any:
        return np.full(len(jobs), self.seconds + 0.001 * (self.known % 7))


PYTHON: dict[str, dict[str, Any]] = {
    "order": {"policy": ShortestFirst()},
    "scheduler": {"policy": Strict()},
    "placement": {"policy": "fifo", "placement": FirstFit()},
    "predictor": {"policy": "sjf", "predictor": Constant(7.0)},
}


class Alternating(gs.Scheduler):
    """Has a memory, which begins with a number that it was given."""

    def __init__(self, decisions: int) -> None:
        super().__init__()
        self.decisions = decisions

    def decide(self, state: Any, finished: Any, arrived: Any, actions: Any) -> None:
        self.decisions += 1
        jobs = state.waiting.tolist()
        for job in jobs if self.decisions % 2 else reversed(jobs):
            allocation = state.place(job)
            if allocation is not None:
                actions.start(job, allocation)


class Locked(Strict):
    """Cannot be pickled, nor copied."""

    def __init__(self) -> None:
        super().__init__()
        self.lock = threading.Lock()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "monday.run"


def opened(until: float = 70.0, **options: Any) -> gs.Simulation:
    run = gs.Simulation(JOBS, CLUSTER, **options)
    run.run_until(until)
    return run


def same(run: gs.Simulation, other: gs.Simulation) -> None:
    """Both stand at one place, and go on to one digest."""
    assert (run.now, run.next_time, run.done) == (other.now, other.next_time, other.done)
    assert saved_run.reached_by(run._run, run._online, 0) == saved_run.reached_by(
        other._run, other._online, 0
    )
    run.run()
    other.run()
    first, second = run.result(), other.result()
    assert first.digest == second.digest
    assert first.spec == second.spec
    assert list(first.schedule.warnings) == list(second.schedule.warnings)


def test_a_run_that_is_resumed_is_the_run(path):
    run = opened(policy="srtf")
    run.save(path)
    same(run, gs.resume(path))
    assert not list(path.parent.glob("*.tmp"))


@pytest.mark.parametrize("until", [0.0, 1e7])
def test_a_run_is_saved_at_its_beginning_and_at_its_end(path, until):
    run = opened(until)
    run.save(path)
    assert gs.resume(path).done is (until > 0)
    same(run, gs.resume(path))


def test_outages_are_saved_with_the_run(path):
    outages = gs.generate_outages(CLUSTER, until_s=500, mtbf_s=200, repair_s=20, seed=4)
    expected = gs.simulate(JOBS, CLUSTER, outages=outages)
    run = gs.Simulation(JOBS, CLUSTER, outages=outages)
    run.run_until(100)
    fork = run.fork()
    run.save(path)
    again = gs.resume(path)
    for one in (run, fork, again):
        one.run()
        assert one.result().digest == expected.digest
        assert one.spec == expected.spec
        assert one.result().warnings == expected.warnings
    header, arrays = container.read(path, saved_run.KIND)
    arrays["outages.end_us"] = arrays["outages.end_us"] + 1
    container.write(path, saved_run.KIND, header, arrays)
    with pytest.raises(ValueError, match="its outages do not match the stored digest"):
        gs.resume(path)
    del arrays["outages.end_us"]
    container.write(path, saved_run.KIND, header, arrays)
    with pytest.raises(ValueError, match="end_us is missing"):
        gs.resume(path)


def test_every_change_is_done_again(path):
    run = opened(60.0, policy="fifo")
    run.cancel(int(run.state.waiting[-1]))
    run.set(policy="srtf:cost_s=2")
    run.run_until(90)
    run.submit(gs.Trace.from_columns([95.0, 96.0], [5, 9], [1, 2], id=["a", "b"]))
    run.run_until(120)
    run.cancel(int(run.state.running[0]))
    run.set(policy="easy")
    run.save(path)
    other = gs.resume(path)
    assert len(other.trace) == len(JOBS) + 2
    assert other.trace.name == run.trace.name
    same(run, other)


def test_a_resumed_run_forks_changes_and_is_saved_again(path):
    run = opened(policy="fifo")
    run.save(path)
    other = gs.resume(path)
    for one in (run, other):
        one.run_until(100)
        one.cancel(int(one.state.running[0]))
        one.submit(gs.Trace.from_columns([101.0], [5], [1]))
    other.fork().save(path)
    same(run, gs.resume(path))


def test_callbacks_hear_what_is_new_alone(path):
    run = opened()
    times: list[float] = []
    run.on("instant", lambda event: times.append(event.time_s))
    run.save(path)
    other = gs.resume(path)
    other.run()
    assert not times
    run.run()
    assert times


@pytest.mark.parametrize("kind", PYTHON)
def test_objects_of_python_are_loaded_for_those_who_trust_them(kind, path):
    run = opened(**PYTHON[kind])
    run.save(path)
    with pytest.raises(ValueError, match=r"monday\.run: holds Python objects .*trust_python"):
        gs.resume(path)
    same(run, gs.resume(path, trust_python=True))


def test_objects_of_python_begin_as_they_were(path):
    run = opened(policy=Alternating(1))
    run.set(policy=Alternating(4))
    run.run_until(90)
    run.save(path)
    same(run, gs.resume(path, trust_python=True))


def test_an_object_that_cannot_be_saved_is_named(path):
    run = opened(policy=Locked())
    with pytest.raises(TypeError, match="Locked could not be copied"):
        run.save(path)
    assert not path.exists()


def test_a_class_that_is_not_there_is_named(path, monkeypatch):
    opened(policy=Alternating(0)).save(path)
    monkeypatch.delattr(f"{__name__}.Alternating")
    with pytest.raises(ValueError, match=r"monday\.run: .*policy: .*cannot be loaded here"):
        gs.resume(path, trust_python=True)


def test_other_code_is_named(path, monkeypatch):
    opened(policy=Alternating(0)).save(path)

    def decide(self: Any, state: Any, finished: Any, arrived: Any, actions: Any) -> None:
        for job in state.waiting.tolist():
            allocation = state.place(job)
            if allocation is not None:
                actions.start(job, allocation)

    monkeypatch.setattr(Alternating, "decide", decide)
    with pytest.raises(ValueError, match=r"differs from the specification's .* in code_sha256"):
        gs.resume(path, trust_python=True)


@pytest.mark.parametrize("text", ["group-mean", "last-value", "forest:trees=5"])
@pytest.mark.parametrize("is_trained", [False, True])
def test_predictors_that_learn_and_those_that_have(text, is_trained, path):
    jobs = gs.generate("philly", 250, load=1.0, cluster=CLUSTER, seed=1)
    before = gs.generate("philly", 150, load=1.0, cluster=CLUSTER, seed=2)
    predictor = learner(text).train(before) if is_trained else text
    run = gs.Simulation(jobs, CLUSTER, policy="sjf", predictor=predictor, seed=3)
    for _ in range(200):
        run.step()
    run.save(path)
    other = gs.resume(path)
    digest = gs.simulate(jobs, CLUSTER, policy="sjf", predictor=predictor, seed=3).digest
    same(run, other)
    assert other.result().digest == digest


def test_a_run_that_an_error_ended_is_not_saved(path):
    class Failing(Strict):
        def decide(self, state: Any, finished: Any, arrived: Any, actions: Any) -> None:
            raise KeyError("no more")

    run = gs.Simulation(JOBS, CLUSTER, policy=Failing())
    with pytest.raises(KeyError):
        run.step()
    with pytest.raises(ValueError, match="the run is over"):
        run.save(path)


def forged(path: Path, change: Callable[[dict[str, Any]], None]) -> None:
    """Write the file anew, with other fields in its header, and sums that fit them."""
    encoded, arrays = container.read(path, saved_run.KIND)
    header = msgspec.json.decode(encoded)
    change(header)
    container.write(path, saved_run.KIND, msgspec.json.encode(header), arrays)


def put(**fields: Any) -> Callable[[dict[str, Any]], None]:
    return lambda header: header.update(fields)


CANCEL = {"num_instants": 3, "at_us": 70_000_000, "job": 0}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (put(version="0.0.1"), r"saved by gpusched 0\.0\.1, but this is"),
        (put(num_instants=10**9), "replay diverged from the saved state"),
        (put(num_instants=-1), "num_instants: -1"),
        (put(num_instants=2), "replay diverged from the saved state"),
        (put(clock_us=69_000_000), "replay diverged from the saved state"),
        (put(clock_us=2**63 - 1), "clock_us"),
        (put(reached="0" * 64, libraries="9"), "saved with Python 9, and this is Python 3"),
        (put(changes=[CANCEL]), "at_us: another instant comes before it"),
        (put(changes=[CANCEL | {"at_us": 0}]), "at_us: the instant is in the past"),
        (put(changes=[CANCEL | {"job": 10**6}]), "at_us: another instant comes before it"),
        (put(changes=[CANCEL | {"job": -1}]), "job: -1 is not a row"),
        (put(changes=[CANCEL | {"policy": "fifo"}]), "job, policy: exactly one must be given"),
        (put(changes=[CANCEL | {"num_instants": 2**62}]), "changes: must be in the order"),
        (put(changes=[{"num_instants": 3, "at_us": 0, "policy": "fifi"}]), "did you mean"),
        (put(extra=1), "unknown field `extra`"),
        (put(verify=1), r"Expected `bool`"),
        (lambda header: header["spec"].update(seed=5), "replay diverged from the saved state"),
        (lambda header: header["spec"].update(policy="python:Own"), "python.policy: missing"),
        (lambda header: header["spec"].update(predictor="forest@0123"), "forest@0123"),
        (
            lambda header: header["spec"]["trace"].update(sha256="0" * 64),
            "its trace does not match the stored digest",
        ),
        (lambda header: header["trace"].update(label_names={"user": []}), "trace.user"),
    ],
)  # fmt: skip
def test_a_header_that_lies_is_refused_by_name(path, change, message):
    opened(policy="random").save(path)
    forged(path, change)
    with pytest.raises((ValueError, TypeError), match=message) as caught:
        gs.resume(path)
    assert str(caught.value).startswith(str(path))


@each("name", ["other", "python.policy", "model.records.gpus"])
def test_members_that_do_not_belong_there_are_refused(name, path):
    opened().save(path)
    encoded, arrays = container.read(path, saved_run.KIND)
    container.write(path, saved_run.KIND, encoded, {**arrays, name: np.zeros(8, np.uint8)})
    for trust_python in (False, True):
        with pytest.raises(ValueError, match=r"monday\.run: "):
            gs.resume(path, trust_python=trust_python)


def test_files_of_others_of_later_and_too_long_ones_are_refused(path, tmp_path):
    run = opened()
    run.save(path)
    with pytest.raises(ValueError, match="max_bytes"):
        gs.resume(path, max_bytes=path.stat().st_size - 1)
    encoded, arrays = container.read(path, saved_run.KIND)
    container.write(path, container.Kind("gpusched-run", 2), encoded, arrays)
    with pytest.raises(ValueError, match="it has layout 2, this version of gpusched reads 1"):
        gs.resume(path)
    run.run()
    run.result().save(path)
    with pytest.raises(ValueError, match="it is a 'gpusched-result', not a 'gpusched-run'"):
        gs.resume(path)
    with pytest.raises(OSError, match="gone"):
        gs.resume(tmp_path / "gone.run")
