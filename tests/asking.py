"""Questions to parameters and cells, without a table around them."""

from __future__ import annotations

import numpy as np

from harmonium.engine.states import EXACT_LIMIT
from harmonium.model import dependence
from harmonium.model.cell_answers import _quantile
from harmonium.model.hidden import hidden_given, row_chunks, stacked
from harmonium.model.known_rows import KnownRows


def _asked(parameters, cells, rng, n_threads, question):
    return stacked([question(rows) for rows in KnownRows.of(parameters, cells, rng, n_threads)])


def survival(parameters, cells, column, positions, rng, n_threads=None):
    return _asked(parameters, cells, rng, n_threads, lambda rows: rows.survival(column, positions))


def density(parameters, cells, column, positions, rng, n_threads=None):
    return _asked(parameters, cells, rng, n_threads, lambda rows: rows.density(column, positions))


def mean_position(parameters, cells, column, rng, n_threads=None):
    return _asked(parameters, cells, rng, n_threads, lambda rows: rows.mean_position(column))


def joint_survival(parameters, cells, columns, positions, rng, n_threads=None):
    return _asked(parameters, cells, rng, n_threads, lambda rows: rows.joint_survival(columns, positions))


def joint_density(parameters, cells, columns, positions, rng, n_threads=None):
    return _asked(parameters, cells, rng, n_threads, lambda rows: rows.joint_density(columns, positions))


def quantile(parameters, cells, column, q, rng, n_threads=None):
    exact = parameters.n_hidden <= EXACT_LIMIT
    parts = KnownRows.of(parameters, cells, rng, n_threads)
    return np.concatenate([_quantile(rows, column, 1.0 - q, exact=exact) for rows in parts])


def kendall_tau(parameters, cells, columns, rng, n_threads=None):
    chunks = []
    for rows in row_chunks(cells, parameters.n_hidden):
        part = cells.part(rows)
        hidden = hidden_given(parameters, part, rng, n_threads)
        chunks.append(KnownRows(parameters.natural(), part, hidden))
    return dependence.kendall_tau(chunks, columns, rng)
