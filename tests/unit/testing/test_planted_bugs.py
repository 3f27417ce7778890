"""Mistakes that people make are found, each by the law that it breaks, in few workloads."""

from typing import Any

import pytest

import gpusched as gs
from tests.unit.testing import planted_bugs

pytestmark = pytest.mark.long

# The law that finds it first, and of how many workloads that takes at most.
FOUND_BY: dict[str, tuple[set[str], int]] = {
    "SecretClock": ({"key-lifetime"}, 10),
    "FirstAskedFirst": ({"key-of-its-own"}, 10),
    "ByAddress": ({"key-of-its-own", "asking-is-free"}, 10),
    "Forgetful": ({"ends"}, 10),
    "SharedMemory": ({"class-unchanged"}, 10),
    "Impatient": ({"keeps-gpus"}, 20),
    "InTheOrderOfNumbers": ({"ends"}, 10),
    "DoubleBooking": ({"another-server", "possible-actions", "whole-answers"}, 10),
}


def broken_by(seam: type, **options: Any) -> gs.testing.LawBroken:
    is_placement = seam in planted_bugs.PLACEMENTS
    check = gs.testing.check_placement if is_placement else gs.testing.check_policy
    with pytest.raises(gs.testing.LawBroken) as caught:
        check(seam, **options)
    return caught.value


@pytest.mark.parametrize(
    "seam", [*planted_bugs.POLICIES, *planted_bugs.PLACEMENTS], ids=lambda seam: seam.__name__
)
def test_a_planted_bug_is_found_and_made_small(seam):
    laws, most = FOUND_BY[seam.__name__]
    error = broken_by(seam)
    assert error.law in laws
    assert error.examples <= most
    assert len(error.trace) <= 2
    assert error.cluster.num_gpus <= 2


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_another_seed_finds_the_same_bugs(seed):
    for seam in planted_bugs.POLICIES:
        assert broken_by(seam, seed=seed).law in FOUND_BY[seam.__name__][0]


def test_a_memory_of_the_class_makes_runs_differ_that_should_not():
    others = [name for name in gs.testing.laws() if name != "class-unchanged"]
    error = broken_by(planted_bugs.SharedMemory, laws=others, examples=200)
    assert {"repeats", "reusable", "forks", "saved"} & {error.law, *error.also}


def test_the_message_has_the_law_the_case_as_code_and_the_line_that_repeats_it():
    error = broken_by(planted_bugs.Forgetful)
    text = str(error)
    assert text.startswith("ends: Every job finishes, is rejected, cancelled or killed, or fails, ")
    names: dict[str, Any] = {"gs": gs, "Forgetful": planted_bugs.Forgetful}
    code = text[text.index("trace = ") : text.index("It also violates")]
    exec(code, names)
    assert names["trace"].service_us.tolist() == error.trace.service_us.tolist()
    assert names["cluster"] == error.cluster
    (again,) = (line for line in text.splitlines() if line.startswith("To repeat: "))
    with pytest.raises(gs.testing.LawBroken) as repeated:
        exec(again.removeprefix("To repeat: "), names)
    assert repeated.value.law == "ends"
