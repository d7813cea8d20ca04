"""A prognosis is asked many times and encoded once."""

import numpy as np
import pytest

import harmonium as hm
from harmonium.model import cell_answers, known_rows
from harmonium.table.encoding import Encoding

TIMES = [6.0, 12.0, 24.0]


@pytest.fixture(scope="module")
def nvalt8():
    return hm.datasets.load_nvalt8()


@pytest.fixture(scope="module")
def model(nvalt8):
    return hm.SurvivalHarmonium(n_hidden=2, trainer=hm.Exact(n_starts=1, max_iter=30), random_state=0).fit(*nvalt8)


@pytest.fixture
def counted(monkeypatch):
    """How often X is encoded and hidden states are found."""
    counts = {"encoded": 0, "hidden": 0}
    encode, find = Encoding.covariates, known_rows.hidden_given

    def covariates(self, X):
        counts["encoded"] += 1
        return encode(self, X)

    def hidden_given(*arguments):
        counts["hidden"] += 1
        return find(*arguments)

    monkeypatch.setattr(Encoding, "covariates", covariates)
    monkeypatch.setattr(known_rows, "hidden_given", hidden_given)
    return counts


def ask_everything(found):
    answers = [found.survival("os", TIMES), found.survival("rfs", TIMES), found.cumulative_hazard("os", TIMES), found.density("os", TIMES)]
    answers += [found.hazard("rfs", TIMES), found.quantile("os", 0.25), found.median("rfs"), found.restricted_mean("os", until=60.0)]
    return [*answers, found.risk("os"), found.joint_survival({"os": TIMES, "rfs": TIMES}), found.survival_at("os", np.full(20, 12.0))]


def test_many_questions_encode_once_and_find_hidden_states_once(model, nvalt8, counted):
    X, y = nvalt8
    answers = ask_everything(model.prognosis(X[:20], given=hm.landmark(y[:20], 3.0)))
    assert len(answers) >= 10
    assert counted == {"encoded": 1, "hidden": 1}


def test_more_rows_than_are_kept_give_the_same_answers(model, nvalt8, monkeypatch, counted):
    """Where the states of all rows would take too much memory, they are found for each question and part of the rows."""
    X, _ = nvalt8
    kept = ask_everything(model.prognosis(X[:20]))
    monkeypatch.setattr(cell_answers, "_KEPT", 1)
    monkeypatch.setattr(known_rows, "row_chunks", lambda cells, n_hidden: (slice(k, k + 7) for k in range(0, cells.n_rows, 7)))
    found = ask_everything(model.prognosis(X[:20]))
    assert counted["hidden"] > 10
    for one, other in zip(kept, found, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9)


def test_times_and_endpoints_that_are_left_out_mean_one_thing(model, nvalt8):
    X, _ = nvalt8
    found = model.prognosis(X[:3])
    np.testing.assert_array_equal(found.survival(), found.survival("os", model.event_times_["os"]))
    np.testing.assert_array_equal(found.risk(), found.risk("os"))
    steps = model.predict_survival_function(X[:3])
    np.testing.assert_array_equal(steps[0].x, model.event_times_["os"])


def test_a_fitted_model_cannot_be_changed(model):
    fitted = model.fitted_
    with pytest.raises(AttributeError):
        fitted.parameters = None
    assert fitted.with_evaluation("a look", {"os": {"concordance": 0.5}}).training.evaluation["method"] == "a look"
    assert fitted.training.evaluation is None
