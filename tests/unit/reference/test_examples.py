"""Small schedules worked out by hand: what the readable engine means by each rule."""

from gpusched.reference import Job, Outcome, replay
from gpusched.reference.placements import best_fit, consolidated_relaxed, spread, worst_fit
from gpusched.reference.placements import consolidated as consolidated_strict
from tests.each import each

TICK = 1e-6  # seconds


def run(columns, servers, policy, placement="count", **params) -> Outcome:
    jobs = [Job(*column) for column in columns]
    return replay(
        jobs, [(gpus, "gpu") for gpus in servers], policy, placement, policy_params=params
    )


def intervals(outcome: Outcome) -> list[tuple[int, int, int]]:
    return [row[:3] for row in outcome.rows]


def test_strict_waits_behind_a_misfit_and_skip_does_not():
    columns = [(0, 10, 1), (1, 5, 2), (2, 3, 1)]
    assert run(columns, [2], "fifo").start_us == [0, 10, 15]
    assert run(columns, [2], "fifo-skip").start_us == [0, 10, 2]
    assert run(columns, [2], "fifo", scan="skip").start_us == [0, 10, 2]


def test_restart_cost_on_time_is_held_without_progress_and_paid_again_in_full():
    # 0 runs 0-2, resumes at 3 and pays 3-5 of its 4, resumes at 6, pays 6-10, runs 10-18.
    columns = [(0, 10, 1), (2, 1, 1), (5, 1, 1)]
    outcome = run(columns, [1], "srtf", cost_s=4 * TICK)
    assert intervals(outcome) == [(0, 0, 2), (0, 3, 5), (0, 6, 18), (1, 2, 3), (2, 5, 6)]
    assert (outcome.held_us[0], outcome.paid_us[0], outcome.preemptions[0]) == (16, 6, 2)


def test_restart_cost_on_work_is_added_at_each_preemption():
    columns = [(0, 10, 1), (2, 1, 1), (5, 1, 1)]
    outcome = run(columns, [1], "srtf", cost_s=4 * TICK, restart="work")
    assert intervals(outcome) == [(0, 0, 2), (0, 3, 5), (0, 6, 20), (1, 2, 3), (2, 5, 6)]
    assert (outcome.held_us[0], outcome.paid_us[0], outcome.preemptions[0]) == (18, 0, 2)


def test_wide_gangs_have_their_own_cost():
    columns = [(0, 10, 2), (2, 1, 2)]
    params = {"cost_s": 4 * TICK, "wide_cost_s": 7 * TICK}
    assert run(columns, [2], "srtf", narrow_gpus=1, **params).finish_us == [18, 3]
    assert run(columns, [2], "srtf", narrow_gpus=2, **params).finish_us == [15, 3]
    assert run(columns, [2], "srtf", narrow_gpus=1, cost_s=4 * TICK).finish_us == [15, 3]


TYPED = [
    Job(0, 20, 1, allowed=frozenset("A")),
    Job(0, 10, 1, allowed=frozenset("B")),
    Job(1, 3, 2, allowed=frozenset("B")),
]
"""At 1 the gang is the most urgent, but job 1 holds one of the two B GPUs."""


def run_typed(num_a: int, **params) -> Outcome:
    return replay(TYPED, [(num_a, "A"), (2, "B")], "srtf", "consolidated", policy_params=params)


def test_an_untaken_running_job_goes_on_where_nobody_claims_its_gpus():
    # Three GPUs: the gang and job 1 use the budget up, job 0 is not taken, the gang is refused.
    assert intervals(run_typed(1)) == [(0, 0, 20), (1, 0, 10), (2, 10, 13)]


def test_quota_hold_preempts_what_is_not_taken_even_if_nobody_can_use_it():
    assert intervals(run_typed(1, quota="hold"))[:2] == [(0, 0, 1), (0, 10, 29)]


def test_an_untaken_running_job_makes_room_where_its_gpus_are_claimed():
    outcome = run([(0, 9, 1), (0, 8, 1), (1, 5, 2)], [1, 2], "srtf", "consolidated")
    assert intervals(outcome) == [(0, 0, 1), (0, 6, 14), (1, 0, 8), (2, 1, 6)]


def test_displace_takes_the_gpus_of_a_kept_job_of_later_key():
    # Four GPUs: all three are taken, so job 1 is kept although the gang is more urgent.
    assert intervals(run_typed(2)) == [(0, 0, 20), (1, 0, 10), (2, 10, 13)]
    displaced = run_typed(2, displace=True)
    assert intervals(displaced) == [(0, 0, 20), (1, 0, 1), (1, 4, 13), (2, 1, 4)]


def test_serverfilling_serves_the_widest_of_the_smallest_first():
    # Remaining sizes 2, 3, 8: the prefix is all three; the widest (4) fills the cluster.
    outcome = run([(0, 2, 1), (0, 3, 1), (0, 2, 4)], [4], "serverfilling-srpt")
    assert outcome.start_us == [2, 2, 0]


def test_las_rotates_at_multiples_of_the_period_while_a_job_waits():
    # 1 takes over at once; at 4 they have 1 and 3, at 8 they have 5 and 3.
    outcome = run([(0, 6, 1), (1, 6, 1)], [1], "las", period_s=4 * TICK)
    assert intervals(outcome) == [(0, 0, 1), (0, 4, 8), (0, 11, 12), (1, 1, 4), (1, 8, 11)]


def test_epoch_period_decides_only_at_multiples():
    outcome = run(
        [(1, 3, 1), (2, 9, 1), (11, 1, 1)], [1], "srtf", epoch="period", period_s=5 * TICK
    )
    # 0 starts at 5 and ends at 8; 1 starts at 10; 2 (shorter) takes over at 15 and ends at 16.
    assert intervals(outcome) == [(0, 5, 8), (1, 10, 15), (1, 20, 24), (2, 15, 16)]


def test_2d_las_demotes_at_the_exact_tick_of_the_limit():
    # 3 GPUs reach 10 GPU-ticks after 4 ticks (12 >= 10); then the later job goes first.
    columns = [(0, 9, 3), (1, 2, 3)]
    outcome = run(columns, [3], "2d-las", limits=[10 * TICK], period_s=100 * TICK)
    assert intervals(outcome) == [(0, 0, 4), (0, 6, 11), (1, 4, 6)]


def test_2d_las_inside_a_queue_by_submit_or_by_entry():
    # The wide job 1 reaches the limit at 3, job 0 at 4; at 5 job 2 leaves room for one of them.
    columns = [(0, 20, 1), (1, 20, 2), (5, 3, 1)]
    params = {"limits": [4 * TICK], "period_s": 100 * TICK}
    assert run(columns, [3], "2d-las", inside="submit", **params).preemptions == [0, 1, 0]
    assert run(columns, [3], "2d-las", inside="entry", **params).preemptions == [1, 0, 0]


def test_2d_las_promotes_a_job_that_waited_long_for_its_service():
    # 0 is demoted at 2; later jobs follow each other in queue 0. At 12 it has waited 10 > 4 * 2.
    columns = [(0, 5, 1), *((tick, 2, 1) for tick in range(2, 20, 2))]
    params = {"limits": [2 * TICK], "period_s": 100 * TICK}
    starved = run(columns, [1], "2d-las", **params)
    promoted = run(columns, [1], "2d-las", promote=4.0, **params)
    assert starved.finish_us[0] == 23
    assert intervals(promoted)[:2] == [(0, 0, 2), (0, 12, 14)]


def test_easy_backfills_by_estimate_or_beside_the_reservation():
    # The head (3 GPUs) waits for 0 until 10. 2 ends by then; 3 does not, but one GPU is left over.
    columns = [(0, 10, 2), (1, 5, 3), (1, 9, 1), (1, 11, 1), (1, 20, 1)]
    assert run(columns, [4], "easy").start_us == [0, 10, 1, 1, 12]


def test_easy_expects_an_overdue_job_to_end_within_a_tick():
    # At 5 job 0 is overdue: the head is expected to start at 6, and only job 3 ends by then.
    jobs = [Job(0, 10, 1, estimate_us=3), Job(1, 5, 4), Job(5, 2, 1), Job(5, 1, 1)]
    assert replay(jobs, [(4, "gpu")], "easy").start_us == [0, 10, 15, 5]


def test_conservative_moves_up_after_an_early_finish():
    jobs = [Job(0, 4, 1, estimate_us=10), Job(1, 5, 2), Job(2, 3, 1, estimate_us=9)]
    outcome = replay(jobs, [(2, "gpu")], "conservative")
    # Reservations: 1 at 10; 2 at 15 (from 2 to 11 it would cross job 1). At 4 all move up.
    assert outcome.start_us == [0, 4, 9]


def test_conservative_gives_every_job_a_reservation():
    columns = [(0, 10, 1), (1, 5, 2), (2, 9, 1), (3, 7, 1)]
    assert run(columns, [2], "conservative").start_us == [0, 10, 15, 3]
    assert run(columns, [2], "easy").start_us == [0, 10, 15, 3]


@each(
    ("place", "gpus", "chosen"),
    [
        (best_fit, 2, {1: 2}),
        (best_fit, 6, {1: 2, 2: 4}),
        (best_fit, 8, {1: 2, 0: 3, 2: 3}),
        (worst_fit, 6, {2: 4, 0: 2}),
        (spread, 4, {0: 2, 1: 0, 2: 2}),
    ],
)
def test_placements_of_free_counts_3_2_4(place, gpus, chosen):
    assert place({0: 3, 1: 2, 2: 4}, gpus) == chosen


def test_the_remainder_of_a_consolidated_gang_prefers_a_server_in_use():
    sizes = {0: 4, 1: 4, 2: 2, 3: 8}
    assert consolidated_strict({0: 4, 1: 3, 2: 2, 3: 8}, 10, sizes) == {3: 8, 1: 2}
    assert consolidated_strict({0: 4, 1: 1, 2: 2, 3: 8}, 10, sizes) == {3: 8, 2: 2}
    assert consolidated_strict({0: 4, 1: 4, 2: 2, 3: 7}, 10, sizes) is None


def test_relaxed_spans_at_most_kappa_times_the_fewest_servers():
    free, sizes = {0: 3, 1: 2, 2: 1, 3: 2}, {0: 4, 1: 4, 2: 4, 3: 4}
    assert consolidated_relaxed(free, 4, sizes, 2.0) == {0: 3, 2: 1}
    assert consolidated_relaxed(free, 4, sizes, 1.9) is None
    assert consolidated_relaxed(free, 7, sizes, 1.5) == {0: 3, 1: 2, 3: 2}
    assert consolidated_relaxed(free, 8, sizes, 1.5) is None
