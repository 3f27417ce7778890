"""Parts of figures as the script reads them: as Plotly's own library writes them."""

from __future__ import annotations

import json
import math

import numpy as np
import plotly.graph_objects as go
import pytest

from gpusched.reporting.drawing.plotly_values import plain
from tests.each import each


@each("dtype", ["f4", "f8", "i4", "u1"])
@each("shape", [(6,), (3, 2), (0,)])
def test_arrays_are_packed_as_plotly_packs_them(dtype, shape):
    values = np.arange(math.prod(shape)).reshape(shape).astype(dtype)
    drawn = go.Figure({"data": [{"type": "scatter", "customdata": values}]})
    packed = json.loads(drawn.to_json())["data"][0]["customdata"]
    assert plain(values) == packed


def test_what_is_none_is_left_out_of_dicts_and_kept_in_lists():
    part = {"title": None, "x": [1.0, None], "line": {"dash": None, "width": 2}}
    assert plain(part) == {"x": [1.0, None], "line": {"width": 2}}


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_numbers_that_json_has_not_are_none(value):
    assert plain({"range": [0.0, value], "opacity": value}) == {
        "range": [0.0, None],
        "opacity": None,
    }
