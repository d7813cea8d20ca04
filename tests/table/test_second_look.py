"""Everything that is wrong with endpoints is said at once."""

import pandas as pd
import pytest

import harmonium as hm
from harmonium.errors import TableError
from harmonium.table.endpoint_columns import EndpointReader


@pytest.fixture
def table():
    """Recurrences after death in two rows, a negative time and a status that is missing."""
    return pd.DataFrame(
        {
            "rec": [5.0, 30.0, 4.0, 31.0, 6.0, 7.0],
            "recurred": [1, 1, 0, 1, None, 0],
            "os": [9.0, 20.0, -1.0, 21.0, 8.0, 9.0],
            "dead": [1, 1, 0, 1, 0, 0],
        }
    )


EXPECTED = [
    "'recurred' must say for every time whether the event was seen; row 4 is missing",
    "'os' must not hold negative times; found -1 in row 2",
    "row 1: an event after 'death'",
]


def messages(error):
    return [problem.message for problem in error.value.problems]


def test_in_python(table):
    with pytest.raises(TableError) as error:
        hm.endpoints(table, recurrence=("rec", "recurred"), death=("os", "dead"), terminal="death")
    found = messages(error)
    assert len(found) == len(EXPECTED)
    assert all(part in message for part, message in zip(EXPECTED, found, strict=True))
    assert found[2].endswith("(also row 3)")
    assert error.value.problems[2].rows == (1, 3)


def test_on_the_command_line(table):
    reader = EndpointReader(["recurrence=rec,recurred", "death=os,dead"], table.columns, ["death"])
    with pytest.raises(TableError) as error:
        reader.read(table)
    assert all(part in message for part, message in zip(EXPECTED, messages(error), strict=True))


def test_what_is_not_about_rows_is_said_as_it_is(table):
    with pytest.raises(ValueError, match="terminal names 'deth'") as error:
        hm.endpoints(table[:1], death=("os", "dead"), terminal="deth")
    assert not isinstance(error.value, TableError)


def test_many_rows_are_counted(table):
    many = pd.concat([table.iloc[[1]]] * 20, ignore_index=True)
    with pytest.raises(TableError) as error:
        hm.endpoints(many, recurrence=("rec", "recurred"), death=("os", "dead"), terminal="death")
    assert messages(error)[0].endswith("(also row 1, row 2, row 3, row 4 and 15 more)")
    assert len(error.value.problems[0].rows) == 20
