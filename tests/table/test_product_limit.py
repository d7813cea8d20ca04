"""The product-limit estimate: against scikit-survival, lifelines and the definition."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lifelines import KaplanMeierFitter
from sksurv.nonparametric import CensoringDistributionEstimator, kaplan_meier_estimator

from harmonium.table.product_limit import ProductLimit, count_at_risk, product_limit

SUBJECT = st.tuples(st.integers(1, 9), st.booleans(), st.integers(0, 8)).map(lambda s: (float(s[0]), s[1], float(min(s[2], s[0] - 1))))


@st.composite
def cohorts(draw, late=True):
    rows = draw(st.lists(SUBJECT, min_size=1, max_size=15))
    time, event, entry = (np.array(column) for column in zip(*rows, strict=True))
    return time, event, entry if late else np.zeros(time.size)


def at_risk(time, entry, t):
    return sum(t <= stop and (start < t or start == 0.0) for stop, start in zip(time, entry, strict=True))


@given(cohorts(late=False))
def test_without_late_entry_both_curves_are_those_of_scikit_survival(cohort):
    time, event, entry = cohort
    times, survival = kaplan_meier_estimator(event, time)
    for found in (ProductLimit.of_events(time, event), ProductLimit.of_events(time, event, entry)):
        np.testing.assert_array_equal(found.times, times)
        np.testing.assert_allclose(found.survival, survival, rtol=0, atol=1e-14)
    np.testing.assert_allclose(product_limit(time, event, times), survival, rtol=0, atol=1e-14)
    if event.any():
        structured = np.array(list(zip(event, time, strict=True)), dtype=[("event", bool), ("time", float)])
        censoring = CensoringDistributionEstimator().fit(structured)
        np.testing.assert_allclose(ProductLimit.of_censoring(time, event).at(times), censoring.predict_proba(times), rtol=0, atol=1e-14)


@given(cohorts())
def test_with_late_entry_it_is_the_product_over_risk_sets(cohort):
    time, event, entry = cohort
    found = ProductLimit.of_events(time, event, entry)
    value = 1.0
    for k, t in enumerate(found.times):
        n, d = at_risk(time, entry, t), np.sum(event & (time == t))
        value *= 1.0 - d / n if d else 1.0
        assert found.at_risk[k] == n
        assert found.survival[k] == pytest.approx(value, abs=1e-14)
    np.testing.assert_array_equal(count_at_risk(time, found.times, entry), found.at_risk)
    np.testing.assert_array_equal(product_limit(time, event, found.times, entry), found.survival)


def test_with_late_entry_it_is_that_of_lifelines():
    rng = np.random.default_rng(0)
    entry, death = rng.exponential(0.3, 400), rng.exponential(1.0, 400)
    kept = death > entry
    entry, death = entry[kept], death[kept]
    end = entry + rng.exponential(1.0, entry.size)
    time, event = np.minimum(death, end), death <= end
    fitted = KaplanMeierFitter().fit(time, event, entry=entry)
    found, times = ProductLimit.of_events(time, event, entry), np.linspace(0.1, 2.0, 20)
    np.testing.assert_allclose(found.at(times), fitted.survival_function_at_times(times), rtol=0, atol=1e-12)
    assert np.abs(found.at(times) - np.exp(-times)).max() < 0.1  # and it is the right curve


@given(cohorts(), st.floats(0.0, 9.0), st.floats(0.0, 9.0))
def test_between_two_times_it_is_a_ratio_as_long_as_somebody_is_left(cohort, first, second):
    time, event, entry = cohort
    curve = ProductLimit.of_events(time, event, entry)
    start, end = min(first, second), max(first, second)
    if curve.at(start) > 0.0:
        assert curve.between(start, end) == pytest.approx(curve.at(end) / curve.at(start), abs=1e-12)
    assert curve.between(0.0, end) == pytest.approx(curve.at(end), abs=1e-15)


def test_beyond_a_lost_risk_set_it_goes_on_for_those_who_entered_later():
    """The first subject alone is at risk at 1; the curve is zero from there on, but not for those who entered at 2."""
    time, event, entry = np.array([1.0, 3.0, 4.0]), np.array([True, True, False]), np.array([0.0, 2.0, 2.0])
    curve = ProductLimit.of_events(time, event, entry)
    assert curve.at(3.0) == 0.0
    assert curve.between(2.0, 3.0) == 0.5
    assert curve.between(0.0, 3.0) == 0.0
