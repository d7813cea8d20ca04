"""Covariates: roles, encodings, and tables that are refused."""

import datetime
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pytest

import harmonium as hm
from harmonium.table.columns import infer_column
from harmonium.table.frames import to_pandas
from tests.table.learning import NAN, column, encoding_of

# --- roles ---


@pytest.mark.parametrize(
    ("values", "dtype", "role", "levels"),
    [
        ([1.0, 2.0, 3.5], None, "numeric", ()),
        ([1, 2, 3], None, "numeric", ()),
        ([1, 2, None, 3], "Int64", "numeric", ()),
        ([1, 2, 3], "uint8", "numeric", ()),
        ([1, 2.5, None, 3], object, "numeric", ()),
        ([Decimal("1.5"), Decimal(2), Decimal(3)], object, "numeric", ()),
        ([True, 2.5, 3], object, "numeric", ()),
        ([True, False], None, "binary", (False, True)),
        ([True, None, False], "boolean", "binary", (False, True)),
        ([True, None, False], object, "binary", (False, True)),
        ([0, 1, 1], None, "binary", (0, 1)),
        ([0.0, 1.0, NAN], None, "binary", (0, 1)),
        ([2, 1, None], "Int64", "binary", (1, 2)),
        ([-3.5, 7.0, 7.0], None, "binary", (-3.5, 7.0)),
        ([Decimal(1), Decimal(0)], object, "binary", (0, 1)),
        (["no", "yes", None], None, "binary", ("no", "yes")),
        (["b", "c", "a", None], None, "categorical", ("a", "b", "c")),
        (["b", "c", "a", None], "string", "categorical", ("a", "b", "c")),
        (["b", "c", "a", None], "category", "categorical", ("a", "b", "c")),
        ([3, 1, 2], "category", "categorical", (1, 2, 3)),
    ],
)
def test_roles_are_inferred(values, dtype, role, levels):
    found = column(values, dtype)
    assert (found.role, found.levels) == (role, levels)
    assert [type(level) for level in found.levels] == [type(level) for level in levels]


def test_the_order_of_a_pandas_category_is_that_of_its_levels():
    stage = pd.Categorical(["III", "I", None, "II"], categories=["III", "II", "I", "0"], ordered=True)
    found = column(stage)
    assert found.levels == ("III", "II", "I")  # 0 never occurs, and there is nothing to learn of it
    assert found.encode(pd.Series(["I", "II", "III"])).tolist() == [2.0, 1.0, 0.0]


@pytest.mark.parametrize(
    ("values", "role", "levels"),
    [
        ([1, 2, 3], "categorical", (1, 2, 3)),
        ([0, 1, 1], "categorical", (0, 1)),
        ([0, 1, 1], "numeric", ()),
        ([True, False, True], "numeric", ()),
        (["1", "2.5", None], "numeric", ()),
        (pd.Categorical([1, 5, 1]), "numeric", ()),
        (["a", "b", "a"], "categorical", ("a", "b")),
        (["a", "b", "a"], "ignored", ()),
        (pd.to_datetime(["2020-01-01"] * 3), "ignored", ()),
        ([[1], [2], [3]], "ignored", ()),
    ],
)
def test_roles_can_be_given(values, role, levels):
    found = column(values, role=role)
    assert (found.role, found.levels) == (role, levels)


def test_numbers_become_scores_with_mean_0_and_deviation_1():
    codes = column([1.0, 2.0, NAN, 6.0]).encode(pd.Series([1.0, 2.0, NAN, 6.0]))
    assert np.nanmean(codes) == pytest.approx(0.0, abs=1e-15)
    assert np.nanstd(codes) == pytest.approx(1.0)
    assert np.isnan(codes[2])


@pytest.mark.parametrize("size", [1e-300, 1e-6, 1e9, 1e300])
def test_numbers_of_any_size_have_the_same_scores(size):
    values = size * np.array([1.0, 2.0, 6.0])
    assert column(values).encode(pd.Series(values)) == pytest.approx(column([1.0, 2.0, 6.0]).encode(pd.Series([1.0, 2.0, 6.0])))


def test_text_that_reads_as_numbers_is_numeric_on_request():
    assert column(["1", "2", "3"]).role == "categorical"
    assert column(["1", "2", "3"], role="numeric").mean == 2.0


@pytest.mark.parametrize(
    ("values", "dtype"), [([7.0, 7.0], None), (["7", None], None), ([None, None], None), ([NAN, NAN], None), ([None], "Int64")]
)
@pytest.mark.parametrize("role", [None, "numeric", "binary", "categorical"])
def test_a_column_without_information_is_ignored_whatever_its_role(values, dtype, role):
    assert column(values, dtype, role).role == "ignored"


def test_columns_without_information_are_named_in_a_warning():
    X = pd.DataFrame({"gaps": [None] * 3, "one": [1.0, 1.0, NAN], "age": [1.0, 2.0, 3.0], "id": ["a", "b", "c"]})
    with pytest.warns(UserWarning, match="columns without information take no part in the model: 'gaps', 'one'$"):
        encoding = encoding_of(X, {"one": "numeric", "id": "ignored"})
    assert [c.name for c in encoding.modelled] == ["age"]


# --- tables that are refused ---


@pytest.mark.parametrize(
    ("values", "role", "message"),
    [
        ([1.0, NAN, np.inf], None, "column 'x' must hold finite numbers; found inf in row 2"),
        ([0.0, -np.inf], None, "column 'x' must hold finite numbers; found -inf in row 1"),
        ([0.0, -np.inf], "categorical", "column 'x' must hold finite numbers; found -inf in row 1"),
        ([1.0, None, "old", "young"], None, "column 'x' mixes numbers and text; found 'old' in row 2"),
        (["old", 1, 2], None, "column 'x' mixes numbers and text; found 'old' in row 0"),
        (["1", None, "old"], "numeric", "column 'x' must hold numbers; found 'old' in row 2"),
        (["a", "b", "c"], "binary", r"column 'x' cannot be binary: it has 3 levels, \['a', 'b', 'c'\] among them"),
        ([1, 2, 3], "binary", "column 'x' cannot be binary"),
        (pd.to_datetime(["2020-01-01", "2021-01-01"]), None, r"column 'x' holds dates \(2020-01-01\), which are no covariates"),
        (pd.to_datetime(["2020-01-01", "2021-01-01"]), "numeric", r"column 'x' holds dates \(2020-01-01\)"),
        (pd.to_timedelta([1, 2], unit="D"), None, "column 'x' has the type timedelta64"),
        ([None, datetime.date(2020, 1, 1)], None, r"column 'x' holds dates \(2020-01-01\)"),
        ([[1], [2]], None, r"column 'x' must hold numbers, text or booleans; found \[1\] in row 0"),
        ([1j, 2j], None, "column 'x' has the type complex128"),
        (pd.cut([1.0, 2.0, 3.0], 3), None, "column 'x' has levels such as Interval.*rename_categories"),
        (
            [f"patient {i}" for i in range(21)],
            None,
            "column 'x' has 21 levels in 21 rows and looks like an identifier; drop it, or state its role",
        ),
        ([1, 2, 3], "number", "the role of column 'x' must be one of numeric, binary, categorical, ignored; found 'number'"),
    ],
)
def test_what_cannot_be_modelled_is_refused(values, role, message):
    with pytest.raises(ValueError, match=message):
        column(values, role=role)


def test_an_identifier_can_be_kept_by_stating_its_role():
    assert len(column([f"centre {i}" for i in range(30)], role="categorical").levels) == 30
    assert column([f"centre {i % 25}" for i in range(100)]).role == "categorical"


@pytest.mark.parametrize("polars", [False, True])
def test_bad_values_at_prediction_are_refused_with_column_and_row(polars):
    encoding = encoding_of(pd.DataFrame({"age": [1.0, 2.0, 3.0]}))
    make = pl.DataFrame if polars else pd.DataFrame
    for values, message in [
        (["50", None, "old"], "column 'age' must hold numbers; found 'old' in row 2"),
        ([1.0, np.inf], "column 'age' must hold finite numbers; found inf in row 1"),
    ]:
        with pytest.raises(ValueError, match=message):
            encoding.covariates(make({"age": values}))
    with pytest.raises(ValueError, match="column 'age' must hold numbers"):
        encoding.covariates(make({"age": [datetime.datetime(2020, 1, 1)]}))


def test_text_that_reads_as_a_number_is_one_at_prediction():
    encoding = encoding_of(pd.DataFrame({"age": [1.0, 2.0, 3.0]}))
    assert encoding.covariates(pd.DataFrame({"age": ["2", None]}))[0, 0] == 0.0


def test_duplicated_column_names_are_refused():
    with pytest.raises(ValueError, match="column names must be unique; found 'a' more than once"):
        encoding_of(pd.DataFrame([[1, 2, 3]], columns=["a", "b", "a"]))


def test_a_missing_column_at_prediction_is_named():
    encoding = encoding_of(pd.DataFrame({"age": [1.0, 2.0, 3.0], "stage": ["I", "II", "III"]}))
    with pytest.raises(ValueError, match="column 'stage' is missing; did you mean 'Stage'"):
        encoding.covariates(pd.DataFrame({"age": [1.0], "Stage": ["I"]}))


def test_an_ignored_column_need_not_be_there_at_prediction():
    with pytest.warns(UserWarning, match="'one'"):
        encoding = encoding_of(pd.DataFrame({"age": [1.0, 2.0, 3.0], "one": 1}))
    assert encoding.covariates(pd.DataFrame({"age": [2.0]})).tolist() == [[0.0]]


def test_a_role_of_a_column_that_is_not_there_is_refused():
    with pytest.raises(ValueError, match="column 'agee' is missing; did you mean 'age'"):
        encoding_of(pd.DataFrame({"age": [1.0, 2.0, 3.0]}), {"agee": "numeric"})


def test_a_table_without_rows_cannot_be_learned_from():
    with pytest.raises(ValueError, match="the table has no rows"):
        encoding_of(pd.DataFrame({"age": []}))


@pytest.mark.parametrize("table", [np.zeros(3), 3.0, [1, 2], np.zeros((2, 2, 2)), pd.Series([1.0]), {"a": [1]}])
def test_what_is_no_table_is_refused(table):
    with pytest.raises(ValueError, match="a table must be a DataFrame or have two dimensions, rows and columns; found"):
        to_pandas(table)


def test_a_table_that_is_still_to_be_computed_is_refused_with_advice():
    with pytest.raises(ValueError, match=r"a LazyFrame holds no rows yet; call .collect\(\) first"):
        to_pandas(pl.DataFrame({"a": [1]}).lazy())


@pytest.mark.parametrize("table", [pd.DataFrame({"visits": [[1, 2], [3]] * 10}), pl.DataFrame({"visits": [[1, 2], [3, 4]] * 10})])
def test_columns_of_lists_are_refused_with_column_and_row(table):
    with pytest.raises(hm.errors.TableError, match=r"column 'visits' must hold numbers, text or booleans; found \[1, 2\] in row 0"):
        encoding_of(table)
    learned = infer_column(pd.Series(["a", "b", "c"], name="visits"))
    for n in (2, 20):
        with pytest.raises(hm.errors.TableError, match=r"column 'visits' must hold numbers, text or booleans; found \[1, 2\] in row 0"):
            learned.encode(to_pandas(table)["visits"].iloc[:n])


def test_all_problems_of_a_table_are_reported_together():
    X = pd.DataFrame({"age": [1.0, np.inf, 3.0], "seen": pd.date_range("2020", periods=3), "mixed": [1, "a", 2.5], "sex": [0, 1, 0]})
    with pytest.raises(hm.errors.TableError) as caught:
        encoding_of(X)
    assert [problem.column for problem in caught.value.problems] == ["age", "seen", "mixed"]
    assert [problem.row for problem in caught.value.problems] == [1, None, 1]
    assert len(str(caught.value).splitlines()) == 3
