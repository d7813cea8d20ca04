r"""What an event that happened does to the hazard of a terminal one: dependence in terms that are identified.

Kendall's tau of recurrence and death would need recurrences after death. What the data do tell is how those fare who had the event at some
time, and those who lived on without it. The ratio of their hazards afterwards is the cross ratio (Clayton 1978; Oakes 1989), here of
cumulative hazards over a window:

.. math:: \theta(t) = \frac{\ln P(D > t + w \mid E = t, D > t)}{\ln P(D > t + w \mid E > t, D > t)},

with both probabilities averaged over subjects. One: the event tells nothing. That survival after the event depends on its time shows down
the table.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
import pandas as pd

from harmonium.model.answering import Answering
from harmonium.model.confidence import NO_EVENT, POSITIVE, check_level
from harmonium.model.dependence_interval import with_spread
from harmonium.table.encoding import Encoding
from harmonium.table.endpoints import Endpoints
from harmonium.typing import Array

__all__ = ["cross_ratio"]

_LEVELS = (0.25, 0.5, 0.75)  # quantiles of event times at which is asked if no times are given
_MOST_ROWS = 200  # for intervals
_COLUMNS = ("survival_after", "survival_without", "cross_ratio")


@dataclass(frozen=True)
class _Question:
    """An event, a terminal endpoint, both by number, times of the event and how long after it is asked."""

    event: int
    endpoint: int
    times: Array
    within: float

    def known(self, encoding: Encoding, n_rows: int, time: float, *, happened: bool) -> Endpoints:
        """Subjects who are alive at a time, without any other event, and with the one asked about then or not."""
        out = Endpoints.nothing(encoding.endpoint_names, n_rows)
        out.lower[:] = time
        if happened:
            out.upper[:, self.event] = time
        return out

    def answer(self, fitted: Answering, covariates: Array, *, warns: bool = False) -> pd.DataFrame:
        """A row for each time."""
        alive = np.empty((self.times.size, 2))
        for i, time in enumerate(self.times):
            for k, happened in enumerate((True, False)):
                prognosis = fitted.ask(covariates, self.known(fitted.encoding, len(covariates), float(time), happened=happened))
                prognosis.warns = warns
                alive[i, k] = prognosis.survival(fitted.encoding.endpoint_names[self.endpoint], [time + self.within]).mean()
        ratio = np.log(alive[:, 0]) / np.log(alive[:, 1])
        return pd.DataFrame(np.column_stack([alive, ratio]), columns=list(_COLUMNS), index=pd.Index(self.times, name="time"))


def cross_ratio(
    fitted: Answering, covariates: Array, event: str | None, endpoint: str | None, times: Any, within: Any, interval: float | None
) -> pd.DataFrame:
    """See :meth:`harmonium.SurvivalHarmonium.cross_ratio`; of encoded covariates."""
    question = _asked(fitted, event, endpoint, times, within)
    out = question.answer(fitted, covariates, warns=True)
    if interval is None:
        return out
    some = covariates[np.unique(np.linspace(0, len(covariates) - 1, _MOST_ROWS).astype(int))]
    return with_spread(out, fitted, lambda model: question.answer(model, some), (NO_EVENT, NO_EVENT, POSITIVE), check_level(interval))


def _asked(fitted: Answering, event: str | None, endpoint: str | None, times: Any, within: Any) -> _Question:
    encoding = fitted.encoding
    if encoding.ordered is None or fitted.transitions is None:
        raise ValueError('a cross ratio needs a terminal endpoint (terminal="death"); ask for dependence, Kendall\'s tau')
    graph = encoding.ordered.graph
    if not graph.intermediate:
        raise ValueError(f"no event comes before {' or '.join(map(repr, graph.terminal))}: there is nothing to compare")
    first = _named("event", event, graph.intermediate)
    second = _named("endpoint", endpoint, graph.terminal)
    a, b = (encoding.endpoint_names.index(name) for name in (first, second))
    if within is None:
        state = graph.after(0, a)
        scale = fitted.transitions.of(b, state).scale(state)
        within = float(scale.from_unit(np.array(0.5 * scale.reach)))
    if isinstance(within, bool) or not (isinstance(within, Real) and 0.0 < float(within) < np.inf):
        raise ValueError(f"within must be a positive time after the event; found {within!r}")
    return _Question(a, b, _times(encoding, a, b, times, float(within)), float(within))


def _named(what: str, name: str | None, choice: Sequence[str]) -> str:
    if name is None and len(choice) == 1:
        return choice[0]
    if name is None or name not in choice:
        raise ValueError(f"{what} must be one of {', '.join(map(repr, choice))}; found {name!r}")
    return name


def _times(encoding: Encoding, event: int, endpoint: int, times: Any, within: float) -> Array:
    """Times of the event: those given, or quartiles of its times in training, as far as follow-up reaches beyond."""
    seen = encoding.endpoints[event].event_times
    if times is None:
        found = np.quantile(seen[seen > 0.0], _LEVELS)
        return np.unique(found[found + within <= encoding.endpoints[endpoint].scale.end])
    at = np.atleast_1d(np.asarray(times, dtype=np.float64))
    if at.ndim != 1 or not at.size or not (at > 0.0).all():
        raise ValueError(f"times must be positive times of the event; found {times!r}")
    return at
