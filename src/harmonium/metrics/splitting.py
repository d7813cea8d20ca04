"""Folds in which every endpoint has the same proportion of events."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.model_selection import BaseCrossValidator

from harmonium.table.endpoints import parse_endpoints
from harmonium.table.labels import parse_groups

__all__ = ["MultiEndpointStratifiedKFold"]


class MultiEndpointStratifiedKFold(BaseCrossValidator):  # type: ignore[misc]
    """Cross-validation whose folds have the same proportion of events for every endpoint.

    Rows are put in an order in which those with events of the same endpoints are together, and neighbouring groups differ in one
    endpoint (a Gray code), and then dealt to the folds in turn. So, however rare some combinations are,

    * the sizes of two folds differ by at most one;
    * so do their numbers of rows with any one combination of events;
    * so do their numbers of events for one or two endpoints; for K endpoints, by at most 2^(K - 2).

    An event known to lie between two times is an event. With ``groups``, all rows of a group are in one fold: groups are dealt instead of
    rows, each as a row that has had the events of any of its rows, and sizes of folds differ as those of groups do.

    Parameters
    ----------
    n_splits : int
    shuffle : bool
        Shuffle the rows before they are dealt; otherwise those with the same events are dealt as they come.
    random_state : int or numpy.random.Generator, optional
        For shuffling.

    Examples
    --------
    >>> import harmonium as hm
    >>> X, y = hm.datasets.load_nvalt8()
    >>> cv = MultiEndpointStratifiedKFold(n_splits=4)
    >>> [int((y["rfs", "lower"] == y["rfs", "upper"]).iloc[test].sum()) for _, test in cv.split(X, y)]
    [26, 26, 27, 27]
    """

    def __init__(self, n_splits: int = 5, *, shuffle: bool = False, random_state: Any = None) -> None:
        if n_splits < 2:
            raise ValueError(f"n_splits must be at least 2; found {n_splits}")
        self.n_splits = n_splits
        self.shuffle = shuffle
        self.random_state = random_state

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """The number of folds."""
        return self.n_splits

    def _iter_test_indices(self, X: Any = None, y: Any = None, groups: Any = None) -> Iterator[Any]:
        had_event = np.isfinite(parse_endpoints(y).upper)
        n_rows, n_endpoints = had_event.shape
        if n_rows < self.n_splits:
            raise ValueError(f"there must be at least as many rows as folds; found {n_rows} and {self.n_splits}")
        group = np.arange(n_rows) if groups is None else parse_groups(groups, n_rows, index=getattr(y, "index", None))
        n_groups = int(group.max()) + 1
        if n_groups < self.n_splits:
            raise ValueError(f"there must be at least as many groups as folds; found {n_groups} and {self.n_splits}")
        of_group = np.zeros((n_groups, n_endpoints), dtype=bool)
        np.logical_or.at(of_group, group, had_event)
        place_in_code = np.bitwise_xor.accumulate(of_group, axis=1) @ 2.0 ** -np.arange(n_endpoints)
        order = np.random.default_rng(self.random_state).permutation(n_groups) if self.shuffle else np.arange(n_groups)
        dealt = order[np.argsort(place_in_code[order], kind="stable")]
        for fold in range(self.n_splits):
            yield np.flatnonzero(np.isin(group, dealt[fold :: self.n_splits]))
