"""Dates in the usual forms, and endpoints that are defined by them."""

import datetime as dt

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import harmonium as hm
from harmonium.errors import EndpointWarning, TableError, TextWarning
from harmonium.table.bounds import require_day_first
from harmonium.table.dates import dates_of, looks_like_dates
from harmonium.table.endpoints import parse_endpoints
from harmonium.table.time_units import UNITS, conversion

FORMS = [
    "%Y-%m-%d", "%Y/%m/%d", "%Y.%m.%d", "%Y%m%d", "%d.%m.%Y", "%d %b %Y", "%d%b%Y", "%d-%b-%Y", "%d %B %Y", "%B %d, %Y", "%b %d %Y",
    "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M", "%d.%m.%Y %H:%M:%S",
]  # fmt: skip
DAYS = st.dates(dt.date(1900, 1, 1), dt.date(2100, 12, 31))


def column(values, name="day"):
    return pd.Series(values, name=name, dtype=object)


@given(st.lists(DAYS, min_size=1, max_size=5), st.sampled_from(FORMS))
def test_every_usual_form_is_read(days, form):
    (found,) = dates_of([column([day.strftime(form) for day in days])])
    assert found.astype("datetime64[D]").tolist() == days


@given(st.lists(DAYS, min_size=1, max_size=6), st.sampled_from(["%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y", "%m-%d-%Y"]))
def test_what_comes_first_is_found_out_from_all_columns_or_asked_for(days, form):
    texts = [day.strftime(form) for day in days]
    day_first, known = form.startswith("%d"), any(day.day > 12 for day in days)
    if known or all(day.day == day.month for day in days):
        assert dates_of([column(texts[:1]), column(texts)])[1].astype("datetime64[D]").tolist() == days
    else:
        with pytest.raises(TableError, match=r"whether the day or the month comes first; write \"dayfirst\": True"):
            dates_of([column(texts)])
    assert dates_of([column(texts)], day_first)[0].astype("datetime64[D]").tolist() == days


def test_dates_of_every_type_are_the_same():
    texts = ["2019-03-01", None, "2020-02-29"]
    expected = np.array(texts, dtype="datetime64[D]")
    forms = [
        pd.Series(pd.to_datetime(texts)),
        pd.Series(pd.to_datetime(texts)).dt.tz_localize("Europe/Amsterdam"),
        pd.Series([dt.date(2019, 3, 1), None, dt.date(2020, 2, 29)], dtype=object),
        pd.Series([dt.datetime(2019, 3, 1), None, dt.datetime(2020, 2, 29)], dtype=object),
        pd.Series(texts, dtype="string"),
        pd.Series(texts, dtype="category"),
    ]
    for found in dates_of(forms):
        np.testing.assert_array_equal(found.astype("datetime64[D]"), expected)


@pytest.mark.parametrize(
    "wrong",
    [
        *("2019-02-30", "2019-13-01", "soon", "2019", "2019-03", "31/04/2019", "01/03/19", "1 Mai 2019", "32.1.2019"),
        *("1 Mar 20201", "5 Mar 2019 or 7 Mar 2020", "01MAR2019:", "1 Mar 2019 about"),
    ],
)
def test_what_is_no_date_is_refused_with_its_row(wrong):
    with pytest.raises(TableError, match=r"column 'day' must hold dates, such as 2019-03-01; found '.*' in row 2") as error:
        dates_of([column(["2019-03-01", None, wrong])])
    assert (error.value.problems[0].column, error.value.problems[0].row) == ("day", 2)
    with pytest.raises(TableError, match="found 43525 in row 0"):
        dates_of([pd.Series([43525, 43526], name="day")])


@pytest.mark.parametrize(
    "text", ["01MAR2019:18:30:00", "01MAR2019:18:30:00.00", "1 Mar 2019 18:30", "2019-03-01T18:30:00Z", "March 1, 2019 18:30"]
)
def test_a_time_of_day_is_kept(text):
    assert dates_of([column([text])])[0] == np.datetime64("2019-03-01T18:30")


@pytest.mark.parametrize("dtype", ["int64", "Int64", "float64", "object"])
def test_dates_may_be_whole_numbers(dtype):
    days = pd.Series([20190301, 20200229], dtype=dtype, name="day")
    assert dates_of([days])[0].astype("datetime64[D]").tolist() == [dt.date(2019, 3, 1), dt.date(2020, 2, 29)]
    for wrong in (20191301, 7, 12.5):
        with pytest.raises(TableError, match=rf"column 'day' must hold dates, such as 2019-03-01; found {wrong}(\.0)? in row 2"):
            dates_of([pd.Series([20190301, 20200229, wrong], name="day")])


def test_parts_of_a_table_do_not_show_what_comes_first():
    definitions = {"os": {"from": "start", "to": "seen", "event": "dead", "unit": "days"}}
    part = pd.DataFrame({"start": ["2019-01-01", "2019-01-01"], "seen": ["03/03/2019", "13/04/2019"], "dead": [1, 0]})
    with pytest.raises(TableError, match="column 'seen' holds '13/04/2019' in row 1, and a part of a table does not show"):
        require_day_first(part, definitions)
    require_day_first(part, {"os": {**definitions["os"], "dayfirst": True}})
    require_day_first(part[:1], definitions)


def test_days_first_and_months_first_in_one_table_are_refused():
    with pytest.raises(TableError, match=r"found '21/04/2019' \(column 'start', row 0\) and '04/21/2019' \(column 'end', row 1\)"):
        dates_of([column(["21/04/2019", None], "start"), column(["22/04/2019", "04/21/2019"], "end")])
    with pytest.raises(TableError, match="must hold dates with the month first; found '21/04/2019' in row 0"):
        dates_of([column(["21/04/2019"])], day_first=False)


# --- endpoints ---


@pytest.fixture
def df():
    return pd.DataFrame(
        {
            "surgery": ["2019-01-01", "2019-02-01", "2019-03-01", None],
            "seen": pd.to_datetime(["2020-01-01", "2019-02-01", None, "2020-01-01"]),
            "enrolled": ["2019-03-01", "2018-12-01", None, None],
            "dead": [1, 0, None, 1],
        }
    )


@pytest.mark.parametrize("unit", ["days", "weeks", "months", "years", "Month", "yrs"])
def test_durations_are_in_the_unit(df, unit):
    y = hm.endpoints(df, os={"from": "surgery", "to": "seen", "event": "dead", "unit": unit})
    known = parse_endpoints(y)
    days = {"Month": UNITS["months"], "yrs": UNITS["years"]}.get(unit) or UNITS[unit]
    np.testing.assert_allclose(known.lower[:, 0], np.array([365.0, 0.0, 0.0, 0.0]) / days)
    assert known.event[:, 0].tolist() == [True, False, False, False], "without a date, nothing is known"
    assert known.unit == {"Month": "months", "yrs": "years"}.get(unit, unit)


def test_entry_and_bounds_and_causes_may_be_dates(df):
    os = {"from": "surgery", "to": "seen", "event": "dead", "entry": "enrolled", "unit": "days"}
    assert hm.endpoints(df, os=os)["os", "entry"].tolist() == [59.0, 0.0, 0.0, 0.0], "who enrolled before time begins entered then"
    y = hm.endpoints(df[:2], pfs={"from": "surgery", "lower": "surgery", "upper": "seen", "unit": "days"})
    assert y["pfs", "upper"].tolist() == [365.0, 0.0]
    y = hm.endpoints(df, any={"from": "surgery", "to": "seen", "cause": "dead", "causes": {"death": 1}, "unit": "days"})
    assert y["death", "lower"].tolist() == [365.0, 0.0, 0.0, 0.0]


def test_a_negative_duration_names_the_row(df):
    df.loc[0, "surgery"] = "2020-06-01"
    with pytest.raises(TableError, match=r"'seen' holds 2020-01-01 in row 0, which is before 'surgery', 2020-06-01; correct one") as error:
        hm.endpoints(df, os={"from": "surgery", "to": "seen", "event": "dead", "unit": "days"})
    assert error.value.problems[0].row == 0


@pytest.mark.parametrize(
    ("definition", "message"),
    [
        ({"from": "surgery", "to": "seen", "event": "dead"}, 'say in which unit its times are wanted: "unit": "months"'),
        ({"from": "surgery", "to": "seen", "event": "dead", "unit": "fortnights"}, "days cannot be converted to 'fortnights'"),
        ({"from": "surgery", "to": "seen", "event": "dead", "unit": 7}, "a unit of time must be a name"),
        ({"to": "seen", "event": "dead"}, "must be \\(time, event\\)"),
        ({"from": "surgery", "to": "seen", "time": "seen", "event": "dead", "unit": "days"}, "must be \\(time, event\\)"),
        ({"time": "seen", "event": "dead", "dayfirst": True}, "must be \\(time, event\\)"),
        (
            {"from": "surgery", "to": "seen", "event": "dead", "unit": "days", "dayfirst": "no"},
            "dayfirst must be True or False; found 'no'",
        ),
        ({"from": "surgry", "to": "seen", "event": "dead", "unit": "days"}, "did you mean 'surgery'"),
        (("seen", "dead"), r"'seen' holds dates \(2020-01-01\), and must hold times.*\"from\": ..., \"to\": 'seen'"),
        (("surgery", "dead"), r"'surgery' holds dates \(2019-01-01\)"),
    ],
)
def test_what_to_write_is_said(df, definition, message):
    with pytest.raises(ValueError, match=message):
        hm.endpoints(df, os=definition)


def test_numbers_that_are_dates_are_dates(df):
    numbers = df[:2].assign(surgery=[20190101, 20190201], seen=[20200101, 20190201])
    y = hm.endpoints(numbers, os={"from": "surgery", "to": "seen", "event": "dead", "unit": "days"})
    assert y["os", "lower"].tolist() == [365.0, 0.0]
    with pytest.raises(TableError, match=r"column 'seen' holds dates \(20200101\), and must hold times"):
        hm.endpoints(numbers, os=("seen", "dead"))


def test_dates_that_are_all_missing_are_refused_in_the_place_of_times(df):
    with pytest.raises(TableError, match=r"column 'seen' holds dates \(all of them missing\), and must hold times"):
        hm.endpoints(df.assign(seen=pd.Series([pd.NaT] * 4)), os=("seen", "dead"))


# --- units ---


@pytest.fixture
def times():
    return pd.DataFrame({"os_days": [365.25, 730.5], "dead": [1, 0], "pfs_mth": [6.0, 24.0], "progressed": [1, 0]})


def test_endpoints_of_a_table_are_converted_to_one_unit(times):
    os, pfs = {"time": "os_days", "event": "dead", "unit": "days"}, {"time": "pfs_mth", "event": "progressed", "unit": "months"}
    for y, unit in ((hm.endpoints(times, os=os, pfs=pfs), "days"), (hm.endpoints(times, os=os, pfs=pfs, unit="years"), "years")):
        known = parse_endpoints(y)
        assert known.unit == unit
        np.testing.assert_allclose(known.in_unit("months").lower, [[12.0, 6.0], [24.0, 24.0]])
    plain = hm.endpoints(times, os=os, pfs=("pfs_mth", "progressed"), unit="months")
    np.testing.assert_allclose(parse_endpoints(plain).lower, [[12.0, 6.0], [24.0, 24.0]])
    with pytest.raises(ValueError, match="'os' is in days, and 'pfs' has no unit; state it too"):
        hm.endpoints(times, os=os, pfs=("pfs_mth", "progressed"))


def test_splitting_joining_and_landmarks_keep_the_unit(times):
    y = hm.endpoints(times, os=("os_days", "dead"), unit="days")
    for part in (y[:1], pd.concat([y[1:], y[:1]]), hm.landmark(y, 400.0), y.iloc[[1, 0, 1]]):
        assert parse_endpoints(part).unit == "days"
    other = hm.endpoints(times, os=("os_days", "dead"), unit="months")
    with pytest.raises(TableError, match=r"'os', row 2: the unit of time is 'months', and 'days' elsewhere"):
        parse_endpoints(pd.concat([y, other]))


def test_units_are_converted_there_and_back():
    for one in UNITS:
        for other in UNITS:
            assert conversion(one, other) * conversion(other, one) == pytest.approx(1.0)
    with pytest.raises(ValueError, match="'cycles' cannot be converted to 'days'"):
        conversion("cycles", "days")
    assert conversion("cycles", "cycles") == 1.0


# --- doubts ---


def status(n=80):
    """Events early, censored late, as when follow-up ends for all at once."""
    time = np.linspace(1.0, 40.0, n)
    return pd.DataFrame({"time": time, "event": (time < 25.0).astype(int)})


@pytest.mark.parametrize("name", ["CNSR", "cnsr", "censored", "os_cens", "Alive"])
def test_a_column_whose_name_says_censored_is_noticed(name):
    df = pd.DataFrame({"time": np.linspace(1.0, 40.0, 80), name: [0, 1] * 40})
    with pytest.warns(EndpointWarning, match=rf"'{name}' is used as an event, and its name says that 1 means censored.*\"event_value\": 0"):
        hm.endpoints(df, os=("time", name))
    for value in (0, 1):
        hm.endpoints(df, os={"time": "time", "event": name, "event_value": value})  # said, and no warning


def test_a_name_is_not_believed_where_times_say_the_opposite():
    hm.endpoints(status().rename(columns={"event": "cens"}), os=("time", "cens"))
    with pytest.warns(EndpointWarning, match="'CNSR' is used as an event"):  # which is a standard's, and never the opposite
        hm.endpoints(status().rename(columns={"event": "CNSR"}), os=("time", "CNSR"))


def test_a_status_that_looks_inverted_is_noticed():
    df = status()
    hm.endpoints(df, os=("time", "event"))
    with pytest.warns(EndpointWarning, match="early times are mostly censored and late ones mostly events"):
        hm.endpoints(df.assign(event=1 - df["event"]), os=("time", "event"))


def test_no_study_that_comes_with_the_package_looks_inverted():
    for load in (hm.datasets.load_nvalt8, hm.datasets.load_nvalt11):
        known = parse_endpoints(load()[1])
        for e in range(len(known.names)):
            hm.endpoints(pd.DataFrame({"t": known.lower[:, e], "d": known.event[:, e].astype(int)}), os=("t", "d"))


def covariates(**columns):
    n = len(next(iter(columns.values())))
    y = hm.endpoints(pd.DataFrame({"t": np.arange(1.0, n + 1), "d": [0, 1] * (n // 2)}), os=("t", "d"))
    return pd.DataFrame(columns), y


@pytest.mark.parametrize(
    "dates",
    [
        [f"2019-03-{day:02d}" for day in range(1, 31)],
        pd.date_range("2019-03-01", periods=30),
        [dt.date(2019, 3, day) for day in range(1, 31)],
        ["2019-03-01", "2019-03-02"] * 15,
    ],
)
def test_dates_are_no_identifiers(dates):
    X, y = covariates(surgery=dates)
    with pytest.raises(
        TableError, match=r"column 'surgery' holds dates \(2019-03-01\), which are no covariates; if time counts from or to"
    ):
        hm.SurvivalHarmonium(1).fit(X, y)


def test_numbers_written_as_text_are_noticed():
    X, y = covariates(nodes=["2.0", "3.0", "10.0"] * 10)
    with pytest.warns(TextWarning, match=r"'nodes' holds numbers that are written as text \('10.0', '2.0', '3.0'\).*pd\.to_numeric"):
        hm.SurvivalHarmonium(1, trainer=hm.Exact(n_starts=1, max_iter=2)).fit(X, y)


def test_codes_written_as_text_are_levels_and_no_reason_to_warn():
    X, y = covariates(grade=["1", "2", "3"] * 10)
    model = hm.SurvivalHarmonium(1, trainer=hm.Exact(n_starts=1, max_iter=2)).fit(X, y)
    assert model.encoding_.columns[0].levels == ("1", "2", "3")


def test_whole_numbers_with_missing_values_are_levels_without_decimals():
    X, y = covariates(grade=[2.0, 3.0, np.nan] * 10)
    model = hm.SurvivalHarmonium(1, trainer=hm.Exact(n_starts=1, max_iter=2)).fit(X, y)
    assert [str(level) for level in model.encoding_.columns[0].levels] == ["2", "3"]


def test_dates_are_recognised_among_levels():
    assert looks_like_dates(["2019-03-01", dt.date(2019, 3, 1)])
    assert not looks_like_dates(["2019-03-01", "unknown"])
    assert not looks_like_dates([])
