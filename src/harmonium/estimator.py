"""The estimator: from a DataFrame to a fitted model, in the manner of scikit-learn and scikit-survival. No mathematics here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted
from sksurv.functions import StepFunction
from sksurv.metrics import concordance_index_censored

from harmonium.cells import Cells
from harmonium.engine.exact import log_mass
from harmonium.engine.states import EXACT_LIMIT
from harmonium.inference.survival import mean_position, survival
from harmonium.table.encoding import Encoding
from harmonium.table.endpoints import Endpoints, parse_endpoints
from harmonium.training.exact_trainer import ExactTrainer
from harmonium.training.history import History
from harmonium.training.objective import conditioned_cells, objective_terms
from harmonium.training.ties import ties_as_intervals
from harmonium.units.contract import Array

__all__ = ["SurvivalHarmonium"]


class SurvivalHarmonium(BaseEstimator):  # type: ignore[misc]
    """Joint model of several endpoints and covariates with gaps.

    Parameters
    ----------
    n_hidden : int
        Binary hidden units. Four are enough for most studies.
    objective : "conditional", "joint" or float
        What is maximised: the likelihood of the times given the covariates, of both together, or a weight of the former between 0
        (joint) and 1 (conditional). Use about 0.95 if the model shall also impute covariates or generate cohorts.
    l2 : "auto" or float
        Precision of the prior on covariates' couplings; "auto" lets the data choose.
    time_scale : "kaplan-meier", "linear" or "log"
        How time is mapped to the unit interval.
    horizon : float or mapping of endpoint to float, optional
        Where the time scale ends; by default just beyond the last recording, or nowhere ("kaplan-meier").
    roles : mapping, optional
        Roles of columns, where they should not be inferred: "numeric", "binary", "categorical" or "ignored".
    n_starts : int
        Short runs of the optimiser from which the best is carried on.
    max_iter : int
        Most iterations of the optimiser.
    random_state : int or numpy.random.Generator, optional
    n_jobs : int, optional
        Threads; by default as many as there are cores. Results do not depend on it.

    Attributes
    ----------
    encoding_ : Encoding
        Roles and encodings of columns, time scales of endpoints.
    parameters_ : Parameters
        The paper's parameters.
    endpoint_names_ : tuple of str
    l2_ : float
        The precision used.
    history_ : DataFrame
        Progress of the optimiser.
    n_evaluations_ : int
        Gradients computed.
    event_times_ : dict
        Distinct event times of each endpoint in training.

    Examples
    --------
    >>> import harmonium as hm
    >>> X, y = hm.datasets.make_three_way(300, random_state=0)
    >>> model = hm.SurvivalHarmonium(n_hidden=4, objective="joint", time_scale="linear", horizon=1, random_state=0).fit(X, y)
    >>> model.predict_survival_function(X[:2], endpoint="t1", times=[0.25, 0.5], return_array=True).shape
    (2, 2)
    """

    def __init__(
        self,
        n_hidden: int = 4,
        *,
        objective: str | float = "conditional",
        l2: str | float = "auto",
        time_scale: str = "kaplan-meier",
        horizon: float | Mapping[str, float] | None = None,
        roles: Mapping[Any, str] | None = None,
        n_starts: int = 6,
        max_iter: int = 1000,
        random_state: int | np.random.Generator | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_hidden = n_hidden
        self.objective = objective
        self.l2 = l2
        self.time_scale = time_scale
        self.horizon = horizon
        self.roles = roles
        self.n_starts = n_starts
        self.max_iter = max_iter
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any) -> SurvivalHarmonium:
        """Fit to covariates and endpoints.

        Parameters
        ----------
        X : DataFrame or array
            Covariates; gaps are fine.
        y : DataFrame or structured array
            What :func:`harmonium.endpoints` returns, or scikit-survival's (event, time) for one endpoint.

        Returns
        -------
        self
        """
        conditional = self._check_settings()
        known = parse_endpoints(y)
        self.encoding_ = Encoding.fit(X, known, self.roles, self.time_scale, self.horizon)
        covariates = self.encoding_.covariates(X)
        if len(covariates) != len(known.lower):
            raise ValueError(f"X and y must have as many rows; found {len(covariates)} and {len(known.lower)}")
        cells = self.encoding_.cells(covariates, *self.encoding_.times(ties_as_intervals(known)))
        trainer = ExactTrainer(
            precision=None if self.l2 == "auto" else float(self.l2),
            n_starts=self.n_starts,
            max_iterations=self.max_iter,
            n_threads=self.n_jobs,
        )
        history = History()
        terms = objective_terms(cells, self.encoding_.entry(known), conditional)
        fit = trainer.fit(terms, self.n_hidden, conditional, np.random.default_rng(self.random_state), history)
        self.parameters_ = fit.parameters
        self.l2_ = fit.precision
        self.n_evaluations_ = fit.n_evaluations
        self.history_ = history.to_frame()
        self.endpoint_names_ = known.names
        self.event_times_ = {name: np.unique(known.lower[known.event[:, e], e]) for e, name in enumerate(known.names)}
        self.n_features_in_ = len(self.encoding_.columns)
        return self

    def _check_settings(self) -> float:
        """Refuse settings that make no sense; return the objective's weight."""
        if not (isinstance(self.n_hidden, (int, np.integer)) and 0 <= self.n_hidden <= EXACT_LIMIT):
            raise ValueError(f"n_hidden must be a whole number from 0 to {EXACT_LIMIT}; found {self.n_hidden!r}")
        if self.l2 != "auto" and not (isinstance(self.l2, (int, float)) and self.l2 >= 0.0):
            raise ValueError(f'l2 must be "auto" or a number that is not negative; found {self.l2!r}')
        weight = {"conditional": 1.0, "joint": 0.0}.get(self.objective, self.objective)  # type: ignore[arg-type]
        if not (isinstance(weight, (int, float)) and 0.0 <= weight <= 1.0):
            raise ValueError(f'objective must be "conditional", "joint" or a weight between 0 and 1; found {self.objective!r}')
        return float(weight)

    # --- what the model says ---

    def predict_survival_function(self, X: Any, endpoint: str | None = None, times: Any = None, *, return_array: bool = False) -> Any:
        """Probability of no event until each time.

        Parameters
        ----------
        X : DataFrame or array
        endpoint : str, optional
            By default the first.
        times : array_like, optional
            By default the distinct event times in training.
        return_array : bool
            An array (rows, times) rather than scikit-survival's step functions.
        """
        column = self._endpoint(endpoint)
        times = self.event_times_[self.endpoint_names_[column]] if times is None else np.atleast_1d(np.asarray(times, dtype=np.float64))
        if times.ndim != 1 or np.isnan(times).any() or (times < 0.0).any():
            raise ValueError(f"times must be numbers that are not negative; found {times!r}")
        positions = self.encoding_.scales[column].to_unit(times)
        n_covariates = len(self.encoding_.modelled)
        array = survival(self.parameters_, self._cells(X), n_covariates + column, positions, self.n_jobs)
        if return_array:
            return array
        return np.array([StepFunction(times, row, domain=(0.0, None)) for row in array], dtype=object)

    def predict(self, X: Any, endpoint: str | None = None) -> Array:
        """Risk: higher means sooner. Minus the mean event time on the time scale."""
        column = self._endpoint(endpoint)
        return -mean_position(self.parameters_, self._cells(X), len(self.encoding_.modelled) + column, self.n_jobs)

    def score(self, X: Any, y: Any) -> float:
        """Harrell's concordance index, averaged over endpoints."""
        check_is_fitted(self, "parameters_")
        known = self._endpoints(y)
        scores = []
        for e, name in enumerate(known.names):
            usable = known.event[:, e] | np.isinf(known.upper[:, e])
            risk = self.predict(X, name)[usable]
            scores.append(concordance_index_censored(known.event[usable, e], known.lower[usable, e], risk)[0])
        return float(np.mean(scores))

    def log_likelihood(self, X: Any, y: Any, kind: str = "conditional") -> Array:
        """Ln p of every row, in the user's unit of time.

        Parameters
        ----------
        X, y
            As in :meth:`fit`.
        kind : "conditional" or "joint"
            Of the endpoints given the covariates, or of both. Numeric covariates count in their standardised unit.
        """
        check_is_fitted(self, "parameters_")
        if kind not in ("conditional", "joint"):
            raise ValueError(f'kind must be "conditional" or "joint"; found {kind!r}')
        known = self._endpoints(y)
        cells = self.encoding_.cells(self.encoding_.covariates(X), *self.encoding_.times(known))
        given = conditioned_cells(cells, self.encoding_.entry(known))
        if kind == "joint":
            nothing = Cells.all_free(cells.layout, cells.n_rows)
            given = Cells(cells.layout, (*nothing.lower[:-1], given.lower[-1]), (*nothing.upper[:-1], given.upper[-1]))
        slopes = np.zeros(cells.n_rows)
        for e, scale in enumerate(self.encoding_.scales):
            exact = known.event[:, e] & (known.lower[:, e] > 0.0)
            slopes[exact] += scale.log_slope(known.lower[exact, e])
        masses = (log_mass(self.parameters_, table, self.n_jobs) for table in (cells, given))
        return next(masses) - next(masses) + slopes

    # --- tables ---

    def _endpoint(self, name: str | None) -> int:
        check_is_fitted(self, "parameters_")
        if name is None:
            return 0
        if name not in self.endpoint_names_:
            raise ValueError(f"there is no endpoint {name!r}; the model has {', '.join(map(repr, self.endpoint_names_))}")
        return self.endpoint_names_.index(name)

    def _endpoints(self, y: Any) -> Endpoints:
        known = parse_endpoints(y)
        if known.names != self.endpoint_names_:
            raise ValueError(f"y must have the endpoints {self.endpoint_names_}; found {known.names}")
        return known

    def _cells(self, X: Any) -> Cells:
        """Covariates as given, endpoints free."""
        covariates = self.encoding_.covariates(X)
        nothing = np.broadcast_to(np.nan, (len(covariates), len(self.endpoint_names_)))
        return self.encoding_.cells(covariates, nothing, nothing)
