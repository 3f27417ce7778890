"""Queues without contention, modelled in SimPy: each job finishes at the same microsecond."""

import contextlib
from collections.abc import Callable, Generator
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import gpusched as gs

simpy = pytest.importorskip("simpy", reason="the extra oracles is not installed")

NUM_JOBS = 5_000
Key = Callable[[gs.Trace, int], float]

KEYS: dict[str, Key] = {
    "fifo": lambda trace, job: 0.0,
    "sjf": lambda trace, job: float(trace.service_us[job]),
    "edf": lambda trace, job: float(trace.deadline_us[job]),
}


def modelled(
    trace: gs.Trace, num_servers: int, key: Key, *, preempts: bool = False
) -> NDArray[np.int64]:
    """Finishes of jobs of one GPU on so many servers; ties of the key go to the lower job."""
    finish = np.zeros(NUM_JOBS, np.int64)
    environment = simpy.Environment()
    resource = simpy.PreemptiveResource if preempts else simpy.PriorityResource
    servers = resource(environment, num_servers)

    def run(job: int) -> Generator[Any, Any, None]:
        yield environment.timeout(int(trace.submit_us[job]))
        left = int(trace.service_us[job])
        while left > 0:
            with servers.request(priority=(key(trace, job), job)) as turn:
                yield turn
                begin = environment.now
                with contextlib.suppress(simpy.Interrupt):
                    yield environment.timeout(left)
                left -= environment.now - begin
        finish[job] = environment.now

    for job in range(NUM_JOBS):
        environment.process(run(job))
    environment.run()
    return finish


@pytest.mark.parametrize("num_servers", [1, 3, 16])
@pytest.mark.parametrize("policy", KEYS)
def test_a_queue_in_simpy_serves_alike(policy, num_servers):
    random = np.random.default_rng([num_servers, len(policy)])
    # Ticks so fine that no arrival meets a finish, of which SimPy may take either first.
    service_s = random.exponential(1_000, NUM_JOBS) + 1
    submit_s = np.cumsum(random.exponential(1_000 / num_servers / 0.95, NUM_JOBS))
    trace = gs.Trace.from_columns(
        submit_s=submit_s,
        service_s=service_s,
        gpus=np.ones(NUM_JOBS, np.int64),
        deadline_s=submit_s + service_s * random.uniform(1, 50, NUM_JOBS),
    )
    result = gs.simulate(
        trace, gs.Cluster.uniform(num_servers, 1), policy=policy, placement="count"
    )
    expected = modelled(trace, num_servers, KEYS[policy], preempts=policy == "edf")
    assert (expected > trace.submit_us + trace.service_us).mean() > 0.05
    assert (result.schedule.finish_us == expected).all()
