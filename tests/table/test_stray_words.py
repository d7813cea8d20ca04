"""Words in a column of numbers."""

import pandas as pd
import pytest

from harmonium.errors import TableError
from harmonium.table.columns import infer_column
from harmonium.table.files.opening import open_table

AGES = [str(40 + k) for k in range(20)]


def column(values):
    return pd.Series(values, name="age", dtype=object)


@pytest.mark.parametrize(
    ("values", "fragment"),
    [
        ([*AGES, "unknown", *AGES, "unknown"], "and 'unknown' in row 20 (also row 41) among them; write a number"),
        ([*AGES, "<50", *AGES, "?"], "and '<50' in row 20 and '?' in row 41 among them"),
        ([*AGES, "a", *AGES, "b", *AGES, *AGES, "c", "d"], "'a' in row 20, 'b' in row 41, 'c' in row 82 and 1 more among them"),
        ([*AGES, None, "47,5"], "and '47,5' in row 21 among them; write decimal points"),
        ([*(f"{age},5" for age in AGES), "<50"], "and '<50' in row 20 among them; write a number"),
    ],
)
def test_they_are_refused_with_their_rows(values, fragment):
    with pytest.raises(TableError) as error:
        infer_column(column(values))
    assert fragment in str(error.value)
    assert infer_column(column(values), "categorical").role == "categorical"


@pytest.mark.parametrize(
    "values",
    [
        ["0", "1", "2", "3", "4+"] * 10,
        [*AGES, "unknown", "none", "?", "lost"] * 3,  # too many to be strays
        ["I", "II", "III"],
        AGES[:10] * 3 + ["unknown"],  # as few numbers as a scale may have
    ],
)
def test_categories_stay_categories(values):
    assert infer_column(column(values)).role == "categorical"


def test_excel_and_csv_say_the_same(tmp_path):
    pytest.importorskip("openpyxl")
    said = []
    frame = pd.DataFrame({"age": [*range(40, 60), "unknown"], "dose": [1.5, 2, "high"] * 7})
    for name, write in (("a.csv", frame.to_csv), ("a.xlsx", frame.to_excel)):
        write(tmp_path / name, index=False)
        table = open_table(tmp_path / name).read(["age", "dose"])
        assert infer_column(table["dose"]).levels == ("1.5", "2", "high")
        with pytest.raises(TableError) as error:
            infer_column(table["age"])
        said.append(str(error.value))
    assert said[0] == said[1]
