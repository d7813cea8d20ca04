"""The exact trainer finds what there is to find."""

import numpy as np
import pytest

import harmonium as hm
from harmonium.cells import Cells
from harmonium.datasets.three_way import BLOBS, three_way_log_density
from harmonium.engine.exact import LogMassSum, log_mass
from harmonium.engine.parameters import Parameters
from harmonium.training.coordinates import Coordinates
from harmonium.training.exact_trainer import ExactTrainer
from harmonium.training.history import History
from harmonium.training.objective import objective_terms
from tests.models import EVERY_UNIT, random_cells, random_parameters


def last_block_is_time(rng, n=40):
    return random_cells(EVERY_UNIT, n, rng)


@pytest.mark.parametrize("conditional", [0.0, 0.7, 1.0])
def test_coordinates_are_a_linear_map_with_its_adjoint_and_inverse(conditional):
    rng = np.random.default_rng(0)
    coordinates = Coordinates.of_data(last_block_is_time(rng), 3, conditional)
    low, high = coordinates.bounds()
    z = np.clip(rng.normal(size=coordinates.size), low + 0.1, np.minimum(high, 1e3))
    natural = coordinates.to_natural(z)
    np.testing.assert_allclose(coordinates.from_natural(natural), z, rtol=1e-9, atol=1e-9)
    weights = coordinates.to_natural(np.clip(rng.normal(size=coordinates.size), low + 0.1, np.minimum(high, 1e3)))

    def inner(n):
        return np.sum(weights.bias * n.bias) + np.sum(weights.coupling * n.coupling) + np.sum(weights.hidden_bias * n.hidden_bias)

    slope = coordinates.pull_back(weights)
    for i in range(z.size):
        step = np.zeros(z.size)
        step[i] = 1e-3
        assert (inner(coordinates.to_natural(z + step)) - inner(coordinates.to_natural(z - step))) / 2e-3 == pytest.approx(
            slope[i], abs=1e-7
        )


@pytest.mark.parametrize("conditional", [0.0, 0.5, 1.0])
def test_objectives_are_differences_of_log_masses(conditional):
    rng = np.random.default_rng(0)
    cells = last_block_is_time(rng)
    parameters = random_parameters(EVERY_UNIT, 2, rng, 0.5)
    value, _ = LogMassSum(objective_terms(cells, np.zeros((cells.n_rows, 2)), conditional)).value_and_gradient(parameters)
    recorded = log_mass(parameters, cells)
    joint = recorded - log_mass(parameters, Cells.all_free(EVERY_UNIT))
    given = recorded - log_mass(parameters, cells.freeing("truncated_gamma"))
    assert value == pytest.approx((1 - conditional) * joint.sum() + conditional * given.sum(), rel=1e-10)


@pytest.mark.parametrize("conditional", [0.0, 0.5, 1.0])
def test_entry_conditions_on_being_event_free_until_then(conditional):
    rng = np.random.default_rng(0)
    cells = last_block_is_time(rng, 10)
    lower, upper = cells.bounds()
    lower[:, 3:], upper[:, 3:] = 0.5, 1.0
    cells = Cells.from_bounds(EVERY_UNIT, lower, upper)
    entry = np.column_stack([np.full(10, 0.2), np.zeros(10)])
    parameters = random_parameters(EVERY_UNIT, 2, rng, 0.5)
    value, _ = LogMassSum(objective_terms(cells, entry, conditional)).value_and_gradient(parameters)

    def mass(covariates, first, second):
        low, high = lower.copy(), upper.copy()
        if not covariates:
            low[:, :3] = high[:, :3] = np.nan
        for c, start in ((3, first), (4, second)):
            low[:, c], high[:, c] = (np.nan, np.nan) if start is None else (start, 1.0)
        return log_mass(parameters, Cells.from_bounds(EVERY_UNIT, low, high)).sum()

    recorded = mass(True, 0.5, 0.5)
    expected = (1 - conditional) * (recorded - mass(False, 0.2, None)) + conditional * (recorded - mass(True, 0.2, None))
    assert value == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_the_three_way_problem_is_solved(seed):
    """One line of user code; ``benchmarks/three_way.py`` does it for twenty seeds."""
    X, y = hm.datasets.make_three_way(1000, random_state=seed)
    model = hm.SurvivalHarmonium(n_hidden=4, objective="joint", time_scale="linear", horizon=1, random_state=seed).fit(X, y)
    generator = sum(
        float(three_way_log_density(colour, (row[:1], row[1:2]), (row[2:3], row[3:]))[0])
        for colour, row in zip(X["colour"], y.to_numpy(), strict=True)
    )
    assert model.log_likelihood(X, y, kind="joint").mean() > generator / 1000 - 0.03
    for colour, *times in BLOBS:
        mode = [(shape - 1) / rate for shape, rate in times]
        at_mode = y.iloc[:1].copy()
        at_mode.iloc[0] = [mode[0], mode[0], mode[1], mode[1]]
        wanted = np.exp(three_way_log_density(colour, (np.array(mode[:1]),) * 2, (np.array(mode[1:]),) * 2))[0]
        found = np.exp(model.log_likelihood(X.iloc[:1].assign(colour=colour), at_mode, kind="joint"))[0]
        assert found > 0.5 * wanted
    assert model.n_evaluations_ <= 2000


def test_same_seed_same_parameters_whatever_the_threads():
    X, y = hm.datasets.load_nvalt8()
    fits = [hm.SurvivalHarmonium(n_hidden=3, n_starts=2, random_state=5, n_jobs=n).fit(X, y) for n in (1, 2, 1)]
    vectors = [fit.parameters_.to_vector() for fit in fits]
    np.testing.assert_array_equal(vectors[0], vectors[2])
    np.testing.assert_allclose(vectors[0], vectors[1], atol=1e-8)


def test_an_interrupt_keeps_the_best_parameters_so_far():
    cells = last_block_is_time(np.random.default_rng(0), 60)

    def interrupt(row):
        if row["iteration"] == 12:
            raise KeyboardInterrupt

    history = History(listener=interrupt)
    terms = objective_terms(cells, np.zeros((60, 2)), 0.0)
    with pytest.warns(UserWarning, match="interrupted; the best parameters so far are kept"):
        fit = ExactTrainer(n_starts=1).fit(terms, 2, 0.0, np.random.default_rng(0), history)
    assert len(history.rows) == 13
    assert isinstance(fit.parameters, Parameters)
    assert fit.objective >= history.rows[3]["objective"]


def test_parameters_keep_their_bounds():
    cells = last_block_is_time(np.random.default_rng(0), 60)
    fit = ExactTrainer(precision=0.01).fit(objective_terms(cells, np.zeros((60, 2)), 0.3), 3, 0.3, np.random.default_rng(0), History())
    fit.parameters.check(EVERY_UNIT)
