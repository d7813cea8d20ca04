"""Left truncation and interval censoring: right if they are stated, wrong if they are ignored."""

import numpy as np
import pandas as pd
import pytest

import harmonium as hm

SHAPE, SCALES = 1.5, {0: 10.0, 1: 5.0}
TIMES = np.array([3.0, 6.0, 9.0])


def truth(group):
    return np.exp(-((TIMES / SCALES[group]) ** SHAPE))


def estimate(frame, **definition):
    """Survival of both groups under the default model."""
    y = hm.endpoints(frame, death=definition)
    model = hm.SurvivalHarmonium(n_hidden=3, random_state=0, trainer=hm.Exact(n_starts=2)).fit(frame[["group"]], y)
    groups = pd.DataFrame({"group": [0, 1]})
    return model.predict_survival_function(groups, times=TIMES, return_array=True)


def bias(survival):
    return np.abs(survival - np.array([truth(0), truth(1)]))


def simulate(n, rng):
    group = rng.integers(0, 2, n)
    return group, np.vectorize(SCALES.get)(group) * rng.weibull(SHAPE, n)


def test_left_truncation():
    rng = np.random.default_rng(0)
    group, time = simulate(9000, rng)
    entry, end = rng.uniform(0.0, 8.0, time.size), rng.uniform(8.0, 25.0, time.size)
    seen = time > entry
    frame = pd.DataFrame({"group": group, "time": np.minimum(time, end), "event": time <= end, "entry": entry})[seen]
    stated = estimate(frame, time="time", event="event", entry="entry")
    ignored = estimate(frame, time="time", event="event")
    assert bias(stated).max() < 0.035
    assert bias(ignored).max() > 0.1


def test_interval_censoring():
    """Subjects are seen every five months, beginning at a random time, for at most fifteen months."""
    rng = np.random.default_rng(0)
    group, time = simulate(3000, rng)
    between, first = 5.0, rng.uniform(0.5, 5.0, 3000)
    n_before = np.maximum(np.ceil((time - first) / between), 0.0)
    upper = first + between * n_before
    lower = np.where(n_before > 0, upper - between, 0.0)
    last = first + 2 * between
    ended = upper > last
    lower, upper = np.where(ended, last, lower), np.where(ended, np.inf, upper)
    frame = pd.DataFrame({"group": group, "lower": lower, "upper": upper})
    stated = estimate(frame, lower="lower", upper="upper")
    late = frame.assign(time=np.where(ended, lower, upper), event=~ended)
    ignored = estimate(late[["group", "time", "event"]], time="time", event="event")
    assert bias(stated).max() < 0.035
    assert bias(ignored).max() > 0.1


@pytest.mark.parametrize("time_scale", ["kaplan-meier", "linear", "log"])
def test_plain_right_censoring(time_scale):
    rng = np.random.default_rng(1)
    group, time = simulate(3000, rng)
    end = rng.uniform(2.0, 20.0, time.size)
    frame = pd.DataFrame({"group": group, "time": np.minimum(time, end), "event": time <= end})
    y = hm.endpoints(frame, death=("time", "event"))
    model = hm.SurvivalHarmonium(n_hidden=3, random_state=0, time_scale=time_scale, trainer=hm.Exact(n_starts=2)).fit(frame[["group"]], y)
    survival = model.predict_survival_function(pd.DataFrame({"group": [0, 1]}), times=TIMES, return_array=True)
    assert bias(survival).max() < 0.035
