"""Jobs on GPUs of two types, and what became of them, for tests of policies."""

import random

import gpusched as gs

NONE = float("nan")
"""The deadline of a job without one."""


def runs(result: gs.Result) -> list[tuple[int, float, float, int]]:
    """(job, start, end, GPUs), by time."""
    rows = result.schedule.intervals()
    columns = (rows["start_us"], rows["end_us"], rows["job"], rows["mask"])
    return [
        (int(job), int(start) / 1e6, int(end) / 1e6, int(mask).bit_count())
        for start, end, job, mask in sorted(zip(*columns, strict=True))
    ]


def random_workload(seed: int) -> tuple[gs.Trace, gs.Cluster]:
    """Some dozen jobs on two types, most with deadlines that some width can meet."""
    rng = random.Random(seed)
    profiles = []
    for i in range(3):
        curves = {}
        for gpu_type in "AB":
            rate, curve = rng.uniform(1, 4), {}
            for gpus in (1, 2, 4, 8):
                curve[gpus] = rate
                rate *= rng.uniform(1.1, 2)
            curves[gpu_type] = curve
        profiles.append(gs.model.JobProfile(f"p{i}", throughput=curves))
    num = 12
    submit = sorted(rng.randrange(200) for _ in range(num))
    service = [rng.randrange(1, 200) for _ in range(num)]
    deadline = [
        s + d * rng.uniform(0.3, 2) if rng.random() < 0.8 else NONE
        for s, d in zip(submit, service, strict=True)
    ]
    trace = gs.Trace.from_columns(
        submit, service, [2 ** rng.randrange(3) for _ in range(num)], deadline_s=deadline,
        restart_s=[rng.randrange(1 + seed % 30) for _ in range(num)], profiles=profiles,
        profile=[rng.randrange(3) for _ in range(num)],
    )  # fmt: skip
    return trace, gs.Cluster((gs.ServerGroup(2, 4, "A"), gs.ServerGroup(2, 4, "B")))
