"""What is known of some subjects: their covariates, and possibly something about their endpoints."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from harmonium.cells import Cells
from harmonium.engine.parameters import Parameters
from harmonium.table.encoding import Encoding
from harmonium.table.endpoints import Endpoints, parse_endpoints
from harmonium.table.time_scale import TimeScale
from harmonium.typing import Array

__all__ = ["FittedModel"]


class FittedModel:
    """The part of a fitted model that all answers need."""

    encoding_: Encoding
    parameters_: Parameters
    endpoint_names_: tuple[str, ...]
    event_times_: dict[str, Array]
    n_features_in_: int
    n_jobs: int | None
    random_state: Any

    def _endpoint(self, name: str | None) -> int:
        """Number of an endpoint; the first if none is named."""
        check_is_fitted(self, "parameters_")
        if name is None:
            return 0
        if name not in self.endpoint_names_:
            raise ValueError(f"there is no endpoint {name!r}; the model has {', '.join(map(repr, self.endpoint_names_))}")
        return self.endpoint_names_.index(name)

    def _column(self, endpoint: int) -> int:
        """Place of an endpoint in the layout."""
        return len(self.encoding_.modelled) + endpoint

    def _scale(self, endpoint: int) -> TimeScale:
        return self.encoding_.scales[endpoint]

    def _endpoints(self, y: Any) -> Endpoints:
        known = parse_endpoints(y)
        if known.names != self.endpoint_names_:
            raise ValueError(f"y must have the endpoints {self.endpoint_names_}; found {known.names}")
        return known

    def _covariates(self, X: Any) -> Array:
        """Encoded covariates; an array, whose columns have no names, must have as many as in training."""
        check_is_fitted(self, "encoding_")
        shape = (0, self.n_features_in_) if hasattr(X, "columns") else np.asarray(X).shape
        n_columns = shape[1] if len(shape) == 2 else self.n_features_in_
        if n_columns != self.n_features_in_:
            name = type(self).__name__
            raise ValueError(f"X has {n_columns} features, but {name} is expecting {self.n_features_in_} features as input")
        return self.encoding_.covariates(X)

    def _known(self, X: Any, given: Any = None) -> Cells:
        """Covariates as they are, and endpoints as far as they are given."""
        covariates = self._covariates(X)
        if given is None:
            nothing = np.broadcast_to(np.nan, (len(covariates), len(self.endpoint_names_)))
            return self.encoding_.cells(covariates, nothing, nothing)
        return self.encoding_.cells(covariates, *self.encoding_.times(self._given(given, len(covariates))))

    def _given(self, given: Any, n_rows: int) -> Endpoints:
        """All endpoints in the model's order; nothing is known of those that ``given`` does not have."""
        known = parse_endpoints(given)
        strangers = [name for name in known.names if name not in self.endpoint_names_]
        if strangers:
            raise ValueError(f"there is no endpoint {strangers[0]!r}; the model has {', '.join(map(repr, self.endpoint_names_))}")
        if len(known.lower) != n_rows:
            raise ValueError(f"given must have as many rows as X; found {len(known.lower)} and {n_rows}")
        place = {name: e for e, name in enumerate(known.names)}
        lower, upper = np.zeros((n_rows, len(self.endpoint_names_))), np.full((n_rows, len(self.endpoint_names_)), np.inf)
        for e, name in enumerate(self.endpoint_names_):
            if name in place:
                lower[:, e], upper[:, e] = known.lower[:, place[name]], known.upper[:, place[name]]
        return Endpoints(self.endpoint_names_, lower, upper, np.zeros_like(lower))

    def _sampling(self) -> np.random.Generator:
        """For answers beyond enumeration: the same at every call."""
        seed = self.random_state if isinstance(self.random_state, int | np.integer) else 0
        return np.random.default_rng(int(seed))
