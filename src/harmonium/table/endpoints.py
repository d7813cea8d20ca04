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
(:mod:`harmonium.table.relations`), and (name, "unit") holds the unit of time in all rows, if that was said. These are columns, and not
properties of the table, so that splitting and joining tables keep them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from harmonium.errors import Problem, TableError, collecting_problems, first_offender
from harmonium.table.bounds import FORMS, LATEST, bounds_by_name, form_of
from harmonium.table.frames import also, did_you_mean, numbers_of, rows_of, to_pandas
from harmonium.table.relations import order_problems, take_apart, terminal_names, warn_if_terminal
from harmonium.table.second_look import looking_again
from harmonium.table.time_units import check_unit, conversion, in_one_unit
from harmonium.typing import Array

__all__ = ["Endpoints", "endpoints", "endpoints_of_part", "parse_endpoints", "related"]

_KINDS = {"lower", "upper", "entry", "terminal", "unit"}


def endpoints(table: Any, /, *, terminal: Any = None, unit: Any = None, **definitions: Any) -> pd.DataFrame:
    """Collect endpoints from the columns of a table.

    Parameters
    ----------
    table : DataFrame
        pandas or polars.
    terminal : str or tuple of str, optional
        Endpoints that end everything: ``terminal="death"``. The model then knows that nothing follows them. ``()`` says that there are
        none, and keeps back the warning that an endpoint looks terminal.
    unit : str, optional
        The unit of time of the whole table: ``unit="months"``. It is kept with the endpoints and printed on every axis. Endpoints that
        state another unit of their own are converted.
    **definitions : tuple or mapping
        An endpoint for each keyword, as one of

        * ``("time_column", "event_column")``;
        * ``{"time": ..., "event": ..., "event_value": "dead", "entry": ...}``: ``event_value`` is what the event column holds if the
          event was seen, any other value means censored; without it the column must hold 0/1 or booleans;
        * ``{"time": ..., "event": ..., "until": "last_seen"}``: there is a time only where there was an event; all others, of whom
          ``event`` says that there was none, were free of it until the time in ``until``. Without ``event``, a time means an event;
        * ``{"lower": ..., "upper": ..., "entry": ...}``: the event lies between two columns; a missing upper bound means that
          there is none;
        * ``{"time": ..., "cause": ..., "causes": {"relapse": 1, "death": 2}}``: competing risks. Each cause becomes an endpoint of its
          own name, and is terminal; the only other value of the column means censored, or ``"censored"`` says which does;
        * ``{"from": "surgery", "to": "last_seen", "event": ..., "unit": "months"}``: two dates, as dates or as text in the usual forms.
          ``"from"`` may stand beside ``lower`` and ``upper``, ``cause``, ``entry`` and ``until`` as well, which then hold dates;
          ``"dayfirst": True`` says what 03/04/2019 means where no row shows it.

        ``"unit": "days"``, beside any of these, says in which unit the times of an endpoint are, or the durations between dates. All
        endpoints of a table get the same: ``unit``, or that of the first endpoint. A year has 365.25 days, a month is a twelfth of it.

        ``"including": "death"``, beside time and event, says that an endpoint is a composite, such as recurrence-free survival, of which
        a terminal event is a part. It is taken apart: an event of both at the same time is a death without recurrence.

        ``entry`` names a column with the time from which the subject was under observation (left truncation); a missing one means
        from the start.

    Returns
    -------
    pandas.DataFrame
        Columns (endpoint, "lower"), (endpoint, "upper") and, where given, (endpoint, "entry"), (endpoint, "terminal"), which is
        true throughout, and (endpoint, "unit"); scikit-learn can split it. Where time and status are missing, nothing is known of the
        endpoint. A time of 0 carries no information if censored; an event at 0 has happened before the first positive
        observed time of that endpoint.

    Examples
    --------
    >>> import pandas as pd
    >>> df = pd.DataFrame({"os_mth": [12.0, 30.5], "dead": [1, 0], "rfs_mth": [8.0, None], "relapse": ["yes", None]})
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

    From dates, in months; there is a date of recurrence only for those who had one, and a last visit for all:

    >>> df = pd.DataFrame({"surgery": ["2019-03-01"] * 2, "relapse": ["2019-09-01", None], "seen": ["2021-03-01"] * 2, "relapsed": [1, 0]})
    >>> relapse = {"from": "surgery", "to": "relapse", "event": "relapsed", "until": "seen", "unit": "months"}
    >>> endpoints(df, relapse=relapse).round(1)
      relapse
        lower upper    unit
    0     6.0   6.0  months
    1    24.0   inf  months
    """
    return looking_again(lambda frame: _collected(frame, definitions, terminal, unit, whole=True), to_pandas(table))


def endpoints_of_part(frame: pd.DataFrame, definitions: Mapping[str, Any], terminal: Any = (), unit: str | None = None) -> pd.DataFrame:
    """As :func:`endpoints`, for some rows of a table, among which there need not be an event."""
    return _collected(frame, definitions, terminal, unit, whole=False)


def _collected(frame: pd.DataFrame, definitions: Mapping[str, Any], terminal: Any, unit: str | None, *, whole: bool) -> pd.DataFrame:
    if not definitions:
        raise ValueError(f"no endpoint was defined; give each as a keyword: {FORMS}")
    common = None if unit is None else check_unit(unit)
    found: dict[str, dict[str, Array]] = {}
    units: dict[str, str] = {}
    defined: dict[str, str] = {}
    composites, ends = {}, []
    with collecting_problems() as problems:
        for name, definition in definitions.items():
            with problems.catching():
                form = form_of(name, definition, common)
                _refuse_second(name, form, defined)
                own = bounds_by_name(frame, name, form, whole)
                found |= own
                units |= dict.fromkeys(own, form["unit"]) if "unit" in form else {}
                ends += list(own) if "causes" in form else []
                if "including" in form:
                    composites[name] = form["including"]
    common = in_one_unit(found, units, common)
    return _related(found, terminal, ends, composites, common, frame.index, whole)


def _refuse_second(name: str, form: Mapping[str, Any], defined: dict[str, str]) -> None:
    """Refuse an endpoint that another definition has made already; ``defined`` says by which words, and is added to."""
    made = {str(cause): f"as a cause of {name!r}" for cause in form["causes"]} if "causes" in form else {name: "by its own name"}
    twice = [own for own in made if own in defined]
    if twice:
        first, second = defined[twice[0]], made[twice[0]]
        raise ValueError(f"endpoint {twice[0]!r} is defined more than once, {first} and {second}; give one of them another name")
    defined |= made


def _related(
    found: dict[str, dict[str, Array]],
    terminal: Any,
    ends: Sequence[str],
    composites: Mapping[str, Any],
    unit: str | None,
    index: pd.Index,
    whole: bool,
) -> pd.DataFrame:
    """The table of endpoints: composites taken apart, terminal endpoints marked, all of it checked."""
    ends = [*ends, *terminal_names(() if terminal is None else terminal, tuple(found))]
    with collecting_problems() as problems:
        for name, included in composites.items():
            with problems.catching():
                _check_included(name, included, tuple(found), ends)
                found[name] = take_apart(name, found[name], included, found[included])
    out = _as_frame(found, ends, unit, index)
    known = parse_endpoints(out)
    if terminal is None and not ends and whole:
        warn_if_terminal(known.names, known.lower, known.upper)
    return out


def related(y: pd.DataFrame, terminal: Any, composites: Mapping[str, str], unit: str | None = None, *, whole: bool) -> pd.DataFrame:
    """A table of endpoints that were collected one by one, with what they have to do with each other; see :func:`endpoints`."""
    found: dict[str, dict[str, Array]] = {}
    units: dict[str, str] = {}
    for place, (name, kind) in enumerate(y.columns):
        if kind == "unit":
            units[name] = str(y.iloc[0, place]) if len(y) else unit or ""
        else:
            found.setdefault(name, {})[kind] = y.iloc[:, place].to_numpy()
    ends = [name for name, parts in found.items() if parts.pop("terminal", None) is not None]
    common = in_one_unit(found, units, unit)
    return _related(found, terminal, ends, composites, common, y.index, whole)


def _as_frame(found: Mapping[str, Mapping[str, Array]], ends: Sequence[str], unit: str | None, index: pd.Index) -> pd.DataFrame:
    parts: dict[tuple[str, str], Array] = {}
    for name, bounds in found.items():
        parts |= {(name, kind): values for kind, values in bounds.items()}
        if name in ends:
            parts[name, "terminal"] = np.ones(len(index), dtype=bool)
        if unit is not None:
            parts[name, "unit"] = np.full(len(index), unit, dtype=object)
    return pd.DataFrame(parts, index=index)


def _check_included(name: str, included: Any, names: Sequence[str], ends: Sequence[str]) -> None:
    if included not in names:
        raise ValueError(
            f"endpoint {name!r} includes {included!r}, which is no endpoint{did_you_mean(str(included), names)}; "
            f"there are {', '.join(map(repr, names))}"
        )
    if included not in ends:
        raise ValueError(f"endpoint {name!r} includes {included!r}, which must be terminal for that: write terminal={included!r}")


@dataclass(frozen=True)
class Endpoints:
    """Bounds of every endpoint as arrays of shape (n_rows, n_endpoints).

    ``entry`` is zero where there is none, and never beyond ``lower``: a subject that came under observation had had no event until then.
    ``terminal`` names the endpoints that end everything, and ``unit`` is the unit of time, if that was said.
    """

    names: tuple[str, ...]
    lower: Array
    upper: Array
    entry: Array
    terminal: tuple[str, ...] = ()
    unit: str | None = None

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
        ends = tuple(name for name in names if name in self.terminal)
        out = replace(Endpoints.nothing(names, len(self.lower)), terminal=ends, unit=self.unit)
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

    def in_unit(self, unit: str | None) -> Endpoints:
        """The same times in another unit, if both are known."""
        if unit is None or self.unit is None or unit == self.unit:
            return self
        factor = conversion(self.unit, unit)
        return replace(self, lower=factor * self.lower, upper=factor * self.upper, entry=factor * self.entry, unit=unit)

    def to_frame(self, index: pd.Index | None = None) -> pd.DataFrame:
        """A table of endpoints, as :func:`endpoints` makes it; with entry times where there are any."""
        parts = {}
        for e, name in enumerate(self.names):
            parts[name, "lower"], parts[name, "upper"] = self.lower[:, e], self.upper[:, e]
            if (self.entry[:, e] > 0.0).any():
                parts[name, "entry"] = self.entry[:, e]
            if name in self.terminal:
                parts[name, "terminal"] = np.ones(len(self.lower), dtype=bool)
            if self.unit is not None:
                parts[name, "unit"] = np.full(len(self.lower), self.unit, dtype=object)
        return pd.DataFrame(parts, index=index)


def parse_endpoints(y: Any) -> Endpoints:
    """Read a table of endpoints, or a scikit-survival structured array for one endpoint, and check it; what was read before passes."""
    if isinstance(y, Endpoints):
        return y
    if isinstance(y, np.ndarray) and y.dtype.names is not None:
        return _check(_from_structured(y))
    if y is None:
        raise ValueError("y must be what harmonium.endpoints returns; fit requires y to be passed, but the target y is None (found None)")
    if not isinstance(y, pd.DataFrame) or y.columns.nlevels != 2:
        raise ValueError(
            f"y must be what harmonium.endpoints returns, or a structured array (event, time) as scikit-survival has it; found {_shown(y)}"
        )
    names = tuple(dict.fromkeys(y.columns.get_level_values(0)))
    for name in names:
        kinds = [kind for own, kind in y.columns if own == name]
        if not {"lower", "upper"} <= set(kinds) <= _KINDS or len(set(kinds)) != len(kinds):
            raise ValueError(f"endpoint {name!r} must have the columns lower, upper and possibly entry, terminal and unit; found {kinds}")
    nothing = np.zeros(len(y))
    # by place: threads that share an index with two levels must not look names up in it at the same time
    column = {key: numbers_of(y.iloc[:, place], "times") for place, key in enumerate(y.columns) if key[1] != "unit"}

    def stack(kind: str) -> Array:
        return np.column_stack([column.get((name, kind), nothing) for name in names])

    terminal = tuple(str(name) for name in names if (name, "terminal") in column and _is_terminal(name, column[name, "terminal"]))
    return _check(Endpoints(tuple(map(str, names)), stack("lower"), stack("upper"), stack("entry"), terminal, _unit_of(y)))


def _shown(y: Any) -> str:
    """What was found in the place of endpoints, and what to write."""
    kind = type(y).__name__
    if isinstance(y, pd.DataFrame):
        return f"a {kind} with the columns {', '.join(map(repr, y.columns[:3]))}, ...: covariates come first, fit(X, y)"
    return f'{kind}; write y = harmonium.endpoints(df, os=("time", "event")) with the names of two columns'


def _unit_of(y: pd.DataFrame) -> str | None:
    """The unit of time, which must be the same in all rows and for all endpoints."""
    found: dict[str, tuple[Any, int]] = {}
    for place, (name, kind) in enumerate(y.columns):
        if kind == "unit":
            for unit in y.iloc[:, place].unique():
                row = int((y.iloc[:, place] == unit).to_numpy().argmax())
                found.setdefault(str(unit), (name, row))
    if len(found) > 1:
        (first, (name, _)), (second, (other, row)) = list(found.items())[:2]
        raise TableError(
            f"endpoint {other!r}, row {row}: the unit of time is {second!r}, and {first!r} elsewhere ({name!r}); define all endpoints and "
            f"tables in one unit: unit={first!r}",
            column=other,
            row=row,
        )
    return next(iter(found), None)


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
            rows = rows_of(wrong[:, e])
            found = f"lower {lower[where]:g}, upper {upper[where]:g}, entry {entry[where]:g}"
            message = f"endpoint {parsed.names[e]!r}, row {row}: {rule}; found {found}{also(rows)}"
            problems.append(Problem(message, parsed.names[e], row, tuple(rows[1:])))
    if not problems:
        problems = order_problems(parsed.names, lower, upper, entry, parsed.terminal)
    if problems:
        raise TableError(problems)
    return replace(parsed, lower=np.maximum(lower, entry))
