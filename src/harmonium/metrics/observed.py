"""Observed times of one endpoint as metrics for right-censored data take them.

Of a table of endpoints (:mod:`harmonium.table.endpoints`), these metrics use events and right-censored times:

* rows in which nothing was observed are left out: unknown, censored at 0, or censored at the moment of entry;
* rows whose event lies between two times are left out, with a warning;
* a subject that entered late counts from its entry on.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from harmonium.errors import MetricWarning, warn
from harmonium.table.endpoints import Endpoints, parse_endpoints
from harmonium.table.product_limit import ProductLimit
from harmonium.table.row_weights import parse_weights, total_or_count, words_of_weight
from harmonium.typing import Array, Booleans

__all__ = [
    "Estimate",
    "Observed",
    "as_found",
    "as_predictions",
    "count",
    "counts_of",
    "interval_censored",
    "mean_of",
    "observe",
    "place_of",
    "right_censored",
    "something_observed",
]


class Estimate(NamedTuple):
    """A number and its standard error over subjects.

    ``influence`` is what each subject adds to it, as far as that is known: the error is the length of this vector, and that of a difference
    of two estimates for the same subjects the length of the vectors' difference.
    """

    value: float
    standard_error: float
    influence: Array | None = None


@dataclass(frozen=True)
class Observed:
    """Events and right-censored times of an endpoint.

    Attributes
    ----------
    name : str
        Of the endpoint.
    event, time, entry : ndarray
        Whether the event was seen, when the subject was last observed, and since when (0 means from the start).
    rows : ndarray of bool
        Which rows of the table these are.
    weight : ndarray or None
        For how many subjects each stands; None if for one each.
    """

    name: str
    event: Booleans
    time: Array
    entry: Array
    rows: Booleans
    weight: Array | None = None

    @property
    def n_subjects(self) -> float:
        """How many there are, or their weight."""
        return self.time.size if self.weight is None else float(self.weight.sum())

    def weighted(self, values: Any) -> Any:
        """Values times weights."""
        return values if self.weight is None else values * self.weight

    def per_subject(self, influence: Array) -> Array:
        """Influences of rows such that the sum of their squares is that of the influences of all subjects for which they stand."""
        return influence if self.weight is None else influence / np.sqrt(self.weight)

    @property
    def has_late_entry(self) -> bool:
        """Whether somebody came under observation late."""
        return bool((self.entry > 0.0).any())

    def entered_before(self, time: float) -> Booleans:
        """Who was under observation before a time, or from the start."""
        out: Booleans = (self.entry < time) | (self.entry == 0.0)
        return out

    def cut_at(self, end: float) -> Observed:
        """The same subjects if observation had stopped at ``end``; who would have entered later is left out."""
        kept = self.entered_before(end)
        rows = self.rows.copy()
        rows[rows] = kept
        time, event = self.time[kept], self.event[kept]
        weight = None if self.weight is None else self.weight[kept]
        return Observed(self.name, event & (time <= end), np.minimum(time, end), self.entry[kept], rows, weight)

    def in_table(self, values: Array) -> Array:
        """Values of these subjects in all rows of the table, 0 in the others."""
        out = np.zeros(self.rows.size)
        out[self.rows] = values
        return out

    def kaplan_meier(self) -> ProductLimit:
        """The Kaplan-Meier curve."""
        return ProductLimit.of_events(self.time, self.event, self._late_entry(), self.weight)

    def censoring(self) -> ProductLimit:
        """The distribution of the censoring, as a product-limit curve."""
        return ProductLimit.of_censoring(self.time, self.event, self._late_entry(), self.weight)

    def _late_entry(self) -> Array | None:
        return self.entry if self.has_late_entry else None


def observe(y: Any, endpoint: str | None = None, y_train: Any = None, sample_weight: Any = None) -> tuple[Observed, Observed]:
    """An endpoint of a table, whose rows may have weights, and where its censoring is estimated: in ``y_train`` or in the same rows."""
    observed = right_censored(parse_endpoints(y), endpoint, sample_weight=sample_weight)
    return observed, observed if y_train is None else right_censored(parse_endpoints(y_train), endpoint)


def right_censored(known: Endpoints, endpoint: str | None = None, *, quiet: bool = False, sample_weight: Any = None) -> Observed:
    """Events and right-censored times of an endpoint; by default of the first. Unless ``quiet``, rows left out are warned of.

    Examples
    --------
    >>> import numpy as np
    >>> y = np.array([(True, 2.0), (False, 3.0), (False, 0.0)], dtype=[("event", bool), ("time", float)])
    >>> right_censored(parse_endpoints(y)).time
    array([2., 3.])
    """
    e = place_of(known.names, endpoint)
    weights = parse_weights(sample_weight, len(known.lower))
    counted = np.ones(len(known.lower), dtype=bool) if weights is None else weights > 0.0
    between = interval_censored(known)[:, e] & counted
    if between.any() and not quiet:
        verb = "is left out: its" if between.sum() == 1 else "are left out: their"
        warn(f"{count(between.sum(), 'row')} of {known.names[e]!r} {verb} event lies between two times", MetricWarning)
    rows = ~between & something_observed(known)[:, e] & counted
    weight = None if weights is None else weights[rows]
    return Observed(known.names[e], known.event[rows, e], known.lower[rows, e], known.entry[rows, e], rows, weight)


def something_observed(known: Endpoints) -> Booleans:
    """Where something is known: neither nothing at all, nor only that there was no event until entry."""
    out: Booleans = np.isfinite(known.upper) | (known.lower > known.entry)
    return out


def counts_of(known: Endpoints, e: int, sample_weight: Any = None) -> dict[str, float]:
    """Rows in which something is known of an endpoint, and its events, timed or not; their weight, if rows have weights."""
    weights = parse_weights(sample_weight, len(known.lower))
    chosen = {"rows": something_observed(known)[:, e], "events": np.isfinite(known.upper[:, e])}
    return {name: words_of_weight(total_or_count(rows, weights)) for name, rows in chosen.items()}


def interval_censored(known: Endpoints) -> Booleans:
    """Where the event has happened, but its time is not known exactly."""
    out: Booleans = (known.lower < known.upper) & np.isfinite(known.upper)
    return out


def as_found(known: Endpoints) -> Endpoints:
    """Events within intervals at the ends of these, when they were found: how curves of what was observed show them."""
    return replace(known, lower=np.where(interval_censored(known), known.upper, known.lower))


def mean_of(values: Array, weights: Array | None = None) -> Estimate:
    """The mean over subjects, with its standard error; rows may stand for several.

    Examples
    --------
    >>> import numpy as np
    >>> mean_of(np.array([1.0, 4.0]), np.array([2.0, 1.0])).value == mean_of(np.array([1.0, 1.0, 4.0])).value
    True
    """
    weight = np.ones(values.size) if weights is None else weights
    total = float(weight.sum())
    mean = float(values.mean()) if weights is None else float(weights @ values / total)
    influence = np.sqrt(weight) * (values - mean) / (np.sqrt((total - 1.0) * total) if total > 1.0 else np.nan)
    return Estimate(mean, float(np.linalg.norm(influence)), influence)


def as_predictions(values: Any, n_rows: int, n_columns: int | None = None) -> Array:
    """Predictions as an array with a row for every subject, and a number of columns if one is given."""
    array = np.asarray(values, dtype=np.float64)
    shape = (n_rows,) if n_columns is None else (n_rows, n_columns)
    if array.shape != shape:
        raise ValueError(f"predictions must have the shape {shape}, a row for every subject in y; found {array.shape}")
    return array


def place_of(names: tuple[str, ...], endpoint: str | None) -> int:
    """Where an endpoint is among the names; None means the first.

    Examples
    --------
    >>> place_of(("os", "rfs"), "rfs"), place_of(("os", "rfs"), None)
    (1, 0)
    """
    if endpoint is None:
        return 0
    if endpoint not in names:
        raise ValueError(f"endpoint must be one of {', '.join(map(repr, names))}; found {endpoint!r}")
    return names.index(endpoint)


def count(number: int, thing: str) -> str:
    """A number of things, in words.

    Examples
    --------
    >>> count(1, "event"), count(2, "event")
    ('1 event', '2 events')
    """
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"
