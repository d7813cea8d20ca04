"""Predictions: survival and what follows from it, for any endpoint and anything that is known."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from numbers import Real
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted
from sksurv.functions import StepFunction

from harmonium.metrics.orderings import global_concordance
from harmonium.model.curves import density, groups_of_intervals, mean_position, own_interval, survival, survivals
from harmonium.model.hidden import Answer
from harmonium.model.joint import joint_density, joint_survival
from harmonium.model.known import FittedModel
from harmonium.model.quantiles import quantile
from harmonium.typing import Array

__all__ = ["Predictions", "as_step_functions"]

_N_NODES = 8  # of each piece in which a survival curve is integrated


class Predictions(FittedModel):
    """Answers about when events take place.

    Every method takes ``given``: a table of endpoints, as :func:`harmonium.endpoints` or :func:`harmonium.landmark` makes it, with what is
    known of any endpoint, the one that is asked for included. Endpoints that it does not have are unknown.
    """

    def predict_survival_function(
        self,
        X: Any,
        endpoint: str | None = None,
        times: Any = None,
        *,
        given: Any = None,
        return_array: bool = False,
        return_diagnostics: bool = False,
    ) -> Any:
        """Probability of no event until each time (eq. 20).

        Parameters
        ----------
        X : DataFrame or array
            Covariates; gaps are fine.
        endpoint : str, optional
            By default the first.
        times : array_like, optional
            By default the distinct event times in training.
        given : DataFrame, optional
            What is known of the endpoints.
        return_array : bool
            An array (rows, times) rather than scikit-survival's step functions.
        return_diagnostics : bool
            Also return an :class:`~harmonium.model.hidden.Answer` with Monte-Carlo errors and R-hat. Up to 14 hidden units answers are
            exact, and its errors zero.

        Returns
        -------
        array of StepFunction, or ndarray of shape (n_rows, n_times)

        Examples
        --------
        >>> import harmonium as hm
        >>> X, y = hm.datasets.load_nvalt8()
        >>> model = hm.SurvivalHarmonium(n_hidden=2, n_starts=1, random_state=0).fit(X, y)
        >>> alive = model.predict_survival_function(X[:1], "os", [12, 24], given=hm.landmark(y[:1], 12), return_array=True)
        >>> float(alive[0, 0])
        1.0
        """
        e, times = self._endpoint(endpoint), self._times(endpoint, times)
        answer = survival(
            self.parameters_, self._known(X, given), self._column(e), self._scale(e).to_unit(times), self._sampling(), self.n_jobs
        )
        curves = answer.mean if return_array else as_step_functions(times, answer.mean)
        return (curves, answer) if return_diagnostics else curves

    def predict_survival_curves(self, X: Any, times: Any, *, given: Any = None) -> dict[str, Array]:
        """Probability of no event until each time, for all endpoints.

        As :meth:`predict_survival_function` for each of them, but what they have in common is computed once.

        Parameters
        ----------
        X : DataFrame or array
            Covariates; gaps are fine.
        times : array_like
        given : DataFrame, optional
            What is known of the endpoints, the one that is asked for included.

        Returns
        -------
        dict of endpoint to ndarray of shape (n_rows, n_times)
        """
        check_is_fitted(self, "parameters_")
        at = self._times(None, times)
        positions = {self._column(e): scale.to_unit(at) for e, scale in enumerate(self.encoding_.scales)}
        answers = survivals(self.parameters_, self._known(X, given), positions, self._sampling(), self.n_jobs)
        return {name: answer.mean for name, answer in zip(self.endpoint_names_, answers, strict=True)}

    def predict_cumulative_hazard_function(
        self, X: Any, endpoint: str | None = None, times: Any = None, *, given: Any = None, return_array: bool = False
    ) -> Any:
        """Cumulative hazard, -ln S, at each time; infinite where S is zero.

        Parameters
        ----------
        X : DataFrame or array
            Covariates; gaps are fine.
        endpoint : str, optional
            By default the first.
        times : array_like, optional
            By default the endpoint's distinct event times in training.
        given : DataFrame, optional
            What is known of the endpoints, the one that is asked for included.
        return_array : bool
            An array (rows, times) rather than scikit-survival's step functions.

        Returns
        -------
        array of StepFunction, or ndarray of shape (n_rows, n_times)
        """
        times = self._times(endpoint, times)
        alive = self.predict_survival_function(X, endpoint, times, given=given, return_array=True)
        with np.errstate(divide="ignore"):
            hazard = -np.log(alive) + 0.0
        return hazard if return_array else as_step_functions(times, hazard)

    def predict_density(self, X: Any, endpoint: str | None = None, times: Any = None, *, given: Any = None) -> Array:
        """Density of the event time at each time (eq. 23).

        Parameters
        ----------
        X : DataFrame or array
            Covariates; gaps are fine.
        endpoint : str, optional
            By default the first.
        times : array_like, optional
            By default the endpoint's distinct event times in training.
        given : DataFrame, optional
            What is known of the endpoints, the one that is asked for included.

        Returns
        -------
        ndarray of shape (n_rows, n_times)
            In the unit of one over time; NaN in rows whose event time is given.
        """
        e, times = self._endpoint(endpoint), self._times(endpoint, times)
        scale = self._scale(e)
        at_unit = density(self.parameters_, self._known(X, given), self._column(e), scale.to_unit(times), self._sampling(), self.n_jobs)
        return at_unit.mean * np.exp(scale.log_slope(times))

    def predict_hazard(self, X: Any, endpoint: str | None = None, times: Any = None, *, given: Any = None) -> Array:
        """Hazard: density divided by survival, at each time (eq. 23).

        Parameters
        ----------
        X : DataFrame or array
            Covariates; gaps are fine.
        endpoint : str, optional
            By default the first.
        times : array_like, optional
            By default the endpoint's distinct event times in training.
        given : DataFrame, optional
            What is known of the endpoints, the one that is asked for included.

        Returns
        -------
        ndarray of shape (n_rows, n_times)
            In the unit of one over time.
        """
        times = self._times(endpoint, times)
        alive = self.predict_survival_function(X, endpoint, times, given=given, return_array=True)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(self.predict_density(X, endpoint, times, given=given) / alive)

    def predict_quantile(self, X: Any, share: float = 0.5, endpoint: str | None = None, *, given: Any = None) -> Array:
        """The time until which the event has happened with probability ``share`` (eq. 24).

        With the Kaplan-Meier time scale, times beyond follow-up are extrapolations: exponential beyond the last event.

        Parameters
        ----------
        X : DataFrame or array
            Covariates; gaps are fine.
        share : float
            Between 0 and 1.
        endpoint : str, optional
            By default the first.
        given : DataFrame, optional
            What is known of the endpoints, the one that is asked for included.

        Returns
        -------
        ndarray of shape (n_rows,)
        """
        e = self._endpoint(endpoint)
        if not 0.0 < share < 1.0:
            raise ValueError(f"share must lie between 0 and 1; found {share!r}")
        position = quantile(self.parameters_, self._known(X, given), self._column(e), share, self._sampling(), self.n_jobs)
        times = self._scale(e).from_unit(position)
        if given is not None:
            known = self._given(given, len(times))
            times = np.clip(times, known.lower[:, e], known.upper[:, e])
        return times

    def predict_median(self, X: Any, endpoint: str | None = None, *, given: Any = None) -> Array:
        """The median event time of every row; see :meth:`~harmonium.SurvivalHarmonium.predict_quantile`.

        Parameters
        ----------
        X : DataFrame or array
            Covariates; gaps are fine.
        endpoint : str, optional
            By default the first.
        given : DataFrame, optional
            What is known of the endpoints, the one that is asked for included.

        Returns
        -------
        ndarray of shape (n_rows,)
        """
        return self.predict_quantile(X, 0.5, endpoint, given=given)

    def predict_restricted_mean(self, X: Any, until: float, endpoint: str | None = None, *, given: Any = None) -> Array:
        """Restricted mean: of the event time or ``until``, whichever comes first; the area under the survival curve (eq. 24).

        Parameters
        ----------
        X : DataFrame or array
            Covariates; gaps are fine.
        until : float
        endpoint : str, optional
            By default the first.
        given : DataFrame, optional
            What is known of the endpoints, the one that is asked for included.

        Returns
        -------
        ndarray of shape (n_rows,)
        """
        e = self._endpoint(endpoint)
        if not (isinstance(until, Real) and 0.0 < until < np.inf):
            raise ValueError(f"until must be a positive time; found {until!r}")
        cells, scale, column, rng = self._known(X, given), self._scale(e), self._column(e), self._sampling()
        lower, upper = own_interval(cells, column)
        out = np.empty(cells.n_rows)
        groups = groups_of_intervals(lower, upper)
        for group, row in enumerate(np.unique(groups, return_index=True)[1]):
            rows = np.flatnonzero(groups == group)
            start = float(scale.from_unit(lower[row : row + 1])[0])
            if lower[row] == upper[row] or start >= until:
                out[rows] = min(start, until)
                continue
            ends = [] if upper[row] >= 1.0 else [float(scale.from_unit(upper[row : row + 1])[0])]
            times, weights = _nodes(start, float(until), [*np.atleast_1d(scale.knot_times), *ends])
            alive = survival(self.parameters_, cells.part(rows), column, scale.to_unit(times), rng, self.n_jobs).mean
            out[rows] = start + alive @ weights
        return out

    def predict_joint_survival(self, X: Any, times: Mapping[str, Any], *, given: Any = None) -> Array:
        """Probability that no endpoint has had its event until its time, on a grid (eq. 22).

        Parameters
        ----------
        X : DataFrame or array
            Covariates; gaps are fine.
        times : mapping of endpoint to array_like
            The grid; other endpoints are marginalised out, unless given.
        given : DataFrame, optional
            What is known of the endpoints, the one that is asked for included.

        Returns
        -------
        ndarray of shape (n_rows, times of the first endpoint, of the second, ...)
        """
        return self._on_grid(joint_survival, X, times, given).mean

    def predict_joint_density(self, X: Any, times: Mapping[str, Any], *, given: Any = None) -> Array:
        """Joint density of several endpoints' event times on a grid.

        Parameters
        ----------
        X : DataFrame or array
            Covariates; gaps are fine.
        times : mapping of endpoint to array_like
            The grid; other endpoints are marginalised out, unless given.
        given : DataFrame, optional
            What is known of the endpoints, the one that is asked for included.

        Returns
        -------
        ndarray of shape (n_rows, times of the first endpoint, of the second, ...)
        """
        out = self._on_grid(joint_density, X, times, given).mean
        for axis, (name, at) in enumerate(times.items(), start=1):
            slope = np.exp(self._scale(self._endpoint(name)).log_slope(self._times(name, at)))
            out = out * slope.reshape([-1 if k == axis else 1 for k in range(out.ndim)])
        return out

    def predict(self, X: Any, endpoint: str | None = None, *, given: Any = None) -> Array:
        """Risk: higher means sooner.

        Parameters
        ----------
        X : DataFrame or array
            Covariates; gaps are fine.
        endpoint : str, optional
            By default the first.
        given : DataFrame, optional
            What is known of the endpoints, the one that is asked for included.

        Returns
        -------
        ndarray of shape (n_rows,)
            Minus the mean event time on the time scale.
        """
        e = self._endpoint(endpoint)
        return -mean_position(self.parameters_, self._known(X, given), self._column(e), self._sampling(), self.n_jobs).mean[:, 0]

    def score(self, X: Any, y: Any) -> float:
        """Harrell's concordance index, averaged over endpoints.

        Parameters
        ----------
        X : DataFrame or array
        y : DataFrame or structured array
            What was recorded, as in :meth:`fit`.

        Returns
        -------
        float
        """
        check_is_fitted(self, "parameters_")
        self._endpoints(y)
        return global_concordance(y, np.column_stack([self.predict(X, name) for name in self.endpoint_names_]))

    def _on_grid(self, function: Callable[..., Answer], X: Any, times: Mapping[str, Any], given: Any) -> Answer:
        if not isinstance(times, Mapping) or not times:
            raise ValueError('times must be a mapping of endpoints to times, such as {"os": [12, 24], "rfs": [6, 12]}')
        places = [self._endpoint(name) for name in times]
        positions = [self._scale(e).to_unit(self._times(name, at)) for e, (name, at) in zip(places, times.items(), strict=True)]
        cells = self._known(X, given)
        return function(self.parameters_, cells, [self._column(e) for e in places], positions, self._sampling(), self.n_jobs)

    def _times(self, endpoint: str | None, times: Any) -> Array:
        """Checked times; by default the endpoint's distinct event times in training."""
        name = self.endpoint_names_[self._endpoint(endpoint)]
        checked: Array = self.event_times_[name] if times is None else np.atleast_1d(np.asarray(times, dtype=np.float64))
        if checked.ndim != 1 or np.isnan(checked).any() or (checked < 0.0).any():
            raise ValueError(f"times must be numbers that are not negative; found {times!r}")
        return checked


def as_step_functions(times: Any, curves: Array) -> Any:
    """Curves (rows, times) as scikit-survival's step functions."""
    return np.array([StepFunction(times, row, domain=(0.0, None)) for row in curves], dtype=object)


def _nodes(start: float, end: float, breaks: list[float]) -> tuple[Array, Array]:
    """Nodes and weights of Gauss-Legendre quadrature between neighbouring breaks."""
    inner = sorted({time for time in breaks if start < time < end})
    edges = np.array([start, *inner, end])
    x, weight = np.polynomial.legendre.leggauss(_N_NODES)
    half = 0.5 * np.diff(edges)[:, None]
    return (edges[:-1, None] + half * (x + 1.0)).ravel(), (half * weight).ravel()
