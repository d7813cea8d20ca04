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

A third column, (name, "terminal"), is true in all rows of an endpoint that ends everything, as death does
(:mod:`harmonium.table.relations`). It is a column, and not a property of the table, so that splitting and joining tables keep it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from harmonium.errors import Problem, TableError, collecting_problems, first_offender
from harmonium.table.causes import bounds_by_cause
from harmonium.table.frames import as_typed, columns_of, did_you_mean, distinct_values, numbers_of, row_of, to_pandas
from harmonium.table.relations import order_problems, take_apart, terminal_names, warn_if_terminal
from harmonium.table.time_columns import LATEST, finite_times, from_the_start, refuse_row, times_of
from harmonium.typing import Array

__all__ = ["Endpoints", "endpoints", "endpoints_of_part", "parse_endpoints", "refuse_variants", "related"]

_FORMS = (
    "(time, event), or a mapping with time and event, with time, cause and causes, or with lower and upper; each may have entry, "
    "time and event may have event_value and including, and causes may have censored"
)
_KINDS = {"lower", "upper", "entry", "terminal"}


def endpoints(table: Any, /, *, terminal: Any = None, **definitions: Any) -> pd.DataFrame:
    """Collect endpoints from the columns of a table.

    Parameters
    ----------
    table : DataFrame
        pandas or polars.
    terminal : str or tuple of str, optional
        Endpoints that end everything: ``terminal="death"``. The model then knows that nothing follows them. ``()`` says that there are
        none, and keeps back the warning that an endpoint looks terminal.
    **definitions : tuple or mapping
        An endpoint for each keyword, as one of

        * ``("time_column", "event_column")``;
        * ``{"time": ..., "event": ..., "event_value": "dead", "entry": ...}``: ``event_value`` is what the event column holds if the
          event was seen, any other value means censored; without it the column must hold 0/1 or booleans;
        * ``{"lower": ..., "upper": ..., "entry": ...}``: the event lies between two columns; a missing upper bound means that
          there is none;
        * ``{"time": ..., "cause": ..., "causes": {"relapse": 1, "death": 2}}``: competing risks. Each cause becomes an endpoint of its
          own name, and is terminal; the only other value of the column means censored, or ``"censored"`` says which does.

        ``"including": "death"``, beside time and event, says that an endpoint is a composite, such as recurrence-free survival, of which
        a terminal event is a part. It is taken apart: an event of both at the same time is a death without recurrence.

        ``entry`` names a column with the time from which the subject was under observation (left truncation); a missing one means
        from the start.

    Returns
    -------
    pandas.DataFrame
        Columns (endpoint, "lower"), (endpoint, "upper") and, where given, (endpoint, "entry") and (endpoint, "terminal"), which is
        true throughout; scikit-learn can split it. A missing time means that nothing is known of the endpoint. A time of 0 carries no
        information if censored; an event at 0 has happened before the first positive observed time of that endpoint.

    Examples
    --------
    >>> import pandas as pd
    >>> df = pd.DataFrame({"os_mth": [12.0, 30.5], "dead": [1, 0], "rfs_mth": [8.0, None], "relapse": ["yes", "no"]})
    >>> endpoints(df, os=("os_mth", "dead"), rfs={"time": "rfs_mth", "event": "relapse", "event_value": "yes"})
         os         rfs
      lower upper lower upper
    0  12.0  12.0   8.0   8.0
    1  30.5   inf   0.0   inf

    Recurrence and death, from recurrence-free survival; the second subject died without recurrence:

    >>> df = pd.DataFrame({"os_mth": [12.0, 30.5], "dead": [0, 1], "rfs_mth": [8.0, 30.5], "rfs": [1, 1]})
    >>> recurrence = {"time": "rfs_mth", "event": "rfs", "including": "death"}
    >>> endpoints(df, recurrence=recurrence, death=("os_mth", "dead"), terminal="death")
      recurrence       death
           lower upper lower upper terminal
    0        8.0   8.0  12.0   inf     True
    1       30.5   inf  30.5  30.5     True
    """
    return _collected(to_pandas(table), definitions, terminal, whole=True)


def endpoints_of_part(frame: pd.DataFrame, definitions: Mapping[str, Any], terminal: Any = ()) -> pd.DataFrame:
    """As :func:`endpoints`, for some rows of a table, among which there need not be an event."""
    return _collected(frame, definitions, terminal, whole=False)


def _collected(frame: pd.DataFrame, definitions: Mapping[str, Any], terminal: Any, *, whole: bool) -> pd.DataFrame:
    if not definitions:
        raise ValueError(f"no endpoint was defined; give each as a keyword: {_FORMS}")
    found: dict[str, dict[str, Array]] = {}
    composites, ends = {}, []
    with collecting_problems() as problems:
        for name, definition in definitions.items():
            with problems.catching():
                form = _form(name, definition)
                own = _bounds_by_name(frame, name, form, whole)
                found |= own
                ends += list(own) if "causes" in form else []
                if "including" in form:
                    composites[name] = form["including"]
    return _related(found, terminal, ends, composites, frame.index, whole)


def _related(
    found: dict[str, dict[str, Array]], terminal: Any, ends: Sequence[str], composites: Mapping[str, Any], index: pd.Index, whole: bool
) -> pd.DataFrame:
    """The table of endpoints: composites taken apart, terminal endpoints marked, all of it checked."""
    ends = [*ends, *terminal_names(() if terminal is None else terminal, tuple(found))]
    with collecting_problems() as problems:
        for name, included in composites.items():
            with problems.catching():
                _check_included(name, included, tuple(found), ends)
                found[name] = take_apart(name, found[name], included, found[included])
    out = _as_frame(found, ends, index)
    known = parse_endpoints(out)
    if terminal is None and not ends and whole:
        warn_if_terminal(known.names, known.lower, known.upper)
    return out


def related(y: pd.DataFrame, terminal: Any, composites: Mapping[str, str], *, whole: bool) -> pd.DataFrame:
    """A table of endpoints that were collected one by one, with what they have to do with each other; see :func:`endpoints`."""
    found: dict[str, dict[str, Array]] = {}
    for place, (name, kind) in enumerate(y.columns):
        found.setdefault(name, {})[kind] = y.iloc[:, place].to_numpy()
    ends = [name for name, parts in found.items() if parts.pop("terminal", None) is not None]
    return _related(found, terminal, ends, composites, y.index, whole)


def _as_frame(found: Mapping[str, Mapping[str, Array]], ends: Sequence[str], index: pd.Index) -> pd.DataFrame:
    parts: dict[tuple[str, str], Array] = {}
    for name, bounds in found.items():
        parts |= {(name, kind): values for kind, values in bounds.items()}
        if name in ends:
            parts[name, "terminal"] = np.ones(len(index), dtype=bool)
    return pd.DataFrame(parts, index=index)


def _check_included(name: str, included: Any, names: Sequence[str], ends: Sequence[str]) -> None:
    if included not in names:
        raise ValueError(
            f"endpoint {name!r} includes {included!r}, which is no endpoint{did_you_mean(str(included), names)}; "
            f"there are {', '.join(map(repr, names))}"
        )
    if included not in ends:
        raise ValueError(f"endpoint {name!r} includes {included!r}, which must be terminal for that: write terminal={included!r}")


def _bounds_by_name(frame: pd.DataFrame, name: str, form: Mapping[str, Any], whole: bool) -> dict[str, dict[str, Array]]:
    """Bounds of an endpoint, or of every cause, and entry if there is one; by name."""
    columns_of(frame, [form[part] for part in ("time", "event", "cause", "lower", "upper", "entry") if part in form])
    if "causes" in form:
        pairs = bounds_by_cause(frame, form, whole)
    else:
        pairs = {name: _from_time_and_event(frame, form, whole) if "time" in form else _from_bounds(frame, form)}
    out: dict[str, dict[str, Array]] = {own: {"lower": lower, "upper": upper} for own, (lower, upper) in pairs.items()}
    if "entry" in form:
        entry = from_the_start(times_of(frame, form["entry"]))
        refuse_row(np.isinf(entry), entry, form["entry"], "must hold finite times")
        for bounds in out.values():
            lower = bounds["lower"]
            if "time" in form:
                refuse_row((lower > 0.0) & (lower < entry), lower, form["time"], "must not hold times before entry")
            bounds["entry"] = entry
    return out


def _form(name: str, definition: Any) -> dict[str, Any]:
    """Bring a definition to a mapping of known keys."""
    if isinstance(definition, tuple | list) and len(definition) == 2:
        return {"time": definition[0], "event": definition[1]}
    if isinstance(definition, Mapping):
        keys = set(definition)
        for needed, allowed in (
            ({"time", "event"}, {"event_value", "entry", "including"}),
            ({"time", "cause", "causes"}, {"entry", "censored"}),
            ({"lower", "upper"}, {"entry"}),
        ):
            if needed <= keys <= needed | allowed:
                _check_causes(name, definition)
                return dict(definition)
    raise ValueError(f"endpoint {name!r} must be {_FORMS}; found {definition!r}")


def _check_causes(name: str, definition: Mapping[str, Any]) -> None:
    causes = definition.get("causes", {"": None})
    if not isinstance(causes, Mapping) or not causes:
        raise ValueError(
            f'endpoint {name!r}: causes must map names to what the column holds: {{"relapse": 1, "death": 2}}; found {causes!r}'
        )


def _from_time_and_event(frame: pd.DataFrame, form: Mapping[str, Any], whole: bool) -> tuple[Array, Array]:
    time = finite_times(frame, form["time"])
    (recorded,) = columns_of(frame, [form["event"]])
    event = _events(recorded, form.get("event_value"), ~np.isnan(time), whole)
    lower = from_the_start(time)
    return lower, np.where(event & ~np.isnan(time), lower, np.inf)


def _events(series: pd.Series, event_value: Any, known: Any, whole: bool) -> Any:
    """Which rows saw the event; ``known`` tells which have a time, ``whole`` whether these are all rows."""
    places, distinct = distinct_values(series)
    shown = ", ".join(map(as_typed, distinct[:5]))
    row = row_of((places < 0) & known)
    if row is not None:
        raise TableError(
            f"column {series.name!r} must say for every time whether the event was seen; row {row} is missing", column=series.name, row=row
        )
    if event_value is None:
        strange = np.array([*(value not in (0, 1) for value in distinct), False], dtype=bool)
        row = row_of(strange[places])
        if row is not None:
            raise TableError(
                f"column {series.name!r} must hold 0/1 or booleans; found {as_typed(distinct[places[row]])} in row {row}. "
                f'State which of {shown} means an event: {{"time": ..., "event": {series.name!r}, "event_value": ...}}',
                column=series.name,
                row=row,
            )
        return np.array([*(value == 1 for value in distinct), False], dtype=bool)[places]
    refuse_variants(series, places, distinct, event_value)
    is_event = np.array([*(value == event_value for value in distinct), False], dtype=bool)
    if whole and not is_event.any() and len(set(places[known])) > 1:
        raise TableError(f"column {series.name!r} never holds the event value {event_value!r}; found {shown}", column=series.name)
    return is_event[places]


def refuse_variants(series: pd.Series, places: Any, distinct: Any, event_value: Any) -> None:
    """Refuse "Dead" or "dead " where "dead" means an event: it would pass for a censored time."""
    variant = [value != event_value and str(value).strip().casefold() == str(event_value).strip().casefold() for value in distinct]
    if any(variant) and isinstance(event_value, str) and event_value in distinct:
        wrong = variant.index(True)
        row = int(np.flatnonzero(places == wrong)[0])
        raise TableError(
            f"column {series.name!r} holds {as_typed(distinct[wrong])} in row {row}, and {event_value!r} elsewhere; use one spelling",
            column=series.name,
            row=row,
        )


def _from_bounds(frame: pd.DataFrame, form: Mapping[str, Any]) -> tuple[Array, Array]:
    lower, upper = from_the_start(times_of(frame, form["lower"])), times_of(frame, form["upper"])
    return lower, np.where(np.isnan(upper), np.inf, upper)


@dataclass(frozen=True)
class Endpoints:
    """Bounds of every endpoint as arrays of shape (n_rows, n_endpoints).

    ``entry`` is zero where there is none, and never beyond ``lower``: a subject that came under observation had had no event until then.
    ``terminal`` names the endpoints that end everything, if that was said.
    """

    names: tuple[str, ...]
    lower: Array
    upper: Array
    entry: Array
    terminal: tuple[str, ...] = ()

    @property
    def event(self) -> Any:
        """Where the event was seen exactly."""
        return self.lower == self.upper

    @property
    def unknown(self) -> Any:
        """Where nothing is known."""
        return (self.lower == 0.0) & np.isinf(self.upper)

    @classmethod
    def nothing(cls, names: tuple[str, ...], n_rows: int) -> Endpoints:
        """Rows of which nothing is known."""
        shape = (n_rows, len(names))
        return cls(names, np.zeros(shape), np.full(shape, np.inf), np.zeros(shape))

    def reordered(self, names: tuple[str, ...]) -> Endpoints:
        """The same in another order of endpoints, among which there may be more, of which nothing is known."""
        if names == self.names:
            return self
        out = replace(Endpoints.nothing(names, len(self.lower)), terminal=tuple(name for name in names if name in self.terminal))
        for e, name in enumerate(names):
            if name in self.names:
                place = self.names.index(name)
                out.lower[:, e], out.upper[:, e], out.entry[:, e] = self.lower[:, place], self.upper[:, place], self.entry[:, place]
        return out

    def repeated(self, n: int) -> Endpoints:
        """Every row n times, one after the other."""
        return self.part(np.repeat(np.arange(len(self.lower)), n))

    def part(self, rows: Any) -> Endpoints:
        """Some of the rows, by number or mask."""
        return replace(self, lower=self.lower[rows], upper=self.upper[rows], entry=self.entry[rows])

    def to_frame(self, index: pd.Index | None = None) -> pd.DataFrame:
        """A table of endpoints, as :func:`endpoints` makes it; with entry times where there are any."""
        parts = {}
        for e, name in enumerate(self.names):
            parts[name, "lower"], parts[name, "upper"] = self.lower[:, e], self.upper[:, e]
            if (self.entry[:, e] > 0.0).any():
                parts[name, "entry"] = self.entry[:, e]
            if name in self.terminal:
                parts[name, "terminal"] = np.ones(len(self.lower), dtype=bool)
        return pd.DataFrame(parts, index=index)


def parse_endpoints(y: Any) -> Endpoints:
    """Read a table of endpoints, or a scikit-survival structured array for one endpoint, and check it."""
    if isinstance(y, np.ndarray) and y.dtype.names is not None:
        return _check(_from_structured(y))
    if y is None:
        raise ValueError("y must be what harmonium.endpoints returns; fit requires y to be passed, but the target y is None (found None)")
    if not isinstance(y, pd.DataFrame) or y.columns.nlevels != 2:
        raise ValueError(
            "y must be what harmonium.endpoints returns, or a structured array (event, time) as scikit-survival has it; "
            f"found {type(y).__name__}"
        )
    names = tuple(dict.fromkeys(y.columns.get_level_values(0)))
    for name in names:
        kinds = [kind for own, kind in y.columns if own == name]
        if not {"lower", "upper"} <= set(kinds) <= _KINDS or len(set(kinds)) != len(kinds):
            raise ValueError(f"endpoint {name!r} must have the columns lower, upper and possibly entry and terminal; found {kinds}")
    nothing = np.zeros(len(y))
    # by place: threads that share an index with two levels must not look names up in it at the same time
    column = {key: numbers_of(y.iloc[:, place], "times") for place, key in enumerate(y.columns)}

    def stack(kind: str) -> Array:
        return np.column_stack([column.get((name, kind), nothing) for name in names])

    terminal = tuple(str(name) for name in names if (name, "terminal") in column and _is_terminal(name, column[name, "terminal"]))
    return _check(Endpoints(tuple(map(str, names)), stack("lower"), stack("upper"), stack("entry"), terminal))


def _is_terminal(name: Any, marks: Array) -> bool:
    """Whether the column that says so does: it must say the same in all rows."""
    if marks.size and not (marks == marks[0]).all():
        row = int(np.argmax(marks != marks[0]))
        raise TableError(
            f"endpoint {name!r}, row {row}: an endpoint must be terminal in all rows or in none; define both tables alike "
            "before joining them",
            column=name,
            row=row,
        )
    return bool(marks.size == 0 or marks[0] == 1.0)


def _from_structured(y: Any) -> Endpoints:
    names = y.dtype.names
    if len(names) != 2 or y.dtype[0] != np.bool_ or y.ndim != 1:
        raise ValueError(f"a structured array must have two fields, event (boolean) and time; found {y.dtype}")
    time = np.asarray(y[names[1]], dtype=np.float64)
    upper = np.where(y[names[0]], time, np.inf)
    return Endpoints((names[1],), time[:, None], upper[:, None], np.zeros((time.size, 1)))


def _check(parsed: Endpoints) -> Endpoints:
    lower, upper, entry = parsed.lower, parsed.upper, parsed.entry
    problems: list[Problem] = []
    for wrong, rule in (
        (np.isnan(lower) | np.isnan(upper) | np.isnan(entry), "bounds must not be missing (nothing known is 0 to inf)"),
        (lower < 0.0, "times must not be negative"),
        (np.isinf(lower) | np.isinf(entry), "a lower bound must be finite"),
        ((lower > LATEST) | (np.isfinite(upper) & (upper > LATEST)), f"times must not exceed {LATEST:g}"),
        (lower > upper, "the lower bound must not exceed the upper one"),
        (entry < 0.0, "entry must not be negative"),
        ((entry > 0.0) & (upper <= entry), "the event must lie beyond the entry time"),
    ):
        where = first_offender(wrong)
        if where and not any(problem.row == where[0] for problem in problems):
            row, e = where
            found = f"lower {lower[where]:g}, upper {upper[where]:g}, entry {entry[where]:g}"
            problems.append(Problem(f"endpoint {parsed.names[e]!r}, row {row}: {rule}; found {found}", parsed.names[e], row))
    if not problems:
        problems = order_problems(parsed.names, lower, upper, entry, parsed.terminal)
    if problems:
        raise TableError(problems)
    return replace(parsed, lower=np.maximum(lower, entry))
