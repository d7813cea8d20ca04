"""The protocol: nested cross-validation with random search, cut into independent tasks.

An inner task fits one candidate on one inner training set and scores it on the inner test set. An outer task fits the candidate with the
best mean inner score on an outer training set and scores it on the outer test set. A task's randomness depends on its name alone, so its
result does not depend on where or when it runs.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harmonium.metrics.splitting import MultiEndpointStratifiedKFold

__all__ = ["Protocol", "Task"]

Rows = NDArray[np.int64]


@dataclass(frozen=True)
class Task:
    """One fit and its scores.

    Attributes
    ----------
    study, model : str
    outer : int
        Outer fold.
    candidate : int
        Number of the settings drawn for this study, model and outer fold.
    inner : int or None
        Inner fold; None for the fit on the whole outer training set.
    """

    study: str
    model: str
    outer: int
    candidate: int
    inner: int | None

    @property
    def name(self) -> str:
        """Unique; random numbers depend on it."""
        place = f"candidate{self.candidate}" if self.inner is None else f"candidate{self.candidate}-inner{self.inner}"
        return f"{self.study}/{self.model}/outer{self.outer}-{place}"

    def rng(self, purpose: str) -> np.random.Generator:
        """A generator that depends on the task and the purpose alone."""
        return _generator(f"{self.name}/{purpose}")

    def settings_rng(self) -> np.random.Generator:
        """For drawing the candidate: the same in all inner folds."""
        return _generator(f"{self.study}/{self.model}/outer{self.outer}/candidate{self.candidate}/settings")


@dataclass(frozen=True)
class Protocol:
    """How many folds and candidates, and a file with further models, if there is one.

    Candidates are numbered, and their settings depend on the number alone: with more of them, the first ones stay what they were.

    Attributes
    ----------
    folds : int
    candidates : int
    rivals : str or None
        The file.
    exceptions : tuple of (str, int)
        Models with another number of candidates.
    """

    folds: int = 5
    candidates: int = 50
    rivals: str | None = None
    exceptions: tuple[tuple[str, int], ...] = ()

    def candidates_of(self, model: str) -> int:
        """How many candidates a model has."""
        return dict(self.exceptions).get(model, self.candidates)

    def inner_tasks(self, study: str, model: str, inner: int) -> Iterator[Task]:
        """All fits in one of the inner folds of every outer one."""
        for outer in range(self.folds):
            for candidate in range(self.candidates_of(model)):
                yield Task(study, model, outer, candidate, inner)

    def rows(self, y: Any, task: Task) -> tuple[Rows, Rows]:
        """Rows for training and for testing in a task."""
        train, test = list(self._folds(f"{task.study}/outer").split(y, y))[task.outer]
        if task.inner is None:
            return train, test
        inside = y.iloc[train]
        inner_train, inner_test = list(self._folds(f"{task.study}/outer{task.outer}").split(inside, inside))[task.inner]
        return train[inner_train], train[inner_test]

    def _folds(self, name: str) -> MultiEndpointStratifiedKFold:
        return MultiEndpointStratifiedKFold(self.folds, shuffle=True, random_state=int(_generator(name).integers(2**31)))


def _generator(name: str) -> np.random.Generator:
    return np.random.default_rng(int.from_bytes(hashlib.sha256(name.encode()).digest()[:16], "big"))
