"""Contrasts, win ratios: standardised answers, their differences and ratios, beside direct counting and simulated truth."""

import numpy as np
import pandas as pd
import pytest

import harmonium as hm
from harmonium.metrics import count_wins
from harmonium.model.confidence import between, interval_of, standard_error


def trial(n, seed=0, effect=-0.7, censored=True):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({"age": rng.normal(60.0, 10.0, n), "arm": rng.choice(["control", "treated"], n)})
    treated = (X["arm"] == "treated").to_numpy()
    risk = np.exp(0.04 * (X["age"] - 60.0) + effect * treated)
    recurrence, death = 12.0 * rng.exponential(size=n) / risk, 30.0 * rng.exponential(size=n) / risk
    end = rng.uniform(10.0, 60.0, n) if censored else np.full(n, 1e4)
    table = pd.DataFrame(
        {
            "r": np.minimum(np.minimum(recurrence, death), end),
            "re": (recurrence < death) & (recurrence <= end),
            "d": np.minimum(death, end),
            "de": death <= end,
        }
    )
    return X, hm.endpoints(table, recurrence=("r", "re"), death=("d", "de"), terminal="death")


@pytest.fixture(scope="module")
def study():
    return trial(250)


@pytest.fixture(scope="module")
def model(study):
    return hm.SurvivalHarmonium(2, trainer=hm.Exact(n_starts=2), random_state=0).fit(*study)


def test_a_contrast_is_a_difference_of_averages(model, study):
    X, _ = study
    arms = [model.prognosis(X.assign(arm=arm)) for arm in ("control", "treated")]
    found = model.contrast(X, "arm", ("control", "treated"), endpoint="death", times=[12.0, 24.0], interval=None)["estimate"]
    alive = [own.survival("death", [12.0, 24.0]).mean(axis=0) for own in arms]
    np.testing.assert_allclose(found.xs("difference", level="of"), alive[1] - alive[0])
    np.testing.assert_allclose(found.xs("ratio", level="of"), alive[1] / alive[0])
    np.testing.assert_allclose(found.xs("arm = treated", level="of"), alive[1])


def test_the_error_of_a_difference_is_that_of_both_together(model, study):
    X, _ = study
    found = model.contrast(X, "arm", ("control", "treated"), endpoint="death", times=[24.0], interval=0.95)

    def gain(own):
        return own.survival("death", [24.0])

    parts = [list(model.prognosis(X.assign(arm=arm)).deviations(gain, thorough=True)[1]) for arm in ("control", "treated")]
    error = standard_error([(b - a).mean(axis=0) for a, b in zip(*parts, strict=True)], np.zeros(1))
    own = found.xs("difference", level="of")
    within = interval_of(own["estimate"].to_numpy(), error, 0.95, between(-1.0, 1.0))
    np.testing.assert_allclose(own[["lower", "upper"]].to_numpy()[0], [within.lower[0], within.upper[0]], rtol=1e-5)


def test_what_the_prior_has_shrunk_is_added_back():
    """A strong prior makes a difference of averaged predictions small; the estimate that comes with an interval is near the truth."""
    truth = 7.96  # Kaplan and Meier's of 60,000 subjects
    X, y = trial(400, seed=3, effect=-1.0)
    asked = {"column": "arm", "values": ("control", "treated"), "endpoint": "death", "measure": "restricted_mean", "until": 36.0}
    for l2 in (50.0, 200.0):
        model = hm.SurvivalHarmonium(2, trainer=hm.Exact(l2=l2, n_starts=1), random_state=0).fit(X, y)
        found, predicted = (model.contrast(X, **asked, interval=level).xs("difference", level="of").iloc[0] for level in (0.95, None))
        assert predicted["estimate"] < 0.65 * truth
        assert abs(found["estimate"] - truth) < 1.2
        assert found["lower"] < truth < found["upper"]


def test_what_is_added_back_leaves_the_average_of_arms_where_it_is(model, study):
    """It is known from the average over everybody, whatever effects are."""
    X, _ = study
    asked = {"column": "arm", "values": ("control", "treated"), "endpoint": "death", "times": [24.0]}
    found, predicted = (model.contrast(X, **asked, interval=level)["estimate"].to_numpy()[:2] for level in (0.95, None))
    assert abs(found[1] - found[0]) > abs(predicted[1] - predicted[0])
    np.testing.assert_allclose(found.mean(), predicted.mean(), rtol=1e-6)


def test_a_contrast_turned_round_changes_its_sign(model, study):
    X, _ = study
    there, back = (
        model.contrast(X, "arm", pair, endpoint="recurrence", measure="incidence", times=[12.0])
        for pair in (("control", "treated"), ("treated", "control"))
    )
    np.testing.assert_allclose(
        there.xs("difference", level="of").to_numpy(), -back.xs("difference", level="of")[["estimate", "upper", "lower"]]
    )
    np.testing.assert_allclose(there.xs("ratio", level="of").to_numpy(), 1.0 / back.xs("ratio", level="of")[["estimate", "upper", "lower"]])


def test_restricted_means_and_states_have_contrasts_too(model, study):
    X, _ = study
    mean = model.contrast(X, "arm", ("control", "treated"), endpoint="death", measure="restricted_mean", until=36.0)
    own = mean.xs("difference", level="of").iloc[0]
    assert own["lower"] < own["estimate"] < own["upper"]
    assert own["lower"] > 0.0  # treatment helps, and 250 subjects show it
    states = model.contrast(X, "arm", ("control", "treated"), measure="states", times=[24.0], interval=None)["estimate"]
    assert states.xs("arm = control", level="of").sum() == pytest.approx(1.0)
    assert states.xs("difference", level="of").sum() == pytest.approx(0.0, abs=1e-12)


def test_a_column_without_effect_has_a_contrast_around_zero():
    X, y = trial(300, seed=3, effect=0.0)
    model = hm.SurvivalHarmonium(2, trainer=hm.Exact(n_starts=2), random_state=0).fit(X, y)
    found = model.contrast(X, "arm", ("control", "treated"), endpoint="death", measure="restricted_mean", until=36.0)
    own = found.xs("difference", level="of").iloc[0]
    assert own["lower"] < 0.0 < own["upper"]
    wins = model.win_ratio(X, "arm", ("control", "treated"), until=36.0)
    assert wins.loc["win ratio", "lower"] < 1.0 < wins.loc["win ratio", "upper"]


def test_numbers_are_compared_as_well_as_levels(model, study):
    X, _ = study
    found = model.contrast(X, "age", (50.0, 70.0), endpoint="death", times=[24.0])
    assert found.xs("difference", level="of")["upper"].iloc[0] < 0.0
    along = model.partial_dependence(X, "age", endpoint="death", times=[24.0])["estimate"]
    assert (np.diff(along) < 0.0).all()
    levels = model.partial_dependence(X, "arm", endpoint="death", times=[24.0])
    assert list(levels.index.get_level_values("arm")) == ["control", "treated"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"column": "dose"}, "no column 'dose'"),
        ({"values": ("control", "placebo")}, "no level 'placebo'"),
        ({"values": ("control",)}, "two values"),
        ({"measure": "hazard"}, "measure must be one of"),
        ({"times": None}, "needs times"),
        ({"measure": "restricted_mean"}, "until"),
    ],
)
def test_what_cannot_be_compared_is_refused(model, study, arguments, message):
    asked = {"column": "arm", "values": ("control", "treated"), "times": [12.0]} | arguments
    with pytest.raises(ValueError, match=message):
        model.contrast(study[0], **asked)


# --- wins ---


def test_wins_of_the_model_are_those_of_its_own_draws(model, study):
    X, _ = study
    found = model.win_ratio(X, "arm", ("control", "treated"), until=36.0, interval=None)["estimate"]
    drawn = [model.draw_times(X.assign(arm=arm), n_draws=40, random_state=seed) for seed, arm in enumerate(("control", "treated"))]
    times = np.minimum(np.concatenate([own.reshape(-1, 2) for own in drawn]), 1e4)
    table = pd.DataFrame(
        {"r": np.minimum(times[:, 0], times[:, 1]), "re": times[:, 0] < times[:, 1], "d": times[:, 1], "de": times[:, 1] < 1e4}
    )
    y = hm.endpoints(table, recurrence=("r", "re"), death=("d", "de"), terminal="death")
    counted = count_wins(y, np.arange(len(y)) >= len(y) // 2, order=["death", "recurrence"], until=36.0)["share"]
    np.testing.assert_allclose(found.drop("win ratio"), counted.drop("win ratio"), atol=0.02)
    assert found["win ratio"] == pytest.approx(counted["win ratio"], rel=0.08)


def test_wins_without_censoring_agree_with_counting():
    X, y = trial(600, seed=5, censored=False)
    model = hm.SurvivalHarmonium(4, trainer=hm.Exact(n_starts=2), random_state=0).fit(X, y)
    found = model.win_ratio(X, "arm", ("control", "treated"), until=36.0, y=y, interval=0.99)
    inside = (found["lower"] <= found["observed"]) & (found["observed"] <= found["upper"])
    assert inside.drop("ties").all()
    assert found["observed"]["ties"] == pytest.approx(found["estimate"]["ties"], abs=0.01)


def test_censoring_biases_counts_and_not_the_model():
    """The truth is counted among many subjects without censoring."""
    _, whole = trial(4000, seed=6, censored=False)
    X_whole, _ = trial(4000, seed=6, censored=False)
    truth = count_wins(whole, X_whole["arm"] == "treated", order=["death", "recurrence"], until=36.0)["share"]["net benefit"]
    found = []
    for seed in range(10, 13):
        X, y = trial(800, seed=seed)
        model = hm.SurvivalHarmonium(4, trainer=hm.Exact(n_starts=2), random_state=0).fit(X, y)
        found.append(model.win_ratio(X, "arm", ("control", "treated"), until=36.0, y=y, interval=None))
    mean = sum(found) / len(found)
    assert mean.loc["net benefit", "estimate"] == pytest.approx(truth, abs=0.04)
    assert mean.loc["ties", "observed"] > 3.0 * mean.loc["ties", "estimate"]  # undecided pairs


def test_counting_goes_on_to_the_next_endpoint():
    table = pd.DataFrame({"r": [2.0, 4.0, 9.0], "re": [True, True, False], "d": [9.0, 9.0, 9.0], "de": [False, False, False]})
    y = hm.endpoints(table, recurrence=("r", "re"), death=("d", "de"), terminal="death")
    found = count_wins(y, [False, True, True], order=["death", "recurrence"])["share"]
    assert found["wins by recurrence"] == 1.0
    assert count_wins(y, [False, True, True], order=["death", "recurrence"], until=1.0)["share"]["ties"] == 1.0
    with pytest.raises(ValueError, match="both groups"):
        count_wins(y, [True, True, True], order=["death"])


def test_the_order_of_endpoints_must_make_sense(model, study):
    X, _ = study
    with pytest.raises(ValueError, match="terminal endpoint comes first"):
        model.win_ratio(X, "arm", ("control", "treated"), until=36.0, order=["recurrence", "death"])
    with pytest.raises(ValueError, match="one or two"):
        model.win_ratio(X, "arm", ("control", "treated"), until=36.0, order=["relapse"])
    with pytest.raises(ValueError, match="positive time"):
        model.win_ratio(X, "arm", ("control", "treated"), until=-1.0)


def test_endpoints_that_know_nothing_of_each_other_have_a_win_ratio():
    X, y = hm.datasets.load_nvalt8()
    model = hm.SurvivalHarmonium(1, trainer=hm.Exact(n_starts=1), random_state=0).fit(X, y)
    found = model.win_ratio(X[:40], "arm", ("CP/CG", "CP/CG+N"), until=36.0, order=["os", "rfs"])["estimate"]
    assert found[["wins", "losses", "ties"]].sum() == pytest.approx(1.0)
    assert found["wins by os"] + found["wins by rfs"] == pytest.approx(found["wins"])


def test_groups_of_counted_pairs_are_checked():
    y = hm.endpoints(pd.DataFrame({"t": [1.0, 2.0, 3.0], "e": [1, 1, 0]}), death=("t", "e"))
    for group, message in (
        ([0.0, np.nan, 1.0], "missing in row 1"),
        (["a", "b", "b"], "compare with one of them, such as == 'a'"),
        ([1, 1, 1], "group is 1 in all of them"),
    ):
        with pytest.raises(ValueError, match=message):
            count_wins(y, group, order=["death"])
    with pytest.raises(hm.errors.TableError, match="in another order than those of y"):
        count_wins(y, pd.Series([True, False, True], index=[2, 1, 0]), order=["death"])
    expected = count_wins(y, [False, True, True], order=["death"])
    pd.testing.assert_frame_equal(count_wins(y, [0, 1, 1], order=["death"]), expected)
