"""The paper's model in the paper's benchmark: its search space, and answers that agree with brute force."""

import numpy as np
import pytest

from harmonium.cells import Cells
from harmonium.datasets.paper import load_paper_study
from harmonium.model.integrated_rows import IntegratedRows
from harmonium.model.known_rows import KnownRows
from harmonium.studies.benchmark.evaluation import kinds_of
from harmonium.studies.benchmark.paper_harmonium import integrated_survival
from harmonium.studies.benchmark.protocol import Task
from harmonium.studies.benchmark.rivals import RIVALS
from tests import brute_force
from tests.models import EVERY_UNIT, random_parameters

RIVAL = RIVALS["paper-harmonium"]
SETTINGS = {"learning_rate": 0.01, "n_epochs": 60, "batch_size": 50, "l2": 1e-4, "momentum": 0.5, "persistent": True}
HALF = 40.0
TIMES = np.array([10.0, 25.0])


def drawn(study, n=200):
    return [RIVAL.draw(Task(study, "paper-harmonium", 0, candidate, 0).settings_rng(), study) for candidate in range(n)]


@pytest.mark.parametrize(
    ("study", "most_epochs", "highest_rate"),
    [
        ("arrest", 1e5, 0.05),
        ("democracy", 5e4, 0.05),
        ("gbsg2", 1e5, 0.05),
        ("ncctg", 5e4, 0.05),
        ("nvalt8", 1e5, 0.0125),
        ("nvalt11", 1e5, 0.05),
    ],
)
def test_settings_fill_the_intervals_of_the_appendix(study, most_epochs, highest_rate):
    found = drawn(study, 600)
    for name, low, high in [
        ("n_hidden", 1, 128),
        ("learning_rate", 1e-5, highest_rate),
        ("n_epochs", 500, most_epochs),
        ("batch_size", 25, 1000),
        ("l2", 1e-5, 1e-1),
    ]:
        values = np.log([settings[name] for settings in found])
        assert np.log(low) <= values.min()
        assert values.max() <= np.log(high)
        # Uniform in the logarithm: quarters of the interval are equally likely.
        quarters = np.histogram(values, 4, range=(np.log(low), np.log(high)))[0] / len(found)
        np.testing.assert_allclose(quarters, 0.25, atol=0.07 if name != "n_hidden" else 0.12)  # whole numbers are lumps
    momentum = [settings["momentum"] for settings in found]
    assert 0.0 <= min(momentum) < 0.05
    assert 0.85 < max(momentum) <= 0.9
    assert np.mean([settings["persistent"] for settings in found]) == pytest.approx(0.5, abs=0.07)


def test_more_candidates_leave_the_first_ones_as_they_were():
    assert drawn("gbsg2", 15) == drawn("gbsg2", 50)[:15]


def test_one_candidate_is_chosen_for_predictions_with_and_without_the_other_endpoint():
    assert RIVAL.tuned_given_all
    assert kinds_of("nvalt8", "paper-harmonium") == ("plain", "*", "landmark")


@pytest.fixture(scope="module")
def nvalt8():
    return load_paper_study("nvalt8")


def ten_rows(X, y):
    """Five complete patients without and three with what is known of recurrence, one without FDG-PET, one without BMI."""
    complete, recurred = X.notna().all(axis=1).to_numpy(), (y["rfs", "lower"] == y["rfs", "upper"]).to_numpy()
    only = X.isna().sum(axis=1).to_numpy() == 1
    plain = [*np.flatnonzero(complete)[:4], np.flatnonzero(only & X["FDG-PET SUVmax>=10"].isna().to_numpy())[0]]
    starred = [*np.flatnonzero(complete & recurred)[:3], np.flatnonzero(complete & ~recurred)[0]]
    return plain, [*starred, np.flatnonzero(only & recurred & X["bmi"].isna().to_numpy())[0]]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::harmonium.errors.UnknownEndpointWarning")
@pytest.mark.parametrize("n_hidden", [3, 9, 12, 40, 128])
def test_contrastive_predictions_are_those_of_brute_force(nvalt8, n_hidden):
    X, y = nvalt8
    model = RIVAL.fit({**SETTINGS, "n_hidden": n_hidden}, X, y, seed=1)
    fitted = model.fitted
    column = fitted.encoding.column_of(0)
    positions = fitted.encoding.scales[0].to_unit(np.append(TIMES, HALF))
    for rows, given in zip(ten_rows(X, y), (None, y.drop(columns="os", level=0)), strict=True):
        own = None if given is None else given.iloc[rows]
        found = RIVAL.predict(model, X.iloc[rows], HALF, TIMES, own)
        lower, upper = model.prognosis(X.iloc[rows], given=own).answerer.cells.bounds()
        for k in range(len(rows)):
            enumerated = n_hidden < 10 or (n_hidden == 12 and k == 0)  # 4096 states take seconds a row
            density = brute_force.density_by_enumeration if enumerated else brute_force.density_in_closed_form
            expected = brute_force.survival(fitted.parameters, lower[k], upper[k], column, list(positions), density)
            np.testing.assert_allclose(np.append(found.survival[k], 1.0 - found.risk[k]), expected, atol=1e-9)
        assert found.n_sampled == 0


@pytest.mark.parametrize(("limit", "value"), [("MOST_LEVELS", 1), ("MOST_NODES", 40_000)])
def test_rows_with_many_unobserved_levels_are_taken_apart(monkeypatch, limit, value):
    """With room for one combination of levels in an integral, answers are those of enumeration all the same."""
    parameters = random_parameters(EVERY_UNIT, 5, np.random.default_rng(0), strength=0.3)
    nan = np.nan
    table = [[nan, nan, 0.1, nan, nan], [1.0, nan, 0.1, 0.4, nan], [0.0, 1.0, 0.1, nan, 0.2], [nan, 2.0, 0.3, nan, nan]]
    cells = Cells.from_bounds(EVERY_UNIT, table)
    column, positions = 3, np.array([0.1, 0.4, 0.8])
    monkeypatch.setattr(f"harmonium.engine.integration.{limit}", value)
    assert not IntegratedRows.of(parameters, cells)[1].all()
    alive, could = integrated_survival(parameters, cells, column, positions)
    assert could.all()
    known = next(KnownRows.of(parameters, cells, np.random.default_rng(0)))
    np.testing.assert_allclose(alive, known.survival(column, positions).mean, atol=1e-9)


@pytest.mark.filterwarnings("ignore")
def test_rows_beyond_integration_are_sampled_and_counted(nvalt8, monkeypatch):
    X, y = nvalt8
    complete = np.flatnonzero(X.notna().all(axis=1))[:4]
    large, small = (RIVAL.fit({**SETTINGS, "n_hidden": n, "n_epochs": 2}, X, y, seed=0) for n in (16, 12))
    assert RIVAL.predict(large, X.iloc[complete], HALF, TIMES, None).n_sampled == 0
    exact = RIVAL.predict(small, X.iloc[complete], HALF, TIMES, None)
    monkeypatch.setattr("harmonium.engine.integration._MOST_ROUNDS", 0)
    assert RIVAL.predict(large, X.iloc[complete], HALF, TIMES, None).n_sampled == 4
    enumerated = RIVAL.predict(small, X.iloc[complete], HALF, TIMES, None)
    assert enumerated.n_sampled == 0
    np.testing.assert_allclose(enumerated.survival, exact.survival, atol=1e-9)


def test_no_row_of_the_six_studies_has_to_be_sampled_for_want_of_levels():
    """The row of nvalt11 with seven missing dummies included."""
    X, y = load_paper_study("nvalt11")
    row = int(X.isna().sum(axis=1).argmax())
    assert X.iloc[row].isna().sum() == 7
    model = RIVAL.fit({**SETTINGS, "n_hidden": 20, "n_epochs": 2}, X, y, seed=0)
    assert model.prognosis(X.iloc[[row]]).methods.tolist() == ["sample"]
    assert RIVAL.predict(model, X.iloc[[row]], HALF, TIMES, None).n_sampled == 0
