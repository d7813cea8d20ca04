"""``interval=0.95`` for the questions of a prognosis: one decorator gives it to all of them."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np

from harmonium.model.confidence import Scale, between, check_level, interval_of, standard_error
from harmonium.typing import Array

__all__ = ["WITHIN_UNTIL", "with_interval"]

Method = Callable[..., Any]

WITHIN_UNTIL = "until"
"""In place of a scale: answers lie between zero and the time ``until``, which was asked for."""


def with_interval(scale: Scale | str, first: Scale | None = None) -> Callable[[Method], Method]:
    """Let a method of a prognosis take ``interval``, the probability of an interval, and return an Interval if it is given.

    Of several answers by name, the first one may have a scale of its own.
    """

    def decorate(method: Method) -> Method:
        @wraps(method)
        def asked(self: Any, *args: Any, interval: float | None = None, **kwargs: Any) -> Any:
            if interval is None:
                return method(self, *args, **kwargs)
            level = check_level(interval)
            if kwargs.get("return_diagnostics"):
                raise ValueError("an answer has an interval or diagnostics, not both: only sampled answers have diagnostics")
            own = between(0.0, float(kwargs["until"])) if isinstance(scale, str) else scale
            names: list[str] = []

            def question(prognosis: Any) -> Array:
                return _stacked(method(prognosis, *args, **kwargs), names)

            estimate, deviations = self.deviations(question)
            error = standard_error(deviations, estimate)
            if not names:
                return interval_of(estimate, error, level, own)
            scales = [first or own, *[own] * (len(names) - 1)]
            return {name: interval_of(estimate[:, k], error[:, k], level, scales[k]) for k, name in enumerate(names)}

        signature = inspect.signature(method)
        keyword = inspect.Parameter("interval", inspect.Parameter.KEYWORD_ONLY, default=None, annotation="float | None")
        asked.__signature__ = signature.replace(parameters=[*signature.parameters.values(), keyword])  # type: ignore[attr-defined]
        return asked

    return decorate


def _stacked(answer: Any, names: list[str]) -> Array:
    """Answers by name as one array, rows first."""
    if not isinstance(answer, dict):
        return np.asarray(answer)
    names[:] = list(answer)
    return np.stack(list(answer.values()), axis=1)
