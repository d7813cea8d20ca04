r"""Win ratio and net benefit of ordered endpoints under the model, at a stated horizon.

Two subjects, each with covariates drawn from the table, one with each value of the column. Who dies later until the horizon wins; if both
are alive then, who has the next event later. Subjects are independent, so curves averaged over the table say it all: with
:math:`S_a(t)` the probability of no first event until t, and :math:`G_a(t)` that of no second event until t and no first one until the
horizon,

.. math:: P(b\ \mathrm{wins}) = -\int S_b\, dS_a - \int G_b\, dG_a .

There is no censoring in it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from numbers import Real
from operator import add
from typing import Any

import numpy as np
import pandas as pd

from harmonium.metrics.wins import win_table
from harmonium.model.answering import Answering
from harmonium.model.confidence import POSITIVE, SHARE, Scale, between, check_level
from harmonium.model.effects import Sure, standardised
from harmonium.model.spread import Question
from harmonium.typing import Array

__all__ = ["check_order", "win_ratio"]

_N_TIMES = 48  # at which curves are compared

_WITHIN = between(-1.0, 1.0)


def check_order(fitted: Answering, order: Sequence[str] | None) -> list[str]:
    """Endpoints, the most important first; by default terminal ones come before others."""
    names, ordered = fitted.encoding.endpoint_names, fitted.encoding.ordered
    terminal = () if ordered is None else ordered.graph.terminal
    found = [order] if isinstance(order, str) else list(order or [*terminal, *(name for name in names if name not in terminal)])
    strangers = [name for name in found if name not in names]
    if strangers or not 1 <= len(set(found)) == len(found) <= 2:
        raise ValueError(f"order must name one or two of the endpoints {', '.join(map(repr, names))}; found {found}")
    if ordered is not None and len(found) == 2 and (found[0] not in terminal or found[1] in terminal):
        raise ValueError(f"a terminal endpoint comes first, and one that it may prevent after it; found {found}")
    return found


def win_ratio(
    fitted: Answering, X: Any, column: Any, values: Sequence[Any], order: list[str], until: Any, interval: float | None
) -> pd.DataFrame:
    """See :meth:`harmonium.SurvivalHarmonium.win_ratio`."""
    if isinstance(values, str) or len(values) != 2:
        raise ValueError(f"two values are compared, such as ('control', 'treated'); found {values!r}")
    if not (isinstance(until, Real) and 0.0 < float(until) < np.inf):
        raise ValueError(f"until must be a positive time, the horizon at which subjects are compared; found {until!r}")
    level = None if interval is None else check_level(interval)
    pairs = [
        standardised(fitted, X, {column: values}, question, level is not None)[column]
        for question in _questions(fitted, order, float(until))
    ]
    wins, losses = [_before(a, b) for a, b in pairs], [_before(b, a) for a, b in pairs]
    shares = np.array([[w.value, own.value] for w, own in zip(wins, losses, strict=True)])
    out = win_table(order, shares)["share"].rename("estimate").to_frame()
    if level is not None:
        out["lower"], out["upper"] = np.nan, np.nan
        for name, (own, scale) in _sure(order, wins, losses).items():
            found = own.columns(level, scale)
            out.loc[name, ["lower", "upper"]] = float(found["lower"]), float(found["upper"])
    return out


def _questions(fitted: Answering, order: list[str], until: float) -> list[Question]:
    """Curves of the first endpoint, and of the second while there is no event of the first."""
    times = np.linspace(0.0, until, _N_TIMES + 1)
    if fitted.encoding.ordered is not None:
        later: list[Question] = [lambda own: own.survival_without(order[1], times, until=until)]
        return [lambda own: 1.0 - own.cumulative_incidence(order[0], times), *later[: len(order) - 1]]
    later = [lambda own: own.joint_survival({order[0]: [until], order[1]: times})[:, 0, :]]
    return [lambda own: own.survival(order[0], times), *later[: len(order) - 1]]


def _before(first: Sure, second: Sure) -> Sure:
    """The probability that the first has its event before the second, of curves at the same times."""

    def product(falling: Array, other: Array) -> Array:
        drop = falling[..., :-1] - falling[..., 1:]
        return np.asarray(np.sum(drop * 0.5 * (other[..., :-1] + other[..., 1:]), axis=-1))

    deviations = product(first.deviations, second.value) + product(np.broadcast_to(first.value, second.deviations.shape), second.deviations)
    return Sure(product(first.value, second.value), deviations)


def _sure(order: list[str], wins: list[Sure], losses: list[Sure]) -> dict[str, tuple[Sure, Scale]]:
    """Everything that the table has, with deviations."""
    out: dict[str, tuple[Sure, Scale]] = {}
    for name, own, lost in zip(order, wins, losses, strict=True):
        out[f"wins by {name}"], out[f"losses by {name}"] = (own, SHARE), (lost, SHARE)
    won, lost = (reduce(add, parts) for parts in (wins, losses))
    out |= {"wins": (won, SHARE), "losses": (lost, SHARE), "net benefit": (won - lost, _WITHIN), "win ratio": (won.over(lost), POSITIVE)}
    decided = won + lost
    out["ties"] = (Sure(1.0 - decided.value, -decided.deviations), SHARE)
    return out
