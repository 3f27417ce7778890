"""A queue as an environment of Gymnasium: whose rule one follows, its schedule one gets."""

import re
import subprocess
import sys
import warnings
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from hypothesis import given
from hypothesis import strategies as st

import gpusched as gs
from gpusched.gym.queue_env import CLUSTER_FEATURES, JOB_FEATURES, REWARDS
from tests.each import each
from tests.examples import examples

CLUSTER = gs.Cluster.uniform(servers=4, gpus=8)
TRACE = gs.generate("philly", 300, load=1.1, cluster=CLUSTER, seed=1)

Shown = tuple[np.ndarray, np.ndarray]


def queue(
    trace: gs.Trace = TRACE, cluster: gs.Cluster = CLUSTER, **options: Any
) -> gs.gym.QueueEnv:
    return gs.gym.QueueEnv(trace, cluster, **options)


def first(jobs: np.ndarray, fits: np.ndarray) -> int:
    return int(fits.argmax())


def shortest(jobs: np.ndarray, fits: np.ndarray) -> int:
    return int(np.where(fits, jobs[:, 1].astype(float), np.inf).argmin())


RULES = {"fifo-skip": first, "sjf": shortest}


def played(env: gs.gym.QueueEnv, rule: Any, seed: int = 1, **options: Any) -> float:
    """Play an episode by a rule and return the sum of its rewards."""
    observation, info = env.reset(seed=seed, **options)
    total, is_over = 0.0, False
    while not is_over:
        jobs = observation[: -len(CLUSTER_FEATURES)].reshape(-1, len(JOB_FEATURES))
        action = rule(jobs, info["action_mask"][:-1].astype(bool))
        observation, reward, is_over, is_cut, info = env.step(action)
        total += reward
        assert not is_cut
        assert info["was_allowed"]
    return total


@each("policy", RULES)
@each("placement", gs.placements())
def test_who_follows_a_rule_gets_the_schedule_of_its_policy(policy, placement):
    env = queue(placement=placement, slots=len(TRACE))
    played(env, RULES[policy])
    result = env.result()
    seed = result.spec.seed
    expected = gs.simulate(TRACE, CLUSTER, policy=policy, placement=placement, seed=seed)
    assert result.digest == expected.digest
    result.audit().raise_if_bad()


@each("placement", gs.placements())
def test_a_share_is_offered_wherever_a_partly_used_gpu_has_room(placement):
    random = np.random.default_rng(3)
    share = random.choice([0.25, 0.5, 0.75, 1.0], 60)
    gpus = np.where(share < 1, 1, random.integers(1, 3, 60))
    trace = gs.Trace.from_columns(
        np.sort(random.integers(0, 60, 60)), random.integers(5, 60, 60), gpus, gpu_share=share
    )
    cluster = gs.Cluster.uniform(servers=2, gpus=2)
    try:
        expected = gs.simulate(trace, cluster, policy="fifo-skip", placement=placement)
    except ValueError as refusal:
        with pytest.raises(ValueError, match=re.escape(str(refusal))):
            queue(trace, cluster, placement=placement)
        return
    env = queue(trace, cluster, placement=placement, slots=60)
    played(env, first)
    seed = env.result().spec.seed
    if seed:
        expected = gs.simulate(trace, cluster, policy="fifo-skip", placement=placement, seed=seed)
    assert env.result().digest == expected.digest


@examples(60)
@given(
    workload=gs.testing.workloads(
        gpu_types=("A", "B"), columns=("gpu_types", "weight", "restart_s"), is_fitting=False
    ),
    policy=st.sampled_from(sorted(RULES)),
    placement=st.sampled_from(["consolidated", "best-fit", "spread"]),
)
def test_so_it_is_on_any_workload(workload, policy, placement):
    trace, cluster = workload
    expected = gs.simulate(trace, cluster, policy=policy, placement=placement)
    if not expected.summary()["num_finished"]:
        with pytest.raises(ValueError, match="the cluster can run none of its jobs"):
            queue(trace, cluster, placement=placement)
        return
    for reward in REWARDS:
        env = queue(trace, cluster, placement=placement, slots=len(trace), reward=reward)
        total = played(env, RULES[policy])
        assert env.result().digest == expected.digest
        assert -total == pytest.approx(expected.summary()[reward], rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("reward", REWARDS)
def test_rewards_add_up_to_the_metric_of_the_window(reward):
    env = queue(reward=reward, jobs=100)
    for number in range(2):
        total = played(env, first, seed=number)
        result = env.result()
        assert len(result.trace) == 100
        assert -total == pytest.approx(result.summary()[reward], rel=1e-9)


def test_a_window_is_a_part_of_the_trace():
    env = queue(jobs=50)
    played(env, first, options={"first": 120})
    window = env.result().trace
    assert window.id.tolist() == TRACE.id[120:170].tolist()
    assert window.submit_us.tolist() == TRACE.submit_us[120:170].tolist()
    with pytest.raises(ValueError, match="first=251; known: first=0 to first=250"):
        env.reset(options={"first": 251})
    for wrong in (1.5, "1", True, None):
        with pytest.raises(
            ValueError, match=rf"options: first={wrong!r}; known: first=0 to first=250"
        ):
            env.reset(options={"first": wrong})
    with pytest.raises(ValueError, match="options: last=3"):
        env.reset(options={"last": 3})


def test_a_reset_that_is_refused_leaves_the_episode_and_all_that_is_drawn_later():
    def env_at_200() -> gs.gym.QueueEnv:
        made = queue(jobs=50)
        made.reset(seed=5, options={"first": 200})
        return made

    env, other = env_at_200(), env_at_200()
    for wrong in ({"first": 300}, {"last": 3}, {"first": 7, "last": 3}):
        with pytest.raises(ValueError, match="options"):
            env.reset(seed=9, options=wrong)
    assert env.result().trace.id.tolist() == TRACE.id[200:250].tolist()
    assert np.array_equal(env.reset()[0], other.reset()[0])


def test_features_are_what_they_say():
    trace = gs.Trace.from_columns(
        [0, 1, 1, 2], [10, 4, 6, 2], [2, 2, 1, 1], estimate_s=[20, 8, 12, 4]
    )
    cluster = gs.Cluster.uniform(1, 2)
    env = queue(trace, cluster, placement="first-fit", slots=3, predictor="estimate")
    observation, info = env.reset(seed=1)
    row = len(JOB_FEATURES)
    assert observation[:row].tolist() == [0, 20, 2, 1, 1]
    assert observation[row : 3 * row].tolist() == [0] * 2 * row
    assert observation[-4:].tolist() == [2, 2, 0, 1]
    assert info["action_mask"].tolist() == [1, 0, 0, 1]
    observation, reward, is_over, _, info = env.step(0)
    assert (reward, is_over) == (-(9 + 9 + 8) / 4, False)
    assert info["time_s"] == 10.0
    rows = observation[: 3 * row].reshape(3, row).tolist()
    assert rows == [[9, 8, 2, 1, 1], [9, 12, 1, 1, 1], [8, 4, 1, 1, 1]]
    # The third starts; the first does not fit beside it, the second does.
    observation, reward, _, _, info = env.step(2)
    assert (reward, info["time_s"]) == (0.0, 10.0)
    assert info["action_mask"].tolist() == [0, 1, 0, 1]
    assert observation[-4:].tolist() == [1, 2, 1, 2]


def test_flat_and_dict_show_the_same():
    flat, apart = queue(slots=5), queue(slots=5, observation="dict")
    one, two = flat.reset(seed=3)[0], apart.reset(seed=3)[0]
    for _ in range(50):
        assert np.array_equal(one, np.concatenate([two["jobs"].ravel(), two["cluster"]]))
        assert flat.observation_space.contains(one)
        assert apart.observation_space.contains(two)
        action = int(flat.action_masks().argmax())
        one, two = flat.step(action)[0], apart.step(action)[0]


def test_what_is_not_allowed_waits_or_starts_the_first():
    trace = gs.Trace.from_columns([0, 0, 5], [10, 10, 1], [1, 1, 2])
    env = queue(trace, gs.Cluster.uniform(1, 2), slots=4)
    env.reset(seed=0)
    assert env.action_masks().tolist() == [True, True, False, False, True]
    _, _, _, _, info = env.step(3)  # no job there: time goes on
    assert (info["was_allowed"], info["time_s"]) == (False, 5.0)
    # Nothing runs, and nothing is to come: one may not wait.
    assert env.action_masks().tolist() == [True, True, True, False, False]
    _, _, is_over, _, info = env.step(4)
    assert (info["was_allowed"], info["time_s"], is_over) == (False, 5.0, False)
    assert env.action_masks().tolist() == [True, False, False, False, True]
    assert env.result().schedule.start_us.tolist() == [5_000_000, -1, -1]


def test_an_open_episode_has_a_result_of_its_past():
    env = queue()
    with pytest.raises(ValueError, match="no episode has begun"):
        env.result()
    env.reset(seed=0)
    for _ in range(20):
        env.step(int(env.action_masks().argmax()))
    result = env.result()
    assert result.is_partial
    assert (result.schedule.start_us >= 0).sum() == 20
    assert "has not ended" in result.warnings[0]


def test_the_same_seed_plays_the_same():
    episodes = []
    for seed in (5, 5, 6):
        env = queue(jobs=40, placement="random")
        total = played(env, first, seed=seed)
        episodes.append((total, env.result().digest))
    assert episodes[0] == episodes[1] != episodes[2]


@each("observation", ["flat", "dict"])
@each("jobs", [None, 30])
def test_gymnasium_finds_nothing_to_complain_of(observation, jobs):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        env = gymnasium.make(
            "gpusched/Queue-v0", trace=TRACE, cluster=CLUSTER, slots=8, jobs=jobs,
            observation=observation,
        )  # fmt: skip
        check_env(env.unwrapped)


@each(
    ("options", "error", "message"),
    [
        ({"reward": "mean_wait"}, ValueError, "reward: unknown 'mean_wait'; did you mean"),
        ({"observation": "image"}, ValueError, "observation: unknown 'image'"),
        ({"slots": 0}, ValueError, "slots: 0 must be an integer of at least 1"),
        ({"reward": ["mean_wait_s"]}, ValueError, "reward: unknown"),
        ({"jobs": 2.5}, TypeError, "jobs: 2.5 must be an integer"),
        ({"jobs": 301}, ValueError, "jobs: 301 must lie in 1..300, the jobs of the trace"),
        ({"placement": "firstfit"}, ValueError, "unknown placement 'firstfit'; did you mean"),
        ({"predictor": "forest"}, ValueError, "learns during a run"),
        ({"cluster": 3}, TypeError, "cluster: expected a Cluster, not 3"),
        ({"trace": None}, TypeError, "trace: expected a Trace, not None"),
    ],
)
def test_a_wrong_argument_is_refused_by_name(options, error, message):
    with pytest.raises(error, match=message):
        queue(**options)


def test_an_action_that_is_none_is_refused():
    env = queue(slots=4)
    env.reset(seed=0)
    for action in (5, -1, 1.5):
        with pytest.raises(ValueError, match=r"must lie in 0..4"):
            env.step(action)


WITHOUT = """
import sys
sys.modules["gymnasium"] = None
from importlib import util
known = util.find_spec
util.find_spec = lambda name, *more: None if name == "gymnasium" else known(name, *more)
import gpusched as gs
try:
    gs.gym.QueueEnv
except ImportError as error:
    print(error)
"""


def test_without_gymnasium_the_extra_is_named():
    made = subprocess.run(
        [sys.executable, "-c", WITHOUT], capture_output=True, text=True, timeout=60, check=True
    )
    assert made.stdout.strip() == ('gpusched.gym needs gymnasium: pip install "gpusched-core[rl]"')


def test_users_estimates_are_shown_if_every_job_has_one_and_else_the_truth():
    estimated = TRACE.with_columns(estimate_s=3.0 * TRACE.service_s)
    some = TRACE.with_columns(estimate_s=np.where(np.arange(300) == 7, np.nan, TRACE.service_s))
    for trace, same in ((estimated, "estimate"), (TRACE, "oracle"), (some, "oracle")):
        default, named = queue(trace), queue(trace, predictor=same)
        assert played(default, shortest) == played(named, shortest)
        assert (default.reset(seed=1)[0] == named.reset(seed=1)[0]).all()
    other = queue(estimated, predictor="oracle")
    assert (queue(estimated).reset(seed=1)[0] != other.reset(seed=1)[0]).any()
