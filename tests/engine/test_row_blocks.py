"""Sums in blocks of rows: numerator and denominator side by side, cells that recur, rows in excess."""

import numpy as np
import pytest

from harmonium.cells import Cells, Layout
from harmonium.engine.enumeration import expectations
from harmonium.engine.exact import LogMassSum, Term
from harmonium.engine.one_strip import sum_strip
from harmonium.engine.parameters import Parameters
from harmonium.engine.prepared import Prepared, cut_into_strips
from harmonium.units import Bernoulli, Gaussian, TruncatedGamma
from tests.models import random_parameters

LAYOUT = Layout([Bernoulli(), Bernoulli(), Gaussian(), TruncatedGamma(), TruncatedGamma()], n_outcomes=2)


def table(n_rows, rng, missing=0.1):
    """Event times, censored times, intervals that recur, and missing covariates."""
    lower = np.column_stack([rng.integers(0, 2, (n_rows, 2)), rng.normal(size=n_rows), rng.integers(1, 30, (n_rows, 2)) / 31.0])
    upper = lower.copy()
    upper[:, 3:] = np.where(rng.random((n_rows, 2)) < 0.4, 1.0, upper[:, 3:])
    tied = rng.random((n_rows, 2)) < 0.3
    upper[:, 3:] = np.where(tied, np.minimum(lower[:, 3:] + 1.0 / 31.0, 1.0), upper[:, 3:])
    gaps = rng.random((n_rows, 3)) < missing
    lower[:, :3][gaps] = upper[:, :3][gaps] = np.nan
    return Cells.from_bounds(LAYOUT, lower, upper)


@pytest.mark.parametrize("n_hidden", [0, 1, 4, 7])
@pytest.mark.parametrize("n_rows", [1, 31, 33, 300])
def test_terms_side_by_side_are_the_sum_of_each_by_itself(n_rows, n_hidden):
    rng = np.random.default_rng(n_rows + n_hidden)
    cells = table(n_rows, rng)
    terms = [Term(cells, rng.normal(size=n_rows)), Term(cells.freeing_outcomes(), rng.normal(size=n_rows))]
    assert [len(strip) for strip in cut_into_strips(terms)] == [2]
    parameters = Parameters.initial(LAYOUT, np.full((1, 5), np.nan), n_hidden, rng)
    value, gradient = LogMassSum(terms).value_and_gradient(parameters)
    alone = [LogMassSum([term]).value_and_gradient(parameters) for term in terms]
    masses = LogMassSum(terms).log_masses(parameters)
    assert value == pytest.approx(sum(each for each, _ in alone), rel=1e-12, abs=1e-10)
    assert value == pytest.approx(sum(float(term.weights @ own) for term, own in zip(terms, masses, strict=True)), rel=1e-12, abs=1e-10)
    np.testing.assert_allclose(gradient.to_vector(), sum(each.to_vector() for _, each in alone), rtol=1e-10, atol=1e-10)


def test_rows_with_outcomes_or_other_covariates_are_not_put_side_by_side():
    cells = table(20, np.random.default_rng(0))
    other = table(20, np.random.default_rng(1))
    for second in (cells, other.freeing_outcomes(), Cells.all_free(LAYOUT)):
        strips = cut_into_strips([Term.uniform(cells, 1.0), Term.uniform(second, -1.0)])
        assert [len(strip) for strip in strips] == [1]
        assert sum(piece.n_rows for strip in strips for piece in strip) == 20 + second.n_rows


def test_several_strips_add_up_to_the_same():
    rng = np.random.default_rng(2)
    cells = table(5000, rng)
    terms = [Term.uniform(cells, 1.0), Term.uniform(cells.freeing_outcomes(), -1.0)]
    parameters = Parameters.initial(LAYOUT, np.full((1, 5), np.nan), 3, rng)
    value, gradient = LogMassSum(terms).value_and_gradient(parameters)
    parts = [slice(0, 2000), slice(2000, 5000)]
    pieces = [LogMassSum([Term.uniform(term.cells.part(rows), term.weights[0]) for term in terms]) for rows in parts]
    found = [piece.value_and_gradient(parameters) for piece in pieces]
    assert value == pytest.approx(sum(each for each, _ in found), rel=1e-12)
    np.testing.assert_allclose(gradient.to_vector(), sum(each.to_vector() for _, each in found), rtol=1e-9, atol=1e-9)


def test_rows_moved_to_another_grid_are_as_if_laid_out_for_it():
    rng = np.random.default_rng(3)
    cells = table(300, rng)
    terms = [Term.uniform(cells, 1.0), Term.uniform(cells.freeing_outcomes(), -1.0)]
    coarse = LogMassSum(terms)._prepared
    grid = coarse.plan.grid
    finer = grid.halved(np.arange(grid.n_panels) % 3 == 0)
    laid_out = Prepared(coarse.pieces, coarse.strips, coarse.plan.on(finer)).row_blocks(0, 2)
    on_coarse = coarse.row_blocks(0, 2)
    moved = coarse.on(finer).row_blocks(0, 2)
    assert moved.part_row.size > 0
    assert not np.array_equal(moved.whole, on_coarse.whole)
    for name, expected in laid_out._asdict().items():
        np.testing.assert_array_equal(getattr(moved, name), expected, err_msg=name)


@pytest.mark.parametrize("n_hidden", [6, 7, 8])
@pytest.mark.parametrize("strength", [0.1, 6.0])
def test_value_and_gradient_agree_with_enumeration(n_hidden, strength, monkeypatch):
    """Blocks of all kinds, by halves or not; where densities are sharp and the grid may not be refined, rows are set aside."""
    monkeypatch.setattr("harmonium.engine.exact._TABLE_BYTES", 0)
    rng = np.random.default_rng(n_hidden)
    cells, weights = table(70, rng, missing=0.3), rng.normal(size=70)
    natural = random_parameters(LAYOUT, n_hidden, rng, strength).natural()
    total = LogMassSum([Term(cells, weights), Term(cells.freeing_outcomes(), -weights)])
    assert (sum_strip(total.one_strip(n_hidden), natural, 0.0) is None) == (strength > 1.0)
    value, gradient = total.value_and_natural_gradient(natural)
    expected = [expectations(natural, LAYOUT, *side.bounds()) for side in (cells, cells.freeing_outcomes())]
    difference = [getattr(expected[0], name) - getattr(expected[1], name) for name in ("log_mass", "statistics", "products", "hidden")]
    assert value == pytest.approx(float(weights @ difference[0]), rel=1e-9, abs=1e-9)
    for ours, theirs in zip((gradient.bias, gradient.coupling, gradient.hidden_bias), difference[1:], strict=True):
        np.testing.assert_allclose(ours, -np.tensordot(weights, theirs, 1), rtol=1e-8, atol=1e-8)
