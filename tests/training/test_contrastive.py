"""Contrastive divergence: the textbook's where nothing is missing, the exact gradient in expectation."""

import numpy as np
import pytest

from harmonium.cells import Cells, Layout
from harmonium.engine.exact import LogMassSum, Term
from harmonium.training.contrastive_trainer import ContrastiveTrainer
from harmonium.training.history import History
from harmonium.units import Bernoulli, Gaussian, TruncatedGamma
from tests.models import EVERY_UNIT, random_cells, random_parameters

LAYOUT = Layout([Bernoulli(), Gaussian(), TruncatedGamma()])


def observed_cells(n, rng):
    return Cells.from_bounds(LAYOUT, np.column_stack([rng.integers(0, 2, n), rng.normal(size=n), rng.uniform(0.05, 0.95, n)]))


def test_one_update_is_the_textbook_formula_when_all_is_observed():
    """θ + rate (⟨∂-E⟩ at the data - ⟨∂-E⟩ at the fantasy), from the paper's energy, with the sampled fantasy taken as given."""
    rng = np.random.default_rng(0)
    cells = observed_cells(40, rng)
    start = random_parameters(LAYOUT, 3, rng, strength=0.3)
    trainer = ContrastiveTrainer(learning_rate=0.1, momentum=0.0, batch_size=40, n_epochs=1, n_steps=2, persistent=True, l2=0.0)
    state = trainer.start(cells, 3, rng, start)
    positive = trainer.positive_phase(cells, rng)
    state.negative = trainer.negative_phase(cells, None, positive.beginning, rng)
    trainer._epoch(state, cells, positive, np.random.default_rng(1))
    data, fantasy = cells.bounds()[0], state.negative.values
    binary, gauss, time = start.blocks

    def minus_energy_gradient(x):
        """Means over rows of -∂E/∂θ at (x, p(h | x)), eq. (1) and (2)."""
        a, c, b = x[:, :1], x[:, 1:2] / gauss["sigma"], x[:, 2:]
        fields = start.hidden_bias + a @ binary["W"] + c @ gauss["W"] + b @ time["W"] - np.log(b) @ time["V"]
        mu = 1.0 / (1.0 + np.exp(fields))
        z = (x[:, 1] - gauss["a"]) / gauss["sigma"]
        return {
            "b": -mu.mean(axis=0),
            "W_A": -(a * mu).mean(axis=0),
            "a_A": -a.mean(),
            "W_C": -(c * mu).mean(axis=0),
            "a_C": np.mean(z / gauss["sigma"]),
            "sigma": np.mean((c[:, 0] * (mu @ gauss["W"][0])) / gauss["sigma"] + z**2 / gauss["sigma"]),
            "W_B": -(b * mu).mean(axis=0),
            "V": (np.log(b) * mu).mean(axis=0),
            "a_B": -b.mean(),
            "c": np.log(b).mean(),
        }

    positive, negative = minus_energy_gradient(data), minus_energy_gradient(fantasy)
    step = {name: 0.1 * (positive[name] - negative[name]) for name in positive}
    found, (binary2, gauss2, time2) = state.parameters, state.parameters.blocks
    np.testing.assert_allclose(found.hidden_bias, start.hidden_bias + step["b"], rtol=1e-10)
    np.testing.assert_allclose(binary2["W"][0], binary["W"][0] + step["W_A"], rtol=1e-10)
    np.testing.assert_allclose(binary2["a"], binary["a"] + step["a_A"], rtol=1e-10)
    np.testing.assert_allclose(gauss2["W"][0], gauss["W"][0] + step["W_C"], rtol=1e-10)
    np.testing.assert_allclose(gauss2["a"], gauss["a"] + step["a_C"], rtol=1e-10)
    np.testing.assert_allclose(gauss2["sigma"], gauss["sigma"] + step["sigma"], rtol=1e-10)
    np.testing.assert_allclose(time2["W"][0], time["W"][0] + step["W_B"], rtol=1e-10)
    np.testing.assert_allclose(time2["V"][0], np.maximum(time["V"][0] + step["V"], 0.0), rtol=1e-10)
    np.testing.assert_allclose(time2["a"], time["a"] + step["a_B"], rtol=1e-10)
    np.testing.assert_allclose(time2["c"], np.maximum(time["c"] + step["c"], 0.0), rtol=1e-10)


@pytest.mark.parametrize("conditional", [False, True])
def test_with_many_steps_and_chains_the_gradient_is_the_exact_one(conditional):
    rng = np.random.default_rng(3)
    parameters = random_parameters(EVERY_UNIT, 2, rng, strength=0.4)
    one = random_cells(EVERY_UNIT, 3, rng).bounds()
    many = Cells.from_bounds(EVERY_UNIT, *(np.tile(bounds, (4000, 1)) for bounds in one))
    conditioned = many.freeing("truncated_gamma") if conditional else None
    trainer = ContrastiveTrainer(n_steps=150, persistent=False, l2=0.0)
    state = trainer.start(many, 2, rng, parameters)
    positive = trainer.positive_phase(many, rng)
    state.negative = trainer.negative_phase(many, conditioned, positive.beginning, rng)
    sampled = [trainer.gradient(state, many, positive, rows) for rows in np.split(np.arange(12000), 20)]
    recorded = Cells.from_bounds(EVERY_UNIT, *one)
    denominator = recorded.freeing("truncated_gamma") if conditional else Cells.all_free(EVERY_UNIT, 3)
    exact = LogMassSum([Term.uniform(recorded, 1 / 3), Term.uniform(denominator, -1 / 3)]).value_and_gradient(parameters)[1].to_vector()
    error = np.std(sampled, axis=0, ddof=1) / np.sqrt(20)
    assert (np.abs(np.mean(sampled, axis=0) - exact) <= 5.0 * error + 1e-9).all()


def test_positive_samples_never_leave_their_intervals():
    rng = np.random.default_rng(0)
    cells = random_cells(EVERY_UNIT, 60, rng)
    lower, upper = cells.bounds()
    known = ~np.isnan(lower)
    trainer = ContrastiveTrainer(n_steps=3, learning_rate=0.01, batch_size=20)
    state = trainer.start(cells, 3, rng)
    positive = trainer.positive_phase(cells, rng)
    state.negative = trainer.negative_phase(cells, None, positive.beginning, rng)
    moved = np.zeros_like(known)
    for _ in range(20):
        before = positive.values.copy()
        trainer._epoch(state, cells, positive, rng)
        assert (positive.values[known] >= lower[known]).all()
        assert (positive.values[known] <= upper[known]).all()
        moved |= positive.values != before
    np.testing.assert_array_equal(positive.values[lower == upper], lower[lower == upper])
    assert moved[:, 3:][~(lower == upper)[:, 3:]].all()  # every unobserved time was drawn anew


def test_same_seed_same_model():
    cells = random_cells(EVERY_UNIT, 300, np.random.default_rng(0))
    fits = [ContrastiveTrainer(n_epochs=5, batch_size=150).fit(cells, None, 3, np.random.default_rng(1), History()) for _ in range(2)]
    np.testing.assert_array_equal(fits[0].to_vector(), fits[1].to_vector())


def test_divergence_is_reported_with_advice():
    cells = observed_cells(50, np.random.default_rng(0))
    trainer = ContrastiveTrainer(learning_rate=1e200, n_epochs=50, batch_size=50)
    with pytest.raises(FloatingPointError, match="lower learning_rate"), np.errstate(all="ignore"):
        trainer.fit(cells, None, 3, np.random.default_rng(0), History())


def test_learning_raises_the_likelihood():
    rng = np.random.default_rng(0)
    cells = random_cells(EVERY_UNIT, 200, rng)
    likelihood = LogMassSum([Term.uniform(cells, 1 / 200), Term.uniform(Cells.all_free(EVERY_UNIT), -1.0)])
    start = ContrastiveTrainer().start(cells, 2, np.random.default_rng(1)).parameters
    for settings in ({}, {"centred": True}, {"optimiser": "adam", "learning_rate": 0.005}, {"persistent": False}):
        end = ContrastiveTrainer(**{"n_epochs": 150, "learning_rate": 0.02, **settings}).fit(cells, None, 2, rng, History(), start)
        assert likelihood.value_and_gradient(end)[0] > likelihood.value_and_gradient(start)[0] + 0.1
