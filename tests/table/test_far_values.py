"""Numbers far from all that training has seen."""

import warnings

import numpy as np
import pandas as pd
import pytest

import harmonium as hm
from harmonium.errors import RangeWarning
from harmonium.table.columns import infer_column
from harmonium.table.training_values import TrainingValues


@pytest.fixture(scope="module")
def ages():
    return pd.Series(np.arange(44.0, 93.0), name="age")


@pytest.mark.parametrize("n", [1, 20])
def test_they_give_one_warning_with_row_and_range(ages, n):
    later = pd.Series([*[60.0] * n, 250.0, np.nan, -40.0], name="age")
    with pytest.warns(RangeWarning) as caught:
        infer_column(ages).encode(later)
    assert [str(warning.message) for warning in caught] == [
        f"column 'age' holds 250 in row {n} (also row {n + 2}), far from what was seen in training, 44 to 92; "
        "is it a slip, or another unit?"
    ]


def test_what_is_near_is_answered_without_a_word(ages):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        infer_column(ages).encode(pd.Series([-4.0, 140.0, np.nan], name="age"))


def test_rows_are_counted_through_the_parts_of_a_file(ages):
    covariates = TrainingValues([infer_column(ages)])
    for part in ([60.0, 61.0], [62.0, 250.0, 251.0]):
        covariates.of(pd.DataFrame({"age": part}))
    assert covariates.unseen == [
        "column 'age' holds 250 in row 3 (also row 4), far from what was seen in training, 44 to 92; is it a slip, or another unit?"
    ]


def test_a_prognosis_says_it(ages):
    rng = np.random.default_rng(0)
    df = pd.DataFrame({"age": ages, "t": rng.exponential(5.0, len(ages)), "e": 1})
    model = hm.SurvivalHarmonium(n_hidden=1, n_covariate_units=0, trainer=hm.Exact(n_starts=1, max_iter=2))
    model.fit(df[["age"]], hm.endpoints(df, os=("t", "e")))
    for ask in (model.predict, model.prognosis, model.predict_median):
        with pytest.warns(RangeWarning, match="'age' holds 250 in row 1"):
            ask(pd.DataFrame({"age": [50, 250]}))
