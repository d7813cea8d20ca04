"""From forms to numbers and words. Nothing here knows of browsers, and nothing knows more of the model than its public questions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from harmonium.errors import CompetingWarning, ExtrapolationWarning, silenced
from harmonium.explorer.schema import Schema, number, short
from harmonium.explorer.validation import Patient, parse_form
from harmonium.metrics.predictions import has_intervals
from harmonium.model.prognosis import Prognosis
from harmonium.model.usual_question import usual_measure, usual_time
from harmonium.table.endpoints import parse_endpoints
from harmonium.typing import Array

__all__ = [
    "BAND",
    "Bands",
    "Curves",
    "Edits",
    "Joint",
    "NoDensityError",
    "Reasons",
    "States",
    "advance",
    "ask",
    "bands_of",
    "curves_of",
    "describe",
    "joint_of",
    "reasons_of",
    "scenario_table",
    "states_of",
    "tables",
    "words_of_change",
]

BAND = 0.95
"""Probability of the intervals around curves."""

_N_BAND_TIMES = 31

JOINT = ("density", "survival")
"""What can be asked of two endpoints together."""


class NoDensityError(ValueError):
    """A known event has no density."""


@dataclass(frozen=True)
class Curves:
    """Survival of some patients.

    Attributes
    ----------
    times : ndarray of shape (n_times,)
    survival : ndarray of shape (n_patients, n_endpoints, n_times)
    medians : ndarray of shape (n_patients, n_endpoints)
    """

    times: Array
    survival: Array
    medians: Array


@dataclass(frozen=True)
class Bands:
    """Pointwise intervals of one patient's survival.

    Attributes
    ----------
    times : ndarray of shape (n_times,)
    lower, upper : ndarray of shape (n_endpoints, n_times)
    """

    times: Array
    lower: Array
    upper: Array


@dataclass(frozen=True)
class States:
    """Where one patient is over time.

    Attributes
    ----------
    times : ndarray of shape (n_times,)
    probabilities : dict of ndarray
        Of each state, by its name; they add up to one.
    until : float
    means : dict of float
        Mean time in each state until then.
    """

    times: Array
    probabilities: dict[str, Array]
    until: float
    means: dict[str, float]


@dataclass(frozen=True)
class Reasons:
    """What each known covariate contributes to the probability that is drawn, of the event or of none until a time.

    Attributes
    ----------
    measure : "survival" or "incidence"
    time : float
    average, prediction : float
        Of those of whom nothing is known, and of the patient.
    contributions : list of (str, float)
        A known value in words, and its share of the difference; the largest first.
    """

    measure: str
    time: float
    average: float
    prediction: float
    contributions: list[tuple[str, float]]


@dataclass(frozen=True)
class Joint:
    """Two endpoints together; ``grid`` is (times of the first, times of the second)."""

    times: tuple[Array, Array]
    grid: Array
    margins: tuple[Array, Array]


def tables(schema: Schema, patients: Sequence[Patient]) -> tuple[pd.DataFrame, pd.DataFrame | None]:
    """Covariates, and what is known of the endpoints if anything is, as the model takes them."""
    covariates = {}
    for place, column in enumerate(schema.columns):
        values = [patient.values[place] for patient in patients]
        covariates[column.name] = np.array(values, dtype=np.float64 if column.role == "numeric" else object)
    known = np.array([patient.known for patient in patients])  # (patients, endpoints, 2)
    given = {}
    for e, name in enumerate(schema.endpoints):
        if (known[:, e] != (0.0, np.inf)).any():
            given[name, "lower"], given[name, "upper"] = known[:, e].T
    return pd.DataFrame(covariates, index=range(len(patients))), pd.DataFrame(given) if given else None


def ask(model: Any, X: pd.DataFrame, given: pd.DataFrame | None = None) -> Prognosis:
    """A prognosis without warnings: the page has hints of its own, in its own words."""
    encoding = model.encoding
    known = None if given is None else parse_endpoints(given).reordered(encoding.endpoint_names)
    prognosis: Prognosis = model.ask(encoding.covariates(X), known)
    prognosis.warns = False
    return prognosis


def curves_of(model: Any, schema: Schema, patients: Sequence[Patient]) -> Curves:
    """Survival curves and medians; where a patient's event is known, the curve falls at once."""
    X, given = tables(schema, patients)
    known = np.array([patient.known for patient in patients])
    times = _times(schema.times, known)
    prognosis = ask(model, X, given)
    survival = np.stack([prognosis.survival(name, times) for name in schema.endpoints], axis=1)
    medians = known[..., 0].copy()
    for e, name in enumerate(schema.endpoints):
        if (known[:, e, 0] < known[:, e, 1]).any():
            medians[:, e] = prognosis.median(name)
    if not np.isfinite(survival).all():
        raise ValueError("the model has no answer for these values; they are too far from what it was trained on")
    return Curves(times, survival, medians)


def bands_of(model: Any, schema: Schema, patient: Patient) -> Bands | None:
    """Intervals at some times, which take longer than the curves; None if the model has none, as one that was trained by sampling."""
    if not has_intervals(model):
        return None
    X, given = tables(schema, [patient])
    prognosis = ask(model, X, given)
    times = _times(np.linspace(0.0, schema.end, _N_BAND_TIMES), np.array(patient.known))
    found = [prognosis.survival(name, times, interval=BAND) for name in schema.endpoints]
    return Bands(times, np.stack([own.lower[0] for own in found]), np.stack([own.upper[0] for own in found]))


def _times(grid: Array, known: Array) -> Array:
    """At which to draw: everywhere, and around what is known, where curves have steps or bends."""
    at = np.unique(known[np.isfinite(known) & (known > 0.0) & (known <= grid[-1])])
    return np.unique(np.concatenate([grid, at, np.nextafter(at, 0.0)]))


def states_of(model: Any, schema: Schema, patient: Patient) -> States:
    """Where a patient is over time, given everything that is known."""
    X, given = tables(schema, [patient])
    prognosis = ask(model, X, given)
    times = _times(schema.times, np.array(patient.known))
    found = {name: own[0] for name, own in prognosis.state_probabilities(times).items()}
    if not all(np.isfinite(own).all() for own in found.values()):
        raise ValueError("the model has no answer for these values; they are too far from what it was trained on")
    means = {name: float(own[0]) for name, own in prognosis.time_in_states(until=schema.end).items()}
    return States(times, found, schema.end, means)


def reasons_of(model: Any, schema: Schema, patient: Patient, endpoint: int) -> Reasons:
    """Shapley values of the known covariates, of what is drawn; what is known of the endpoints is left aside."""
    X, _ = tables(schema, [patient])
    name = schema.endpoints[endpoint]
    measure, time = usual_measure(model.encoding), usual_time(model.encoding, name)
    with silenced(CompetingWarning, ExtrapolationWarning):
        found = model.explain(X, endpoint=name, measure=measure, time=time)
    own = found["contribution"].droplevel("row")
    known = {column.name: value for column, value in zip(schema.columns, patient.values, strict=True) if value is not None}
    each = [(_covariate_words(name, value), float(own[name])) for name, value in known.items()]
    return Reasons(measure, time, float(own["average"]), float(own["prediction"]), sorted(each, key=lambda one: -abs(one[1])))


def joint_of(model: Any, schema: Schema, patient: Patient, pair: tuple[int, int], kind: str, n_times: int) -> Joint:
    """Density or survival of two endpoints together, given everything that is known."""
    if pair[0] == pair[1]:
        raise ValueError("choose two different endpoints")
    names = [schema.endpoints[e] for e in pair]
    known = [name for name, e in zip(names, pair, strict=True) if patient.known[e][0] == patient.known[e][1]]
    if known and kind == "density":
        raise NoDensityError(f"The event of {short(known[0])} is known, so there is no density: this is the survival.")
    X, given = tables(schema, [patient])
    first, second = (np.linspace(0.0, schema.last[e], n_times + 1)[1:] for e in pair)
    axes = dict(zip(names, (first, second), strict=True))
    prognosis, density = ask(model, X, given), kind == "density"
    grid = (prognosis.joint_density if density else prognosis.joint_survival)(axes)[0]
    margins = [(prognosis.density if density else prognosis.survival)(name, at)[0] for name, at in axes.items()]
    if not np.isfinite(grid).all():
        raise ValueError("the model has no answer for these values; they are too far from what it was trained on")
    return Joint((first, second), grid, (margins[0], margins[1]))


# --- words ---


def describe(schema: Schema, patient: Patient) -> list[str]:
    """Everything that is known, one fact at a time."""
    covariates = [
        _covariate_words(column.name, value) for column, value in zip(schema.columns, patient.values, strict=True) if value is not None
    ]
    endpoints = [_endpoint_words(schema, e, bounds) for e, bounds in enumerate(patient.known) if bounds != (0.0, np.inf)]
    return covariates + endpoints


def _covariate_words(name: Any, value: Any) -> str:
    if value is None:
        return f"{short(name)} unknown"
    return f"{short(name)} {value:g}" if isinstance(value, float) else f"{short(name)} {short(value)}"


def _endpoint_words(schema: Schema, e: int, bounds: tuple[float, float]) -> str:
    name = short(schema.endpoints[e])
    if bounds == (0.0, np.inf):
        return f"{name} unknown"
    return f"{name} event at {schema.time(bounds[0])}" if bounds[0] == bounds[1] else f"no {name} event until {schema.time(bounds[0])}"


def _differences(schema: Schema, before: Patient, now: Patient) -> list[str]:
    """What has changed, in words."""
    covariates = zip(schema.columns, before.values, now.values, strict=True)
    words = [_covariate_words(column.name, new) for column, old, new in covariates if old != new]
    return words + [_endpoint_words(schema, e, new) for e, new in enumerate(now.known) if before.known[e] != new]


def words_of_change(schema: Schema, before: Patient, now: Patient, old: Sequence[float], new: Sequence[float]) -> str:
    """The last edit and what it did to the medians, such as "rfs event at 8 months: median os 41 → 17 months"."""
    changed = _differences(schema, before, now)
    if not changed:
        return ""
    words = "everything unknown" if now.values + now.known == _nothing_known(schema) else ", ".join(changed)
    effects = []
    for e, name in enumerate(schema.endpoints):
        if now.known[e][0] == now.known[e][1]:
            continue  # the event is known, so there is nothing to predict
        then, after = number(old[e]), schema.time(new[e])
        stays = then == number(new[e])
        effects.append(f"median {short(name)} stays {after}" if stays else f"median {short(name)} {then} → {after}")
    return f"{words}: {'; '.join(effects)}" if effects else words


def _nothing_known(schema: Schema) -> tuple[Any, ...]:
    nobody = Patient.unknown(schema)
    return nobody.values + nobody.known


@dataclass(frozen=True)
class Edits:
    """The form and the medians before the last edit, to compare with. It lives in the browser.

    Attributes
    ----------
    before, now : dict
        Forms.
    before_medians, now_medians : tuple of float
    places : tuple of str
        Fields of the last edit.
    """

    before: dict[str, Any]
    now: dict[str, Any]
    before_medians: tuple[float, ...]
    now_medians: tuple[float, ...]
    places: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """For the browser; JSON has no infinity."""
        finite = {name: [m if np.isfinite(m) else None for m in getattr(self, name)] for name in ("before_medians", "now_medians")}
        return {"before": self.before, "now": self.now, "places": list(self.places), **finite}

    @classmethod
    def from_json(cls, schema: Schema, stored: Any) -> Edits | None:
        """Back from the browser; None if it cannot be understood."""
        try:
            forms, places = (stored["before"], stored["now"]), tuple(str(place) for place in stored["places"])
            medians = [tuple(np.inf if m is None else float(m) for m in stored[name]) for name in ("before_medians", "now_medians")]
            for form in forms:
                parse_form(schema, form)
        except (KeyError, TypeError, ValueError):
            return None
        if any(len(own) != len(schema.endpoints) for own in medians):
            return None
        return cls(forms[0], forms[1], medians[0], medians[1], places)


def advance(edits: Edits | None, form: dict[str, Any], medians: Sequence[float]) -> Edits:
    """The edits with a form, already checked, and its medians. Typing on in one field is one edit."""
    medians = tuple(map(float, medians))
    if edits is None:
        return Edits(form, form, medians, medians)
    places = tuple(_places(edits.now, form))
    if not places or places == edits.places:
        return replace(edits, now=form, now_medians=medians)
    return Edits(edits.now, form, edits.now_medians, medians, places)


def _places(one: dict[str, Any], other: dict[str, Any]) -> list[str]:
    """Fields in which two forms differ; an endpoint is one field."""
    covariates = enumerate(zip(one["covariates"], other["covariates"], strict=True))
    pairs = enumerate(zip(one["states"], one["times"], other["states"], other["times"], strict=True))
    return [f"c{i}" for i, (a, b) in covariates if a != b] + [f"e{i}" for i, (s, t, u, v) in pairs if (s, t) != (u, v)]


# --- tables ---


def scenario_table(schema: Schema, labels: Sequence[str], patients: Sequence[Patient], curves: Curves) -> pd.DataFrame:
    """Curves and medians of scenarios, one row for each time, to be taken home."""
    parts = []
    for s, (label, patient) in enumerate(zip(labels, patients, strict=True)):
        known = "; ".join(describe(schema, patient)) or "nothing known"
        for e, name in enumerate(schema.endpoints):
            part = {"time": curves.times, **_named(schema, curves.survival[s, e])}
            parts.append(pd.DataFrame({"scenario": label, "known": known, "endpoint": name, "median": curves.medians[s, e], **part}))
    return pd.concat(parts, ignore_index=True)


def _named(schema: Schema, survival: Array) -> dict[str, Array]:
    return {"survival": survival} if schema.graph is None else {"incidence": 1.0 - survival}
