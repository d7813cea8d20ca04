"""Wins, losses and ties of pairs of subjects, one of each group, by ordered endpoints: the observed, censored pairs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from harmonium.metrics.observed import place_of
from harmonium.table.endpoints import parse_endpoints
from harmonium.table.labels import check_index
from harmonium.typing import Array, Booleans

__all__ = ["count_wins", "win_table"]

_PAIRS_AT_ONCE = 1 << 24


def count_wins(y: Any, group: Any, *, order: Sequence[str], until: float = np.inf) -> pd.DataFrame:
    """Compare every subject of one group with every subject of the other, by the first endpoint that tells them apart.

    A pair is decided by an endpoint if one of the two had the event, before ``until``, while the other was observed without it for
    longer. Pairs that censoring leaves undecided go on to the next endpoint, and in the end count as ties: so the counts depend on how long
    subjects were observed, other than the win ratio of :meth:`harmonium.SurvivalHarmonium.win_ratio` (Pocock and others 2012).

    Parameters
    ----------
    y : DataFrame
        What :func:`harmonium.endpoints` returns.
    group : array_like of bool
        Who is in the second group, whose wins are counted.
    order : sequence of str
        Endpoints, the most important first.
    until : float
        Events after this time do not count.

    Returns
    -------
    DataFrame
        Shares of all pairs: wins, losses and ties of the second group by endpoint and in all, net benefit and win ratio.

    Examples
    --------
    >>> import harmonium as hm
    >>> table = pd.DataFrame({"t": [1.0, 2.0, 3.0, 4.0], "e": [True, True, True, False]})
    >>> y = hm.endpoints(table, death=("t", "e"))
    >>> count_wins(y, [False, True, False, True], order=["death"])["share"].round(2).to_dict()
    {'wins by death': 0.75, 'losses by death': 0.25, 'ties': 0.0, 'wins': 0.75, 'losses': 0.25, 'net benefit': 0.5, 'win ratio': 3.0}
    """
    check_index(y, group, "group", "y")
    known = parse_endpoints(y)
    second = _second_group(group, len(known.lower))
    places = [place_of(known.names, name) for name in order]
    totals = np.zeros((len(places), 2))
    theirs, ours = np.flatnonzero(~second), np.flatnonzero(second)
    step = max(1, _PAIRS_AT_ONCE // ours.size)
    for start in range(0, theirs.size, step):
        rows = theirs[start : start + step]
        open_pairs = np.ones((rows.size, ours.size), dtype=bool)
        for number, e in enumerate(places):
            time, event = known.lower[:, e], known.event[:, e] & (known.lower[:, e] <= until)
            win, loss = _decided(time, event, rows, ours), _decided(time, event, ours, rows).T
            totals[number] += np.sum(open_pairs & win), np.sum(open_pairs & loss)
            open_pairs &= ~(win | loss)
    return win_table(list(order), totals / (theirs.size * ours.size))


def _second_group(group: Any, n_rows: int) -> Booleans:
    """Who is in the second group, checked."""
    values = np.asarray(group)
    if values.shape != (n_rows,):
        raise ValueError(f"group must say of every row of y to which group it belongs; found the shape {values.shape}")
    missing = np.flatnonzero(pd.isna(values))
    if missing.size:
        raise ValueError(f"group must be known in every row; it is missing in row {missing[0]}")
    found = pd.unique(pd.Series(values, dtype=object))
    if not all(value in (0, 1) for value in found):
        shown = ", ".join(map(repr, found[:3]))
        raise ValueError(
            f"group must be true in one group and false in the other; found {shown}: compare with one of them, such as == {found[0]!r}"
        )
    second: Booleans = values.astype(np.float64) == 1.0
    if second.all() or not second.any():
        raise ValueError(f"both groups must have rows; group is {found[0]!r} in all of them")
    return second


def _decided(time: Array, event: Booleans, losers: Any, winners: Any) -> Booleans:
    """Whether losers (rows) had the event before winners (columns) had it or were lost from sight."""
    out: Booleans = event[losers][:, None] & (time[losers][:, None] < time[winners][None, :])
    return out


def win_table(names: list[str], shares: Array) -> pd.DataFrame:
    """Of shares of wins and losses by endpoint, (endpoints, 2)."""
    rows = {f"{kind} by {name}": shares[e, k] for e, name in enumerate(names) for k, kind in enumerate(("wins", "losses"))}
    wins, losses = shares.sum(axis=0)
    ratio = wins / losses if losses > 0.0 else np.inf
    rows |= {"ties": 1.0 - wins - losses, "wins": wins, "losses": losses, "net benefit": wins - losses, "win ratio": ratio}
    return pd.DataFrame({"share": rows})
