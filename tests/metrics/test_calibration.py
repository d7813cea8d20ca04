"""D-calibration, by hand and by simulation."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harmonium.metrics import MetricWarning, d_calibration
from tests.metrics.tables import INF, structured, table


def test_a_worked_example():
    """Five events and two censored subjects in four bins.

    Events at survival 0.1, 0.3, 0.3, 0.8 and 1 count 1, 2, 0, 2. Of the subject censored at 0.625, in the third bin, that bin gets
    (0.625 - 0.5) / 0.625 = 0.2 and the two below 0.25 / 0.625 = 0.4 each. The one censored at 0.2 stays in the first bin.
    """
    y = structured([True, True, True, True, True, False, False], np.arange(1.0, 8.0))
    found = d_calibration(y, [0.1, 0.3, 0.3, 0.8, 1.0, 0.625, 0.2], n_bins=4)
    counts = np.array([1 + 0.4 + 1, 2 + 0.4, 0.2, 2])
    np.testing.assert_allclose(found.proportions, counts / 7, rtol=1e-14)
    statistic = (2 * 0.65**2 + 1.55**2 + 0.25**2) / 1.75
    assert found.statistic == pytest.approx(statistic)
    in_closed_form = math.erfc(math.sqrt(statistic / 2)) + math.sqrt(2 * statistic / math.pi) * math.exp(-statistic / 2)
    assert found.p_value == pytest.approx(in_closed_form)  # the chi-squared distribution with three degrees of freedom


def test_a_right_model_passes_and_a_wrong_one_does_not():
    rng = np.random.default_rng(0)
    time, end = rng.exponential(1.0, 2000), rng.exponential(2.0, 2000)
    y = structured(time <= end, np.minimum(time, end))
    right, optimistic = (d_calibration(y, np.exp(-rate * y["time"])) for rate in (1.0, 0.7))
    assert right.p_value > 0.05
    assert optimistic.p_value < 1e-6
    np.testing.assert_allclose(right.proportions, 0.1, atol=0.02)


def test_who_is_censored_at_the_start_says_nothing():
    """Spread over all bins evenly."""
    y = structured([False], [3.0])
    found = d_calibration(y, [1.0], n_bins=5)
    np.testing.assert_allclose(found.proportions, 0.2, rtol=1e-14)
    assert found.statistic == pytest.approx(0.0, abs=1e-12)
    assert found.p_value == pytest.approx(1.0)


def test_survival_of_zero_goes_to_the_lowest_bin():
    found = d_calibration(structured([True, False], [1.0, 2.0]), [0.0, 0.0], n_bins=4)
    np.testing.assert_array_equal(found.proportions, [1.0, 0.0, 0.0, 0.0])


@given(st.lists(st.tuples(st.booleans(), st.floats(0.0, 1.0)), min_size=1, max_size=20), st.integers(2, 12))
def test_every_subject_counts_once_and_in_no_bin_above_its_own(subjects, n_bins):
    event, survival = (np.array(column) for column in zip(*subjects, strict=True))
    found = d_calibration(structured(event, np.arange(1.0, len(event) + 1.0)), survival, n_bins=n_bins)
    assert found.proportions.sum() == pytest.approx(1.0)
    assert (found.proportions >= 0.0).all()
    own = min(int(survival.max() * n_bins), n_bins - 1)
    assert found.proportions[own + 1 :].sum() == pytest.approx(0.0, abs=1e-12)
    assert 0.0 <= found.p_value <= 1.0


def test_rows_that_are_unknown_do_not_count():
    y = table(os=[(1, 1), (0, INF), (2, INF)])
    assert d_calibration(y, [0.9, np.nan, 0.5], n_bins=2).proportions.tolist() == [0.5, 0.5]


@pytest.mark.parametrize(("y", "survival", "reason"), [([], [], "no subjects"), ([(1, 1)], [np.nan], "predictions are missing")])
def test_without_subjects_or_predictions_it_is_nan_with_a_reason(y, survival, reason):
    recorded = table(os=y) if y else structured([], [])
    with pytest.warns(MetricWarning, match=reason):
        found = d_calibration(recorded, survival, n_bins=3)
    assert np.isnan([found.statistic, found.p_value, *found.proportions]).all()
    assert found.proportions.shape == (3,)


def test_survival_is_a_probability():
    with pytest.raises(ValueError, match=r"between 0 and 1; found 0\.5 to 12"):
        d_calibration(structured([True, True], [1.0, 2.0]), [0.5, 12.0])
