"""Samples of rows: nothing rare is missing, sums are kept, and a fit that began on one ends where it would have ended without."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import harmonium as hm
from harmonium.cells import Cells, Layout
from harmonium.errors import InterruptionWarning
from harmonium.training.exact import Exact
from harmonium.training.history import History
from harmonium.training.objective import Objective
from harmonium.training.samples import count_kinds, draw, merge_drawn, merge_kinds, row_weights
from harmonium.units import Categorical, Gaussian, TruncatedGamma
from tests.distributed.tables import both, cohort

N_ROWS = 4000
LAYOUT = Layout([Gaussian(), Categorical(4), TruncatedGamma(), TruncatedGamma()], n_outcomes=2)


def table(seed=0, n_rows=N_ROWS):
    """A level in three rows; 20 events of the second outcome, whose other rows are censored or know nothing."""
    rng = np.random.default_rng(seed)
    lower = np.column_stack([rng.normal(size=n_rows), rng.integers(0, 3, n_rows), *rng.uniform(0.1, 0.9, (2, n_rows))])
    lower[rng.choice(n_rows, 3, replace=False), 1] = 3.0
    lower[rng.random(n_rows) < 0.1, 0] = np.nan
    upper = lower.copy()
    upper[rng.random(n_rows) < 0.5, 2] = 1.0
    censored = np.setdiff1d(np.arange(n_rows), rng.choice(n_rows, 20, replace=False))
    upper[censored, 3] = 1.0
    lower[censored[:500], 3] = upper[censored[:500], 3] = np.nan
    return Cells.from_bounds(LAYOUT, lower, upper)


def drawn(cells, size=400, seed=1):
    return draw(cells, np.zeros((cells.n_rows, 2)), count_kinds(cells), size, seed)


def test_rare_levels_and_events_are_in_the_sample_whole():
    cells = table()
    sample = drawn(cells)
    kinds, of_sample = count_kinds(cells), count_kinds(sample.cells)
    assert kinds[1].tolist()[-1] == of_sample[1].tolist()[-1] == 3
    assert kinds[3].tolist()[2] == of_sample[3].tolist()[2] == 20
    assert 400 <= sample.cells.n_rows < 800
    rare = sample.cells.column(1)[0] == 3.0
    assert np.all(sample.chance[rare] == 1.0)


def test_with_more_rare_levels_than_fit_the_sample_is_still_a_small_one():
    rng = np.random.default_rng(0)
    layout = Layout([Categorical(1000), TruncatedGamma()], n_outcomes=1)
    cells = Cells.from_bounds(layout, np.column_stack([rng.integers(0, 1000, 20_000), rng.uniform(0.1, 0.9, 20_000)]))
    sample = draw(cells, np.zeros((20_000, 1)), count_kinds(cells), 1500, 0)
    assert sample.cells.n_rows < 3000


def test_weights_add_up_to_all_rows_and_estimate_their_sums():
    cells = table()
    parameters = Exact(l2=1.0, n_starts=1).fit(joint(table(5, 300)), 2, rng=np.random.default_rng(0), history=History()).parameters
    whole = joint(cells).likelihood(2, 1).value_and_natural_gradient(parameters.natural())[0]
    estimates = []
    for seed in range(40):
        sample = joint(cells).sample(400, seed)
        assert sample.weights.sum() == pytest.approx(N_ROWS, rel=1e-12)
        estimates.append(sample.likelihood(2, 1).value_and_natural_gradient(parameters.natural())[0])
    error = np.std(estimates) / np.sqrt(40)
    assert abs(np.mean(estimates) - whole) < 4.0 * error
    assert np.std(estimates) < 0.1 * abs(whole)


def joint(cells, conditional=0.0):
    return Objective(cells, np.zeros((cells.n_rows, 2)), conditional)


@pytest.mark.parametrize("conditional", [0.0, 0.5, 1.0])
def test_a_sample_of_everything_is_the_table(conditional):
    objective = joint(table(), conditional)
    everything = objective.sample(N_ROWS, 0)
    np.testing.assert_array_equal(everything.weights, 1.0)
    for mine, theirs in zip(everything.terms(), objective.terms(), strict=True):
        np.testing.assert_array_equal(mine.weights, theirs.weights)
        np.testing.assert_array_equal(mine.cells.bounds(), theirs.cells.bounds())


def test_rows_that_were_certain_stand_for_themselves():
    np.testing.assert_allclose(row_weights(np.array([1.0, 1.0, 0.1, 0.1]), 30), [1.0, 1.0, 14.0, 14.0])
    np.testing.assert_array_equal(row_weights(np.ones(3), 3), 1.0)


def test_the_sample_does_not_depend_on_how_the_table_is_cut():
    cells = table()
    whole = drawn(cells)
    cuts = [slice(0, 1500), slice(1500, 1500), slice(1500, N_ROWS)]
    kinds = merge_kinds([count_kinds(cells.part(rows)) for rows in cuts])
    entry = np.zeros((N_ROWS, 2))
    parts = merge_drawn([draw(cells.part(rows), entry[rows], kinds, 400, 1, rows.start) for rows in cuts])
    np.testing.assert_array_equal(whole.cells.bounds(), parts.cells.bounds())
    np.testing.assert_array_equal(whole.chance, parts.chance)


# --- fits ---


def fitted(sample_rows, n_jobs=1, rows=3000, n_starts=3):
    X, y = both(cohort(rows, ties=True))
    trainer = Exact(n_starts=n_starts, sample_rows=sample_rows)
    return hm.SurvivalHarmonium(1, trainer=trainer, random_state=0, n_jobs=n_jobs).fit(X, y)


@pytest.fixture(scope="module")
def sampled():
    return fitted(1000)


def test_the_fit_ends_where_one_without_a_sample_ends(sampled):
    """A sample of all rows is none."""
    without = fitted(3000)
    mine, theirs = (model.history_.iloc[-1] for model in (sampled, without))
    assert sampled.converged_
    assert without.converged_
    assert 2 * sampled.n_passes_ < without.n_passes_ == without.n_evaluations_
    assert sampled.n_evaluations_ > sampled.n_passes_
    assert mine["objective"] == pytest.approx(theirs["objective"], abs=1e-7)
    assert sampled.l2_ == without.l2_


def test_history_says_what_it_is_about(sampled):
    history = sampled.history_
    assert history["stage"].unique().tolist() == ["a sample", "all rows"]
    assert (history.loc[history["stage"] == "a sample", "passes"] == 0).all()
    assert 0 < history["passes"].iloc[-1] < sampled.n_passes_  # rows have missing values: given the covariate units, training goes on
    assert history["evaluations"].is_monotonic_increasing


def test_the_same_bits_whatever_the_threads(sampled):
    np.testing.assert_array_equal(fitted(1000, n_jobs=2).parameters_.to_vector(), sampled.parameters_.to_vector())


def test_small_tables_take_no_sample_unless_asked():
    automatic, never = (fitted(size, rows=300, n_starts=1) for size in ("auto", None))
    assert automatic.n_passes_ == automatic.n_evaluations_
    assert "stage" not in automatic.history_
    np.testing.assert_array_equal(automatic.parameters_.to_vector(), never.parameters_.to_vector())


def test_large_tables_take_one(monkeypatch):
    monkeypatch.setattr("harmonium.training.samples.MANY_ROWS", 500)
    monkeypatch.setattr("harmonium.training.samples._FEWEST", 200)
    monkeypatch.setattr("harmonium.training.samples._PER_COORDINATE", 1)
    automatic, by_hand, never = (fitted(size, rows=500, n_starts=1) for size in ("auto", 200, None))
    np.testing.assert_array_equal(automatic.parameters_.to_vector(), by_hand.parameters_.to_vector())
    assert by_hand.history_["stage"].nunique() == 2
    assert never.history_["stage"].unique().tolist() == ["all rows"]


def test_an_interrupt_while_polishing_keeps_the_best_parameters_so_far():
    objective = joint(table(n_rows=1000), 1.0)

    def interrupt(row):
        if row["stage"] == "all rows":
            raise KeyboardInterrupt

    history = History(listener=interrupt)
    with pytest.warns(InterruptionWarning, match="the best parameters so far are kept") as caught:
        fit = Exact(n_starts=2, sample_rows=300).fit(objective, 1, rng=np.random.default_rng(0), history=history)
    assert len(caught) == 1
    assert fit.converged is False
    value, _ = objective.likelihood(1, 1).value_and_natural_gradient(fit.parameters.natural())
    assert value / 1000 >= history.rows[-1]["objective"]  # without the penalty


def test_a_fit_that_was_cut_short_says_so():
    with pytest.warns(ConvergenceWarning, match="not converged after 1 iterations"):
        Exact(n_starts=1, sample_rows=300, max_iter=1).fit(
            joint(table(n_rows=1000), 1.0), 1, rng=np.random.default_rng(0), history=History()
        )


def test_training_goes_on_from_where_it_ended(sampled):
    X, y = both(cohort(3000, ties=True))
    again = hm.SurvivalHarmonium(1, trainer=Exact(sample_rows=1000), warm_start=True, random_state=0)
    again.fitted_ = sampled.fitted_
    again.fit(X, y)
    assert again.history_["stage"].unique().tolist() == ["all rows"]
    assert again.history_["objective"].iloc[-1] == pytest.approx(sampled.history_["objective"].iloc[-1], abs=1e-6)


def test_early_stopping_ends_the_last_stage_but_not_the_search(monkeypatch):
    monkeypatch.setattr("harmonium.training.history._EVERY", 1)  # the last stage takes a few iterations only
    worse = iter(range(0, -1000, -1))
    history = History(validate=lambda parameters: {"validation": next(worse)}, patience=1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fit = Exact(l2=1.0, n_starts=2, tol=0.0, sample_rows=300).fit(
            joint(table(n_rows=1000), 1.0), 1, rng=np.random.default_rng(0), history=history
        )
    assert fit.converged is False
    assert fit.parameters is history.best
    assert history.rows[-1]["stage"] == "all rows"
    assert len(history.rows) > 20


@pytest.mark.parametrize("wrong", [0, -5, 2.5, "all", True])
def test_a_sample_that_cannot_be_drawn_is_refused(wrong):
    with pytest.raises(ValueError, match='sample_rows must be "auto", None or a whole number of at least 1'):
        Exact(sample_rows=wrong).fit(joint(table(n_rows=50)), 1, rng=np.random.default_rng(0), history=History())
