"""Covariates to numbers and back."""

import datetime
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pandas.testing import assert_frame_equal, assert_series_equal

from harmonium.table.columns import Column, infer_column
from tests.table.learning import NAN, column, encoding_of, stored_and_read

# --- encoding ---


@pytest.mark.parametrize(
    ("training", "new", "codes"),
    [
        ([True, False], [1, 0.0], [1, 0]),
        ([0, 1], [True, False], [1, 0]),
        ([0, 1], [1.0, NAN], [1, NAN]),
        ([0, 1], pd.array([1, None], dtype="Int64"), [1, NAN]),
        ([0, 1], pd.array([True, None], dtype="boolean"), [1, NAN]),
        ([1, 2], pd.Categorical([2, 1]), [1, 0]),
        ([1, 2], np.array([2, None, 1.0], dtype=object), [1, NAN, 0]),
        ([Decimal(0), Decimal(1)], [Decimal(1), Decimal(0)], [1, 0]),
        (["a", "b", "c"], pd.Categorical(["c", None, "a"]), [2, NAN, 0]),
        (["a", "b", "c"], pd.array(["c", None], dtype="string"), [2, NAN]),
        (pd.Categorical(["a", "b", "c"]), ["b", None], [1, NAN]),
    ],
)
def test_equal_values_of_any_type_have_the_same_code(training, new, codes):
    np.testing.assert_array_equal(column(training).encode(pd.Series(new)), codes)


@pytest.mark.parametrize(
    ("training", "new", "shown"),
    [
        (["a", "b", "c"], ["a", "d", "d"], r"'d' \(row 1 and 1 more rows\)"),
        ([0, 1], ["1", 0, 0], r"'1' \(row 0\)"),
        (["0", "1"], ["1", 1, None], r"1 \(row 1\)"),
        ([0, 1], [0, 2, 1], r"2 \(row 1\)"),
        (pd.Categorical(["a", "b"], categories=["a", "b", "c"]), pd.Categorical(["a", "c"], categories=["a", "b", "c"]), r"'c' \(row 1\)"),
    ],
)
def test_an_unseen_level_is_missing_with_a_warning(training, new, shown):
    known = column(training)
    new = pd.Series(new)
    with pytest.warns(UserWarning, match=f"column 'x' holds .*{shown}, which was not seen in training; it is treated as missing"):
        codes = known.encode(new)
    expected = [np.nan if value is None or value not in known.levels else known.levels.index(value) for value in new]
    np.testing.assert_array_equal(codes, expected)


def test_extra_columns_and_the_order_of_columns_do_not_matter():
    X = pd.DataFrame({"age": [1.0, 2.0, 3.0], "sex": ["m", "f", "f"], "stage": ["I", "II", "III"]})
    encoding = encoding_of(X)
    shuffled = X[["stage", "age", "sex"]].assign(extra=object())
    np.testing.assert_array_equal(encoding.covariates(shuffled), encoding.covariates(X))


def test_covariates_are_ordered_by_unit_and_name():
    X = pd.DataFrame(
        {"age": [1.0, 2.0, 3.0, 4.0], "stage": ["I", "II", "III", "I"], "sex": [0, 1, 0, 1], "arm": list("abcd"), "grade": list("xyzx")}
    )
    assert [c.name for c in encoding_of(X).modelled] == ["sex", "grade", "stage", "arm", "age"]
    assert len(encoding_of(X).layout.blocks) == 5  # binary, two kinds of categories, numeric, endpoints


def test_pandas_polars_and_arrays_give_the_same():
    columns = {"age": [1.0, None, 3.0, 5.0], "n": [1, 2, None, 3], "sex": [True, None, False, True], "stage": ["I", None, "II", "III"]}
    table, other = pd.DataFrame(columns), pl.DataFrame(columns)
    array = np.array([list(row) for row in zip(*columns.values(), strict=True)], dtype=object)
    first, second, third = encoding_of(table), encoding_of(other), encoding_of(array)
    np.testing.assert_array_equal(first.covariates(table), second.covariates(other))
    np.testing.assert_array_equal(first.covariates(other), second.covariates(table))
    np.testing.assert_array_equal(first.covariates(table), third.covariates(array))
    assert [c.name for c in third.columns] == ["x0", "x1", "x2", "x3"]


def test_polars_categories_and_dates():
    values = pl.DataFrame(
        {"c": pl.Series(["b", "a", None, "c"], dtype=pl.Categorical), "d": pl.Series([Decimal("1.5"), None, Decimal(2), Decimal(3)])}
    )
    assert [c.role for c in encoding_of(values).columns] == ["categorical", "numeric"]
    with pytest.raises(ValueError, match=r"column 'day' holds dates \(2020-01-01\)"):
        encoding_of(pl.DataFrame({"day": [datetime.date(2020, 1, 1)]}))


def test_arrays_of_numbers_and_nested_lists_are_tables():
    rows = [[1.0, "a", True], [2.0, "b", False], [4.0, "c", True]]
    assert [c.role for c in encoding_of(rows).columns] == ["numeric", "categorical", "binary"]
    assert [c.role for c in encoding_of(np.arange(12.0).reshape(4, 3)).columns] == ["numeric"] * 3
    assert [c.role for c in encoding_of(np.array([[True], [False]])).columns] == ["binary"]


def test_one_row_can_be_encoded_but_teaches_nothing():
    X = pd.DataFrame({"age": [1.0, 2.0, 3.0], "sex": ["m", "f", "f"]})
    assert encoding_of(X).covariates(X[:1]).shape == (1, 2)
    assert encoding_of(X).covariates(X[:0]).shape == (0, 2)
    with pytest.warns(UserWarning, match="'age', 'sex'"):
        assert encoding_of(X[:1]).modelled == ()


def test_a_table_without_columns_has_endpoints_only():
    encoding = encoding_of(pd.DataFrame(index=range(3)))
    assert encoding.covariates(pd.DataFrame(index=range(2))).shape == (2, 0)
    assert encoding.layout.n_columns == 1


# --- there and back ---

TABLE = pd.DataFrame(
    {
        "float": [1.5, NAN, 3.0, -4.0],
        "float32": np.array([1.1, 2.2, np.nan, 4.4], dtype=np.float32),
        "Float64": pd.array([1.5, None, 3.0, 4.0], dtype="Float64"),
        "int": [50, 60, 71, 80],
        "uint8": np.array([0, 3, 200, 255], dtype=np.uint8),
        "Int64": pd.array([1, None, 3, 4], dtype="Int64"),
        "bool": [True, False, True, True],
        "boolean": pd.array([True, None, False, True], dtype="boolean"),
        "zero_one": [0, 1, 1, 0],
        "zero_one_gaps": [0.0, 1.0, NAN, 0.0],
        "zero_one_nullable": pd.array([0, 1, None, 1], dtype="Int8"),
        "text": ["a", "b", None, "c"],
        "two": ["no", "yes", None, "no"],
        "string": pd.array(["a", None, "b", "c"], dtype="string"),
        "category": pd.Categorical(["b", "a", None, "c"], categories=["c", "a", "b", "never"]),
        "ordered": pd.Categorical(["II", "I", None, "III"], categories=["I", "II", "III"], ordered=True),
        "grade": pd.Categorical([3, 1, None, 2]),
        "same": ["x"] * 4,
        "same_number": [5] * 4,
        "same_category": pd.Categorical(["x"] * 4, categories=["x", "y"]),
        "nothing": [NAN] * 4,
        7: [1, 2, 4, 8],
    },
    index=[3, 1, 4, 15],
)


def encoded_table():
    with pytest.warns(UserWarning, match="'same', 'same_number', 'same_category', 'nothing'"):
        return encoding_of(TABLE)


@pytest.mark.parametrize("reload", [False, True])
def test_encoding_and_decoding_reproduce_values_and_types(reload):
    encoding = encoded_table()
    if reload:
        encoding = stored_and_read(encoding)
    assert_frame_equal(encoding.decode_covariates(encoding.covariates(TABLE), TABLE.index), TABLE)


def test_an_encoding_is_the_same_after_storage_in_json():
    encoding = encoded_table()
    again = stored_and_read(encoding)
    assert again == encoding
    for old, new in zip(encoding.columns, again.columns, strict=True):
        assert type(old.name) is type(new.name)
        assert [type(level) for level in old.levels] == [type(level) for level in new.levels]


@pytest.mark.parametrize(
    ("values", "dtype", "given_back"),
    [
        ([1, 2, 3], object, "int64"),
        ([1.5, 2, 3], object, "float64"),
        ([True, False], object, "bool"),
        ([Decimal("1.5"), Decimal(2), Decimal(3)], object, "float64"),
        ([1, 2, 3], pd.SparseDtype(int), "Int64"),
    ],
)
def test_objects_that_are_numbers_come_back_as_numbers(values, dtype, given_back):
    known = column(values, dtype)
    decoded = known.decode(known.encode(pd.Series(values, dtype=dtype)))
    assert str(decoded.dtype) == given_back
    assert decoded.tolist() == [float(value) if isinstance(value, Decimal) else value for value in values]


@pytest.mark.parametrize(
    ("values", "given_back"), [([1, 2, 3], "Int64"), ([0, 1, 1], "Int64"), ([True, False], "boolean"), ([1.5, 2, 3], "float64")]
)
def test_gaps_that_were_not_there_in_training_can_be_given_back(values, given_back):
    decoded = column(values).decode(np.array([NAN, 0.0]))
    assert str(decoded.dtype) == given_back
    assert decoded.isna().tolist() == [True, False]


def test_whole_numbers_are_rounded_and_stay_within_their_type():
    known = column(np.array([0, 3, 255], dtype=np.uint8))
    assert_series_equal(known.decode(np.array([-9.0, 0.5, 9.0])), pd.Series([0, 51, 255], dtype="uint8", name="x"))


def test_a_column_that_the_user_ignores_comes_back_empty():
    encoding = encoding_of(pd.DataFrame({"age": [1.0, 2.0, 3.0], "id": ["a", "b", "c"]}), {"id": "ignored"})
    assert encoding.decode_covariates(np.zeros((2, 1)))["id"].isna().all()


@given(st.lists(st.one_of(st.none(), st.floats(-1e12, 1e12)), min_size=3, max_size=30))
def test_any_numbers_survive_the_round_trip(values):
    series = pd.Series(values, dtype=float, name="x")
    known = infer_column(series)
    if known.role == "ignored":
        return
    decoded = known.decode(known.encode(series))
    np.testing.assert_allclose(decoded, series, rtol=1e-12, atol=1e-12 * (abs(known.mean) + known.deviation))


@given(st.lists(st.one_of(st.none(), st.text(max_size=3)), min_size=2, max_size=15))
def test_any_text_survives_the_round_trip_but_for_blanks_around_it(values):
    series = pd.Series(values, dtype=object, name="x")
    known = stored_and_read(infer_column(series))
    if known.role != "ignored":
        assert_series_equal(known.decode(known.encode(series)), series.map(str.strip, na_action="ignore").astype(object))


def test_a_column_knows_its_unit():
    assert Column("x", "numeric", "float64").unit.name == "gaussian"
    assert Column("x", "binary", "bool", (False, True)).unit.name == "bernoulli"
    assert Column("x", "categorical", "object", ("a", "b", "c")).unit.n_statistics == 3
