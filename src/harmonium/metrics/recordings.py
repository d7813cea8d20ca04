"""Recordings of one endpoint as metrics for right-censored times take them.

Of a table of endpoints (:mod:`harmonium.table.endpoints`), these metrics use events and right-censored times:

* rows of which nothing is known (censored at 0 among them) are left out;
* rows whose event lies between two times are left out, with a warning;
* late entry is ignored, with a warning: everybody counts as though watched from the start.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harmonium.metrics.undefined import caution
from harmonium.table.endpoints import Endpoints
from harmonium.typing import Array

__all__ = ["Recordings", "Rows", "as_predictions", "ignore_entry", "interval_censored", "place_of", "right_censored"]

Rows = NDArray[np.bool_]


@dataclass(frozen=True)
class Recordings:
    """Events and right-censored times of an endpoint; ``rows`` tells which rows of the table they are."""

    name: str
    event: Rows
    time: Array
    rows: Rows

    def structured(self) -> Any:
        """scikit-survival's array of (event, time)."""
        out = np.empty(self.time.size, dtype=[("event", np.bool_), ("time", np.float64)])
        out["event"], out["time"] = self.event, self.time
        return out

    def cut_at(self, end: float) -> Recordings:
        """The same subjects if observation had stopped at ``end``."""
        return Recordings(self.name, self.event & (self.time <= end), np.minimum(self.time, end), self.rows)


def right_censored(known: Endpoints, endpoint: str | None = None) -> Recordings:
    """Recordings of an endpoint that are events or right-censored times.

    Examples
    --------
    >>> import numpy as np
    >>> from harmonium.table.endpoints import parse_endpoints
    >>> y = np.array([(True, 2.0), (False, 3.0), (False, 0.0)], dtype=[("event", bool), ("time", float)])
    >>> right_censored(parse_endpoints(y)).time
    array([2., 3.])
    """
    e = place_of(known.names, endpoint)
    between = interval_censored(known)[:, e]
    if between.any():
        caution(f"{between.sum()} rows of {known.names[e]!r} are left out: their event lies between two times")
    rows = ~between & ~known.unknown[:, e]
    return Recordings(known.names[e], known.event[rows, e], known.lower[rows, e], rows)


def interval_censored(known: Endpoints) -> Rows:
    """Where the event has happened, but its time is not known exactly."""
    out: Rows = (known.lower < known.upper) & np.isfinite(known.upper)
    return out


def ignore_entry(known: Endpoints) -> None:
    """Warn if subjects came under observation late."""
    if (known.entry > 0.0).any():
        caution("late entry is ignored: everybody counts as though watched from the start")


def as_predictions(values: Any, n_rows: int, n_columns: int | None = None) -> Array:
    """Predictions as an array with a row for every subject, and so many columns if a number is given."""
    array = np.asarray(values, dtype=np.float64)
    shape = (n_rows,) if n_columns is None else (n_rows, n_columns)
    if array.shape != shape:
        raise ValueError(f"predictions must have the shape {shape}, a row for every subject in y; found {array.shape}")
    return array


def place_of(names: tuple[str, ...], endpoint: str | None) -> int:
    """Where an endpoint is; it may be left out if there is only one."""
    if endpoint is None and len(names) == 1:
        return 0
    if endpoint not in names:
        raise ValueError(f"endpoint must be one of {', '.join(map(repr, names))}; found {endpoint!r}")
    return names.index(endpoint)
