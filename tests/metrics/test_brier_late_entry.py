"""Brier scores on data full of ties and with late entry: scikit-survival's numbers, the definition, and laws."""

import numpy as np
import pytest
import sksurv.metrics
from hypothesis import given
from hypothesis import strategies as st

from harmonium.metrics import brier_score, integrated_brier_score
from harmonium.metrics.brier import integrated
from harmonium.metrics.observed import observe
from tests.metrics.tables import INF, only_metric_warnings, structured, table

TIMES = np.array([0.5, 1.0, 2.5, 3.0, 4.0, 5.5])


@st.composite
def cohorts(draw, late=False):
    """Few distinct times; as (event, time, entry, survival at TIMES)."""
    n = draw(st.integers(2, 15))
    time = np.array(draw(st.lists(st.integers(1, 6), min_size=n, max_size=n)), dtype=float)
    event = np.array(draw(st.lists(st.booleans(), min_size=n, max_size=n)))
    entry = np.zeros(n)
    if late:
        entry = np.minimum(draw(st.lists(st.sampled_from([0.0, 0.0, 0.5, 1.0, 2.0, 3.5]), min_size=n, max_size=n)), time - 0.5)
    seed = draw(st.integers(0, 10**6))
    return event, time, entry, np.random.default_rng(seed).random((n, TIMES.size))


def as_table(event, time, entry):
    return table(os=np.column_stack([time, np.where(event, time, INF), entry]))


def scores(y, survival, times=TIMES, **settings):
    with only_metric_warnings():
        return brier_score(y, survival, times, **settings)


@given(cohorts(), cohorts())
def test_scores_are_those_of_scikit_survival(cohort, training):
    event, time, _, survival = cohort
    time = np.minimum(time, training[1].max())
    y, train = structured(event, time), structured(training[0], training[1])
    found = scores(y, survival, y_train=train)
    usable = ~np.isnan(found)
    if usable.any():
        expected = sksurv.metrics.brier_score(train, y, survival[:, usable], TIMES[usable])[1]
        np.testing.assert_allclose(found[usable], expected, rtol=0, atol=1e-12)
    if usable.sum() > 1:
        with only_metric_warnings():
            value = integrated_brier_score(y, survival, TIMES, y_train=train)
        expected = sksurv.metrics.integrated_brier_score(train, y, survival[:, usable], TIMES[usable])
        assert value == pytest.approx(expected, abs=1e-12)


@given(cohorts(late=True))
def test_with_late_entry_it_is_the_mean_over_those_who_have_entered(cohort):
    event, time, entry, survival = cohort
    found = scores(as_table(event, time, entry), survival)
    staying = observe(as_table(event, time, entry))[0].censoring().between
    for k, t in enumerate(TIMES):
        if np.isnan(found[k]):
            continue
        total, n_entered = 0.0, 0
        for i in range(len(time)):
            if not (entry[i] < t or entry[i] == 0.0):
                continue
            n_entered += 1
            until = min(time[i], t)
            chance = float(staying(entry[i], until))
            if (event[i] or time[i] > t) and chance > 0.0:
                total += (survival[i, k] - (time[i] > t)) ** 2 / chance
        assert found[k] == pytest.approx(total / n_entered, abs=1e-12)


@given(cohorts())
def test_entry_at_the_start_is_no_late_entry(cohort):
    event, time, entry, survival = cohort
    np.testing.assert_array_equal(scores(as_table(event, time, entry), survival), scores(structured(event, time), survival))


@given(cohorts(late=True))
def test_who_enters_later_changes_nothing_before(cohort):
    event, time, entry, survival = cohort
    alone = scores(as_table(event, time, entry), survival)
    more = as_table(np.append(event, True), np.append(time, 9.0), np.append(entry, 7.0))
    together = scores(more, np.vstack([survival, np.full(TIMES.size, 0.3)]))
    both = ~np.isnan(alone)
    np.testing.assert_allclose(together[both], alone[both], rtol=0, atol=1e-14)


def truncated_cohort(n, seed):
    """Exponential times with two rates, of which only those beyond entry are seen, and censored after it."""
    rng = np.random.default_rng(seed)
    rate, entry = rng.choice([0.5, 2.0], n), np.where(rng.random(n) < 0.5, 0.0, rng.exponential(0.7, n))
    death = rng.exponential(1.0 / rate)
    kept = death > entry
    rate, entry, death = rate[kept], entry[kept], death[kept]
    end = entry + rng.exponential(2.0, rate.size)
    return rate, as_table(death <= end, np.minimum(death, end), entry), entry


def test_the_true_model_scores_best_among_the_truncated():
    """If curves are given survival until entry; unconditional ones would be penalized for deaths that could not be seen."""
    rate, y, entry = truncated_cohort(20_000, seed=0)
    times = np.array([0.3, 0.8, 1.5])

    def score(factor, since):
        return brier_score(y, np.exp(-factor * rate[:, None] * np.maximum(times - since[:, None], 0.0)), times)

    right = score(1.0, entry)
    for wrong in (score(0.8, entry), score(1.25, entry), score(1.0, 0.0 * entry)):
        assert (right < wrong).all()


def test_the_weights_make_up_for_the_censoring_of_the_truncated():
    """The score is close to that of the same subjects without censoring."""
    rate, y, entry = truncated_cohort(20_000, seed=1)
    times = np.array([0.3, 0.8, 1.5])
    curves = np.exp(-rate[:, None] * np.maximum(times - entry[:, None], 0.0))
    for k, t in enumerate(times):
        entered = (entry < t) | (entry == 0.0)
        expected = (curves[:, k] * (1.0 - curves[:, k]))[entered].mean()  # of the true model
        assert brier_score(y, curves, times)[k] == pytest.approx(expected, rel=0.03)


def test_the_standard_error_is_the_standard_deviation_over_the_root_of_the_number():
    event, time = [True, False, True, True, False], [1.0, 2.0, 3.0, 4.0, 5.0]
    y, times = structured(event, time), np.array([1.0, 2.5, 4.5])
    survival = np.random.default_rng(0).random((5, 3))
    known, _ = observe(y)
    found = integrated(known, known, survival, times)
    own = []
    for i in range(5):  # the score is linear in what subject i contributes, which is found by setting all others to the truth
        truth = (np.array(time)[:, None] > times).astype(float)
        truth[i] = survival[i]
        own.append(5.0 * integrated_brier_score(y, truth, times))
    assert found.value == pytest.approx(np.mean(own))
    assert found.standard_error == pytest.approx(np.std(own, ddof=1) / np.sqrt(5))


@pytest.mark.parametrize("late", [False, True])
def test_standard_errors_are_the_spread_over_cohorts(late):
    times, values, errors = np.linspace(0.2, 1.2, 6), [], []
    for seed in range(200):
        rate, y, entry = truncated_cohort(200, seed)
        if not late:
            y, rate, entry = y[entry == 0.0], rate[entry == 0.0], entry[entry == 0.0]
        known, _ = observe(y)
        found = integrated(known, known, np.exp(-rate[:, None] * np.maximum(times - entry[:, None], 0.0)), times)
        values.append(found.value)
        errors.append(found.standard_error)
    assert np.mean(errors) == pytest.approx(np.std(values), rel=0.2)
