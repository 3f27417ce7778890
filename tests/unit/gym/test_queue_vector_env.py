"""Many queues that are stepped together are each what one would be."""

import gymnasium
import numpy as np
import pytest

import gpusched as gs
from gpusched import _core
from tests.each import each

CLUSTER = gs.Cluster.uniform(servers=4, gpus=8)
TRACE = gs.generate("philly", 400, load=1.1, cluster=CLUSTER, seed=2)
OPTIONS = {"trace": TRACE, "cluster": CLUSTER, "jobs": 40, "slots": 16}


def vector(num_envs: int, **options: object) -> gs.gym.QueueVectorEnv:
    envs = gymnasium.make_vec("gpusched/Queue-v0", num_envs=num_envs, **{**OPTIONS, **options})
    assert isinstance(envs, gs.gym.QueueVectorEnv)
    return envs


@each("observation", ["flat", "dict"])
@each("placement", ["consolidated", "random"])
def test_each_is_as_if_it_were_alone(observation, placement):
    options = {"observation": observation, "placement": placement}
    envs = vector(3, **options)
    alone = [gs.gym.QueueEnv(**OPTIONS, **options) for _ in range(3)]
    seeds = [11, 12, 13]
    observations, infos = envs.reset(seed=seeds)
    singles = [env.reset(seed=seed) for env, seed in zip(alone, seeds, strict=True)]
    rng = np.random.default_rng(1)
    is_over = np.zeros(3, dtype=bool)
    for _ in range(300):
        for lane, (shown, info) in enumerate(singles):
            row = {k: v[lane] for k, v in observations.items()} if observation == "dict" else None
            if row is None:
                assert np.array_equal(observations[lane], shown)
            else:
                assert all(np.array_equal(row[name], shown[name]) for name in shown)
            assert np.array_equal(infos["action_mask"][lane], info["action_mask"])
        actions = np.array([rng.choice(np.flatnonzero(m)) for m in infos["action_mask"]])
        was_over = is_over
        observations, rewards, is_over, is_cut, infos = envs.step(actions)
        assert not is_cut.any()
        for lane, env in enumerate(alone):
            if was_over[lane]:  # it begins anew, whatever the action
                singles[lane] = env.reset()
                assert (rewards[lane], is_over[lane]) == (0.0, False)
                continue
            shown, reward, over, _, info = env.step(int(actions[lane]))
            singles[lane] = (shown, info)
            assert (rewards[lane], is_over[lane]) == (reward, over)
    assert envs.action_masks().shape == (3, 17)


def test_spaces_hold_what_is_shown():
    envs = vector(5)
    observations, infos = envs.reset(seed=1)
    for _ in range(100):
        assert envs.observation_space.contains(observations)
        actions = infos["action_mask"].argmax(axis=1)
        assert envs.action_space.contains(actions)
        observations, _, _, _, infos = envs.step(actions)
    assert envs.metadata["autoreset_mode"] is gymnasium.vector.AutoresetMode.NEXT_STEP


def test_one_seed_is_enough_and_repeats():
    seen = []
    for seed in (1, 1, 2):
        envs = vector(4)
        observations, _ = envs.reset(seed=seed)
        seen.append(observations.tolist())
        assert len({tuple(row) for row in observations.tolist()}) > 1  # windows of their own
    assert seen[0] == seen[1] != seen[2]


def test_what_was_shown_does_not_change_later():
    envs = vector(2)
    observations, infos = envs.reset(seed=1)
    kept = observations.copy(), infos["action_mask"].copy()
    _, rewards, _, _, _ = envs.step(infos["action_mask"].argmax(axis=1))
    rewards_kept = rewards.copy()
    for _ in range(20):
        envs.step(np.array([16, 16]))
    assert np.array_equal(observations, kept[0])
    assert np.array_equal(infos["action_mask"], kept[1])
    assert np.array_equal(rewards, rewards_kept)


@each(
    ("call", "error", "message"),
    [
        (lambda envs: envs.reset(seed=[1, 2, 3]), ValueError, "seed: 3 seeds for 2 environments"),
        (
            lambda envs: envs.reset(options={"first": 3}),
            ValueError,
            r"options: unknown \['first'\]; there are none",
        ),
        (lambda envs: envs.step(np.array([0, 0, 0])), ValueError, "slots: 3 answers for 2 lanes"),
        (lambda envs: envs.step(np.array([0, 17])), ValueError, "actions: 17 must lie in 0.."),
        (lambda envs: envs.step(np.array([-1, 0])), ValueError, "actions: -1 must lie in 0.."),
        (lambda envs: envs.step(np.array([0.9, 0])), TypeError, "actions: .*, not float64"),
        (lambda envs: vector(2).step(np.array([0, 0])), ValueError, "lane: 0 has no run"),
        (lambda envs: vector(0), ValueError, "num_envs: 0 must lie in 1"),
        (lambda envs: vector(1.5), TypeError, r"num_envs: 1.5 must be an integer"),
    ],
)
def test_mistakes_are_refused_by_name(call, error, message):
    envs = vector(2)
    envs.reset(seed=1)
    with pytest.raises(error, match=message):
        call(envs)


def test_the_native_lanes_refuse_what_they_do_not_know():
    servers = _core.Cluster(CLUSTER.server_gpus, CLUSTER.server_type, **CLUSTER.core_columns())
    options = {"placement": "best-fit", "placement_values": {}, "num_slots": 4, "num_lanes": 1}
    with pytest.raises(ValueError, match="cost: 'none' is unknown; allowed: wait, jct, slowdown"):
        _core.VectorEnvironment(servers, cost="none", **options)
    lanes = _core.VectorEnvironment(servers, cost="wait", **options)
    with pytest.raises(TypeError):
        lanes.answer(np.array([0], dtype=np.int32))  # no silent copy
    with pytest.raises(ValueError, match="read-only"):
        lanes.features[0] = 1
    with pytest.raises(ValueError, match="lane: 0 has no run"):
        lanes.schedule(0)
    features = lanes.features
    del lanes
    assert features.shape == (1, 24)  # the buffer lives as long as who looks at it


def test_lanes_of_which_one_has_no_run_are_answered_all_or_none():
    servers = _core.Cluster(CLUSTER.server_gpus, CLUSTER.server_type)
    lanes = _core.VectorEnvironment(
        servers, placement="best-fit", placement_values={}, num_slots=4, cost="wait", num_lanes=2
    )
    lanes.begin(0, _core.JobTable(TRACE.submit_us, TRACE.service_us, TRACE.gpus), len(TRACE), 0)
    before = lanes.features.copy()
    with pytest.raises(ValueError, match="lane: 1 has no run"):
        lanes.answer(np.array([0, 0]))
    assert np.array_equal(lanes.features, before)
    assert lanes.schedule(0).start_us.max() == -1
