"""Associations of a synthetic table, against direct computations."""

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import harmonium as hm
from tests.metrics.fidelity_tables import REAL, one_endpoint

# --- associations ---


def test_every_pair_has_its_measure(alike):
    measures = alike.associations["measure"]
    assert len(measures) == 8 * 7 / 2
    assert (measures.loc[[("age", "bmi"), ("age", "female"), ("female", "smoker"), ("os", "rfs")]] == "Spearman").all()
    assert (measures.loc[[("age", "stage"), ("stage", "smoker"), ("grade", "os")]] == "correlation ratio").all()
    assert measures["stage", "grade"] == "Cramér's V"


def test_spearman_against_scipy(alike):
    X, _ = REAL
    complete = X["bmi"].notna()
    expected = stats.spearmanr(X["age"][complete], X["bmi"][complete]).statistic
    assert alike.associations.loc[("age", "bmi"), "real"] == pytest.approx(expected)
    expected = stats.spearmanr(X["age"], X["female"]).statistic
    assert alike.associations.loc[("age", "female"), "real"] == pytest.approx(expected)


def test_the_correlation_ratio_against_kruskal_and_wallis(alike):
    """H = (n - 1) times the share of the ranks' variance between levels, of which k - 1 are expected by chance."""
    X, _ = REAL
    n, k = len(X), 3
    h = stats.kruskal(*(X["age"][X["stage"] == level] for level in ("I", "II", "III"))).statistic
    squared = 1.0 - (1.0 - h / (n - 1)) * (n - 1) / (n - k)
    assert alike.associations.loc[("age", "stage"), "real"] == pytest.approx(np.sqrt(max(0.0, squared)))


def test_cramers_v_against_scipy(alike):
    X, _ = REAL
    counts = pd.crosstab(X["stage"], X["grade"])
    n = len(X)
    squared = stats.contingency.association(counts) ** 2 * 2  # chi-squared by n
    levels = 3 - 4 / (n - 1)
    assert alike.associations.loc[("stage", "grade"), "real"] == pytest.approx(np.sqrt((squared - 4 / (n - 1)) / (levels - 1)))


@pytest.mark.usefixtures("unclassified")
def test_associations_do_not_depend_on_the_number_of_rows():
    """By chance, without correction, small tables would have V of about sqrt(16 / 40) = 0.6, and larger ones less."""
    rng = np.random.default_rng(0)

    def unrelated(n):
        X = pd.DataFrame({name: rng.choice(list("abcde"), n) for name in "uvw"}).assign(x=rng.normal(size=n))
        return X, one_endpoint([(1.0, 1.0)] * n)[1]

    found = hm.fidelity(unrelated(40), unrelated(4000)).associations
    found = found[found["measure"] != "Spearman"]["real"].dropna()
    assert (found == 0.0).mean() > 0.3
    assert found.median() < 0.2


@pytest.mark.usefixtures("unclassified")
def test_a_perfect_association_is_one():
    X = pd.DataFrame({"x": np.repeat([1.0, 2.0, 3.0], 10), "u": np.repeat(list("abc"), 10), "v": np.repeat(list("zyx"), 10)})
    y = one_endpoint([(1.0, 1.0)] * 30)[1]
    found = hm.fidelity((X, y), (X, y)).associations["real"]
    assert found[["x", "u"]].loc[[("x", "u"), ("x", "v"), ("u", "v")]].tolist() == pytest.approx([1.0, 1.0, 1.0])


@pytest.mark.usefixtures("unclassified")
def test_without_censoring_an_endpoint_counts_with_its_time():
    rng = np.random.default_rng(0)
    x = rng.normal(size=50)
    df = pd.DataFrame({"x": x, "time": np.round(np.exp(x + rng.normal(size=50)), 1), "event": 1})
    real = df[["x"]], hm.endpoints(df, os=("time", "event"))
    found = hm.fidelity(real, real).associations.loc[("x", "os"), "real"]
    assert found == pytest.approx(-stats.spearmanr(df["x"], df["time"]).statistic)


@pytest.mark.usefixtures("unclassified")
def test_scores_of_late_entry_and_censoring_against_exact_sums():
    """The cumulative hazard is summed over all events after a subject's entry until its time, in fractions."""
    rng = np.random.default_rng(0)
    df = pd.DataFrame(
        {"x": rng.normal(size=60), "entry": rng.uniform(0.0, 2.0, 60) * (rng.random(60) < 0.5), "event": rng.random(60) < 0.6}
    )
    df["time"] = df["entry"] + np.round(rng.exponential(2.0, 60), 1) + 0.1
    scores = []
    for subject in df.itertuples():
        events = df["time"][df["event"] & (df["time"] > subject.entry) & (df["time"] <= subject.time)]
        hazard = sum(Fraction(1, int(((df["entry"] < t) & (df["time"] >= t)).sum())) for t in events)
        scores.append(int(subject.event) - hazard)
    real = df[["x"]], hm.endpoints(df, os={"time": "time", "event": "event", "entry": "entry"})
    found = hm.fidelity(real, real).associations.loc[("x", "os"), "real"]
    assert sum(scores) == 0
    assert found == pytest.approx(stats.spearmanr(df["x"], pd.Series(scores).rank()).statistic)


@pytest.mark.usefixtures("unclassified")
def test_censoring_does_not_turn_into_an_association():
    """Follow-up is shorter where x is large, and times do not depend on x: recorded times do, scores do not."""
    rng = np.random.default_rng(0)
    x, time = rng.normal(size=1500), rng.exponential(1.0, 1500)
    end = rng.exponential(np.exp(-x))
    df = pd.DataFrame({"x": x, "time": np.minimum(time, end), "event": time <= end})
    real = df[["x"]], hm.endpoints(df, os=("time", "event"))
    assert stats.spearmanr(df["x"], df["time"]).statistic < -0.3
    assert abs(hm.fidelity(real, real).associations.loc[("x", "os"), "real"]) < 0.1


@pytest.mark.usefixtures("unclassified")
def test_what_does_not_vary_has_no_association():
    X = pd.DataFrame({"x": [1.0, 2.0, 3.0, np.nan, np.nan, np.nan], "u": list("aaabcb"), "v": [np.nan, np.nan, np.nan, 4.0, 5.0, 6.0]})
    y = one_endpoint([(1.0, 1.0)] * 6)[1]
    found = hm.fidelity((X, y), (X, y)).associations["real"]
    assert found.loc[[("x", "u"), ("x", "v"), ("x", "os")]].isna().all()
    assert not np.isnan(found["u", "v"])


@pytest.mark.usefixtures("unclassified")
def test_as_many_levels_as_rows_leave_nothing_to_measure():
    X = pd.DataFrame({"u": list("abcdef"), "v": list("aabbcc"), "x": np.arange(6.0)})
    y = one_endpoint([(1.0, 1.0)] * 6)[1]
    found = hm.fidelity((X, y), (X, y)).associations["real"]
    assert found.loc[[("u", "v"), ("u", "x")]].isna().all()
