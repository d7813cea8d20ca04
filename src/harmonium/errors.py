"""What is said when something is wrong: errors that name the column and the row, named warnings, and one way to give a warning.

Every warning of the library is a :class:`HarmoniumWarning`, so that one filter reaches them all, and points at the line that called the
library.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from harmonium.typing import Booleans

__all__ = [
    "CompetingWarning",
    "CompilationWarning",
    "EndpointWarning",
    "ExtrapolationWarning",
    "FileWarning",
    "GenerationWarning",
    "HarmoniumWarning",
    "IdentifierWarning",
    "IgnoredColumnWarning",
    "IndexWarning",
    "InterruptionWarning",
    "LeakageWarning",
    "LevelWarning",
    "MetricWarning",
    "ModelFileError",
    "Problem",
    "RangeWarning",
    "SamplingWarning",
    "SubjectWarning",
    "TableError",
    "TextWarning",
    "UnknownEndpointWarning",
    "UnseenLevelWarning",
    "WeightWarning",
    "collecting_problems",
    "first_offender",
    "require_package",
    "silenced",
    "warn",
]

_PACKAGE = str(Path(__file__).parent)


# --- errors ---


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong with a table: a message and, where they are known, the column, the row, and other rows that are alike."""

    message: str
    column: Any = None
    row: int | None = None
    others: tuple[int, ...] = ()

    @property
    def rows(self) -> tuple[int, ...]:
        """All of them."""
        return self.others if self.row is None else (self.row, *self.others)


class TableError(ValueError):
    """A table that cannot be used; ``problems`` lists everything that was found, one line of the message for each.

    Examples
    --------
    >>> error = TableError("column 'age' must hold finite numbers; found inf in row 3", column="age", row=3)
    >>> error.problems[0].row
    3
    """

    def __init__(self, message: str | Iterable[Problem], *, column: Any = None, row: int | None = None, others: Iterable[int] = ()) -> None:
        self.problems = (Problem(message, column, row, tuple(others)),) if isinstance(message, str) else tuple(message)
        super().__init__("\n".join(problem.message for problem in self.problems))


class ModelFileError(ValueError):
    """A file that holds no model, or none that can be read."""


class _Collector(list[Problem]):
    """Problems found so far."""

    @contextmanager
    def catching(self) -> Iterator[None]:
        """Note a problem and go on."""
        try:
            yield
        except TableError as error:
            self.extend(error.problems)
        except ValueError as error:
            self.append(Problem(str(error)))


@contextmanager
def collecting_problems() -> Iterator[_Collector]:
    """Look at all parts of a table before complaining.

    Examples
    --------
    >>> with collecting_problems() as problems:
    ...     for name in ("age", "sex"):
    ...         with problems.catching():
    ...             raise TableError(f"column {name!r} is odd")
    Traceback (most recent call last):
    harmonium.errors.TableError: column 'age' is odd
    column 'sex' is odd
    """
    problems = _Collector()
    yield problems
    if problems:
        raise TableError(dict.fromkeys(problems))


def first_offender(wrong: Booleans) -> tuple[int, ...] | None:
    """Index of the first True, or None.

    Examples
    --------
    >>> import numpy as np
    >>> first_offender(np.array([False, True, True]))
    (1,)
    """
    import numpy as np  # noqa: PLC0415 - an error message must not wait for it where there is no array

    if not wrong.any():
        return None
    return tuple(int(i) for i in np.unravel_index(int(np.argmax(wrong)), wrong.shape))


def require_package(module: str, what: str, extra: str) -> None:
    """Say what to install, before work begins, if a package is not there.

    Examples
    --------
    >>> require_package("no_such_package", "the moon needs a rocket", "rockets")
    Traceback (most recent call last):
    ImportError: the moon needs a rocket: pip install 'harmonium[rockets]'
    """
    if find_spec(module) is None:
        raise ImportError(f"{what}: pip install 'harmonium[{extra}]'")


# --- warnings ---


class HarmoniumWarning(UserWarning):
    """Any warning of the library."""


class IgnoredColumnWarning(HarmoniumWarning):
    """A column carries no information and takes no part in the model."""


class IdentifierWarning(HarmoniumWarning):
    """A column looks like an identifier: it tells rows apart and says nothing about them."""


class SubjectWarning(HarmoniumWarning):
    """Rows are not subjects: they are intervals of follow-up, or a subject has several."""


class TextWarning(HarmoniumWarning):
    """A column holds text among numbers, so that it is modelled as a category."""


class FileWarning(HarmoniumWarning):
    """How a file is written had to be guessed."""


class IndexWarning(HarmoniumWarning):
    """The rows of two tables have different labels."""


class LeakageWarning(HarmoniumWarning):
    """A covariate contains the outcome: it holds what becomes known only later."""


class RangeWarning(HarmoniumWarning):
    """A value lies far from all that training has seen."""


class LevelWarning(HarmoniumWarning):
    """Two levels of a column look as if they were the same."""


class UnseenLevelWarning(HarmoniumWarning):
    """A level did not occur in training; it is treated as missing."""


class EndpointWarning(HarmoniumWarning):
    """The data say little about an endpoint: it has no event, or fewer than a model needs."""


class UnknownEndpointWarning(HarmoniumWarning):
    """Something is given about some endpoints, and nothing about others that must have been known as well."""


class ExtrapolationWarning(HarmoniumWarning):
    """A time lies beyond what was observed in training."""


class CompetingWarning(HarmoniumWarning):
    """An event is asked for as if nothing could prevent it, while a terminal event can."""


class GenerationWarning(HarmoniumWarning):
    """A model is asked for data that it was not trained to generate."""


class SamplingWarning(HarmoniumWarning):
    """Sampled answers are uncertain: chains have not mixed, or a probability's standard error is large."""


class MetricWarning(HarmoniumWarning):
    """A metric is undefined, or leaves out some of what it was given."""


class WeightWarning(HarmoniumWarning):
    """Weights of rows do not add up to a number of subjects."""


class InterruptionWarning(HarmoniumWarning):
    """Training was interrupted; what had been reached is kept."""


class CompilationWarning(HarmoniumWarning):
    """Compiled code cannot be kept, so that every process compiles again."""


def warn(message: str, category: type[Warning] = HarmoniumWarning) -> None:
    """Give a warning that points at the line which called the library, however deep inside it arose."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and (frame.f_code.co_filename.startswith(_PACKAGE) or "importlib" in frame.f_code.co_filename):
        frame = frame.f_back
        level += "importlib._bootstrap" not in frame.f_code.co_filename  # frames that Python's own count leaves out
    warnings.warn(message, category, stacklevel=level)


@contextmanager
def silenced(*categories: type[Warning]) -> Iterator[None]:
    """Keep warnings of some kinds back where they would only repeat what has been said.

    Examples
    --------
    >>> with silenced(UnseenLevelWarning):
    ...     warn("a fold may lack a rare level", UnseenLevelWarning)
    """
    with warnings.catch_warnings():
        for category in categories:
            warnings.simplefilter("ignore", category)
        yield
