"""Which tests are asked of a fault: of its room first, the quickest and most telling ones first."""

from pathlib import Path
from typing import Final

_FIRST: Final = ("golden", "parity/test_seeded_cases.py")
"""A digest per registered name, and random cases of every seam: most faults of the core die here,
in seconds."""
# By how the path goes on after cpp/.
_CORE: Final[dict[str, tuple[str, ...]]] = {
    "base": (
        "property/test_native_pieces.py", "unit/plugins", "unit/base", "boundary/test_columns.py",
        "property/test_assignment_laws.py", "contract/test_every_parameter.py",
        "unit/online/test_assignment.py", "unit/online/test_market.py",
        "boundary/test_bad_runs.py",
    ),
    "bindings": (
        "architecture/test_stubs.py", "boundary/test_columns.py", "boundary/test_views.py",
        "boundary/test_kept_views.py", "boundary/test_copies.py",
        "boundary/test_wrong_schedulers.py", "boundary/test_wrong_resizes.py",
        "boundary/test_python_errors.py", "boundary/test_bad_runs.py",
    ),
    "deadlines": (
        "parity/test_withdrawals.py", "unit/core/schedulers/test_dancer.py",
        "property/test_deadline_laws.py",
        "papers/test_dancer.py", "unit/core/schedulers/test_deadline_policies.py",
        "property/test_plan_laws.py", "property/test_plan_oracle_laws.py",
        "unit/bounds/test_deadline_bounds.py", "property/test_planner_machine.py",
    ),
    "elastic": (
        "parity/test_withdrawals.py", "unit/core/schedulers/test_matching.py",
        "unit/core/schedulers/test_deadline_policies.py", "property/test_elastic_laws.py",
        "property/test_deadline_laws.py", "unit/core/schedulers/test_heterogeneous_policies.py",
        "parity/test_peer_elasticflow.py", "boundary/test_wrong_resizes.py",
        "parity/test_promises_equal_slow_twins.py", "parity/test_holders_equal_slow_twins.py",
        "parity/test_afs_equals_reference.py", "parity/test_themis_equals_reference.py",
        "parity/test_edf_greatest_equals_reference.py", "parity/test_regrowth_equals_slow_twin.py",
        "property/test_filled_line_laws.py", "papers/test_chronus_leases.py",
        "parity/test_peer_chronus.py",
    ),
    "engine": (
        "parity/test_withdrawals.py", "unit/online/test_cluster_state.py",
        "unit/engine/test_simulation.py", "boundary/test_wrong_schedulers.py",
        "boundary/test_wrong_resizes.py", "boundary/test_random_schedulers.py",
        "parity/test_changes_equal_reference.py", "unit/engine", "boundary/test_every_run_ends.py",
        "property/test_native_pieces.py", "property/test_engine_machine.py",
    ),
    "gangs": (
        "parity/test_gandiva_equals_reference.py", "parity/test_peer_gandiva.py",
        "parity/test_withdrawals.py", "property/test_contention_laws.py", "papers/test_sjf_bco.py",
        "contract/test_every_law.py",
    ),
    "market": (
        "property/test_market_laws.py", "unit/online/test_market.py",
        "unit/core/schedulers/test_matching.py", "papers/test_matching.py",
        "property/test_market_machine.py", "parity/test_matching_without_a_choice.py",
        "parity/test_withdrawals.py", "unit/core/schedulers/test_heterogeneous_policies.py",
        "papers/test_matching_online.py",
    ),
    "model": (
        "unit/model", "boundary/test_bad_runs.py", "boundary/test_bad_networks.py",
        "unit/specs/test_core_tables.py", "property/test_contention_laws.py",
        "boundary/test_columns.py",
    ),
    "placing": (
        "property/test_native_pieces.py", "unit/core/placements",
        "property/test_graph_cut_laws.py", "property/test_stage_laws.py",
        "property/test_packing_laws.py", "property/test_stage_laws.py",
        "parity/test_shelves_equal_every_look.py",
    ),
    "preemption": (
        "parity/test_withdrawals.py", "unit/core/schedulers/test_paid_restarts.py",
        "parity/test_fast_paths_equal_slow_twins.py",
        "parity/test_seeded_cases.py",
        "parity/test_preemption_at_varying_speeds.py",
    ),
    "queueing": (
        "parity/test_withdrawals.py", "unit/core/schedulers/test_easy_rules.py",
        "parity/test_fast_paths_equal_slow_twins.py",
        "parity/test_seeded_cases.py", "property/test_conservative_laws.py",
        "property/test_clocked_lists.py", "unit/online/test_starting.py",
        "property/test_waiting_machine.py", "parity/test_loose_estimates_equal_reference.py",
    ),
    "runs": (
        "unit/gym", "unit/online/test_starting.py", "parity/test_changes_equal_reference.py",
        "unit/studies/test_whatif.py", "unit/online/test_filling.py",
        "unit/core/schedulers/test_gavel_rounds.py", "unit/results/test_run_measures.py",
        "property/test_measured_windows.py", "unit/plugins", "unit/results", "unit/engine",
    ),
    "seams": (
        "parity/test_stages_equal_reference.py", "unit/online/test_cluster_state.py",
        "unit/engine/test_simulation.py", "property/test_contention_laws.py",
        "boundary/test_random_schedulers.py", "boundary/test_wrong_schedulers.py",
        "parity/test_changes_equal_reference.py", "unit/engine", "property/test_engine_machine.py",
    ),
    "solvers": (
        "unit/bounds/test_certificates.py", "property/test_bounds_hold.py",
        "property/test_assignment_laws.py", "property/test_market_laws.py",
        "unit/online/test_assignment.py", "property/test_assignment_machine.py",
        "parity/test_lanes_equal_pairs.py", "property/test_graph_cut_laws.py",
        "property/test_native_pieces.py", "unit/campaigns/test_theorems.py",
        "unit/online/test_filling.py", "unit/core/schedulers/test_gavel_rounds.py",
        "property/test_graph_cut_gaps.py", "property/test_contention_laws.py",
        "papers/test_sjf_bco.py", "property/test_plan_oracle_laws.py",
        "parity/test_themis_equals_reference.py",
    ),
    "bindings/bind_a": (
        "unit/gym", "property/test_assignment_laws.py", "unit/online/test_assignment.py",
        "unit/online/test_starting.py",
    ),
    "bindings/bind_b": (
        "unit/bounds/test_certificates.py", "property/test_contention_laws.py", "unit/core/speeds",
        "contract/test_every_speed.py", "property/test_native_pieces.py",
    ),
    "bindings/bind_d": (
        "boundary/test_columns.py", "property/test_plan_laws.py",
        "property/test_plan_oracle_laws.py", "unit/core/schedulers/test_dancer.py",
        "parity/test_decisions_equal_runs.py",
    ),
    "bindings/bind_e": ("unit/gym",),
    "bindings/bind_filling": ("unit/online/test_filling.py",),
    "bindings/bind_market": ("property/test_market_laws.py", "unit/online/test_market.py"),
    "bindings/bind_over_time": ("unit/schedules", "unit/results"),
    "bindings/bind_plan": (
        "property/test_plan_laws.py", "unit/core/schedulers/test_dancer.py",
        "papers/test_chronus_leases.py", "boundary/test_columns.py",
    ),
    "bindings/bind_r": ("unit/results", "unit/plugins", "property/test_measured_windows.py"),
    "bindings/bind_s": (
        "unit/bounds/test_certificates.py", "unit/online/test_cluster_state.py",
        "unit/online/test_starting.py", "unit/engine/test_rates_of_a_state.py",
        "unit/engine/test_open_run.py", "unit/engine/test_saved_run.py",
        "property/test_contention_laws.py", "unit/core/speeds",
    ),
    "bindings/c": ("property/test_assignment_laws.py", "unit/engine", "unit/results"),
    "bindings/matching": ("property/test_market_laws.py", "unit/online/test_market.py"),
    "bindings/run": ("unit/engine", "boundary/test_every_run_ends.py", "unit/base"),
    "bindings/scheduler": (
        "boundary/test_random_schedulers.py", "unit/online", "boundary/test_every_run_ends.py",
    ),
    "bindings/testing": (
        "unit/campaigns/test_timed_scheduler.py", "property/test_native_pieces.py",
        "property/test_contention_laws.py", "property/test_filled_line_laws.py",
        "property/test_market_laws.py", "property/test_plan_oracle_laws.py",
        "property/test_planner_machine.py", "property/test_waiting_machine.py",
    ),
    "bindings/turn": ("property/test_assignment_laws.py", "unit/online/test_assignment.py"),
    "plugins/contentions": ("property/test_contention_laws.py", "unit/audit/test_audit_rates.py"),
    "plugins/orders": (
        "unit/core/schedulers/test_paid_restarts.py", "property/test_clocked_lists.py",
        "unit/core/schedulers",
    ),
    "plugins/placements": ("unit/core/placements", "property/test_packing_laws.py"),
    "plugins/schedulers": ("parity/test_withdrawals.py", "unit/core/schedulers"),
    "plugins/speeds": (
        "parity/test_stages_equal_reference.py", "unit/core/speeds", "property/test_stage_laws.py",
        "property/test_elastic_laws.py", "property/test_market_laws.py",
        "contract/test_every_speed.py", "unit/core/schedulers/test_heterogeneous_policies.py",
    ),
    "plugins/schedulers/afs": ("parity/test_afs_equals_reference.py",),
    "plugins/schedulers/a_srpt": ("unit/campaigns/test_theorems.py",),
    "plugins/schedulers/chronus": (
        "parity/test_edf_greatest_equals_reference.py", "property/test_deadline_laws.py",
        "property/test_elastic_laws.py",
    ),
    "plugins/schedulers/conservative": (
        "property/test_conservative_laws.py", "parity/test_fast_paths_equal_slow_twins.py",
    ),
    "plugins/schedulers/dancer": (
        "parity/test_edf_greatest_equals_reference.py", "property/test_deadline_laws.py",
        "property/test_elastic_laws.py",
    ),
    "plugins/schedulers/easy": (
        "property/test_conservative_laws.py", "parity/test_fast_paths_equal_slow_twins.py",
    ),
    "plugins/schedulers/edf": (
        "parity/test_edf_greatest_equals_reference.py", "property/test_deadline_laws.py",
        "property/test_elastic_laws.py",
    ),
    "plugins/schedulers/elasticflow": (
        "parity/test_edf_greatest_equals_reference.py", "property/test_deadline_laws.py",
        "property/test_elastic_laws.py",
    ),
    "plugins/schedulers/gandiva": (
        "parity/test_gandiva_equals_reference.py", "parity/test_peer_gandiva.py",
    ),
    "plugins/schedulers/matching": (
        "property/test_market_laws.py", "parity/test_matching_without_a_choice.py",
    ),
    "plugins/schedulers/themis": ("parity/test_themis_equals_reference.py",),
}  # fmt: skip
_JUDGES: Final[dict[str, tuple[str, ...]]] = {
    "audit": ("unit/audit",),
    "bounds": (
        "unit/bounds", "property/test_bounds_hold.py", "property/test_elastic_bounds_hold.py",
        "contract/test_every_bound.py",
    ),
    "plugins": (
        "golden", "unit/plugins", "unit/core/schedulers/test_gavel_rounds.py",
        "papers/test_chronus_leases.py",
        "unit/core/schedulers/test_heterogeneous_policies.py", "parity/test_gavel_ratio.py",
        "parity/test_gavel_ties.py",
        "parity/test_peer_chronus.py", "contract/test_every_parameter.py",
    ),
    "results": (
        "unit/results", "contract/test_every_metric.py", "property/test_measured_windows.py",
    ),
    "schedules": (
        "unit/schedules", "unit/results", "unit/audit/test_audit.py",
        "unit/audit/test_audit_rates.py",
    ),
    "specs": (
        "golden", "unit/specs", "boundary/test_damaged_cases.py", "unit/engine/test_spec_runs.py",
        "unit/results/test_result_store.py",
    ),
    "studies": ("unit/studies",),
}  # fmt: skip
JUDGES: Final = tuple(_JUDGES)
"""Rooms of Python in which a fault would make figures wrong."""


def room_of(file: str) -> str:
    """Return the folder of a file as the house is divided."""
    parts = file.split("/")
    if parts[0] == "python":
        return parts[2]
    return "/".join(parts[1 : 3 if parts[1] == "plugins" and len(parts) > 3 else 2])


def stages_of(file: str) -> list[list[str]]:
    """Return the tests that are asked one after the other of a fault in a file; of none, all."""
    if file.startswith("python/"):
        found = _JUDGES[room_of(file)]
    elif file:
        own = [key for key in _CORE if file.startswith(f"cpp/{key}")]
        found = (*_FIRST, *(path for key in sorted(own, reverse=True) for path in _CORE[key]))
    else:
        rooms = (*_CORE.values(), *_JUDGES.values())
        found = (*_FIRST, *(path for paths in rooms for path in paths))
    return [[f"tests/{path}"] for path in dict.fromkeys(found)]


def missing(root: Path) -> list[str]:
    """Return what is asked and is not there, and of what is asked though there is no such file."""
    nowhere = [key for key in _CORE if not any((root / "cpp").glob(f"{key}*"))]
    return [path for [path] in stages_of("") if not (root / path).exists()] + nowhere
