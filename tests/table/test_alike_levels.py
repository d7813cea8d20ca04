"""Levels with blanks around them, and levels that look alike."""

import warnings

import numpy as np
import pandas as pd
import pytest

import harmonium as hm
from harmonium.errors import LevelWarning
from harmonium.table.columns import infer_column
from harmonium.table.files.opening import open_table
from harmonium.table.odd_values import warn_of_alike_levels
from harmonium.table.training_values import TrainingValues

STAGES = ["I", "II ", "II", " III", "III", None]


def column(values, **more):
    return pd.Series(values, name="stage", **more)


def test_blanks_do_not_make_a_level_in_training_nor_later():
    own = infer_column(column(STAGES))
    assert own.levels == ("I", "II", "III")
    np.testing.assert_array_equal(own.encode(column(STAGES)), [0.0, 1.0, 1.0, 2.0, 2.0, np.nan])
    np.testing.assert_array_equal(own.encode(column(STAGES * 5))[:2], [0.0, 1.0])
    later = TrainingValues([own]).of(pd.DataFrame({"stage": STAGES}))
    assert later["stage"].tolist() == ["I", "II", "II", "III", "III", None]


def test_categories_that_were_declared_stay_as_they_are():
    own = infer_column(column(pd.Categorical(["a", "a ", "b"])))
    assert own.levels == ("a", "a ", "b")
    np.testing.assert_array_equal(own.encode(column(pd.Categorical(["a ", "a", "b"]))), [1.0, 0.0, 2.0])


def test_files_are_read_without_them(tmp_path):
    (tmp_path / "a.csv").write_text("stage,age\nII ,1\nII,2\n   ,3\n")
    assert open_table(tmp_path / "a.csv").read(["stage"])["stage"].tolist() == ["II", "II", None]


@pytest.mark.parametrize(
    ("values", "words"),
    [
        (["yes", "no", "Yes", "yes"], "holds 'Yes' in row 2, which looks like 'yes'"),
        (["II", "lI", "I", "II", "III", "II "], "holds 'lI' in row 1, which looks like 'II'"),
        (["TO", "T1", "T0", "T0", "TO", "T0"], r"holds 'TO' in row 0 \(also row 4\), which looks like 'T0'"),
    ],
)
def test_levels_that_look_alike_are_named_with_the_row(values, words):
    own = infer_column(column(values))
    with pytest.warns(LevelWarning, match=words):
        warn_of_alike_levels(column(values), own.levels)


def test_a_model_says_it_and_a_stated_role_ends_the_doubt():
    rng = np.random.default_rng(0)
    df = pd.DataFrame({"stage": rng.choice(["I", "II", "III"], 60), "t": rng.exponential(5.0, 60), "e": 1})
    df.loc[7, "stage"] = "lI"
    y = hm.endpoints(df, os=("t", "e"))
    model = hm.SurvivalHarmonium(n_hidden=1, n_covariate_units=0, trainer=hm.Exact(n_starts=1, max_iter=2))
    with pytest.warns(LevelWarning, match="'lI' in row 7"):
        model.fit(df[["stage"]], y)
    model.set_params(roles={"stage": "categorical"}).fit(df[["stage"]], y)


@pytest.mark.parametrize("values", [["I", "II", "III", "IV"], ["A", "B", "O", "AB"], ["no", "yes"], ["L", "R"]])
def test_ordinary_levels_raise_no_doubt(values):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_of_alike_levels(column(values), values)
