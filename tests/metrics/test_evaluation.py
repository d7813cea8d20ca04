"""One evaluation: the numbers of the single metrics, whatever kind of model, in memory that is linear in the rows."""

import tracemalloc
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import harmonium as hm
from harmonium import metrics
from harmonium.metrics import MetricWarning, evaluate, scorers
from harmonium.table.product_limit import ProductLimit
from tests.metrics.exponential import NAMES, ExponentialTimes, cohort, entering_late
from tests.metrics.tables import INF, structured, table

COLUMNS = [
    "rows",
    "events",
    "concordance",
    "concordance_se",
    "concordance_ipcw",
    "concordance_ipcw_se",
    "integrated_brier_score",
    "integrated_brier_score_se",
    "kaplan_meier_ibs",
    "d_calibration",
    "d_calibration_p",
    "log_likelihood",
    "log_likelihood_se",
]


class Prognosis:
    """Answers about some rows; counts how often it was made."""

    n_made = 0

    def __init__(self, model, X, given):
        type(self).n_made += 1
        self.model, self.X, self.given = model, X, given

    def risk(self, endpoint):
        return self.model.predict(self.X, endpoint)

    def survival(self, endpoint, times):
        return self.model.predict_survival_function(self.X, endpoint, times, return_array=True)


class WithOwnTimes(Prognosis):
    n_made = 0

    def survival_at(self, endpoint, times):
        rates = self.model._rates(self.X)[:, NAMES.index(endpoint)]
        return np.exp(-rates * times)


class WithPrognosis(ExponentialTimes):
    kind = Prognosis

    def prognosis(self, X, *, given=None):
        return self.kind(self, X, given)


class WithPrognosisAtOwnTimes(WithPrognosis):
    kind = WithOwnTimes


def test_it_is_the_single_metrics():
    X, y = cohort()
    model = ExponentialTimes()
    found = evaluate(model, X, y, n_bins=5)
    assert list(found.columns) == COLUMNS
    assert list(found.index) == list(NAMES)
    assert found.index.name == "endpoint"
    for name, row in found.iterrows():
        by_name, times = {"endpoint": name}, metrics.central_times(y, endpoint=name)
        event, time = y[name, "lower"] == y[name, "upper"], y[name, "lower"].to_numpy()
        assert row["rows"] == 150
        assert row["events"] == event.sum()
        assert row["concordance"] == metrics.concordance_index(y, X[name], **by_name)
        assert row["concordance_ipcw"] == metrics.concordance_index_ipcw(y, X[name], **by_name)
        curves = np.exp(-np.outer(X[name], times))
        assert row["integrated_brier_score"] == metrics.integrated_brier_score(y, curves, times, **by_name)
        km = np.tile(ProductLimit.of_events(time, event.to_numpy()).at(times), (150, 1))
        assert row["kaplan_meier_ibs"] == metrics.integrated_brier_score(y, km, times, **by_name)
        calibration = metrics.d_calibration(y, np.exp(-X[name] * time), **by_name, n_bins=5)
        assert row["d_calibration"] == pytest.approx(calibration.statistic, rel=1e-12)
        assert row["d_calibration_p"] == pytest.approx(calibration.p_value, rel=1e-12)
        by_row = event * np.log(X[name]) - X[name] * time
        assert row["log_likelihood"] == pytest.approx(by_row.mean())
        assert row["log_likelihood_se"] == pytest.approx(by_row.std() / np.sqrt(150))


def test_scorers_have_the_same_digits():
    X, y = cohort()
    model = ExponentialTimes()
    found = evaluate(model, X, y, y_train=y[:90])
    for name, row in found.iterrows():
        assert row["concordance"] == scorers.concordance_index_scorer(model, X, y, endpoint=name)
        assert row["concordance_ipcw"] == scorers.concordance_index_ipcw_scorer(model, X, y, endpoint=name, y_train=y[:90])
        brier = scorers.neg_integrated_brier_score_scorer(model, X, y, endpoint=name, y_train=y[:90])
        assert row["integrated_brier_score"] == -brier
        assert row["d_calibration"] == -scorers.neg_d_calibration_scorer(model, X, y, endpoint=name)


@pytest.mark.parametrize("kind", [WithPrognosis, WithPrognosisAtOwnTimes])
@pytest.mark.parametrize("late", [False, True])
def test_a_model_may_offer_a_prognosis(kind, late):
    X, y = cohort()
    y = entering_late(y, np.linspace(0.0, 2.0, len(y))) if late else y
    pd.testing.assert_frame_equal(evaluate(kind(), X, y, likelihood=False), evaluate(ExponentialTimes(), X, y, likelihood=False))


def test_covariates_are_read_once_if_a_prognosis_answers_everything():
    WithOwnTimes.n_made = 0
    X, y = cohort()
    evaluate(WithPrognosisAtOwnTimes(), X, y)
    assert WithOwnTimes.n_made == 1


def test_what_is_given_is_passed_on_and_leaves_no_likelihood():
    class Given(ExponentialTimes):
        def predict(self, X, endpoint=None, *, given=None):
            assert len(given) == len(X)
            return super().predict(X, endpoint)

        def predict_survival_function(self, X, endpoint=None, times=None, *, given=None, return_array=False):
            pd.testing.assert_index_equal(given.index, X.index)
            return super().predict_survival_function(X, endpoint, times, return_array=return_array)

    X, y = cohort(450)
    known = hm.landmark(y, 0.1)
    found, plain = evaluate(Given(), X, y, given=known), evaluate(ExponentialTimes(), X, y)
    assert found["log_likelihood"].isna().all()
    pd.testing.assert_frame_equal(found[COLUMNS[:-2]], plain[COLUMNS[:-2]])


def test_endpoints_and_times_may_be_chosen():
    X, y = cohort()
    found = evaluate(ExponentialTimes(), X, y, endpoints=["death"], times=[0.3, 0.5])
    assert list(found.index) == ["death"]
    curves = np.exp(-np.outer(X["death"], [0.3, 0.5]))
    ibs = metrics.integrated_brier_score(y, curves, [0.3, 0.5], endpoint="death")
    assert found.loc["death", "integrated_brier_score"] == ibs
    pd.testing.assert_frame_equal(found, evaluate(ExponentialTimes(), X, y, endpoints="death", times=[0.3, 0.5]))
    with pytest.raises(ValueError, match="endpoint must be one of 'relapse', 'death'; found 'dearth'"):
        evaluate(ExponentialTimes(), X, y, endpoints=["dearth"])


def test_the_kaplan_meier_curve_and_the_censoring_are_those_of_the_training_rows():
    X, y = cohort()
    train, test = y[:80], y[80:]
    found = evaluate(ExponentialTimes(), X[80:], test, y_train=train)
    for name in NAMES:
        times = metrics.central_times(test, endpoint=name)
        event = (train[name, "lower"] == train[name, "upper"]).to_numpy()
        km = np.tile(ProductLimit.of_events(train[name, "lower"].to_numpy(), event).at(times), (70, 1))
        with pytest.warns(MetricWarning) if times[-1] >= train[name, "lower"].max() else _nothing():
            expected = metrics.integrated_brier_score(test, km, times, endpoint=name, y_train=train)
        assert found.loc[name, "kaplan_meier_ibs"] == pytest.approx(expected, rel=1e-12)


def _nothing():
    from contextlib import nullcontext

    return nullcontext()


def test_with_constant_rates_only_the_time_since_entry_matters():
    X, y = cohort()
    late, plain = (evaluate(ExponentialTimes(), X, z, likelihood=False) for z in (entering_late(y, 3.0), y))
    pd.testing.assert_frame_equal(late, plain, rtol=1e-9)


def test_an_endpoint_without_events_is_nan_with_reasons():
    X, _ = cohort(4)
    y = table(relapse=[(1, 1), (2, 2), (3, INF), (4, 4)], death=[(1, INF), (2, INF), (3, INF), (4, INF)])
    with pytest.warns(MetricWarning) as caught:
        found = evaluate(ExponentialTimes(), X, y)
    undefined = [column for column in COLUMNS if found.loc[["death"], column].isna().all()]
    assert undefined == COLUMNS[2:9]
    assert found.loc["relapse"].notna().all()
    messages = [str(warning.message) for warning in caught]
    assert sum("'death' is undefined: there are no events" in message for message in messages) == 3


def test_warnings_point_at_the_line_that_called_the_library():
    X, y = cohort(3)
    y.iloc[:] = [1.0, INF] * 2
    with pytest.warns(MetricWarning) as caught:
        evaluate(ExponentialTimes(), X, y)
    assert {warning.filename for warning in caught} == {__file__}


def test_rows_of_which_nothing_is_known_count_for_nothing():
    X, y = cohort()
    hidden = y.copy()
    hidden.iloc[:50] = [0.0, INF] * 2
    pd.testing.assert_frame_equal(evaluate(ExponentialTimes(), X, hidden), evaluate(ExponentialTimes(), X[50:], y[50:]), rtol=1e-12)


def test_rows_censored_at_entry_count_for_nothing():
    X, y = cohort()
    late = entering_late(y, 1.0)
    for name in NAMES:
        late.loc[:49, [(name, "lower"), (name, "upper")]] = [1.0, INF]
    found, expected = evaluate(ExponentialTimes(), X, late), evaluate(ExponentialTimes(), X[50:], late[50:])
    pd.testing.assert_frame_equal(found, expected, rtol=1e-12)


def test_a_structured_array_and_a_model_without_likelihood():
    class Plain:
        def predict(self, X, endpoint):
            assert endpoint == "time"
            return X[:, 0]

        def predict_survival_function(self, X, endpoint, times, return_array):
            return np.exp(-np.outer(X[:, 0], times))

    X, y = cohort()
    recorded = structured(y["death", "lower"] == y["death", "upper"], y["death", "lower"])
    found = evaluate(Plain(), X[["death"]].to_numpy(), recorded)
    expected = evaluate(ExponentialTimes(), X, y, endpoints=["death"], likelihood=False)
    np.testing.assert_allclose(found.to_numpy(), expected.to_numpy(), rtol=1e-12)


def test_memory_is_linear_in_the_rows():
    n = 20_000
    X, y = cohort(n)
    model = ExponentialTimes()
    evaluate(model, X[:100], y[:100])  # compile
    tracemalloc.start()
    evaluate(model, X, y)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 8 * n * 400  # less than 400 numbers per row; a table of rows by rows would take 20,000


def test_scikit_survival_is_an_oracle_of_the_tests_alone():
    for path in Path(metrics.__file__).parent.glob("*.py"):
        assert "import sksurv" not in path.read_text()
        assert "from sksurv" not in path.read_text()


def test_a_harmonium_is_evaluated():
    X, y = hm.datasets.load_nvalt8()
    model = hm.SurvivalHarmonium(n_hidden=2, random_state=0).fit(X, y)
    found = evaluate(model, X, y)
    assert found.notna().all().all()
    assert (found["concordance_se"].between(0.01, 0.06)).all()
    assert (found["integrated_brier_score_se"].between(0.002, 0.03)).all()
    unknown = y.copy()
    unknown["rfs", "lower"], unknown["rfs", "upper"] = 0.0, INF
    assert found.loc["os", "log_likelihood"] == pytest.approx(model.log_likelihood(X, unknown).mean())


def test_intervals_hold_what_they_are_of_and_stay_where_it_may_be():
    X, y = cohort(60)
    plain, found = evaluate(ExponentialTimes(), X, y), evaluate(ExponentialTimes(), X, y, interval=0.999)
    pd.testing.assert_frame_equal(found[plain.columns], plain)
    for name in ("concordance", "concordance_ipcw", "integrated_brier_score"):
        assert ((found[f"{name}_lower"] < found[name]) & (found[name] < found[f"{name}_upper"])).all()
        assert (found[f"{name}_lower"] > 0.0).all()
    assert (found[["concordance_upper", "concordance_ipcw_upper"]] < 1.0).all().all()
    narrow = evaluate(ExponentialTimes(), X, y, interval=0.5)
    assert (narrow["concordance_upper"] < found["concordance_upper"]).all()
    with pytest.raises(ValueError, match="interval must be a probability"):
        evaluate(ExponentialTimes(), X, y, interval=95)
