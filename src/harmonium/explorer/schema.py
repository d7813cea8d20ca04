"""What can be asked of a model: the fields of a patient, the endpoints, and how far the data went."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from harmonium.numerics.round_times import round_times
from harmonium.table.columns import Column
from harmonium.table.state_graph import StateGraph
from harmonium.typing import Array

__all__ = ["Schema", "number", "short"]

_LONGEST = 60  # characters of a name on the page
_N_TIMES = 121


@dataclass(frozen=True)
class Schema:
    """Fields of the form, in the order of the training table.

    Attributes
    ----------
    columns : tuple of Column
        Covariates that take part in the model.
    endpoints : tuple of str
    last : tuple of float
        The last observed time of each endpoint in training: beyond it, survival is a bound, and times are not known.
    unit : str
        Of time, such as "months"; empty if it is not known.
    graph : StateGraph, optional
        Which endpoints are terminal, if any is. What is drawn is then incidence, since survival of an event that another one prevents would
        mislead.
    """

    columns: tuple[Column, ...]
    endpoints: tuple[str, ...]
    last: tuple[float, ...]
    unit: str = ""
    graph: StateGraph | None = None

    @classmethod
    def of(cls, model: Any, unit: str = "") -> Schema:
        """That of a fitted model."""
        encoding = model.encoding
        columns = tuple(column for column in encoding.columns if column.role != "ignored")
        ends = (endpoint.follow_up.last for endpoint in encoding.endpoints)
        last = tuple(end if np.isfinite(end) else 1.0 for end in ends)
        graph = None if encoding.ordered is None else encoding.ordered.graph
        return cls(columns, encoding.endpoint_names, last, unit or encoding.unit or "", graph)

    @property
    def end(self) -> float:
        """Where the axis of time ends."""
        return max(self.last)

    @property
    def times(self) -> Array:
        """At which curves are drawn."""
        return np.linspace(0.0, self.end, _N_TIMES)

    @property
    def round_times(self) -> Array:
        """A few times with round numbers, for tables.

        Examples
        --------
        >>> Schema((), ("os",), (96.1,), "months").round_times
        array([20., 40., 60., 80.])
        """
        return np.array(round_times(self.end))

    @property
    def time_label(self) -> str:
        """Of the axis."""
        return f"time ({self.unit})" if self.unit else "time"

    def probability(self, event: str) -> str:
        """What curves show, in words.

        Examples
        --------
        >>> Schema((), ("os",), (90.0,)).probability("os event")
        'probability of no os event'
        """
        if self.graph is None:
            return f"probability of no {event}"
        return f"probability of {'an' if event[:1].lower() in tuple('aeiou') else 'a'} {event}"

    def time(self, value: float) -> str:
        """A time with its unit, as one would say it.

        Examples
        --------
        >>> Schema((), ("os",), (90.0,), "months").time(41.2345)
        '41.2 months'
        """
        return f"{number(value)} {self.unit}".rstrip()


def number(value: float) -> str:
    """Three digits, or all before the point.

    Examples
    --------
    >>> number(41.2345), number(12345.6), number(float("inf"))
    ('41.2', '12346', 'not reached')
    """
    if np.isposinf(value):
        return "not reached"
    return f"{value:.0f}" if abs(value) >= 1000.0 else f"{value:.3g}"


def short(name: Any, longest: int = _LONGEST) -> str:
    """A name on one line; of a very long one the middle is left out.

    Examples
    --------
    >>> short("days until the second recurrence of disease", 20)
    'days until th…isease'
    """
    text = " ".join(str(name).split()) or repr(str(name))
    if len(text) > longest:
        tail = longest // 3
        text = f"{text[: longest - tail - 1]}…{text[-tail:]}"
    return text
