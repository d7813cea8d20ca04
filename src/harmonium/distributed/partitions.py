"""What a worker does with one partition: summarise it, encode it, and say how likely it is. Nothing here knows Dask.

Everything is a function of its arguments alone, so that it does not matter which worker does it, when, or for the second time because
another worker was lost.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import partial, reduce
from typing import Any

import numpy as np
import pandas as pd

from harmonium.engine.parameters import Natural
from harmonium.errors import Problem, TableError
from harmonium.model.endpoint_tables import EndpointForm, SojournSummary, known_rows, summarise_positions, summarise_sojourns
from harmonium.table.column_summary import ColumnSummary, summarise_column
from harmonium.table.encoding import Encoding
from harmonium.table.endpoint_summary import EndpointSummary, summarise_endpoints
from harmonium.table.endpoints import Endpoints, parse_endpoints
from harmonium.table.frames import to_pandas
from harmonium.table.labels import has_other_labels
from harmonium.table.leakage import equal_times
from harmonium.table.ordered_endpoints import OrderedSummary, summarise_ordered
from harmonium.table.time_scale import TimeScale
from harmonium.training.objective import LogLikelihood, Objective
from harmonium.training.samples import Drawn, Kinds, count_kinds, draw
from harmonium.training.statistics import StatisticsSummary
from harmonium.training.ties import TiedTimes, ties_as_intervals
from harmonium.typing import Array, Integers

__all__ = [
    "MOST_LEVELS",
    "EncodedPartition",
    "Summary",
    "add_gradients",
    "encode",
    "encode_sojourns",
    "merge_all",
    "merge_each",
    "merge_summaries",
    "no_agreement",
    "positions",
    "sojourns",
    "some_subjects",
    "summarise",
]

MOST_LEVELS = 10_000
"""Levels of a column, beyond which it is refused."""

_PREPARED = 3  # bytes that a log-likelihood keeps of assembled rows for each byte of cells, about


@dataclass(frozen=True)
class Summary:
    """What one pass over some partitions has found.

    Attributes
    ----------
    columns : dict
        A summary of each covariate.
    endpoints : tuple of EndpointSummary
    n_rows : int
    leaks : dict
        For each numeric covariate, rows in which it equals each endpoint's time, and rows in which both are known.
    other_labels : bool
        Whether X and y have different labels in a partition.
    problems : tuple of Problem
        What is wrong, by partition.
    unit : str or None
        Of time.
    ordered : OrderedSummary or None
        None if no endpoint is terminal.
    """

    columns: dict[Any, ColumnSummary]
    endpoints: tuple[EndpointSummary, ...]
    n_rows: int
    leaks: dict[Any, tuple[Integers, Integers]]
    other_labels: bool = False
    problems: tuple[Problem, ...] = ()
    unit: str | None = None
    ordered: OrderedSummary | None = None

    @property
    def terminal(self) -> tuple[str, ...]:
        """Endpoints that end everything."""
        return () if self.ordered is None else self.ordered.graph.terminal


def summarise(X: pd.DataFrame, y: pd.DataFrame, roles: Mapping[Any, str], number: int) -> Summary:
    """Summarise a partition; what is wrong with it is noted rather than raised, so that all partitions are looked at."""
    problems: list[Problem] = []
    columns: dict[Any, ColumnSummary] = {}
    leaks: dict[Any, tuple[Integers, Integers]] = {}
    try:
        frame = to_pandas(X)
        if len(frame) != len(y):
            raise TableError(f"X and y must have as many rows; found {len(frame)} and {len(y)}")
        other_labels = has_other_labels(X, y)
        known = parse_endpoints(y)
        ordered = summarise_ordered(known)
    except ValueError as error:
        return Summary({}, (), 0, {}, problems=_in_partition(number, error))
    for name in frame.columns:
        try:
            columns[name], numbers = summarise_column(frame[name], roles.get(name), number)
            _check_levels(columns[name])
            if numbers is not None:
                leaks[name] = equal_times(numbers, known)
        except TableError as error:
            problems += _in_partition(number, error)
    return Summary(columns, summarise_endpoints(known), len(frame), leaks, other_labels, tuple(problems), known.unit, ordered)


def _in_partition(number: int, error: ValueError) -> tuple[Problem, ...]:
    found = error.problems if isinstance(error, TableError) else (Problem(str(error)),)
    return tuple(replace(problem, message=f"partition {number}: {problem.message}") for problem in found)


def _check_levels(column: ColumnSummary) -> None:
    if len(column.levels) > MOST_LEVELS:
        raise TableError(
            f"column {column.name!r} has more than {MOST_LEVELS} levels and looks like an identifier; drop it", column=column.name
        )


def merge_summaries(parts: Sequence[Summary]) -> Summary:
    """Of neighbouring partitions, in order; where they do not fit together, that is a problem."""
    out = parts[0]
    for part in parts[1:]:
        out = _merged(out, part)
    return out


def _merged(a: Summary, b: Summary) -> Summary:
    problems = [*a.problems, *b.problems]
    if problems and not (a.endpoints and b.endpoints):
        return replace(a if a.endpoints else b, problems=tuple(problems))
    names = [times.name for times in a.endpoints], [times.name for times in b.endpoints]
    if names[0] != names[1]:
        return replace(a, problems=(*problems, Problem(f"all partitions must have the same endpoints; found {names[0]} and {names[1]}")))
    if a.unit != b.unit and a.n_rows and b.n_rows:
        problems.append(Problem(f"times must be in the same unit in all partitions; found {a.unit} and {b.unit}"))
    if a.terminal != b.terminal and a.n_rows and b.n_rows:
        problems.append(Problem(no_agreement(a.terminal, b.terminal)))
    columns = {}
    for name in dict.fromkeys((*a.columns, *b.columns)):
        try:
            columns[name] = a.columns[name].merged(b.columns[name])
            _check_levels(columns[name])
        except KeyError:  # a problem of one of them has been noted
            continue
        except TableError as error:
            problems += error.problems
    return Summary(
        columns,
        tuple(mine.merged(theirs) for mine, theirs in zip(a.endpoints, b.endpoints, strict=True)),
        a.n_rows + b.n_rows,
        {name: _added(a.leaks.get(name), b.leaks.get(name)) for name in {**a.leaks, **b.leaks}},
        a.other_labels or b.other_labels,
        tuple(problems),
        a.unit if a.n_rows else b.unit,
        _merged_ordered(a, b),
    )


def _merged_ordered(a: Summary, b: Summary) -> OrderedSummary | None:
    """Of both, or of one where the other has no rows or, which has been noted, other terminal endpoints."""
    if not a.n_rows:
        return b.ordered
    if a.ordered is None or b.ordered is None or not b.n_rows or a.terminal != b.terminal:
        return a.ordered
    return a.ordered.merged(b.ordered)


def no_agreement(one: tuple[str, ...], other: tuple[str, ...]) -> str:
    """What is said of partitions with different terminal endpoints."""
    return (
        f"the same endpoints must be terminal in all partitions; found {one} and {other}. Define them for the whole table: "
        f"harmonium.distributed.endpoints(table, ..., terminal={one or other})"
    )


def _added(a: tuple[Integers, Integers] | None, b: tuple[Integers, Integers] | None) -> tuple[Integers, Integers]:
    if a is None or b is None:
        found = a or b
        assert found is not None
        return found
    return a[0] + b[0], a[1] + b[1]


class EncodedPartition:
    """The cells of a partition, of which a worker keeps one; its prepared log-likelihood is made at first use and does not travel.

    Parameters
    ----------
    objective : Objective
    """

    def __init__(self, objective: Objective) -> None:
        self.objective = objective
        self._likelihood: LogLikelihood | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {"objective": self.objective, "_likelihood": None}

    def __sizeof__(self) -> int:
        """Bytes, by which Dask decides what a worker can keep in memory: the cells, and what is prepared from them."""
        cells = self.objective.recorded
        arrays = {id(array): array.nbytes for array in (*cells.lower, *cells.upper, self.objective.entry)}
        of_cells = sum(arrays.values())
        return (1 + _PREPARED) * of_cells + 1000

    def statistics(self) -> StatisticsSummary:
        """Means and scales."""
        return StatisticsSummary.of(self.objective.recorded)

    def kinds(self) -> Kinds:
        """How many rows have each kind of cell."""
        return count_kinds(self.objective.recorded)

    def drawn(self, kinds: Kinds, size: int, seed: int, first: int) -> Drawn:
        """Those of the partition's rows that belong to a sample of the table, of which ``first`` is the number of the first one."""
        return draw(self.objective.recorded, self.objective.entry, kinds, size, seed, first)

    def value_and_natural_gradient(self, natural: Natural) -> tuple[float, Natural]:
        """The log-likelihood of the partition's rows and its gradient; a function of its cells and the parameters alone.

        A sum of log masses learns from one evaluation which grid suits the next. Here every evaluation begins afresh, with a copy that
        shares what was prepared: otherwise a partition that was encoded again, after its worker was lost, would give other last digits.
        """
        if not self.objective.n_rows:
            empty = Natural(np.zeros_like(natural.bias), np.zeros_like(natural.coupling), np.zeros_like(natural.hidden_bias), 0.0)
            return 0.0, empty
        if self._likelihood is None:
            self._likelihood = self.objective.likelihood(natural.n_hidden, n_threads=1)
        return copy(self._likelihood).value_and_natural_gradient(natural)


def encode(X: pd.DataFrame, y: pd.DataFrame, encoding: Encoding, tied: Sequence[TiedTimes], conditional: float) -> EncodedPartition:
    """Encode a partition."""
    known = parse_endpoints(y)
    cells = encoding.cells(encoding.covariates(X), known, partial(ties_as_intervals, tied=tied))
    return EncodedPartition(Objective(cells, encoding.entry(known), conditional))


def sojourns(y: pd.DataFrame, study: Encoding) -> list[SojournSummary]:
    """Summaries of a partition's sojourns, for each of several ordered endpoints."""
    assert study.ordered is not None
    graph = study.ordered.graph
    return [summarise_sojourns(graph, own) for own in known_rows(study, parse_endpoints(y))]


def positions(y: pd.DataFrame, study: Encoding, scales: Sequence[tuple[TimeScale | None, ...]]) -> list[EndpointSummary]:
    """Summaries of their times as positions on each endpoint's time scales."""
    return [summarise_positions(*own) for own in zip(scales, known_rows(study, parse_endpoints(y)), strict=True)]


def encode_sojourns(X: pd.DataFrame, y: pd.DataFrame, study: Encoding, form: EndpointForm, conditional: float) -> EncodedPartition:
    """Encode the sojourns of a partition for one endpoint."""
    own = known_rows(study, parse_endpoints(y))[form.endpoint]
    return EncodedPartition(form.objective(study, study.covariates(X), own, conditional))


def some_subjects(X: pd.DataFrame, y: pd.DataFrame, study: Encoding, share: float) -> tuple[Array, Endpoints]:
    """Encoded covariates and endpoints of a share of the rows, in even steps through the partition."""
    rows = np.unique(np.linspace(0, len(X) - 1, int(np.ceil(share * len(X)))).astype(int))
    return study.covariates(X)[rows], parse_endpoints(y).part(rows)


def merge_each(parts: Sequence[Sequence[Any]]) -> list[Any]:
    """Several summaries of each of some neighbouring partitions, merged in order."""
    return [merge_all(own) for own in zip(*parts, strict=True)]


def merge_all(parts: Sequence[Any]) -> Any:
    """One summary of each of some neighbouring partitions, merged in order."""
    return reduce(lambda one, other: one.merged(other), parts)


def add_gradients(parts: Sequence[list[tuple[float, Natural]]]) -> list[tuple[float, Natural]]:
    """Sums of neighbouring partitions, in order, at each of several points."""
    return [_sum_of_gradients(own) for own in zip(*parts, strict=True)]


def _sum_of_gradients(parts: Sequence[tuple[float, Natural]]) -> tuple[float, Natural]:
    value, first = parts[0]
    bias, coupling, hidden, constant = first.bias.copy(), first.coupling.copy(), first.hidden_bias.copy(), first.constant
    for more, gradient in parts[1:]:
        value += more
        bias += gradient.bias
        coupling += gradient.coupling
        hidden += gradient.hidden_bias
        constant += gradient.constant
    return value, Natural(bias, coupling, hidden, constant)
