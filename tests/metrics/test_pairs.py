"""Concordance indices and their standard errors: against every pair in turn, and against scikit-survival on data full of ties."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sksurv.metrics import concordance_index_censored
from sksurv.metrics import concordance_index_ipcw as sksurv_ipcw

from harmonium.metrics import concordance_index, concordance_index_ipcw
from harmonium.metrics.concordance import harrell, uno
from harmonium.metrics.observed import Observed, observe
from tests.metrics.tables import INF, only_metric_warnings, structured, table

NEAR = 0.6e-8  # two of these steps are no tie any more, so ties are not transitive


@st.composite
def cohorts(draw, late=False, max_size=25):
    """Few distinct times and risks, some risks almost equal; as (event, time, entry, risk)."""
    n = draw(st.integers(2, max_size))
    time = np.array(draw(st.lists(st.integers(1, 6), min_size=n, max_size=n)), dtype=float)
    event = np.array(draw(st.lists(st.booleans(), min_size=n, max_size=n)))
    whole = draw(st.lists(st.integers(0, 3), min_size=n, max_size=n))
    near = draw(st.lists(st.integers(-2, 2), min_size=n, max_size=n))
    entry = np.zeros(n)
    if late:
        entry = np.minimum(draw(st.lists(st.sampled_from([0.0, 0.0, 0.5, 1.0, 2.0, 3.5]), min_size=n, max_size=n)), time - 0.5)
    return event, time, entry, np.array(whole) + NEAR * np.array(near)


def comparable(event, time, entry, i, j):
    later = time[j] > time[i] or (time[j] == time[i] and not event[j])
    return bool(event[i]) and later and (entry[j] == 0.0 or entry[j] < time[i])


def agreement(risk, i, j):
    return 0.5 if abs(risk[j] - risk[i]) <= 1e-8 else float(risk[j] < risk[i])


def brute_force(event, time, entry, risk, weight=lambda i, j: 1.0, copies=None):
    """The index, pair by pair; subjects may be there several times, or in part."""
    copies = np.ones(len(time)) if copies is None else copies
    pairs = [(i, j) for i in range(len(time)) for j in range(len(time)) if i != j and comparable(event, time, entry, i, j)]
    weights = np.array([copies[i] * copies[j] * weight(i, j) for i, j in pairs])
    return float(weights @ [agreement(risk, i, j) for i, j in pairs] / weights.sum()) if weights.sum() > 0.0 else np.nan


def observed(event, time, entry):
    return Observed("os", event, time, entry, np.ones(len(time), dtype=bool))


@given(cohorts())
def test_harrells_index_is_that_of_scikit_survival(cohort):
    event, time, _, risk = cohort
    assume(event.any())
    with only_metric_warnings():
        ours = concordance_index(structured(event, time), risk)
    if np.isnan(ours):
        assert np.isnan(brute_force(*cohort))
    else:
        assert ours == pytest.approx(concordance_index_censored(event, time, risk)[0], abs=1e-12)


@given(cohorts(), cohorts())
def test_unos_index_is_that_of_scikit_survival(cohort, training):
    event, time, _, risk = cohort
    y, train = structured(event, time), structured(training[0], training[1])
    with only_metric_warnings() as caught:
        ours = concordance_index_ipcw(y, risk, y_train=train)
    assume(not caught)  # scikit-survival raises errors then
    assert ours == pytest.approx(sksurv_ipcw(train, y, risk)[0], abs=1e-12)


@pytest.mark.parametrize("n_levels", [3, 40, 10**6])
def test_both_are_those_of_scikit_survival_on_a_large_table(n_levels):
    rng = np.random.default_rng(n_levels)
    n = 1500
    time = np.ceil(rng.exponential(1.0, n) * n_levels) / n_levels
    event, risk = rng.random(n) < 0.6, np.round(rng.normal(size=n) * n_levels) / n_levels
    y, tau = structured(event, time), np.quantile(time, 0.9)
    assert concordance_index(y, risk) == pytest.approx(concordance_index_censored(event, time, risk)[0], abs=1e-12)
    assert concordance_index_ipcw(y, risk, tau=tau) == pytest.approx(sksurv_ipcw(y, y, risk, tau=tau)[0], abs=1e-12)


@given(cohorts(late=True))
def test_with_late_entry_harrells_index_is_that_of_the_definition(cohort):
    event, time, entry, risk = cohort
    with only_metric_warnings():
        found = harrell(observed(event, time, entry), risk).value
    assert found == pytest.approx(brute_force(*cohort), abs=1e-12, nan_ok=True)


@given(cohorts(late=True))
def test_with_late_entry_a_pair_has_the_weight_of_both_remaining_uncensored_since_entry(cohort):
    event, time, entry, risk = cohort
    assume(event.any())
    known = observed(event, time, entry)
    staying = known.censoring().between

    def weight(i, j):
        chance = float(staying(entry[i], time[i]) * staying(entry[j], time[i]))
        return 1.0 / chance if chance > 0.0 else 0.0

    with only_metric_warnings():
        found = uno(known, known, risk).value
    assert found == pytest.approx(brute_force(*cohort, weight=weight), abs=1e-12, nan_ok=True)


@settings(max_examples=50)
@given(cohorts(late=True, max_size=12))
def test_the_standard_error_is_that_of_the_infinitesimal_jackknife(cohort):
    """Numerically: the derivative of the index with respect to how often a subject is there."""
    event, time, entry, risk = cohort
    with only_metric_warnings():
        found = harrell(observed(event, time, entry), risk, with_error=True)
    assume(not np.isnan(found.value))
    n, step = len(time), 1e-4
    either = [[brute_force(*cohort, copies=1.0 + sign * step * (np.arange(n) == s)) for sign in (1, -1)] for s in range(n)]
    influence = (np.array(either) @ [1.0, -1.0]) / (2.0 * step)
    assert found.standard_error == pytest.approx(np.linalg.norm(influence), abs=1e-6)


@pytest.mark.parametrize("index", [harrell, lambda known, risk, **settings: uno(known, known, risk, tau=1.5, **settings)])
def test_standard_errors_are_the_spread_over_cohorts(index):
    rng = np.random.default_rng(0)
    values, errors = [], []
    for _ in range(200):
        risk = rng.normal(size=150)
        death, end = rng.exponential(np.exp(-0.7 * risk)), rng.exponential(2.0, 150)
        known, _ = observe(structured(death <= end, np.minimum(death, end)))
        found = index(known, risk, with_error=True)
        values.append(found.value)
        errors.append(found.standard_error)
    assert np.mean(errors) == pytest.approx(np.std(values), rel=0.15)


# --- laws of late entry ---


def as_table(event, time, entry):
    return table(os=np.column_stack([time, np.where(event, time, INF), entry]))


@given(cohorts())
def test_entry_at_the_start_is_no_late_entry(cohort):
    event, time, entry, risk = cohort
    with only_metric_warnings():
        for metric in (concordance_index, concordance_index_ipcw):
            late, plain = metric(as_table(event, time, entry), risk), metric(structured(event, time), risk)
            assert late == plain or (np.isnan(late) and np.isnan(plain))


@given(cohorts(late=True), st.booleans(), st.floats(-3.0, 3.0))
def test_who_enters_after_all_events_of_others_changes_nothing(cohort, has_event, own_risk):
    event, time, entry, risk = cohort
    entered = observed(np.append(event, has_event), np.append(time, 9.0), np.append(entry, 7.0))
    with only_metric_warnings():
        alone, together = harrell(observed(event, time, entry), risk).value, harrell(entered, np.append(risk, own_risk)).value
    assert together == pytest.approx(alone, nan_ok=True)


def test_who_is_censored_at_entry_was_never_observed():
    y = table(os=[(1, 1, 0), (2, INF, 0), (3, 3, 0), (3, INF, 3)])
    assert concordance_index(y, [3.0, 2.0, 4.0, np.nan]) == concordance_index(y.iloc[:3], [3.0, 2.0, 4.0])


def test_an_event_is_not_compared_with_who_has_not_entered_yet():
    y = table(os=[(1, 1, 0), (2, INF, 0), (3, 3, 2)])
    assert concordance_index(y, [3.0, 2.0, 4.0]) == 1.0  # the third entered after the first had died
    assert concordance_index(y.drop(columns=[("os", "entry")]), [3.0, 2.0, 4.0]) == 0.5
