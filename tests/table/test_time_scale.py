"""Time scales: smooth increasing maps of time to the unit interval."""

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad
from sksurv.nonparametric import kaplan_meier_estimator

import harmonium as hm
from harmonium.table.encoding import Encoding
from harmonium.table.endpoints import parse_endpoints
from harmonium.table.time_scale import TIME_SCALES, fit_time_scale
from tests.table.learning import stored_and_read

INF = np.inf


def recordings(n, seed=0, size=1.0, share_censored=0.4):
    """Event times of a Weibull distribution, some of them censored."""
    rng = np.random.default_rng(seed)
    time = size * rng.weibull(1.5, n)
    return time, np.where(rng.random(n) < share_censored, INF, time)


def fitted_scales(draw_horizon=True):
    """Scales of random tables: few or many events, ties, intervals, times of any size."""

    @st.composite
    def draw(draw):
        name = draw(st.sampled_from(TIME_SCALES))
        size = 10.0 ** draw(st.integers(-6, 9))
        rows = draw(
            st.lists(
                st.tuples(st.integers(1, 1000), st.sampled_from(["event", "censored", "interval", "unknown"])), min_size=1, max_size=40
            )
        )
        time = size * np.array([t for t, _ in rows]) / 1000.0
        kind = np.array([k for _, k in rows])
        lower = np.where(kind == "unknown", 0.0, time)
        upper = np.where(kind == "event", time, np.where(kind == "interval", 1.5 * time, INF))
        known = np.concatenate([lower, upper[np.isfinite(upper)]])
        beyond = draw(st.sampled_from([None, 1.0, 1.3, 100.0])) if draw_horizon and known.max() > 0.0 else None
        horizon = None if beyond is None else beyond * known.max()
        return fit_time_scale(name, lower, upper, horizon), known

    return draw()


def times_of(scale):
    """Times over the whole scale."""
    return np.linspace(1e-3, 1.0, 200) * scale.end * (1.0 - 1e-9)


@given(fitted_scales())
def test_every_scale_starts_at_0_increases_and_ends_at_1(given_scale):
    scale, _ = given_scale
    position = scale.to_unit(times_of(scale))
    assert scale.to_unit(np.array(0.0)) == 0.0
    assert (np.diff(position) > 0.0).all()
    assert (position > 0.0).all()
    assert (position <= 1.0).all()
    assert scale.to_unit(np.array(scale.end)) == scale.to_unit(np.array(INF)) == scale.reach
    assert scale.reach == 1.0 if np.isfinite(scale.horizon) else scale.reach < 1.0


@given(fitted_scales())
def test_from_unit_is_the_inverse_of_to_unit(given_scale):
    scale, known = given_scale
    times = np.concatenate([times_of(scale), np.geomspace(1e-12, 1e-3, 10) * known.max()])
    position = scale.to_unit(times)
    resolved = position < 0.999  # beyond, 1 - position has lost its last digits
    np.testing.assert_allclose(scale.from_unit(position)[resolved], times[resolved], rtol=1e-9)
    positions = np.linspace(0.0, scale.reach, 50)[:-1]
    np.testing.assert_allclose(scale.to_unit(scale.from_unit(positions)), positions, rtol=1e-12, atol=1e-14)


@given(fitted_scales())
def test_the_slope_is_the_derivative(given_scale):
    scale, _ = given_scale
    times = times_of(scale)
    step = 1e-6 * times
    low, high = times - step, np.minimum(times + step, scale.end)
    numerical = (scale.to_unit(high) - scale.to_unit(low)) / (high - low)
    size = np.exp(scale.log_slope(times))
    assert (size > 0.0).all()
    np.testing.assert_allclose(numerical, size, rtol=1e-4, atol=1e-5 * size.max())


@pytest.mark.parametrize("name", TIME_SCALES)
@pytest.mark.parametrize("horizon", [None, 20.0])
def test_the_slope_matches_differences_closely_on_ordinary_data(name, horizon):
    scale = fit_time_scale(name, *recordings(300), horizon)
    times = np.linspace(0.01, 0.99 * scale.end, 500)
    numerical = (scale.to_unit(times + 1e-6) - scale.to_unit(times - 1e-6)) / 2e-6
    np.testing.assert_allclose(np.log(numerical), scale.log_slope(times), atol=1e-5)


@pytest.mark.parametrize("name", TIME_SCALES)
@pytest.mark.parametrize("horizon", [None, 20.0])
@pytest.mark.parametrize("size", [1e-6, 1.0, 1e9])
def test_the_slope_integrates_to_what_is_reached(name, horizon, size):
    scale = fit_time_scale(name, *recordings(100, size=size), None if horizon is None else size * horizon)
    breaks = np.concatenate([np.unique(scale.from_unit(np.linspace(0.0, scale.reach, 50)[:-1])), [scale.end]])
    total = sum(quad(lambda t: float(np.exp(scale.log_slope(np.array(t)))), a, b)[0] for a, b in pairwise(breaks))
    assert total == pytest.approx(scale.reach, abs=1e-6)


@pytest.mark.parametrize("name", TIME_SCALES)
def test_beyond_the_horizon_the_position_is_1_and_there_is_no_density(name):
    scale = fit_time_scale(name, *recordings(50), 10.0)
    assert scale.horizon == 10.0
    assert scale.to_unit(np.array([10.0, 11.0, INF])).tolist() == [1.0, 1.0, 1.0]
    assert np.isfinite(scale.log_slope(np.array(10.0)))
    assert scale.log_slope(np.array([10.1, INF])).tolist() == [-INF, -INF]
    assert scale.from_unit(np.array(1.0)) == pytest.approx(10.0)


def test_only_the_kaplan_meier_scale_has_no_end_by_itself():
    ends = [fit_time_scale(name, *recordings(50)).horizon for name in TIME_SCALES]
    last = recordings(50)[0].max()
    assert ends == pytest.approx([INF, 1.001 * last, 1.001 * last])
    scale = fit_time_scale("kaplan-meier", *recordings(50))
    assert scale.end == last
    assert scale.from_unit(np.array([scale.reach, 0.5 + 0.5 * scale.reach, 1.0])).tolist() == pytest.approx([last, INF, INF])
    assert np.isfinite(scale.log_slope(np.array(last)))
    assert np.isnan(scale.log_slope(np.array(1.001 * last)))
    assert scale.is_timed(np.array([last, 1.001 * last])).tolist() == [True, False]


def test_the_linear_scale_is_the_papers():
    scale = fit_time_scale("linear", *recordings(50), 10.0)
    np.testing.assert_allclose(scale.to_unit(np.array([1.0, 5.0])), [0.1, 0.5])
    np.testing.assert_allclose(scale.log_slope(np.array([1.0, 5.0])), -np.log(10.0))


def test_the_log_scale_has_the_median_as_its_unit():
    time = np.array([1.0, 2.0, 8.0])
    scale = fit_time_scale("log", time, time, 14.0)
    np.testing.assert_allclose(scale.to_unit(time), np.log1p(time / 2.0) / np.log1p(7.0))


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("n", [200, 1000, 5000])
@pytest.mark.parametrize("horizon", [None, 40.0])
def test_the_kaplan_meier_scale_makes_the_marginal_uniform(n, seed, horizon):
    lower, upper = recordings(n, seed)
    scale = fit_time_scale("kaplan-meier", lower, upper, horizon)
    position, survival = kaplan_meier_estimator(np.isfinite(upper), scale.to_unit(lower))
    seen = position <= scale.to_unit(lower[np.isfinite(upper)]).max()
    assert np.abs(survival - (1.0 - position))[seen].max() < (0.1 if horizon is None else 0.12)


def test_heavy_ties_do_not_disturb_it():
    months = np.arange(1.0, 25.0)
    time = np.repeat(months, 20)
    position = fit_time_scale("kaplan-meier", time, time).to_unit(months)
    np.testing.assert_allclose(position, months / 24.0, atol=0.03)


@pytest.mark.parametrize("n_events", [0, 1, 2])
@pytest.mark.parametrize("event_time", [1e-3, 1.0, 99.0, 100.0])
def test_few_events_give_a_scale_on_which_no_recording_is_lost(n_events, event_time):
    time = np.linspace(1.0, 100.0, 50)
    upper = np.full(50, INF)
    time[:n_events] = upper[:n_events] = event_time * np.linspace(0.5, 1.0, n_events)
    scale = fit_time_scale("kaplan-meier", time, upper)
    position = scale.to_unit(np.unique(time))
    assert (np.diff(position) > 0.0).all()
    assert position[-1] < 1.0 - 1e-4  # long after the last event there is still room


@pytest.mark.parametrize("name", TIME_SCALES)
@pytest.mark.parametrize(
    ("lower", "upper"),
    [([3.0], [3.0]), ([3.0], [INF]), ([0.0], [INF]), ([0.0], [0.0]), ([0.0], [3.0]), ([1.0], [3.0]), ([0.0, 0.0], [0.0, 2.0]), ([], [])],
)
def test_one_row_of_any_kind_is_enough(name, lower, upper):
    scale = fit_time_scale(name, np.array(lower), np.array(upper))
    position = scale.to_unit(np.array([0.5, 1.0]))
    assert 0.0 < position[0] < position[1] <= 1.0


@pytest.mark.parametrize("n", [3, 30, 300])
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("horizon", [None, 20.0])
def test_value_slope_and_second_derivative_are_continuous_at_the_knots(n, seed, horizon):
    lower, upper = recordings(n, seed)
    upper[0] = lower[0]
    scale = fit_time_scale("kaplan-meier", lower, upper, horizon)
    step = 1e-5 * scale.end
    size = np.abs(np.gradient(scale.log_slope(np.linspace(0.0, scale.end, 2000)), scale.end / 1999)).max() + 1.0 / scale.end
    for knot in scale.end * np.array(scale.knots[1:-1]):
        np.testing.assert_allclose(*scale.to_unit(knot + 1e-9 * step * np.array([-1.0, 1.0])), rtol=1e-9)
        np.testing.assert_allclose(*scale.log_slope(knot + 1e-9 * step * np.array([-1.0, 1.0])), atol=1e-9)
        before, at, after = scale.log_slope(knot + step * np.array([-1.0, 0.0, 1.0]))
        assert abs((after - at) - (at - before)) / step < 0.01 * size  # of the logarithm of the first derivative


@pytest.mark.parametrize("name", ["arrest", "democracy", "gbsg2", "ncctg", "nvalt8", "nvalt11"])
def test_hazards_of_the_bundled_studies_have_few_turns_and_no_spike(name):
    _, y = hm.datasets.load_study(name)
    for own in Encoding.learn(pd.DataFrame(index=range(len(y))), parse_endpoints(y))[0].endpoints:
        scale = own.scale
        times = np.linspace(0.0, scale.end, 3001)
        hazard = np.exp(scale.log_slope(times)) / (1.0 - scale.to_unit(times))
        assert (hazard > 0.0).all()
        turns = np.sum(np.diff(np.sign(np.diff(hazard))) != 0)
        assert turns <= 6
        jump = np.abs(np.diff(hazard)).max() / hazard.max()
        assert jump < 0.06


def test_a_plateau_is_not_extrapolated():
    """Half are cured: after the events there is nothing but follow-up, and at its end half are without event."""
    rng = np.random.default_rng(0)
    time = np.where(rng.random(1000) < 0.5, rng.exponential(1.0, 1000), INF)
    followed = rng.uniform(8.0, 12.0, 1000)
    scale = fit_time_scale("kaplan-meier", np.minimum(time, followed), np.where(time <= followed, time, INF))
    assert scale.reach == pytest.approx(np.mean(time <= followed), abs=0.03)
    assert scale.to_unit(np.array(1e6)) == scale.reach
    assert (np.exp(scale.log_slope(np.linspace(7.0, scale.end, 50))) < 0.02).all()


def test_intervals_count_at_their_middle():
    lower, upper = recordings(200, share_censored=0.0)
    exact = fit_time_scale("kaplan-meier", lower, upper)
    wide = fit_time_scale("kaplan-meier", 0.9 * lower, 1.1 * lower)
    np.testing.assert_allclose(wide.to_unit(lower), exact.to_unit(lower), atol=0.02)


@pytest.mark.parametrize("name", TIME_SCALES)
@pytest.mark.parametrize("size", [1e-6, 1e9])
def test_the_unit_of_time_does_not_matter(name, size):
    lower, upper = recordings(100)
    scaled = fit_time_scale(name, size * lower, size * upper)
    scale = fit_time_scale(name, lower, upper)
    np.testing.assert_allclose(scaled.to_unit(size * lower), scale.to_unit(lower), rtol=1e-9)
    np.testing.assert_allclose(scaled.log_slope(size * lower), scale.log_slope(lower) - np.log(size), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("step", [0.02, 0.2])
def test_a_jitter_of_tied_times_does_not_matter(step):
    lower, upper = recordings(400)
    lower, upper = np.ceil(lower / step) * step, np.ceil(upper / step) * step
    jitter = 1.0 + 1e-9 * np.random.default_rng(1).uniform(-1.0, 1.0, lower.size)
    scale, moved = (fit_time_scale("kaplan-meier", factor * lower, factor * upper) for factor in (1.0, jitter))
    times = np.linspace(0.0, 0.999 * scale.end, 100)
    np.testing.assert_allclose(moved.to_unit(times), scale.to_unit(times), atol=1e-6)


@pytest.mark.parametrize("name", TIME_SCALES)
@pytest.mark.parametrize("horizon", [2.9, 0.0, -1.0, np.nan, INF, "10"])
def test_a_horizon_before_the_last_recording_is_refused(name, horizon):
    with pytest.raises(ValueError, match="the horizon must"):
        fit_time_scale(name, np.array([1.0, 3.0]), np.array([INF, INF]), horizon)


@pytest.mark.parametrize("name", TIME_SCALES)
def test_a_horizon_at_the_last_recording_is_fine(name):
    time = np.array([1.0, 2.0, 3.0])
    scale = fit_time_scale(name, time, time, 3.0)
    assert scale.to_unit(np.array(3.0)) == 1.0
    assert np.isfinite(scale.log_slope(time)).all()


def test_an_unknown_scale_is_refused():
    with pytest.raises(ValueError, match="time_scale must be one of kaplan-meier, linear, log; found 'sqrt'"):
        fit_time_scale("sqrt", np.ones(1), np.ones(1))


@given(fitted_scales())
def test_a_scale_is_the_same_after_storage_in_json(given_scale):
    scale, known = given_scale
    again = stored_and_read(scale)
    assert again == scale
    np.testing.assert_array_equal(again.to_unit(known), scale.to_unit(known))
