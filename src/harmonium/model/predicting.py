"""Predictions of a fitted model, in scikit-learn's and scikit-survival's words. Each method is a short question to a prognosis."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

from harmonium.model.answering import Answering
from harmonium.model.asked import asked_times, given_endpoints
from harmonium.model.confidence import Interval
from harmonium.model.prognosis import Prognosis
from harmonium.table.step_function import as_step_functions

__all__ = ["Predicting"]


class Predicting(ABC):
    """Questions about rows."""

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
