"""Endpoints: what is known of each event time, from any table."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.model_selection import KFold, train_test_split
from sksurv.util import Surv

import harmonium as hm
from harmonium.errors import EndpointWarning, TableError
from harmonium.table.endpoints import parse_endpoints
from harmonium.table.status_words import probable_event

INF = np.inf


def bounds(y, name="os"):
    return y[name, "lower"].tolist(), y[name, "upper"].tolist()


def of(times, events, **more):
    return hm.endpoints(pd.DataFrame({"t": times, "e": events}), os={"time": "t", "event": "e", **more})


def frame(**more):
    return pd.DataFrame({"os_mth": [12.0, 30.5, None], "dead": [1, 0, None], "relapse": ["yes", "no", None], **more})


# --- forms ---


def test_an_event_has_equal_bounds_and_a_censored_time_no_upper_one():
    assert bounds(hm.endpoints(frame(), os=("os_mth", "dead"))) == ([12.0, 30.5, 0.0], [12.0, INF, INF])


@pytest.mark.parametrize("definition", [["os_mth", "dead"], {"time": "os_mth", "event": "dead"}])
def test_a_list_and_a_mapping_mean_the_same_as_a_tuple(definition):
    pd.testing.assert_frame_equal(hm.endpoints(frame(), os=definition), hm.endpoints(frame(), os=("os_mth", "dead")))


def test_labels_need_a_stated_event_value():
    y = hm.endpoints(frame(), rfs={"time": "os_mth", "event": "relapse", "event_value": "yes"})
    assert bounds(y, "rfs") == ([12.0, 30.5, 0.0], [12.0, INF, INF])
    with pytest.raises(ValueError, match=r"'relapse' must hold 0/1.*'yes' in row 0.*State which of 'yes', 'no'.*\"event_value\": 'yes'"):
        hm.endpoints(frame(), rfs=("os_mth", "relapse"))


def test_numbers_other_than_0_and_1_need_a_stated_event_value():
    assert bounds(of([1.0, 2.0], [1, 2], event_value=2)) == ([1.0, 2.0], [INF, 2.0])
    with pytest.raises(ValueError, match="'e' must hold 0/1 or booleans; found 2 in row 1"):
        of([1.0, 2.0], [1, 2])


def test_bounds_may_be_given_with_gaps():
    df = pd.DataFrame({"a": [1.0, None, 2.0, None], "b": [3.0, 4.0, None, None]})
    assert bounds(hm.endpoints(df, os={"lower": "a", "upper": "b"})) == ([1.0, 0.0, 2.0, 0.0], [3.0, 4.0, INF, INF])


def test_entry_is_a_third_column_and_starts_at_zero_where_missing():
    y = hm.endpoints(frame(late=[3.0, None, 1.0]), os={"time": "os_mth", "event": "dead", "entry": "late"}, pfs=("os_mth", "dead"))
    assert y["os", "entry"].tolist() == [3.0, 0.0, 1.0]
    assert list(y.columns) == [("os", "lower"), ("os", "upper"), ("os", "entry"), ("pfs", "lower"), ("pfs", "upper")]
    y = hm.endpoints(pd.DataFrame({"a": [1.0], "b": [4.0], "late": [2.0]}), os={"lower": "a", "upper": "b", "entry": "late"})
    assert parse_endpoints(y).lower[0, 0] == 2.0


def test_an_endpoint_may_have_any_name():
    y = hm.endpoints(frame(), table=("os_mth", "dead"), lower=("os_mth", "dead"))
    assert parse_endpoints(y).names == ("table", "lower")


@pytest.mark.parametrize(
    "definition", ["os_mth", ("os_mth",), ("os_mth", "dead", "x"), {"time": "os_mth"}, {"lower": "a", "event": "b"}, 3, None]
)
def test_any_other_form_is_refused_with_those_there_are(definition):
    with pytest.raises(ValueError, match=r"endpoint 'os' must be \(time, event\), or a mapping"):
        hm.endpoints(frame(), os=definition)


def test_an_unknown_key_is_refused():
    with pytest.raises(ValueError, match="'evnt_value'"):
        hm.endpoints(frame(), os={"time": "os_mth", "event": "dead", "evnt_value": 1})


def test_no_endpoint_is_refused():
    with pytest.raises(ValueError, match="no endpoint was defined"):
        hm.endpoints(frame())


def test_a_missing_column_is_named_with_the_nearest():
    with pytest.raises(ValueError, match="column 'os_month' is missing; did you mean 'os_mth'"):
        hm.endpoints(frame(), os=("os_month", "dead"))
    with pytest.raises(ValueError, match="column 'xyz' is missing; there are 'os_mth', 'dead', 'relapse'"):
        hm.endpoints(frame(), os=("xyz", "dead"))


# --- how events are coded ---


@pytest.mark.parametrize(
    "events",
    [
        [1, 0, 1],
        [1.0, 0.0, 1.0],
        [True, False, True],
        np.array([1, 0, 1], dtype=np.uint8),
        pd.array([1, 0, 1], dtype="Int64"),
        pd.array([True, False, True], dtype="boolean"),
        pd.Categorical([1, 0, 1]),
        np.array([True, 0, 1.0], dtype=object),
    ],
)
def test_events_may_be_zero_and_one_or_booleans_of_any_type(events):
    assert bounds(of([1.0, 2.0, 3.0], events)) == ([1.0, 2.0, 3.0], [1.0, INF, 3.0])


@pytest.mark.parametrize("dtype", ["Int64", "boolean", "float64", "object"])
def test_a_missing_event_without_time_is_fine(dtype):
    events = pd.Series([1, 0, None], dtype=object).map({1: True, 0: False}).astype(dtype)
    assert bounds(of([1.0, 2.0, None], events)) == ([1.0, 2.0, 0.0], [1.0, INF, INF])
    assert bounds(of([1.0, 2.0, None], events, event_value=True)) == ([1.0, 2.0, 0.0], [1.0, INF, INF])


@pytest.mark.parametrize("event_value", [None, 1])
@pytest.mark.parametrize("dtype", ["Int64", "float64", "object"])
def test_a_missing_event_with_a_time_is_refused(dtype, event_value):
    with pytest.raises(ValueError, match="'e' must say for every time whether the event was seen; row 1 is missing"):
        of([1.0, 2.0], pd.Series([1, None], dtype=dtype), event_value=event_value)


@pytest.mark.parametrize("value", ["ded", 1, True])
def test_a_mistyped_event_value_is_refused_with_what_there_is(value):
    meant = r" \(did you mean 'dead'\?\)" if isinstance(value, str) else ""
    with pytest.raises(ValueError, match=f"'e' never holds the event value {value!r}{meant}; found 'dead', 'alive'"):
        of([1.0, 2.0], ["dead", "alive"], event_value=value)


@pytest.mark.parametrize(
    ("held", "value"), [("Dead", "dead"), ("dead ", "dead"), (1, "1"), ("1", 1), (1.0, "1"), (True, "True"), ("true", True)]
)
@pytest.mark.parametrize("other", [[], ["alive"]])
def test_another_spelling_of_the_event_value_is_refused(held, value, other):
    events = pd.Series([held, held, *other], dtype=object)
    with pytest.raises(TableError, match=rf"'e' holds {held!r} in row 0, not {value!r}; write {held!r}, as it stands there"):
        of([1.0, 2.0, 3.0][: len(events)], events, event_value=value)


def test_an_endpoint_is_defined_once():
    df = pd.DataFrame({"d": [2.0, 3.0, 4.0], "e": [1, 0, 1], "t": [1.0, 2.0, 3.0], "c": [1, 0, 2]})
    first = {"time": "t", "cause": "c", "causes": {"relapse": 1, "death": 2}}
    message = "endpoint 'death' is defined more than once, by its own name and as a cause of 'first'; give one of them another name"
    with pytest.raises(ValueError, match=message):
        hm.endpoints(df, death=("d", "e"), first=first)
    with pytest.raises(ValueError, match="as a cause of 'first' and as a cause of 'again'"):
        hm.endpoints(df, first=first, again=first)


def test_a_table_in_which_nobody_had_the_event_is_fine():
    assert bounds(of([1.0, 2.0], ["alive", "alive"], event_value="dead"))[1] == [INF, INF]
    assert bounds(of([1.0, 2.0], [0, 0]))[1] == [INF, INF]


def test_any_other_label_than_the_event_value_is_censored():
    with pytest.warns(EndpointWarning, match="'dead' means an event, and 'lost', 'alive' count as no event"):
        found = of([1.0, 2.0, 3.0], ["dead", "lost", "alive"], event_value="dead")
    assert bounds(found)[1] == [1.0, INF, INF]


@pytest.mark.parametrize("word", ["unknown", "?", " Unk"])
def test_a_status_that_says_nothing_is_refused(word):
    with pytest.raises(TableError, match=r"'e' holds .* in row 1 \(also row 3\), which says neither"):
        of([1.0, 2.0, 3.0, 4.0], ["dead", word, "alive", word], event_value="dead")


def test_all_that_is_wrong_with_time_and_event_is_said_at_once():
    with pytest.raises(TableError) as caught:
        of([1.0, -2.0, 3.0], ["yes", "no", "no"])
    assert [problem.column for problem in caught.value.problems] == ["t", "e"]
    df = pd.DataFrame({"start": ["2020-01-01"] * 3, "end": ["2021-01-01", "2019-01-01", "2020-05-01"], "dead": [1, 0, 7]})
    with pytest.raises(TableError) as caught:
        hm.endpoints(df, os={"from": "start", "to": "end", "event": "dead", "unit": "days"})
    assert [problem.column for problem in caught.value.problems] == ["end", "dead"]


@pytest.mark.parametrize(
    ("found", "event"),
    [
        (["no", "yes"], "yes"),
        (["Alive", "Dead"], "Dead"),
        (["ja", "nein", "unknown"], "ja"),
        ([1, 2], 2),
        (["1", "2"], "2"),
        (["censored", "failed"], "failed"),
        (["A", "B"], None),
        (["dead", "relapse", "alive"], None),
        (["Yes", "yes", "no"], "Yes"),
        (["no", "alive"], None),
    ],
)
def test_a_word_that_probably_means_an_event_is_proposed(found, event):
    assert probable_event(found) == event


# --- times ---


def test_a_missing_time_means_that_nothing_is_known():
    parsed = parse_endpoints(of([None, 1.0], [1, 1]))
    assert parsed.unknown[:, 0].tolist() == [True, False]
    assert not parsed.event[0, 0]


def test_a_censoring_at_zero_carries_no_information():
    assert parse_endpoints(of([0.0], [0])).unknown[0, 0]


def test_an_event_at_zero_is_kept_as_an_event():
    parsed = parse_endpoints(of([0.0, 1.0], [1, 1]))
    assert parsed.event[0, 0]
    assert not parsed.unknown[0, 0]


@pytest.mark.parametrize("times", [pd.array([1, None], dtype="Int64"), np.array([1, np.nan], dtype=np.float32), pd.Series(["1", None])])
def test_times_may_be_of_any_numeric_type_or_text_that_reads_as_numbers(times):
    assert bounds(of(times, [1, None])) == ([1.0, 0.0], [1.0, INF])


@pytest.mark.parametrize(
    ("times", "message"),
    [
        ([1.0, -2.0], "'t' must not hold negative times; found -2 in row 1"),
        ([1.0, INF], "'t' must hold finite times; found inf in row 1"),
        (["1", "soon"], "'t' must hold times; found 'soon' in row 1"),
        ([1.0, "soon"], "'t' must hold times; found 'soon' in row 1"),
        (
            pd.to_datetime(["2020-01-01", "2020-01-02"]),
            "'t' holds dates \\(2020-01-01\\), and must hold times",
        ),
        (pd.to_timedelta([1, 2], unit="D"), "'t' must hold times; found the type timedelta64"),
        (
            [pd.Timestamp("2020-01-01"), None],
            "'t' holds dates \\(2020-01-01\\), and must hold times",
        ),
        ([True, False], "'t' must hold times; found booleans. The time comes first"),
    ],
)
def test_what_is_no_time_is_refused(times, message):
    with pytest.raises(ValueError, match=message):
        of(times, [1, 0])


@pytest.mark.parametrize("part", ["lower", "upper"])
def test_negative_bounds_are_refused(part):
    with pytest.raises(ValueError, match=f"'{part}' must not hold negative times; found -1 in row 0"):
        hm.endpoints(pd.DataFrame({"lower": [1.0], "upper": [2.0]}).assign(**{part: -1.0}), os={"lower": "lower", "upper": "upper"})


def test_crossed_bounds_are_refused_with_endpoint_and_row():
    df = pd.DataFrame({"a": [1.0, 5.0], "b": [2.0, 4.0]})
    with pytest.raises(ValueError, match="endpoint 'os', row 1: the lower bound must not exceed the upper one; found lower 5, upper 4"):
        hm.endpoints(df, os={"lower": "a", "upper": "b"})


def test_an_infinite_lower_bound_is_refused():
    with pytest.raises(ValueError, match="row 0: a lower bound must be finite"):
        hm.endpoints(pd.DataFrame({"a": [INF], "b": [INF]}), os={"lower": "a", "upper": "b"})


# --- entry ---


@pytest.mark.parametrize(
    ("time", "event", "entry", "message"),
    [
        (2.0, 1, 2.0, "endpoint 'os', row 0: the event must lie beyond the entry time"),
        (0.0, 1, 2.0, "endpoint 'os', row 0: the event must lie beyond the entry time"),
        (2.0, 1, 3.0, "'t' must not hold times before entry; found 2 in row 0"),
        (2.0, 0, 3.0, "'t' must not hold times before entry; found 2 in row 0"),
        (2.0, 0, -1.0, "'s' must not hold negative times"),
        (2.0, 0, INF, "'s' must hold finite times"),
    ],
)
def test_an_entry_at_or_after_the_event_is_refused(time, event, entry, message):
    with pytest.raises(ValueError, match=message):
        hm.endpoints(pd.DataFrame({"t": [time], "e": [event], "s": [entry]}), os={"time": "t", "event": "e", "entry": "s"})


def test_an_interval_that_ends_before_entry_is_refused():
    with pytest.raises(ValueError, match="the event must lie beyond the entry time"):
        hm.endpoints(pd.DataFrame({"a": [1.0], "b": [2.0], "s": [2.0]}), os={"lower": "a", "upper": "b", "entry": "s"})


def test_who_came_under_observation_had_no_event_until_then():
    df = pd.DataFrame({"t": [None, 5.0, 3.0, 0.0], "e": [None, 1, 0, 0], "s": [2.0, 2.0, 3.0, 1.0]})
    parsed = parse_endpoints(hm.endpoints(df, os={"time": "t", "event": "e", "entry": "s"}))
    assert parsed.lower[:, 0].tolist() == [2.0, 5.0, 3.0, 1.0]
    assert not parsed.unknown.any()


# --- the table that comes back ---


def test_pandas_and_polars_give_the_same():
    columns = {
        "t": [1.0, 2.0, None, 4.0],
        "n": [1, 2, None, 4],
        "e": [1, 0, 1, 0],
        "b": [True, False, None, True],
        "label": ["yes", "no", None, "no"],
        "a": [None, 1.0, 2.0, 3.0],
        "s": [0.5, None, 1.0, 0.0],
    }
    definitions = {
        "plain": ("t", "e"),
        "whole": ("n", "b"),
        "labelled": {"time": "t", "event": "label", "event_value": "yes"},
        "between": {"lower": "a", "upper": "n"},
        "late": {"time": "t", "event": "e", "entry": "s"},
    }
    pd.testing.assert_frame_equal(hm.endpoints(pd.DataFrame(columns), **definitions), hm.endpoints(pl.DataFrame(columns), **definitions))


def test_polars_has_the_same_errors():
    df = pl.DataFrame({"t": ["1", "soon"], "e": [1, 0], "n": [1.0, -2.0]})
    with pytest.raises(ValueError, match="'t' must hold times; found 'soon' in row 1"):
        hm.endpoints(df, os=("t", "e"))
    with pytest.raises(ValueError, match="'n' must not hold negative times; found -2 in row 1"):
        hm.endpoints(df, os=("n", "e"))


def test_the_index_is_kept():
    df = frame().set_index(pd.Index(["a", "b", "b"], name="patient"))
    assert hm.endpoints(df, os=("os_mth", "dead")).index.equals(df.index)


def test_scikit_learn_splits_it():
    df = pd.DataFrame({"t": np.arange(1.0, 21.0), "e": np.arange(20) % 2, "s": 0.5}, index=np.arange(100, 120))
    y = hm.endpoints(df, os=("t", "e"), late={"time": "t", "event": "e", "entry": "s"})
    X_train, X_test, y_train, y_test = train_test_split(df[["e"]], y, test_size=5, random_state=0)
    assert X_train.index.equals(y_train.index)
    assert X_test.index.equals(y_test.index)
    for train, test in KFold(4).split(df, y):
        assert len(parse_endpoints(y.iloc[train]).lower) == 15
        assert parse_endpoints(y.iloc[test]).lower[:, 0].tolist() == df["t"].iloc[test].tolist()


def test_a_table_without_rows_stays_without_rows():
    assert hm.endpoints(frame().iloc[:0], os=("os_mth", "dead")).shape == (0, 2)


def test_duplicated_column_names_are_refused():
    df = pd.DataFrame([[1.0, 2.0, 1]], columns=["t", "t", "e"])
    with pytest.raises(ValueError, match="column names must be unique; found 't' more than once"):
        hm.endpoints(df, os=("t", "e"))


# --- y as a model takes it ---


def test_endpoints_keep_their_order():
    y = hm.endpoints(frame(late=[1.0, 1.0, 0.0]), z={"time": "os_mth", "event": "dead", "entry": "late"}, a=("os_mth", "dead"))
    parsed = parse_endpoints(y)
    assert parsed.names == ("z", "a")
    assert parsed.entry.tolist() == [[1.0, 0.0], [1.0, 0.0], [0.0, 0.0]]


def test_a_structured_array_of_scikit_survival_is_one_endpoint():
    parsed = parse_endpoints(Surv.from_arrays([True, False], [1.0, 2.0], name_event="dead", name_time="os"))
    assert parsed.names == ("os",)
    assert parsed.lower[:, 0].tolist() == [1.0, 2.0]
    assert parsed.upper[:, 0].tolist() == [1.0, INF]
    assert not parsed.entry.any()


@pytest.mark.parametrize(
    "dtype",
    [[("time", float), ("event", bool)], [("event", int), ("time", float)], [("event", bool)], [("e", bool), ("t", float), ("x", float)]],
)
def test_any_other_structured_array_is_refused(dtype):
    with pytest.raises(ValueError, match=r"two fields, event \(boolean\) and time"):
        parse_endpoints(np.zeros(3, dtype=dtype))


@pytest.mark.parametrize(
    ("time", "message"), [(-1.0, "times must not be negative"), (np.nan, "must not be missing"), (INF, "a lower bound must be finite")]
)
def test_a_structured_array_is_checked(time, message):
    y = np.array([(True, 1.0), (True, time)], dtype=[("event", bool), ("os", float)])
    with pytest.raises(ValueError, match=f"endpoint 'os', row 1: .*{message}"):
        parse_endpoints(y)


@pytest.mark.parametrize(
    "y", [None, [1.0, 2.0], np.zeros(3), np.zeros((3, 2)), pd.Series([1.0]), pd.DataFrame({"t": [1.0]}), pl.DataFrame({"t": [1.0]})]
)
def test_a_y_of_another_type_is_refused(y):
    with pytest.raises(ValueError, match=r"y must be what harmonium\.endpoints returns.*found"):
        parse_endpoints(y)


@pytest.mark.parametrize("kinds", [["lower"], ["lower", "uper"], ["lower", "upper", "exit"], ["lower", "upper", "upper"]])
def test_a_table_with_other_columns_is_refused(kinds):
    y = pd.DataFrame(np.ones((2, len(kinds))), columns=pd.MultiIndex.from_product([["os"], kinds]))
    with pytest.raises(ValueError, match="endpoint 'os' must have the columns lower, upper and possibly entry"):
        parse_endpoints(y)


def test_missing_bounds_in_a_table_are_refused():
    y = pd.DataFrame([[1.0, np.nan]], columns=pd.MultiIndex.from_product([["os"], ["lower", "upper"]]))
    with pytest.raises(ValueError, match=r"row 0: bounds must not be missing \(nothing known is 0 to inf\)"):
        parse_endpoints(y)


def test_another_spelling_of_the_event_is_refused_rather_than_censored():
    df = pd.DataFrame({"t": [1.0, 2.0, 3.0], "status": ["dead", "alive", "Dead "]})
    with pytest.raises(ValueError, match="column 'status' holds 'Dead ' in row 2, and 'dead' elsewhere"):
        hm.endpoints(df, os={"time": "t", "event": "status", "event_value": "dead"})


def test_time_and_event_that_are_exchanged_are_recognised():
    with pytest.raises(
        ValueError, match=r"time and event are exchanged: column 't' holds only 0 and 1, and 'e' does not; write \('e', 't'\)"
    ):
        of([1, 0, 1], [2.5, 3.5, 4.5])
    of([1.0, 0.0, 1.0], [1, 0, 1])  # times may well be 0 and 1
