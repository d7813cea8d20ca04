"""Beyond enumeration: answers by Gibbs sampling, and what they say of their own error."""

import numpy as np
import pytest

from harmonium.cells import Cells, Layout
from harmonium.errors import SamplingWarning
from harmonium.model import hidden as hidden_module
from harmonium.model.draws import draw_tables
from harmonium.model.hidden import Answer, sample_hidden, warn_if_uncertain
from harmonium.model.known_rows import KnownRows
from harmonium.units import Bernoulli, TruncatedGamma
from tests.asking import joint_survival, kendall_tau, mean_position, survival
from tests.models import EVERY_UNIT, random_cells, random_parameters

FIRST, SECOND = 3, 4


@pytest.fixture
def by_sampling(monkeypatch):
    """Answer by Gibbs sampling although states could be enumerated."""

    def switch(on):
        monkeypatch.setattr("harmonium.model.hidden.EXACT_LIMIT", -1 if on else 14)

    return switch


@pytest.mark.filterwarnings("ignore::harmonium.model.hidden.SamplingWarning")
def test_sampled_answers_agree_with_enumeration_within_their_stated_error(by_sampling):
    """200 random questions to models with up to 10 hidden units; nineteen in twenty must lie within the stated error."""
    inside = []
    for seed in range(50):
        rng = np.random.default_rng(seed)
        parameters = random_parameters(EVERY_UNIT, int(rng.integers(1, 11)), rng, strength=0.4)
        cells = random_cells(EVERY_UNIT, 2, rng)
        positions = rng.uniform(0.05, 0.95, 1)
        answers = {}
        for sampled in (False, True):
            by_sampling(sampled)
            answers[sampled] = [
                survival(parameters, cells, FIRST, positions, np.random.default_rng(seed)),
                joint_survival(parameters, cells, [FIRST, SECOND], [positions, positions], np.random.default_rng(seed)),
            ]
        for exact, estimate in zip(answers[False], answers[True], strict=True):
            assert (exact.standard_error == 0.0).all()
            inside.extend((np.abs(estimate.mean - exact.mean) <= estimate.error() + 1e-9).ravel())
    assert len(inside) == 200
    assert np.mean(inside) >= 0.95


def test_many_hidden_units_are_sampled_and_report_their_convergence():
    rng = np.random.default_rng(0)
    parameters = random_parameters(EVERY_UNIT, 64, rng, strength=0.05)
    cells = random_cells(EVERY_UNIT, 5, rng)
    answer = survival(parameters, cells, FIRST, np.array([0.0, 0.3, 0.7, 1.0]), np.random.default_rng(1))
    assert (answer.mean[:, 0] == 1.0).all()
    assert (answer.mean[:, -1] == 0.0).all()
    assert (np.diff(answer.mean, axis=1) <= 1e-12).all()
    assert (answer.r_hat < 1.1).all()
    assert (answer.standard_error[:, 1:3] < 0.05).all()
    assert (answer.error() >= answer.standard_error).all()


def test_the_same_generator_gives_the_same_answer_whatever_the_threads():
    rng = np.random.default_rng(0)
    parameters = random_parameters(EVERY_UNIT, 20, rng, strength=0.1)
    cells = random_cells(EVERY_UNIT, 3, rng)
    first, second = (survival(parameters, cells, FIRST, np.array([0.5]), np.random.default_rng(1), n_threads=n).mean for n in (1, 2))
    np.testing.assert_array_equal(first, second)


def test_sampled_states_depend_on_the_row_and_the_seed_alone():
    rng = np.random.default_rng(0)
    parameters = random_parameters(EVERY_UNIT, 20, rng, strength=0.2)
    cells = random_cells(EVERY_UNIT, 6, rng)
    together = sample_hidden(parameters, cells, np.random.default_rng(1)).states
    order = rng.permutation(6)
    np.testing.assert_array_equal(
        sample_hidden(parameters, cells.part(order), np.random.default_rng(1), n_threads=2).states, together[order]
    )
    for row in range(6):
        np.testing.assert_array_equal(
            sample_hidden(parameters, cells.part(slice(row, row + 1)), np.random.default_rng(1)).states[0], together[row]
        )
    other_seed = sample_hidden(parameters, cells, np.random.default_rng(2)).states
    assert all((other_seed[row] != together[row]).any() for row in range(6))
    assert (together[0] != together[1]).any()


def test_rows_of_which_the_same_is_known_get_the_same_states():
    """A free time, and one in (0, 1]; minus zero, and zero."""
    layout = Layout([Bernoulli(), TruncatedGamma()])
    parameters = random_parameters(layout, 20, np.random.default_rng(0), strength=0.2)
    nan = np.nan
    cells = Cells.from_bounds(layout, [[0.0, nan], [-0.0, 0.0]], [[0.0, nan], [-0.0, 1.0]])
    states = sample_hidden(parameters, cells, np.random.default_rng(1)).states
    np.testing.assert_array_equal(states[0], states[1])


def test_a_large_monte_carlo_error_is_reported_even_if_chains_agree(monkeypatch):
    answer = Answer(np.array([[0.5]]), np.array([[0.03]]), np.array([[1.02]]))
    with pytest.warns(SamplingWarning, match=r"standard error of up to 0\.03"):
        warn_if_uncertain(answer)
    monkeypatch.setattr(hidden_module, "_LARGE_ERROR", 1e-9)
    rng = np.random.default_rng(0)
    parameters, cells = random_parameters(EVERY_UNIT, 40, rng, strength=0.1), Cells.all_free(EVERY_UNIT)
    with pytest.warns(SamplingWarning, match="answered exactly"):
        survival(parameters, cells, FIRST, np.linspace(0.1, 0.9, 5), rng)
    with pytest.warns(SamplingWarning, match="answered exactly"):
        next(KnownRows.of(parameters, cells, rng)).joint_survival([FIRST, SECOND], [np.array([0.5]), np.array([0.5])])


def test_chains_that_do_not_mix_are_reported():
    """Two blobs far apart, between which chains cannot travel."""
    layout = Layout([Bernoulli(), TruncatedGamma()])
    parameters = random_parameters(layout, 15, np.random.default_rng(0), strength=0.0)
    binary, time = parameters.blocks
    binary["W"][0], binary["a"][0] = -12.0, 90.0
    parameters.hidden_bias[:] = 6.0
    time["W"][0], time["V"][0], time["a"][0], time["c"][0] = -2.0, 0.0, 12.0, 0.0
    with pytest.warns(SamplingWarning, match="R-hat up to"):
        survival(parameters, Cells.all_free(layout, 1), 1, np.array([0.3]), np.random.default_rng(0))


@pytest.mark.slow
def test_dependence_of_a_large_model_is_that_of_its_draws(monkeypatch):
    rng = np.random.default_rng(3)
    parameters = random_parameters(EVERY_UNIT, 3, rng)
    cells = Cells.all_free(EVERY_UNIT, 40)
    exact = kendall_tau(parameters, cells, (FIRST, SECOND), rng)
    monkeypatch.setattr("harmonium.model.dependence._MOST_STATES", 7)
    monkeypatch.setattr("harmonium.model.dependence._N_DRAWS", 200)
    drawn = kendall_tau(parameters, cells, (FIRST, SECOND), rng)
    assert abs(drawn[1] - exact[1]) < 0.03


def test_means_of_sampled_states_are_those_of_the_posterior():
    rng = np.random.default_rng(2)
    parameters = random_parameters(EVERY_UNIT, 4, rng, strength=0.4)
    cells = random_cells(EVERY_UNIT, 4, rng)
    exact = hidden_module.hidden_given(parameters, cells, rng)
    sampled = sample_hidden(parameters, cells, rng)
    np.testing.assert_allclose(sampled.expected(), exact.expected(), atol=0.1)
    draws = np.mean([sampled.draw(rng) for _ in range(400)], axis=0)
    np.testing.assert_allclose(draws, exact.expected(), atol=0.15)
    draws = np.mean([exact.draw(rng) for _ in range(2000)], axis=0)
    np.testing.assert_allclose(draws, exact.expected(), atol=0.05)


@pytest.mark.parametrize("n_hidden", [3, 15])
def test_draws_have_the_means_that_are_known(n_hidden):
    """Independent draws where states are enumerated, chains beyond."""
    rng = np.random.default_rng(4)
    parameters = random_parameters(EVERY_UNIT, n_hidden, rng, strength=0.3)
    cells = random_cells(EVERY_UNIT, 5, rng)
    lower, upper = cells.bounds()
    draws = np.array(list(draw_tables(parameters, cells, 800, np.random.default_rng(5))))
    known = lower == upper
    assert (draws[:, known] == lower[known]).all()
    bounded = ~np.isnan(lower) & ~known
    assert (draws[:, bounded] > lower[bounded]).all()
    assert (draws[:, bounded] <= upper[bounded]).all()
    if n_hidden == 3:
        mean = mean_position(parameters, cells, FIRST, rng).mean[:, 0]
        error = draws[:, :, FIRST].std(axis=0) / np.sqrt(800)
        assert (np.abs(draws[:, :, FIRST].mean(axis=0) - mean) <= 4.5 * error + 1e-9).all()


def test_kendalls_tau_is_that_of_draws():
    rng = np.random.default_rng(6)
    parameters = random_parameters(EVERY_UNIT, 3, rng)
    tau, _ = kendall_tau(parameters, Cells.all_free(EVERY_UNIT, 1), (FIRST, SECOND), rng)
    table = next(draw_tables(parameters, Cells.all_free(EVERY_UNIT, 4000), 1, rng))
    x, y = table[:, FIRST], table[:, SECOND]
    signs = np.sign(x[:2000] - x[2000:]) * np.sign(y[:2000] - y[2000:])
    assert abs(signs.mean() - tau) < 4.0 / np.sqrt(2000)


def test_independent_endpoints_have_no_tau():
    rng = np.random.default_rng(6)
    parameters = random_parameters(EVERY_UNIT, 3, rng)
    parameters.blocks[-1]["W"][1], parameters.blocks[-1]["V"][1] = 0.0, 0.0
    taus = kendall_tau(parameters, Cells.all_free(EVERY_UNIT, 2), (FIRST, SECOND), rng)
    np.testing.assert_allclose(taus, 0.0, atol=1e-10)
