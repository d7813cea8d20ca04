"""Concordance of one endpoint: scikit-survival's and lifelines' numbers where these have any, and NaN with a reason where not."""

import numpy as np
import pytest
from lifelines.utils import concordance_index as lifelines_index
from sksurv.metrics import concordance_index_censored
from sksurv.metrics import concordance_index_ipcw as sksurv_ipcw

import harmonium as hm
from harmonium.metrics import MetricWarning, concordance_index, concordance_index_ipcw
from tests.metrics.tables import INF, risk_of, structured, study_endpoints, table

ENDPOINTS = [pytest.param(*rest, id=label) for label, *rest in study_endpoints()]


@pytest.mark.parametrize(("endpoint", "recorded", "y", "risk"), ENDPOINTS)
def test_harrells_index_is_that_of_scikit_survival_and_of_lifelines(endpoint, recorded, y, risk):
    index = concordance_index(y, risk, endpoint=endpoint)
    assert index == pytest.approx(concordance_index_censored(recorded["event"], recorded["time"], risk)[0], abs=1e-12)
    assert index == pytest.approx(lifelines_index(recorded["time"], -risk, recorded["event"]), abs=1e-12)
    assert 0.3 < index < 0.7  # the risk is simple, but not constant
    assert index != 0.5


@pytest.mark.parametrize(("endpoint", "recorded", "y", "risk"), ENDPOINTS)
def test_unos_index_is_that_of_scikit_survival(endpoint, recorded, y, risk):
    tau = np.quantile(recorded["time"], 0.8)
    expected = sksurv_ipcw(recorded, recorded, risk, tau=tau)[0]
    assert concordance_index_ipcw(y, risk, endpoint=endpoint, tau=tau) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(("endpoint", "recorded", "y", "risk"), ENDPOINTS)
def test_unos_index_takes_the_censoring_from_the_training_rows(endpoint, recorded, y, risk):
    train = np.arange(len(recorded)) % 2 == 0
    tau = 0.9 * recorded["time"][train].max()
    expected = sksurv_ipcw(recorded[train], recorded[~train], risk[~train], tau=tau)[0]
    index = concordance_index_ipcw(y[~train], risk[~train], endpoint=endpoint, y_train=y[train], tau=tau)
    assert index == pytest.approx(expected, abs=1e-12)


def test_a_structured_array_is_as_good_as_a_table():
    _, endpoint, recorded, y, risk = next(study_endpoints())
    assert concordance_index(recorded, risk) == concordance_index(y, risk, endpoint=endpoint)


def test_events_beyond_the_reach_of_the_censoring_estimate_are_left_out_with_a_warning():
    y = structured([True, True, True, False], [1.0, 2.0, 8.0, 9.0])
    risk = [3.0, 4.0, 2.0, 1.0]
    short = structured([True, False, True], [1.5, 2.5, 5.0])
    with pytest.warns(MetricWarning, match="leaves out 1 event: nothing is known of the censoring from 5 on"):
        index = concordance_index_ipcw(y, risk, y_train=short)
    assert index == pytest.approx(sksurv_ipcw(short, y, np.array(risk), tau=5.0)[0], abs=1e-12)


def test_no_event_counts_where_nobody_is_known_to_stay_uncensored():
    """Censoring in the last week makes its estimated probability one then: an event in that week has no weight."""
    y = structured([True, True, False, False], [1.0, 52.0, 52.0, 52.0])
    with pytest.warns(MetricWarning, match="leaves out 1 event"):
        assert concordance_index_ipcw(y, [1.0, 2.0, 0.0, 0.0]) == pytest.approx(2 / 3)


def test_an_event_at_the_very_end_of_the_training_rows_counts():
    y = structured([True, True, False], [1.0, 4.0, 6.0])
    train = structured([False, True], [2.0, 4.0])
    risk = np.array([1.0, 2.0, 0.0])
    expected = sksurv_ipcw(train, y, risk)[0]
    assert concordance_index_ipcw(y, risk, y_train=train) == pytest.approx(expected, abs=1e-12)
    assert expected == pytest.approx((1 + 4) / (2 + 4))  # weights 1 and (1 / 0.5)^2


@pytest.mark.parametrize(
    ("event", "time", "reason"),
    [
        ([True], [1.0], "fewer than two subjects"),
        ([], [], "fewer than two subjects"),
        ([False, False], [1.0, 2.0], "no events"),
        ([True, True], [2.0, 2.0], "no two subjects can be compared"),
        ([False, True], [1.0, 2.0], "no two subjects can be compared"),
    ],
)
@pytest.mark.parametrize("metric", [concordance_index, concordance_index_ipcw])
def test_what_cannot_be_compared_is_nan_with_a_reason(metric, event, time, reason):
    with pytest.warns(MetricWarning, match=f"is undefined: .*{reason}"):
        assert np.isnan(metric(structured(event, time), np.arange(len(time))))


def test_unos_index_needs_events_where_the_censoring_is_estimated_and_before_tau():
    y = structured([True, True, False], [1.0, 2.0, 3.0])
    with pytest.warns(MetricWarning, match="no events where the censoring is estimated"):
        assert np.isnan(concordance_index_ipcw(y, [1, 2, 3], y_train=structured([False], [4.0])))
    with pytest.warns(MetricWarning, match="no events before 0.5"):
        assert np.isnan(concordance_index_ipcw(y, [1, 2, 3], tau=0.5))


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("metric", [concordance_index, concordance_index_ipcw])
def test_missing_predictions_make_it_nan(metric, bad):
    with pytest.warns(MetricWarning, match="predictions are missing or infinite"):
        assert np.isnan(metric(structured([True, True, False], [1.0, 2.0, 3.0]), [bad, 1.0, 2.0]))


def test_rows_that_are_unknown_do_not_count_whatever_is_predicted_for_them():
    y = table(os=[(1, 1), (0, INF), (2, INF), (3, 3)])
    assert concordance_index(y, [3.0, np.nan, 2.0, 4.0]) == 0.5


def test_rows_between_two_times_are_left_out_with_a_warning():
    y = table(os=[(1, 1), (1, 4), (2, INF), (3, 3)])
    with pytest.warns(MetricWarning, match="1 row of 'os' is left out: its event lies between two times"):
        assert concordance_index(y, [3.0, 9.0, 2.0, 4.0]) == 0.5


def test_without_a_name_it_is_the_first_endpoint():
    X, y = hm.datasets.load_nvalt8()
    risk = risk_of(X)
    assert concordance_index(y, risk) == concordance_index(y, risk, endpoint="os")
    assert concordance_index_ipcw(y, risk) == concordance_index_ipcw(y, risk, endpoint="os")
    with pytest.raises(ValueError, match="endpoint must be one of 'os', 'rfs'; found 'pfs'"):
        concordance_index_ipcw(y, np.zeros(len(y)), endpoint="pfs")


def test_predictions_must_fit_the_rows():
    with pytest.raises(ValueError, match=r"the shape \(2,\).*found \(3,\)"):
        concordance_index(structured([True, True], [1.0, 2.0]), [1.0, 2.0, 3.0])
