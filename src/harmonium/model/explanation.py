"""What a model has learned: latent codes, receptive fields, and dependence between endpoints."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from harmonium.cells import Cells
from harmonium.model.answering import Answering
from harmonium.model.dependence import kendall_tau
from harmonium.model.endpoint_states import EndpointStates
from harmonium.model.hidden import hidden_given, row_chunks
from harmonium.model.known_rows import KnownRows
from harmonium.model.mixture_prognosis import parts_of
from harmonium.model.prognosis import Prognosis
from harmonium.table.columns import Column
from harmonium.table.episodes import Episodes
from harmonium.typing import Array, Integers

__all__ = ["code_names", "codes", "dependence", "endpoint_pairs", "receptive_fields"]


def codes(prognosis: Prognosis) -> Array:
    """p(h = 1) of every hidden unit (eq. 7) of every component, (rows, hidden units)."""
    return np.concatenate([part.hidden() for part in parts_of(prognosis)], axis=1)


def code_names(fitted: Answering) -> Any:
    """hidden0, hidden1, ..., counted through all components."""
    n_hidden = sum(model.n_hidden for _, model in fitted.components)
    return np.array([f"hidden{j}" for j in range(n_hidden)], dtype=object)


def receptive_fields(fitted: Answering, prognosis: Prognosis) -> pd.DataFrame:
    """See :meth:`harmonium.SurvivalHarmonium.receptive_fields`."""
    parts = [_fields(part.parameters, fitted, part.hidden().mean(axis=0)) for part in parts_of(prognosis)]
    table = pd.concat(parts, axis=1)
    table.columns = code_names(fitted)
    return table


def _fields(parameters: Any, fitted: Answering, active: Array) -> pd.DataFrame:
    """Of one component, whose hidden units have some mean activation."""
    encoding = fitted.encoding
    natural, offsets = parameters.natural(), encoding.layout.offsets
    rows: dict[tuple[Any, str, str], Array] = {}
    for c, column in enumerate(encoding.modelled):
        own = slice(offsets[c], offsets[c + 1])
        rows.update(_of_column(column, natural.bias[own], natural.coupling[own]))
    for e, timed in enumerate(encoding.timed):
        first = int(offsets[encoding.column_of(e)])
        on, off = (np.where(np.eye(active.size, dtype=bool), value, active) for value in (1.0, 0.0))
        means = [EndpointStates.of(natural, first, states).mean() for states in (on, off)]
        rows[timed.name, "", "mean time (of the scale)"] = means[0] - means[1]
    if encoding.episodes is not None:
        rows.update(_of_kinds(encoding.episodes, natural.coupling, offsets[encoding.column_of(0) :]))
    index = pd.MultiIndex.from_tuples(list(rows), names=["column", "level", "measure"])
    return pd.DataFrame(np.stack(list(rows.values())), index=index)


def _of_kinds(episodes: Episodes, coupling: Array, offsets: Integers) -> dict[tuple[Any, str, str], Array]:
    """Effects of the hidden units on the kinds of events that end each state."""
    rows: dict[tuple[Any, str, str], Array] = {}
    for state in episodes.course.branching:
        place = episodes.kind_place(state)
        own = coupling[offsets[place] : offsets[place + 1]]
        names = [episodes.course.names[e] for e in episodes.course.options(state)]
        effects = [-own[0]] if len(own) < len(names) else own.mean(axis=0) - own
        for name, effect in zip(names[-len(effects) :], effects, strict=True):
            rows[f"event {episodes.course.duration_name(state)}", name, "log odds"] = effect
    return rows


def _of_column(column: Column, bias: Array, coupling: Array) -> dict[tuple[Any, str, str], Array]:
    """Effects of the hidden units on one covariate."""
    if column.role == "numeric":  # the mean is -linear / (2 quadratic)
        return {(column.name, "", "mean (standard deviations)"): -coupling[0] / (2.0 * bias[1])}
    if column.role == "binary":
        return {(column.name, str(column.levels[1]), "log odds"): -coupling[0]}
    centred = coupling.mean(axis=0) - coupling
    return {(column.name, str(level), "log odds"): effect for level, effect in zip(column.levels, centred, strict=True)}


def endpoint_pairs(names: tuple[str, ...]) -> list[tuple[int, int]]:
    """All pairs of endpoints."""
    if len(names) < 2:
        raise ValueError("dependence needs at least two endpoints; the model has one")
    return list(combinations(range(len(names)), 2))


def dependence(fitted: Answering, covariates: Array) -> pd.DataFrame:
    """See :meth:`harmonium.SurvivalHarmonium.dependence`; of encoded covariates."""
    encoding, names = fitted.encoding, fitted.encoding.endpoint_names
    if encoding.episodes is not None:
        raise ValueError(
            "Kendall's tau is not identified where a terminal event prevents another; ask for cross_ratio: how those fare who had an "
            "event, and those who had none"
        )
    pairs = endpoint_pairs(names)
    cells, rng = encoding.cells(covariates), np.random.default_rng(fitted.seed)
    chunks = _all_components(fitted, cells, rng)
    found = [kendall_tau(chunks, (encoding.column_of(a), encoding.column_of(b)), rng) for a, b in pairs]
    out = pd.DataFrame(found, columns=["tau", "tau_given_covariates"])
    out.index = pd.MultiIndex.from_tuples([(names[a], names[b]) for a, b in pairs])
    return out


def _all_components(fitted: Answering, cells: Cells, rng: np.random.Generator) -> list[list[tuple[Array, KnownRows]]]:
    """Parts of the rows, each with the weight and hidden states of every component; nothing being known of the endpoints."""
    chunks, seed = [], int(rng.integers(2**63))
    for rows in row_chunks(cells, max(model.n_hidden for _, model in fitted.components)):
        part, chunk = cells.part(rows), []
        for weight, model in fitted.components:
            hidden = hidden_given(model.parameters, part, np.random.default_rng(seed), fitted.n_jobs, model.covariate_units)
            chunk.append((np.full(part.n_rows, weight), KnownRows(model.parameters.natural(), part, hidden)))
        chunks.append(chunk)
    return chunks
