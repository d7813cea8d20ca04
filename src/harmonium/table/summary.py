"""What a model has learned from its training table, as rows of plain values, for people and for programs."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from harmonium.table.columns import Column
from harmonium.table.encoding import Encoding
from harmonium.table.learned_endpoint import LearnedEndpoint

__all__ = ["columns_summary", "endpoints_summary", "median_follow_up", "words_of_column"]

_MOST_LEVELS_SHOWN = 6


def columns_summary(encoding: Encoding) -> list[dict[str, Any]]:
    """Of every covariate: its name, role, levels or mean, and the fraction that was missing in training."""
    out = []
    for column in encoding.columns:
        row: dict[str, Any] = {"name": column.name, "role": column.role}
        if column.role == "numeric":
            row |= {"mean": column.mean, "standard_deviation": column.deviation, "lowest": column.lowest, "highest": column.highest}
        elif column.role != "ignored":
            row["levels"] = list(column.levels)
        out.append({**row, "missing": column.missing})
    return out


def endpoints_summary(encoding: Encoding) -> list[dict[str, Any]]:
    """Of every endpoint: its name, what was observed of it in training, and the end of its time scale.

    Of the events, some may have happened within intervals. The median of follow-up is :func:`median_follow_up`.
    """
    return [
        {
            "name": endpoint.name,
            **asdict(endpoint.counts),
            "events": endpoint.counts.happened,
            "median_follow_up": median_follow_up(encoding, endpoint),
            "last_observed": endpoint.follow_up.last,
            "horizon": endpoint.scale.horizon,
            "unit": encoding.unit,
        }
        for endpoint in encoding.endpoints
    ]


def median_follow_up(encoding: Encoding, endpoint: LearnedEndpoint) -> float:
    """That of the Kaplan-Meier estimate with the roles of event and censoring exchanged.

    Where an endpoint is terminal, it is that of the subjects, the same for all endpoints: a death does not end the follow-up of recurrence,
    after it there is nothing left to follow.
    """
    return (endpoint if encoding.ordered is None else encoding.ordered).follow_up.median


def words_of_column(column: Column) -> str:
    """A covariate's content in a few words.

    Examples
    --------
    >>> words_of_column(Column("stage", "categorical", "object", ("I", "II", "III")))
    'I, II, III'
    """
    if column.role == "numeric":
        return f"{column.mean:.4g} ± {column.deviation:.3g}   ({column.lowest:g} to {column.highest:g})"
    if column.role == "ignored":
        return f"always {column.levels[0]}" if column.levels else "-"
    more = len(column.levels) - _MOST_LEVELS_SHOWN
    return ", ".join(map(str, column.levels[:_MOST_LEVELS_SHOWN])) + (f", and {more} more" if more > 0 else "")
