"""A workload with all that decides its run; what the laws look at."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from gpusched.base.run_warning import RunWarning
from gpusched.clusters.cluster import Cluster
from gpusched.engine.open_run import Simulation
from gpusched.engine.simulation import simulate
from gpusched.plugins.policy import ContentionChoice, SpeedChoice, known_choice
from gpusched.results.result import Result
from gpusched.schedules.schedule import FINISHED
from gpusched.testing.subjects import Subject
from gpusched.testing.trace_code import Columns, columns_of
from gpusched.traces.workload import Trace


@contextmanager
def _quiet() -> Iterator[None]:
    """What a run has to say of its jobs is no news here."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RunWarning)
        yield


@dataclass(frozen=True, eq=False)
class Case:
    """A workload with all that decides its run, and the run itself.

    Attributes
    ----------
    role
        What of it is on trial: ``"policy"``, ``"placement"`` or ``"speed"``.
    claims
        What was declared of that, beyond its flags.
    """

    trace: Trace
    cluster: Cluster
    policy: Subject
    placement: Subject
    speed: SpeedChoice
    contention: str = "none"
    seed: int = 0
    role: str = "policy"
    claims: frozenset[str] = frozenset()

    @cached_property
    def result(self) -> Result:
        """Its run."""
        return self.simulate()

    @cached_property
    def columns(self) -> Columns:
        """Its jobs, as :meth:`Trace.from_columns` takes them."""
        return columns_of(self.trace)

    @property
    def subject(self) -> Subject:
        """What is on trial, or the policy that a speed is tried with."""
        return self.placement if self.role == "placement" else self.policy

    @property
    def is_pooled(self) -> bool:
        """Whether the cluster is one pool of GPUs without servers."""
        return self.placement.has("pooled")

    @property
    def is_random(self) -> bool:
        """Whether the seed may decide."""
        may_draw = self.policy.has("random") or self.placement.has("random")
        return may_draw or "random" in self.claims

    @property
    def is_preemptive(self) -> bool:
        """Whether the policy may take GPUs back."""
        info = self.policy.info
        is_told = info.preempts is False or self.policy.has("non-preemptive")
        return not (is_told or "non-preemptive" in self.claims)

    @property
    def is_fixed(self) -> bool:
        """Whether jobs run for their service at their own width."""
        return self.speed.has("steady")

    @property
    def has_contention(self) -> bool:
        """Whether jobs on one link slow each other down."""
        return not known_choice(ContentionChoice, self.contention).has("uncontended")

    @cached_property
    def can_run(self) -> np.ndarray:
        """Whether each job is allowed on a GPU type there is, bool[jobs]."""
        allowed = self.trace.allowed_types or [()] * len(self.trace)
        known = set(self.cluster.gpu_types)
        return np.array([not types or bool(known & set(types)) for types in allowed], dtype=bool)

    @cached_property
    def finished(self) -> np.ndarray:
        """Whether each job finished, bool[jobs]."""
        return np.asarray(self.result.schedule.status == FINISHED)

    def simulate(self, **changed: Any) -> Result:
        """Run it with fresh objects; ``changed`` are other arguments of :func:`simulate`."""
        with _quiet():
            return simulate(**self._arguments(changed))

    def open(self, **changed: Any) -> Simulation:
        """Open it with fresh objects, in the same way."""
        with _quiet():
            return Simulation(**self._arguments(changed))

    def on(self, trace: Trace, cluster: Cluster | None = None) -> Case:
        """Return the same with other jobs or servers."""
        return replace(self, trace=trace, cluster=cluster or self.cluster)

    def again(self, law: str) -> str:
        """Return the line that judges it by one law."""
        given = [self.speed_code() if self.role == "speed" else self.subject.code(self.role)]
        if self.role != "policy":
            given.append(f"policy={self.policy.code('policy')}")
        if self.role != "placement":
            given.append(f"placement={self.placement.code('placement')}")
        if self.role != "speed" and not self.is_fixed:
            given.append(f"speed={self.speed_code()}")
        if self.has_contention:
            given.append(f"contention={self.contention!r}")
        if self.claims:
            given.append(f"declares={sorted(self.claims)!r}")
        given += [f"laws=[{law!r}]", "on=(trace, cluster)", f"seed={self.seed}"]
        return f"gs.testing.check_{self.role}({', '.join(given)})"

    def speed_code(self) -> str:
        """Return the speed as text in quotes."""
        return repr(str(self.speed))

    def _arguments(self, changed: dict[str, Any]) -> dict[str, Any]:
        given: dict[str, Any] = {
            "trace": self.trace, "cluster": self.cluster, "speed": self.speed,
            "contention": self.contention, "seed": self.seed,
        }  # fmt: skip
        for name in ("policy", "placement"):
            if name not in changed:
                given[name] = getattr(self, name).make()
        return given | changed


def finished_result(run: Simulation) -> Result:
    """Bring a run to its end and return its result."""
    with _quiet():
        run.run()
        return run.result()


def partial_result(run: Simulation) -> Result:
    """Return the result of a run as far as it is."""
    with _quiet():
        return run.result()
