"""Tables of cells: what is refused, and what is shared."""

import numpy as np
import pytest

from harmonium.cells import Cells, Layout
from harmonium.units import Bernoulli, Categorical, Gaussian, TruncatedGamma

LAYOUT = Layout([Bernoulli(), Categorical(3), Gaussian(), TruncatedGamma()], n_outcomes=1)
GOOD = [1.0, 2.0, -0.3, 0.5]


def test_neighbours_of_equal_unit_form_a_block():
    layout = Layout([Categorical(3), Categorical(3), Categorical(2), TruncatedGamma()])
    assert [(block.unit, block.n_columns) for block in layout.blocks] == [(Categorical(3), 2), (Categorical(2), 1), (TruncatedGamma(), 1)]
    assert layout.n_statistics == 3 + 3 + 2 + 2


@pytest.mark.parametrize(
    ("column", "lower", "upper", "message"),
    [
        (3, 0.0, 0.0, r"must lie in \(0, 1\]; found lower 0, upper 0 in row 1, column 3 \(truncated_gamma\)"),
        (3, 1.5, 1.5, r"must lie in \(0, 1\]"),
        (3, 0.6, 0.4, "lower must not exceed upper; found lower 0.6, upper 0.4 in row 1, column 3"),
        (3, 1.0, 2.0, r"must overlap \(0, 1\]"),
        (3, np.nan, 0.4, "both bounds or neither must be NaN"),
        (0, 2.0, 2.0, "column 0 .bernoulli"),
        (0, 0.5, 0.5, "whole number"),
        (1, 3.0, 3.0, r"must lie in \(-1, 2\]"),
        (1, 0.2, 0.8, "no level lies in the interval"),
        (2, np.inf, np.inf, "must be finite"),
    ],
)
def test_impossible_cells_are_refused_with_their_place(column, lower, upper, message):
    low, high = np.array([GOOD, GOOD]), np.array([GOOD, GOOD])
    low[1, column], high[1, column] = lower, upper
    with pytest.raises(ValueError, match=message):
        Cells.from_bounds(LAYOUT, low, high)


@pytest.mark.parametrize("shape", [(4,), (2, 3)])
def test_tables_of_another_shape_are_refused(shape):
    with pytest.raises(ValueError, match=r"tables with 4 columns each; found shapes"):
        Cells.from_bounds(LAYOUT, np.ones(shape))


def test_a_block_does_not_straddle_the_border_between_covariates_and_outcomes():
    layout = Layout([Gaussian(), TruncatedGamma(), TruncatedGamma(), TruncatedGamma()], n_outcomes=2)
    assert [(block.n_columns, block.outcome) for block in layout.blocks] == [(1, False), (1, False), (2, True)]
    assert layout.outcomes == slice(2, 4)
    assert layout.outcome_statistics == slice(4, 8)
    assert layout != Layout(layout.units)


@pytest.mark.parametrize("n_outcomes", [-1, 5])
def test_there_are_no_more_outcomes_than_columns(n_outcomes):
    with pytest.raises(ValueError, match=f"between 0 and the number of columns, 4; found {n_outcomes}"):
        Layout(LAYOUT.units, n_outcomes)


def test_outcomes_of_several_units_can_be_replaced():
    layout = Layout([Gaussian(), Gaussian(), TruncatedGamma()], n_outcomes=2)
    cells = Cells.from_bounds(layout, [[0.1, 0.2, 0.3], [1.1, 1.2, 0.4]])
    lower, upper = np.array([[0.0, 0.5], [1.0, 0.6]]), np.array([[np.inf, 1.0], [2.0, 1.0]])
    changed = cells.with_outcomes(lower, upper)
    assert changed.lower[0] is cells.lower[0]
    np.testing.assert_array_equal(changed.outcomes, (lower, upper))
    np.testing.assert_array_equal(changed.bounds()[0], [[0.1, 0.0, 0.5], [1.1, 1.0, 0.6]])
    joined = Cells.joined(layout, np.array([[0.1], [1.1]]), lower, upper)
    np.testing.assert_array_equal(joined.bounds(), changed.bounds())
    with pytest.raises(ValueError, match=r"must have shape \(2, 2\); found \(2, 1\) and \(2, 1\)"):
        cells.with_outcomes(lower[:, :1], upper[:, :1])


def test_freeing_covariates_keeps_the_outcomes():
    cells = Cells.from_bounds(LAYOUT, [GOOD, GOOD])
    freed = cells.freeing_covariates()
    assert freed.lower[-1] is cells.lower[-1]
    np.testing.assert_array_equal(np.isnan(freed.bounds()[0]), [[True, True, True, False]] * 2)


def test_freeing_outcomes_shares_what_it_keeps():
    cells = Cells.from_bounds(LAYOUT, [GOOD, GOOD])
    freed = cells.freeing_outcomes()
    assert freed.lower[0] is cells.lower[0]
    lower, upper = freed.bounds()
    assert np.isnan(lower[:, 3]).all()
    assert np.isnan(upper[:, 3]).all()
    np.testing.assert_array_equal(lower[:, :3], np.array([GOOD, GOOD])[:, :3])


def test_free_cells_take_no_memory():
    cells = Cells.all_free(LAYOUT, n_rows=10**9)
    assert cells.n_rows == 10**9
    assert all(part.strides == (0, 0) for part in cells.lower)
