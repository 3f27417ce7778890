"""Choose the best of five policies by an hour of look-ahead. Optional: number of jobs.

A fork of the run goes on for an hour under each policy; the one under which all
jobs together wait least decides. A change of the policy preempts what runs, which costs nothing in
this trace.
"""

import sys
import warnings

import gpusched as gs

POLICIES = ("fifo", "fifo-skip", "sjf", "swf", "sgf")
HOUR_S = 3600.0


def waited_s(run: gs.Simulation) -> float:
    """Return how long all jobs together wait in the next hour; the run goes on to its end."""
    total_s = 0.0
    for _ in range(12):
        if run.done:
            break
        before_s, waiting = run.now, run.state.num_waiting
        run.run_until(before_s + HOUR_S / 12)
        total_s += waiting * (run.now - before_s)
    return total_s


def best(run: gs.Simulation, deciding: str) -> str:
    """Return the policy with the shortest waits in the next hour; ties keep the current one."""
    costs = {}
    for policy in (deciding, *POLICIES):
        trial = run.fork()
        if policy != deciding:
            trial.set(policy=policy)
        costs[policy] = waited_s(trial)
    return min(costs, key=costs.__getitem__)


def main(num_jobs: int) -> None:
    """Compare with each of the five alone."""
    cluster = gs.Cluster.uniform(servers=8, gpus=8)
    jobs = gs.generate("philly", num_jobs, load=2.5, cluster=cluster, seed=1)
    deciding, chosen = POLICIES[0], dict.fromkeys(POLICIES, 0)
    run = gs.Simulation(jobs, cluster, policy=deciding)
    while run.step():
        if run.state.num_waiting > 1:
            policy = best(run, deciding)
            chosen[policy] += 1
            if policy != deciding:
                run.set(policy=policy)
            deciding = policy
    with warnings.catch_warnings():  # which list every change
        warnings.simplefilter("ignore", gs.RunWarning)
        result = run.result()
    print("looking ahead:", round(result.summary()["mean_wait_s"] / 60), "minutes of waiting")
    print("chosen:", chosen)
    for policy in POLICIES:
        wait_s = gs.simulate(jobs, cluster, policy=policy).summary()["mean_wait_s"]
        print(f"{policy}:", round(wait_s / 60), "minutes")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 400)
