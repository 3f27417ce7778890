"""Names that were registered from Python, taken back."""

from __future__ import annotations

from typing import Any

from gpusched.plugins.registry import OF_PYTHON
from gpusched.prediction.registry import PREDICTORS
from gpusched.results.metric_registry import METRICS, Metric


def unregister(name: str) -> None:
    """Forget the policy, placement, predictor or metric that was registered as ``name``.

    What the package itself has is left alone, and so is all where nothing has this name. For
    notebooks, where a class is written again.

    Returns
    -------
    None
        Nothing.

    Raises
    ------
    TypeError
        If the name is no text.

    Examples
    --------
    >>> @gs.register_order("narrowest")
    ... class Narrowest(gs.Order):
    ...     def rank(self, view, jobs):
    ...         return view.gpus[jobs]
    >>> gs.unregister("narrowest")
    >>> "narrowest" in gs.policies()
    False
    """
    if not isinstance(name, str):
        raise TypeError(f"unregister: a name must be a text, not {name!r}")
    registries: tuple[Any, ...] = (*OF_PYTHON.values(), PREDICTORS, METRICS)
    for registry in registries:
        entry: Any = registry.loaded().get(name)
        if entry is not None and not _is_of_the_package(entry):
            registry.remove(name)


def _is_of_the_package(entry: Any) -> bool:
    made = entry.compute if isinstance(entry, Metric) else entry.python_class
    return str(getattr(made, "__module__", "")).partition(".")[0] == __name__.partition(".")[0]
