"""Concordance of several endpoints: by hand, by brute force, and what must not change it."""

from itertools import combinations, permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harmonium.metrics import MetricWarning, concordance_index, global_concordance, joint_concordance, local_concordance
from tests.metrics.tables import INF, only_metric_warnings, risk_of, structured, study, table

# An observed time: an event, a censored time, an interval or nothing, at times that are often the same.
TIME = st.integers(1, 5)
OBSERVED = st.one_of(
    TIME.map(lambda t: (t, t)),
    TIME.map(lambda t: (t, INF)),
    st.tuples(TIME, TIME).filter(lambda bounds: bounds[0] < bounds[1]),
    st.just((0, INF)),
)
RISK = st.integers(0, 3)


@st.composite
def cohorts(draw, n_endpoints=2, max_size=7):
    """A table of endpoints and a prediction for each of its cells."""
    n_rows = draw(st.integers(2, max_size))
    names = [f"t{e}" for e in range(n_endpoints)]
    y = table(**{name: draw(st.lists(OBSERVED, min_size=n_rows, max_size=n_rows)) for name in names})
    predicted = draw(st.lists(st.lists(RISK, min_size=n_endpoints, max_size=n_endpoints), min_size=n_rows, max_size=n_rows))
    return y, np.array(predicted, dtype=float)


def precedes(a, b):
    """Whether event a, from lower to upper, is known to come before b."""
    return tuple(b) != (0, INF) and (a[1] < b[0] or (a[1] == b[0] and b[0] < b[1]))


def bounds(y, row, name):
    return y[name, "lower"].iloc[row], y[name, "upper"].iloc[row]


def agreement(sooner, later):
    return 1.0 if sooner > later else 0.5 if sooner == later else 0.0


def brute_force_joint(y, risk):
    names = list(dict.fromkeys(y.columns.get_level_values(0)))
    scores = []
    for i, j in combinations(range(len(y)), 2):
        product = 1.0
        for e, name in enumerate(names):
            if precedes(bounds(y, i, name), bounds(y, j, name)):
                product *= agreement(risk[i, e], risk[j, e])
            elif precedes(bounds(y, j, name), bounds(y, i, name)):
                product *= agreement(risk[j, e], risk[i, e])
            else:
                break
        else:
            scores.append(product)
    return np.mean(scores) if scores else np.nan


def brute_force_local(y, times):
    names = list(dict.fromkeys(y.columns.get_level_values(0)))
    scores = [
        agreement(-times[i, k], -times[i, m])
        for i in range(len(y))
        for k, m in permutations(range(len(names)), 2)
        if precedes(bounds(y, i, names[k]), bounds(y, i, names[m]))
    ]
    return np.mean(scores) if scores else np.nan


def value(metric, y, predicted):
    """The metric, which warns if and only if it is NaN (or leaves out endpoints)."""
    with only_metric_warnings() as caught:
        out = metric(y, predicted)
    assert caught or not np.isnan(out)
    return out


SEVERAL = [global_concordance, joint_concordance, local_concordance]


# --- by hand ---


def test_joint_concordance_of_a_worked_example():
    """Four subjects; the pair 0-3 cannot be compared on death, whose censored times leave its order open.

    ====  =======  =====  ============  ==========
    pair  relapse  death  risk relapse  risk death
    ====  =======  =====  ============  ==========
    0-1   0 first  1      right         wrong
    0-2   0        0      right         right       1
    0-3   0        open
    1-2   1        1      right         tied        1/2
    1-3   1        1      right         right       1
    2-3   2        open
    ====  =======  =====  ============  ==========
    """
    y = table(relapse=[(1, 1), (2, 2), (3, 3), (4, INF)], death=[(6, 6), (5, 5), (8, INF), (5.5, INF)])
    risk = [[9, 4], [8, 3], [7, 3], [6, 2]]
    assert joint_concordance(y, risk) == pytest.approx((0 + 1 + 0.5 + 1) / 4)


def test_local_concordance_of_a_worked_example():
    """Three endpoints. Subject 0 has events in the order a, b, c: three pairs; 1 has b after a and c open: one; 2 has none."""
    y = table(a=[(1, 1), (4, 4), (3, INF)], b=[(2, 2), (6, INF), (5, INF)], c=[(3, 3), (2, INF), (0, INF)])
    predicted = [[1.0, 3.0, 2.0], [5.0, 5.0, 1.0], [1.0, 2.0, 3.0]]
    assert local_concordance(y, predicted) == pytest.approx((1 + 1 + 0 + 0.5) / 4)


def test_global_concordance_of_a_worked_example():
    """Death: three pairs can be compared, two are right, one tied. Relapse: one pair, wrong. The endpoints count alike."""
    y = table(death=[(1, 1), (2, 2), (3, INF)], relapse=[(2, 2), (3, INF), (1, INF)])
    risk = [[3, 1], [2, 2], [2, 3]]
    assert global_concordance(y, risk) == pytest.approx(((1 + 1 + 0.5) / 3 + 0) / 2)


def test_an_event_precedes_a_time_censored_at_the_same_moment_but_not_another_event():
    assert joint_concordance(table(os=[(2, 2), (2, INF)]), [[1], [0]]) == 1.0
    assert local_concordance(table(os=[(2, 2)], rfs=[(2, INF)]), [[1, 2]]) == 1.0
    with pytest.warns(MetricWarning, match="no two subjects can be compared for every endpoint"):
        assert np.isnan(joint_concordance(table(os=[(2, 2), (2, 2)]), [[1], [0]]))
    with pytest.warns(MetricWarning, match="no two events of a subject can be compared"):
        assert np.isnan(local_concordance(table(os=[(2, 2)], rfs=[(2, 2)]), [[1, 2]]))


def test_an_event_at_the_start_cannot_be_compared_with_what_is_unknown():
    with pytest.warns(MetricWarning, match="no two subjects"):
        assert np.isnan(joint_concordance(table(os=[(0, 0), (0, INF)]), [[1], [0]]))
    with pytest.warns(MetricWarning, match="no two events"):
        assert np.isnan(local_concordance(table(os=[(0, 0)], rfs=[(0, INF)]), [[1, 2]]))


def test_an_interval_counts_where_it_settles_the_order():
    y = table(os=[(1, 3), (3, INF), (2, 5)])
    assert joint_concordance(y, [[2], [1], [3]]) == 1.0  # only the first and the second can be compared
    assert local_concordance(table(a=[(1, 3)], b=[(3, 4)]), [[2, 1]]) == 0.0


# --- by brute force ---


@given(cohorts(n_endpoints=2))
def test_joint_concordance_is_that_of_the_definition(cohort):
    assert value(joint_concordance, *cohort) == pytest.approx(brute_force_joint(*cohort), nan_ok=True)


@given(cohorts(n_endpoints=3))
def test_local_concordance_is_that_of_the_definition(cohort):
    assert value(local_concordance, *cohort) == pytest.approx(brute_force_local(*cohort), nan_ok=True)


# --- laws ---


@settings(max_examples=40)
@given(cohorts(n_endpoints=2, max_size=9), st.randoms(use_true_random=False))
@pytest.mark.parametrize("metric", SEVERAL)
def test_the_order_of_subjects_does_not_matter(metric, cohort, random):
    y, predicted = cohort
    order = list(range(len(y)))
    random.shuffle(order)
    assert value(metric, y.iloc[order], predicted[order]) == pytest.approx(value(metric, y, predicted), nan_ok=True)


@settings(max_examples=40)
@given(cohorts(n_endpoints=2))
@pytest.mark.parametrize("metric", SEVERAL)
def test_the_order_of_endpoints_does_not_matter(metric, cohort):
    y, predicted = cohort
    assert value(metric, y[["t1", "t0"]], predicted[:, ::-1]) == pytest.approx(value(metric, y, predicted), nan_ok=True)


@settings(max_examples=40)
@given(cohorts(n_endpoints=2))
@pytest.mark.parametrize("metric", [global_concordance, joint_concordance])
def test_between_subjects_only_the_order_of_risks_matters(metric, cohort):
    y, risk = cohort
    other = np.column_stack([np.exp(risk[:, 0]), 10.0 * risk[:, 1] - 3.0])
    assert value(metric, y, other) == pytest.approx(value(metric, y, risk), nan_ok=True)


@settings(max_examples=40)
@given(cohorts(n_endpoints=2))
@pytest.mark.parametrize("metric", [global_concordance, local_concordance])
def test_the_opposite_prediction_has_the_opposite_concordance(metric, cohort):
    y, predicted = cohort
    assert value(metric, y, -predicted) == pytest.approx(1.0 - value(metric, y, predicted), nan_ok=True)


@settings(max_examples=40)
@given(cohorts(n_endpoints=2))
@pytest.mark.parametrize(("metric", "chance"), [(global_concordance, 0.5), (joint_concordance, 0.25), (local_concordance, 0.5)])
def test_constant_predictions_are_at_chance(metric, chance, cohort):
    y, predicted = cohort
    found = value(metric, y, np.zeros_like(predicted))
    assert found == pytest.approx(chance) or np.isnan(found)


@settings(max_examples=40)
@given(cohorts(n_endpoints=2), st.integers(0, 6))
@pytest.mark.parametrize("metric", SEVERAL)
def test_subjects_of_whom_nothing_is_known_change_nothing(metric, cohort, place):
    y, predicted = cohort
    place = min(place, len(y) - 1)
    hidden = y.copy()
    hidden.iloc[place] = [0.0, INF] * 2
    others = np.delete(np.arange(len(y)), place)
    assert value(metric, hidden, predicted) == pytest.approx(value(metric, y.iloc[others], predicted[others]), nan_ok=True)


@settings(max_examples=40)
@given(cohorts(n_endpoints=2))
def test_joint_concordance_never_exceeds_that_of_an_endpoint_over_the_same_pairs(cohort):
    y, risk = cohort
    exact = (y["t0", "lower"] == y["t0", "upper"]) & (y["t1", "lower"] == y["t1", "upper"])
    y, risk = y[exact], risk[exact]
    if y["t0", "lower"].is_unique and y["t1", "lower"].is_unique and len(y) > 1:  # then all pairs are comparable for both
        single = [concordance_index(y, risk[:, e], endpoint=name) for e, name in enumerate(("t0", "t1"))]
        assert joint_concordance(y, risk) <= min(single) + 1e-12


@pytest.mark.parametrize("name", ["arrest", "gbsg2", "ncctg"])
def test_for_one_endpoint_both_are_harrells_index(name):
    X, y = study(name)
    risk = risk_of(X)
    harrell = concordance_index(y, risk)
    assert joint_concordance(y, risk[:, None]) == pytest.approx(harrell, abs=1e-12)
    assert global_concordance(y, risk[:, None]) == harrell


@pytest.mark.parametrize("name", ["nvalt8", "nvalt11"])
def test_global_concordance_is_the_mean_of_harrells_index(name):
    X, y = study(name)
    risk = np.column_stack([risk_of(X), risk_of(X) ** 2])
    single = [concordance_index(y, risk[:, e], endpoint=endpoint) for e, endpoint in enumerate(y.columns.levels[0])]
    assert global_concordance(y, risk) == pytest.approx(np.mean(single), abs=1e-12)


def test_one_risk_for_two_endpoints_cannot_tell_who_relapses_first_from_who_dies_first():
    """As in the three-way problem, the endpoints' orders agree for half of the subjects and are opposite for the others."""
    rng = np.random.default_rng(0)
    relapse = rng.random(200)
    death = np.where(rng.random(200) < 0.5, relapse, 1.0 - relapse) + 0.01 * rng.random(200)
    y = table(relapse=np.repeat(relapse[:, None], 2, axis=1), death=np.repeat(death[:, None], 2, axis=1))
    perfect = -np.column_stack([relapse, death])
    assert joint_concordance(y, perfect) == 1.0
    assert joint_concordance(y, perfect[:, [0, 0]]) == pytest.approx(0.5, abs=0.05)
    assert global_concordance(y, perfect[:, [0, 0]]) == pytest.approx(0.75, abs=0.05)


# --- what cannot be computed ---


def test_an_endpoint_without_events_is_left_out_of_the_mean():
    y = table(os=[(1, 1), (2, INF)], rfs=[(1, INF), (2, INF)])
    with pytest.warns(MetricWarning, match="concordance index of 'rfs' is undefined: there are no events"):
        assert global_concordance(y, [[1, 1], [0, 0]]) == 1.0
    with pytest.warns(MetricWarning):
        assert np.isnan(global_concordance(y.iloc[:1], [[1, 1]]))


@pytest.mark.parametrize("metric", SEVERAL)
def test_missing_predictions_make_it_nan(metric):
    y = table(os=[(1, 1), (2, 2)], rfs=[(2, 2), (3, 3)])
    with pytest.warns(MetricWarning, match="predictions are missing"):
        assert np.isnan(metric(y, np.full((2, 2), np.nan)))


def test_predicted_times_may_be_infinite():
    assert local_concordance(table(a=[(1, 1), (1, 1)], b=[(2, 2), (2, 2)]), [[1.0, INF], [INF, INF]]) == 0.75


@pytest.mark.parametrize("metric", SEVERAL)
def test_predictions_must_fit_rows_and_endpoints(metric):
    with pytest.raises(ValueError, match=r"the shape \(1, 1\).*found \(1,\)"):
        metric(structured([True], [1.0]), [1.0])


# --- late entry ---


@settings(max_examples=40)
@given(cohorts(n_endpoints=2))
@pytest.mark.parametrize("metric", SEVERAL)
def test_entry_at_the_start_is_no_late_entry(metric, cohort):
    y, predicted = cohort
    entered = y.copy()
    for name in ("t0", "t1"):
        entered[name, "entry"] = 0.0
    entered = entered[[(name, kind) for name in ("t0", "t1") for kind in ("lower", "upper", "entry")]]
    assert value(metric, entered, predicted) == pytest.approx(value(metric, y, predicted), nan_ok=True)


def test_subjects_are_compared_only_if_the_later_one_had_entered():
    y = table(os=[(2, 2, 0), (4, 4, 3), (5, 5, 0)])  # the second had not entered when the first had the event
    assert joint_concordance(y, [[2], [3], [1]]) == 1.0
    assert global_concordance(y, [[2], [3], [1]]) == 1.0
    assert joint_concordance(table(os=[(2, 2), (4, 4), (5, 5)]), [[2], [3], [1]]) == pytest.approx(2 / 3)


def test_an_interval_begins_after_its_lower_bound():
    """An event between 2 and 3 comes after entry at 2, an event at 2 does not."""
    assert joint_concordance(table(os=[(2, 3, 0), (4, 4, 2)]), [[1], [0]]) == 1.0
    with pytest.warns(MetricWarning, match="no two subjects"):
        joint_concordance(table(os=[(2, 2, 0), (4, 4, 2)]), [[1], [0]])


def test_events_of_a_subject_are_compared_only_if_the_later_one_was_looked_for():
    y = table(a=[(2, 2, 0), (2, 2, 0)], b=[(4, 4, 3), (4, 4, 1)])
    assert local_concordance(y, [[2, 1], [1, 2]]) == 1.0
