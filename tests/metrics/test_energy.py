"""The energy score: by hand, against the plain one, and proper in the presence of censoring."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist
from scipy.stats import norm

from harmonium.metrics import MetricWarning, energy_score
from harmonium.metrics.censoring import CensoringDistribution
from harmonium.table.endpoints import parse_endpoints
from tests.metrics.tables import INF, structured, table


def plain(recorded, draws):
    """The energy score of one uncensored vector; pairs of a draw with itself do not count."""
    n = len(draws)
    return cdist(draws, [recorded]).mean() - 0.5 * cdist(draws, draws).sum() / (n * (n - 1))


# --- by hand ---


def test_without_censoring_it_is_the_plain_energy_score():
    rng = np.random.default_rng(0)
    times, draws = rng.exponential(size=(6, 2)), rng.exponential(size=(9, 6, 2))
    y = table(a=np.repeat(times[:, :1], 2, axis=1), b=np.repeat(times[:, 1:], 2, axis=1))
    expected = np.mean([plain(times[i], draws[:, i]) for i in range(6)])
    assert energy_score(y, draws) == pytest.approx(expected, rel=1e-12)


def test_times_are_compared_only_as_far_as_the_subject_was_observed():
    """Relapse at 3, alive at 9: draws (3, 12) and (6, 5) are (3, 9) and (6, 5), 0 and 5 from (3, 9), and 5 apart."""
    y = table(relapse=[(3, 3)], death=[(9, INF)])
    assert energy_score(y, [[[3, 12]], [[6, 5]]]) == pytest.approx(0.5 * (0 + 5) - 0.5 * 5)
    # a third draw, relapse at 20 and death at 9, is 6 away, as nothing is seen after 9; it is 6 and 5 from the others
    assert energy_score(y, [[[3, 12]], [[6, 5]], [[20, 9]]]) == pytest.approx((0 + 5 + 6) / 3 - 0.5 * (5 + 6 + 5) / 3)


def test_unknown_follow_up_is_averaged_over():
    """An event at 2; others were observed until 1, 4 and 6, so that the follow-up is 4 or 6 with equal probability."""
    y = structured([True, False, False, False], [2.0, 1.0, 4.0, 6.0])
    draws = np.array([[3.0, 0.0, 9.0, 9.0], [5.0, 9.0, 9.0, 9.0]])[:, :, None]
    until_4, until_6 = 0.5 * (1 + 2) - 0.5 * 1, 0.5 * (1 + 3) - 0.5 * 2
    others = 0.5 * (1 + 0) - 0.5 * 1
    assert energy_score(y, draws) == pytest.approx((0.5 * (until_4 + until_6) + others + 0 + 0) / 4)


def test_nothing_is_compared_beyond_the_longest_follow_up_in_training():
    train = structured([True, False], [1.0, 4.0])
    draws = np.array([[2.0], [3.0], [8.0]])[:, :, None]
    for event in (True, False):  # whatever happens at 6, at 4 there was no event
        assert energy_score(structured([event], [6.0]), draws, y_train=train) == pytest.approx((2 + 1 + 0) / 3 - 0.5 * (1 + 1 + 2) / 3)


def test_an_endpoint_of_which_nothing_is_known_does_not_contribute():
    y = table(a=[(1, 1), (2, INF)], b=[(0, INF), (0, INF)])
    draws = np.random.default_rng(0).exponential(size=(5, 2, 2))
    assert energy_score(y, draws) == pytest.approx(energy_score(y[["a"]], draws[:, :, :1]), rel=1e-12)


def test_follow_up_has_ended_where_an_endpoint_was_censored_last():
    """Ended at 3, 6 and 7; going on at 4, with a death, and at 5, with a relapse after death had last been looked for."""
    y = table(death=[(3, INF), (4, 4), (2, INF), (6, INF), (7, INF)], relapse=[(1, 1), (0, INF), (5, 5), (6, INF), (2, 2)])
    found = CensoringDistribution.fit(parse_endpoints(y))
    np.testing.assert_allclose(found.ends, [3, 6, 7])
    np.testing.assert_allclose(found.probabilities, [1 / 5, 2 / 5, 2 / 5])
    assert found.horizon == 7.0
    np.testing.assert_array_equal(found.quantiles_after(4.0, 4), [6, 6, 7, 7])
    np.testing.assert_array_equal(found.quantiles_after(9.0, 2), [7, 7])


def test_who_entered_late_counts_in_the_follow_up_from_then_on():
    """At 3, two of the four were under observation; at 6 and 7 all that are left."""
    y = table(death=[(3, INF, 0), (4, 4, 0), (6, INF, 3), (7, INF, 5)])
    found = CensoringDistribution.fit(parse_endpoints(y))
    np.testing.assert_allclose(found.ends, [3, 6, 7])
    np.testing.assert_allclose(found.probabilities, [1 / 2, 1 / 4, 1 / 4])


def test_follow_up_that_never_ends_has_no_horizon():
    assert CensoringDistribution.fit(parse_endpoints(structured([True, True], [1.0, 2.0]))).horizon == INF


# --- proper ---


def correlated(rho, scale, size, rng):
    """Two exponential times with a Gaussian copula."""
    first, second = rng.standard_normal((2, *size))
    return -scale * np.log(norm.sf(np.stack([first, rho * first + np.sqrt(1 - rho**2) * second], axis=-1)))


def censored_cohort(n, rng):
    times, end = correlated(0.7, 1.0, (n,), rng), rng.exponential(1.0, n)
    event = times <= end[:, None]
    lower = np.minimum(times, end[:, None])
    upper = np.where(event, times, INF)
    return table(a=np.column_stack([lower[:, 0], upper[:, 0]]), b=np.column_stack([lower[:, 1], upper[:, 1]])), times, end


@pytest.mark.slow
def test_the_true_distribution_scores_best_under_heavy_censoring():
    rng = np.random.default_rng(1)
    y, _, _ = censored_cohort(3000, rng)
    assert 0.4 < (y["a", "upper"] == INF).mean() < 0.6

    def score(rho, scale):
        return energy_score(y, correlated(rho, scale, (20, len(y)), np.random.default_rng(2)))

    truth = score(0.7, 1.0)
    wrong = {name: score(*setting) for name, setting in {"early": (0.7, 0.8), "late": (0.7, 1.25), "independent": (0.0, 1.0)}.items()}
    assert all(truth < other for other in wrong.values()), (truth, wrong)


def test_to_cut_only_censored_subjects_would_reward_early_predictions():
    """Why the follow-up of subjects with an event matters."""
    rng = np.random.default_rng(1)
    y, _, _ = censored_cohort(3000, rng)
    known = parse_endpoints(y)

    def naive(scale):
        draws = correlated(0.7, scale, (20, len(y)), np.random.default_rng(2))
        cut = np.where(known.event, draws, np.minimum(draws, known.lower))
        return np.mean([plain(known.lower[i], cut[:, i]) for i in range(len(y))])

    assert naive(0.8) < naive(1.0)


def test_averaging_over_the_follow_up_is_as_good_as_knowing_it():
    rng = np.random.default_rng(3)
    y, times, end = censored_cohort(2000, rng)
    draws = correlated(0.7, 1.0, (20, len(y)), rng)
    with_it = np.array([plain(np.minimum(times[i], end[i]), np.minimum(draws[:, i], end[i])) for i in range(len(y))])
    standard_error = with_it.std() / np.sqrt(len(y))
    assert energy_score(y, draws) == pytest.approx(with_it.mean(), abs=2.0 * standard_error)


# --- laws ---

CELL = st.one_of(
    st.integers(1, 5).map(lambda t: (t, t)),
    st.integers(1, 5).map(lambda t: (t, INF)),
    st.just((0, INF)),
)


@st.composite
def cohorts(draw):
    n_rows = draw(st.integers(1, 5))
    y = table(**{name: draw(st.lists(CELL, min_size=n_rows, max_size=n_rows)) for name in ("a", "b")})
    y.iloc[0, :2] = [1.0, 1.0]  # something is known
    seed = draw(st.integers(0, 99))
    return y, np.random.default_rng(seed).integers(0, 7, size=(4, n_rows, 2)).astype(float)


@settings(max_examples=40)
@given(cohorts(), st.randoms(use_true_random=False))
def test_neither_the_order_of_subjects_nor_that_of_draws_nor_that_of_endpoints_matters(cohort, random):
    y, draws = cohort
    rows, order = list(range(len(y))), list(range(len(draws)))
    random.shuffle(rows)
    random.shuffle(order)
    score = energy_score(y, draws)
    assert energy_score(y.iloc[rows], draws[order][:, rows]) == pytest.approx(score)
    assert energy_score(y[["b", "a"]], draws[:, :, ::-1]) == pytest.approx(score)


@settings(max_examples=40)
@given(cohorts(), st.floats(0.1, 10.0))
def test_the_score_has_the_unit_of_the_times(cohort, factor):
    y, draws = cohort
    assert energy_score(y * factor, draws * factor) == pytest.approx(factor * energy_score(y, draws), abs=1e-9)


@settings(max_examples=40)
@given(cohorts())
def test_draws_beyond_the_follow_up_are_all_the_same(cohort):
    y, draws = cohort
    far = np.where(draws >= 6.0, 1000.0, draws)
    contact = np.where(np.isinf(y.xs("upper", axis=1, level=1)), y.xs("lower", axis=1, level=1), -1.0).max()
    if contact == 5.0:  # somebody was censored last
        assert energy_score(y, far) == pytest.approx(energy_score(y, draws))


# --- what cannot be computed ---


def test_without_observed_times_it_is_nan_with_a_reason():
    with pytest.warns(MetricWarning, match="nothing was observed"):
        assert np.isnan(energy_score(table(a=[(0, INF)]), np.ones((2, 1, 1))))


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_missing_draws_make_it_nan(bad):
    with pytest.warns(MetricWarning, match="predictions are missing or infinite"):
        assert np.isnan(energy_score(structured([True], [1.0]), np.array([1.0, bad]).reshape(2, 1, 1)))


def test_draws_of_never_are_fine_where_follow_up_ends():
    assert energy_score(structured([False], [3.0]), np.array([1.0, INF]).reshape(2, 1, 1)) == pytest.approx(0.5 * 2 - 0.5 * 2)


def test_rows_between_two_times_are_left_out_with_a_warning():
    y = table(a=[(1, 1), (1, 3)])
    draws = np.array([[2.0, 9.0], [4.0, 9.0]])[:, :, None]
    with pytest.warns(MetricWarning, match="leaves out 1 row: an event lies between two times"):
        assert energy_score(y, draws) == pytest.approx(2 - 1)


@pytest.mark.parametrize("shape", [(1, 3, 1), (4, 3), (4, 2, 1), (4, 3, 2)])
def test_draws_must_fit_rows_and_endpoints_and_be_at_least_two(shape):
    with pytest.raises(ValueError, match=r"shape \(n_draws, 3, 1\), with at least two draws; found"):
        energy_score(structured([True] * 3, [1.0, 2.0, 3.0]), np.ones(shape))
