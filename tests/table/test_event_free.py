"""A time that is empty where there was no event."""

import warnings

import numpy as np
import pandas as pd
import pytest

import harmonium as hm
from harmonium.errors import EndpointWarning, TableError
from harmonium.table.endpoint_columns import EndpointReader

DATED = {"from": "surgery", "to": "recurrence_date", "event": "recurrence", "unit": "days"}


@pytest.fixture
def table():
    """Two recurrences; the third was seen without, the fourth has no status."""
    return pd.DataFrame(
        {
            "surgery": ["2019-01-01"] * 4,
            "recurrence_date": ["2019-01-11", "2019-01-21", None, None],
            "last_date": ["2019-03-01", "2019-03-01", "2019-01-31", "2019-02-10"],
            "recurrence": [1, 1, 0, None],
            "days": [10.0, 20.0, None, None],
            "last": [59.0, 59.0, 30.0, 40.0],
        }
    )


@pytest.mark.parametrize("definition", [DATED | {"until": "last_date"}, {"time": "days", "event": "recurrence", "until": "last"}])
def test_no_event_until_the_last_time(table, definition):
    y = hm.endpoints(table, r=definition)
    np.testing.assert_array_equal(y["r", "lower"], [10.0, 20.0, 30.0, 0.0])
    np.testing.assert_array_equal(y["r", "upper"], [10.0, 20.0, np.inf, np.inf])


def test_without_a_status_a_time_means_an_event(table):
    expected = hm.endpoints(table.assign(recurrence=[1, 1, 0, 0]), r=DATED | {"until": "last_date"})
    plain = {key: value for key, value in DATED.items() if key != "event"}
    pd.testing.assert_frame_equal(hm.endpoints(table, r=plain | {"until": "last_date"}), expected)


def test_a_time_without_an_event_stays_as_it_is(table):
    table.loc[2, "days"] = 25.0
    assert hm.endpoints(table, r={"time": "days", "event": "recurrence", "until": "last"})["r", "lower"].iloc[2] == 25.0


@pytest.mark.parametrize("definition", [DATED, ("days", "recurrence")])
def test_events_alone_are_refused(table, definition):
    with pytest.raises(TableError, match=r"is empty in row 2, where 'recurrence' says .* \"until\": COLUMN") as error:
        hm.endpoints(table, r=definition)
    assert error.value.problems[0].row == 2


def test_some_without_a_time_give_a_warning(table):
    table = pd.concat([table, table.iloc[[2]], table.iloc[[2]].assign(days=33.0)], ignore_index=True)
    with pytest.warns(EndpointWarning, match=r"'days' is empty in 2 rows \(the first is row 2\)"):
        y = hm.endpoints(table, r=("days", "recurrence"))
    assert y["r", "lower"].tolist() == [10.0, 20.0, 0.0, 0.0, 0.0, 33.0]


def test_an_empty_last_time_is_said(table):
    table.loc[2, "last"] = None
    with pytest.raises(TableError, match="columns 'days' and 'last' are empty in row 2"):
        hm.endpoints(table, r={"time": "days", "event": "recurrence", "until": "last"})


def test_where_the_status_is_missing_too_or_there_is_no_origin_nothing_is_said(table):
    table.loc[2, ["recurrence", "surgery"]] = [None, "2019-01-01"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        hm.endpoints(table, r=("days", "recurrence"))
        table.loc[2, ["recurrence", "surgery"]] = [0, None]
        hm.endpoints(table, r=DATED)


@pytest.mark.parametrize("text", ["r=days,recurrence,until=last", "r=recurrence_date,recurrence,from=surgery,until=last_date,unit=days"])
def test_the_command_line_takes_it(table, text):
    reader = EndpointReader([text], table.columns)
    y = reader.read(table)
    reader.check(to_fit=True)
    np.testing.assert_array_equal(y["r", "lower"], [10.0, 20.0, 30.0, 0.0])
    assert "last" in reader.columns or "last_date" in reader.columns


def test_the_command_line_takes_a_time_without_a_status(table):
    y = EndpointReader(["r=days,until=last"], table.columns).read(table)
    np.testing.assert_array_equal(y["r", "upper"], [10.0, 20.0, np.inf, np.inf])


@pytest.mark.parametrize("text", ["r=days,recurrence", "r=days,recurrence:1"])
def test_the_command_line_refuses_events_alone_only_to_fit(table, text):
    reader = EndpointReader([text], table.columns)
    for part in (table.iloc[:2], table.iloc[2:]):  # parts of a file, in the first of which all had the event
        reader.read(part)
    with pytest.raises(TableError, match="row 2"):
        reader.check(to_fit=True)
    with pytest.warns(EndpointWarning, match="row 2"):
        reader.check()
