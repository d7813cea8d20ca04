"""Endpoints that are proposed to somebody who has named none."""

import pandas as pd
import pytest

from harmonium.cli.proposal import proposed

DATES = {
    "born": ["1950-01-01", "1951-01-01", "1952-01-01"],
    "surgery_date": ["2019-01-01", "2019-01-02", "2019-01-03"],
    "recurrence_date": ["2019-06-01", None, None],
    "last_date": ["2020-01-01", "2021-01-01", "2022-01-01"],
}
MONTHS = {"rec_mth": [3.0, 5.5, 7.0], "os_mth": [4.0, 6.5, 9.0], "age": [61, 74, 50]}


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        (
            DATES | {"recurrence": [1, 0, 0], "status": ["dead", "alive", "alive"]},
            "-e recurrence=recurrence_date,recurrence,from=surgery_date,until=last_date,unit=months "
            "-e death=last_date,status:dead,from=surgery_date,unit=months --terminal death",
        ),
        (
            DATES | {"death_date": [None, "2020-12-01", None], "dead": [0, 1, 0]},
            "-e death=death_date,dead,from=surgery_date,until=last_date,unit=months",
        ),
        (
            MONTHS | {"recurred": ["yes", "no", "no"], "died": [0, 1, 1]},
            "-e recurred=rec_mth,recurred:yes -e death=os_mth,died --terminal death",
        ),
        (MONTHS | {"os_event": [0, 1, 1]}, "-e os=os_mth,os_event"),
        (MONTHS | {"rec_mth": [3.0, None, None], "recurred": [1, 0, 0]}, "-e recurred=rec_mth,recurred,until=os_mth"),
        ({"time": [1.0, 2.0, 4.0], "status": [1, 2, 2]}, "-e status=time,status:2"),
        ({"stage": ["I", "II", "I"], "time": [1.0, 2.0, 4.0]}, None),
        ({"status": ["dead", "alive", "dead"], "age": [1.0, 2.0, 3.0]}, None),
    ],
)
def test_a_time_belongs_to_a_status_by_its_name(columns, expected):
    assert proposed(pd.DataFrame(columns)) == expected
