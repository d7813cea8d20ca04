"""The exact trainer finds what there is to find."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import harmonium as hm
from harmonium.cells import Cells
from harmonium.datasets.three_way import BLOBS, three_way_log_density
from harmonium.engine.exact import LogMassSum, log_mass
from harmonium.engine.parameters import Parameters
from harmonium.errors import InterruptionWarning
from harmonium.training.coordinates import Coordinates
from harmonium.training.exact import Exact
from harmonium.training.history import History
from harmonium.training.objective import Objective
from tests.models import EVERY_UNIT, random_cells, random_parameters


def last_block_is_time(rng, n=40):
    return random_cells(EVERY_UNIT, n, rng)


def joint(cells):
    return Objective(cells, np.zeros((cells.n_rows, 2)), 0.0)


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
    value, _ = LogMassSum(Objective(cells, np.zeros((cells.n_rows, 2)), conditional).terms()).value_and_gradient(parameters)
    recorded = log_mass(parameters, cells)
    joint = recorded - log_mass(parameters, Cells.all_free(EVERY_UNIT))
    given = recorded - log_mass(parameters, cells.freeing_outcomes())
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
    value, _ = LogMassSum(Objective(cells, entry, conditional).terms()).value_and_gradient(parameters)

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


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (1, 2))])
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
    assert model.n_evaluations_ <= 15_000  # forty starts


def test_same_seed_same_parameters_whatever_the_threads():
    X, y = hm.datasets.load_nvalt8()
    fits = [hm.SurvivalHarmonium(n_hidden=3, trainer=Exact(n_starts=2), random_state=5, n_jobs=n).fit(X, y) for n in (1, 2, 1)]
    vectors = [fit.parameters_.to_vector() for fit in fits]
    np.testing.assert_array_equal(vectors[0], vectors[2])
    np.testing.assert_allclose(vectors[0], vectors[1], atol=1e-8)


def test_an_interrupt_keeps_the_best_parameters_so_far():
    cells = last_block_is_time(np.random.default_rng(0), 60)

    def interrupt(row):
        if row["iteration"] == 12:
            raise KeyboardInterrupt

    history, objective = History(listener=interrupt), joint(cells)
    with pytest.warns(InterruptionWarning, match="interrupted; the best parameters so far are kept") as caught:
        fit = Exact(l2=1.0, n_starts=1).fit(objective, 2, rng=np.random.default_rng(0), history=history)
    assert len(caught) == 1  # no word of convergence
    assert caught[0].filename == __file__
    assert len(history.rows) == 13
    assert isinstance(fit.parameters, Parameters)
    assert fit.converged is False
    assert LogMassSum(objective.terms()).value_and_gradient(fit.parameters)[0] / 60 >= history.rows[3]["objective"]


def test_parameters_keep_their_bounds():
    cells = last_block_is_time(np.random.default_rng(0), 60)
    fit = Exact(l2=0.01).fit(Objective(cells, np.zeros((60, 2)), 0.3), 3, rng=np.random.default_rng(0), history=History())
    fit.parameters.check(EVERY_UNIT)


def test_a_fit_that_settles_has_converged_and_says_nothing():
    cells = last_block_is_time(np.random.default_rng(0), 60)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fit = Exact(n_starts=1).fit(joint(cells), 1, rng=np.random.default_rng(0), history=History())
    assert fit.converged is True
    assert fit.n_evaluations > 10
    assert fit.l2.typical > 0.0


def test_a_fit_that_was_cut_short_says_so_and_gives_advice():
    cells = last_block_is_time(np.random.default_rng(0), 60)
    with pytest.warns(ConvergenceWarning, match=r"not converged after 3 iterations .* Raise max_iter or tol") as caught:
        fit = Exact(l2=1.0, n_starts=1, max_iter=3).fit(joint(cells), 2, rng=np.random.default_rng(0), history=History())
    assert fit.converged is False
    assert caught[0].filename == __file__


def test_a_line_search_that_ends_where_the_objective_is_level_has_converged():
    """With tol=0 the optimiser goes on until rounding stops its line search."""
    cells = last_block_is_time(np.random.default_rng(0), 60)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fit = Exact(l2=1.0, n_starts=1, tol=0.0, max_iter=5000).fit(joint(cells), 1, rng=np.random.default_rng(0), history=History())
    assert fit.converged is True


def test_early_stopping_is_no_failure_to_converge():
    cells = last_block_is_time(np.random.default_rng(0), 60)
    worse = iter(range(0, -1000, -1))
    history = History(validate=lambda parameters: {"validation": next(worse)}, patience=1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fit = Exact(l2=1.0, n_starts=1).fit(joint(cells), 2, rng=np.random.default_rng(0), history=history)
    assert len(history.rows) == 11
    assert fit.parameters is history.best
