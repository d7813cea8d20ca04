"""Answers of integrated rows: those of enumeration, the same in any table, and exact beyond it."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import harmonium as hm
from harmonium.cells import Cells
from harmonium.model import cell_answers
from harmonium.model.cell_answers import CellAnswers
from harmonium.model.fitted import Fitted
from harmonium.model.integrated_rows import IntegratedRows
from harmonium.model.known_rows import KnownRows
from tests.models import EVERY_UNIT, random_cells, random_parameters

FIRST, SECOND = 3, 4
POSITIONS = np.array([0.0, 1e-6, 0.01, 0.1, 0.3, 0.5, 0.77, 0.95, 0.9999, 1.0])
TIMES = [6.0, 12.0, 24.0]


@pytest.mark.slow
@settings(deadline=None, max_examples=25)
@given(st.integers(0, 2**32 - 1), st.sampled_from([0.3, 1.0, 1.5]))
def test_answers_are_those_of_enumeration(seed, strength):
    rng = np.random.default_rng(seed)
    parameters = random_parameters(EVERY_UNIT, int(rng.integers(0, 8)), rng, strength)
    cells = random_cells(EVERY_UNIT, 3, rng, most_unobserved_continuous=2)
    integrated, could = IntegratedRows.of(parameters, cells)
    assert could.all()
    known = next(KnownRows.of(parameters, cells, rng))
    for column in (FIRST, SECOND):
        answer = integrated.survival(column, POSITIONS)
        np.testing.assert_allclose(answer.mean, known.survival(column, POSITIONS).mean, atol=1e-9)
        assert (answer.standard_error == 0.0).all()
        assert (answer.r_hat == 1.0).all()
        density = known.density(column, POSITIONS[1:]).mean
        scaled = 1.0 + np.nan_to_num(density).max(axis=1, keepdims=True)
        np.testing.assert_allclose(integrated.density(column, POSITIONS[1:]).mean / scaled, density / scaled, atol=1e-9)
        np.testing.assert_allclose(integrated.mean_position(column).mean, known.mean_position(column).mean, atol=1e-9)
    for columns in ([FIRST, SECOND], [SECOND, FIRST], [SECOND]):
        grid = [POSITIONS, POSITIONS[::2]][: len(columns)]
        np.testing.assert_allclose(integrated.joint_survival(columns, grid).mean, known.joint_survival(columns, grid).mean, atol=1e-9)
        grid = [own[own > 0.0] for own in grid]
        density = known.joint_density(columns, grid).mean
        np.testing.assert_allclose(integrated.joint_density(columns, grid).mean, density, atol=1e-9, rtol=1e-9)
    np.testing.assert_allclose(integrated.expected_hidden(), known.expected_hidden(), atol=1e-9)


def test_hazards_reach_into_tails_where_nobody_is_left():
    """Beyond 1e-300 neither density nor survival can be written down, but their ratio can."""
    parameters = random_parameters(EVERY_UNIT, 2, np.random.default_rng(0), strength=0.1)
    parameters.blocks[-1]["a"][...] = 900.0
    cells = Cells.from_bounds(EVERY_UNIT, [[1.0, 1.0, 0.1, np.nan, np.nan]])
    integrated, _ = IntegratedRows.of(parameters, cells)
    known = next(KnownRows.of(parameters, cells, np.random.default_rng(0)))
    at = np.array([0.01, 0.5, 0.9, 0.99])
    assert integrated.survival(FIRST, at).mean[0, 2] == 0.0
    np.testing.assert_allclose(integrated.hazard(FIRST, at), known.hazard(FIRST, at), rtol=1e-7)


# --- a fitted model ---------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def nvalt8():
    return hm.datasets.load_nvalt8()


@pytest.fixture(scope="module")
def large(nvalt8):
    """A hundred and twenty-eight hidden units, trained for a moment."""
    return hm.SurvivalHarmonium(128, objective="joint", trainer=hm.Contrastive(n_epochs=3), random_state=0).fit(*nvalt8).fitted_


def test_complete_patients_of_a_large_model_have_exact_curves(large, nvalt8):
    X, y = nvalt8
    complete = np.flatnonzero(X.notna().all(axis=1))[:30]
    prognosis = large.prognosis(X.iloc[complete])
    assert isinstance(prognosis.answerer, CellAnswers)
    assert set(prognosis.methods) == {"integrate"}
    for endpoint in ("os", "rfs"):
        alive, answer = prognosis.survival(endpoint, return_diagnostics=True)
        assert (np.diff(alive, axis=1) <= 1e-12).all()
        assert (answer.standard_error == 0.0).all()
        assert (answer.r_hat == 1.0).all()
        early = prognosis.quantile(endpoint, 2e-4)
        assert np.isfinite(early).all()
        np.testing.assert_allclose(prognosis.survival_at(endpoint, early), 1.0 - 2e-4, atol=1e-6)
    both = prognosis.joint_survival({"os": [0.0, *TIMES], "rfs": [0.0, *TIMES]})
    np.testing.assert_allclose(both[:, 1:, 0], prognosis.survival("os", TIMES), atol=1e-9)
    np.testing.assert_allclose(both[:, 0, 1:], prognosis.survival("rfs", TIMES), atol=1e-9)
    assert set(large.prognosis(X.iloc[complete], given=y.iloc[complete]).methods) <= {"closed form", "integrate"}


@pytest.fixture(scope="module")
def mixed(nvalt8):
    """Rows of every kind: complete, one number missing, much missing."""
    X = nvalt8[0].iloc[:8].copy()
    numeric = [name for name in X if X[name].dtype.kind == "f"]
    X.iloc[1, X.columns.get_loc(numeric[0])] = np.nan
    X.iloc[[2, 5], :] = None
    return X


def ask_everything(prognosis):
    answers = [prognosis.survival("os", TIMES), prognosis.survival("rfs", TIMES), prognosis.density("os", TIMES)]
    answers += [prognosis.hazard("rfs", TIMES), prognosis.median("os"), prognosis.restricted_mean("os", until=60.0), prognosis.risk("rfs")]
    answers += [prognosis.joint_survival({"os": TIMES, "rfs": TIMES}), prognosis.joint_density({"os": TIMES, "rfs": TIMES})]
    return [*answers, prognosis.answerer.hidden(), prognosis.survival_at("os", np.full(prognosis.n_rows, 12.0))]


@pytest.mark.filterwarnings("ignore::harmonium.errors.SamplingWarning")
def test_answers_of_every_method_are_the_same_alone_in_a_table_and_in_any_order(large, mixed):
    together = large.prognosis(mixed)
    methods = together.methods
    assert methods.tolist() == ["integrate", "integrate", "sample", "integrate", "integrate", "sample", "integrate", "integrate"]
    answers = ask_everything(together)
    order = np.random.default_rng(0).permutation(8)
    permuted = ask_everything(large.prognosis(mixed.iloc[order]))
    for ordered, other in zip(answers, permuted, strict=True):
        np.testing.assert_array_equal(ordered[order], other)
    for k in (0, 1, 2):
        for ordered, alone in zip(answers, ask_everything(large.prognosis(mixed.iloc[[k]])), strict=True):
            np.testing.assert_array_equal(ordered[k], alone[0])


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::harmonium.errors.SamplingWarning")
def test_parts_of_a_table_do_not_matter(large, mixed, monkeypatch):
    kept = ask_everything(large.prognosis(mixed))
    monkeypatch.setattr(cell_answers, "_KEPT_INTEGRALS", 3)
    monkeypatch.setattr("harmonium.model.hidden._ROWS_AT_ONCE", 1)
    for one, other in zip(kept, ask_everything(large.prognosis(mixed)), strict=True):
        np.testing.assert_array_equal(one, other)


def test_rows_with_too_much_detail_are_sampled_and_say_so(large, nvalt8, monkeypatch):
    complete = nvalt8[0][nvalt8[0].notna().all(axis=1)][:2]
    monkeypatch.setattr("harmonium.engine.integration._MOST_ROUNDS", 0)
    assert large.prognosis(complete).methods.tolist() == ["sample", "sample"]


def test_log_likelihoods_are_exact_where_x_is_integrated(large, nvalt8, monkeypatch):
    """Neither annealed nor random, and the sum over all times is one."""
    X, y = nvalt8
    complete = np.flatnonzero(X.notna().all(axis=1))[:5]
    monkeypatch.setattr("harmonium.model.fitted.annealed_log_mass", None)
    found = large.log_likelihood(X.iloc[complete], y.iloc[complete])
    assert np.isfinite(found).all()
    alone = [large.log_likelihood(X.iloc[[k]], y.iloc[[k]])[0] for k in complete]
    np.testing.assert_array_equal(found, alone)


def test_log_masses_are_annealed_where_too_much_is_unobserved(large, nvalt8, monkeypatch):
    def annealed(parameters, cells, rng, n_threads):
        assert cells.n_rows == 1
        return np.array([7.0]), np.zeros(1)

    monkeypatch.setattr("harmonium.model.fitted.annealed_log_mass", annealed)
    assert isinstance(large, Fitted)
    X = nvalt8[0][nvalt8[0].notna().all(axis=1)][:2].copy()
    X.iloc[1, :] = None
    masses = large.log_mass(large.encoding.cells(large.encoding.covariates(X)))
    assert masses[1] == 7.0
    assert masses[0] != 7.0
