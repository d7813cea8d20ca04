"""Endpoints: what is known of each event time, in the user's unit.

A table of endpoints has two columns for each endpoint, (name, "lower") and (name, "upper"), and (name, "entry") where subjects came
under observation late:

====================================  =======  =======
what is known                         lower    upper
====================================  =======  =======
event at t                            t        t
censored at t (no event until t)      t        inf
between a and b                       a        b
before b                              0        b
nothing                               0        inf
====================================  =======  =======
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from harmonium.table.frames import columns_of, to_pandas
from harmonium.units.arguments import first_offender
from harmonium.units.contract import Array

__all__ = ["Endpoints", "endpoints", "parse_endpoints"]

_FORMS = "(time, event), or a mapping with time and event, or with lower and upper; each may have entry, and time may have event_value"


def endpoints(table: Any, /, **definitions: Any) -> pd.DataFrame:
    """Collect endpoints from the columns of a table.

    Parameters
    ----------
    table : DataFrame
        pandas or polars.
    **definitions : tuple or mapping
        An endpoint for each keyword, as one of

        * ``("time_column", "event_column")``;
        * ``{"time": ..., "event": ..., "event_value": "dead", "entry": ...}``: ``event_value`` is what the event column holds if the
          event was seen, anything else means censored; without it the column must hold 0/1 or booleans;
        * ``{"lower": ..., "upper": ..., "entry": ...}``: the event lies between two columns; a missing upper bound means that
          there is none.

        ``entry`` names a column with the time from which the subject was under observation (left truncation).

    Returns
    -------
    pandas.DataFrame
        Columns (endpoint, "lower"), (endpoint, "upper") and, where given, (endpoint, "entry"); scikit-learn can split it. A missing
        time means that nothing is known of the endpoint. A time of 0 carries no information if censored; an event at 0 has happened
        before the first positive recording of that endpoint.

    Examples
    --------
    >>> import pandas as pd
    >>> df = pd.DataFrame({"os_mth": [12.0, 30.5], "dead": [1, 0], "rfs_mth": [8.0, None], "relapse": ["yes", "no"]})
    >>> endpoints(df, os=("os_mth", "dead"), rfs={"time": "rfs_mth", "event": "relapse", "event_value": "yes"})
         os         rfs
      lower upper lower upper
    0  12.0  12.0   8.0   8.0
    1  30.5   inf   0.0   inf
    """
    frame = to_pandas(table)
    if not definitions:
        raise ValueError(f"no endpoint was defined; give each as a keyword: {_FORMS}")
    parts: dict[tuple[str, str], Array] = {}
    for name, definition in definitions.items():
        form = _form(name, definition)
        if "time" in form:
            lower, upper = _from_time_and_event(frame, name, form)
        else:
            lower, upper = _from_bounds(frame, name, form)
        parts[name, "lower"], parts[name, "upper"] = lower, upper
        if "entry" in form:
            parts[name, "entry"] = np.nan_to_num(_times(frame, form["entry"]))
    out = pd.DataFrame(parts, index=frame.index)
    parse_endpoints(out)
    return out


def _form(name: str, definition: Any) -> dict[str, Any]:
    """Bring a definition to a mapping of known keys."""
    if isinstance(definition, tuple) and len(definition) == 2:
        return {"time": definition[0], "event": definition[1]}
    if isinstance(definition, Mapping):
        keys = set(definition)
        recorded, bounded = {"time", "event"}, {"lower", "upper"}
        if recorded <= keys <= recorded | {"event_value", "entry"} or bounded <= keys <= bounded | {"entry"}:
            return dict(definition)
    raise ValueError(f"endpoint {name!r} must be {_FORMS}; found {definition!r}")


def _times(frame: pd.DataFrame, column: Hashable) -> Array:
    (series,) = columns_of(frame, [column])
    try:
        values: Array = pd.to_numeric(series).to_numpy(dtype=np.float64, na_value=np.nan)
    except (TypeError, ValueError):
        numbers = pd.to_numeric(series, errors="coerce")
        row = first_offender((numbers.isna() & series.notna()).to_numpy())
        found = series.iloc[row[0]] if row else series.iloc[0]
        raise ValueError(f"column {column!r} must hold times; found {found!r} in row {row[0] if row else 0}") from None
    row = first_offender(values < 0.0)
    if row:
        raise ValueError(f"column {column!r} must not hold negative times; found {values[row]:g} in row {row[0]}")
    return values


def _from_time_and_event(frame: pd.DataFrame, name: str, form: Mapping[str, Any]) -> tuple[Array, Array]:
    time = _times(frame, form["time"])
    row = first_offender(np.isinf(time))
    if row:
        raise ValueError(f"column {form['time']!r} must hold finite times; found {time[row]:g} in row {row[0]}")
    (recorded,) = columns_of(frame, [form["event"]])
    event = _events(recorded, form.get("event_value"), known=~np.isnan(time))
    lower = np.where(np.isnan(time), 0.0, time)
    return lower, np.where(event & ~np.isnan(time), lower, np.inf)


def _events(series: pd.Series, event_value: Any, known: Any) -> Any:
    """Which rows saw the event."""
    missing = series.isna().to_numpy()
    row = first_offender(missing & known)
    if row:
        raise ValueError(f"column {series.name!r} must tell for every time whether the event was seen; row {row[0]} is missing")
    values = series.to_numpy(dtype=object)
    if event_value is not None:
        chosen = np.array([value == event_value for value in values], dtype=bool)
        if known.any() and not chosen[known].any() and len(set(values[known])) > 1:
            found = sorted(map(str, set(values)))[:5]
            raise ValueError(f"column {series.name!r} never holds the event value {event_value!r}; found {found}")
        return chosen
    zero_or_one = np.array([value in (0, 1) for value in values], dtype=bool)
    row = first_offender(~zero_or_one & ~missing)
    if row:
        raise ValueError(
            f"column {series.name!r} must hold 0/1 or booleans; found {values[row]!r} in row {row[0]}. "
            f'State what means an event: {{"time": ..., "event": {series.name!r}, "event_value": {values[row]!r}}}'
        )
    return np.array([bool(value) and not gap for value, gap in zip(values, missing, strict=True)], dtype=bool)


def _from_bounds(frame: pd.DataFrame, name: str, form: Mapping[str, Any]) -> tuple[Array, Array]:
    lower, upper = np.nan_to_num(_times(frame, form["lower"])), _times(frame, form["upper"])
    return lower, np.where(np.isnan(upper), np.inf, upper)


@dataclass(frozen=True)
class Endpoints:
    """Bounds of every endpoint as arrays of shape (n_rows, n_endpoints); ``entry`` is zero where there is none."""

    names: tuple[str, ...]
    lower: Array
    upper: Array
    entry: Array

    @property
    def event(self) -> Any:
        """Where the event was seen exactly."""
        return self.lower == self.upper

    @property
    def unknown(self) -> Any:
        """Where nothing is known."""
        return (self.lower == 0.0) & np.isinf(self.upper)


def parse_endpoints(y: Any) -> Endpoints:
    """Read a table of endpoints, or a scikit-survival structured array for one endpoint, and check it."""
    if isinstance(y, np.ndarray) and y.dtype.names is not None:
        return _check(_from_structured(y))
    if not isinstance(y, pd.DataFrame) or y.columns.nlevels != 2:
        raise ValueError(
            "y must be what harmonium.endpoints returns, or a structured array (event, time) as scikit-survival has it; "
            f"found {type(y).__name__}"
        )
    names = tuple(dict.fromkeys(y.columns.get_level_values(0)))
    for name in names:
        kinds = list(y[name].columns)
        if not {"lower", "upper"} <= set(kinds) <= {"lower", "upper", "entry"} or len(set(kinds)) != len(kinds):
            raise ValueError(f"endpoint {name!r} must have the columns lower, upper and possibly entry; found {kinds}")
    nothing = np.zeros(len(y))
    column = {key: y[key].to_numpy(dtype=np.float64) for key in y.columns}

    def stack(kind: str) -> Array:
        return np.column_stack([column.get((name, kind), nothing) for name in names])

    return _check(Endpoints(tuple(map(str, names)), stack("lower"), stack("upper"), stack("entry")))


def _from_structured(y: Any) -> Endpoints:
    names = y.dtype.names
    if len(names) != 2 or y.dtype[0] != np.bool_:
        raise ValueError(f"a structured array must have two fields, event (boolean) and time; found {y.dtype}")
    time = np.asarray(y[names[1]], dtype=np.float64)
    upper = np.where(y[names[0]], time, np.inf)
    return Endpoints((names[1],), time[:, None], upper[:, None], np.zeros((time.size, 1)))


def _check(parsed: Endpoints) -> Endpoints:
    lower, upper, entry = parsed.lower, parsed.upper, parsed.entry

    def refuse(wrong: Any, rule: str) -> None:
        where = first_offender(wrong)
        if where:
            row, e = where
            found = f"lower {lower[where]:g}, upper {upper[where]:g}, entry {entry[where]:g}"
            raise ValueError(f"endpoint {parsed.names[e]!r}, row {row}: {rule}; found {found}")

    refuse(np.isnan(lower) | np.isnan(upper) | np.isnan(entry), "bounds must not be missing (nothing known is 0 to inf)")
    refuse(lower < 0.0, "times must not be negative")
    refuse(np.isinf(lower) | np.isinf(entry), "a lower bound must be finite")
    refuse(lower > upper, "the lower bound must not exceed the upper one")
    refuse(entry < 0.0, "entry must not be negative")
    refuse((entry > 0.0) & (upper <= entry), "the event must lie beyond the entry time")
    return parsed
