"""Contrastive divergence: the textbook's where nothing is missing, the exact gradient in expectation."""

import numpy as np
import pytest

from harmonium.cells import Cells, Layout
from harmonium.engine.exact import LogMassSum, Term
from harmonium.errors import InterruptionWarning
from harmonium.training.contrastive import Contrastive
from harmonium.training.history import History
from harmonium.training.objective import Objective
from harmonium.units import Bernoulli, Gaussian, TruncatedGamma
from tests.models import EVERY_UNIT, random_cells, random_parameters

LAYOUT = Layout([Bernoulli(), Gaussian(), TruncatedGamma()], n_outcomes=1)


def objective_of(cells, conditional=0.0):
    return Objective(cells, np.zeros((cells.n_rows, cells.layout.n_outcomes)), conditional)


def observed_cells(n, rng):
    return Cells.from_bounds(LAYOUT, np.column_stack([rng.integers(0, 2, n), rng.normal(size=n), rng.uniform(0.05, 0.95, n)]))


def test_one_update_is_the_textbook_formula_when_all_is_observed():
    """θ + rate (⟨∂-E⟩ at the data - ⟨∂-E⟩ at the fantasy), from the paper's energy, with the sampled fantasy taken as given."""
    rng = np.random.default_rng(0)
    cells = observed_cells(40, rng)
    start = random_parameters(LAYOUT, 3, rng, strength=0.3)
    trainer = Contrastive(learning_rate=0.1, momentum=0.0, batch_size=40, n_epochs=1, n_steps=2, persistent=True, l2=0.0)
    state = trainer.begin(objective_of(cells), 3, rng, start)
    positive, state.negative = trainer.phases(objective_of(cells), rng)
    trainer.run_epoch(state, positive)
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


@pytest.mark.slow
@pytest.mark.parametrize("conditional", [False, True])
def test_with_many_steps_and_chains_the_gradient_is_the_exact_one(conditional):
    rng = np.random.default_rng(3)
    parameters = random_parameters(EVERY_UNIT, 2, rng, strength=0.4)
    one = random_cells(EVERY_UNIT, 3, rng).bounds()
    many = Cells.from_bounds(EVERY_UNIT, *(np.tile(bounds, (4000, 1)) for bounds in one))
    objective = objective_of(many, float(conditional))
    trainer = Contrastive(n_steps=150, persistent=False, l2=0.0)
    state = trainer.begin(objective, 2, rng, parameters)
    positive, state.negative = trainer.phases(objective, rng)
    sampled = [trainer.gradient(state, many, positive, rows) for rows in np.split(np.arange(12000), 20)]
    recorded = Cells.from_bounds(EVERY_UNIT, *one)
    denominator = recorded.freeing_outcomes() if conditional else Cells.all_free(EVERY_UNIT, 3)
    exact = LogMassSum([Term.uniform(recorded, 1 / 3), Term.uniform(denominator, -1 / 3)]).value_and_gradient(parameters)[1].to_vector()
    error = np.std(sampled, axis=0, ddof=1) / np.sqrt(20)
    assert (np.abs(np.mean(sampled, axis=0) - exact) <= 5.0 * error + 1e-9).all()


def test_positive_samples_never_leave_their_intervals():
    rng = np.random.default_rng(0)
    cells = random_cells(EVERY_UNIT, 60, rng)
    lower, upper = cells.bounds()
    known = ~np.isnan(lower)
    trainer = Contrastive(n_steps=3, learning_rate=0.01, batch_size=20)
    state = trainer.begin(objective_of(cells), 3, rng)
    positive, state.negative = trainer.phases(objective_of(cells), rng)
    moved = np.zeros_like(known)
    for _ in range(20):
        before = positive.values.copy()
        trainer.run_epoch(state, positive)
        assert (positive.values[known] >= lower[known]).all()
        assert (positive.values[known] <= upper[known]).all()
        moved |= positive.values != before
    np.testing.assert_array_equal(positive.values[lower == upper], lower[lower == upper])
    assert moved[:, 3:][~(lower == upper)[:, 3:]].all()  # every unobserved time was drawn again


def test_same_seed_same_model():
    cells = random_cells(EVERY_UNIT, 300, np.random.default_rng(0))
    trainer, objective = Contrastive(n_epochs=5, batch_size=150), objective_of(cells)
    fits = [trainer.fit(objective, 3, rng=np.random.default_rng(1), history=History()) for _ in range(2)]
    np.testing.assert_array_equal(fits[0].parameters.to_vector(), fits[1].parameters.to_vector())
    assert fits[0].converged is None
    assert fits[0].l2 == 1e-3


def test_divergence_is_reported_with_advice():
    cells = observed_cells(50, np.random.default_rng(0))
    trainer = Contrastive(learning_rate=1e200, n_epochs=50, batch_size=50)
    with pytest.raises(FloatingPointError, match="lower learning_rate"), np.errstate(all="ignore"):
        trainer.fit(objective_of(cells), 3, rng=np.random.default_rng(0), history=History())


def test_learning_raises_the_likelihood():
    rng = np.random.default_rng(0)
    cells = random_cells(EVERY_UNIT, 200, rng)
    likelihood = LogMassSum([Term.uniform(cells, 1 / 200), Term.uniform(Cells.all_free(EVERY_UNIT), -1.0)])
    objective = objective_of(cells)
    start = Contrastive().begin(objective, 2, np.random.default_rng(1)).parameters
    for settings in ({}, {"centered": True}, {"optimizer": "adam", "learning_rate": 0.005}, {"persistent": False}):
        trainer = Contrastive(**{"n_epochs": 150, "learning_rate": 0.02, **settings})
        end = trainer.fit(objective, 2, rng=rng, history=History(), start=start).parameters
        assert likelihood.value_and_gradient(end)[0] > likelihood.value_and_gradient(start)[0] + 0.1


def test_an_interrupt_keeps_the_last_update():
    def interrupt(row):
        if row["iteration"] == 2:
            raise KeyboardInterrupt

    objective, history = objective_of(observed_cells(50, np.random.default_rng(0))), History(listener=interrupt)
    with pytest.warns(InterruptionWarning, match="the parameters of the last update are kept"):
        fit = Contrastive().fit(objective, 2, rng=np.random.default_rng(0), history=history)
    three = Contrastive(n_epochs=3).fit(objective, 2, rng=np.random.default_rng(0), history=History())
    np.testing.assert_array_equal(fit.parameters.to_vector(), three.parameters.to_vector())


def test_passes_over_parts_go_on_from_each_other():
    """One pass after another over the same rows is a fit with as many epochs, but for the chains of the positive phase."""
    rng = np.random.default_rng(0)
    objective = objective_of(observed_cells(50, rng))
    trainer, state = Contrastive(learning_rate=0.1), None
    vectors = []
    for _ in range(3):
        state = trainer.partial_fit(objective, 2, rng=np.random.default_rng(1), state=state)
        vectors.append(state.parameters.to_vector())
    assert state.n_updates == 3
    assert np.abs(vectors[2] - vectors[1]).max() > 0.0
    once = trainer.set_params(n_epochs=1).fit(objective, 2, rng=np.random.default_rng(1), history=History())
    np.testing.assert_array_equal(once.parameters.to_vector(), vectors[0])


def test_penalties_by_name_shrink_what_they_name_and_nothing_else():
    objective = objective_of(observed_cells(100, np.random.default_rng(0)))
    state = Contrastive(l2={"a": 2.0, "b": 3.0}).begin(objective, 2, np.random.default_rng(0))
    weights = state.start.with_vector(state.learner.penalties)
    assert (weights.hidden_bias == 3.0).all()
    assert all((block[name] == (2.0 if name == "a" else 0.0)).all() for block in weights.blocks for name in block)


def test_by_default_couplings_are_penalised():
    objective = objective_of(observed_cells(100, np.random.default_rng(0)))
    state = Contrastive(l2=0.5).begin(objective, 2, np.random.default_rng(0))
    weights = state.start.with_vector(state.learner.penalties)
    assert (weights.hidden_bias == 0.0).all()
    assert all((block[name] == (0.5 if name in ("W", "V") else 0.0)).all() for block in weights.blocks for name in block)
    lowest = state.start.with_vector(state.learner.lowest)
    assert lowest.blocks[1]["sigma"][0] == 0.05
    assert (lowest.blocks[2]["V"] == 0.0).all()
    assert (lowest.blocks[2]["W"] == -np.inf).all()


def test_weights_between_the_two_objectives_are_not_sampled():
    objective = objective_of(observed_cells(20, np.random.default_rng(0)), 0.5)
    with pytest.warns(UserWarning, match="knows no weights: objective=0.5 trains the joint likelihood"):
        Contrastive(n_epochs=1).fit(objective, 1, rng=np.random.default_rng(0), history=History())


def test_only_incomplete_rows_draw_in_the_positive_phase():
    rng = np.random.default_rng(0)
    lower, upper = (bound.copy() for bound in observed_cells(30, rng).bounds())
    upper[::3, 2] = 1.0
    cells = Cells.from_bounds(LAYOUT, lower, upper)
    trainer = Contrastive(batch_size=20)
    state = trainer.begin(objective_of(cells), 3, rng)
    positive, state.negative = trainer.phases(objective_of(cells), rng)
    streams, values = positive.streams.copy(), positive.values.copy()
    trainer.run_epoch(state, positive)
    np.testing.assert_array_equal((positive.streams != streams).any(axis=0), np.arange(30) % 3 == 0)
    np.testing.assert_array_equal((positive.values != values).any(axis=1), np.arange(30) % 3 == 0)
