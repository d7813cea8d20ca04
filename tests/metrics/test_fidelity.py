"""Fidelity of synthetic tables: to themselves, to what was done to them, and against direct computations."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lifelines import KaplanMeierFitter
from scipy import stats
from sksurv.util import Surv

import harmonium as hm
from harmonium.metrics.fidelity import Fidelity
from tests.metrics.fidelity_tables import INF, REAL, covariate, halves, one_endpoint, table

pytestmark = pytest.mark.slow

# --- alike ---


@pytest.mark.parametrize("study", [table, hm.datasets.load_nvalt8], ids=["simulated", "nvalt8"])
def test_a_copy_is_at_no_distance(study):
    found = hm.fidelity(study(), study())
    assert (found.marginals["distance"] == 0.0).all()
    assert (found.survival["distance"] == 0.0).all()
    assert (found.associations["difference"].dropna() == 0.0).all()
    assert found.auc < 0.1  # the twin of every row has the other label


@pytest.mark.parametrize("study", [hm.datasets.load_nvalt8, hm.datasets.load_gbsg2])
def test_two_halves_of_a_study_are_close(study):
    X, y = study()
    found = hm.fidelity(*halves(X, y))
    within_chance = 1.95 * np.sqrt(4.0 / len(X))  # exceeded with a probability of 0.001
    assert found.auc == pytest.approx(0.5, abs=2.0 / np.sqrt(len(X)))
    assert (found.marginals["distance"] < within_chance).all()
    assert (found.survival["distance"] < 0.3).all()
    assert found.associations["difference"].abs().median() < 0.1
    np.testing.assert_allclose(found.marginals["missing_real"], found.marginals["missing_synthetic"], atol=0.1)


def test_two_draws_of_a_population_are_close(alike):
    assert alike.auc == pytest.approx(0.5, abs=0.06)
    assert (alike.marginals["distance"] < 0.12).all()
    assert (alike.survival["distance"] < 0.15).all()
    assert (alike.associations["difference"].abs() < 0.25).all()


# --- different ---


def test_a_shifted_column_is_found(alike):
    X, y = table(seed=1)
    found = hm.fidelity(REAL, (X.assign(age=X["age"] + 12.0), y))
    assert found.marginals["distance"].idxmax() == "age"
    assert found.marginals.loc["age", "distance"] > 0.4
    pd.testing.assert_frame_equal(found.marginals.drop("age"), alike.marginals.drop("age"))
    pd.testing.assert_frame_equal(found.survival, alike.survival)
    assert found.auc > alike.auc + 0.2


def test_a_permuted_column_is_found_in_associations_alone(alike):
    X, y = table(seed=1)
    permuted = X.assign(bmi=np.random.default_rng(0).permutation(X["bmi"]))
    found = hm.fidelity(REAL, (permuted, y))
    pd.testing.assert_frame_equal(found.marginals, alike.marginals)
    pd.testing.assert_frame_equal(found.survival, alike.survival)
    worst = found.associations["difference"].abs().idxmax()
    assert worst == ("age", "bmi")
    assert found.associations.loc[worst, "real"] > 0.6
    assert abs(found.associations.loc[worst, "synthetic"]) < 0.15
    assert found.auc > alike.auc + 0.05


@pytest.mark.parametrize("name", ["stage", "female", "smoker"])
@pytest.mark.usefixtures("unclassified")
def test_levels_that_became_rarer_are_found(name):
    X, y = table(600, seed=1)
    first = X[name] == X[name].dropna().iloc[0]
    rows = ~first.fillna(False).to_numpy(dtype=bool) | (np.arange(600) % 3 == 0)
    found = hm.fidelity(REAL, (X[rows], y[rows]))
    assert found.marginals["distance"].idxmax() in (name, {"stage": "grade"}.get(name))
    assert found.marginals.loc[name, "distance"] > 0.15


@pytest.mark.usefixtures("unclassified")
def test_an_effect_that_was_lost_or_reversed_is_found():
    lost, reversed_ = (hm.fidelity(REAL, table(seed=1, effect=effect)).associations for effect in (0.0, -1.0))
    for endpoint in ("os", "rfs"):
        real, synthetic, difference = lost.loc[("age", endpoint), ["real", "synthetic", "difference"]]
        assert real > 0.2
        assert abs(synthetic) < 0.15
        assert difference == pytest.approx(synthetic - real)
        assert reversed_.loc[("age", endpoint), "synthetic"] < -0.2
    assert lost.loc[("stage", "rfs"), "measure"] == "correlation ratio"
    assert lost.loc[("stage", "rfs"), "difference"] < -0.1


@pytest.mark.usefixtures("unclassified")
def test_a_reversed_effect_of_a_treatment_is_found():
    def trial(effect, seed):
        rng = np.random.default_rng(seed)
        arm = rng.permutation(np.repeat(["control", "treated"], 150))
        time = rng.exponential(np.where(arm == "treated", np.exp(effect), 1.0))
        df = pd.DataFrame({"arm": arm, "time": time, "event": 1})
        return df[["arm"]], hm.endpoints(df, os=("time", "event"))

    found = hm.fidelity(trial(1.0, 0), trial(-1.0, 1)).associations.loc[("arm", "os")]
    assert found["measure"] == "Spearman"
    assert found["real"] < -0.3
    assert found["synthetic"] > 0.3


def test_gaps_that_were_filled_are_found(alike):
    X, y = table(seed=1)
    found = hm.fidelity(REAL, (X.assign(bmi=X["bmi"].fillna(25.0)), y))
    assert found.marginals.loc["bmi", "missing_real"] == pytest.approx(REAL[0]["bmi"].isna().mean())
    assert found.marginals.loc["bmi", "missing_synthetic"] == 0.0
    assert found.auc > alike.auc + 0.01


def test_a_table_without_censoring_is_told_apart():
    X, y = table(seed=1)
    events = y.copy()
    for name in ("os", "rfs"):
        events[name, "upper"] = events[name, "lower"]
    found = hm.fidelity(REAL, (X, events))
    assert found.survival["events_synthetic"].tolist() == [1.0, 1.0]
    assert found.survival["events_real"].tolist() == pytest.approx([np.isfinite(REAL[1][name, "upper"]).mean() for name in ("os", "rfs")])
    assert found.auc > 0.7


# --- survival ---


@pytest.mark.usefixtures("unclassified")
def test_the_distance_of_curves_by_hand():
    """Real: events at 1, 3 and 5 of five subjects, one censored at 2: 4/5 from 1, 4/5 * 2/3 = 8/15 from 3, and 0 from 5 on.

    Synthetic: three events at 2 of five subjects, then 2/5, until the others are censored at 4. Until then, the curves are 1/5 apart
    from 1, 2/5 from 2, and 2/15 from 3.
    """
    real = one_endpoint([(1, 1), (2, INF), (3, 3), (5, 5), (5, 5)])
    synthetic = one_endpoint([(2, 2), (2, 2), (2, 2), (4, INF), (4, INF)])
    found = hm.fidelity(real, synthetic).survival.loc["os"]
    assert found["distance"] == pytest.approx(0.4)
    assert (found["at"], found["until"]) == (2.0, 4.0)
    assert (found["events_real"], found["events_synthetic"]) == (0.8, 0.6)
    assert found["optimism"] == pytest.approx((1 / 5 - 2 / 5 - 2 / 15) / 4)
    assert found["absolute_optimism"] == pytest.approx((1 / 5 + 2 / 5 + 2 / 15) / 4)
    assert found["short_sightedness"] == pytest.approx(1 / 5)


def test_the_distance_of_curves_against_lifelines(alike):
    for name in ("os", "rfs"):
        curves, ends = [], []
        for _, y in (REAL, table(seed=1)):
            curves.append(KaplanMeierFitter().fit(y[name, "lower"], np.isfinite(y[name, "upper"])))
            ends.append(y[name, "lower"].max())
        times = np.unique(np.concatenate([curve.survival_function_.index for curve in curves]))
        times = times[times <= min(ends)]
        expected = np.abs(curves[0].predict(times) - curves[1].predict(times))
        assert alike.survival.loc[name, "distance"] == pytest.approx(expected.max())
        assert alike.survival.loc[name, "at"] == expected.idxmax()
        assert alike.survival.loc[name, "until"] == min(ends)
        grid = (np.arange(100_000) + 0.5) / 100_000 * min(ends)
        difference = curves[1].predict(grid).to_numpy() - curves[0].predict(grid).to_numpy()
        assert alike.survival.loc[name, "optimism"] == pytest.approx(difference.mean(), abs=1e-4)
        assert alike.survival.loc[name, "absolute_optimism"] == pytest.approx(np.abs(difference).mean(), abs=1e-4)
        assert alike.survival.loc[name, "short_sightedness"] == pytest.approx(max(0.0, 1.0 - ends[1] / ends[0]))


@pytest.mark.usefixtures("unclassified")
def test_late_entry_is_taken_into_account():
    """Events that are seen only after a late entry say the same about survival, where they are seen."""
    rng = np.random.default_rng(0)

    def cohort(late):
        time = rng.exponential(10.0, 4000)
        entry = rng.uniform(0.0, 8.0, time.size) * late
        seen = pd.DataFrame({"time": time, "event": 1, "entry": entry, "x": rng.normal(size=time.size)})[time > entry][:1200]
        return seen[["x"]], hm.endpoints(seen, os={"time": "time", "event": "event", "entry": "entry"})

    X, y = cohort(late=True)
    found = hm.fidelity(cohort(late=False), (X, y))
    forgotten = hm.fidelity(cohort(late=False), (X, y.drop(columns=[("os", "entry")])))
    assert found.survival.loc["os", "distance"] < 0.1
    assert forgotten.survival.loc["os", "distance"] > 0.15
    assert abs(found.associations.loc[("x", "os"), "synthetic"]) < 0.1


@pytest.mark.usefixtures("unclassified")
def test_an_event_between_two_times_counts_at_their_middle():
    exact, between = [(2, 2), (3, INF), (5, 5), (6, 6), (7, INF)], [(1, 3), (3, INF), (4, 6), (6, 6), (7, INF)]
    assert hm.fidelity(one_endpoint(exact), one_endpoint(between)).survival.loc["os", "distance"] == 0.0


@pytest.mark.usefixtures("unclassified")
def test_rows_of_which_nothing_is_known_are_left_out():
    known = [(2, 2), (3, INF), (5, 5), (6, 6), (7, INF)]
    found = hm.fidelity(one_endpoint(known), one_endpoint([*known, (0, INF), (0, INF)]))
    assert found.survival.loc["os", ["distance", "events_synthetic"]].tolist() == [0.0, 0.6]


@pytest.mark.usefixtures("unclassified")
def test_an_endpoint_that_is_nowhere_known_has_no_distance():
    found = hm.fidelity(one_endpoint([(1, 1)] * 6), one_endpoint([(0, INF)] * 6))
    assert found.survival.loc["os"].isna().tolist() == [True, True, True, False, True, True, True, True]
    assert np.isnan(found.associations.loc[("x", "os"), "synthetic"])


# --- marginals ---


@given(st.lists(st.integers(-3, 3), min_size=5, max_size=12), st.lists(st.integers(-3, 3), min_size=5, max_size=12))
@settings(max_examples=10)
def test_distances_against_direct_computations(left, right):
    left, right = [*left, 0, 1, 2], [*right, 0, 1, 2]
    tables = [
        (pd.DataFrame({"number": values, "text": list(map(str, values))}), one_endpoint([(1.0, 1.0)] * len(values))[1])
        for values in (left, right)
    ]
    found = hm.fidelity(*tables).marginals
    assert found["kind"].tolist() == ["numeric", "categorical"]
    assert found.loc["number", "distance"] == pytest.approx(stats.ks_2samp(left, right).statistic)
    shares = [pd.Series(values).value_counts(normalize=True) for values in (left, right)]
    assert found.loc["text", "distance"] == pytest.approx(0.5 * shares[0].sub(shares[1], fill_value=0.0).abs().sum())


@pytest.mark.parametrize(
    ("real", "synthetic", "kind", "distance"),
    [
        (pd.Series([0, 1]), pd.Series([True, False]), "binary", 0.0),
        (pd.Series([0, 1]), pd.Series([0.0, 1.0]), "binary", 0.0),
        (pd.Series([0, 1]), pd.Series([0.3, 0.7]), "binary", 1.0),
        (pd.Series(["a", "b", None]), pd.Series(["a", "b"], dtype="category"), "binary", 0.0),
        (pd.Series(["a", "b", "c"], dtype="category"), pd.Series(["c", "d"]), "categorical", 2 / 3),
        (pd.Series([1, 2, 3], dtype="Int64"), pd.Series([1.5, 2.5, 3.5]), "numeric", 1 / 3),
        (pd.Series([1, 2, 3]), pd.Series(["1", "2", "3"]), "numeric", 0.0),
        (pd.Series([5.0, 5.0]), pd.Series([4.0, 5.0, 6.0]), "numeric", 1 / 3),
        (pd.Series(["a", "a"]), pd.Series(["a", None]), "ignored", 0.0),
        (pd.Series(["a", "a"]), pd.Series(["b", "b"]), "ignored", 1.0),
        (pd.Series([1.0, 2.0, 3.0]), pd.Series([np.nan, np.nan]), "numeric", np.nan),
        (pd.Series([np.nan]), pd.Series([None]), "ignored", np.nan),
    ],
)
@pytest.mark.usefixtures("unclassified")
def test_values_are_compared_whatever_their_type(real, synthetic, kind, distance):
    found = covariate(real, synthetic)
    assert found["kind"] == kind
    assert found["distance"] == pytest.approx(distance, nan_ok=True)


# --- what may be given, and what comes back ---


def test_the_same_random_state_gives_the_same(alike):
    assert hm.fidelity(REAL, table(seed=1)).auc == alike.auc
    assert hm.fidelity(REAL, table(seed=1), random_state=1).auc != alike.auc


def test_columns_and_endpoints_may_come_in_any_order(alike):
    X, y = table(seed=1)
    found = hm.fidelity(REAL, (X[X.columns[::-1]], y[["rfs", "os"]]))
    assert found.auc == alike.auc
    pd.testing.assert_frame_equal(found.survival, alike.survival)
    pd.testing.assert_frame_equal(found.associations, alike.associations)


def test_tables_may_be_of_polars_arrays_and_scikit_survival():
    rng = np.random.default_rng(0)
    values, y = rng.normal(size=(50, 2)), Surv.from_arrays(rng.random(50) < 0.5, rng.exponential(size=50))
    as_arrays = hm.fidelity((values[:25], y[:25]), (values[25:], y[25:]))
    frames = [pl.DataFrame(values[rows], schema=["x0", "x1"]) for rows in (slice(25), slice(25, None))]
    as_polars = hm.fidelity((frames[0], y[:25]), (frames[1], y[25:]))
    assert as_arrays.auc == as_polars.auc
    pd.testing.assert_frame_equal(as_arrays.marginals, as_polars.marginals)


def test_endpoints_alone_can_be_compared():
    X, y = REAL
    found = hm.fidelity((X[[]], y), (X[[]], y))
    assert found.marginals.empty
    assert list(found.associations.index) == [("os", "rfs")]
    assert "Marginals: all 0" in str(found)
    found = hm.fidelity((X[[]], y[["os"]]), (X[[]], y[["os"]]))
    assert found.associations.empty
    assert str(found)


def test_text_with_very_many_levels_can_be_compared():
    X = pd.DataFrame({"place": np.repeat(np.arange(300), 2).astype(str)})
    y = one_endpoint([(1.0, 1.0)] * 600)[1]
    assert hm.fidelity((X, y), (X[::-1], y)).marginals.loc["place", "distance"] == 0.0


def test_it_is_printed_on_one_screen():
    X, y = hm.datasets.load_nvalt8()
    found = hm.fidelity(*halves(X, y))
    assert isinstance(found, Fidelity)
    lines = str(found).splitlines()
    assert len(lines) <= 30
    assert max(map(len, lines)) <= 100
    assert lines[0].startswith(f"Telling real from synthetic rows: AUC {found.auc:.3f}")
    worst = found.marginals["distance"].idxmax()
    below_the_heading = lines[next(i for i, line in enumerate(lines) if line.startswith("covariate")) + 1]
    assert below_the_heading.startswith(worst)
    assert repr(found) == str(found)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda X, y: (X.drop(columns="age"), y), "the same columns; 'age' is in the real one only"),
        (lambda X, y: (X.rename(columns={"age": "Age"}), y), "'age' is in the real one only, 'Age' is in the synthetic one only"),
        (lambda X, y: (X, y[["os"]]), "the same endpoints; 'rfs' is in the real one only"),
        (lambda X, y: (X[:10], y), "X and y of the synthetic table must have the same number of rows; found 10 and 300"),
        (lambda X, y: (X[:4], y[:4]), "the synthetic table must have at least 5 rows; found 4"),
        (lambda X, y: X, r"the synthetic table must be a tuple \(X, y\) of covariates and endpoints; found DataFrame"),
        (lambda X, y: (X, y, y), r"the synthetic table must be a tuple \(X, y\)"),
        (lambda X, y: (X, X), r"y must be what harmonium\.endpoints returns"),
        (lambda X, y: (X.assign(age="old"), y), "column 'age' must hold numbers; found 'old' in row 0"),
        (lambda X, y: (X.assign(age=INF), y), "column 'age' must hold finite numbers; found inf in row 0"),
    ],
)
def test_tables_that_cannot_be_compared_are_refused(change, message):
    with pytest.raises(ValueError, match=message):
        hm.fidelity(REAL, change(*REAL))
