"""Brier scores: scikit-survival's numbers where it has any, and NaN with a reason where not."""

import numpy as np
import pytest
import sksurv.metrics

from harmonium.metrics import MetricWarning, brier_score, integrated_brier_score
from tests.metrics.tables import INF, curves_of, structured, study_endpoints, table

ENDPOINTS = [pytest.param(*rest, id=label) for label, *rest in study_endpoints()]


def example(recorded):
    """Times inside the follow-up, and the scale of curves."""
    first, last = np.quantile(recorded["time"][recorded["event"]], [0.1, 0.9])
    return np.linspace(first, last, 7), np.median(recorded["time"]) * 2.0


@pytest.mark.parametrize(("endpoint", "recorded", "y", "risk"), ENDPOINTS)
def test_scores_are_those_of_scikit_survival(endpoint, recorded, y, risk):
    times, scale = example(recorded)
    curves = curves_of(risk, times, scale)
    expected = sksurv.metrics.brier_score(recorded, recorded, curves, times)[1]
    np.testing.assert_allclose(brier_score(y, curves, times, endpoint=endpoint), expected, rtol=0, atol=1e-12)
    integrated = sksurv.metrics.integrated_brier_score(recorded, recorded, curves, times)
    assert integrated_brier_score(y, curves, times, endpoint=endpoint) == pytest.approx(integrated, abs=1e-12)


@pytest.mark.parametrize(("endpoint", "recorded", "y", "risk"), ENDPOINTS)
def test_the_censoring_is_that_of_the_training_rows(endpoint, recorded, y, risk):
    order = np.argsort(recorded["time"], kind="stable")
    test = order[1:-1:3]  # inside the follow-up of the others, as scikit-survival demands
    train = np.setdiff1d(order, test)
    times, scale = example(recorded[test])
    curves = curves_of(risk[test], times, scale)
    given = {"endpoint": endpoint, "y_train": y.iloc[train]}
    expected = sksurv.metrics.brier_score(recorded[train], recorded[test], curves, times)[1]
    np.testing.assert_allclose(brier_score(y.iloc[test], curves, times, **given), expected, rtol=0, atol=1e-12)
    integrated = sksurv.metrics.integrated_brier_score(recorded[train], recorded[test], curves, times)
    assert integrated_brier_score(y.iloc[test], curves, times, **given) == pytest.approx(integrated, abs=1e-12)


def test_times_may_come_in_any_order_and_more_than_once():
    _, endpoint, recorded, y, risk = next(study_endpoints())
    times, scale = example(recorded)
    shuffled = times[[3, 0, 3, 6, 1]]
    scores = brier_score(y, curves_of(risk, shuffled, scale), shuffled, endpoint=endpoint)
    expected = brier_score(y, curves_of(risk, times, scale), times, endpoint=endpoint)[[3, 0, 3, 6, 1]]
    np.testing.assert_allclose(scores, expected, rtol=0, atol=1e-12)


Y = structured([True, False, True, False], [2.0, 3.0, 5.0, 6.0])
TIMES = [1.0, 2.5, 5.0, 6.0, 7.0]
CURVES = np.array([[0.9, 0.5, 0.2, 0.1, 0.1], [1.0, 0.9, 0.8, 0.7, 0.6], [0.9, 0.8, 0.5, 0.4, 0.3], [1.0, 0.9, 0.6, 0.5, 0.4]])


def test_times_outside_the_follow_up_are_nan_with_a_warning():
    with pytest.warns(MetricWarning, match="leaves out 3 of 5 times: they lie outside the follow-up, from 2 to 6"):
        scores = brier_score(Y, CURVES, TIMES)
    np.testing.assert_allclose(scores, [np.nan, 0.0775, 0.16375, np.nan, np.nan], rtol=1e-14)
    with pytest.warns(MetricWarning, match="leaves out 3 of 5 times"):
        assert integrated_brier_score(Y, CURVES, TIMES) == pytest.approx((0.0775 + 0.16375) / 2)


def test_who_is_watched_for_longer_than_the_training_rows_counts_as_event_free_until_then():
    train = structured([True, True, False, True], [1.0, 2.0, 2.2, 4.0])
    times, curves = [2.5, 3.5], CURVES[:, [1, 2]]
    # until 4, the last training time, nothing differs between the third subject's event at 5 and censoring at 4
    cut = structured([True, False, False, False], [2.0, 3.0, 4.0, 4.0])
    scores = brier_score(Y, curves, times, y_train=train)
    np.testing.assert_allclose(scores, sksurv.metrics.brier_score(train, cut, curves, times)[1], rtol=0, atol=1e-12)
    by_hand = [(0.5**2 + (0.1**2 + 0.2**2 + 0.1**2) / 0.5) / 4, (0.2**2 + (0.5**2 + 0.4**2) / 0.5) / 4]
    np.testing.assert_allclose(scores, by_hand, rtol=1e-14)


def test_beyond_the_training_rows_there_is_no_score():
    train = structured([True, False], [2.0, 4.0])
    with pytest.warns(MetricWarning, match="leaves out 1 of 2 times: .* from 2 to 4"):
        scores = brier_score(Y, CURVES[:, [1, 2]], [2.5, 5.0], y_train=train)
    assert np.isfinite(scores[0])
    assert np.isnan(scores[1])


@pytest.mark.parametrize(
    ("event", "time", "train", "reason"),
    [
        ([True], [1.0], None, "no time lies in the follow-up"),
        ([], [], None, "no events where the censoring"),
        ([False, False], [1.0, 4.0], None, "no events where the censoring"),
        ([False, False], [1.0, 4.0], Y, "there are no events"),
        ([True, True], [1.0, 4.0], structured([False], [3.0]), "no events where the censoring is estimated"),
        ([True, True], [3.0, 4.0], structured([True], [1.0]), "there are no events"),
    ],
)
def test_what_cannot_be_estimated_is_nan_with_a_reason(event, time, train, reason):
    y, curves = structured(event, time), np.full((len(time), 2), 0.5)
    with pytest.warns(MetricWarning, match=f"is undefined: .*{reason}"):
        assert np.isnan(brier_score(y, curves, [2.0, 3.0], y_train=train)).all()
    with pytest.warns(MetricWarning, match=f"is undefined: .*{reason}"):
        assert np.isnan(integrated_brier_score(y, curves, [2.0, 3.0], y_train=train))


def test_one_time_cannot_be_integrated_over():
    with pytest.warns(MetricWarning, match="only one time is left"):
        assert np.isnan(integrated_brier_score(Y, CURVES[:, [1, 1]], [2.5, 2.5]))


def test_missing_predictions_make_it_nan():
    with pytest.warns(MetricWarning, match="predictions are missing"):
        assert np.isnan(brier_score(Y, np.full((4, 1), np.nan), 2.5))


def test_rows_that_are_unknown_do_not_count_whatever_is_predicted_for_them():
    y = table(os=[(2, 2), (0, INF), (3, INF), (5, 5), (6, INF)])
    curves = np.insert(CURVES[:, [1, 2]], 1, np.nan, axis=0)
    assert integrated_brier_score(y, curves, [2.5, 5.0]) == integrated_brier_score(Y, CURVES[:, [1, 2]], [2.5, 5.0])


def test_curves_must_fit_rows_and_times():
    with pytest.raises(ValueError, match=r"each of 4 subjects and a column for each time; found \(4, 5\) and \(2,\)"):
        brier_score(Y, CURVES, [2.5, 5.0])
