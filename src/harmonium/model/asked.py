"""What is asked of a model, and what is given: tables of endpoints that must belong to it, and times."""

from __future__ import annotations

from typing import Any

import numpy as np

from harmonium.model.answering import Answering
from harmonium.model.prognosis import Prognosis, endpoint_place
from harmonium.table.checks import check_given, check_times
from harmonium.table.endpoints import Endpoints, parse_endpoints
from harmonium.table.labels import check_index
from harmonium.typing import Array

__all__ = ["asked_times", "given_endpoints", "observed_endpoints"]

_OTHER_UNIT = 3.0  # times follow-up in training: hardly anybody is followed for so long, but days are more than that many weeks or months


def asked_times(prognosis: Prognosis, endpoint: Any, times: Any) -> Array:
    """The times of a curve: by default the distinct event times in training of one endpoint, or of several."""
    if times is not None:
        return np.atleast_1d(np.asarray(times, dtype=np.float64))
    encoding = prognosis.encoding
    names = (endpoint,) if endpoint is None or isinstance(endpoint, str) else tuple(endpoint)
    found = [encoding.endpoints[endpoint_place(encoding.endpoint_names, name)].event_times for name in names]
    return found[0] if len(found) == 1 else np.unique(np.concatenate(found))


def observed_endpoints(fitted: Answering, X: Any, y: Any, n_rows: int) -> Endpoints:
    """All endpoints of the model, as many rows as X."""
    known, names = parse_endpoints(y).in_unit(fitted.encoding.unit), fitted.encoding.endpoint_names
    if known.names != names:
        raise ValueError(f"y must have the endpoints {names}; found {known.names}")
    if len(known.lower) != n_rows:
        raise ValueError(f"X and y must have as many rows; found {n_rows} and {len(known.lower)}")
    check_index(X, y)
    return known


def given_endpoints(fitted: Answering, X: Any, given: Any, n_rows: int) -> Endpoints:
    """All endpoints in the model's order; nothing is known of those that ``given`` does not have."""
    known, names = parse_endpoints(given).in_unit(fitted.encoding.unit), fitted.encoding.endpoint_names
    strangers = [name for name in known.names if name not in names]
    if strangers:
        raise ValueError(f"there is no endpoint {strangers[0]!r}; the model has {', '.join(map(repr, names))}")
    if len(known.lower) != n_rows:
        raise ValueError(f"given must have as many rows as X; found {len(known.lower)} and {n_rows}")
    check_index(X, given, "given")
    ordered = fitted.encoding.ordered
    check_given(names, known, terminal=() if ordered is None else ordered.graph.terminal)
    known = known.reordered(names)
    for e, endpoint in enumerate(fitted.encoding.endpoints):
        times = np.concatenate([known.lower[:, e], known.upper[:, e]])
        check_times(endpoint, times[np.isfinite(times) & (times > _OTHER_UNIT * endpoint.follow_up.last)])
    return known
