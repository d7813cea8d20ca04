"""Endpoints that know each other: what may be said of them, and what is refused."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import train_test_split

import harmonium as hm
from harmonium.errors import EndpointWarning, TableError
from harmonium.table.endpoints import parse_endpoints

DEFINITIONS = {"recurrence": ("rec", "recurred"), "death": ("os", "dead")}


def table(rec, recurred, os, dead):
    return pd.DataFrame({"rec": rec, "recurred": recurred, "os": os, "dead": dead}, dtype=float)


def test_terminal_travels_with_the_table():
    df = table([3, 5, 8, 9], [1, 0, 1, 0], [4, 5, 10, 9], [1, 1, 0, 0])
    y = hm.endpoints(df, **DEFINITIONS, terminal="death")
    assert y["death"].columns.tolist() == ["lower", "upper", "terminal"]
    parts = train_test_split(y, test_size=0.5, random_state=0)
    joined = pd.concat(parts)
    for part in (y, *parts, joined, y.copy(), hm.landmark(y, 4.0), y.iloc[[2, 0]], y[y[("death", "lower")] > 4]):
        assert parse_endpoints(part).terminal == ("death",)


def test_tables_that_disagree_about_terminal_are_refused():
    df = table([3, 5], [1, 0], [4, 5], [1, 1])
    with_it, without = hm.endpoints(df, **DEFINITIONS, terminal="death"), hm.endpoints(df, **DEFINITIONS, terminal=())
    with pytest.raises(TableError, match="terminal in all rows or in none"):
        parse_endpoints(pd.concat([with_it, without]))


def test_causes_become_terminal_endpoints():
    df = pd.DataFrame({"years": [2.0, 3.0, 5.0, np.nan], "why": ["relapse", "alive", "other", "alive"]})
    y = hm.endpoints(df, first={"time": "years", "cause": "why", "causes": {"relapse": "relapse", "death": "other"}})
    known = parse_endpoints(y)
    assert known.names == known.terminal == ("relapse", "death")
    np.testing.assert_array_equal(known.lower, [[2, 2], [3, 3], [5, 5], [0, 0]])
    np.testing.assert_array_equal(known.upper, [[2, np.inf], [np.inf, np.inf], [np.inf, 5], [np.inf, np.inf]])


def test_a_composite_is_taken_apart():
    df = table([3, 5, 8, 7], [1, 1, 0, 1], [4, 5, 9, 7.5], [1, 1, 0, 0])
    composite = {"time": "rec", "event": "recurred", "including": "death"}
    y = hm.endpoints(df, recurrence=composite, death=("os", "dead"), terminal="death")
    np.testing.assert_array_equal(y[("recurrence", "lower")], [3, 5, 8, 7])
    np.testing.assert_array_equal(y[("recurrence", "upper")], [3, np.inf, np.inf, 7])


@pytest.mark.parametrize(
    ("df", "message"),
    [
        (
            table([1, 6], [0, 1], [5, 5], [1, 1]),
            r"'recurrence', row 1: an event after 'death', which is terminal; correct one of the times",
        ),
        (table([1, 6], [0, 0], [5, 5], [1, 1]), r"row 1: followed up beyond 'death', .* censor it at the time of 'death'"),
        (table([1, 6], [0, 1], [5, 5], [1, 0]), r"row 1: observed for longer than 'death', .* censor 'death' no earlier"),
    ],
)
def test_contradictions_name_the_row(df, message):
    with pytest.raises(TableError, match=message) as error:
        hm.endpoints(df, **DEFINITIONS, terminal="death")
    assert error.value.problems[0].row == 1


@pytest.mark.parametrize(
    ("rec", "recurred", "message"),
    [
        (6.0, 1, r"row 0: an event at 6, and 'death' at 5; a composite cannot outlast an event that it includes"),
        (6.0, 0, r"row 0: censored at 6, and 'death' at 5; a composite cannot outlast"),
        (5.0, 0, r"row 0: censored at 5, and 'death' at 5; the composite includes that event, .* set its event to 1"),
    ],
)
def test_impossible_composites_name_the_row(rec, recurred, message):
    composite = {"time": "rec", "event": "recurred", "including": "death"}
    with pytest.raises(TableError, match=message):
        hm.endpoints(table([rec], [recurred], [5.0], [1]), recurrence=composite, death=("os", "dead"), terminal="death")


@pytest.mark.parametrize(
    ("definitions", "message"),
    [
        ({**DEFINITIONS, "terminal": "deaht"}, r"terminal names 'deaht', which is no endpoint \(did you mean 'death'\?\)"),
        ({**DEFINITIONS, "terminal": 5}, r'terminal must be the name of an endpoint, or several names: terminal="death"'),
        (
            {"recurrence": {"time": "rec", "event": "recurred", "including": "os"}, "death": ("os", "dead"), "terminal": "death"},
            r"'recurrence' includes 'os', which is no endpoint; there are 'recurrence', 'death'",
        ),
        (
            {"recurrence": {"time": "rec", "event": "recurred", "including": "death"}, "death": ("os", "dead")},
            r"includes 'death', which must be terminal for that: write terminal='death'",
        ),
        ({"first": {"time": "os", "cause": "dead", "causes": {"a": 1, "b": 2}}}, r"never holds 2, the code of cause 'b'; it holds"),
        ({"first": {"time": "os", "cause": "dead", "causes": {}}}, r"causes must map names to what the column holds"),
        (
            {"first": {"time": "os", "cause": "dead", "causes": {"a": 1}, "censored": 2}},
            r"holds 0.0 in row 1, which is neither a cause nor 2",
        ),
        ({"first": {"time": "os", "cause": "rec", "causes": {"a": 4}}}, r"one of several values that are no cause"),
    ],
)
def test_bad_definitions_say_what_to_write(definitions, message):
    with pytest.raises(ValueError, match=message):
        hm.endpoints(table([2, 4, 3], [1, 0, 0], [3, 4, 5], [1, 0, 1]), **definitions)


def test_another_spelling_of_a_cause_is_refused():
    first = {"time": "t", "cause": "c", "causes": {"relapse": "relapse", "death": "death"}}
    df = pd.DataFrame({"t": [1.0, 2.0, 3.0], "c": ["relapse", "Relapse", "death"]})
    with pytest.raises(TableError, match="column 'c' holds 'Relapse' in row 1, and 'relapse' elsewhere; use one spelling"):
        hm.endpoints(df, first=first)
    y = hm.endpoints(df, first={**first, "censored": "Relapse"})
    assert np.isinf(y["relapse", "upper"]).tolist() == [False, True, True], "unless it is said what it means"


def test_a_cause_that_is_missing_beside_a_strange_one_is_no_crash():
    df = pd.DataFrame({"t": [None, 2.0, 3.0, 4.0], "c": pd.Series([None, 1, 7, 0], dtype="Int64")})
    with pytest.raises(TableError, match="column 'c' holds 7 in row 2, which is one of several values that are no cause"):
        hm.endpoints(df, first={"time": "t", "cause": "c", "causes": {"relapse": 1}})


def test_entry_is_that_of_the_subject():
    df = table([2.0], [1], [6.0], [1]).assign(late=3.0)
    death = {"time": "os", "event": "dead", "entry": "late"}
    with pytest.raises(TableError, match="row 0: an event at 2 lies before the subject entered, at 3"):
        hm.endpoints(df, recurrence=("rec", "recurred"), death=death, terminal="death")


def followed(n, rng, *, ordered):
    death, rec, end = rng.exponential(10, n), rng.exponential(8, n), rng.uniform(2, 20, n)
    seen = np.minimum(end, death) if ordered else rng.uniform(2, 20, n)
    return table(np.minimum(rec, seen), rec <= seen, np.minimum(death, end), death <= end)


def test_a_table_that_looks_terminal_is_warned_of():
    df = followed(100, np.random.default_rng(0), ordered=True)
    with pytest.warns(EndpointWarning, match=r"'death' looks terminal: 'recurrence' was never observed beyond it.*write terminal='death'"):
        hm.endpoints(df, **DEFINITIONS)
    composite = df.assign(recurred=np.maximum(df["recurred"], df["dead"] * (df["rec"] == df["os"])))
    with pytest.warns(EndpointWarning, match=r"'recurrence' seems to include 'death': add \"including\": 'death'"):
        hm.endpoints(composite, **DEFINITIONS)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        hm.endpoints(df, **DEFINITIONS, terminal=())
        hm.endpoints(df, **DEFINITIONS, terminal="death")
        hm.endpoints(followed(100, np.random.default_rng(0), ordered=False), **DEFINITIONS)
