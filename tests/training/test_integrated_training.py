"""The exact trainer beyond enumeration, where every row can be integrated."""

import numpy as np
import pytest

import harmonium as hm
from harmonium.cells import Cells, Layout
from harmonium.engine.integrated_sum import IntegratedLogMassSum
from harmonium.training import objective as objective_module
from harmonium.training.exact import Exact
from harmonium.training.history import History
from harmonium.training.objective import Objective
from harmonium.units import Bernoulli, Gaussian, TruncatedGamma

LAYOUT = Layout([Bernoulli(), Gaussian(), TruncatedGamma(), TruncatedGamma()], n_outcomes=2)


def table(n_rows, rng):
    """Two event times that follow a number, some of them censored."""
    number = rng.normal(size=n_rows)
    times = np.clip(rng.beta(2.0, 3.0, (n_rows, 2)) * np.exp(0.3 * number)[:, None], 0.01, 0.99)
    lower = np.column_stack([rng.integers(0, 2, n_rows), number, times])
    upper = lower.copy()
    upper[: n_rows // 3, 2] = 1.0
    return Cells.from_bounds(LAYOUT, lower, upper)


def fit(cells, n_hidden, conditional=1.0, **settings):
    objective = Objective(cells, np.zeros((cells.n_rows, 2)), conditional)
    history = History()
    trainer = Exact(l2=1.0, n_starts=1, **settings)
    found = trainer.fit(objective, n_hidden, rng=np.random.default_rng(0), history=history)
    return found, history


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_integration_trains_as_enumeration_does(monkeypatch):
    cells = table(12, np.random.default_rng(0))
    enumerated = fit(cells, 3, max_iter=6)[0].parameters.to_vector()
    monkeypatch.setattr(objective_module, "EXACT_LIMIT", 2)
    integrated = fit(cells, 3, max_iter=6)[0].parameters.to_vector()
    np.testing.assert_allclose(integrated, enumerated, rtol=1e-5, atol=1e-6)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("conditional", [1.0, 0.0])
def test_more_hidden_units_than_can_be_enumerated_are_trained_exactly(conditional):
    """Also jointly: one number, one yes or no and two times can be integrated together."""
    found, history = fit(table(4, np.random.default_rng(1)), 16, conditional, max_iter=2)
    assert found.parameters.n_hidden == 16
    values = [row["objective"] for row in history.rows]
    assert np.isfinite(values).all()
    assert values == sorted(values)


def test_a_row_that_cannot_be_integrated_is_named():
    rng = np.random.default_rng(0)
    layout = Layout([Gaussian(), Gaussian(), TruncatedGamma()], n_outcomes=1)
    values = np.column_stack([rng.normal(size=(5, 2)), rng.uniform(0.1, 0.9, 5)])
    values[3, :2] = np.nan
    objective = Objective(Cells.from_bounds(layout, values), np.zeros((5, 1)), 1.0)
    message = r"up to 14 hidden units; with 20 .* row 3 leaves unobserved: column 0 \(gaussian\), 1 \(gaussian\)\. Use fewer hidden units"
    with pytest.raises(ValueError, match=message):
        Exact().fit(objective, 20, rng=rng, history=History())


def test_integrals_that_have_not_converged_are_reported(monkeypatch):
    monkeypatch.setattr(objective_module, "EXACT_LIMIT", 2)
    monkeypatch.setattr("harmonium.engine.integrated_sum._MOST_ROUNDS", 1)
    monkeypatch.setattr("harmonium.engine.axes._MASS_TOLERANCE", 1e-30)
    with pytest.warns(UserWarning, match="rows were not integrated to full accuracy|has not converged") as caught:
        fit(table(6, np.random.default_rng(2)), 3, max_iter=1)
    assert any("rows were not integrated to full accuracy" in str(warning.message) for warning in caught)


def test_a_late_entry_shares_nothing_and_is_right_all_the_same():
    cells = table(6, np.random.default_rng(3))
    entry = np.zeros((6, 2))
    entry[:3] = 0.005
    terms = Objective(cells, entry, 1.0).terms()
    assert np.isfinite(IntegratedLogMassSum(terms, 20).value_and_natural_gradient(_natural(20))[0])


def _natural(n_hidden):
    rng = np.random.default_rng(0)
    return hm.engine.parameters.Parameters.initial(LAYOUT, np.full((1, 4), np.nan), n_hidden, rng).natural()
