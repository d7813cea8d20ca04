"""Metrics where a terminal event may prevent an endpoint, against other packages and straightforward sums."""

import numpy as np
import pandas as pd
import pytest
from lifelines import AalenJohansenFitter
from sksurv.metrics import brier_score as sksurv_brier
from sksurv.util import Surv

import harmonium as hm
from harmonium.metrics import (
    aalen_johansen,
    competing_concordance,
    incidence_brier_score,
    integrated_incidence_brier_score,
    state_brier_score,
)
from harmonium.table.endpoints import parse_endpoints
from harmonium.table.state_graph import StateGraph

AT = np.array([1.0, 2.5, 4.0, 6.0])


def table(n=200, seed=0):
    rng = np.random.default_rng(seed)
    first, end = rng.exponential(5.0, n), rng.uniform(1.0, 12.0, n)
    cause = np.where(first <= end, rng.integers(1, 3, n), 0)
    return pd.DataFrame({"time": np.minimum(first, end), "cause": cause})


def endpoints(df):
    return hm.endpoints(df, first={"time": "time", "cause": "cause", "causes": {"relapse": 1, "death": 2}})


@pytest.mark.parametrize(("name", "code"), [("relapse", 1), ("death", 2)])
def test_aalen_johansen_equals_lifelines(name, code):
    df = table()
    fitted = AalenJohansenFitter(calculate_variance=False).fit(df["time"], df["cause"], event_of_interest=code)
    curve = fitted.cumulative_density_.iloc[:, 0]
    expected = curve.iloc[np.searchsorted(curve.index, AT, side="right") - 1]
    np.testing.assert_allclose(aalen_johansen(endpoints(df), AT, endpoint=name), expected, rtol=1e-12)


def test_without_the_other_event_it_is_the_brier_score():
    df = table()
    df["cause"] = np.where(df["cause"] == 1, 1, 0)
    y = hm.endpoints(df, relapse=("time", "cause"), terminal="relapse")
    survival = np.random.default_rng(1).uniform(size=(len(df), AT.size))
    surv = Surv.from_arrays(df["cause"] == 1, df["time"])
    np.testing.assert_allclose(incidence_brier_score(y, 1.0 - survival, AT), sksurv_brier(surv, surv, survival, AT)[1], rtol=1e-10)


def test_concordance_equals_the_sum_over_pairs():
    df, risk = table(80), np.random.default_rng(2).integers(0, 10, 80).astype(float)
    y = endpoints(df)
    time, cause = df["time"].to_numpy(), df["cause"].to_numpy()
    at, censored = np.unique(time, return_inverse=True)
    remaining = np.cumprod([1.0 - np.sum((time == t) & (cause == 0)) / np.sum(time >= t) for t in at])[censored]
    agreeing = compared = 0.0
    for i in np.flatnonzero(cause == 1):
        for j in range(80):
            later, never = time[j] > time[i], cause[j] == 2 and time[j] <= time[i]
            if later or never:
                weight = 1.0 / (remaining[i] * (remaining[i] if later else remaining[j]))
                compared += weight
                agreeing += weight * (risk[i] > risk[j]) + 0.5 * weight * (risk[i] == risk[j])
    assert competing_concordance(y, risk, endpoint="relapse") == pytest.approx(agreeing / compared, rel=1e-12)


def test_the_truth_scores_best():
    df = table(4000, seed=3)
    y = endpoints(df)
    truth = np.tile(0.5 * -np.expm1(-AT / 5.0), (len(df), 1))
    best = integrated_incidence_brier_score(y, truth, AT, endpoint="relapse")
    for factor in (0.8, 1.2):
        assert integrated_incidence_brier_score(y, factor * truth, AT, endpoint="relapse") > best
    states = {"event-free": 1.0 - 2.0 * truth, "relapse": truth, "death": truth}
    worse = {"event-free": 1.0 - 2.2 * truth, "relapse": 1.2 * truth, "death": truth}
    assert (state_brier_score(y, worse, AT) > state_brier_score(y, states, AT)).all()
    with pytest.raises(ValueError, match="probabilities must be of the states 'event-free', 'relapse', 'death'"):
        state_brier_score(y, {"relapse": truth}, AT)


def test_evaluate_and_scorers_agree():
    X, y = hm.datasets.load_nvalt8(terminal=True)
    model = hm.SurvivalHarmonium(1, trainer=hm.Exact(n_starts=1, max_iter=20), n_covariate_units=0, random_state=0).fit(X, y)
    found = hm.evaluate(model, X, y)
    row = found.loc["recurrence"]
    assert row["integrated_brier_score"] < row["kaplan_meier_ibs"]
    assert 0.5 < row["concordance"] < 1.0
    assert np.isnan(row["d_calibration"])
    assert np.isfinite(found.loc["death", "d_calibration"])
    scorers = hm.metrics.scorers
    score = scorers.neg_integrated_incidence_brier_score_scorer(model, X, y, endpoint="recurrence")
    assert score == pytest.approx(-row["integrated_brier_score"], rel=1e-12)
    assert scorers.competing_concordance_scorer(model, X, y, endpoint="recurrence") == pytest.approx(row["concordance_ipcw"], rel=1e-12)


def late(df):
    return hm.endpoints(
        df.assign(since=0.5 * df["time"]), first={"time": "time", "cause": "cause", "causes": {"relapse": 1, "death": 2}, "entry": "since"}
    )


def test_late_entry_is_refused():
    """Incidences would have to be those given that there was no event until then."""
    df = table()
    y, incidence = late(df), np.full((len(df), AT.size), 0.3)
    for score in (incidence_brier_score, integrated_incidence_brier_score):
        with pytest.raises(ValueError, match="'relapse' cannot be scored where subjects entered late"):
            score(y, incidence, AT)
    with pytest.raises(ValueError, match="entered late"):
        competing_concordance(y, incidence[:, 0])
    with pytest.raises(ValueError, match="entered late"):
        state_brier_score(y, {}, AT)


def test_nothing_is_said_beyond_follow_up():
    df = table()
    y, times = endpoints(df), np.array([2.0, 1000.0])
    incidence = np.full((len(df), 2), 0.3)
    with pytest.warns(hm.metrics.MetricWarning, match="1 of 2 times"):
        found = incidence_brier_score(y, incidence, times)
    assert np.isfinite(found[0])
    assert np.isnan(found[1])
    with pytest.warns(hm.metrics.MetricWarning, match="1 of 2 times"):
        found = state_brier_score(y, dict.fromkeys(labels(y), incidence), times)
    assert np.isfinite(found[0])
    assert np.isnan(found[1])


def labels(y):
    known = parse_endpoints(y)
    graph = StateGraph(known.names, known.terminal)
    return [graph.label(path) for path in graph.paths]


def test_predictions_of_other_times_are_refused():
    df = table()
    with pytest.raises(ValueError, match="incidence must have a row for each of 200 subjects and a column for each time"):
        incidence_brier_score(endpoints(df), np.full((len(df), 3), 0.3), [2.0])
    wrong = {label: np.zeros((len(df), 3)) for label in labels(endpoints(df))}
    with pytest.raises(ValueError, match="must have 200 rows and 1 times"):
        state_brier_score(endpoints(df), wrong, [2.0])
