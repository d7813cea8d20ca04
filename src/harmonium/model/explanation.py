"""What the model has learned: latent codes, receptive fields, and dependence between endpoints."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from scipy.stats import norm
from sklearn.base import TransformerMixin, clone
from sklearn.utils.validation import check_is_fitted

from harmonium.model.dependence import kendall_tau
from harmonium.model.endpoint_states import EndpointStates
from harmonium.model.hidden import hidden_given, row_chunks
from harmonium.model.known import FittedModel
from harmonium.table.columns import Column
from harmonium.table.frames import to_pandas
from harmonium.typing import Array

__all__ = ["Explanation"]


class Explanation(TransformerMixin, FittedModel):  # type: ignore[misc]
    """Answers about the model itself."""

    def transform(self, X: Any, y: Any = None) -> Array:
        """Latent codes: p(h = 1) of every hidden unit (eq. 7).

        Parameters
        ----------
        X : DataFrame or array
            Covariates; gaps are fine.
        y : DataFrame, optional
            What is known of the endpoints.

        Returns
        -------
        ndarray of shape (n_rows, n_hidden)
        """
        check_is_fitted(self, "parameters_")
        cells = self._known(X, y)
        rng = self._sampling()
        chunks = row_chunks(cells, self.parameters_.n_hidden)
        return np.concatenate([hidden_given(self.parameters_, cells.part(rows), rng, self.n_jobs).expected() for rows in chunks])

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """Names of the latent codes: hidden0, hidden1, ..."""
        check_is_fitted(self, "parameters_")
        return np.array([f"hidden{j}" for j in range(self.parameters_.n_hidden)], dtype=object)

    def receptive_fields(self, X: Any, y: Any = None) -> pd.DataFrame:
        """What each hidden unit does to each column when it goes from off to on.

        Parameters
        ----------
        X, y
            Subjects at whose mean activation of the other hidden units event times are compared.

        Returns
        -------
        DataFrame
            A row for each column, or level of a category, and a column for each hidden unit. The index tells the measure: the change of
            the mean in standard deviations (numeric), of the log odds of a level (binary), of the log odds against the average level
            (categorical), or of the mean event time on the time scale (endpoint), where 1 is the whole scale.

        Examples
        --------
        >>> import harmonium as hm
        >>> X, y = hm.datasets.load_nvalt8()
        >>> model = hm.SurvivalHarmonium(n_hidden=2, n_starts=1, random_state=0).fit(X, y)
        >>> model.receptive_fields(X, y).loc["os"].shape
        (1, 2)
        """
        active = self.transform(X, y).mean(axis=0)
        natural, offsets = self.parameters_.natural(), self.encoding_.layout.offsets
        rows: dict[tuple[Any, str, str], Array] = {}
        for c, column in enumerate(self.encoding_.modelled):
            rows.update(_of_column(column, natural.bias[offsets[c] : offsets[c + 1]], natural.coupling[offsets[c] : offsets[c + 1]]))
        for e, name in enumerate(self.endpoint_names_):
            first = int(offsets[self._column(e)])
            on, off = (np.where(np.eye(active.size, dtype=bool), value, active) for value in (1.0, 0.0))
            means = [EndpointStates.of(natural, first, states).mean() for states in (on, off)]
            rows[name, "", "mean time (share of the scale)"] = means[0] - means[1]
        index = pd.MultiIndex.from_tuples(list(rows), names=["column", "level", "measure"])
        return pd.DataFrame(np.stack(list(rows.values())), index=index, columns=self.get_feature_names_out())

    def dependence(
        self, X: Any, y: Any = None, n_bootstrap: int = 0, *, confidence: float = 0.95, random_state: Any = None
    ) -> pd.DataFrame:
        """Do endpoints attract or repel each other? Kendall's tau of each pair under the model (eq. 25).

        Parameters
        ----------
        X : DataFrame or array
            Covariates of the subjects that are compared.
        y : DataFrame, optional
            Their endpoints; needed for the bootstrap only.
        n_bootstrap : int
            Refits to resampled rows, for confidence intervals, at least 2; the fits begin at this model's parameters.
        confidence : float
        random_state : int or numpy.random.Generator, optional
            Of the resampling.

        Returns
        -------
        DataFrame
            For each pair: ``tau`` between all subjects and ``tau_given_covariates`` between subjects with the same covariates, averaged;
            with a bootstrap, intervals of as many standard errors on Fisher's scale. (Not percentiles: resampled rows occur twice, which
            lowers the tau of the refits.) Positive: whoever has one event early tends to have the other early.
        """
        check_is_fitted(self, "parameters_")
        if len(self.endpoint_names_) < 2:
            raise ValueError("dependence needs at least two endpoints; the model has one")
        pairs = list(combinations(range(len(self.endpoint_names_)), 2))
        found = self._taus(X, pairs)
        out = pd.DataFrame(found, columns=["tau", "tau_given_covariates"])
        out.index = pd.MultiIndex.from_tuples([(self.endpoint_names_[a], self.endpoint_names_[b]) for a, b in pairs])
        if n_bootstrap:
            if y is None:
                raise ValueError("the bootstrap refits the model and needs y")
            replicates = self._bootstrap(X, y, pairs, n_bootstrap, np.random.default_rng(random_state))
            width = norm.ppf(0.5 + 0.5 * confidence) * np.arctanh(replicates).std(axis=0, ddof=1)
            for k, name in enumerate(["tau", "tau_given_covariates"]):
                middle = np.arctanh(out[name])
                out[f"{name}_lower"], out[f"{name}_upper"] = np.tanh(middle - width[:, k]), np.tanh(middle + width[:, k])
        return out

    def _taus(self, X: Any, pairs: list[tuple[int, int]]) -> list[tuple[float, float]]:
        cells, rng = self._known(X), self._sampling()
        columns = [(self._column(a), self._column(b)) for a, b in pairs]
        return [kendall_tau(self.parameters_, cells, pair, rng, self.n_jobs) for pair in columns]

    def _bootstrap(self, X: Any, y: Any, pairs: list[tuple[int, int]], n: int, rng: np.random.Generator) -> Array:
        """Replicates of the taus, (replicates, pairs, 2)."""
        frame = to_pandas(X)
        draws = [rng.integers(len(frame), size=len(frame)) for _ in range(n)]
        results = Parallel(n_jobs=self.n_jobs, prefer="threads")(
            delayed(_refitted_taus)(self, frame.iloc[rows], y.iloc[rows], pairs) for rows in draws
        )
        return np.array(results)


def _refitted_taus(model: Any, X: Any, y: Any, pairs: list[tuple[int, int]]) -> list[tuple[float, float]]:
    again = clone(model).set_params(warm_start=True, n_jobs=1, verbose=False)
    for name, value in vars(model).items():
        if name.endswith("_") and not name.startswith("_"):
            setattr(again, name, value)
    again.fit(X.reset_index(drop=True), y.reset_index(drop=True))
    taus: list[tuple[float, float]] = again._taus(X, pairs)
    return taus


def _of_column(column: Column, bias: Array, coupling: Array) -> dict[tuple[Any, str, str], Array]:
    """Effects of the hidden units on one covariate."""
    if column.role == "numeric":  # the mean is -linear / (2 quadratic)
        return {(column.name, "", "mean (standard deviations)"): -coupling[0] / (2.0 * bias[1])}
    if column.role == "binary":
        return {(column.name, str(column.levels[1]), "log odds"): -coupling[0]}
    centred = coupling.mean(axis=0) - coupling
    return {(column.name, str(level), "log odds"): effect for level, effect in zip(column.levels, centred, strict=True)}
