"""Covariates: roles, encodings, and tables that are refused."""

import datetime
import json
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pandas.testing import assert_frame_equal, assert_series_equal

import harmonium as hm
from harmonium.table.columns import Column, infer_column
from harmonium.table.encoding import Encoding
from harmonium.table.endpoints import Endpoints
from harmonium.table.frames import to_pandas

NAN = np.nan


def column(values, dtype=None, role=None, name="x"):
    return infer_column(pd.Series(values, dtype=dtype, name=name), role)


def encoding_of(X, roles=None):
    n = len(X)
    time = np.arange(1.0, n + 1.0)[:, None]
    return Encoding.learn(X, Endpoints(("os",), time, time, np.zeros((n, 1))), roles, "linear", None)[0]


def stored_and_read(value):
    stored = json.loads(json.dumps(value.to_dict()))
    if isinstance(value, Encoding):
        return Encoding.from_dict(stored, [endpoint.event_times for endpoint in value.endpoints])
    return type(value).from_dict(stored)


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
        ([0.0, 1.0, NAN], None, "binary", (0.0, 1.0)),
        ([2, 1, None], "Int64", "binary", (1, 2)),
        ([-3.5, 7.0, 7.0], None, "binary", (-3.5, 7.0)),
        ([Decimal(1), Decimal(0)], object, "binary", (0.0, 1.0)),
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


def test_numbers_are_standardised():
    codes = column([1.0, 2.0, NAN, 6.0]).encode(pd.Series([1.0, 2.0, NAN, 6.0]))
    assert np.nanmean(codes) == pytest.approx(0.0, abs=1e-15)
    assert np.nanstd(codes) == pytest.approx(1.0)
    assert np.isnan(codes[2])


@pytest.mark.parametrize("size", [1e-300, 1e-6, 1e9, 1e300])
def test_numbers_of_any_size_are_standardised(size):
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
        (pd.to_datetime(["2020-01-01", "2021-01-01"]), None, "column 'x' has the type datetime64.*turn it into numbers or categories"),
        (pd.to_datetime(["2020-01-01", "2021-01-01"]), "numeric", "column 'x' has the type datetime64"),
        (pd.to_timedelta([1, 2], unit="D"), None, "column 'x' has the type timedelta64"),
        ([None, datetime.date(2020, 1, 1)], None, "column 'x' must hold numbers, text or booleans; found .*2020.* in row 1"),
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


def test_covariates_are_ordered_by_unit():
    X = pd.DataFrame(
        {"age": [1.0, 2.0, 3.0, 4.0], "stage": ["I", "II", "III", "I"], "sex": [0, 1, 0, 1], "arm": list("abcd"), "grade": list("xyzx")}
    )
    assert [c.name for c in encoding_of(X).modelled] == ["sex", "stage", "grade", "arm", "age"]
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
    with pytest.raises(ValueError, match=r"column 'day' must hold numbers, text or booleans; found .*2020"):
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
    assert_series_equal(known.decode(np.array([-9.0, 0.001, 9.0])), pd.Series([0, 86, 255], dtype="uint8", name="x"))


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
    np.testing.assert_allclose(decoded, series, rtol=1e-12, atol=1e-12 * (abs(known.mean) + known.scale))


@given(st.lists(st.one_of(st.none(), st.text(max_size=3)), min_size=2, max_size=15))
def test_any_text_survives_the_round_trip(values):
    series = pd.Series(values, dtype=object, name="x")
    known = stored_and_read(infer_column(series))
    if known.role != "ignored":
        assert_series_equal(known.decode(known.encode(series)), series)


def test_a_column_knows_its_unit():
    assert Column("x", "numeric", "float64").unit.name == "gaussian"
    assert Column("x", "binary", "bool", (False, True)).unit.name == "bernoulli"
    assert Column("x", "categorical", "object", ("a", "b", "c")).unit.n_statistics == 3
