"""How subjects were observed: simulated studies in which that is known."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import harmonium as hm
from harmonium.table.encoding import Encoding
from harmonium.table.endpoints import parse_endpoints
from harmonium.table.observation import Observation
from tests.table.learning import stored_and_read


def studied(n, seed, *, by_year=1.0):
    """Death ends the observation of recurrence; follow-up is shorter for those who were included later."""
    rng = np.random.default_rng(seed)
    year = rng.uniform(0.0, 10.0, n)
    death, recurrence = rng.exponential(8.0, n), rng.exponential(6.0, n)
    end = 12.0 - by_year * year + rng.uniform(0.0, 2.0, n)
    table = pd.DataFrame({"death_t": np.minimum(death, end), "death": death <= end})
    until = table["death_t"]
    table["recurrence_t"], table["recurrence"] = np.minimum(recurrence, until), recurrence <= until
    X = pd.DataFrame({"year": year, "arm": rng.choice(["a", "b", "c"], n)})
    return X, hm.endpoints(table, death=("death_t", "death"), recurrence=("recurrence_t", "recurrence"), terminal=()), end


def observation(X, y):
    encoding, covariates = Encoding.learn(X, parse_endpoints(y))
    assert encoding.observation is not None
    return encoding.observation, covariates


def test_rules_are_found():
    X, y, _ = studied(500, 0)
    found, _ = observation(X, y)
    assert found.ended_by == ((), (0,))
    assert found.follow_up is not None


def test_where_there_are_no_rules_none_are_found():
    """Endpoints that are censored independently."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame({f"{name}_t": rng.exponential(1.0, 300) for name in "ab"} | {name: rng.random(300) < 0.5 for name in "ab"})
    found, _ = observation(pd.DataFrame({"x": rng.normal(size=300)}), hm.endpoints(table, a=("a_t", "a"), b=("b_t", "b"), terminal=()))
    assert found.ended_by == ((), ())
    assert found.follow_up is None


def test_follow_up_depends_on_covariates_as_in_the_study():
    """Correlation with the year as in the ends of follow-up that were simulated, most of which an event has hidden; none with the arm."""
    X, y, end = studied(3000, 1)
    found, covariates = observation(X, y)
    drawn = found.follow_up.at(found.probabilities(covariates, np.random.default_rng(0)))
    expected, got = (stats.spearmanr(X["year"], values).statistic for values in (end, drawn))
    assert expected < -0.9
    assert got == pytest.approx(expected, abs=0.05)
    assert np.ptp(found.weights[[column.name for column in Encoding.learn(X, parse_endpoints(y))[0].modelled].index("arm")]) < 0.2


def test_follow_up_that_depends_on_nothing_is_drawn_from_its_own_distribution():
    X, y, end = studied(3000, 2, by_year=0.0)
    found, covariates = observation(X, y)
    drawn = found.follow_up.at(found.probabilities(covariates, np.random.default_rng(0)))
    assert stats.ks_2samp(drawn, end).statistic < 0.08
    assert abs(stats.spearmanr(X["year"], drawn).statistic) < 0.08


def test_observation_ends_with_the_event_that_ends_it():
    found = Observation(None, ((), (0,)), (), 0.0, 1.0)
    times = np.array([[3.0, 5.0], [9.0, 5.0], [3.0, 1.0]])
    np.testing.assert_array_equal(found.ends(times, np.full((3, 2), 7.0)), [[7.0, 3.0], [7.0, 7.0], [7.0, 3.0]])


@pytest.mark.filterwarnings("ignore::harmonium.errors.EndpointWarning")  # so few rows may have no event
@settings(max_examples=25, deadline=None)
@given(n=st.integers(5, 40), seed=st.integers(0, 1000), missing=st.floats(0.0, 0.9))
def test_any_table_has_one(n, seed, missing):
    """Probabilities are probabilities, and a model file gives it back."""
    rng = np.random.default_rng(seed)
    X, y, _ = studied(n, seed)
    X = X.mask(rng.random(X.shape) < missing)
    if X.nunique().min() < 2:
        return
    found, covariates = observation(X, y)
    complete = np.where(np.isnan(covariates), 0.0, covariates)
    probability = found.probabilities(complete, rng)
    assert ((probability >= 0.0) & (probability <= 1.0)).all()
    assert stored_and_read(found) == found


def test_cohorts_are_observed_as_the_study_was():
    """Recurrence is censored at death, and nobody has one after it; who was included late is followed for a shorter time."""
    X, y, _ = studied(400, 3)
    model = hm.SurvivalHarmonium(2, trainer=hm.Exact(n_starts=2), random_state=0).fit(X, y)
    cohort, times = model.sample(4000, censored=True, random_state=0)
    assert (times["recurrence", "lower"] <= times["death", "lower"]).all()
    only_dead = np.isinf(times["recurrence", "upper"]) & np.isfinite(times["death", "upper"])
    assert (times["recurrence", "lower"][only_dead] == times["death", "lower"][only_dead]).all()
    rho = [
        stats.spearmanr(table["year"][alive], y["death", "lower"][alive]).statistic
        for table, y, alive in ((X, y, np.isinf(y["death", "upper"])), (cohort, times, np.isinf(times["death", "upper"])))
    ]
    assert rho[1] == pytest.approx(rho[0], abs=0.1)
