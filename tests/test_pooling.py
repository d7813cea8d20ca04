"""Rubin's rules: by hand, in another form of the equations, by their laws, and by coverage."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import stats

import harmonium as hm

COLUMNS = ["estimate", "standard_error", "lower", "upper", "degrees_of_freedom", "missing_information", "within", "between"]


@st.composite
def draws(draw):
    """Estimates and variances, at least two draws of one to three parameters."""
    shape = draw(st.tuples(st.integers(2, 8), st.integers(1, 3)))
    numbers = st.lists(st.floats(-10.0, 10.0), min_size=shape[0] * shape[1], max_size=shape[0] * shape[1])
    positive = st.lists(st.floats(0.01, 10.0), min_size=shape[0] * shape[1], max_size=shape[0] * shape[1])
    return np.reshape(draw(numbers), shape), np.reshape(draw(positive), shape)


def by_relative_increase(estimates, variances, confidence, complete):
    """Rubin (1987), equations 3.1.2 to 3.1.10, and Barnard and Rubin (1999), in terms of the relative increase in variance r."""
    m = len(estimates)
    mean = sum(estimates) / m
    within = sum(variances) / m
    between = sum((q - mean) ** 2 for q in estimates) / (m - 1)
    total = within + between + between / m
    r = (between + between / m) / within
    rubin = (m - 1) * (1 + 1 / r) ** 2
    fraction = (r + 2 / (rubin + 3)) / (r + 1)
    nu = rubin
    if complete is not None:
        observed = complete * (complete + 1) / (complete + 3) / (1 + r)
        nu = rubin * observed / (rubin + observed)
    lower, upper = stats.t.interval(confidence, nu, loc=mean, scale=total**0.5)
    return [mean, total**0.5, lower, upper, nu, fraction, within, between]


# --- against something else ---


def test_a_worked_example():
    """Five draws: mean 3, B = (4 + 1 + 0 + 1 + 4) / 4 = 2.5, W = 2, T = 2 + 1.2 * 2.5 = 5, of which 3 / 5 is due to gaps.

    So there are 4 / 0.36 = 100 / 9 degrees of freedom, and the fraction of missing information is 0.6 + 0.8 / (100 / 9 + 3).
    """
    (found,) = hm.pool([1.0, 2.0, 3.0, 4.0, 5.0], [1.0, 2.0, 3.0, 2.0, 2.0]).to_dict("records")
    assert list(found) == COLUMNS
    assert found["estimate"] == pytest.approx(3.0)
    assert (found["within"], found["between"]) == pytest.approx((2.0, 2.5))
    assert found["standard_error"] == pytest.approx(5.0**0.5)
    assert found["degrees_of_freedom"] == pytest.approx(100 / 9)
    assert found["missing_information"] == pytest.approx(0.6 + 0.8 * 9 / 127)
    assert found["upper"] - found["lower"] == pytest.approx(2 * 2.19833 * 5.0**0.5, rel=1e-4)  # quantile from tables, interpolated


def test_a_worked_example_with_few_complete_degrees_of_freedom():
    """As above, and the complete table would leave 12: of these 13 / 15 * 12 * 0.4 = 4.16 are observed."""
    found = hm.pool([1.0, 2.0, 3.0, 4.0, 5.0], [1.0, 2.0, 3.0, 2.0, 2.0], complete_degrees_of_freedom=12)
    assert found.loc[0, "degrees_of_freedom"] == pytest.approx(1 / (0.09 + 1 / 4.16))
    assert found.loc[0, "missing_information"] == pytest.approx(0.6 + 0.8 * 9 / 127)


def test_the_degrees_of_freedom_that_sas_gives():
    """Five draws and an increase in variance of a tenth make 484 degrees of freedom, the manual of MIANALYZE says."""
    spread = np.sqrt(0.1 / 1.2 / 2.5)
    found = hm.pool(spread * np.arange(5.0), np.ones(5))
    assert found.loc[0, "degrees_of_freedom"] == pytest.approx(484.0)


@settings(max_examples=50)
@given(draws(), st.floats(0.5, 0.99), st.sampled_from([None, 3.0, 50.0, 1e4]))
def test_another_form_of_the_equations_gives_the_same(values, confidence, complete):
    estimates, variances = values
    assume((estimates.std(axis=0) > 1e-3).all())
    given_degrees = {} if complete is None else {"complete_degrees_of_freedom": complete}
    found = hm.pool(estimates, variances, confidence, **given_degrees)
    expected = [by_relative_increase(q, u, confidence, complete) for q, u in zip(estimates.T, variances.T, strict=True)]
    np.testing.assert_allclose(found[COLUMNS], expected, rtol=1e-9, atol=1e-9)


# --- laws ---


@settings(max_examples=50)
@given(draws(), st.floats(-5.0, 5.0))
def test_draws_that_agree_leave_the_plain_standard_error(values, shared):
    _, variances = values
    found = hm.pool(np.full_like(variances, shared), variances)
    np.testing.assert_allclose(found["standard_error"], np.sqrt(variances.mean(axis=0)))
    np.testing.assert_allclose(found["upper"], shared + stats.norm.ppf(0.975) * found["standard_error"])
    np.testing.assert_allclose(found["missing_information"], 0.0, atol=1e-12)


@settings(max_examples=50)
@given(draws(), st.floats(0.1, 10.0), st.floats(-3.0, 3.0))
def test_another_unit_and_origin_change_the_estimates_alone(values, unit, origin):
    estimates, variances = values
    found, other = hm.pool(estimates, variances), hm.pool(origin + unit * estimates, unit**2 * variances)
    for name in ("estimate", "lower", "upper"):
        np.testing.assert_allclose(other[name], origin + unit * found[name], rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(other["standard_error"], unit * found["standard_error"])
    np.testing.assert_allclose(other["missing_information"], found["missing_information"], rtol=1e-8, atol=1e-8)


@settings(max_examples=50)
@given(draws(), st.randoms(use_true_random=False))
def test_the_order_of_draws_does_not_matter(values, random):
    estimates, variances = values
    order = random.sample(range(len(estimates)), len(estimates))
    np.testing.assert_allclose(hm.pool(estimates[order], variances[order]), hm.pool(estimates, variances), rtol=1e-9, atol=1e-9)


@settings(max_examples=50)
@given(draws(), st.floats(1.0, 1e6))
def test_a_small_table_widens_intervals(values, complete):
    estimates, variances = values
    large, small = hm.pool(estimates, variances), hm.pool(estimates, variances, complete_degrees_of_freedom=complete)
    assert (small["degrees_of_freedom"] <= complete).all()
    assert (small["upper"] >= large["upper"] - 1e-9).all()
    assert ((large["missing_information"] >= 0.0) & (large["missing_information"] <= 1.0)).all()


def test_many_complete_degrees_of_freedom_are_as_good_as_infinitely_many():
    values = [0.0, 1.0, 3.0], [1.0, 1.0, 2.0]
    pd.testing.assert_frame_equal(hm.pool(*values, complete_degrees_of_freedom=1e12), hm.pool(*values))


def test_intervals_cover_the_truth():
    """The mean of 40 normal values, of which 16 are missing and drawn from their posterior, in 1000 tables.

    Of the intervals that leave out the spread between draws, far fewer do.
    """
    rng = np.random.default_rng(0)
    n, n_observed, n_draws, n_tables = 40, 24, 10, 1000
    observed = rng.normal(2.0, 3.0, (n_tables, n_observed))
    variance = observed.var(axis=1, ddof=1) * (n_observed - 1) / rng.chisquare(n_observed - 1, (n_draws, n_tables))
    mean = rng.normal(observed.mean(axis=1), np.sqrt(variance / n_observed))
    imputed = rng.normal(mean[..., None], np.sqrt(variance)[..., None], (n_draws, n_tables, n - n_observed))
    complete = np.concatenate([np.broadcast_to(observed, (n_draws, *observed.shape)), imputed], axis=2)
    found = hm.pool(complete.mean(axis=2), complete.var(axis=2, ddof=1) / n, complete_degrees_of_freedom=n - 1)
    covered = ((found["lower"] < 2.0) & (found["upper"] > 2.0)).mean()
    naive = (np.abs(found["estimate"] - 2.0) < 1.96 * np.sqrt(found["within"])).mean()
    assert covered == pytest.approx(0.95, abs=0.02)
    assert naive < 0.90
    assert found["missing_information"].mean() == pytest.approx(0.4, abs=0.1)  # 16 of 40


# --- certainty ---


def test_what_is_certain_in_all_draws_stays_certain():
    found = hm.pool([1.0, 1.0], [0.0, 0.0]).loc[0]
    assert found[["estimate", "standard_error", "lower", "upper", "missing_information"]].tolist() == [1.0, 0.0, 1.0, 1.0, 0.0]


def test_what_is_known_through_imputation_alone():
    assert hm.pool([0.0, 2.0], [0.0, 0.0]).loc[0, ["degrees_of_freedom", "missing_information"]].tolist() == [1.0, 1.0]
    found = hm.pool([0.0, 2.0], [0.0, 0.0], complete_degrees_of_freedom=10).loc[0]
    assert found[["lower", "upper", "degrees_of_freedom"]].tolist() == [-np.inf, np.inf, 0.0]


# --- what may be given ---


def test_names_are_kept():
    estimates = pd.DataFrame({"age": [1.0, 2.0], "stage": [3.0, 5.0]})
    variances = pd.DataFrame({"stage": [0.3, 0.3], "age": [0.1, 0.1]})
    found = hm.pool(estimates, variances)
    assert found["within"].to_dict() == pytest.approx({"age": 0.1, "stage": 0.3})
    pd.testing.assert_frame_equal(hm.pool(estimates, variances[["age", "stage"]].to_numpy()), found)
    rows = [estimates.loc[0], estimates.loc[1]], [variances.loc[0], variances.loc[1]]
    pd.testing.assert_frame_equal(hm.pool(*rows), found)


def test_one_parameter_may_be_a_list_an_array_or_a_series_of_any_name():
    found = hm.pool([1.0, 2.0], [0.1, 0.2])
    table = pd.DataFrame({"log_hazard": [1, 2], "variance": [0.1, 0.2]}, index=["a", "b"])
    pd.testing.assert_frame_equal(hm.pool(table["log_hazard"], table["variance"]), found)
    pd.testing.assert_frame_equal(hm.pool(np.array([[1.0], [2.0]]), (0.1, 0.2)), found)


@pytest.mark.parametrize(
    ("estimates", "variances", "message"),
    [
        ([1.0], [1.0], "at least 2 draws.*found 1"),
        ([], [], "at least 2 draws.*found 0"),
        ([1.0, 2.0], [1.0], r"the same shape; found \(2, 1\) and \(1, 1\)"),
        ([[1.0, 2.0], [1.0, 2.0]], [1.0, 2.0], r"the same shape; found \(2, 2\) and \(2, 1\)"),
        ([1.0, 2.0], [1.0, -1.0], "variances must not be negative; found -1 for parameter 0 in draw 1"),
        ([1.0, np.nan], [1.0, 1.0], "estimates must be finite; found nan for parameter 0 in draw 1"),
        ([1.0, 2.0], [np.inf, 1.0], "variances must be finite; found inf for parameter 0 in draw 0"),
        (["a", "b"], [1.0, 1.0], "estimates must be numbers of shape"),
        (1.0, 1.0, "estimates must be numbers of shape"),
        ([1.0, 2.0], np.ones((2, 1, 1)), "variances must be numbers of shape"),
        (pd.DataFrame({"a": [1, 2]}), pd.DataFrame({"b": [1, 2]}), "the same parameters; 'a' is in one of them only"),
        ([pd.Series({"a": 1.0}), pd.Series({"b": 1.0})], np.ones((2, 2)), "found nan for parameter 'b' in draw 0"),
        (pd.DataFrame([[1, 2], [3, 4]], columns=["a", "a"]), np.ones((2, 2)), r"must be unique; found \['a', 'a'\]"),
    ],
)
def test_what_cannot_be_pooled_is_refused(estimates, variances, message):
    with pytest.raises(ValueError, match=message):
        hm.pool(estimates, variances)


@pytest.mark.parametrize("confidence", [0.0, 1.0, 95, np.nan])
def test_confidence_is_a_probability(confidence):
    with pytest.raises(ValueError, match="confidence must lie between 0 and 1"):
        hm.pool([1.0, 2.0], [1.0, 1.0], confidence)


@pytest.mark.parametrize("degrees", [0, -3, np.nan])
def test_complete_degrees_of_freedom_are_positive(degrees):
    with pytest.raises(ValueError, match="complete_degrees_of_freedom must be positive"):
        hm.pool([1.0, 2.0], [1.0, 1.0], complete_degrees_of_freedom=degrees)
