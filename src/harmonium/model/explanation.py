"""What a model has learned: latent codes, receptive fields, and dependence between endpoints."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from harmonium.cells import Cells
from harmonium.engine.parameters import Parameters
from harmonium.model.answering import Answering
from harmonium.model.dependence import kendall_tau
from harmonium.model.endpoint_states import EndpointStates
from harmonium.model.hidden import hidden_given, row_chunks
from harmonium.model.known_rows import KnownRows
from harmonium.model.prognosis import Prognosis
from harmonium.table.columns import Column
from harmonium.table.encoding import Encoding
from harmonium.typing import Array

__all__ = ["code_names", "codes", "dependence", "endpoint_pairs", "receptive_fields"]


def codes(prognosis: Prognosis) -> Array:
    """p(h = 1) of every hidden unit (eq. 7), (rows, hidden units); where endpoints are ordered, of each endpoint's harmonium."""
    return prognosis.answerer.hidden()


def _harmoniums(fitted: Answering) -> list[tuple[str, Encoding, Parameters]]:
    """Endpoints whose harmoniums they are, if there is one for each, encodings and parameters."""
    if fitted.transitions is None:
        return [("", fitted.encoding, fitted.parameters)]
    return [(f"{own.encoding.endpoint_names[0]} ", own.encoding, own.parameters) for own in fitted.transitions.models]


def code_names(fitted: Answering) -> Any:
    """hidden0, hidden1, ...; where endpoints are ordered, with the endpoint's name before."""
    return np.array([f"{name}hidden{j}" for name, _, own in _harmoniums(fitted) for j in range(own.n_hidden)], dtype=object)


def receptive_fields(fitted: Answering, prognosis: Prognosis) -> pd.DataFrame:
    """See :meth:`harmonium.SurvivalHarmonium.receptive_fields`."""
    harmoniums, active = _harmoniums(fitted), prognosis.answerer.hidden().mean(axis=0)
    of_each = np.split(active, np.cumsum([own.n_hidden for _, _, own in harmoniums])[:-1])
    table = pd.concat([_fields(own, encoding, on) for (_, encoding, own), on in zip(harmoniums, of_each, strict=True)], axis=1)
    table.columns = code_names(fitted)
    return table


def _fields(parameters: Parameters, encoding: Encoding, active: Array) -> pd.DataFrame:
    """Of one harmonium, whose hidden units have some mean activation."""
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
    index = pd.MultiIndex.from_tuples(list(rows), names=["column", "level", "measure"])
    return pd.DataFrame(np.stack(list(rows.values())), index=index)


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
    if encoding.ordered is not None:
        raise ValueError(
            "Kendall's tau is not identified where a terminal event prevents another; ask for cross_ratio: how those fare who had an "
            "event, and those who had none"
        )
    pairs = endpoint_pairs(names)
    cells, rng = encoding.cells(covariates), np.random.default_rng(fitted.seed)
    chunks = _all_rows(fitted, cells, rng)
    found = [kendall_tau(chunks, (encoding.column_of(a), encoding.column_of(b)), rng) for a, b in pairs]
    out = pd.DataFrame(found, columns=["tau", "tau_given_covariates"])
    out.index = pd.MultiIndex.from_tuples([(names[a], names[b]) for a, b in pairs])
    return out


def _all_rows(fitted: Answering, cells: Cells, rng: np.random.Generator) -> list[KnownRows]:
    """Rows with their hidden states, in parts that fit into memory; nothing being known of the endpoints."""
    chunks, seed = [], int(rng.integers(2**63))
    for rows in row_chunks(cells, fitted.n_hidden):
        part = cells.part(rows)
        hidden = hidden_given(fitted.parameters, part, np.random.default_rng(seed), fitted.n_jobs, fitted.covariate_units)
        chunks.append(KnownRows(fitted.parameters.natural(), part, hidden))
    return chunks
