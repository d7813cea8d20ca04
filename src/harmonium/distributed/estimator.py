"""``DaskSurvivalHarmonium``: the same fit over a Dask DataFrame, on as many machines as there are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from harmonium.distributed import frames
from harmonium.distributed.clusters import the_client
from harmonium.distributed.evaluation import evaluate
from harmonium.distributed.objective import learn_table
from harmonium.model.fitted import Fitted
from harmonium.model.fitting import Recipe, fit_model
from harmonium.training.exact import Exact
from harmonium.training.trainer import Trainer

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["DaskSurvivalHarmonium"]


class DaskSurvivalHarmonium(BaseEstimator):  # type: ignore[misc]
    """A survival harmonium that is fitted to Dask DataFrames, whose rows stay where they are.

    One pass over the partitions learns the encoding; another encodes them, and the workers keep the result in memory. Then each gradient
    sends the parameters out and brings sums back. The model is that of :class:`harmonium.SurvivalHarmonium` for the same rows and
    settings, to rounding, if no covariate is missing. It depends on the partitions, but not on how many workers there are, which of them
    has which partition, or whether one is lost on the way.

    Parameters
    ----------
    n_hidden, n_covariate_units, objective, time_scale, horizon, numeric_scale, roles, verbose, random_state
        As in :class:`harmonium.SurvivalHarmonium`.
    trainer : "auto", "exact" or Exact
        Only the exact trainer works on many machines.
    client : distributed.Client, optional
        By default the one that was opened last. Without any, or without workers, there is a ``RuntimeError``.

    Attributes
    ----------
    fitted_ : Fitted
        The model: it is saved, and asked about tables in memory, as any other.
    history_ : DataFrame
        A row for each iteration.

    Notes
    -----
    Where an endpoint is terminal, each endpoint has a harmonium of its own, as in memory, and the sojourns from which it is learned are
    encoded where their subjects are; the same endpoints must be terminal in all partitions. The distribution of covariates is learned from
    at most about 20,000 rows, and what imputations are drawn from, from 10,000, which come to the client.

    Other than in memory, subjects of whom something is not known are not completed in training, also of one endpoint: a harmonium sums over
    covariates that are missing, and event histories count as far as they were seen (``harmonium/table/histories.py``).

    Up to 200,000 distinct times of each endpoint, or sojourns in each state, the encoding is that of the whole table. Beyond, time scales
    come from times that are rounded down by less than a thousandth, and tied event times are not widened to intervals
    (``harmonium/table/endpoint_summary.py``). A column may have at most 10,000 levels.

    Examples
    --------
    .. code-block:: python

        import dask.dataframe as dd
        import harmonium.distributed as hd
        from dask.distributed import Client

        client = Client("tcp://scheduler:8786")
        table = dd.read_parquet("registry/")
        y = hd.endpoints(table, os=("os_mth", "dead"))
        X = table.drop(columns=["os_mth", "dead"])
        model = hd.DaskSurvivalHarmonium(n_hidden=4, random_state=0).fit(X, y)
        model.predict_survival_function(X, times=[12, 24]).to_parquet("predictions/")
    """

    def __init__(
        self,
        n_hidden: str | int = "auto",
        *,
        n_covariate_units: str | int = "auto",
        objective: str | float = "conditional",
        time_scale: str = "kaplan-meier",
        horizon: float | Mapping[str, float] | None = None,
        numeric_scale: str = "scores",
        roles: Mapping[Any, str] | None = None,
        trainer: str | Trainer = "auto",
        verbose: bool = False,
        random_state: int | None = None,
        client: Any = None,
    ) -> None:
        self.n_hidden = n_hidden
        self.n_covariate_units = n_covariate_units
        self.objective = objective
        self.time_scale = time_scale
        self.horizon = horizon
        self.numeric_scale = numeric_scale
        self.roles = roles
        self.trainer = trainer
        self.verbose = verbose
        self.random_state = random_state
        self.client = client

    def fit(self, X: Any, y: Any, sample_weight: None = None) -> DaskSurvivalHarmonium:
        """Fit to covariates and endpoints.

        Parameters
        ----------
        X : dask.dataframe.DataFrame
            Covariates; values may be missing.
        y : dask.dataframe.DataFrame
            What :func:`harmonium.distributed.endpoints` returns: the same partitions, with the same rows, as X.
        sample_weight : None
            Rows have no weights here; anything else is refused.

        Returns
        -------
        self
        """
        if sample_weight is not None:
            raise ValueError(
                "rows of a Dask DataFrame cannot have weights; fit harmonium.SurvivalHarmonium to a table in memory, such as a sample of it"
            )
        recipe = Recipe.of(self)
        if not isinstance(recipe.resolved(), Exact):
            raise ValueError(
                f"many machines need the exact trainer, with at most 14 hidden units; found {self.trainer!r} and n_hidden={self.n_hidden}"
            )
        table = learn_table(the_client(self.client), recipe, X, y)
        self.fitted_, self.history_ = fit_model(recipe, table, verbose=self.verbose, random_state=self.random_state)
        return self

    @property
    def fitted(self) -> Fitted:
        """The fitted model that answers."""
        check_is_fitted(self, "fitted_")
        model: Fitted = self.fitted_
        return model

    # --- questions about Dask DataFrames, answered when they are computed ---

    def predict(self, X: Any, *, endpoint: Any = None, given: Any = None) -> Any:
        """Risk; see :func:`harmonium.distributed.predict`."""
        return frames.predict(self.fitted, X, endpoint=endpoint, given=given)

    def predict_survival_function(self, X: Any, *, times: Any, endpoint: Any = None, given: Any = None) -> Any:
        """Survival; see :func:`harmonium.distributed.predict_survival_function`."""
        return frames.predict_survival_function(self.fitted, X, times=times, endpoint=endpoint, given=given)

    def predict_cumulative_incidence(self, X: Any, *, times: Any, endpoint: Any = None, given: Any = None) -> Any:
        """Cumulative incidence; see :func:`harmonium.distributed.predict_cumulative_incidence`."""
        return frames.predict_cumulative_incidence(self.fitted, X, times=times, endpoint=endpoint, given=given)

    def predict_state_probabilities(self, X: Any, *, times: Any, given: Any = None) -> Any:
        """Where subjects are at each time; see :func:`harmonium.distributed.predict_state_probabilities`."""
        return frames.predict_state_probabilities(self.fitted, X, times=times, given=given)

    def predict_time_in_states(self, X: Any, *, until: float, given: Any = None) -> Any:
        """Mean time spent on each path; see :func:`harmonium.distributed.predict_time_in_states`."""
        return frames.predict_time_in_states(self.fitted, X, until=until, given=given)

    def predict_cumulative_hazard_function(self, X: Any, *, times: Any, endpoint: Any = None, given: Any = None) -> Any:
        """Cumulative hazard; see :func:`harmonium.distributed.predict_cumulative_hazard_function`."""
        return frames.predict_cumulative_hazard_function(self.fitted, X, times=times, endpoint=endpoint, given=given)

    def predict_median(self, X: Any, *, endpoint: Any = None, given: Any = None) -> Any:
        """The median event time; see :func:`harmonium.distributed.predict_median`."""
        return frames.predict_median(self.fitted, X, endpoint=endpoint, given=given)

    def predict_quantile(self, X: Any, *, q: float = 0.5, endpoint: Any = None, given: Any = None) -> Any:
        """A quantile of the event time; see :func:`harmonium.distributed.predict_quantile`."""
        return frames.predict_quantile(self.fitted, X, q=q, endpoint=endpoint, given=given)

    def predict_restricted_mean(self, X: Any, *, until: float, endpoint: Any = None, given: Any = None) -> Any:
        """The mean event time until a time; see :func:`harmonium.distributed.predict_restricted_mean`."""
        return frames.predict_restricted_mean(self.fitted, X, until=until, endpoint=endpoint, given=given)

    def impute(self, X: Any, y: Any = None, *, n_draws: int = 1, within_range: bool = True, random_state: int = 0) -> list[tuple[Any, Any]]:
        """Completed tables; see :func:`harmonium.distributed.impute`."""
        return frames.impute(self.fitted, X, y, n_draws=n_draws, within_range=within_range, random_state=random_state)

    def evaluate(self, X: Any, y: Any, **arguments: Any) -> pd.DataFrame:
        """Compare predictions with what happened; see :func:`harmonium.distributed.evaluate`."""
        return evaluate(self.fitted, X, y, **arguments)

    def save(self, path: Any) -> None:
        """Write the model to one file; :func:`harmonium.load` reads it."""
        self.fitted.save(path)
