"""Calibrating a time scale: what the model says of nobody in particular becomes what was observed."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harmonium.table.calibration import calibration_of
from harmonium.table.endpoint_summary import EndpointSummary
from harmonium.table.time_scale import time_scale_of
from tests.table.learning import stored_and_read

POSITIONS = np.linspace(0.0, 1.0, 129)


def summary(n=200, seed=0, entry=None, shape=1.5):
    rng = np.random.default_rng(seed)
    time, end = 100.0 * rng.weibull(shape, n), 150.0 * rng.random(n)
    lower = np.minimum(time, end)
    return EndpointSummary.of("os", lower, np.where(time <= end, lower, np.inf), entry)


def calibration(**options):
    times = summary(**options)
    return calibration_of(times, time_scale_of(times, "kaplan-meier"))


@given(st.integers(0, 1000), st.sampled_from([20, 60, 300]), st.floats(0.6, 3.0), st.floats(0.75, 1.4))
def test_on_the_bent_scale_a_model_has_the_share_of_events_that_was_observed(seed, n, shape, power):
    own = calibration(n=n, seed=seed, shape=shape)
    bent = own.bent(POSITIONS, POSITIONS**power)
    times = np.linspace(0.01, 1.0, 100) * own.trained.end
    assert np.abs(bent.to_unit(times) ** power - own.observed.to_unit(times)).max() < 0.01


@given(st.integers(0, 1000), st.sampled_from([20, 300]), st.floats(0.75, 1.4))
def test_a_bent_scale_increases_smoothly_until_the_same_end(seed, n, power):
    own = calibration(n=n, seed=seed)
    bent = own.bent(POSITIONS, POSITIONS**power)
    times = np.linspace(0.0, own.trained.end, 1000)
    position = bent.to_unit(times)
    assert bent.end == own.trained.end
    assert (np.diff(position) > 0.0).all()
    assert position[0] == 0.0
    assert position[-1] < 1.0
    np.testing.assert_allclose(bent.from_unit(position[1:-1]), times[1:-1], rtol=1e-9)


def test_the_observed_scale_is_closer_to_kaplan_meier_than_that_of_training():
    times = summary(n=400, seed=3, shape=0.7)
    own = calibration_of(times, time_scale_of(times, "kaplan-meier"))
    at = times.event_times
    at = at[at < np.quantile(times.lower, 0.9)]
    risk = np.array([(times.lower >= t).sum() for t in at])
    alive = np.cumprod(1.0 - 1.0 / risk)
    far = {name: np.abs(1.0 - getattr(own, name).to_unit(at) - alive).max() for name in ("trained", "observed")}
    assert far["observed"] < far["trained"]
    assert far["observed"] < 0.02


def test_nothing_is_calibrated_where_the_share_of_events_is_not_what_the_scale_follows():
    times = summary()
    for scale in ("linear", "log"):
        assert calibration_of(times, time_scale_of(times, scale)) is None
    assert calibration_of(times, time_scale_of(times, "kaplan-meier", 500.0)) is None
    late = summary(entry=np.where(np.arange(200) < 3, 0.001, 0.0))
    assert calibration_of(late, time_scale_of(late, "kaplan-meier")) is None
    lower = np.array([1.0, 2.0])
    without = EndpointSummary.of("os", lower, np.full(2, np.inf))
    assert calibration_of(without, time_scale_of(without, "kaplan-meier")) is None


def test_a_calibration_comes_back_from_a_file():
    own = calibration()
    assert stored_and_read(own) == own


@pytest.mark.parametrize("factor", [30.4375, 1e-6])
def test_another_unit_of_time_bends_in_the_same_way(factor):
    times = summary()
    other = EndpointSummary.of("os", *(np.repeat(factor * bound, times.count) for bound in (times.lower, times.upper)))
    first = calibration_of(times, time_scale_of(times, "kaplan-meier")).bent(POSITIONS, POSITIONS**1.3)
    second = calibration_of(other, time_scale_of(other, "kaplan-meier")).bent(POSITIONS, POSITIONS**1.3)
    at = np.linspace(0.0, times.last_time, 50)
    np.testing.assert_allclose(first.to_unit(at), second.to_unit(factor * at), atol=1e-9)
