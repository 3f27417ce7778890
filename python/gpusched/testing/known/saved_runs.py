"""A run that was written to a file goes on as the run, where runs can be written."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from gpusched.engine.open_run import Simulation, resume
from gpusched.testing.cases import Case, finished_result
from gpusched.testing.law_registry import Faults, law


def _can_be_saved(case: Case) -> bool:
    made = [part.object() for part in (case.policy, case.placement)]
    is_importable = not any("<locals>" in type(of).__qualname__ for of in made if of is not None)
    # Files cost a hundred times what the run does: one workload in eight is enough.
    is_chosen = (int(case.trace.submit_s.sum()) + len(case.trace)) % 8 == 1
    return is_chosen and is_importable and hasattr(Simulation, "save")


@law(
    "saved",
    "A run that is saved and resumed ends as the run does, if its objects can be imported.",
    when=_can_be_saved,
    rank=64,
)
def _saved(case: Case) -> Faults:
    run: Any = case.open()
    run.run_until(float(case.trace.submit_s[len(case.trace) // 2]))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run"
        run.save(path)
        resumed = resume(path, trust_python=True)
    if finished_result(resumed).digest != case.result.digest:
        yield "the run that was resumed ends with another digest"
    if finished_result(run).digest != case.result.digest:
        yield "the run ends with another digest once it was saved"
