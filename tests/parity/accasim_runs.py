"""AccaSim, run live, in a folder with a workload: ``python accasim_runs.py FOLDER POLICY``.

Galleguillos et al., AccaSim: a customizable workload management simulator for job dispatching
research in HPC systems, Cluster Computing 23, 2020. MIT licence, ``pip install accasim`` (1.1.3).
It imports a name that Python 3.10 took out of ``collections``; that name is put back before.

Its EASY hands no reserved nodes to its allocator, so that nothing keeps a later job from delaying
the reserved one: ``easy`` here is AccaSim's as released, ``easy-reserved`` hands them over.
"""

import collections
import collections.abc
import json
import subprocess
import sys
from pathlib import Path

from numpy.typing import NDArray

SYSTEM, WORKLOAD, FINISHES = "system.json", "jobs.swf", "finishes.json"


def finishes_s(folder: Path, policy: str, num_gpus: int, *columns: NDArray) -> list[int]:
    """The finish of each job, seconds; ``columns`` are submit and service, seconds, and gpus.

    A process of its own: AccaSim keeps threads and constants for good.
    """
    system = {
        "groups": {"g0": {"core": num_gpus}}, "resources": {"g0": 1},
        "equivalence": {"processor": {"core": 1}}, "start_time": 0,
    }  # fmt: skip
    (folder / SYSTEM).write_text(json.dumps(system))
    rows = (
        f"{job + 1} {submit} -1 {service} {gpus} -1 -1 {gpus} {service} -1 1 1 1 1 1 1 -1 -1\n"
        for job, (submit, service, gpus) in enumerate(zip(*columns, strict=True))
    )
    (folder / WORKLOAD).write_text("".join(rows))
    done = subprocess.run(
        [sys.executable, __file__, folder, policy], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    found: list[int] = json.loads((folder / FINISHES).read_text())
    return found


def run(folder: Path, policy: str) -> None:
    collections.Mapping = collections.abc.Mapping  # type: ignore[attr-defined]
    from accasim.base.allocator_class import FirstFit
    from accasim.base.event_class import EventManager
    from accasim.base.scheduler_class import EASYBackfilling, FirstInFirstOut, ShortestJobFirst
    from accasim.base.simulator_class import Simulator

    class Reserving(FirstFit):
        """Of one node, which is what is reserved."""

        def allocating_method(self, es, cur_time, reserved_time=None, reserved_nodes=None, **more):
            if reserved_time is not None:
                reserved_nodes = self.sorted_keys
            return super().allocating_method(
                es, cur_time, reserved_time=reserved_time, reserved_nodes=reserved_nodes, **more
            )

    dispatchers = {
        "fifo": lambda: FirstInFirstOut(FirstFit()),
        "sjf": lambda: ShortestJobFirst(FirstFit()),
        "easy": lambda: EASYBackfilling(FirstFit()),
        "easy-reserved": lambda: EASYBackfilling(Reserving()),
    }
    finish: dict[int, int] = {}
    end = EventManager.finish_event

    def noting(self, event, *more, **named):
        finish[int(event.id)] = int(event.start_time + event.duration)
        return end(self, event, *more, **named)

    EventManager.finish_event = noting
    simulator = Simulator(
        str(folder / WORKLOAD), str(folder / SYSTEM), dispatchers[policy](),
        scheduling_output=False, statistics_output=False, show_statistics=False,
        RESULTS_FOLDER_PATH=str(folder),
    )  # fmt: skip
    simulator.start_simulation()
    (folder / FINISHES).write_text(json.dumps([finish[job] for job in sorted(finish)]))


if __name__ == "__main__":
    run(Path(sys.argv[1]), sys.argv[2])
