"""Effects and explanations: steps of columns, what a column is worth, and contributions that add up."""

from itertools import permutations

import numpy as np
import pandas as pd
import pytest

import harmonium as hm
from harmonium.model.explanation import _exact, _sampled


def table(n, seed=0):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({"age": rng.normal(60.0, 10.0, n), "stage": rng.choice(["I", "II", "III"], n), "noise": rng.normal(size=n)})
    risk = np.exp(0.06 * (X["age"] - 60.0) + 0.6 * (X["stage"] == "III"))
    time, end = 15.0 * rng.exponential(size=n) / risk, rng.uniform(5.0, 40.0, n)
    return X, hm.endpoints(pd.DataFrame({"t": np.minimum(time, end), "e": time <= end}), death=("t", "e"))


@pytest.fixture(scope="module")
def study():
    return table(300)


@pytest.fixture(scope="module")
def model(study):
    return hm.SurvivalHarmonium(2, trainer=hm.Exact(n_starts=2), random_state=0).fit(*study)


# --- summary ---


def test_a_summary_has_a_row_for_every_step(model, study):
    X, y = study
    found = model.summary(X, y, time=10.0, until=30.0)
    assert len(found) == 4  # two numbers, and two steps from stage I
    assert list(found.index.get_level_values("column")) == ["age", "stage", "stage", "noise"]
    age = found.loc["age"].iloc[0]
    assert age["difference_upper"] < 0.0
    assert age["mean_difference_upper"] < 0.0
    noise = found.loc["noise"].iloc[0]
    assert noise["difference_lower"] < 0.0 < noise["difference_upper"]
    assert age["importance_lower"] > 0.0
    assert age["importance"] > found.loc["stage"]["importance"].iloc[0] > noise["importance"]


def test_a_step_is_a_contrast(model, study):
    X, _ = study
    found = model.summary(X[:80], time=10.0, until=30.0).loc["stage"].iloc[1]
    for name, asked in (("difference", {"times": [10.0]}), ("mean_difference", {"measure": "restricted_mean", "until": 30.0})):
        own = model.contrast(X[:80], "stage", ("I", "III"), **asked).xs("difference", level="of").iloc[0]
        np.testing.assert_allclose(found[[name, f"{name}_lower", f"{name}_upper"]].to_numpy(float), own.to_numpy(), rtol=1e-3)


def test_what_a_column_is_worth_is_what_a_model_without_it_lacks(study):
    """Integrating a column out and removing it before the fit tell the same story."""
    X, y = study
    recipe = hm.SurvivalHarmonium(3, random_state=0)
    whole = recipe.fit(X, y)
    worth = whole.summary(X, y, interval=None).groupby("column")["importance"].first()
    base = whole.log_likelihood(X, y).mean()
    for name in X.columns:
        lost = base - recipe.fit(X.drop(columns=name), y).log_likelihood(X.drop(columns=name), y).mean()
        assert worth[name] == pytest.approx(lost, abs=0.03), name


def test_without_a_table_subjects_are_drawn(model):
    first, second = (model.summary(interval=None) for _ in range(2))
    pd.testing.assert_frame_equal(first, second)
    assert len(first) == 4


# --- explain ---


def test_contributions_add_up_and_are_shapley_values(model, study):
    X, _ = study
    one = X[:1]
    found = model.explain(one, time=10.0)["contribution"].droplevel("row")
    names = list(X.columns)
    alive = {}
    for mask in range(8):
        known = one.copy()
        for k, name in enumerate(names):
            if not mask >> k & 1:
                known[name] = np.nan if name != "stage" else None
        alive[mask] = float(model.prognosis(known).survival(times=[10.0])[0, 0])
    by_hand = dict.fromkeys(names, 0.0)
    for order in permutations(range(3)):
        mask = 0
        for k in order:
            by_hand[names[k]] += (alive[mask | 1 << k] - alive[mask]) / 6.0
            mask |= 1 << k
    for name in names:
        assert found[name] == pytest.approx(by_hand[name], abs=1e-12)
    assert found["average"] == pytest.approx(alive[0])
    assert found["prediction"] == pytest.approx(alive[7])
    assert found[names].sum() == pytest.approx(alive[7] - alive[0], abs=1e-12)


def test_missing_values_are_not_listed_and_the_rest_adds_up(model, study):
    one = study[0][:1].assign(age=np.nan)
    found = model.explain(one, measure="restricted_mean", until=20.0, interval=0.9).droplevel("row")
    assert "age" not in found.index
    own = found["contribution"]
    assert own.drop(["average", "prediction"]).sum() == pytest.approx(own["prediction"] - own["average"], abs=1e-9)
    assert found.loc["stage", "lower"] < own["stage"]
    assert own["stage"] < found.loc["stage", "upper"]


def test_columns_that_do_the_same_get_the_same():
    """Symmetry, of a model whose two columns are one."""
    X, y = table(150, seed=1)
    X = X.assign(twin=X["age"])[["age", "twin"]]
    model = hm.SurvivalHarmonium(1, trainer=hm.Exact(n_starts=1), random_state=0).fit(X, y)
    found = model.explain(X[:3], time=10.0)["contribution"]
    for row in range(3):
        assert found[row, "age"] == pytest.approx(found[row, "twin"], abs=1e-3)


@pytest.mark.parametrize("n", [0, 1, 3, 6])
def test_exact_weights_share_out_the_whole_difference(n):
    sets, weights = _exact(n)
    worth = np.random.default_rng(n).normal(size=len(sets))
    assert (weights @ worth).sum() == pytest.approx(worth[-1] - worth[0], abs=1e-12)
    alike = sets.sum(axis=1) ** 1.5  # depends on how many are known alone
    np.testing.assert_allclose(weights @ alike, alike[-1] / max(n, 1))


def test_drawn_orders_add_up_and_come_near_exact_contributions():
    n = 8
    sets, weights = _sampled(n, seed=0)
    exact_sets, exact_weights = _exact(n)
    assert not sets[0].any()
    assert sets[-1].all()

    def worth(known):
        return known @ np.arange(n) + 3.0 * (known[:, 0] & known[:, 1])

    np.testing.assert_allclose((weights @ worth(sets)).sum(), worth(sets)[-1], atol=1e-12)
    np.testing.assert_allclose(weights @ worth(sets), exact_weights @ worth(exact_sets), atol=1e-9)  # reverses make pairs exact


def test_many_columns_are_explained_by_drawn_orders():
    rng = np.random.default_rng(2)
    X, y = table(120, seed=2)
    X = X.assign(**{f"more{k}": rng.normal(size=120) for k in range(9)})
    model = hm.SurvivalHarmonium(1, trainer=hm.Exact(n_starts=1), random_state=0).fit(X, y)
    found = model.explain(X[:1], time=10.0)["contribution"].droplevel("row")
    assert len(found) == 14
    assert found.drop(["average", "prediction"]).sum() == pytest.approx(found["prediction"] - found["average"], abs=1e-12)


def test_states_are_not_explained(model, study):
    with pytest.raises(ValueError, match="several numbers"):
        model.explain(study[0][:1], measure="states", time=10.0)


def test_the_default_is_survival_at_the_median_event_time(model, study):
    times = model.encoding_.endpoints[0].event_times
    by_default = model.explain(study[0][:1])
    pd.testing.assert_frame_equal(by_default, model.explain(study[0][:1], measure="survival", time=float(np.median(times))))


def test_a_number_that_most_rows_share_has_a_step_all_the_same():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"edema": np.where(rng.random(80) < 0.85, 0.0, rng.choice([0.5, 1.0], 80)), "age": rng.normal(60.0, 8.0, 80)})
    y = hm.endpoints(pd.DataFrame({"t": rng.exponential(5.0, 80), "e": 1}), os=("t", "e"))
    model = hm.SurvivalHarmonium(1, trainer=hm.Exact(n_starts=1), random_state=0).fit(X, y)
    assert "0 to 1" in model.summary(X, interval=None).loc["edema"].index.get_level_values("step")
