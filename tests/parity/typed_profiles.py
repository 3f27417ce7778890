"""Models whose speed depends on the type and the number of their GPUs."""

import gpusched as gs

TYPES = ("A", "B", "C")
# Speeds on each type, and how they grow: GPUs ** exponent.
_MODELS = ((1.0, 0.5, 0.12, 0.95), (0.7, 1.0, 0.3, 0.8), (1.0, 1.0, 1.0, 0.4))
_WIDTHS = (1, 2, 4, 8, 16)


def typed_profiles() -> list[gs.model.JobProfile]:
    """Return a profile of each model."""
    return [
        gs.model.JobProfile(
            f"model{index}",
            throughput={
                name: {width: speed * width**exponent for width in _WIDTHS}
                for name, speed in zip(TYPES, speeds, strict=True)
            },
        )
        for index, (*speeds, exponent) in enumerate(_MODELS)
    ]
