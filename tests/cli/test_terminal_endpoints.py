"""Terminal endpoints, composites and causes on the command line."""

import json

import numpy as np
import pandas as pd
import pytest

import harmonium as hm
from harmonium.cli import main
from harmonium.errors import EndpointWarning
from harmonium.table.endpoint_columns import EndpointReader
from harmonium.table.endpoints import parse_endpoints


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    rng = np.random.default_rng(0)
    n = 80
    death, rec, end = rng.exponential(10.0, n), rng.exponential(8.0, n), rng.uniform(2.0, 20.0, n)
    os = np.minimum(death, end)
    df = pd.DataFrame({"age": rng.normal(60, 9, n), "os": os, "dead": (death <= end).astype(int)})
    df["rfs"], df["failed"] = np.minimum(rec, os), ((rec <= os) | (death <= end)).astype(int)
    df["why"] = np.where(rec <= os, "relapse", np.where(death <= end, "dead", "alive"))
    path = tmp_path_factory.mktemp("terminal") / "data.csv"
    df.to_csv(path, index=False)
    return path


ENDPOINTS = ["-e", "recurrence=rfs,failed,including=death", "-e", "death=os,dead"]


@pytest.fixture(scope="module")
def model(table):
    path = table.parent / "m.harmonium"
    arguments = [*ENDPOINTS, "--terminal", "death", "--drop", "why", "--hidden", "1", "--covariate-units", "0", "--iterations", "10"]
    assert main(["fit", str(table), *arguments, "--starts", "1", "-q", "-o", str(path)]) == 0
    return path


def test_fit_knows_the_terminal_endpoint(model):
    graph = hm.load(model).encoding.ordered.graph
    assert graph.terminal == ("death",)
    assert graph.intermediate == ("recurrence",)


def test_predict_writes_incidences_and_states(model, table, tmp_path):
    out = tmp_path / "p.csv"
    given = ["--given", "recurrence=rfs,failed,including=death", "--given", "death=os,dead", "--landmark", "1"]
    assert main(["predict", str(model), str(table), "--times", "5,9", *given, "-q", "-o", str(out)]) == 0
    found = pd.read_csv(out)
    states = ["event-free", "recurrence", "death without recurrence", "death after recurrence"]
    np.testing.assert_allclose(found[[f"{state}_5" for state in states]].sum(axis=1), 1.0)
    dead = found["death without recurrence_9"] + found["death after recurrence_9"]
    np.testing.assert_allclose(found["death_incidence_9"], dead, atol=1e-12)
    assert "death_survival_5" not in found


def test_explain_asks_what_python_asks(model, table, capsys):
    fitted = hm.load(model)
    assert main(["explain", str(model), str(table), "--rows", "0", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    own = fitted.explain(pd.read_csv(table)[["age"]][:1])["contribution"].droplevel("row")
    happened = fitted.predict_cumulative_incidence(pd.read_csv(table)[["age"]][:1], times=[found["time"]])
    assert (found["measure"], found["time"]) == ("incidence", float(np.median(fitted.encoding.endpoints[0].event_times)))
    assert found["rows"][0]["prediction"] == own["prediction"] == pytest.approx(happened[0, 0], abs=1e-12)


def test_several_endpoints_are_explained_at_the_median_of_all_their_times(model, table):
    fitted, one = hm.load(model), pd.read_csv(table)[["age"]][:1]
    time = float(np.median(np.concatenate([own.event_times for own in fitted.encoding.endpoints])))
    first = ("recurrence", "death")
    found = fitted.explain(one, endpoint=first)["contribution"].droplevel("row")
    assert found["prediction"] == pytest.approx(fitted.predict_cumulative_incidence(one, endpoint=first, times=[time])[0, 0], abs=1e-12)


def test_evaluate_takes_the_options_of_fit_and_refuses_others(model, table, capsys):
    assert main(["evaluate", str(model), str(table), *ENDPOINTS, "--terminal", "death", "-q"]) == 0
    assert main(["evaluate", str(model), str(table), *ENDPOINTS, "--terminal", "none"]) == 2
    assert "the model was fitted with --terminal death, and keeps to it; found --terminal none" in capsys.readouterr().err


def test_evaluate_judges_incidences(model, table, capsys):
    assert main(["evaluate", str(model), str(table), *ENDPOINTS, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["endpoints"]
    assert found["recurrence"]["d_calibration"] is None
    assert found["recurrence"]["integrated_brier_score"] > 0.0


def test_the_warning_appears(table, capsys):
    plain = ["-e", "rfs=rfs,failed", "-e", "os=os,dead", "--drop", "why", "--dry-run"]
    assert main(["fit", str(table), *plain]) == 0
    assert "'os' looks terminal" in capsys.readouterr().err
    assert main(["fit", str(table), *plain, "--terminal", "none"]) == 0
    assert "looks terminal" not in capsys.readouterr().err


def test_the_page_shows_states(model):
    from harmonium.explorer.app import make_app

    assert any("states-figure" in key for key in make_app(hm.load(model)).callback_map)


def test_causes(table):
    df = pd.read_csv(table)
    reader = EndpointReader(["first=rfs,why,causes=relapse:relapse/death:dead"], df.columns)
    assert reader.names == ["relapse", "death"]
    known = parse_endpoints(reader.read(df))
    assert known.terminal == ("relapse", "death")
    np.testing.assert_array_equal(known.event.sum(axis=0), [(df["why"] == "relapse").sum(), (df["why"] == "dead").sum()])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("first=rfs,why,causes=relapse:relapse/death:gone", "never holds 'gone', the code of cause 'death'"),
        ("first=rfs,why,causes=relapse:relapse", "which are no causes, and only one of them can mean censored"),
        ("first=rfs,why,causes=relapse", "an endpoint must be written"),
        ("first=rfs,failed,including=death", "includes 'death', which is no endpoint"),
    ],
)
def test_mistakes(table, text, message):
    df = pd.read_csv(table)
    with pytest.raises(ValueError, match=message):
        read_and_checked(text, df)


def read_and_checked(text, df):
    reader = EndpointReader([text], df.columns, ())
    reader.read(df)
    reader.check(to_fit=True)


def test_new_rows_need_not_have_every_cause(table):
    """One patient, or a part of a long table; several values that mean none are refused all the same, across parts too."""
    df = pd.read_csv(table)
    text = "first=rfs,why,causes=relapse:relapse/death:dead"
    reader = EndpointReader([text], df.columns)
    assert not parse_endpoints(reader.read(df[df["why"] == "relapse"][:1])).event[:, 1].any()
    reader.check()
    reader = EndpointReader([text], df.columns)
    for word in ("alive", "lost"):
        reader.read(df[:1].assign(why=word))
    with pytest.raises(ValueError, match="'alive', 'lost', which are no causes"):
        reader.check()


def test_what_is_complete_keeps_its_terminal_endpoint(table):
    """So that a missing column is the only thing that is wrong."""
    df = pd.read_csv(table)
    texts = ["rec=rfs,failed,including=death", "death=os,dead", "other=no_such,dead"]
    reader = EndpointReader(texts, df.columns, ("death",))
    assert reader.complete(df.columns).names == ["rec", "death"]
    assert parse_endpoints(reader.complete(df.columns).read(df)).terminal == ("death",)
    without = [column for column in df.columns if column != "os"]
    assert reader.complete(without).names == []


def test_readers_of_parts_do_not_warn(table, recwarn):
    df = pd.read_csv(table)
    EndpointReader(["rfs=rfs,failed", "os=os,dead"], df.columns).read(df)
    assert not [w for w in recwarn if w.category is EndpointWarning]
