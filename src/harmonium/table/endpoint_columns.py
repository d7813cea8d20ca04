"""Endpoints as they are written on the command line: ``os=os_mth,os_event``."""

from __future__ import annotations

import csv
from collections.abc import Collection, Iterable, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from harmonium.errors import collecting_problems
from harmonium.table.bounds import Silence, refuse_variants
from harmonium.table.encoding import Encoding
from harmonium.table.endpoints import endpoints_of_part, related
from harmonium.table.frames import as_typed, did_you_mean, distinct_values
from harmonium.table.second_look import looking_again
from harmonium.table.status_words import probable_event, refuse_unknown, warn_if_inverted, warn_of_others
from harmonium.table.time_units import check_unit

__all__ = ["EndpointReader", "require_endpoints"]

_FORMS = (
    "NAME=TIME,EVENT or NAME=TIME,EVENT:VALUE, each possibly with ,including=NAME and ,until=COLUMN, or NAME=LOWER..UPPER, or "
    "NAME=TIME,CAUSE,causes=NAME:VALUE/NAME:VALUE; all of them possibly with ,entry=COLUMN and ,unit=UNIT, and with ,from=COLUMN where "
    "columns hold dates"
)
_EXTRAS = ("entry", "from", "until", "unit", "dayfirst", "including", "causes")
_YES_OR_NO = {"yes": True, "no": False}


@dataclass(frozen=True)
class _Definition:
    name: str
    columns: dict[str, str]
    """By their part: time and event or cause, or lower and upper, and possibly entry, from and until."""
    event_value: str | None = None
    including: str | None = None
    causes: tuple[tuple[str, str], ...] = ()
    settings: tuple[tuple[str, Any], ...] = ()
    """Unit and dayfirst, as far as they are stated."""

    @property
    def form(self) -> dict[str, Any]:
        """As :func:`harmonium.endpoints` takes it; where there is a date to count from, the time is called ``to``."""
        dated = "from" in self.columns
        return {("to" if dated and part == "time" else part): name for part, name in self.columns.items()} | dict(self.settings)

    def written(self, event_value: Any) -> str:
        """What to write if a value means an event."""
        said = [f"{part}={self.columns[part]}" for part in ("from", "entry", "until") if part in self.columns]
        said += [f"{key}={value}" for key, value in self.settings if key == "unit"]
        value = "VALUE" if event_value is None else event_value
        return ",".join([f"{self.name}={self.columns['time']}", f"{self.columns['event']}:{value}", *said])

    @property
    def names(self) -> list[str]:
        """Of the endpoints that it defines."""
        return [name for name, _ in self.causes] or [self.name]


class EndpointReader:
    """Collects endpoints from the columns of a table, which may come in parts.

    Parameters
    ----------
    texts : iterable of str
        What the user wrote for each endpoint.
    columns : collection of str
        Of the table: names may hold a colon or two dots.
    terminal : sequence of str or Encoding, optional
        Endpoints that end everything, or a model that knows; if it is None, a table that looks as if one did gives a warning.
    unit : str, optional
        Of time; by default that of the model, or of the first endpoint that states one.

    Examples
    --------
    >>> import pandas as pd
    >>> df = pd.DataFrame({"months": [3.0, 5.0], "status": ["dead", "alive"]})
    >>> reader = EndpointReader(["os=months,status:dead"], df.columns)
    >>> reader.read(df)
         os
      lower upper
    0   3.0   3.0
    1   5.0   inf
    """

    def __init__(
        self, texts: Iterable[str], columns: Collection[str], terminal: Sequence[str] | Encoding | None = (), unit: str | None = None
    ) -> None:
        self._definitions: list[_Definition] = []
        with collecting_problems() as problems:
            for text in texts:
                with problems.catching():
                    self._definitions.append(_parse(text, columns))
        self._unit = terminal.unit if isinstance(terminal, Encoding) else None if unit is None else check_unit(unit)
        self._terminal = _ends_of(terminal, self.names) if isinstance(terminal, Encoding) else terminal
        twice = [name for number, name in enumerate(self.names) if name in self.names[:number]]
        if twice:
            raise ValueError(f"endpoint {twice[0]!r} is defined more than once")
        self._seen: dict[str, set[Any]] = {definition.name: set() for definition in self._definitions}
        self._silence: dict[str, Silence] = {}

    @property
    def names(self) -> list[str]:
        """Of the endpoints."""
        return [name for definition in self._definitions for name in definition.names]

    @property
    def columns(self) -> list[str]:
        """All that the endpoints need."""
        return list(dict.fromkeys(column for definition in self._definitions for column in definition.columns.values()))

    def columns_of(self, endpoint: str) -> list[str]:
        """Columns that an endpoint needs."""
        return list(next(definition for definition in self._definitions if endpoint in definition.names).columns.values())

    @property
    def codes(self) -> list[str]:
        """Columns to be read as codes, where a file has labels for these: all but those of which the user has named a value."""
        labelled = {own.columns["event"] for own in self._definitions if own.event_value is not None}
        labelled |= {own.columns["cause"] for own in self._definitions if not all(_is_number(text) for _, text in own.causes)}
        return [column for column in self.columns if column not in labelled]

    def complete(self, columns: Collection[str]) -> EndpointReader:
        """The same, for those endpoints whose columns are all there."""
        out = EndpointReader([], columns)
        there = [own for own in self._definitions if set(own.columns.values()) <= set(columns)]
        names = {name for own in there for name in own.names}
        out._definitions = [own for own in there if own.including is None or own.including in names or own.including not in self.names]
        out._unit, out._seen, out._silence = self._unit, self._seen, self._silence
        out._terminal = None if self._terminal is None else [name for name in self._terminal if name in out.names or name not in self.names]
        return out

    def read(self, frame: pd.DataFrame) -> pd.DataFrame:
        """What :func:`harmonium.endpoints` makes of the columns; all problems are found before any is reported."""
        other = copy(self)  # what it sees in a second look has been seen before
        other._seen, other._silence = {name: set() for name in self._seen}, {}
        return looking_again(self._all, frame, other._all)

    def _all(self, frame: pd.DataFrame) -> pd.DataFrame:
        parts = []
        with collecting_problems() as problems:
            for definition in self._definitions:
                with problems.catching():
                    parts.append(self._read(frame, definition))
        composites = {own.name: own.including for own in self._definitions if own.including is not None}
        return related(pd.concat(parts, axis=1), self._terminal, composites, self._unit, whole=self._terminal is None)

    def check(self, *, to_fit: bool = False) -> None:
        """After all parts: refuse a value that is said to mean an event but never occurs; and, of a table to fit, a cause that does not."""
        for definition in self._definitions:
            found = self._seen[definition.name]
            if definition.causes and to_fit:
                _refuse_absent(list(found), definition)
            if definition.causes:
                _refuse_others(list(found), definition)
            if definition.event_value is not None and len(found) > 1 and not any(_equals(v, definition.event_value) for v in found):
                shown = ", ".join(sorted(map(as_typed, found))[:5])
                column = definition.columns["event"]
                raise ValueError(f"column {column!r} never holds {definition.event_value!r}, which means an event; found {shown}")
            if definition.event_value is not None:
                others = [value for value in found if not _equals(value, definition.event_value)]
                warn_of_others(definition.columns["event"], sorted(others, key=str), definition.event_value)
            if definition.name in self._silence:
                parts = definition.columns
                self._silence[definition.name].say(parts["time"], parts["event"], parts.get("until"), to_fit=to_fit)

    def _read(self, frame: pd.DataFrame, definition: _Definition) -> pd.DataFrame:
        own = frame[list(dict.fromkeys(definition.columns.values()))].copy()
        if definition.causes:
            column = definition.columns["cause"]
            self._seen[definition.name].update(distinct_values(own[column])[1][:100])
            own[column] = _codes(own[column], definition)
            codes = {name: number for number, (name, _) in enumerate(definition.causes, start=1)}
            return endpoints_of_part(own, {definition.name: {**definition.form, "causes": codes, "censored": 0}}, unit=self._of(definition))
        with collecting_problems() as problems:
            if "event" in definition.columns:
                event = definition.columns["event"]
                with problems.catching():
                    own[event] = self._events(own[event], definition)
                if problems:  # what else is wrong is found in the same run
                    own[event] = np.where(own[event].isna(), np.nan, 0.0)
                else:
                    self._count(own, definition)
            with problems.catching():
                return self._bounds(own, definition)
        raise AssertionError  # problems have been raised

    def _bounds(self, own: pd.DataFrame, definition: _Definition) -> pd.DataFrame:
        """Of a definition whose events are 0 and 1."""
        stated = definition.event_value is not None
        form = {**definition.form, **({"event_value": 1.0} if stated else {})}
        out = endpoints_of_part(own, {definition.name: form}, unit=self._of(definition))
        if "event" in definition.columns and not stated:
            known = own[definition.columns["event"]].notna().to_numpy()
            lower, upper = (out[definition.name, bound].to_numpy() for bound in ("lower", "upper"))
            warn_if_inverted(definition.columns["event"], np.where(known & (lower > 0.0), lower, np.nan), lower == upper)
        return out

    def _count(self, own: pd.DataFrame, definition: _Definition) -> None:
        """Rows without an event of which nothing says until when."""
        event = own[definition.columns["event"]].to_numpy()
        timed = own[definition.columns["time"]].notna().to_numpy()
        if "until" in definition.columns:
            timed |= own[definition.columns["until"]].notna().to_numpy() & (event == 0.0)
        found = Silence.of(timed, event == 1.0, event == 0.0)
        self._silence[definition.name] = self._silence.get(definition.name, Silence()).followed_by(found)

    def _of(self, definition: _Definition) -> str | None:
        """The unit of an endpoint that states none."""
        return None if "unit" in dict(definition.settings) else self._unit

    def _events(self, series: pd.Series, definition: _Definition) -> pd.Series:
        """1 for an event, 0 for none, NaN where nothing is written."""
        places, distinct = distinct_values(series)
        if definition.event_value is None:
            meaning = [_zero_or_one(value) for value in distinct]
        else:
            with collecting_problems() as problems:
                for refuse in (refuse_variants, refuse_unknown):
                    with problems.catching():
                        refuse(series, places, distinct, definition.event_value)
            meaning = [float(_equals(value, definition.event_value)) for value in distinct]
            self._seen[definition.name].update(list(distinct[:100]))
        if None in meaning:
            strange = meaning.index(None)
            column, row = definition.columns["event"], int(np.flatnonzero(places == strange)[0])
            guess = probable_event(list(distinct))
            means = "a value means" if guess is None else f"{as_typed(guess)} means"
            raise ValueError(
                f"column {column!r} must hold 0 and 1; found {as_typed(distinct[strange])} in row {row}. If {means} an event, "
                f"say so: {definition.written(guess)}"
            )
        return pd.Series(np.array([*meaning, np.nan], dtype=np.float64)[places], index=series.index)


def _ends_of(encoding: Encoding, names: Collection[str]) -> tuple[str, ...]:
    """Terminal endpoints of a model, those of them that a table has."""
    return () if encoding.ordered is None else tuple(name for name in encoding.ordered.graph.terminal if name in names)


def _codes(series: pd.Series, definition: _Definition) -> pd.Series:
    """The number of the cause from 1 on, 0 for censored, NaN where nothing is written."""
    places, distinct = distinct_values(series)
    meaning = [_number_of(value, definition) for value in distinct]
    return pd.Series(np.array([*meaning, np.nan], dtype=np.float64)[places], index=series.index)


def _number_of(value: Any, definition: _Definition) -> int:
    """Of the cause that a value stands for, from 1 on; 0 for none."""
    return next((number for number, (_, text) in enumerate(definition.causes, start=1) if _equals(value, text)), 0)


def _refuse_absent(values: list[Any], definition: _Definition) -> None:
    """Causes that do not occur."""
    for name, text in definition.causes:
        if not any(_equals(value, text) for value in values):
            shown = ", ".join(sorted(map(as_typed, values))[:6])
            raise ValueError(f"column {definition.columns['cause']!r} never holds {text!r}, the code of cause {name!r}; it holds {shown}")


def _refuse_others(values: list[Any], definition: _Definition) -> None:
    """Several values that stand for no cause."""
    others = [value for value in values if _number_of(value, definition) == 0]
    if len(others) > 1:
        shown = ", ".join(sorted(map(as_typed, others))[:4])
        raise ValueError(
            f"column {definition.columns['cause']!r} holds {shown}, which are no causes, and only one of them can mean censored; name all "
            "causes"
        )


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def require_endpoints(names: Iterable[str], known: Sequence[str]) -> None:
    """Refuse names that the model does not have."""
    for name in names:
        if name not in known:
            raise ValueError(f"there is no endpoint {name!r}{did_you_mean(name, known)}; the model has {', '.join(map(repr, known))}")


def _parse(text: str, columns: Collection[str]) -> _Definition:
    name, _, definition = text.partition("=")
    fields = next(csv.reader([definition], skipinitialspace=True), [])
    more = [field.partition("=") for field in fields if "=" in field and field.partition("=")[0] in _EXTRAS and field not in columns]
    said = {key: value for key, _, value in more}
    rest = [field for field in fields if field in columns or "=" not in field or field.partition("=")[0] not in said]
    if name.strip() and all(fields) and all(said.values()) and len(said) == len(more):
        extra: dict[str, str] = {part: said[part] for part in ("entry", "from", "until") if part in said}
        settings = _settings(text, said)
        if len(rest) == 2 and "causes" in said and "including" not in said:
            pairs = [part.rpartition(":") for part in said["causes"].split("/")]
            if all(cause and code for cause, _, code in pairs):
                causes = tuple((cause, code) for cause, _, code in pairs)
                return _Definition(name.strip(), {"time": rest[0], "cause": rest[1], **extra}, causes=causes, settings=settings)
        elif len(rest) == 2 and "causes" not in said:
            event, value = _event_and_value(rest[1], columns)
            return _Definition(name.strip(), {"time": rest[0], "event": event, **extra}, value, said.get("including"), settings=settings)
        if len(rest) == 1 and "until" in said and "causes" not in said:
            return _Definition(name.strip(), {"time": rest[0], **extra}, including=said.get("including"), settings=settings)
        if len(rest) == 1 and ".." in rest[0] and not said.keys() & {"including", "causes"}:
            lower, _, upper = rest[0].partition("..")
            if lower and upper:
                return _Definition(name.strip(), {"lower": lower, "upper": upper, **extra}, settings=settings)
    raise ValueError(f"an endpoint must be written {_FORMS}; found {text!r}")


def _settings(text: str, said: dict[str, str]) -> tuple[tuple[str, Any], ...]:
    """Unit and dayfirst."""
    out: dict[str, Any] = {"unit": check_unit(said["unit"])} if "unit" in said else {}
    if "dayfirst" in said:
        if said["dayfirst"] not in _YES_OR_NO or "from" not in said:
            raise ValueError(f"dayfirst must be yes or no, beside from=COLUMN; found {text!r}")
        out["dayfirst"] = _YES_OR_NO[said["dayfirst"]]
    return tuple(out.items())


def _event_and_value(text: str, columns: Collection[str]) -> tuple[str, str | None]:
    event, colon, value = text.rpartition(":")
    return (text, None) if not colon or text in columns else (event, value)


def _equals(value: Any, text: str) -> bool:
    """Whether a value in a table is what the user typed: 1, 1.0 and "1" are the same."""
    if str(value) == text:
        return True
    if isinstance(value, bool | np.bool_):
        return str(value).lower() == text.lower()
    try:
        return float(value) == float(text)
    except (TypeError, ValueError):
        return False


def _zero_or_one(value: Any) -> float | None:
    try:
        number = float(value)
    except (TypeError, ValueError):
        return None
    return number if number in (0.0, 1.0) else None
