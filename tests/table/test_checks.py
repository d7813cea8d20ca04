"""Doubts about tables are said where every user meets them, by name, and at the user's own line."""

import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import harmonium as hm
from harmonium.table.checks import check_training_table
from harmonium.table.columns import Column
from harmonium.table.endpoints import Endpoints

QUICK = hm.SurvivalHarmonium(n_hidden=1, trainer=hm.Exact(n_starts=1, max_iter=2), random_state=0)


@pytest.fixture
def study():
    rng = np.random.default_rng(0)
    df = pd.DataFrame(
        {"age": rng.normal(60.0, 10.0, 40), "t": rng.exponential(10.0, 40), "e": rng.random(40) < 0.7, "r": rng.random(40) < 0.5}
    )
    return df[["age"]], hm.endpoints(df, os=("t", "e"), rfs=("t", "r"))


def heard(call):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call()
    return [warning for warning in caught if issubclass(warning.category, hm.errors.HarmoniumWarning)]


def test_an_ordinary_table_raises_no_doubt(study):
    assert not heard(lambda: QUICK.fit(*study))


@pytest.mark.parametrize(
    ("column", "kind", "words"),
    [
        ({"patient_id": np.arange(100, 140)[::-1]}, hm.errors.IdentifierWarning, "column 'patient_id' looks like an identifier"),
        ({"number": np.arange(40)}, hm.errors.IdentifierWarning, "column 'number' looks like an identifier"),
        ({"dose": ["?", "-", "<5", *(f"{k}.5" for k in range(17))] * 2}, hm.errors.TextWarning, "used as text because of '\\?' in row 0"),
        ({"dose": [f"{k},5" for k in range(20)] * 2}, hm.errors.TextWarning, "write decimal points, not commas"),
        ({"centre": ["A"] * 40}, hm.errors.IgnoredColumnWarning, "without information take no part in the model: 'centre'"),
    ],
)
def test_a_column_that_is_probably_none_is_named(study, column, kind, words):
    X, y = study
    with pytest.warns(kind, match=words):
        QUICK.fit(X.assign(**column), y)


def test_a_stray_word_is_named_beside_missing_text():
    column = Column("dose", "categorical", "object", ("x", "y", "z"))
    series = pd.Series([None, *map(str, range(20)), "x"], dtype="string", name="dose")
    with pytest.warns(hm.errors.TextWarning, match="used as text because of 'x' in row 21"):
        check_training_table(series.to_frame(), [column], {}, {}, Endpoints.nothing(("os",), len(series)))


def test_a_stated_role_ends_the_doubt(study):
    X, y = study
    model = hm.SurvivalHarmonium(1, roles={"number": "numeric"}, trainer=hm.Exact(n_starts=1, max_iter=2), random_state=0)
    assert not heard(lambda: model.fit(X.assign(number=np.arange(40)), y))


def test_times_among_the_covariates_are_named(study):
    X, y = study
    with pytest.warns(hm.errors.LeakageWarning, match="column 'follow_up' equals the observed time of endpoint 'os' in 40 of 40 rows"):
        QUICK.fit(X.assign(follow_up=y["os", "lower"]), y[["os"]])


def test_rows_in_another_order_are_refused_and_other_labels_doubted(study):
    X, y = study
    with pytest.raises(hm.errors.TableError, match=r"another order than those of X .*align them: y.loc\[X.index\]"):
        QUICK.fit(X, y.iloc[::-1])
    with pytest.raises(hm.errors.TableError, match="another order"):
        QUICK.fit(X, y).predict(X, given=y.iloc[::-1])
    with pytest.warns(hm.errors.IndexWarning, match="have different labels"):
        QUICK.fit(X, y.set_axis(range(100, 140)))
    assert not heard(lambda: QUICK.fit(X.iloc[::-1], y.iloc[::-1]))
    assert not heard(lambda: QUICK.predict(X.iloc[[7]], given=hm.landmark(y.iloc[[3]].reset_index(drop=True), 1.0)))


def test_times_beyond_follow_up_are_extrapolations(study):
    X, y = study
    model = QUICK.fit(X, y)
    last = y["os", "lower"].max()
    with pytest.warns(hm.errors.ExtrapolationWarning, match="lie beyond the last observed time of 'os' in training"):
        model.predict_survival_function(X, times=[1.0, last + 1.0, last + 2.0], return_array=True)
    assert not heard(lambda: model.prognosis(X).survival("os", [1.0, last]))
    assert not heard(lambda: model.prognosis(X).survival("os"))


def test_an_event_without_the_other_endpoints_is_doubted(study):
    X, y = study
    model = QUICK.fit(X, y)
    with pytest.warns(hm.errors.UnknownEndpointWarning, match="an event is given, and nothing about 'os'"):
        model.predict(X, given=y[["rfs"]])
    assert not heard(lambda: model.predict(X, given=hm.landmark(y, 3.0)))


def test_warnings_point_at_the_line_that_called(study):
    X, y = study
    caught = heard(lambda: QUICK.fit(X.assign(centre="A"), y))
    assert [Path(warning.filename).name for warning in caught] == ["test_checks.py"]
    model = QUICK.fit(X, y)
    caught = heard(lambda: model.predict_survival_function(X, times=[1e6], return_array=True))
    assert [Path(warning.filename).name for warning in caught] == ["test_checks.py"]


def test_problems_of_endpoints_are_reported_together():
    df = pd.DataFrame({"t": [1.0, -2.0], "e": [0, 3], "s": ["a", "b"]})
    with pytest.raises(hm.errors.TableError) as caught:
        hm.endpoints(df, os=("t", "e"), rfs=("months", "e"), pfs=("s", "e"))
    assert [problem.column for problem in caught.value.problems] == ["t", "e", "months", "s"]


def test_all_missing_columns_are_named_at_once(study):
    X, y = study
    model = QUICK.fit(X.assign(sex=[0, 1] * 20), y)
    with pytest.raises(hm.errors.TableError) as caught:
        model.predict(pd.DataFrame({"agee": [50.0]}))
    assert [problem.column for problem in caught.value.problems] == ["sex", "age"] or len(caught.value.problems) == 2
