"""What every fitted model answers, in scikit-learn's and scikit-survival's words.

Predictions, each of which is a short question to a prognosis; effects that a person can read; likelihoods, completed tables and cohorts;
what was learned.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from harmonium.metrics.multi_endpoint import global_concordance
from harmonium.metrics.wins import count_wins
from harmonium.model import explanation, generation
from harmonium.model.answering import Answering
from harmonium.model.asked import asked_times, given_endpoints, observed_endpoints
from harmonium.model.confidence import Interval
from harmonium.model.dependence import cross_ratio, dependence, dependence_with_spread
from harmonium.model.effects import column_named, contrast, effects, measure_of, partial_dependence
from harmonium.model.explanation import contributions
from harmonium.model.prognosis import Prognosis
from harmonium.model.storage import save_model
from harmonium.model.usual_question import usual_measure, usual_time
from harmonium.model.win_ratio import check_order, win_ratio
from harmonium.table.endpoints import parse_endpoints
from harmonium.table.frames import columns_of, to_pandas
from harmonium.table.step_function import as_step_functions
from harmonium.typing import Array

__all__ = ["SurvivalModel"]

_N_VALUES = 9  # of a numeric column, along which an answer is followed


class SurvivalModel(ABC):
    """Questions to a fitted model.

    Arguments mean the same everywhere: ``X`` are covariates, which may be missing; ``endpoint`` is the first one if none is named;
    ``times`` are the endpoint's distinct event times in training if none are given; ``given`` is a table of endpoints, as
    :func:`harmonium.endpoints` or :func:`harmonium.landmark` makes it, with what is known of any endpoint, the one that is asked for
    included. ``interval``, a probability such as 0.95, asks for an :class:`~harmonium.model.confidence.Interval` with ``estimate``,
    ``lower`` and ``upper``.
    """

    @property
    @abstractmethod
    def fitted(self) -> Answering:
        """The fitted model that answers."""

    def prognosis(self, X: Any, *, given: Any = None) -> Prognosis:
        """Everything that can be asked about some rows: X is encoded once, and hidden states are found once.

        Parameters
        ----------
        X : DataFrame or array
            Covariates; values may be missing.
        given : DataFrame, optional
            What is known of the endpoints; of those that it does not have, nothing is.

        Returns
        -------
        Prognosis
        """
        fitted = self.fitted
        covariates = fitted.encoding.covariates(X)
        known = None if given is None else given_endpoints(fitted, X, given, len(covariates))
        return fitted.ask(covariates, known)

    def predict(self, X: Any, *, endpoint: str | None = None, given: Any = None, interval: float | None = None) -> Any:
        """Risk, higher means sooner; see :meth:`Prognosis.risk <harmonium.model.prognosis.Prognosis.risk>`."""
        return self.prognosis(X, given=given).risk(endpoint, interval=interval)

    def predict_survival_function(
        self,
        X: Any,
        *,
        endpoint: str | None = None,
        times: Any = None,
        given: Any = None,
        return_array: bool = False,
        return_diagnostics: bool = False,
        interval: float | None = None,
    ) -> Any:
        """Probability of no event until each time (eq. 20).

        Parameters
        ----------
        X : DataFrame or array
            Covariates; values may be missing.
        endpoint : str, optional
            By default the first.
        times : array_like, optional
            By default the distinct event times in training.
        given : DataFrame, optional
            What is known of the endpoints.
        return_array : bool
            An array (rows, times) rather than step functions.
        return_diagnostics : bool
            Also return an :class:`~harmonium.model.hidden.Answer` with Monte-Carlo errors and R-hat. Its errors are zero where
            answers are exact: up to 14 hidden units, and beyond in rows with few missing values.
        interval : float, optional
            A probability, such as 0.95.

        Returns
        -------
        array of StepFunction, or ndarray of shape (n_rows, n_times)
            With ``interval``, an Interval of them.

        Examples
        --------
        >>> import harmonium as hm
        >>> X, y = hm.datasets.load_nvalt8()
        >>> model = hm.SurvivalHarmonium(n_hidden=2, trainer=hm.Exact(n_starts=1), random_state=0).fit(X, y)
        >>> known = hm.landmark(y[:1], 12)
        >>> alive = model.predict_survival_function(X[:1], endpoint="os", times=[12, 24], given=known, return_array=True)
        >>> float(alive[0, 0])
        1.0
        """
        prognosis = self.prognosis(X, given=given)
        if interval is not None:
            found = prognosis.survival(endpoint, times, interval=interval, return_diagnostics=return_diagnostics)
            at = asked_times(prognosis, endpoint, times)
            return found if return_array else Interval(*(as_step_functions(at, curve) for curve in found))
        array, answer = prognosis.survival(endpoint, times, return_diagnostics=True)
        curves = array if return_array else as_step_functions(asked_times(prognosis, endpoint, times), array)
        return (curves, answer) if return_diagnostics else curves

    def predict_cumulative_incidence(
        self, X: Any, *, endpoint: Any = None, times: Any = None, given: Any = None, interval: float | None = None
    ) -> Any:
        """Probability that the event has happened until each time, (rows, times), whatever may prevent it.

        Parameters
        ----------
        X : DataFrame or array
            Covariates; values may be missing.
        endpoint : str or tuple of str, optional
            By default the first; of several, the first event.
        times : array_like, optional
            By default the distinct event times in training.
        given : DataFrame, optional
            What is known of the endpoints.
        interval : float, optional
            A probability, such as 0.95.

        Returns
        -------
        ndarray of shape (n_rows, n_times), or an Interval of them
        """
        return self.prognosis(X, given=given).cumulative_incidence(endpoint, times, interval=interval)

    def predict_state_probabilities(self, X: Any, *, times: Any, given: Any = None, interval: float | None = None) -> dict[str, Any]:
        """Where subjects are at each time, (rows, times) by path, where an endpoint is terminal; they add up to one.

        Examples
        --------
        >>> import harmonium as hm
        >>> X, y = hm.datasets.load_nvalt8(terminal=True)
        >>> model = hm.SurvivalHarmonium(n_hidden=2, trainer=hm.Exact(n_starts=1), random_state=0).fit(X, y)
        >>> found = model.predict_state_probabilities(X[:1], times=[12, 24])
        >>> list(found)
        ['event-free', 'recurrence', 'death without recurrence', 'death after recurrence']
        >>> sum(found.values()).round(12)
        array([[1., 1.]])
        """
        found: dict[str, Any] = self.prognosis(X, given=given).state_probabilities(times, interval=interval)
        return found

    def predict_time_in_states(self, X: Any, *, until: float, given: Any = None, interval: float | None = None) -> dict[str, Any]:
        """Mean time spent on each path; see :meth:`Prognosis.time_in_states <harmonium.model.prognosis.Prognosis.time_in_states>`."""
        found: dict[str, Any] = self.prognosis(X, given=given).time_in_states(until=until, interval=interval)
        return found

    def predict_cumulative_hazard_function(
        self, X: Any, *, endpoint: str | None = None, times: Any = None, given: Any = None, return_array: bool = False
    ) -> Any:
        """Cumulative hazard, -ln S, at each time, as ``predict_survival_function``; infinite where S is zero."""
        prognosis = self.prognosis(X, given=given)
        array = prognosis.cumulative_hazard(endpoint, times)
        return array if return_array else as_step_functions(asked_times(prognosis, endpoint, times), array)

    def predict_density(self, X: Any, *, endpoint: Any = None, times: Any = None, given: Any = None, interval: float | None = None) -> Any:
        """Density of the event time; see :meth:`Prognosis.density <harmonium.model.prognosis.Prognosis.density>`.

        Where an endpoint is terminal, the derivative of the cumulative incidence; ``endpoint`` may then name several, of which the first
        event counts.
        """
        return self.prognosis(X, given=given).density(endpoint, times, interval=interval)

    def predict_hazard(self, X: Any, *, endpoint: Any = None, times: Any = None, given: Any = None, interval: float | None = None) -> Any:
        """Hazard; see :meth:`Prognosis.hazard <harmonium.model.prognosis.Prognosis.hazard>`.

        Where an endpoint is terminal, among those with no terminal event and none of the endpoints asked for so far.
        """
        return self.prognosis(X, given=given).hazard(endpoint, times, interval=interval)

    def predict_quantile(
        self, X: Any, *, q: float = 0.5, endpoint: str | None = None, given: Any = None, interval: float | None = None
    ) -> Any:
        """A quantile of the event time; see :meth:`Prognosis.quantile <harmonium.model.prognosis.Prognosis.quantile>`."""
        return self.prognosis(X, given=given).quantile(endpoint, q, interval=interval)

    def predict_median(self, X: Any, *, endpoint: str | None = None, given: Any = None, interval: float | None = None) -> Any:
        """The median event time; see :meth:`Prognosis.quantile <harmonium.model.prognosis.Prognosis.quantile>`."""
        return self.prognosis(X, given=given).median(endpoint, interval=interval)

    def predict_restricted_mean(
        self, X: Any, *, until: float, endpoint: str | None = None, given: Any = None, interval: float | None = None
    ) -> Any:
        """The mean until a time; see :meth:`Prognosis.restricted_mean <harmonium.model.prognosis.Prognosis.restricted_mean>`."""
        return self.prognosis(X, given=given).restricted_mean(endpoint, until=until, interval=interval)

    def predict_joint_survival(self, X: Any, *, times: Mapping[str, Any], given: Any = None, interval: float | None = None) -> Any:
        """Survival of several endpoints; see :meth:`Prognosis.joint_survival <harmonium.model.prognosis.Prognosis.joint_survival>`."""
        return self.prognosis(X, given=given).joint_survival(times, interval=interval)

    def predict_joint_density(self, X: Any, *, times: Mapping[str, Any], given: Any = None, interval: float | None = None) -> Any:
        """Density of several endpoints; see :meth:`Prognosis.joint_density <harmonium.model.prognosis.Prognosis.joint_density>`."""
        return self.prognosis(X, given=given).joint_density(times, interval=interval)

    # --- columns: standardized over the rows of a table, with intervals ---

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

        The step is from the first level to each other or, of numbers, from the lower to the upper quartile (from the lowest to the highest
        value if the quartiles are the same). Effects are standardised as in ``contrast``, over at most 100 rows of ``X``, and so are what
        they mean and what they do not.

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

    # --- how likely, how good ---

    def log_likelihood(self, X: Any, y: Any, *, kind: str = "conditional") -> Array:
        """Ln p of every row, in the user's unit of time (eq. 8 and eq. 9).

        Parameters
        ----------
        X : DataFrame or array
        y : DataFrame or structured array
            What was observed, as in ``fit``.
        kind : "conditional" or "joint"
            Of the endpoints given the covariates, or of both. Numeric covariates count as scores. Beyond 14 hidden units
            it is estimated by annealed importance sampling, unless little of a row is unobserved.

        Returns
        -------
        ndarray of shape (n_rows,)
        """
        if kind not in ("conditional", "joint"):
            raise ValueError(f'kind must be "conditional" or "joint"; found {kind!r}')
        fitted = self.fitted
        covariates = fitted.encoding.covariates(X)
        return fitted.log_likelihood_of(covariates, observed_endpoints(fitted, X, y, len(covariates)), kind)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Harrell's concordance index, averaged over endpoints; rows may have weights."""
        fitted = self.fitted
        prognosis = self.prognosis(X)
        observed_endpoints(fitted, X, y, prognosis.n_rows)
        risk = np.column_stack([prognosis.risk(name) for name in fitted.encoding.endpoint_names])
        return global_concordance(y, risk, sample_weight=sample_weight)

    # --- data ---

    def impute(
        self, X: Any, y: Any = None, *, n_draws: int = 1, within_range: bool = True, random_state: Any = None
    ) -> list[tuple[pd.DataFrame, pd.DataFrame]]:
        """Fill in what is missing with draws from the model, given everything that is known of each row.

        Draws come from the model's continuation on the joint likelihood of covariates and endpoints, which is made when it is first needed,
        with parameters that are drawn as well, anew for each of the first ten tables.

        Parameters
        ----------
        X : DataFrame or array
            Covariates.
        y : DataFrame, optional
            Endpoints; censored times are drawn inside their intervals, and covariates given all times. Without it, times are drawn given
            the covariates; an analysis of survival needs it.
        n_draws : int
            Completed tables, for multiple imputation: analyse each and combine the results with :func:`harmonium.pool`.
        within_range : bool
            Draw numeric covariates only inside the range in training, without outliers and with a margin of a twentieth where
            nothing shows a bound. Otherwise values up to as far again outside are possible, though rare.
        random_state : int or numpy.random.Generator, optional

        Returns
        -------
        list of tuples (X, y)
            Observed values are exactly what they were; columns keep their types.

        Examples
        --------
        >>> import harmonium as hm
        >>> X, y = hm.datasets.load_nvalt8()
        >>> model = hm.SurvivalHarmonium(n_hidden=2, trainer=hm.Exact(n_starts=1), random_state=0).fit(X, y)
        >>> completed, times = model.impute(X, y, random_state=0)[0]
        >>> int(X.isna().sum().sum()) > 0, int(completed.isna().sum().sum())
        (True, 0)
        """
        fitted = self.fitted
        covariates = fitted.encoding.covariates(X)
        known = None if y is None else given_endpoints(fitted, X, y, len(covariates))
        return generation.impute(fitted, X, y, covariates, known, n_draws, within_range, np.random.default_rng(random_state))

    def sample(
        self, n_samples: int = 1, *, X: Any = None, given: Any = None, censored: bool = False, random_state: Any = None
    ) -> tuple[pd.DataFrame, pd.DataFrame]:
        """A synthetic cohort.

        Endpoints are drawn together with the covariates, from the model's continuation on their joint likelihood, which is made when it is
        first needed; for rows of ``X`` without missing values, as they are predicted. Where a study's events have a necessary order, say
        so when endpoints are defined (``terminal``); otherwise a draw may violate it.

        Parameters
        ----------
        n_samples : int
            Subjects; with ``X``, subjects for each of its rows.
        X : DataFrame, optional
            Covariates to condition on; what is missing is drawn.
        given : DataFrame, optional
            With ``X``, what is known of the endpoints.
        censored : bool
            Censor as in training: follow-up is drawn given covariates, once for all endpoints if it was the same for all, and an event
            ends the observation of another endpoint if it did so in training.
        random_state : int or numpy.random.Generator, optional

        Returns
        -------
        X, y : DataFrame
            Numeric covariates are of the kind seen in training (whole numbers, decimals, bounds), in their range or a little beyond;
            event times are in the user's unit.

        Examples
        --------
        >>> import harmonium as hm
        >>> X, y = hm.datasets.load_nvalt8()
        >>> model = hm.SurvivalHarmonium(n_hidden=2, trainer=hm.Exact(n_starts=1), random_state=0).fit(X, y)
        >>> cohort, times = model.sample(100, random_state=0)
        >>> list(cohort.columns) == list(X.columns), times.shape
        (True, (100, 4))
        """
        fitted = self.fitted
        if given is not None and X is None:
            raise ValueError("what is given must belong to rows of X; found no X")
        covariates = np.full((1, len(fitted.encoding.modelled)), np.nan) if X is None else fitted.encoding.covariates(X)
        known = None if given is None else given_endpoints(fitted, X, given, len(covariates))
        return generation.sample(fitted, covariates, known, n_samples, censored, np.random.default_rng(random_state))

    def draw_times(self, X: Any, *, n_draws: int = 100, given: Any = None, random_state: Any = None) -> Array:
        """Event times drawn given covariates and what else is known, (draws, rows, endpoints).

        Infinite beyond follow-up, and where a terminal event came first.
        """
        fitted = self.fitted
        covariates = fitted.encoding.covariates(X)
        known = None if given is None else given_endpoints(fitted, X, given, len(covariates))
        return generation.draw_times(fitted, covariates, known, n_draws, np.random.default_rng(random_state))

    # --- what was learned ---

    def transform(self, X: Any, *, given: Any = None) -> Array:
        """Latent codes: p(h = 1) of every hidden unit (eq. 7), (rows, hidden units)."""
        return explanation.codes(self.prognosis(X, given=given))

    def receptive_fields(self, X: Any, *, given: Any = None) -> pd.DataFrame:
        """What each hidden unit does to each column when it goes from off to on.

        Parameters
        ----------
        X, given
            Subjects at whose mean activation of the other hidden units event times are compared.

        Returns
        -------
        DataFrame
            A row for each column, or level of a category, and a column for each hidden unit. The index names the measure: the change of
            the mean in standard deviations (numeric), of the log odds of a level (binary), of the log odds against the average level
            (categorical), or of the mean event time on the time scale (endpoint), where 1 is the whole scale.

        Examples
        --------
        >>> import harmonium as hm
        >>> X, y = hm.datasets.load_nvalt8()
        >>> model = hm.SurvivalHarmonium(n_hidden=2, trainer=hm.Exact(n_starts=1), random_state=0).fit(X, y)
        >>> model.receptive_fields(X, given=y).loc["os"].shape
        (1, 2)
        """
        return explanation.receptive_fields(self.fitted, self.prognosis(X, given=given))

    def dependence(self, X: Any, *, interval: float | None = None) -> pd.DataFrame:
        """Do endpoints attract or repel each other? Kendall's tau of each pair under the model (eq. 25).

        Parameters
        ----------
        X : DataFrame or array
            Covariates of the subjects that are compared.
        interval : float, optional
            Probability of intervals, along the directions in which the parameters may move.

        Returns
        -------
        DataFrame
            For each pair: ``tau`` between all subjects and ``tau_given_covariates`` between subjects with the same covariates, averaged.
            Positive: subjects that have one event early tend to have the other early.
        """
        fitted = self.fitted
        covariates = fitted.encoding.covariates(X)
        return dependence(fitted, covariates) if interval is None else dependence_with_spread(fitted, covariates, interval)

    def cross_ratio(
        self,
        X: Any,
        event: str | None = None,
        endpoint: str | None = None,
        *,
        times: Any = None,
        within: float | None = None,
        interval: float | None = None,
    ) -> pd.DataFrame:
        """What an event does to the survival of those who had it, where a terminal endpoint ends everything.

        Parameters
        ----------
        X : DataFrame or array
            Covariates of subjects, over whom is averaged.
        event : str, optional
            An endpoint that is not terminal; needed if there are several.
        endpoint : str, optional
            A terminal endpoint; needed if there are several.
        times : array_like, optional
            Of the event; by default quartiles of its times in training.
        within : float, optional
            How long after these times is asked; by default the median time from the event to its end in training, as far as it is known.
        interval : float, optional
            Probability of intervals, along the directions in which the parameters may move.

        Returns
        -------
        DataFrame
            For each time: survival from the endpoint ``within`` after it, of those who had the event then (``survival_after``) and of
            those without any event (``survival_without``), and ``cross_ratio``, the ratio of their cumulative hazards. One: the event
            tells nothing. If ``survival_after`` differs between times, it matters when the event came.

        Examples
        --------
        >>> import harmonium as hm
        >>> X, y = hm.datasets.load_nvalt8(terminal=True)
        >>> model = hm.SurvivalHarmonium(n_hidden=2, trainer=hm.Exact(n_starts=1), random_state=0).fit(X, y)
        >>> found = model.cross_ratio(X, times=[6, 24], within=12)
        >>> bool((found["cross_ratio"] > 1).all())
        True
        """
        fitted = self.fitted
        return cross_ratio(fitted, fitted.encoding.covariates(X), event, endpoint, times, within, interval)

    def save(self, path: Any) -> None:
        """Write the model to one file, whole or not at all; :func:`harmonium.load` reads it."""
        save_model(self.fitted, path)

    @property
    def endpoint_names(self) -> tuple[str, ...]:
        """In the order of the training table."""
        return self.fitted.encoding.endpoint_names

    @property
    def paper_parameters_(self) -> dict[str, Array]:
        """The paper's W_A, a_A (Bernoulli), W_B, V, a_B, c (times), W_C, a_C, sigma (Gaussian) and b; categories excepted.

        All hidden units are there: the prognostic ones first, then those that couple to covariates only. Times are on the scales of
        ``encoding_``.

        Where an endpoint is terminal, they are those of the harmonium of covariates; the harmoniums of endpoints are
        ``fitted.transitions.models``, each with ``parameters`` of its own.
        """
        return self.fitted.whole_parameters.paper_parameters()
