"""Weights of rows on their way through scikit-learn, which cuts them into folds with the rows, to a scorer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sklearn.utils.metadata_routing import MetadataRequest

__all__ = ["weighted_scorer"]


class _Routed:
    """A scorer that asks scikit-learn for the weights of the rows it is given."""

    def __init__(self, scorer: Callable[..., float]) -> None:
        self._scorer = scorer

    def __call__(self, estimator: Any, X: Any, y: Any, **arguments: Any) -> float:
        return self._scorer(estimator, X, y, **arguments)

    def get_metadata_routing(self) -> MetadataRequest:
        """What it asks for."""
        request = MetadataRequest(owner="scorer")
        request.score.add_request(param="sample_weight", alias=True)
        return request


def weighted_scorer(scorer: Callable[..., float]) -> Callable[..., float]:
    """A scorer to which scikit-learn's metadata routing passes ``sample_weight``, that of the rows of each fold.

    Parameters
    ----------
    scorer : callable
        One of :mod:`harmonium.metrics.scorers`, or any that takes ``sample_weight=``; settings through ``functools.partial``.

    Examples
    --------
    >>> import numpy as np
    >>> import sklearn
    >>> import harmonium as hm
    >>> from sklearn.model_selection import cross_validate
    >>> X, y = hm.datasets.make_three_way(100, random_state=0)
    >>> model = hm.SurvivalHarmonium(n_hidden=1, random_state=0)
    >>> scoring = weighted_scorer(hm.metrics.concordance_index_scorer)
    >>> with sklearn.config_context(enable_metadata_routing=True):
    ...     model = model.set_fit_request(sample_weight=True)
    ...     found = cross_validate(model, X, y, scoring=scoring, cv=2, params={"sample_weight": np.ones(100)})
    >>> found["test_score"].shape
    (2,)
    """
    return _Routed(scorer)
