"""Scales of numeric columns: strictly increasing, invertible, indifferent to coding, and back on the column's own grid."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.stats import norm

from harmonium.table.column_summary import Tally
from harmonium.table.numeric_scale import Grid, NumericScale, fit_numeric_scale, grid_of, linear_scale
from tests.table.learning import column, stored_and_read

RNG = np.random.default_rng(0)
COLUMNS = {
    "normal": RNG.normal(size=500),
    "skewed": np.exp(2.0 * RNG.normal(size=500)),
    "uniform": RNG.random(500),
    "half zero": np.where(RNG.random(500) < 0.5, 0.0, RNG.exponential(size=500)),
    "nearly all zero": np.where(RNG.random(500) < 0.97, 0.0, RNG.exponential(size=500)),
    "heap in the middle": np.where(RNG.random(500) < 0.3, 2.0, RNG.normal(2.0, 3.0, 500)),
    "whole": RNG.normal(60.0, 10.0, 500).round(),
    "counts": RNG.negative_binomial(1, 0.3, 500).astype(float),
    "four values": RNG.integers(1, 5, 500).astype(float),
    "one decimal": RNG.normal(27.0, 5.0, 500).round(1),
    "outlier": np.append(RNG.normal(27.0, 5.0, 500).round(1), 393.0),
    "seven rows": np.array([1.5, 2.0, 3.0, 3.0, 9.0, 10.0, 1e6]),
    "three values": np.array([1.0, 2.0, 6.0]),
    "two values": np.array([0.0, 1.0, 1.0]),
    "tiny": 1e-300 * RNG.normal(size=50),
    "huge": 1e300 * RNG.normal(size=50),
    "far from 0": 1e9 + RNG.normal(size=50),
}


def scale_of(values):
    return fit_numeric_scale(Tally.of(np.asarray(values, dtype=float)))


def numbers(**options):
    """Few or many values, ties, outliers, numbers of any size."""
    value = st.one_of(st.integers(-5, 5).map(float), st.floats(-1e3, 1e3), st.floats(-1e12, 1e12), st.sampled_from([0.0, 1.5, 1e6]))
    return st.lists(value, min_size=2, max_size=60, **options).filter(lambda rows: len(set(rows)) > 1).map(np.array)


@pytest.mark.parametrize("name", COLUMNS)
def test_scores_are_about_standard(name):
    scores = scale_of(COLUMNS[name]).to_score(COLUMNS[name])
    assert abs(scores.mean()) < 0.15
    assert scores.std() == pytest.approx(1.0, abs=0.1)
    assert np.abs(scores).max() < 10.0


@pytest.mark.parametrize("name", ["normal", "skewed", "uniform", "one decimal", "outlier"])
def test_scores_of_smooth_columns_are_normal(name):
    scores = np.sort(scale_of(COLUMNS[name]).to_score(COLUMNS[name]))
    wanted = norm.ppf((np.arange(scores.size) + 0.5) / scores.size)
    inner = np.abs(wanted) < 2.0
    assert np.abs(scores - wanted)[inner].max() < 0.15


@pytest.mark.parametrize("name", COLUMNS)
def test_values_come_back(name):
    values = COLUMNS[name]
    scale = scale_of(values)
    np.testing.assert_allclose(scale.from_score(scale.to_score(values)), values, rtol=1e-9, atol=1e-12 * np.median(np.abs(values)))


@given(numbers())
def test_the_map_increases_strictly_and_is_finite_everywhere(values):
    scale = scale_of(values)
    span = values.max() - values.min()
    assume(span > 1e-9 * np.abs(values).max())
    at = np.unique(np.concatenate([np.linspace(values.min() - span, values.max() + span, 300), values, [-1e300, 1e300]]))
    at = at[np.concatenate([[True], np.diff(at) > 1e-9 * np.maximum(np.abs(at[1:]), span)])]
    scores = scale.to_score(at)
    assert np.isfinite(scores).all()
    assert (np.diff(scores) > 0.0).all()
    assert np.isfinite(scale.to_score(np.array([-1.7e308, 1.7e308]))).all()


@given(numbers(), st.floats(-3.0, 3.0))
def test_the_inverse_is_one(values, score):
    scale = NumericScale("scores", *(getattr(scale_of(values), name) for name in ("knots", "scores")))  # without grid and heaps
    at = np.append(values, scale._spline.inverse(np.array(score)))
    assume(np.ptp(values) > 1e-9 * np.abs(values).max())
    back = scale._spline.inverse(scale.to_score(at))
    np.testing.assert_allclose(back, at, rtol=1e-7, atol=1e-9 * np.ptp(values))


@given(numbers(), st.sampled_from([30.44, 1e-6, 1e5, -1.0, -2.5]), st.sampled_from([0.0, 1.0, -40.0]))
def test_unit_origin_and_sign_of_a_column_do_not_matter(values, factor, shift):
    other = factor * values + factor * shift * np.ptp(values)
    assume(np.unique(other).size == np.unique(values).size and np.diff(np.unique(values)).min() > 1e-6 * np.ptp(values))
    found = scale_of(other).to_score(other)
    np.testing.assert_allclose(found, np.sign(factor) * scale_of(values).to_score(values), atol=1e-6)


@given(numbers())
def test_the_order_of_rows_does_not_matter(values):
    assert scale_of(values) == scale_of(values[::-1])


@given(numbers(), st.integers(1, 20))
def test_a_tally_of_parts_gives_the_same_scale(values, cut):
    parts = Tally.of(values[:cut]).merged(Tally.of(values[cut:]))
    assert fit_numeric_scale(parts) == scale_of(values)


def test_a_large_tally_is_cut_and_hardly_moves_the_scale():
    values = RNG.normal(size=20_000)
    cut = Tally.of(values[:7_000]).merged(Tally.of(values[7_000:]), most=5_000)
    assert cut.values.size <= 5_000
    assert cut.counts.sum() == values.size
    at = np.linspace(-3.0, 3.0, 50)
    np.testing.assert_allclose(fit_numeric_scale(cut).to_score(at), scale_of(values).to_score(at), atol=0.02)


@pytest.mark.parametrize("typed", [39.3, 393.0, 3930.0, 1e12])
def test_one_wrong_value_moves_nobody_elses_score(typed):
    others = RNG.normal(27.0, 5.0, 300).round(1)
    clean, wrong = scale_of(np.append(others, others.max())), scale_of(np.append(others, typed))
    inner = np.sort(others)[5:-5]
    np.testing.assert_allclose(wrong.to_score(inner), clean.to_score(inner), atol=0.03)
    if typed > 100.0:
        np.testing.assert_array_equal(wrong.to_score(others), scale_of(np.append(others, 1e6)).to_score(others))
    assert wrong.to_score(np.array([typed])) < 6.0


# --- what comes back ---


def drawn(name, n=20_000):
    """Values of normal scores between the plausible ones, as a model that knows nothing would draw them."""
    scale = scale_of(COLUMNS[name])
    deviation = norm.ppf((np.arange(n) + 0.5) / n).std() / _ideal_deviation(COLUMNS[name])
    scores = deviation * norm.ppf((np.arange(n) + 0.5) / n)
    low, high = scale.plausible_scores
    return scale.from_score(scores[(scores > low) & (scores < high)])


def _ideal_deviation(values):
    _, counts = np.unique(values, return_counts=True)
    borders = norm.pdf(norm.ppf(np.concatenate([[0.0], np.cumsum(counts) / counts.sum()]).clip(0.0, 1.0)))
    is_heap = (counts >= 0.05 * counts.sum()) & (counts >= 5)
    middle = norm.ppf((np.cumsum(counts) - 0.5 * counts) / counts.sum())
    scores = np.where(is_heap, -np.diff(borders) * counts.sum() / counts, middle)
    return float(np.sqrt(np.average((scores - np.average(scores, weights=counts)) ** 2, weights=counts)))


@pytest.mark.parametrize("name", ["normal", "skewed", "uniform", "half zero", "heap in the middle", "whole", "counts", "four values"])
def test_drawn_columns_are_distributed_as_in_training(name):
    values, other = COLUMNS[name], drawn(name)
    at = np.unique(values)
    share, theirs = (np.searchsorted(np.sort(own), at, side="right") / own.size for own in (values, other))
    assert np.abs(share - theirs).max() < 0.04


@pytest.mark.parametrize("name", ["half zero", "nearly all zero", "skewed", "counts", "uniform", "one decimal"])
def test_numbers_that_are_never_negative_stay_so(name):
    assert drawn(name).min() >= 0.0


@pytest.mark.parametrize("name", ["whole", "counts", "four values", "outlier", "one decimal"])
def test_draws_are_on_the_grid_and_near_the_range(name):
    values, other = COLUMNS[name], drawn(name)
    decimals = 1 if name in ("outlier", "one decimal") else 0
    assert (other == other.round(decimals)).all()
    ends = np.sort(values)[[0, -2]]
    assert other.min() >= ends[0] - 0.06 * np.ptp(ends)
    assert other.max() <= ends[1] + 0.06 * np.ptp(ends) + 1.0


def test_values_never_seen_before_are_drawn():
    assert set(drawn("whole")) - set(COLUMNS["whole"])
    assert set(drawn("one decimal")) - set(COLUMNS["one decimal"])
    assert set(drawn("four values")) == {1.0, 2.0, 3.0, 4.0}  # where each has many rows, there is nothing in between


@pytest.mark.parametrize(
    ("values", "grid"),
    [
        ([1.0, 2.0, 5.0], Grid(1, 1, 0)),
        ([10.0, 20.0, 50.0, 90.0], Grid(10, 10, 0)),
        ([5.0, 15.0, 35.0, 95.0], Grid(5, 10, 0)),
        ([2.0, 4.0, 6.0], Grid(2, 1, 0)),  # three even numbers may be chance
        ([0.25, 1.5, 2.01], Grid(25, 1, 2)),
        ([0.1, 0.2, 0.3], Grid(1, 1, 1)),
        ([1 / 3, 2 / 3, 5 / 3], None),
        ([1e300, 2e300, 4e300], None),
        ([-1.5, 0.0, 7.25], Grid(-150, 25, 2)),
    ],
)
def test_the_grid_is_found(values, grid):
    assert grid_of(np.array(values)) == grid


def test_columns_of_low_precision_have_decimals_too():
    found = column(np.array([1.1, 2.2, 3.3, 5.9], dtype=np.float32))
    assert found.scale.grid == Grid(11, 1, 1)


@pytest.mark.parametrize("dtype", ["int64", "float64", "Int64", "Float64", "object"])
def test_whole_numbers_come_back_whole_whatever_their_type_with_and_without_gaps(dtype):
    values = [3, 8, 1, 4, 12, 30]
    gaps = [] if dtype == "int64" else [None]
    known = column(pd.Series([*values, *gaps], dtype=dtype))
    back = known.decode(np.array([-0.7, 0.123, np.nan, 1.0])).dropna().astype(float)
    assert len(back) == 3
    assert (back == back.round()).all()


@pytest.mark.parametrize(
    ("values", "bounds"), [([0.1, 0.5, 1.0], (0.0, 1.0)), ([3.0, 50.0, 100.0], (0.0, 100.0)), ([-3.0, 1.0, 2.0], None)]
)
def test_bounds_that_the_data_show(values, bounds):
    for sign in (1.0, -1.0):
        scale = scale_of(sign * np.array(values))
        found = (scale.floor, scale.ceiling) if sign > 0.0 else (-scale.ceiling, -scale.floor)
        assert found == (bounds or (-np.inf, np.inf))
    if bounds:
        draws = scale_of(values).from_score(np.array([-50.0, 50.0]))
        assert draws.min() >= bounds[0]
        assert draws.max() <= bounds[1]


def test_the_linear_scale_is_the_papers():
    values = COLUMNS["skewed"]
    scale = linear_scale(Tally.of(values), float(values.mean()), float(values.std()))
    np.testing.assert_allclose(scale.to_score(values), (values - values.mean()) / values.std(), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(scale.from_score(scale.to_score(values)), values, rtol=1e-10)


@given(numbers())
def test_a_scale_is_the_same_after_storage_in_json(values):
    scale = scale_of(values)
    again = stored_and_read(scale)
    assert again == scale
    np.testing.assert_array_equal(again.to_score(values), scale.to_score(values))
