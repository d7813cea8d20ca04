"""Rules of numbers and words, as parts of a field's type: a model file that breaks one could not have been written after a fit.

What several fields must say together is said by their class, in a method ``rules``: sentences, and whether they hold.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Annotated, Any, NamedTuple

__all__ = ["POSITIVE", "UP_TO_1", "Count", "Finite", "NotNegative", "Positive", "Rule", "Share", "Whole", "ascending", "one_of"]


class Rule(NamedTuple):
    """What a value must be, in words, and whether one is."""

    words: str
    holds: Callable[[Any], bool]


def one_of(words: Sequence[str]) -> Rule:
    """A rule for words.

    Examples
    --------
    >>> one_of(("linear", "log")).words, one_of(("linear", "log")).holds("sqrt")
    ('one of linear, log', False)
    """
    return Rule(f"one of {', '.join(words)}", lambda value: value in words)


def ascending(values: Sequence[float]) -> bool:
    """Whether numbers ascend, without ties."""
    return all(a < b for a, b in pairwise(values))


AT_LEAST_0 = Rule("finite and at least 0", lambda value: math.isfinite(value) and value >= 0)
POSITIVE = Rule("finite and positive", lambda value: math.isfinite(value) and value > 0)
UP_TO_1 = Rule("between 0 and 1", lambda value: 0 <= value <= 1)

Finite = Annotated[float, Rule("finite", math.isfinite)]
NotNegative = Annotated[float, AT_LEAST_0]
Positive = Annotated[float, POSITIVE]
Share = Annotated[float, UP_TO_1]
Whole = Annotated[int, AT_LEAST_0]
Count = Annotated[float | int, AT_LEAST_0]
"""Whole where rows have no weights."""
