"""Fit the ring model to measured step times, and report the errors.

The model of one step of ``w`` GPUs on ``span`` servers with ``batch`` samples each::

    forward_s * batch + backward_s + overhead_s * span + 2 m (w-1)/(w B) + m (w-1)/(w C)

with ``B`` the bandwidth inside the server where ``span`` is 1, and of the network card otherwise.
It is linear in all but ``B``, and in ``1/B``: least squares with no coefficient below 0. ``C`` is
not fitted, its term is indistinguishable from that of ``B``.

python -m bench.ring_calibration [FOLDER]    # of the step times of Pollux
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from typing import Final

import msgspec
import numpy as np
import polars as pl

from gpusched.base.arrays import Float64
from gpusched.model import read_pollux, zoo

REDUCTION_BYTES_PER_S: Final = 3e11
"""The default C of the speed ``ring``."""
MODELS: Final = {
    "bert": "bert-base",
    "cifar10": "resnet18-cifar10",
    "deepspeech2": "deepspeech2",
    "imagenet": "resnet50",
    "ncf": "ncf",
    "yolov3": "yolov3",
}
"""The applications of the Pollux tables, and their names in :func:`gpusched.model.zoo`."""


class RingFit(msgspec.Struct, frozen=True):
    """What was fitted for one application.

    Attributes
    ----------
    application
        Its name in the table.
    gradient_bytes
        Given, not fitted.
    forward_s, backward_s
        Seconds per sample, and per step.
    intra_bytes_per_s, nic_bytes_per_s
        Bandwidths; infinite where the best fit has none.
    overhead_s
        Seconds per server spanned.
    """

    application: str
    gradient_bytes: float
    forward_s: float
    backward_s: float
    intra_bytes_per_s: float
    nic_bytes_per_s: float
    overhead_s: float

    def step_s(self, servers: Float64, gpus: Float64, batch: Float64) -> Float64:
        """Return the modelled seconds of steps; arrays of equal length."""
        bandwidth = np.where(servers == 1, self.intra_bytes_per_s, self.nic_bytes_per_s)
        moved = self.gradient_bytes * (gpus - 1) / gpus
        compute = self.forward_s * batch + self.backward_s
        seconds: Float64 = (2 * moved / bandwidth + moved / REDUCTION_BYTES_PER_S) + (
            self.overhead_s * servers + compute
        )
        return seconds


class Calibration(msgspec.Struct, frozen=True):
    """The fits of all applications of a table; see :func:`calibrate_ring`."""

    fits: tuple[RingFit, ...]

    def errors(self, table: pl.DataFrame) -> pl.DataFrame:
        """Judge the fits by a table, the one that was fitted or another.

        Returns
        -------
        polars.DataFrame
            Per application: ``rows``; ``mape`` and ``median``, the mean and the median of
            ``|model - measured| / measured``; ``bias``, the mean of ``(model - measured) /
            measured``; ``r2``, the explained share of the variance of the step time.

        Raises
        ------
        polars.exceptions.ColumnNotFoundError
            If the table lacks ``application``, ``servers``, ``gpus``, ``batch`` or ``step_s``.
        """
        rows = []
        for fit in self.fits:
            part = table.filter(pl.col("application") == fit.application)
            if part.is_empty():
                continue
            measured = part["step_s"].to_numpy()
            model = fit.step_s(*_inputs(part))
            relative = (model - measured) / measured
            scatter = float(np.sum((measured - measured.mean()) ** 2))
            rest = float(np.sum((model - measured) ** 2))
            rows.append(
                {
                    "application": fit.application,
                    "rows": len(part),
                    "mape": float(np.mean(np.abs(relative))),
                    "median": float(np.median(np.abs(relative))),
                    "bias": float(np.mean(relative)),
                    "r2": 1 - rest / scatter if scatter else float("nan"),
                }
            )
        return pl.DataFrame(rows)

    def table(self) -> pl.DataFrame:
        """Return the fitted figures, a row per application."""
        return pl.DataFrame([msgspec.to_builtins(fit) for fit in self.fits])


def calibrate_ring(
    table: pl.DataFrame, gradient_bytes: Mapping[str, float] | None = None, *, shared: bool = False
) -> Calibration:
    """Fit the ring model to measured step times, least squares of the relative error.

    Parameters
    ----------
    table
        Columns as of :func:`gpusched.model.read_pollux`; ``application``, ``servers``,
        ``gpus``, ``batch`` and ``step_s`` are used.
    gradient_bytes
        By application; None takes those of :data:`MODELS` from :func:`gpusched.model.zoo`.
    shared
        Fit one pair of bandwidths and one overhead for all applications, as one cluster has them;
        otherwise each application has its own.

    Returns
    -------
    Calibration
        The fitted bandwidths and overheads, and how far they are from the table.

    Raises
    ------
    ValueError
        If an application has no gradient size, or the table has no rows.
    ImportError
        Without SciPy.
    """
    names = sorted(table["application"].unique().to_list())
    if not names:
        raise ValueError("table: there are no rows to fit")
    sizes = _gradients(names, gradient_bytes)
    groups = [[name] for name in names] if not shared else [names]
    fits = [fit for group in groups for fit in _fit(table, group, sizes)]
    return Calibration(tuple(fits))


def fit_line(batch: Sequence[float], seconds: Sequence[float]) -> tuple[float, float]:
    """Fit ``seconds = a * batch + b``, a and b >= 0, least squares of the relative error."""
    size = np.asarray(batch, dtype=np.float64)
    a, b = _non_negative(np.stack([size, np.ones_like(size)], axis=1), np.asarray(seconds))
    return float(a), float(b)


def _gradients(names: Sequence[str], given: Mapping[str, float] | None) -> dict[str, float]:
    if given is None:
        models = zoo()
        given = {app: models[model].gradient_bytes for app, model in MODELS.items()}
    for name in names:
        if name not in given:
            raise ValueError(f"gradient_bytes: has no size for application {name!r}")
    return {name: float(given[name]) for name in names}


def _inputs(part: pl.DataFrame) -> tuple[Float64, Float64, Float64]:
    servers, gpus, batch = (
        part[column].to_numpy().astype(np.float64) for column in ("servers", "gpus", "batch")
    )
    return servers, gpus, batch


def _fit(table: pl.DataFrame, names: Sequence[str], sizes: Mapping[str, float]) -> list[RingFit]:
    """Fit some applications with one pair of bandwidths and one overhead."""
    blocks, targets = [], []
    for position, name in enumerate(names):
        part = table.filter(pl.col("application") == name)
        servers, gpus, batch = _inputs(part)
        moved = sizes[name] * (gpus - 1) / gpus
        block = np.zeros((len(part), 3 + 2 * len(names)))
        block[:, 0] = 2 * moved * (servers == 1)
        block[:, 1] = 2 * moved * (servers > 1)
        block[:, 2] = servers
        block[:, 3 + 2 * position] = batch
        block[:, 4 + 2 * position] = 1
        measured = part["step_s"].to_numpy()
        blocks.append(block / measured[:, None])
        targets.append((measured - moved / REDUCTION_BYTES_PER_S) / measured)
    found = _solve(np.concatenate(blocks), np.concatenate(targets))
    intra, nic = (1 / inverse if inverse > 0 else float("inf") for inverse in found[:2].tolist())
    return [
        RingFit(
            name,
            sizes[name],
            float(found[3 + 2 * position]),
            float(found[4 + 2 * position]),
            intra,
            nic,
            float(found[2]),
        )
        for position, name in enumerate(names)
    ]


def _non_negative(columns: Float64, seconds: Float64) -> Float64:
    return _solve(columns / seconds[:, None], np.ones_like(seconds))


def _solve(columns: Float64, target: Float64) -> Float64:
    """Non-negative least squares; the columns, of very different sizes, are made equal first."""
    try:
        from scipy.optimize import nnls
    except ImportError as error:
        raise ImportError("the fit needs SciPy: pip install 'gpusched-core[exact]'") from error
    size = np.linalg.norm(columns, axis=0)
    size[size == 0] = 1
    found: Float64 = nnls(columns / size, target)[0] / size
    return found


def _report(path: str | None) -> None:
    table = read_pollux(path)
    known, held_out = (
        table.filter(pl.col("table") == name) for name in ("placements", "scalability")
    )
    for shared in (False, True):
        calibration = calibrate_ring(known, shared=shared)
        print("one network for all" if shared else "each application separately")
        with pl.Config(tbl_hide_dataframe_shape=True, tbl_hide_column_data_types=True, tbl_cols=-1):
            print(calibration.table())
            print("fitted rows", calibration.errors(known), sep="\n")
            print("held-out rows", calibration.errors(held_out), sep="\n")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m bench.ring_calibration")
    parser.add_argument("path", nargs="?", help="Pollux's tables (default: in $GPUSCHED_DATA)")
    _report(parser.parse_args().path)
