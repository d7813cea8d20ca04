"""Effects that a person can read: contrasts between values of a column, in times and probabilities."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from harmonium.metrics.wins import count_wins
from harmonium.model.effects import column_named, contrast, effects, measure_of, partial_dependence
from harmonium.model.explanation import contributions
from harmonium.model.predicting import Predicting
from harmonium.model.usual_question import usual_measure, usual_time
from harmonium.model.win_ratio import check_order, win_ratio
from harmonium.table.endpoints import parse_endpoints
from harmonium.table.frames import columns_of, to_pandas

__all__ = ["Comparing"]

_N_VALUES = 9  # of a numeric column, along which an answer is followed


class Comparing(Predicting):
    """Questions about columns: standardised over the rows of a table, with intervals."""

    def contrast(
        self,
        X: Any,
        column: Any,
        values: Sequence[Any],
        *,
        endpoint: Any = None,
        measure: str = "survival",
        times: Any = None,
        until: float | None = None,
        interval: float | None = 0.95,
    ) -> pd.DataFrame:
        """Compare two values of a column, all else being as in a table: difference and ratio of standardised answers.

        Everybody in ``X`` is given the first value, then the second, and answers are averaged. That is a statement about the average of
        these rows: its interval says how well the model knows it, not how other rows would differ. What the column stands for besides
        itself is not taken away unless other columns say it; by itself, this is no effect of a cause.

        Parameters
        ----------
        X : DataFrame
            Covariates; values may be missing.
        column : str
        values : pair
            Two levels, or two numbers; the second is compared with the first.
        endpoint : str or tuple of str, optional
            By default the first.
        measure : "survival", "incidence", "restricted_mean" or "states"
        times : array_like
            At which survival, incidence or states are compared.
        until : float
            Of a restricted mean.
        interval : float or None
            Probability of the intervals. None for none: then the estimates are averages of predictions as they are.

        Returns
        -------
        DataFrame
            ``estimate``, ``lower`` and ``upper`` of both values, of their difference and of their ratio, at each time. The prior shrinks
            effects, which predicts better but is no estimate of a difference; so with intervals what it has taken from this column is
            added back, by one step of Newton's method.

        Examples
        --------
        >>> import harmonium as hm
        >>> X, y = hm.datasets.load_nvalt8()
        >>> model = hm.SurvivalHarmonium(n_hidden=2, trainer=hm.Exact(n_starts=1), random_state=0).fit(X, y)
        >>> found = model.contrast(X, "arm", ("CP/CG", "CP/CG+N"), endpoint="os", times=[24])
        >>> list(found.index.get_level_values("of"))
        ['arm = CP/CG', 'arm = CP/CG+N', 'difference', 'ratio']
        >>> bool((found["lower"] < found["estimate"]).all())
        True
        """
        fitted = self.fitted
        return contrast(fitted, X, column, values, measure_of(fitted, measure, endpoint, times, until), interval)

    def partial_dependence(
        self,
        X: Any,
        column: Any,
        *,
        values: Sequence[Any] | None = None,
        endpoint: Any = None,
        measure: str = "survival",
        times: Any = None,
        until: float | None = None,
        interval: float | None = 0.95,
    ) -> pd.DataFrame:
        """Standardised answers along the values of a column, as ``contrast`` has them for two of them.

        ``values`` are by default the levels of a column or, of numbers, quantiles in ``X`` from the 5th to the 95th percentile. With
        ``interval=None`` they are averages of predictions, without anything added back.
        """
        fitted = self.fitted
        own = column_named(fitted, column)
        if values is None and own.role == "numeric":
            (found,) = columns_of(to_pandas(X), [column])
            values = np.unique(np.nanquantile(found.to_numpy(dtype=np.float64), np.linspace(0.05, 0.95, _N_VALUES))).tolist()
        measured = measure_of(fitted, measure, endpoint, times, until)
        return partial_dependence(fitted, X, column, list(own.levels) if values is None else list(values), measured, interval)

    def summary(
        self, X: Any = None, y: Any = None, *, time: float | None = None, until: float | None = None, interval: float | None = 0.95
    ) -> pd.DataFrame:
        """One table of effects: what a step in each column goes with, for each endpoint, all else being as in a table.

        The step is from the first level to each other or, of numbers, from the lower to the upper quartile. Effects are standardised as in
        ``contrast``, over at most 100 rows of ``X``, and so are what they mean and what they do not.

        Parameters
        ----------
        X : DataFrame, optional
            Whose rows are averaged over; without it, subjects drawn from the model.
        y : DataFrame, optional
            What was observed of them. Adds the ``importance`` of each column: by how much the mean log-likelihood of a row falls if
            nobody knows the column (it is integrated out), with an interval over rows.
        time : float, optional
            At which probabilities are compared; by default each endpoint's median event time.
        until : float, optional
            Of restricted means; by default the time until which nine tenths of an endpoint's distinct event times lie.
        interval : float or None
            As in ``contrast``.

        Returns
        -------
        DataFrame
            By column, step and endpoint: ``difference`` in the probability of no event until ``time``, ``mean_difference`` in the
            restricted mean, with their intervals. Positive is better.

        Examples
        --------
        >>> import harmonium as hm
        >>> X, y = hm.datasets.make_three_way(200, random_state=0)
        >>> model = hm.SurvivalHarmonium(n_hidden=2, trainer=hm.Exact(n_starts=1), random_state=0).fit(X, y)
        >>> model.summary(X, interval=None).columns.tolist()
        ['time', 'difference', 'until', 'mean_difference']
        """
        if not self.fitted.encoding.modelled:  # no column has an effect
            nothing = pd.MultiIndex.from_tuples([], names=["column", "step", "endpoint"])
            return pd.DataFrame(columns=["time", "difference", "until", "mean_difference"], index=nothing, dtype=np.float64)
        return effects(self.fitted, X, y, time, until, interval)

    def explain(
        self,
        X: Any,
        *,
        endpoint: Any = None,
        measure: str | None = None,
        time: float | None = None,
        until: float | None = None,
        interval: float | None = None,
    ) -> pd.DataFrame:
        """Why these patients: what each known value contributes to the difference from the average (Shapley values).

        What is unknown is integrated out, so no background sample is needed. Exact up to ten known columns; with more, averages over
        64 orders. Contributions add up to the difference between prediction and average in either case. They say what the model makes of
        the values, not what changing them would do.

        Parameters
        ----------
        X : DataFrame
            Patients; missing values contribute nothing and are not listed.
        endpoint : str, optional
        measure : "survival", "incidence" or "restricted_mean", optional
            By default survival; if an endpoint of the model is terminal, incidence, as the page and the report draw it.
        time : float, optional
            Of survival or incidence; by default the endpoint's median event time.
        until : float
            Of a restricted mean.
        interval : float, optional
            Probability of intervals of the contributions.

        Returns
        -------
        DataFrame
            By row and column: the ``value`` and its ``contribution``; then the ``average`` of those of whom nothing is known, and the
            ``prediction``.

        Examples
        --------
        >>> import harmonium as hm
        >>> X, y = hm.datasets.make_three_way(200, random_state=0)
        >>> model = hm.SurvivalHarmonium(n_hidden=2, trainer=hm.Exact(n_starts=1), random_state=0).fit(X, y)
        >>> found = model.explain(X[:1], time=0.5)["contribution"].droplevel("row")
        >>> gap = found["prediction"] - found["average"] - found.drop(["prediction", "average"]).sum()
        >>> bool(abs(gap) < 1e-12)
        True
        """
        fitted = self.fitted
        if measure == "states":
            raise ValueError('states are several numbers; explain "survival", "incidence" or "restricted_mean"')
        what = measure or usual_measure(fitted.encoding)
        if time is None and what != "restricted_mean":
            time = usual_time(fitted.encoding, endpoint)
        return contributions(fitted, X, measure_of(fitted, what, endpoint, None if time is None else [float(time)], until), interval)

    def win_ratio(
        self,
        X: Any,
        column: Any,
        values: Sequence[Any],
        *,
        until: float,
        order: Sequence[str] | None = None,
        y: Any = None,
        interval: float | None = 0.95,
    ) -> pd.DataFrame:
        """Win ratio and net benefit of one value of a column against another, by ordered endpoints, at a horizon.

        Two subjects with covariates of ``X``, one with each value: who dies later until the horizon wins; if both are alive, who has the
        next event later. It comes from the model's law of all endpoints and has no censoring in it, unlike counts of observed pairs, which
        change with the length of follow-up. Standardised over ``X`` as ``contrast`` is, with the same reservations.

        Parameters
        ----------
        X : DataFrame
        column : str
        values : pair
            The second is compared with the first.
        until : float
            The horizon.
        order : sequence of str, optional
            One or two endpoints, the most important first; by default terminal ones come before others.
        y : DataFrame, optional
            What was observed of the rows of ``X``: adds the counted pairs (:func:`harmonium.metrics.count_wins`) as ``observed``.
        interval : float or None
            As in ``contrast``.

        Returns
        -------
        DataFrame
            Probabilities of wins, losses and ties by endpoint and in all; net benefit (wins minus losses) and win ratio.
        """
        fitted = self.fitted
        names = check_order(fitted, order)
        out = win_ratio(fitted, X, column, values, names, until, interval)
        if y is not None:
            (own,) = columns_of(to_pandas(X), [column])
            chosen = own.isin(list(values)).to_numpy()
            rows = parse_endpoints(y).in_unit(fitted.encoding.unit).part(chosen)
            counted = count_wins(rows, (own[chosen] == values[1]).to_numpy(), order=names, until=until)
            out.insert(0, "observed", counted["share"])
        return out
