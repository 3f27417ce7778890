"""Train a small policy for a queue, and compare it with others on unseen jobs.

The policy gives each waiting job a number, linear in nine features of the job and the cluster, and
starts the job with the largest that fits. Its nine weights are found by cross-entropy search: draw
weights, play episodes with all of them at once, keep the best, draw again around those.

    python examples/train_queue_policy.py --seed 1        # takes half a minute

It knows the true run times of jobs (predictor `oracle`), as `sjf` does, and as `easy` does here,
whose estimates are the true run times if a trace has none.

Three blocks of seeds make workloads, and no seed is in two of them. A policy is trained on the
workload of `--seed`, 1 to 3 for the figures in docs/tutorials/train-an-rl-policy.md. That jobs come
from `itp` at a load of 1.0 was chosen by looking at results on the seeds 1001 to 1020. It is judged
on the seeds 90000 to 90019, which nothing was chosen by; choose nothing by them either.
"""

import argparse
import time

import gymnasium
import numpy as np

import gpusched as gs
import gpusched.gym  # registers gpusched/Queue-v0

SLOTS = 128
CLUSTER = gs.Cluster.uniform(servers=8, gpus=8)
JOB_FEATURES = 5
JUDGED_FROM = 90_000  # the first seed of the workloads on which policies are compared


def workload(seed: int, jobs: int) -> gs.Trace:
    """Synthetic jobs with the distributions of ITP, as many as the cluster can just serve."""
    return gs.generate("itp", jobs, load=1.0, cluster=CLUSTER, seed=seed)


def features_of(observations: np.ndarray) -> np.ndarray:
    """Nine numbers of order one for each slot, float32[..., slots, 9]."""
    jobs = observations[..., : SLOTS * JOB_FEATURES]
    jobs = jobs.reshape(*observations.shape[:-1], SLOTS, JOB_FEATURES)
    free, gpus = (observations[..., -4 + i, None] for i in (0, 1))
    wait, service, width = (np.log1p(jobs[..., i]) / 10 for i in range(3))
    share_free = np.broadcast_to(free / gpus, wait.shape)
    left = (free - jobs[..., 2]) / gpus
    columns = [wait, service, width, wait * service, service * width, service**2, wait**2]
    columns += [left, share_free * width]
    return np.stack(columns, axis=-1)


def choose(weights: np.ndarray, observations: np.ndarray, allowed: np.ndarray) -> np.ndarray:
    """The slot with the largest score among those that are allowed; the first of equals."""
    scores = np.einsum("...sf,...f->...s", features_of(observations), weights)
    scores = np.where(allowed[..., :SLOTS], scores, -np.inf)
    return scores.argmax(axis=-1)


def mean_waits(envs: gymnasium.vector.VectorEnv, weights: np.ndarray, seed: int) -> np.ndarray:
    """Play one episode with each row of weights, all on the same jobs; seconds."""
    observations, infos = envs.reset(seed=[seed] * envs.num_envs)
    waits, is_over = np.zeros(envs.num_envs), np.zeros(envs.num_envs, dtype=bool)
    while not is_over.all():
        actions = choose(weights, observations, infos["action_mask"].astype(bool))
        observations, rewards, ended, _, infos = envs.step(actions)
        waits -= np.where(is_over, 0.0, rewards)
        is_over |= ended
    return waits


def train(seed: int, rounds: int, population: int, episodes: int, jobs: int) -> np.ndarray:
    """Search weights on one trace, in windows of so many jobs."""
    rng = np.random.default_rng(seed)
    envs = gymnasium.make_vec(
        "gpusched/Queue-v0", num_envs=population, trace=workload(seed, 20 * jobs),
        cluster=CLUSTER, slots=SLOTS, jobs=jobs,
    )  # fmt: skip
    mean, spread = np.zeros(9), np.ones(9)
    for number in range(rounds):
        weights = rng.normal(mean, spread, (population, 9))
        weights[0] = mean
        cost = np.zeros(population)
        for window in rng.integers(2**31, size=episodes):
            # Windows differ by far more than weights: what counts is the ratio on one window.
            cost += np.log(mean_waits(envs, weights, int(window)) + 60)
        best = weights[np.argsort(cost)[: population // 5]]
        mean, spread = best.mean(axis=0), best.std(axis=0) + 0.3 / (1 + number)
    return mean


def learned_wait(weights: np.ndarray, trace: gs.Trace) -> float:
    """The mean wait of a whole trace under the weights, seconds."""
    env = gymnasium.make("gpusched/Queue-v0", trace=trace, cluster=CLUSTER, slots=SLOTS)
    observation, info = env.reset(seed=0)
    is_over = False
    while not is_over:
        action = choose(weights, observation, info["action_mask"].astype(bool))
        observation, _, is_over, _, info = env.step(int(action))
    result = env.unwrapped.result()
    result.audit().raise_if_bad()
    return result.summary()["mean_wait_s"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=25)
    parser.add_argument("--population", type=int, default=40)
    parser.add_argument("--episodes", type=int, default=3)
    parser.add_argument("--jobs", type=int, default=300, help="of an episode")
    parser.add_argument("--seeds", type=int, default=20, help="held-out workloads")
    parser.add_argument("--held-out", type=int, default=3_000, help="jobs of each of them")
    given = parser.parse_args()
    if given.seed >= 1_000:
        parser.error(f"--seed is {given.seed}; those from 1000 are kept to choose and to judge by")

    begin = time.perf_counter()
    weights = train(given.seed, given.rounds, given.population, given.episodes, given.jobs)
    print(f"trained in {time.perf_counter() - begin:.0f} s, seed {given.seed}")
    print("weights:", np.round(weights, 2).tolist())

    judged_on = range(JUDGED_FROM, JUDGED_FROM + given.seeds)
    held_out = [workload(seed, given.held_out) for seed in judged_on]
    learned = [learned_wait(weights, trace) for trace in held_out]
    print(f"mean wait on {given.seeds} held-out workloads of {given.held_out} jobs:")
    print(f"  learned    {np.mean(learned):10.0f} s")
    for policy in ("fifo-skip", "easy", "sjf"):
        others = [
            gs.simulate(trace, CLUSTER, policy=policy).summary()["mean_wait_s"]
            for trace in held_out
        ]
        print(f"  {policy:10} {np.mean(others):10.0f} s", end="")
        if given.seeds > 1:
            ratio = gs.studies.ratio(learned, others)
            print(f"   learned / {policy}: {ratio.value:.3f} [{ratio.low:.3f}, {ratio.high:.3f}]")
        else:
            print()


if __name__ == "__main__":
    main()
