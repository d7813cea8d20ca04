"""Completed tables and synthetic cohorts, in the user's columns, types and units."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from sklearn.utils.validation import check_is_fitted

from harmonium.cells import Cells
from harmonium.model.draws import draw_tables
from harmonium.model.known import FittedModel
from harmonium.table.endpoints import Endpoints
from harmonium.table.frames import to_pandas
from harmonium.typing import Array

__all__ = ["Generation"]


class Generation(FittedModel):
    """Answers in the form of data."""

    objective: str | float

    def impute(
        self, X: Any, y: Any = None, n_draws: int = 1, *, within_range: bool = True, random_state: Any = None
    ) -> list[tuple[pd.DataFrame, pd.DataFrame]]:
        """Fill the gaps of a table with draws from the model, given everything that is known of each row.

        Parameters
        ----------
        X : DataFrame or array
            Covariates with gaps.
        y : DataFrame, optional
            Endpoints; censored times are drawn inside their intervals. Without it, they are drawn given the covariates.
        n_draws : int
            Completed tables, for multiple imputation: analyse each and combine the results with :func:`harmonium.pool`.
        within_range : bool
            Draw numeric covariates only between the smallest and the largest value in training.
        random_state : int or numpy.random.Generator, optional

        Returns
        -------
        list of tuples (X, y)
            Observed values are exactly what they were; columns keep their types.

        Examples
        --------
        >>> import harmonium as hm
        >>> X, y = hm.datasets.load_nvalt8()
        >>> model = hm.SurvivalHarmonium(n_hidden=2, objective=0.95, n_starts=1, random_state=0).fit(X, y)
        >>> completed, times = model.impute(X, y, random_state=0)[0]
        >>> int(X.isna().sum().sum()) > 0, int(completed.isna().sum().sum())
        (True, 0)
        """
        check_is_fitted(self, "parameters_")
        if n_draws < 1:
            raise ValueError(f"n_draws must be at least 1; found {n_draws}")
        frame = to_pandas(X)
        covariates = self._covariates(X)
        if np.isnan(covariates).any():
            self._warn_if_covariates_are_not_modelled("impute covariates")
        known = self._unknown(len(frame)) if y is None else self._given(y, len(frame))
        cells = self._draw_from(covariates, known, within_range)
        rng = np.random.default_rng(random_state)
        index = frame.index if y is None or not hasattr(y, "index") else y.index
        return [
            (self._completed(frame, values), self._as_endpoints(self._drawn_times(values, known), index))
            for values in draw_tables(self.parameters_, cells, n_draws, rng, self.n_jobs)
        ]

    def sample(
        self, n: int = 1, X: Any = None, *, given: Any = None, censored: bool = False, random_state: Any = None
    ) -> tuple[pd.DataFrame, pd.DataFrame]:
        """A synthetic cohort.

        Endpoints are drawn together with the covariates, but the model knows no rule between them: where a study's events have a necessary
        order, a draw may violate it.

        Parameters
        ----------
        n : int
            Subjects; with ``X``, subjects for each of its rows.
        X : DataFrame, optional
            Covariates to condition on; gaps are drawn.
        given : DataFrame, optional
            With ``X``, what is known of the endpoints.
        censored : bool
            Censor as in training: each subject's follow-up is drawn from the Kaplan-Meier estimate of follow-up, at the same quantile for
            all endpoints.
        random_state : int or numpy.random.Generator, optional

        Returns
        -------
        X, y : DataFrame
            Numeric covariates lie in the range seen in training; event times are in the user's unit.

        Examples
        --------
        >>> import harmonium as hm
        >>> X, y = hm.datasets.load_nvalt8()
        >>> model = hm.SurvivalHarmonium(n_hidden=2, objective=0.95, n_starts=1, random_state=0).fit(X, y)
        >>> cohort, times = model.sample(100, random_state=0)
        >>> list(cohort.columns) == list(X.columns), times.shape
        (True, (100, 4))
        """
        check_is_fitted(self, "parameters_")
        if n < 1:
            raise ValueError(f"n must be at least 1; found {n}")
        if given is not None and X is None:
            raise ValueError("what is given must belong to rows of X; found no X")
        rng = np.random.default_rng(random_state)
        if X is None:
            covariates, known = np.full((n, len(self.encoding_.modelled)), np.nan), self._unknown(n)
        else:
            encoded = self._covariates(X)
            covariates = np.repeat(encoded, n, axis=0)
            known = self._unknown(len(encoded)) if given is None else self._given(given, len(encoded))
            known = Endpoints(known.names, *(np.repeat(part, n, axis=0) for part in (known.lower, known.upper, known.entry)))
        if np.isnan(covariates).any():
            self._warn_if_covariates_are_not_modelled("draw covariates")
        values = next(draw_tables(self.parameters_, self._draw_from(covariates, known, within_range=True), 1, rng, self.n_jobs))
        times = self._drawn_times(values, known)
        follow_up = self._drawn_follow_up(len(times), rng) if censored else np.full_like(times, np.inf)
        return self.encoding_.decode_covariates(values[:, : covariates.shape[1]]), self._as_endpoints(times, None, follow_up)

    def draw_times(self, X: Any, n_draws: int = 100, *, given: Any = None, random_state: Any = None) -> Array:
        """Event times drawn given covariates.

        Parameters
        ----------
        X : DataFrame or array
            Covariates; gaps are fine.
        n_draws : int
        given : DataFrame, optional
            What is known of the endpoints, the one that is asked for included.
        random_state : int or numpy.random.Generator, optional

        Returns
        -------
        ndarray of shape (n_draws, n_rows, n_endpoints)
        """
        check_is_fitted(self, "parameters_")
        cells = self._known(X, given)
        known = self._unknown(cells.n_rows) if given is None else self._given(given, cells.n_rows)
        tables: Iterator[Array] = draw_tables(self.parameters_, cells, n_draws, np.random.default_rng(random_state), self.n_jobs)
        return np.stack([self._drawn_times(values, known) for values in tables])

    def _warn_if_covariates_are_not_modelled(self, purpose: str) -> None:
        if self.objective in ("conditional", 1.0):
            warnings.warn(
                f"the model was trained to predict endpoints given covariates and knows little of the covariates themselves; "
                f'to {purpose}, train one with objective="joint"',
                UserWarning,
                stacklevel=3,
            )

    def _unknown(self, n_rows: int) -> Endpoints:
        shape = (n_rows, len(self.endpoint_names_))
        return Endpoints(self.endpoint_names_, np.zeros(shape), np.full(shape, np.inf), np.zeros(shape))

    def _draw_from(self, covariates: Array, known: Endpoints, within_range: bool) -> Cells:
        """Cells of known values; gaps in numeric columns become intervals if draws are to stay within range."""
        cells = self.encoding_.cells(covariates, *self.encoding_.times(known))
        if not within_range:
            return cells
        lower, upper = cells.bounds()
        for c, column in enumerate(self.encoding_.modelled):
            if column.role == "numeric":
                gap = np.isnan(lower[:, c])
                lower[gap, c], upper[gap, c] = ((bound - column.mean) / column.scale for bound in (column.lowest, column.highest))
        return Cells.from_bounds(cells.layout, lower, upper)

    def _drawn_times(self, values: Array, known: Endpoints) -> Array:
        """Drawn event times in the user's unit, never outside what is known of them."""
        first = len(self.encoding_.modelled)
        positions = np.minimum(values[:, first:], 1.0 - 1e-12)
        times = np.column_stack([scale.from_unit(positions[:, e]) for e, scale in enumerate(self.encoding_.scales)])
        at_zero = known.upper == 0.0
        upper = np.where(at_zero, self.encoding_.first_recordings, known.upper)
        return np.where(known.event & ~at_zero, known.lower, np.clip(times, np.nextafter(known.lower, np.inf), upper))

    def _drawn_follow_up(self, n: int, rng: np.random.Generator) -> Array:
        share = rng.random(n)
        return np.column_stack([follow_up.at(share) for follow_up in self.encoding_.follow_up])

    def _as_endpoints(self, times: Array, index: pd.Index | None, follow_up: Array | None = None) -> pd.DataFrame:
        """A table of endpoints with events at given times, or censored at the end of follow-up."""
        seen = np.ones(times.shape, dtype=bool) if follow_up is None else times <= follow_up
        last = times if follow_up is None else np.minimum(times, follow_up)
        parts = {}
        for e, name in enumerate(self.endpoint_names_):
            parts[name, "lower"], parts[name, "upper"] = last[:, e], np.where(seen[:, e], last[:, e], np.inf)
        return pd.DataFrame(parts, index=index)

    def _completed(self, frame: pd.DataFrame, values: Array) -> pd.DataFrame:
        """The user's table with its gaps filled."""
        decoded = self.encoding_.decode_covariates(values[:, : len(self.encoding_.modelled)], frame.index)
        out = frame.copy()
        for name in decoded.columns.intersection(frame.columns):
            series = frame[name]
            gap = series.isna().to_numpy()
            if gap.any():
                out[name] = _filled(series, gap, decoded[name])
        return out


def _filled(series: pd.Series, gap: Any, drawn: pd.Series) -> pd.Series:
    """A column with its gaps filled, of its own type if that can hold the values."""
    if isinstance(series.dtype, pd.CategoricalDtype):
        out = series.astype(drawn.dtype) if isinstance(drawn.dtype, pd.CategoricalDtype) else series.astype(object)
    else:
        out = series.copy()
    values = drawn[gap] if isinstance(out.dtype, pd.CategoricalDtype) else drawn[gap].to_numpy()
    try:
        out[gap] = values
    except (TypeError, ValueError):  # whole numbers here, but not in training
        out = out.astype(drawn.dtype)
        out[gap] = values
    return out
