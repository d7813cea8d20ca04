"""Integrating x instead of summing over h: the same masses, expectations and gradients, for any number of hidden units."""

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harmonium.cells import Cells, Layout
from harmonium.engine import integration
from harmonium.engine.axes import event_panels
from harmonium.engine.choice_of_method import methods_of
from harmonium.engine.exact import LogMassSum, Term
from harmonium.engine.integrand import Integrand, Observed
from harmonium.engine.integrated_sum import IntegratedLogMassSum
from harmonium.engine.integration import expected_hidden, integrable, integrals, integrated_log_mass
from harmonium.engine.marginals import Marginal
from harmonium.units import Bernoulli, Categorical, Gaussian, TruncatedGamma
from tests.brute_force import _rule
from tests.engine.sums import by_enumeration, seeds
from tests.models import EVERY_UNIT, random_cells, random_parameters

strengths = st.sampled_from([0.2, 0.7, 1.5])


def integrable_cells(n_rows, rng, most=2):
    """Random rows of which at most ``most`` continuous cells are unobserved."""
    return random_cells(EVERY_UNIT, n_rows, rng, most_unobserved_continuous=most)


@settings(deadline=None, max_examples=30)
@given(seeds, strengths)
def test_masses_and_expectations_are_those_of_enumeration(seed, strength):
    rng = np.random.default_rng(seed)
    parameters = random_parameters(EVERY_UNIT, int(rng.integers(0, 9)), rng, strength)
    cells, natural = integrable_cells(4, rng), parameters.natural()
    found, exact = integrals(natural, cells), by_enumeration(parameters, cells)
    np.testing.assert_allclose([row.log_mass for row in found], exact.log_mass, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(expected_hidden(natural, cells, found), exact.hidden, atol=1e-9)
    observed = Observed.of(natural, cells)
    for k, row in enumerate(found):
        integrand = Integrand(natural, row.axes)
        moments = integrand.moments(observed.row(k), row.log_mass)
        scale = 1.0 + np.abs(exact.statistics[k, integrand.places])
        np.testing.assert_allclose(moments.statistics / scale, exact.statistics[k, integrand.places] / scale, atol=1e-9)
        np.testing.assert_allclose(moments.products / scale[:, None], exact.products[k, integrand.places] / scale[:, None], atol=1e-9)


@settings(deadline=None, max_examples=10)
@given(seeds)
def test_two_event_times_and_a_number_are_integrated_together(seed):
    rng = np.random.default_rng(seed)
    parameters = random_parameters(EVERY_UNIT, int(rng.integers(1, 7)), rng, strength=0.5)
    lower, upper = random_cells(EVERY_UNIT, 2, rng).bounds()
    lower[:, :2] = upper[:, :2] = [1.0, 2.0]
    cells = Cells.from_bounds(EVERY_UNIT, lower, upper)
    np.testing.assert_allclose(integrated_log_mass(parameters, cells), by_enumeration(parameters, cells).log_mass, rtol=1e-10, atol=1e-10)


@settings(deadline=None, max_examples=20)
@given(seeds, strengths)
def test_the_gradient_is_that_of_the_exact_engine(seed, strength):
    rng = np.random.default_rng(seed)
    n_hidden = int(rng.integers(1, 15)) if strength < 1.0 else int(rng.integers(1, 9))
    natural = random_parameters(EVERY_UNIT, n_hidden, rng, strength).natural()
    cells = integrable_cells(5, rng, most=1)
    complete = random_cells(EVERY_UNIT, 3, rng, most_unobserved_continuous=0).freeing_outcomes()  # free endpoints share their nodes
    terms = [Term(cells, rng.normal(size=5)), Term.uniform(complete, -1.0)]
    value, exact = LogMassSum(terms).value_and_natural_gradient(natural)
    integrated = IntegratedLogMassSum(terms, n_hidden)
    for _ in range(2):  # the second time on the panels of the first
        found, gradient = integrated.value_and_natural_gradient(natural)
        assert found == pytest.approx(value, rel=1e-9, abs=1e-9)
        for name in ("bias", "coupling", "hidden_bias"):
            scale = 1.0 + np.abs(getattr(exact, name)).max()
            np.testing.assert_allclose(getattr(gradient, name) / scale, getattr(exact, name) / scale, atol=1e-9)
        assert gradient.constant == pytest.approx(exact.constant)
    assert integrated.n_unresolved == 0


# --- beyond enumeration -----------------------------------------------------------------------------------------------

SMALL = Layout([Bernoulli(), Gaussian(), TruncatedGamma(), TruncatedGamma()], n_outcomes=2)


def log_integrand(natural, values):
    """Ln of eq. 28's integrand by its definition, in extended precision; values of every column."""
    statistics = [values[0], values[1], values[1] ** 2, values[2], -mpmath.log(values[2]), values[3], -mpmath.log(values[3])]
    energy = natural.constant + sum(float(a) * s for a, s in zip(natural.bias, statistics, strict=True))
    total = -energy
    for j in range(natural.n_hidden):
        field = float(natural.hidden_bias[j]) + sum(float(c) * s for c, s in zip(natural.coupling[:, j], statistics, strict=True))
        total += mpmath.log(1 + mpmath.exp(-field))
    return total


@pytest.mark.parametrize(("lower", "upper"), [(0.0, 1.0), (0.4, 1.0), (0.2, 0.21)])
def test_forty_hidden_units_agree_with_quadrature_in_many_digits(lower, upper):
    natural = random_parameters(SMALL, 40, np.random.default_rng(1), strength=0.3).natural()
    row = np.array([[1.0, 0.3, 0.6, lower]]), np.array([[1.0, 0.3, 0.6, upper]])
    cells = Cells.from_bounds(SMALL, *row)
    found = integrals(natural, cells, curves=True)[0]
    with mpmath.workdps(20):
        shift = log_integrand(natural, [1, mpmath.mpf(0.3), mpmath.mpf(0.6), mpmath.mpf(0.5)])

        def density(x):
            return mpmath.exp(log_integrand(natural, [1, mpmath.mpf(0.3), mpmath.mpf(0.6), x]) - shift)

        def mass(start):
            return mpmath.quad(density, [start, *(p for p in (0.01, 0.1, 0.3, 0.6) if start < p < upper), upper])

        total = mass(lower)
        assert found.log_mass == pytest.approx(float(shift + mpmath.log(total)), rel=1e-12, abs=1e-12)
        u = lower + 0.4 * (upper - lower)
        alive, dense = (
            np.exp(curve(np.array([u]))[0]) for curve in (Marginal.of(found, 0).log_survival, Marginal.of(found, 0).log_density_at)
        )
        assert alive == pytest.approx(float(mass(u) / total), rel=1e-10)
        assert dense == pytest.approx(float(density(u) / total), rel=1e-9)


@pytest.mark.parametrize("missing", [(1,), (0, 1), (1, 3), (2, 3), (0, 2, 3)])
def test_forty_hidden_units_agree_with_brute_force_quadrature(missing):
    """Another rule, in x instead of ln x, on every combination of unobserved cells."""
    natural = random_parameters(SMALL, 40, np.random.default_rng(2), strength=0.3).natural()
    values = np.array([1.0, 0.3, 0.6, 0.4])
    values[list(missing)] = np.nan
    rules = [_rule(unit, value, value) for unit, value in zip(SMALL.units, values, strict=True)]
    points = np.stack(np.meshgrid(*(points for points, _ in rules), indexing="ij"), axis=-1).reshape(-1, 4)
    weights = np.stack(np.meshgrid(*(weights for _, weights in rules), indexing="ij"), axis=-1).reshape(-1, 4).prod(axis=1)
    total, hidden = 0.0, np.zeros(40)
    for chunk in np.array_split(np.arange(len(points)), max(1, len(points) // 10_000)):
        x = points[chunk]
        statistics = np.column_stack([x[:, 0], x[:, 1], x[:, 1] ** 2, x[:, 2], -np.log(x[:, 2]), x[:, 3], -np.log(x[:, 3])])
        fields = natural.hidden_bias + statistics @ natural.coupling
        density = np.exp(-natural.constant - statistics @ natural.bias + np.logaddexp(0.0, -fields).sum(axis=1) - 60.0) * weights[chunk]
        total += density.sum()
        hidden += density @ (1.0 / (1.0 + np.exp(fields)))
    cells = Cells.from_bounds(SMALL, values[None])
    found = integrals(natural, cells)
    assert found[0].log_mass == pytest.approx(60.0 + np.log(total), rel=1e-11)
    np.testing.assert_allclose(expected_hidden(natural, cells, found)[0], hidden / total, atol=1e-10)


def test_nothing_unobserved_has_a_closed_form():
    rng = np.random.default_rng(0)
    parameters = random_parameters(EVERY_UNIT, 6, rng)
    cells = random_cells(EVERY_UNIT, 5, rng, most_unobserved_continuous=0)
    lower, _ = cells.bounds()
    lower[:, :2] = 1.0
    cells = Cells.from_bounds(EVERY_UNIT, lower)
    assert set(methods_of(cells, 6)) == set(methods_of(cells, 60)) == {"closed form"}
    np.testing.assert_allclose(integrated_log_mass(parameters, cells), by_enumeration(parameters, cells).log_mass, rtol=1e-12)


@pytest.mark.parametrize("upper", [1.0, 0.5, 0.06, 0.03, 0.02, 1e-3, 1e-9, 1e-150])
def test_panels_reach_down_to_where_nothing_is_left(upper):
    """A density that is level at 0, on intervals that begin there."""
    edges = event_panels(0.0, upper).edges
    assert 0.0 < edges[0] < 1e-12 * upper
    assert edges[-1] == upper
    layout = Layout([TruncatedGamma()])
    flat = random_parameters(layout, 0, np.random.default_rng(0), strength=0.0)
    cells = Cells.from_bounds(layout, [[0.0]], [[upper]])
    assert integrated_log_mass(flat, cells)[0] == pytest.approx(np.log(upper), abs=1e-12)


def test_fields_of_any_size_are_summed():
    """Beyond e^600 in a single unit products are taken in logarithms; up to there they are split on the way."""
    rng = np.random.default_rng(3)
    for strength in (1.0, 30.0, 200.0):
        parameters = random_parameters(EVERY_UNIT, 5, rng, strength=0.5)
        for own in parameters.blocks[:3]:
            own["W"][...] *= strength
        cells = integrable_cells(4, rng, most=1)
        found = integrated_log_mass(parameters, cells)
        exact = by_enumeration(parameters, cells)
        done = ~np.isnan(found)
        assert done.sum() >= 2
        np.testing.assert_allclose(found[done], exact.log_mass[done], rtol=1e-10)
        chosen = cells.part(np.flatnonzero(done))
        hidden = expected_hidden(parameters.natural(), chosen, integrals(parameters.natural(), chosen))
        np.testing.assert_allclose(hidden, exact.hidden[done], atol=1e-8)


def test_a_number_far_from_where_it_should_be_is_found():
    """Units that pull a number far away, with nothing in between: modes that a search from the middle would miss."""
    layout = Layout([Gaussian(), TruncatedGamma()])
    parameters = random_parameters(layout, 3, np.random.default_rng(0), strength=0.0)
    number, time = parameters.blocks
    number["sigma"][...], number["W"][0] = 0.5, [-40.0, 10.0, 0.0]
    parameters.hidden_bias[:] = [800.0, 49.0, 0.0]
    time["W"][0], time["V"][0] = [3.0, -2.0, 1.0], [1.0, 4.0, 0.0]
    cells = Cells.from_bounds(layout, [[np.nan, np.nan], [0.3, 0.1], [-np.inf, 0.3]], [[np.nan, np.nan], [np.inf, 1.0], [-1.0, 0.3]])
    np.testing.assert_allclose(integrated_log_mass(parameters, cells), by_enumeration(parameters, cells).log_mass, rtol=1e-10)


# --- alone and together -----------------------------------------------------------------------------------------------


def test_a_row_has_the_same_bits_alone_in_a_table_and_in_any_order():
    rng = np.random.default_rng(4)
    natural = random_parameters(EVERY_UNIT, 30, rng, strength=0.3).natural()
    cells = integrable_cells(12, rng)
    together = integrals(natural, cells, curves=True)
    order = rng.permutation(12)
    permuted = integrals(natural, cells.part(order), curves=True, n_threads=2)
    for k in range(12):
        alone = integrals(natural, cells.part(np.array([k])), curves=True, n_threads=1)[0]
        for other in (together[k], permuted[int(np.flatnonzero(order == k)[0])]):
            assert alone.log_mass == other.log_mass
            for own, others in zip(alone.log_marginals, other.log_marginals, strict=True):
                np.testing.assert_array_equal(own, others)
    hidden = expected_hidden(natural, cells, together)
    np.testing.assert_array_equal(hidden[order], expected_hidden(natural, cells.part(order), permuted))


# --- what is integrated -----------------------------------------------------------------------------------------------


def test_the_engine_chooses_a_method_for_every_row():
    layout = Layout([Categorical(30), Categorical(3), Gaussian(), Gaussian(), *[TruncatedGamma()] * 3], n_outcomes=3)
    nan = np.nan
    rows = np.array([[1.0, 1.0, 0.1, 0.2, 0.3, 0.4, 0.5]] * 6)
    rows[1, 4:6] = nan
    rows[2, 4:7] = nan
    rows[3, 2:4] = nan
    rows[4, [0, 3, 4]] = nan
    rows[5, [0, 1]] = nan
    cells = Cells.from_bounds(layout, rows)
    expected = ["closed form", "integrate", "sample", "sample", "integrate", "sample"]
    assert methods_of(cells, 15).tolist() == expected
    assert methods_of(cells, 14).tolist() == ["closed form", *["enumerate"] * 5]
    assert integrable(cells, 15).tolist() == [method != "sample" for method in expected]


def test_levels_within_bounds_count_only_as_many_as_are_admitted():
    layout = Layout([Categorical(100), TruncatedGamma()], n_outcomes=1)
    cells = Cells.from_bounds(layout, [[np.nan, 0.5], [10.0, 0.5]], [[np.nan, 0.5], [20.0, 0.5]])
    assert methods_of(cells, 20).tolist() == ["sample", "integrate"]
    parameters = random_parameters(layout, 4, np.random.default_rng(0))
    found = integrated_log_mass(parameters, cells)
    assert np.isnan(found[0])
    assert found[1] == pytest.approx(by_enumeration(parameters, cells).log_mass[1], rel=1e-12)


def test_too_much_detail_is_reported(monkeypatch):
    parameters = random_parameters(EVERY_UNIT, 3, np.random.default_rng(0))
    cells = Cells.from_bounds(EVERY_UNIT, [[1.0, 1.0, 0.1, np.nan, np.nan]])
    monkeypatch.setattr(integration, "MOST_NODES", 140)
    assert np.isnan(integrated_log_mass(parameters, cells)).all()


def test_a_sum_refuses_rows_that_cannot_be_integrated_and_names_the_first():
    layout = Layout([Gaussian(), Gaussian(), TruncatedGamma()], n_outcomes=1)
    cells = Cells.from_bounds(layout, [[0.1, 0.2, 0.3], [np.nan, np.nan, 0.3]])
    with pytest.raises(ValueError, match=r"row 1 leaves unobserved: column 0 \(gaussian\), 1 \(gaussian\)"):
        IntegratedLogMassSum([Term.uniform(cells, 1.0)], n_hidden=20)
