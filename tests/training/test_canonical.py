"""However a table is written, it is trained on in one form, and what was learned comes back in the table's own terms."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harmonium.cells import Cells, Layout
from harmonium.engine.covariate_units import CovariateUnits
from harmonium.engine.exact import log_mass
from harmonium.engine.parameters import Natural, Parameters
from harmonium.training.canonical import CanonicalForm, rounded
from harmonium.training.objective import Objective
from harmonium.units import Bernoulli, Categorical, Gaussian, TruncatedGamma

UNITS = (Bernoulli(), Bernoulli(), Categorical(3), Gaussian(), Gaussian())
LAYOUT = Layout([*UNITS, TruncatedGamma(), TruncatedGamma()], n_outcomes=2)
SEEDS = st.integers(0, 2**32 - 1)


def random_table(seed):
    rng = np.random.default_rng(seed)
    n = 30
    table = np.column_stack(
        [rng.integers(0, 2, n), rng.integers(0, 2, n), rng.integers(0, 3, n), rng.normal(size=n), rng.gamma(2.0, size=n)]
    ).astype(float)
    table[rng.random(table.shape) < 0.1] = np.nan
    times = rng.uniform(0.05, 0.95, (n, 2))
    last = np.where(rng.random((n, 2)) < 0.5, 1.0, times)
    entry = np.where(rng.random((n, 2)) < 0.2, 0.5 * times, 0.0)
    return table, times, last, entry


def objective(table, times, last, entry):
    return Objective(Cells.joined(LAYOUT, table, times, last), entry, 1.0)


def rewritten(table, times, last, entry, seed):
    """The same in another coding, but for rounding; and how outcomes, levels, signs and rows have changed."""
    rng = np.random.default_rng(seed)
    rows, levels = rng.permutation(len(table)), rng.permutation(3)
    other = table.copy()
    other[:, 0] = 1.0 - table[:, 0]
    seen = np.isfinite(table[:, 2])
    other[seen, 2] = levels[table[seen, 2].astype(int)]
    other[:, 3:] = -table[:, 3:] * (1.0 + 1e-15)
    return tuple(part[rows] for part in (other, times[:, ::-1], last[:, ::-1], entry[:, ::-1]))


def in_form(written):
    own = objective(*written)
    found = CanonicalForm.of(own).of_objective(own)
    return [*found.recorded.bounds(), found.entry]


@given(SEEDS)
@settings(max_examples=40)
def test_the_form_does_not_depend_on_the_coding(seed):
    written = random_table(seed)
    for found, expected in zip(in_form(rewritten(*written, seed)), in_form(written), strict=True):
        np.testing.assert_array_equal(found, expected)


def random_parameters(seed, n_hidden=3):
    rng = np.random.default_rng(seed)
    start = Parameters.initial(LAYOUT, np.full((1, LAYOUT.n_columns), 0.5), n_hidden, rng)
    blocks = tuple({name: np.abs(values) + rng.uniform(0.1, 1.0, values.shape) for name, values in block.items()} for block in start.blocks)
    return Parameters(LAYOUT, rng.normal(size=n_hidden), blocks)


def conditional(parameters, own, units=None):
    """Ln p(outcomes | covariates), with or without covariate units."""
    whole = parameters if units is None else units.joined(parameters)
    return log_mass(whole, own.recorded, 1) - log_mass(whole, own.recorded.freeing_outcomes(), 1)


def joint(parameters, own):
    return log_mass(parameters, own.recorded, 1) - log_mass(parameters, Cells.all_free(LAYOUT), 1)


@given(SEEDS)
@settings(max_examples=20)
def test_parameters_say_the_same_in_both_forms(seed):
    own = objective(*random_table(seed))
    form, parameters = CanonicalForm.of(own), random_parameters(seed)
    there = form.from_table(parameters)
    np.testing.assert_allclose(joint(there, form.of_objective(own)), joint(parameters, own)[form.rows], rtol=1e-6)
    back = form.to_table(there)
    np.testing.assert_allclose(back.to_vector(), parameters.to_vector(), rtol=1e-12, atol=1e-12)


@given(SEEDS)
@settings(max_examples=20)
def test_covariate_units_say_the_same_in_both_forms(seed):
    own, rng = objective(*random_table(seed)), np.random.default_rng(seed)
    form, parameters = CanonicalForm.of(own), random_parameters(seed)
    n = int(LAYOUT.offsets[len(UNITS)])
    natural = parameters.natural()
    units = CovariateUnits(natural.bias[:n] + 0.1, rng.normal(size=(n, 2)) * (natural.coupling[:n, :1] != 0.0), rng.normal(size=2))
    expected = conditional(parameters, form.of_objective(own), units)
    np.testing.assert_allclose(conditional(form.to_table(parameters), own, form.units_to_table(units))[form.rows], expected, rtol=1e-6)


def test_intervals_do_not_become_points():
    lower = np.array([[0.5, 0.5]])
    own = Objective(Cells.joined(LAYOUT, np.full((1, 5), np.nan), lower, lower + np.array([[1e-12, 0.0]])), np.zeros((1, 2)), 1.0)
    low, high = CanonicalForm.of(own).of_objective(own).recorded.outcomes
    assert sorted((high - low)[0].tolist()) == pytest.approx([0.0, 1e-12], rel=1e-3)
    assert (high > low).sum() == 1


@given(st.floats(allow_nan=False, allow_infinity=False, width=32))
def test_rounding_is_symmetric_and_small(value):
    number = np.array([value * 1.1])
    assert rounded(-number)[0] == -rounded(number)[0]
    assert abs(rounded(number)[0] - number[0]) <= 1e-9 * abs(number[0])


def test_what_is_not_known_stays_unknown():
    assert np.isnan(rounded(np.array([np.nan]))[0])
    assert rounded(np.array([0.0, 1.0, np.inf])).tolist() == [0.0, 1.0, np.inf]


def test_natural_parameters_of_a_flipped_column():
    """x in {0, 1} with energy x (a + W h) is 1 - x with the opposite energy, and W moves into the hidden bias."""
    layout = Layout([Bernoulli(), TruncatedGamma()], n_outcomes=1)
    table = np.array([[1.0], [1.0], [0.0]])
    times = np.array([[0.2], [0.3], [0.6]])
    own = Objective(Cells.joined(layout, table, times, times), np.zeros((3, 1)), 1.0)
    natural = Natural(np.array([0.3, 1.0, 2.0]), np.array([[0.7], [0.1], [0.2]]), np.array([0.5]), 0.0)
    found = CanonicalForm.of(own).from_table(Parameters.from_natural(layout, natural)).natural()
    np.testing.assert_allclose((found.bias[0], found.coupling[0, 0], found.hidden_bias[0]), (-0.3, -0.7, 1.2), rtol=1e-12)
