"""What the audit knows of the presets of policy ``2d-las``."""

from __future__ import annotations

from collections.abc import Mapping

from gpusched.audit.case import PRESET_RULES


@PRESET_RULES.register("2d-las")
def of_preset(preset: str) -> Mapping[str, str]:
    """Return what a preset says of decisions and restarts."""
    if preset == "lucid":
        return {
            "epoch": "period", "period_s": "60", "quota": "hold", "restart": "work",
            "cost_s": "40", "wide_cost_s": "60", "overrun_s": "1",
        }  # fmt: skip
    if preset == "tiresias-artefact":
        return {"period_s": "0"}
    return {}
