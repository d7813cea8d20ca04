"""The paper's studies and the three-way problem."""

import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from lifelines import CoxPHFitter
from lifelines.statistics import logrank_test
from scipy.integrate import quad

import harmonium as hm
from harmonium.datasets.three_way import make_three_way, three_way_log_density
from harmonium.table.encoding import Encoding
from harmonium.table.endpoints import parse_endpoints

STUDIES = {  # rows, covariates, endpoints with their events, covariates with missing values
    "arrest": (432, 7, {"arrest": 114}, {}),
    "democracy": (1808, 2, {"end": 1468}, {}),
    "gbsg2": (686, 8, {"rfs": 299}, {}),
    "ncctg": (228, 7, {"os": 165}, {"ph.ecog": 1, "ph.karno": 1, "pat.karno": 3, "meal.cal": 47, "wt.loss": 14}),
    "nvalt8": (
        200,
        13,
        {"os": 84, "rfs": 106},
        {"M-stage": 1, "histology": 1, "smoker": 1, "bmi": 5, "stage": 3, "FDG-PET SUVmax": 31, "FDG-PET SUVmax>=10": 31},
    ),
    "nvalt11": (
        174,
        10,
        {"os": 118, "sbmfs": 30},
        {"performance_status": 2, "smoker": 1, "prior_malign": 1, "prior_conditions": 1, "squamous": 1, "stage": 1, "bmi": 15},
    ),
}


@pytest.fixture(params=STUDIES)
def study(request):
    return request.param, *getattr(hm.datasets, f"load_{request.param}")()


def test_a_study_has_its_rows_endpoints_events_and_missing_values(study):
    name, X, y = study
    n_rows, n_columns, events, missing = STUDIES[name]
    assert X.shape == (n_rows, n_columns)
    known = parse_endpoints(y)
    assert len(known.lower) == n_rows
    assert dict(zip(known.names, known.event.sum(axis=0).tolist(), strict=True)) == events
    assert X.isna().sum()[X.isna().any()].to_dict() == missing


def test_times_of_a_study_are_not_negative_and_complete(study):
    known = parse_endpoints(study[2])
    assert (known.lower >= 0.0).all()
    assert not known.entry.any()


def test_no_outcome_is_among_the_covariates(study):
    _, X, _ = study
    assert not [
        name for name in X.columns if name.endswith(("_mth", "_event")) or name in ("Patient ID", "time", "status", "week", "duration")
    ]


def test_a_study_can_be_encoded_as_it_is(study):
    _, X, y = study
    encoding, _ = Encoding.learn(X, parse_endpoints(y), None, "kaplan-meier", None)
    assert np.isfinite(np.nanmax(encoding.covariates(X)))
    assert len(encoding.modelled) == X.shape[1]
    assert X.index.equals(y.index)


def test_the_bundled_trials_are_attributed():
    notice = (Path(__file__).resolve().parents[1] / "NOTICE").read_text()
    for part in ("nvalt8.csv", "nvalt11.csv", "Apache License 2.0", "H. C. Donker", "H. J. M. Groen", "D. De Ruysscher"):
        assert part in notice


def test_a_study_of_lifelines_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "lifelines.datasets", None)
    with pytest.raises(ImportError, match=r"pip install 'harmonium\[bench\]'"):
        hm.datasets.load_gbsg2()


# --- the three-way problem ---


def test_the_same_seed_gives_the_same_data():
    first, again, other = (make_three_way(100, random_state=seed) for seed in (1, 1, 2))
    pd.testing.assert_frame_equal(first[0], again[0])
    pd.testing.assert_frame_equal(first[1], again[1])
    assert not first[1].equals(other[1])
    assert make_three_way(10, random_state=np.random.default_rng(1))[0].shape == (10, 1)
    assert make_three_way(0)[1].shape == (0, 4)


def test_times_are_censored_at_exactly_three_quarters_and_nowhere_else():
    X, y = make_three_way(4000, random_state=0)
    known = parse_endpoints(y)
    assert known.names == ("t1", "t2")
    assert set(X["colour"]) == {"red", "blue"}
    assert set(known.lower[~known.event]) == {0.75}
    assert ((known.lower > 0.0) & (known.lower <= 1.0)).all()
    late = known.lower >= 0.75
    assert np.mean(~known.event[late]) == pytest.approx(0.75, abs=0.03)


@pytest.mark.parametrize("name", ["t1", "t2"])
def test_the_colour_is_unrelated_to_either_time_alone(name):
    X, y = make_three_way(1000, random_state=0)
    time, event = y[name, "lower"], np.isfinite(y[name, "upper"])
    red = X["colour"] == "red"
    assert logrank_test(time[red], time[~red], event[red], event[~red]).p_value > 0.05
    frame = pd.DataFrame({"time": time, "event": event, "red": red.astype(float)})
    assert CoxPHFitter().fit(frame, "time", "event").summary.loc["red", "p"] > 0.05


def test_the_two_times_together_tell_the_colour():
    X, y = make_three_way(1000, random_state=0)
    both_early_or_late = (y["t1", "lower"] < 0.5) == (y["t2", "lower"] < 0.5)
    assert np.mean(both_early_or_late == (X["colour"] == "red")) > 0.85


def test_the_density_integrates_to_one():
    grid = (np.arange(100) + 0.5) / 100
    t1, t2 = np.meshgrid(grid, grid)
    total = sum(np.exp(three_way_log_density(colour, (t1, t1), (t2, t2))).mean() for colour in ("red", "blue"))
    assert total == pytest.approx(1.0, abs=1e-4)


def test_intervals_have_the_mass_of_the_density_within():
    nothing = (0.0, np.inf)
    total = np.logaddexp(three_way_log_density("red", nothing, nothing), three_way_log_density("blue", nothing, nothing))
    assert total == pytest.approx(0.0, abs=1e-12)
    inside, _ = quad(lambda t: float(np.exp(three_way_log_density("red", (t, t), nothing))), 0.2, 0.6)
    assert np.exp(three_way_log_density("red", (0.2, 0.6), nothing)) == pytest.approx(inside)


def test_the_density_is_that_of_the_draws():
    X, y = make_three_way(20_000, random_state=3)
    fraction = np.mean((X["colour"] == "red") & (y["t1", "lower"] < 0.5) & (y["t2", "lower"] < 0.3))
    assert np.exp(three_way_log_density("red", (0.0, 0.5), (0.0, 0.3))) == pytest.approx(fraction, abs=0.01)
