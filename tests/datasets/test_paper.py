"""The studies as the paper's appendix encodes them."""

import numpy as np
import pandas as pd
import pytest
from sklearn.feature_selection import VarianceThreshold

import harmonium as hm
from harmonium.datasets.paper import RECIPES
from harmonium.table.encoding import Encoding
from harmonium.table.endpoints import parse_endpoints

ARREST = ["fin", "age", "race", "wexp", "mar", "paro", *(f"prio_{n}" for n in ("0", "1", "2", "3", "4", "5", ">5"))]
DEMOCRACY = [
    *(f"un_continent_name_{name}" for name in ("Africa", "Americas", "Asia", "Europe", "Oceania")),
    *(f"regime_{name}" for name in ("Civilian Dict", "Military Dict", "Mixed Dem", "Monarchy", "Parliamentary Dem", "Presidential Dem")),
]
GBSG2 = ["horTh_yes", "age", "menostat_Pre", "tsize", "tgrade_I", "tgrade_II", "tgrade_III", "pnodes", "progrec", "estrec"]
NCCTG = [
    *("age", "sex_2", "ph.ecog_0", "ph.ecog_1", "ph.ecog_2"),
    *(f"{who}.karno_{score}" for who in ("ph", "pat") for score in (60, 70, 80, 90, 100)),
]
NVALT8 = [
    *("arm_CP/CG+N", "T-stage_T1", "T-stage_T2", "T-stage_T3", "N-stage_N0", "N-stage_N1", "N-stage_N2"),
    *("performance_status_WHO0", "performance_status_WHO1"),
    *(f"histology_{name}" for name in ("Adenocarcinoma", "Large cell carcinoma", "Squamous cell carcinoma", "other")),
    *("age", "smoker_current", "smoker_former", "bmi", "stage_IIIa", "stage_IIa", "stage_IIb", "stage_Ib", "FDG-PET SUVmax>=10"),
]
NVALT11 = [
    *("performance_status_WHO0", "performance_status_WHO1", "performance_status_WHO2"),
    *("smoker_current", "smoker_former", "smoker_never", "age", "gender_female", "arm"),
    *("prior_malign", "prior_conditions", "squamous", "stage_IIIB", "bmi"),
]

COLUMNS = {  # of the harmonium, and those that other models do not get
    "arrest": (ARREST, []),
    "democracy": (DEMOCRACY, []),
    "gbsg2": (GBSG2, []),
    "ncctg": (NCCTG, []),
    "nvalt8": (NVALT8, ["bmi", "FDG-PET SUVmax>=10"]),
    "nvalt11": (NVALT11, ["prior_malign", "prior_conditions", "squamous", "stage_IIIB", "bmi"]),
}

NUMERIC = {
    "arrest": ["age"],
    "democracy": [],
    "gbsg2": ["age", "tsize", "pnodes", "progrec", "estrec"],
    "ncctg": ["age"],
    "nvalt8": ["age", "bmi"],
    "nvalt11": ["age", "bmi"],
}


@pytest.fixture(params=COLUMNS)
def name(request):
    return request.param


def test_every_study_has_a_recipe():
    assert list(RECIPES) == list(hm.datasets.STUDIES) == list(COLUMNS)


def test_a_study_has_the_columns_of_the_appendix(name):
    columns, incomplete = COLUMNS[name]
    assert hm.datasets.load_paper_study(name)[0].columns.tolist() == columns
    complete, _ = hm.datasets.load_paper_study(name, complete=True)
    assert complete.columns.tolist() == [column for column in columns if column not in incomplete]


@pytest.mark.parametrize("complete", [False, True])
def test_rows_and_endpoints_are_those_of_the_study(name, complete):
    X, y = hm.datasets.load_paper_study(name, complete=complete)
    plain, endpoints = hm.datasets.load_study(name)
    assert X.index.equals(plain.index)
    pd.testing.assert_frame_equal(y, endpoints)


def test_every_column_is_a_number_and_all_but_the_numeric_ones_are_on_or_off(name):
    X, _ = hm.datasets.load_paper_study(name)
    assert set(X.dtypes) == {np.dtype(float)}
    on_or_off = [column for column in X if set(X[column].dropna()) == {0.0, 1.0}]
    assert [column for column in X if column not in on_or_off] == NUMERIC[name]


def test_numeric_columns_are_as_they_were(name):
    X, _ = hm.datasets.load_paper_study(name)
    plain, _ = hm.datasets.load_study(name)
    pd.testing.assert_frame_equal(X[NUMERIC[name]], plain[NUMERIC[name]].astype(float))


def test_complete_columns_have_no_missing_values_and_the_same_known_values(name):
    X, _ = hm.datasets.load_paper_study(name)
    complete, _ = hm.datasets.load_paper_study(name, complete=True)
    assert complete.notna().all(axis=None)
    pd.testing.assert_frame_equal(complete, X[complete.columns].fillna(0.0))


def test_a_missing_category_has_missing_dummies_and_no_other_value_is_missing(name):
    X, _ = hm.datasets.load_paper_study(name)
    plain, _ = hm.datasets.load_study(name)
    for column in X:
        source = column if column in plain else column.rsplit("_", 1)[0]
        assert X[column].isna().equals(plain[source].isna()), column


@pytest.mark.parametrize("name", [name for name, recipe in RECIPES.items() if not recipe.drops_low_variance])
def test_where_no_level_is_dropped_exactly_one_dummy_of_each_category_is_on(name):
    X, _ = hm.datasets.load_paper_study(name)
    plain, _ = hm.datasets.load_study(name)
    for category in RECIPES[name].categories:
        dummies = X.filter(regex=f"^{category}_")
        if dummies.shape[1] > 1:
            on = dummies.sum(axis=1, skipna=False)
            assert set(on[plain[category].notna()]) == {1.0}


def test_a_category_of_two_levels_is_one_dummy_of_the_second():
    X, _ = hm.datasets.load_paper_study("gbsg2")
    plain, _ = hm.datasets.load_gbsg2()
    assert (X["horTh_yes"] == (plain["horTh"] == "yes")).all()
    assert (X["menostat_Pre"] == (plain["menostat"] == "Pre")).all()


def test_more_than_five_prior_convictions_are_one_level():
    X, _ = hm.datasets.load_paper_study("arrest")
    prio = hm.datasets.load_arrest()[0]["prio"]
    assert prio.max() > 6
    assert (X["prio_>5"] == (prio > 5)).all()
    assert (X["prio_5"] == (prio == 5)).all()


@pytest.mark.parametrize("complete", [False, True])
@pytest.mark.parametrize("name", ["ncctg", "nvalt8"])
def test_no_column_is_on_or_off_in_more_than_95_percent(name, complete):
    X, _ = hm.datasets.load_paper_study(name, complete=complete)
    for column in X:
        assert X[column].value_counts(normalize=True).max() <= 0.95, column


@pytest.mark.parametrize("name", ["ncctg", "nvalt8"])
def test_the_95_percent_rule_agrees_with_a_threshold_on_the_variance(name):
    """A binary column with a fraction p of ones has the variance p (1 - p); dummies are those of pandas."""
    plain, _ = hm.datasets.load_study(name)
    categories = list(RECIPES[name].categories)
    dummies = pd.get_dummies(plain[categories], columns=categories, dtype=float).rename(columns=lambda label: label.removesuffix(".0"))
    varying = dummies.loc[:, VarianceThreshold(0.95 * 0.05).fit(dummies).get_support()]
    ours = hm.datasets.load_paper_study(name, complete=True)[0].drop(columns="age")
    assert set(varying) - set(ours) == {"ncctg": {"sex_1"}, "nvalt8": {"arm_CP/CG"}}[name]  # first of two levels
    pd.testing.assert_frame_equal(ours, varying[ours.columns])


@pytest.mark.parametrize(("name", "rare"), [("nvalt11", "smoker_never"), ("democracy", "regime_Monarchy")])
def test_where_the_appendix_does_not_state_it_the_rule_does_not_apply(name, rare):
    assert hm.datasets.load_paper_study(name)[0][rare].mean() < 0.05


def test_all_columns_are_modelled_as_numbers_or_bernoullis(name):
    X, y = hm.datasets.load_paper_study(name)
    encoding, _ = Encoding.learn(X, parse_endpoints(y), None, "kaplan-meier", None)
    roles = {column.name: column.role for column in encoding.modelled}
    assert roles == {column: "numeric" if column in NUMERIC[name] else "binary" for column in X}


def test_the_same_name_gives_the_same_table(name):
    (first, y), (again, y_again) = (hm.datasets.load_paper_study(name) for _ in range(2))
    pd.testing.assert_frame_equal(first, again)
    pd.testing.assert_frame_equal(y, y_again)


def test_an_unknown_name_is_refused():
    with pytest.raises(ValueError, match="there is no study 'rossi'; there are 'arrest', 'democracy'"):
        hm.datasets.load_paper_study("rossi")
