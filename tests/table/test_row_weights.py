"""Weights that can be used, those that cannot, and what is said of them."""

import warnings

import numpy as np
import pandas as pd
import pytest

import harmonium as hm
from harmonium.errors import IndexWarning, TableError, WeightWarning
from harmonium.table.endpoints import Endpoints
from harmonium.table.labels import parse_groups
from harmonium.table.row_weights import RowWeights, parse_weights, words_of_weight


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1.0, -2.0, 1.0], "must not be negative; found -2.0 in row 1. Give a row the weight 0 to leave it out"),
        ([1.0, 1.0, np.nan], "must not be missing; found nan in row 2"),
        ([1.0, np.inf, 1.0], "must be finite; found inf in row 1. Cut weights"),
        ([0.0, 0.0, 0.0], "is zero in all of 3 rows"),
        ([1.0, 1.0], "a number for each of 3 rows; found 2"),
        ([[1.0, 1.0, 1.0]], r"found an object of shape \(1, 3\)"),
        (2.0, r"found an object of shape \(\)"),
        (["1", "heavy", "1"], "must hold numbers; found 'heavy' in row 1"),
    ],
)
def test_what_cannot_be_a_weight(weights, message):
    with pytest.raises(TableError, match=message):
        parse_weights(weights, 3)
    X = pd.DataFrame({"age": [1.0, 2.0, 3.0]})
    y = hm.endpoints(pd.DataFrame({"t": [1.0, 2.0, 3.0], "e": 1}), os=("t", "e"))
    with pytest.raises(TableError, match=message):
        hm.SurvivalHarmonium(1).fit(X, y, weights)
    with pytest.raises(TableError, match=message):
        hm.metrics.concordance_index(y, [1.0, 2.0, 3.0], sample_weight=weights)


def test_weights_in_another_order_than_the_table():
    weights = pd.Series([1.0, 2.0, 3.0], index=["c", "a", "b"])
    with pytest.raises(TableError, match="in another order than those of X"):
        parse_weights(weights, 3, pd.Index(["a", "b", "c"]))
    with pytest.warns(IndexWarning, match=r"the rows of X and sample_weight have different labels \(the first are 0 and 'c'\)"):
        np.testing.assert_array_equal(parse_weights(weights, 3, pd.RangeIndex(3)), [1.0, 2.0, 3.0])
    np.testing.assert_array_equal(parse_weights(weights, 3), [1.0, 2.0, 3.0], "rows of an array have no labels")


def test_rows_of_an_error_are_counted_without_those_of_weight_zero():
    X = pd.DataFrame({"age": [1.0, 2.0, np.inf, 4.0]})
    y = hm.endpoints(pd.DataFrame({"t": [1.0, 2.0, 3.0, 4.0], "e": 1}), os=("t", "e"))
    with pytest.raises(TableError, match=r"found inf in row 1 \(counted without the 1 rows of weight 0\)"):
        hm.SurvivalHarmonium(1).fit(X, y, [0.0, 1.0, 1.0, 1.0])


@pytest.mark.parametrize(("weights", "doubtful"), [(np.full(4, 0.01), True), (np.full(4, 33.3), True), (np.full(4, 50.0), False)])
def test_weights_that_are_no_numbers_of_subjects(weights, doubtful):
    X = pd.DataFrame({"age": [1.0, 2.0, 3.0, 5.0]})
    y = hm.endpoints(pd.DataFrame({"t": [1.0, 2.0, 3.0, 4.0], "e": 1}), os=("t", "e"))
    model = hm.SurvivalHarmonium(1, trainer=hm.Exact(n_starts=1, max_iter=2))
    if doubtful:
        with pytest.warns(WeightWarning, match="Divide them by their mean"):
            model.fit(X, y, weights)
    else:
        with warnings.catch_warnings():
            warnings.simplefilter("error", WeightWarning)
            model.fit(X, y, weights)


def test_the_smallest_row_is_found_where_times_do_not_tell_rows_apart():
    time = np.repeat([[1.0], [2.0]], 3, axis=0)
    y = Endpoints(("os",), time, time, np.zeros((6, 1)))
    X = pd.DataFrame({"stage": ["I", "I", "II", "I", "II", "II"]})
    assert RowWeights.of(None, X, y).smallest == 1.0
    assert RowWeights.of(None, X.assign(stage="I"), y).smallest == 3.0
    assert RowWeights.of(np.full(6, 0.5), X, y).smallest == 0.5
    assert RowWeights.of(None, X.assign(stage=[[1]] * 6), y).smallest == 3.0


def test_sums_of_weights_in_words():
    assert [words_of_weight(value) for value in (3, 3.0, 0.0, 1e-3, 12.34)] == [3, 3, 0, 0.1, 12.3]
    assert type(words_of_weight(np.float64(7.0))) is int


def test_groups():
    np.testing.assert_array_equal(parse_groups(pd.Series(["b", "a", "b"]), 3), [0, 1, 0])
    with pytest.raises(TableError, match="for each of 3 rows to which group it belongs; found 2"):
        parse_groups([1, 2], 3)
    hospitals = pd.Series(["north", "south", "north"], index=["c", "a", "b"])
    with pytest.raises(TableError, match=r"the rows of groups are in another order .* groups.loc\[X.index\]"):
        parse_groups(hospitals, 3, index=pd.Index(["a", "b", "c"]))
    with pytest.warns(IndexWarning, match="the rows of X and groups have different labels"):
        parse_groups(hospitals, 3, index=pd.RangeIndex(3))
    for missing in (["a", np.nan, "b"], ("a", None, "b"), np.array(["a", np.nan, "b"], dtype=object)):
        with pytest.raises(TableError, match="groups must not be missing; found none in row 1"):
            parse_groups(missing, 3)
