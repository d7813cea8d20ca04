"""What every fitted model answers, in scikit-learn's and scikit-survival's words. Each method is a short question to a prognosis."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from harmonium.metrics.multi_endpoint import global_concordance
from harmonium.model import explanation, generation
from harmonium.model.answering import Answering
from harmonium.model.asked import asked_times, given_endpoints, observed_endpoints
from harmonium.model.prognosis import Prognosis
from harmonium.model.storage import save_model
from harmonium.table.step_function import as_step_functions
from harmonium.typing import Array

__all__ = ["SurvivalModel"]


class SurvivalModel(ABC):
    """Questions to a fitted model.

    Arguments mean the same everywhere: ``X`` are covariates, which may be missing; ``endpoint`` is the first one if none is named;
    ``times`` are the endpoint's distinct event times in training if none are given; ``given`` is a table of endpoints, as
    :func:`harmonium.endpoints` or :func:`harmonium.landmark` makes it, with what is known of any endpoint, the one that is asked for
    included.
    """

    @property
    @abstractmethod
    def fitted(self) -> Answering:
        """The fitted model that answers."""

    # --- prognosis ---

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

    def predict(self, X: Any, *, endpoint: str | None = None, given: Any = None) -> Array:
        """Risk, higher means sooner; see :meth:`Prognosis.risk <harmonium.model.prognosis.Prognosis.risk>`."""
        return self.prognosis(X, given=given).risk(endpoint)

    def predict_survival_function(
        self,
        X: Any,
        *,
        endpoint: str | None = None,
        times: Any = None,
        given: Any = None,
        return_array: bool = False,
        return_diagnostics: bool = False,
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

        Returns
        -------
        array of StepFunction, or ndarray of shape (n_rows, n_times)

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
        array, answer = prognosis.survival(endpoint, times, return_diagnostics=True)
        curves = array if return_array else as_step_functions(asked_times(prognosis, endpoint, times), array)
        return (curves, answer) if return_diagnostics else curves

    def predict_cumulative_incidence(self, X: Any, *, endpoint: Any = None, times: Any = None, given: Any = None) -> Array:
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

        Returns
        -------
        ndarray of shape (n_rows, n_times)
        """
        return self.prognosis(X, given=given).cumulative_incidence(endpoint, times)

    def predict_state_probabilities(self, X: Any, *, times: Any, given: Any = None) -> dict[str, Array]:
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
        return self.prognosis(X, given=given).state_probabilities(times)

    def predict_time_in_states(self, X: Any, *, until: float, given: Any = None) -> dict[str, Array]:
        """Mean time spent on each path; see :meth:`Prognosis.time_in_states <harmonium.model.prognosis.Prognosis.time_in_states>`."""
        return self.prognosis(X, given=given).time_in_states(until=until)

    def predict_cumulative_hazard_function(
        self, X: Any, *, endpoint: str | None = None, times: Any = None, given: Any = None, return_array: bool = False
    ) -> Any:
        """Cumulative hazard, -ln S, at each time, as ``predict_survival_function``; infinite where S is zero."""
        prognosis = self.prognosis(X, given=given)
        array = prognosis.cumulative_hazard(endpoint, times)
        return array if return_array else as_step_functions(asked_times(prognosis, endpoint, times), array)

    def predict_density(self, X: Any, *, endpoint: str | None = None, times: Any = None, given: Any = None) -> Array:
        """Density of the event time; see :meth:`Prognosis.density <harmonium.model.prognosis.Prognosis.density>`."""
        return self.prognosis(X, given=given).density(endpoint, times)

    def predict_hazard(self, X: Any, *, endpoint: str | None = None, times: Any = None, given: Any = None) -> Array:
        """Hazard; see :meth:`Prognosis.hazard <harmonium.model.prognosis.Prognosis.hazard>`."""
        return self.prognosis(X, given=given).hazard(endpoint, times)

    def predict_quantile(self, X: Any, *, q: float = 0.5, endpoint: str | None = None, given: Any = None) -> Array:
        """A quantile of the event time; see :meth:`Prognosis.quantile <harmonium.model.prognosis.Prognosis.quantile>`."""
        return self.prognosis(X, given=given).quantile(endpoint, q)

    def predict_median(self, X: Any, *, endpoint: str | None = None, given: Any = None) -> Array:
        """The median event time; see :meth:`Prognosis.quantile <harmonium.model.prognosis.Prognosis.quantile>`."""
        return self.prognosis(X, given=given).median(endpoint)

    def predict_restricted_mean(self, X: Any, *, until: float, endpoint: str | None = None, given: Any = None) -> Array:
        """The mean until a time; see :meth:`Prognosis.restricted_mean <harmonium.model.prognosis.Prognosis.restricted_mean>`."""
        return self.prognosis(X, given=given).restricted_mean(endpoint, until=until)

    def predict_joint_survival(self, X: Any, *, times: Mapping[str, Any], given: Any = None) -> Array:
        """Survival of several endpoints; see :meth:`Prognosis.joint_survival <harmonium.model.prognosis.Prognosis.joint_survival>`."""
        return self.prognosis(X, given=given).joint_survival(times)

    def predict_joint_density(self, X: Any, *, times: Mapping[str, Any], given: Any = None) -> Array:
        """Density of several endpoints; see :meth:`Prognosis.joint_density <harmonium.model.prognosis.Prognosis.joint_density>`."""
        return self.prognosis(X, given=given).joint_density(times)

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

    def score(self, X: Any, y: Any) -> float:
        """Harrell's concordance index, averaged over endpoints."""
        fitted = self.fitted
        prognosis = self.prognosis(X)
        observed_endpoints(fitted, X, y, prognosis.n_rows)
        return global_concordance(y, np.column_stack([prognosis.risk(name) for name in fitted.encoding.endpoint_names]))

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
        """Latent codes: p(h = 1) of every hidden unit (eq. 7), (rows, hidden units); of a mixture, those of all its components."""
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

    def dependence(self, X: Any) -> pd.DataFrame:
        """Do endpoints attract or repel each other? Kendall's tau of each pair under the model (eq. 25).

        Parameters
        ----------
        X : DataFrame or array
            Covariates of the subjects that are compared.

        Returns
        -------
        DataFrame
            For each pair: ``tau`` between all subjects and ``tau_given_covariates`` between subjects with the same covariates, averaged.
            Positive: subjects that have one event early tend to have the other early. The estimator's method of the same name adds
            confidence intervals from a bootstrap.
        """
        fitted = self.fitted
        return explanation.dependence(fitted, fitted.encoding.covariates(X))

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

        Of a mixture, those of the component with the largest weight.
        """
        return max(self.fitted.components, key=lambda component: component[0])[1].parameters.paper_parameters()
