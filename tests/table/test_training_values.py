"""Covariates of a file are brought to the values of training."""

import pandas as pd

from harmonium.table.columns import infer_column
from harmonium.table.training_values import TrainingValues


def test_levels_are_found_by_what_is_written_and_strangers_are_counted():
    trained = pd.DataFrame({"self": [0, 1, 1], "stage": ["1", "2", "x"], "age": [50.0, 60.5, 70.0]})
    values = TrainingValues([infer_column(trained[name]) for name in trained])
    read = pd.DataFrame({"self": ["1.0", "false", "?"], "stage": ["x", None, "1.0"], "age": [51.5, None, 53.0], "id": ["a", "b", "c"]})
    found = values.of(read)
    assert found["self"].tolist() == [1, 0, None]
    assert found["stage"].tolist() == ["x", None, None]
    pd.testing.assert_frame_equal(found[["age", "id"]], read[["age", "id"]])
    assert values.text == ["self", "stage"]
    read["self"] = ["!", "?", None]
    values.of(read)
    assert values.unseen == [
        "column 'self': 3 values not seen in training ('?', '!'), treated as missing",
        "column 'stage': 2 values not seen in training ('1.0'), treated as missing",
    ]
