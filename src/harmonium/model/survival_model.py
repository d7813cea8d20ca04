"""What every fitted model answers, beside predictions: likelihoods, completed tables and cohorts, what was learned."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from harmonium.metrics.multi_endpoint import global_concordance
from harmonium.model import explanation, generation
from harmonium.model.asked import given_endpoints, observed_endpoints
from harmonium.model.comparing import Comparing
from harmonium.model.cross_ratio import cross_ratio
from harmonium.model.dependence_interval import dependence_with_spread
from harmonium.model.storage import save_model
from harmonium.typing import Array

__all__ = ["SurvivalModel"]


class SurvivalModel(Comparing):
    """Questions to a fitted model.

    Arguments mean the same everywhere: ``X`` are covariates, which may be missing; ``endpoint`` is the first one if none is named;
    ``times`` are the endpoint's distinct event times in training if none are given; ``given`` is a table of endpoints, as
    :func:`harmonium.endpoints` or :func:`harmonium.landmark` makes it, with what is known of any endpoint, the one that is asked for
    included. ``interval``, a probability such as 0.95, asks for an :class:`~harmonium.model.confidence.Interval` with ``estimate``,
    ``lower`` and ``upper``.
    """

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
        return explanation.dependence(fitted, covariates) if interval is None else dependence_with_spread(fitted, covariates, interval)

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
