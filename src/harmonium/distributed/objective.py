"""A training table whose rows stay on the workers, and its log-likelihood.

Everything that a worker holds is the result of a task whose inputs can be found again: the partitions of the user's collection, and what
the client has sent as a task of its own rather than as data. If a worker is lost, Dask repeats what it held, and the numbers are the same.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import dask
import numpy as np

from harmonium.cells import Cells, Layout
from harmonium.distributed import partitions
from harmonium.distributed.clusters import paired_partitions
from harmonium.distributed.tree import lazy_tree, tree
from harmonium.engine.parameters import Natural
from harmonium.engine.states import EXACT_LIMIT
from harmonium.errors import IndexWarning, Problem, TableError, warn
from harmonium.model.endpoint_tables import EndpointForm, EndpointSettings, EndpointTable, SojournSummary, conclude_form, conclude_scales
from harmonium.model.fitting import Recipe
from harmonium.model.training_table import Encoded
from harmonium.table.checks import warn_of_ignored
from harmonium.table.columns import check_role
from harmonium.table.encoding import Encoding
from harmonium.table.endpoints import Endpoints
from harmonium.table.frames import columns_of
from harmonium.table.leakage import add_leaked_time, warn_of_leakage
from harmonium.training.coordinates import Coordinates
from harmonium.training.objective import MOST_REPRESENTATIVE, WeightedObjective
from harmonium.training.samples import merge_drawn, merge_kinds
from harmonium.training.ties import TiedTimes

__all__ = ["DistributedObjective", "DistributedTable", "learn_table"]

_MOST_SHOWN = 20  # problems of a table


@dataclass(frozen=True)
class DistributedTable:
    """What one pass over the partitions has learned, and the partitions themselves."""

    client: Any
    encoding: Encoding
    n_rows: int
    tied: tuple[TiedTimes, ...]
    parts: Sequence[tuple[Any, Any]]

    def objective(self, conditional: float) -> DistributedObjective:
        """The partitions are encoded where they are, and stay there; where endpoints are ordered, covariates alone."""
        encoding, tied = _shared(self.encoding), _shared(self.tied)
        lazy = [dask.delayed(partitions.encode)(X, y, encoding, tied, conditional) for X, y in self.parts]
        return DistributedObjective(self.client, self.encoding.layout, self.n_rows, conditional, self.client.compute(lazy))

    def endpoint_tables(self, settings: EndpointSettings) -> list[EndpointTable]:
        """The table of each of several ordered endpoints, learned in two more passes; sojourns are encoded where their rows are."""
        study = self.encoding
        assert study.ordered is not None
        graph = study.ordered.graph
        found = self._merged(partitions.sojourns)
        scales = [conclude_scales(graph, own, settings) for own in found]
        by_endpoint = enumerate(zip(scales, found, self._merged(partitions.positions, scales), strict=True))
        forms = [conclude_form(study, e, *own, settings) for e, own in by_endpoint]
        return [EndpointTable(own, self._sojourns(own, times, settings.conditional)) for own, times in zip(forms, found, strict=True)]

    def _merged(self, summarise: Callable[..., list[Any]], *arguments: Any) -> list[Any]:
        """Summaries of all partitions' endpoints."""
        shared = [_shared(value) for value in (self.encoding, *arguments)]
        lazy = [dask.delayed(summarise)(y, *shared) for _, y in self.parts]
        merged: list[Any] = self.client.compute(lazy_tree(partitions.merge_each, lazy)).result()
        return merged

    def _sojourns(self, form: EndpointForm, found: SojournSummary, conditional: float) -> DistributedObjective:
        study, own = _shared(self.encoding), _shared(form)
        lazy = [dask.delayed(partitions.encode_sojourns)(X, y, study, own, conditional) for X, y in self.parts]
        n_rows = int(sum(times.n_rows for times in found.times.values()))
        return DistributedObjective(self.client, form.encoding.layout, n_rows, conditional, self.client.compute(lazy))

    def subjects(self, most: int) -> Encoded:
        """About so many rows in the client's memory, an equal share of each partition."""
        study, share = _shared(self.encoding), min(1.0, most / self.n_rows)
        lazy = [dask.delayed(partitions.some_subjects)(X, y, study, share) for X, y in self.parts]
        covariates, known = zip(*self.client.gather(self.client.compute(lazy)), strict=True)
        lower, upper, entry = (np.concatenate([getattr(own, name) for own in known]) for name in ("lower", "upper", "entry"))
        ends = () if self.encoding.ordered is None else self.encoding.ordered.graph.terminal
        y = Endpoints(self.encoding.endpoint_names, lower, upper, entry, ends, self.encoding.unit)
        return Encoded(self.encoding, np.concatenate(covariates), y)


def _shared(value: Any) -> Any:
    """A value that all partitions need, as a task of its own."""
    return dask.delayed(value, traverse=False)


@dataclass(frozen=True)
class DistributedObjective:
    """The log-likelihood of a training table, as a sum over partitions.

    Attributes
    ----------
    client : distributed.Client
    layout : Layout
    n_rows : int
    conditional : float
        Weight of the conditional likelihood.
    encoded : list of distributed.Future
        Of encoded partitions.
    """

    client: Any
    layout: Layout
    n_rows: int
    conditional: float
    encoded: list[Any]

    @property
    def n_subjects(self) -> float:
        """As many as there are rows, which have no weights here."""
        return self.n_rows

    def coordinates(self, n_hidden: int) -> Coordinates:
        """Those in which the objective is well conditioned; from means and scales of all partitions."""
        return Coordinates.of_statistics(self.layout, self._statistics, n_hidden, self.conditional)

    @cached_property
    def _statistics(self) -> Any:
        parts = self.client.map(partitions.EncodedPartition.statistics, self.encoded, pure=False)
        return tree(self.client, partitions.merge_all, parts).result()

    def likelihood(self, n_hidden: int, n_threads: int | None = None) -> DistributedObjective:
        """Itself."""
        return self

    def sample(self, size: int, seed: int) -> WeightedObjective:
        """Some of the rows, in the client's memory; the same rows as if the table were not cut into partitions."""
        kinds = self.client.gather(self.client.map(partitions.EncodedPartition.kinds, self.encoded, pure=False))
        whole = self.client.submit(_itself, merge_kinds(kinds), pure=False)
        ends = np.cumsum([0, *(int(counts[0].sum()) for counts in kinds)]).tolist()
        parts = [
            self.client.submit(partitions.EncodedPartition.drawn, part, whole, size, seed, first, pure=False)
            for part, first in zip(self.encoded, ends[:-1], strict=True)
        ]
        drawn = merge_drawn([part for part in self.client.gather(parts) if part.chance.size])
        return WeightedObjective.of(drawn, self.conditional, self.n_rows)

    def representative_rows(self) -> Cells:
        """All rows or, if there are many, some of them, in the client's memory."""
        return self.sample(MOST_REPRESENTATIVE, 0).recorded

    def representative_weights(self) -> None:
        """None: every row stands for one subject."""

    def value_and_natural_gradient(self, natural: Natural) -> tuple[float, Natural]:
        """The parameters go out, and sums come back; the order of the sum is fixed by the partitions."""
        return self.values_and_natural_gradients([natural])[0]

    def values_and_natural_gradients(self, points: Sequence[Natural]) -> list[tuple[float, Natural]]:
        """The same for several parameters, which go out together: on a cluster, waiting takes longer than a gradient."""
        shared = self.client.submit(_itself, list(points), pure=False)  # a task, unlike scattered data, can be repeated
        parts = self.client.map(_evaluated, self.encoded, [shared] * len(self.encoded), pure=False)
        found: list[tuple[float, Natural]] = tree(self.client, partitions.add_gradients, parts).result()
        return found


def _itself(value: Any) -> Any:
    return value


def _evaluated(partition: partitions.EncodedPartition, points: list[Natural]) -> list[tuple[float, Natural]]:
    return [partition.value_and_natural_gradient(natural) for natural in points]


def learn_table(client: Any, recipe: Recipe, X: Any, y: Any) -> DistributedTable:
    """Learn the encoding in one pass over the partitions."""
    parts, roles = paired_partitions(X, y), dict(recipe.roles or {})
    for name, role in roles.items():
        check_role(name, role)
    columns_of(X._meta, list(roles))
    lazy = [dask.delayed(partitions.summarise)(*part, roles, number) for number, part in enumerate(parts)]
    found: partitions.Summary = client.compute(lazy_tree(partitions.merge_summaries, lazy)).result()
    if found.problems:
        raise TableError(_shown(list(dict.fromkeys(found.problems))))
    if not found.n_rows:
        raise TableError("the table has no rows")
    if found.terminal and not isinstance(recipe.n_hidden, str) and recipe.n_hidden > EXACT_LIMIT:
        raise ValueError(f"where an endpoint is terminal, at most {EXACT_LIMIT} hidden units are possible; found {recipe.n_hidden}")
    summaries, settings = [found.columns[name] for name in X.columns], (recipe.time_scale, recipe.horizon, recipe.numeric_scale)
    encoding = Encoding.concluded(summaries, found.endpoints, roles, *settings, unit=found.unit, ordered=found.ordered)
    _warn_of(found, encoding, roles)
    tied = tuple(map(TiedTimes.of, found.endpoints)) if encoding.timed else ()
    return DistributedTable(client, encoding, found.n_rows, tied, parts)


def _shown(problems: list[Problem]) -> list[Problem]:
    """The first few, since one mistake may be in every partition."""
    left_out = len(problems) - _MOST_SHOWN
    return problems if left_out <= 0 else [*problems[:_MOST_SHOWN], Problem(f"and {left_out} more problems in other partitions")]


def _warn_of(found: partitions.Summary, encoding: Encoding, roles: dict[Any, str]) -> None:
    """What is doubtful; identifiers, events among covariates, and text among numbers are not looked for."""
    if found.other_labels:
        warn("the rows of X and y have different labels in some partitions and are matched by their order", IndexWarning)
    warn_of_ignored(encoding.columns, roles)
    leaked: dict[Any, str] = {}
    for column in encoding.columns:
        if column.role == "numeric" and column.name in found.leaks:
            for name, same, known in zip(encoding.endpoint_names, *found.leaks[column.name], strict=True):
                add_leaked_time(leaked, column.name, name, int(same), int(known))
    warn_of_leakage(leaked)
