"""Python plug-ins annotated by public names alone: type checkers accept them, and they run."""

from __future__ import annotations

import typing

import numpy as np
import numpy.typing as npt

import gpusched as gs

Jobs = npt.NDArray[np.int64]
CLUSTER = gs.Cluster.uniform(2, 4)
JOBS = gs.Trace.from_columns([0, 0, 1], [5, 6, 7], [4, 2, 4])


class Widest(gs.Order):
    def rank(self, view: gs.plugins.State, jobs: Jobs) -> npt.NDArray[np.float64]:
        return -view.gpus[jobs].astype(np.float64)


class OneServer(gs.Placement):
    def place(
        self, free: gs.plugins.FreeGpus, request: gs.plugins.Request
    ) -> list[tuple[int, int]] | None:
        fits = np.flatnonzero(free.free_gpus >= request.gpus)
        return [(int(fits[0]), free.lowest_free(int(fits[0]), request.gpus))] if len(fits) else None


class Eager(gs.Scheduler):
    def decide(
        self, state: gs.plugins.State, finished: Jobs, arrived: Jobs, actions: gs.plugins.Actions
    ) -> None:
        for job in state.waiting.tolist():
            found: gs.plugins.Allocation | None = state.place(job)
            if found is not None:
                actions.start(job, found)


class ByType(gs.Scheduler):
    def decide(
        self, state: gs.plugins.State, finished: Jobs, arrived: Jobs, actions: gs.plugins.Actions
    ) -> None:
        wanted = [*state.running.tolist(), *state.waiting.tolist()]
        actions.reallocate([(job, [gs.plugins.Part(0, int(state.gpus[job]))]) for job in wanted])


def test_annotated_plug_ins_run():
    policies: tuple[gs.Order | gs.Scheduler, ...] = (Widest(), Eager(), ByType())
    for policy in policies:
        result = gs.simulate(JOBS, CLUSTER, policy=policy, placement=OneServer())
        assert result.audit().ok
        assert (result.schedule.status == 0).all()


def test_the_annotations_are_the_types_of_what_the_core_hands_out():
    seen: dict[str, object] = {}

    class Curious(Eager):
        def decide(
            self,
            state: gs.plugins.State,
            finished: Jobs,
            arrived: Jobs,
            actions: gs.plugins.Actions,
        ) -> None:
            seen.update(state=state, actions=actions)
            super().decide(state, finished, arrived, actions)

    class Noting(OneServer):
        def place(
            self, free: gs.plugins.FreeGpus, request: gs.plugins.Request
        ) -> list[tuple[int, int]] | None:
            seen.update(free=free, request=request)
            return super().place(free, request)

    gs.simulate(JOBS, CLUSTER, policy=Curious(), placement=Noting())
    hints = typing.get_type_hints(Curious.decide) | typing.get_type_hints(Noting.place)
    assert {name: type(thing) for name, thing in seen.items()} == {
        name: hints[name] for name in ("state", "actions", "free", "request")
    }
