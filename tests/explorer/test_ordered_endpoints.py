"""The page of a model in which death is terminal: incidences, states, and what cannot be."""

import numpy as np
import pandas as pd
import pytest

import harmonium as hm
from harmonium.explorer import figures
from harmonium.explorer.answers import bands_of, curves_of, reasons_of, scenario_table, states_of, tables
from harmonium.explorer.app import make_app
from harmonium.explorer.cohort import cohort_answers, forms_of
from harmonium.explorer.schema import Schema
from harmonium.explorer.tabs import model as model_tab
from harmonium.explorer.validation import Patient, parse_form

from .conftest import Page


@pytest.fixture(scope="module")
def schema(ordered_model):
    return Schema.of(ordered_model, "months")


@pytest.fixture(scope="module")
def page(ordered_model, schema):
    return Page(make_app(ordered_model, unit="months"), schema)


def known(page, **endpoints):
    states = {name: state for name, (state, _) in endpoints.items()}
    return page.form(states=states, times={name: time for name, (_, time) in endpoints.items()})


def test_states_are_those_of_the_library(ordered_model, schema, page):
    relapsed = parse_form(schema, known(page, recurrence=("event", "8")))
    states = states_of(ordered_model, schema, relapsed)
    X, _ = hm.datasets.load_nvalt8()
    nobody = pd.DataFrame({name: [None] for name in X.columns})
    given = pd.DataFrame({("recurrence", "lower"): [8.0], ("recurrence", "upper"): [8.0]})
    expected = ordered_model.prognosis(nobody, given=given).state_probabilities(states.times)
    for name, own in states.probabilities.items():
        np.testing.assert_allclose(own, expected[name][0], atol=1e-12)
    np.testing.assert_allclose(sum(states.probabilities.values()), 1.0, atol=1e-12)
    assert sum(states.means.values()) == pytest.approx(states.until)
    assert states.probabilities["event-free"][states.times < 8.0].min() == pytest.approx(1.0, abs=1e-12)
    assert states.probabilities["event-free"][states.times >= 8.0].max() == 0.0


def test_the_figure_stacks_them(ordered_model, schema):
    drawn = figures.states_figure(schema, states_of(ordered_model, schema, Patient.unknown(schema)))
    assert [trace["name"] for trace in drawn["data"]] == ["event-free", "recurrence", "death without recurrence", "death after recurrence"]
    assert {trace["stackgroup"] for trace in drawn["data"]} == {"states"}


def test_receptive_fields_are_empty_where_a_harmonium_does_not_have_the_column(ordered_model, schema):
    nobody, _ = tables(schema, [Patient.unknown(schema)])
    fields = ordered_model.receptive_fields(nobody)
    (heat,), layout = (figures.fields_figure(fields)[name] for name in ("data", "layout"))
    assert [[value is None for value in row] for row in heat["z"]] == fields.isna().to_numpy().tolist()
    assert [[not text for text in row] for row in heat["text"]] == fields.isna().to_numpy().tolist()
    assert heat["zmax"] == fields.abs().max(axis=None)
    assert layout["xaxis"]["ticktext"] == ["recurrence h0", "recurrence h1", "death h0", "death h1"]


def test_curves_are_incidences(ordered_model, schema):
    nobody = Patient.unknown(schema)
    curves = curves_of(ordered_model, schema, [nobody])
    drawn = figures.patient_figure(schema, curves, curves)
    lines = [np.array(trace["y"]) for trace in drawn["data"]]
    assert all(abs(line[0]) < 1e-12 and (np.diff(line) >= -1e-12).all() for line in lines)
    assert drawn["layout"]["yaxis"]["title"]["text"] == "probability of an event"
    table = scenario_table(schema, ["A"], [nobody], curves)
    np.testing.assert_allclose(table["incidence"], np.concatenate(list(1.0 - curves.survival[0])))


def test_bands_are_the_librarys_intervals_and_enclose_the_curves(ordered_model, schema, page):
    relapsed = parse_form(schema, known(page, recurrence=("event", "8")))
    bands, curves = bands_of(ordered_model, schema, relapsed), curves_of(ordered_model, schema, [relapsed])
    X, _ = hm.datasets.load_nvalt8()
    nobody = pd.DataFrame({name: [None] for name in X.columns})
    given = pd.DataFrame({("recurrence", "lower"): [8.0], ("recurrence", "upper"): [8.0]})
    expected = ordered_model.prognosis(nobody, given=given).survival("death", bands.times, interval=0.95)
    np.testing.assert_allclose(bands.lower[1], expected.lower[0], atol=1e-9)
    np.testing.assert_allclose(bands.upper[1], expected.upper[0], atol=1e-9)
    at = np.interp(bands.times, curves.times, curves.survival[0, 1])
    assert ((bands.lower[1] <= at + 1e-3) & (at <= bands.upper[1] + 1e-3)).all()
    alive = parse_form(schema, known(page, recurrence=("event", "8"), death=("free", "12")))
    certain = bands_of(ordered_model, schema, alive)
    assert (certain.lower[1][certain.times <= 12.0] > 1.0 - 1e-9).all()
    figure = figures.patient_figure(schema, curves, curves, bands)
    assert sum(trace.get("fill") == "toself" for trace in figure["data"]) == 2
    assert sum(trace.get("fill") == "toself" for trace in figures.patient_figure(schema, curves, curves)["data"]) == 0


@pytest.mark.parametrize(
    ("endpoints", "line"),
    [
        (
            {"recurrence": ("event", "12"), "death": ("event", "9")},
            "an event of recurrence at 12 cannot be: death was at 9, and ends everything",
        ),
        (
            {"recurrence": ("free", "12"), "death": ("event", "9")},
            "no event of recurrence until 12 cannot be: death was at 9, and ends everything",
        ),
    ],
)
def test_what_cannot_be_is_refused_with_a_reason(page, endpoints, line):
    states = {name: state for name, (state, _) in endpoints.items()}
    times = {name: time for name, (_, time) in endpoints.items()}
    answer = page.post(page.patient(states=states, times=times))
    assert answer.json["response"]["patient-message"]["children"] == line


def test_an_age_of_two_hundred_is_refused_and_one_of_ninety_is_not(page, schema):
    with pytest.raises(ValueError, match=r"age: 200 is too far from what was seen in training.*slip"):
        parse_form(schema, page.form({"age": "200"}))
    assert parse_form(schema, page.form({"age": "90"})).values[[c.name for c in schema.columns].index("age")] == 90.0


def test_nobody_is_told_that_death_before_a_recurrence_is_not_excluded(page, schema):
    assert parse_form(schema, known(page, recurrence=("event", "8"))).hints == ()
    assert "recurrence before 9 is not excluded" in parse_form(schema, known(page, death=("event", "9"))).hints[0]


def test_a_cohort_has_incidences_and_states(ordered_model, schema):
    X, _ = hm.datasets.load_nvalt8()
    answers = cohort_answers(ordered_model, schema, X.iloc[:5], [12.0])
    states = ["event-free_12", "recurrence_12", "death without recurrence_12", "death after recurrence_12"]
    np.testing.assert_allclose(answers[states].sum(axis=1), 1.0)
    np.testing.assert_allclose(answers["death_incidence_12"], answers[states[2:]].sum(axis=1))


def test_rows_of_a_cohort_become_forms(ordered_model, schema):
    X, _ = hm.datasets.load_nvalt8()
    X = X.iloc[:20].copy()
    X.loc[X.index[3], ["age", "stage"]] = None
    forms = forms_of(schema, X)
    for row in range(20):
        empty = {"states": [""] * 2, "times": [""] * 2}
        patient = parse_form(schema, {"covariates": [own[row] for own in forms], **empty})
        for column, value in zip(schema.columns, patient.values, strict=True):
            actual = X[column.name].iloc[row]
            assert value is None if pd.isna(actual) else value == actual


def test_reasons_add_up_and_are_the_librarys(ordered_model, schema, page):
    patient = parse_form(schema, page.form({"age": "70", "stage": "IIIb"}, {"recurrence": "event"}, {"recurrence": "8"}))
    reasons = reasons_of(ordered_model, schema, patient, 1)
    assert sum(share for _, share in reasons.contributions) == pytest.approx(reasons.prediction - reasons.average, abs=1e-12)
    assert {words for words, _ in reasons.contributions} == {"age 70", "stage IIIb"}
    X, _ = hm.datasets.load_nvalt8()
    one = pd.DataFrame({name: [None] for name in X.columns}).assign(age=70.0, stage="IIIb")
    asked = ordered_model.explain(one, endpoint="death")["contribution"].droplevel("row")  # as Python answers by default
    assert reasons.prediction == asked["prediction"]
    assert dict(reasons.contributions) == {"age 70": asked["age"], "stage IIIb": asked["stage"]}
    assert len(figures.reasons_figure(reasons)["data"][0]["x"]) == 2


def test_reasons_speak_of_what_the_curve_shows(ordered_model, schema, page):
    form = page.form({"stage": "IIIb"}, {}, {})
    patient = parse_form(schema, form)
    reasons = reasons_of(ordered_model, schema, patient, 0)
    curves = curves_of(ordered_model, schema, [patient])
    figure = figures.patient_figure(schema, curves, curves)
    drawn = figure["data"][-2]  # the first endpoint of the patient
    assert figure["layout"]["yaxis"]["title"]["text"] == schema.probability("event") == "probability of an event"
    assert np.interp(reasons.time, drawn["x"], drawn["y"]) == pytest.approx(reasons.prediction, abs=2e-3)
    worse = reasons.prediction > reasons.average
    (colour,) = figures.reasons_figure(reasons)["data"][0]["marker"]["color"]
    assert colour == figures.COLOURS[1 if worse else 0]


def test_metrics_that_are_not_defined_are_dashes(ordered_model, schema):
    scores = {name: {"concordance": 0.61, "d_calibration_p": p} for name, p in (("recurrence", np.nan), ("death", 0.745))}
    shown = str(model_tab.layout(ordered_model.with_evaluation("5-fold cross-validation", scores), schema))
    assert "nan" not in shown
    assert shown.count("'–'") == 1
    assert "'0.745'" in shown


def test_the_toolbar_stands_in_a_margin_of_its_own(ordered_model, schema):
    curves = curves_of(ordered_model, schema, [Patient.unknown(schema)])
    layout = figures.patient_figure(schema, curves, curves)["layout"]
    assert layout["modebar"]["orientation"] == "v"
    assert layout["margin"]["r"] >= 40  # the toolbar's width is 24


def test_the_model_tab_says_what_a_recurrence_means(ordered_model, schema):
    shown = str(model_tab.layout(ordered_model, schema))
    X, _ = hm.datasets.load_nvalt8()
    nobody = pd.DataFrame({name: [None] for name in X.columns})
    found = ordered_model.cross_ratio(nobody)
    assert "What an event says about those who had it" in shown
    for value in found["cross_ratio"]:
        assert f"{value:.2f}" in shown
