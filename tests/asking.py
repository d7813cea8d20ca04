"""Questions to parameters and cells, without a table around them."""

from __future__ import annotations

import numpy as np

from harmonium.model import dependence
from harmonium.model.curves import first_times
from harmonium.model.hidden import hidden_given, row_chunks, stacked
from harmonium.model.known_rows import KnownRows, own_interval
from harmonium.table.time_scale import fit_time_scale


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
    """Positions, clipped to where the event is known to lie."""
    unit = fit_time_scale("linear", np.ones(1), np.ones(1), horizon=1.0)
    found = first_times(
        lambda rows, at: 1.0 - survival(parameters, cells.part(rows), column, at, rng, n_threads).mean, cells.n_rows, unit, q
    )
    return np.clip(found, *own_interval(cells, column))


def kendall_tau(parameters, cells, columns, rng, n_threads=None):
    chunks = []
    for rows in row_chunks(cells, parameters.n_hidden):
        part = cells.part(rows)
        hidden = hidden_given(parameters, part, rng, n_threads)
        chunks.append(KnownRows(parameters.natural(), part, hidden))
    return dependence.kendall_tau(chunks, columns, rng)
