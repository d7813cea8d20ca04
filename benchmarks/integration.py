"""Beyond enumeration: the time of a row's survival curves by integration and by Gibbs sampling, and what sampling leaves uncertain."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.provenance import best_of, print_table, write_result
from harmonium.cells import Cells, Layout
from harmonium.engine.parameters import Parameters
from harmonium.errors import SamplingWarning, silenced
from harmonium.model.cell_answers import Rows
from harmonium.model.integrated_rows import IntegratedRows
from harmonium.model.known_rows import KnownRows
from harmonium.units import Bernoulli, Gaussian, TruncatedGamma
from tests.models import random_parameters

__all__ = ["run"]

_LAYOUT = Layout([*[Bernoulli()] * 5, *[Gaussian()] * 5, TruncatedGamma(), TruncatedGamma()], n_outcomes=2)
_FIRST = 10
_N_ROWS = 20
_POSITIONS = np.linspace(0.01, 0.99, 100)
_KINDS = {"one time": [11], "two times": [10, 11], "two times and a number": [7, 10, 11]}


def _cells(unobserved: list[int], rng: np.random.Generator) -> Cells:
    """Complete rows, but for some columns."""
    values = np.empty((_N_ROWS, _LAYOUT.n_columns))
    values[:, :5], values[:, 5:10] = rng.integers(0, 2, (_N_ROWS, 5)), rng.normal(size=(_N_ROWS, 5))
    values[:, 10:] = rng.uniform(0.1, 0.9, (_N_ROWS, 2))
    values[:, unobserved] = np.nan
    return Cells.from_bounds(_LAYOUT, values)


def _curves(rows: Rows, unobserved: list[int]) -> tuple[Any, Any]:
    """Survival of all unobserved endpoints at a hundred positions, and its standard error."""
    answers = [rows.survival(column, _POSITIONS) for column in unobserved if column >= _FIRST]
    return np.stack([answer.mean for answer in answers]), np.stack([answer.standard_error for answer in answers])


def _integrated(parameters: Parameters, cells: Cells, unobserved: list[int]) -> tuple[Any, Any]:
    rows, could = IntegratedRows.of(parameters, cells, n_threads=1)
    assert could.all()
    return _curves(rows, unobserved)


def _sampled(parameters: Parameters, cells: Cells, unobserved: list[int]) -> tuple[Any, Any]:
    with silenced(SamplingWarning):
        return _curves(next(KnownRows.of(parameters, cells, np.random.default_rng(0), n_threads=1)), unobserved)


def _compared(n_hidden: int, kind: str) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    unobserved = _KINDS[kind]
    parameters, cells = random_parameters(_LAYOUT, n_hidden, rng, strength=0.15), _cells(unobserved, rng)
    exact, _ = _integrated(parameters, cells, unobserved)
    estimate, error = _sampled(parameters, cells, unobserved)
    repeats = 1 if len(unobserved) > 2 else 3
    return {
        "hidden units": n_hidden,
        "unobserved": kind,
        "integrated ms a row": 1e3 * best_of(lambda: _integrated(parameters, cells, unobserved), repeats) / _N_ROWS,
        "sampled ms a row": 1e3 * best_of(lambda: _sampled(parameters, cells, unobserved), repeats) / _N_ROWS,
        "largest standard error": float(error.max()),
        "largest error of sampling": float(np.abs(estimate - exact).max()),
    }


def run() -> None:
    """Measure, print and keep."""
    rows = [_compared(n_hidden, kind) for kind in _KINDS for n_hidden in (16, 32, 64, 128)]
    print_table("Survival of the unobserved endpoints at 100 times: integrating x, and Gibbs sampling of h; one thread", rows)
    write_result("integration", rows)
