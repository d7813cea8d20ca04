"""A part of a model that is made when it is first asked for, and kept."""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock
from typing import Any, Generic, TypeVar

__all__ = ["OnDemand"]

T = TypeVar("T")


class OnDemand(Generic[T]):
    """A value that is made once, when it is first needed; copies and pickles hold it made.

    Examples
    --------
    >>> later = OnDemand(lambda: print("made") or 5)
    >>> later.value, later.value
    made
    (5, 5)
    """

    def __init__(self, make: Callable[[], T] | None = None, made: T | None = None) -> None:
        self._make, self._made, self._lock = make, made, Lock()

    @property
    def value(self) -> T:
        """The same whenever it is asked for."""
        with self._lock:
            if self._make is not None:
                self._made, self._make = self._make(), None  # training rows are let go
            assert self._made is not None
            return self._made

    def __reduce__(self) -> Any:
        return type(self), (None, self.value)
