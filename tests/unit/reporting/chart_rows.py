"""What a chart is drawn from."""

from typing import Any


def rows_of_chart(chart: Any, part: int = 0) -> dict[str, dict[str, Any]]:
    """The columns of each policy, of the first data set or of another."""
    spec = chart.to_dict()
    named = [layer["data"]["name"] for layer in [spec, *spec.get("layer", [])] if "data" in layer]
    return {row["policy"]: row for row in spec["datasets"][named[part]]}


def unfolded(spec: dict[str, Any]) -> list[dict[str, Any]]:
    """The rows of a specification, one for each point."""
    rows = []
    for row in spec["datasets"][spec["data"]["name"]]:
        columns = {name: values for name, values in row.items() if name != "policy"}
        points = zip(*columns.values(), strict=True)
        rows += [{"policy": row["policy"]} | dict(zip(columns, p, strict=True)) for p in points]
    return rows
