"""What scales are for: one wrong number, or rounding of the times, moves nobody's prediction."""

import numpy as np
import pytest

import harmonium as hm

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


def survival(X, y, rows, times, endpoint):
    model = hm.SurvivalHarmonium(random_state=0).fit(X, y)
    return model.predict_survival_function(rows, endpoint=endpoint, times=times, return_array=True)


def test_a_body_mass_index_of_393_moves_nobody_elses_prediction():
    X, y = hm.datasets.load_nvalt8()
    wrong = X["bmi"].idxmax()
    assert X.loc[wrong, "bmi"] > 390.0
    others, times = X.drop(index=wrong), [12.0, 36.0, 60.0]
    found = survival(X, y, others, times, "os")
    for typed in (39.3, 3930.0, 1e9):
        corrected = X.copy()
        corrected.loc[wrong, "bmi"] = typed
        assert np.abs(survival(corrected, y, others, times, "os") - found).max() < 0.02


_BY_CHANCE = pytest.mark.xfail(reason="two optima of nearly the same height: which of them is found is chance", strict=False)


@pytest.mark.parametrize("name", ["arrest", pytest.param("democracy", marks=_BY_CHANCE)])
def test_a_jitter_of_the_times_moves_no_prediction(name):
    X, y = hm.datasets.load_study(name)
    endpoint = y.columns[0][0]
    jitter = 1.0 + 1e-9 * np.random.default_rng(0).uniform(-1.0, 1.0, len(y))
    times = 1.0000001 * np.quantile(y[endpoint, "lower"], [0.2, 0.5, 0.8])
    found, moved = (survival(X, table, X, times, endpoint) for table in (y, y.mul(jitter, axis=0)))
    assert np.abs(found - moved).max() < 0.02
