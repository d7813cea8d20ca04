"""The first paragraph of a report: who was studied, what happened, and whether the model can tell."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from harmonium.metrics.competing import competing, is_prevented
from harmonium.metrics.observed import as_found
from harmonium.numerics.round_times import round_times
from harmonium.plots.estimate import KaplanMeier
from harmonium.report.drawing import in_unit
from harmonium.table.encoding import Encoding
from harmonium.table.endpoints import Endpoints, parse_endpoints
from harmonium.table.learned_endpoint import LearnedEndpoint, ObservedCounts
from harmonium.table.summary import median_follow_up

__all__ = ["opening_words"]

_SAME = 0.005  # prediction errors that differ by less are called the same


def opening_words(
    encoding: Encoding, X: pd.DataFrame, y: pd.DataFrame, scores: pd.DataFrame, unit: str, largest: Mapping[str, str], groups: Any = None
) -> list[str]:
    """Sentences on the study, and some on each endpoint, of which ``largest`` has those on effects; rows in groups are called rows."""
    known = parse_endpoints(y)
    missing = _missing_words(encoding, X)
    who = f"{len(X)} subjects" if groups is None else f"{len(X)} rows in {len(set(groups))} groups"
    first = f"{who} with {len(encoding.modelled)} covariates{missing} and {_endpoints(known)}."
    endpoints = encoding.endpoints
    followed = [median_follow_up(encoding, endpoint) for endpoint in endpoints]
    rows = "subjects" if groups is None else "rows"
    words = [_endpoint_words(known, own, scores.loc[own.name], time, unit, rows) for own, time in zip(endpoints, followed, strict=True)]
    return [first, *(f"{own} {largest[endpoint.name]}".rstrip() for own, endpoint in zip(words, endpoints, strict=True))]


def _missing_words(encoding: Encoding, X: pd.DataFrame) -> str:
    cells = X[[column.name for column in encoding.modelled]].isna().to_numpy()
    if not cells.any():
        return " without missing values" if cells.size else ""
    return f" ({cells.mean():.1%} of their values are missing, in {int(cells.any(axis=1).sum())} subjects; no subject was excluded)"


def _endpoints(known: Endpoints) -> str:
    n = len(known.names)
    if not known.terminal:
        return "one endpoint" if n == 1 else f"{n} endpoints, each censored on its own"
    if n == len(known.terminal):
        return f"{n} endpoints, all of them terminal"
    return f"{n} endpoints, of which {' and '.join(known.terminal)} {'is' if len(known.terminal) == 1 else 'are'} terminal"


def _endpoint_words(known: Endpoints, endpoint: LearnedEndpoint, scores: pd.Series, follow_up: float, unit: str, rows: str) -> str:
    counts, name = endpoint.counts, endpoint.name
    followed = in_unit(follow_up, unit)
    sentence = f"{name}: {counts.words(f'in {counts.rows} {rows}')}, median follow-up {followed}"
    return f"{sentence}{_observed_words(as_found(known), name, unit)}. {_score_words(scores, counts)}"


def _observed_words(known: Endpoints, name: str, unit: str) -> str:
    """The observed fraction at about the middle of follow-up."""
    if is_prevented(known, name):
        both = competing(known, name)
        if not both.observed.time.size:
            return ""
        time = _middle(float(both.observed.time.max()))
        return f"; cumulative incidence {float(both.incidence().at(np.array([time]))[0]):.0%} at {in_unit(time, unit)} (Aalen–Johansen)"
    e = known.names.index(name)
    if not (np.isfinite(known.lower[:, e]) & (known.lower[:, e] > 0.0)).any():
        return ""
    curve, _ = KaplanMeier.of(known.to_frame(), name)
    time = _middle(curve.last)
    low, high = curve.interval(time)
    return f"; {curve.at(time):.0%} (95% interval {low:.0%} to {high:.0%}) event-free at {in_unit(time, unit)} (Kaplan–Meier)"


def _middle(last: float) -> float:
    times = round_times(last)
    return times[(len(times) - 1) // 2] if times else last


def _score_words(scores: pd.Series, counts: ObservedCounts) -> str:
    concordance, error, null = (float(scores[name]) for name in ("concordance", "integrated_brier_score", "kaplan_meier_ibs"))
    if np.isnan(concordance):
        timed = "events are only known to lie within intervals" if counts.intervals and not counts.events else "there are too few events"
        return f"The C-index is not defined, since {timed}."
    words = f"Cross-validated C-index {concordance:.2f} (SE {float(scores['concordance_se']):.2f}; 0.5 is chance)"
    if np.isnan(error) or np.isnan(null):
        return f"{words}."
    gain = 1.0 - error / null
    if abs(gain) < _SAME:
        return f"{words}; integrated Brier score as without covariates."
    return f"{words}; integrated Brier score {abs(gain):.0%} {'lower' if gain >= 0.0 else 'higher'} than without covariates."
