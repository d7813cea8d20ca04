"""From forms to numbers and words, without a browser."""

import math

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import pytest

import harmonium as hm
from harmonium.explorer import figures
from harmonium.explorer.answers import Edits, advance, curves_of, describe, joint_of, scenario_table, words_of_change
from harmonium.explorer.schema import Schema
from harmonium.explorer.validation import Patient, checked_grid, checked_label, checked_times, parse_form


@pytest.fixture
def relapsed(page, schema):
    return parse_form(schema, page.form({"age": "70,5", "stage": "IIIb"}, {"rfs": "event"}, {"rfs": "8"}))


def given(**known):
    return pd.DataFrame({(name, bound): [pair[side]] for name, pair in known.items() for side, bound in enumerate(("lower", "upper"))})


def rows(model, **values):
    X, _ = hm.datasets.load_nvalt8()
    one = X.iloc[[0]].copy().astype(object)
    one.loc[:, :] = None
    for name, value in values.items():
        one[name] = value
    return one


@pytest.mark.filterwarnings("ignore::harmonium.errors.UnknownEndpointWarning")  # the page has a hint instead
def test_medians_and_curves_are_those_of_the_library(model, schema, relapsed):
    curves = curves_of(model, schema, [relapsed, Patient.unknown(schema)])
    X, known = rows(model, age=70.5, stage="IIIb"), given(rfs=(8.0, 8.0))
    assert curves.medians[0, 0] == pytest.approx(model.predict_median(X, endpoint="os", given=known)[0], rel=1e-9)
    assert curves.medians[0, 1] == 8.0
    assert curves.medians[1, 0] == pytest.approx(model.predict_median(rows(model), endpoint="os")[0], rel=1e-9)
    expected = model.prognosis(X, given=known).survival("os", curves.times)
    np.testing.assert_allclose(curves.survival[0, 0], expected[0], rtol=1e-9)


def test_the_curve_of_a_known_event_falls_at_once(model, schema, relapsed):
    curves = curves_of(model, schema, [relapsed])
    np.testing.assert_array_equal(curves.survival[0, 1], curves.times < 8.0)


def test_event_free_until_a_time_is_certain_survival_until_then(model, schema, page):
    alive = parse_form(schema, page.form(states={"os": "free"}, times={"os": "24"}))
    curves = curves_of(model, schema, [alive])
    np.testing.assert_allclose(curves.survival[0, 0][curves.times <= 24.0], 1.0)
    assert curves.medians[0, 0] > 24.0


@pytest.mark.parametrize("at", ["0", "1e-9", "960"])
@pytest.mark.parametrize("state", ["free", "event"])
def test_extreme_times_have_answers(model, schema, page, state, at):
    curves = curves_of(model, schema, [parse_form(schema, page.form({"age": "129"}, {"os": state}, {"os": at}))])
    assert np.isfinite(curves.survival).all()
    assert not np.isnan(curves.medians).any()


def test_words_tell_the_edit_and_what_it_did(model, schema, relapsed, page):
    before = parse_form(schema, page.form({"age": "70,5", "stage": "IIIb"}))
    old, new = curves_of(model, schema, [before, relapsed]).medians
    words = words_of_change(schema, before, relapsed, old, new)
    assert words == f"rfs event at 8 months: median os {old[0]:.3g} → {new[0]:.3g} months"
    back = words_of_change(schema, relapsed, before, new, old)
    assert back.startswith("rfs unknown: median os ")
    assert "; median rfs 8 → " in back
    assert words_of_change(schema, before, Patient.unknown(schema), old, old).startswith("everything unknown: median os stays ")
    assert words_of_change(schema, before, before, old, old) == ""
    assert describe(schema, relapsed) == ["age 70.5", "stage IIIb", "rfs event at 8 months"]


def test_typing_on_in_one_field_is_one_edit(schema, page):
    empty, one, ten, staged = (page.form(x) for x in ({}, {"age": "7"}, {"age": "70"}, {"age": "70", "stage": "Ib"}))
    history = None
    for form, medians in ((empty, (1, np.inf)), (one, (2, 2)), (ten, (3, 3))):
        history = Edits.from_json(schema, advance(history, form, medians).to_json())
    assert (history.before, history.before_medians, history.now_medians) == (empty, (1.0, np.inf), (3.0, 3.0))
    history = advance(history, staged, (4, 4))
    assert (history.before, history.before_medians) == (ten, (3.0, 3.0))
    event, at = page.form(states={"rfs": "event"}), page.form(states={"rfs": "event"}, times={"rfs": "8"})
    history = None
    for form in (empty, event, at):
        history = advance(history, form, (0, 0))
    assert history.before == empty


def test_a_history_that_makes_no_sense_is_none(schema, page):
    good = advance(None, page.form(), (1, 2)).to_json()
    assert Edits.from_json(schema, good) is not None
    wrong = [None, 3, [], {}, {**good, "before": {}}, {**good, "now": 3}, {**good, "places": 3}, {**good, "now_medians": ["x", "y"]}]
    wrong += [{**good, "before_medians": [1]}, {name: value for name, value in good.items() if name != "places"}]
    assert [Edits.from_json(schema, stored) for stored in wrong] == [None] * len(wrong)


def test_joint_answers_are_those_of_the_library(model, schema, page):
    patient = parse_form(schema, page.form({"age": "50"}, {"rfs": "free"}, {"rfs": "6"}))
    for kind, ask in (("density", model.predict_joint_density), ("survival", model.predict_joint_survival)):
        joint = joint_of(model, schema, patient, (1, 0), kind, 7)
        times = {"rfs": joint.times[0], "os": joint.times[1]}
        np.testing.assert_allclose(joint.grid, ask(rows(model, age=50.0), times=times, given=given(rfs=(6.0, np.inf)))[0], rtol=1e-9)
        figure = figures.joint_figure(schema, joint, (1, 0), kind)
        go.Figure(figure)
        highest = np.quantile(joint.grid, 0.995) if kind == "density" else 1.0
        assert figure["data"][0]["z"][2][4] == pytest.approx(joint.grid[4, 2] / highest)


def test_there_is_no_joint_density_of_a_known_event(model, schema, relapsed):
    with pytest.raises(ValueError, match="The event of rfs is known"):
        joint_of(model, schema, relapsed, (0, 1), "density", 5)
    assert np.isfinite(joint_of(model, schema, relapsed, (0, 1), "survival", 5).grid).all()
    with pytest.raises(ValueError, match="two different endpoints"):
        joint_of(model, schema, relapsed, (1, 1), "survival", 5)


def test_the_numbers_of_scenarios_can_be_taken_home(model, schema, relapsed):
    patients = [relapsed, Patient.unknown(schema)]
    curves = curves_of(model, schema, patients)
    table = scenario_table(schema, ["relapsed", "nobody"], patients, curves)
    own = table[(table["scenario"] == "nobody") & (table["endpoint"] == "os")]
    np.testing.assert_array_equal(own["survival"], curves.survival[1, 0])
    assert set(own["known"]) == {"nothing known"}
    assert set(own["median"]) == {curves.medians[1, 0]}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"covariates": ["x"] * 13}, "arm must be unknown or one of its 2 levels; found 'x'"),
        ({"covariates": [""] * 12}, "a list of 13 covariates; found a list of 12"),
        ({"covariates": ["7", *[""] * 12]}, "arm must be unknown or one of its 2 levels; found '7'"),
        ({"covariates": [True, *[""] * 12]}, "found True"),
        ({"covariates": [*[""] * 7, "6o", *[""] * 5]}, "age must be a number; found '6o'"),
        ({"covariates": [*[""] * 7, "nan", *[""] * 5]}, "age must be a number; found 'nan'"),
        ({"covariates": [*[""] * 7, math.inf, *[""] * 5]}, "age must be a number; found inf"),
        ({"covariates": [*[""] * 7, 10**400, *[""] * 5]}, "age must be a number; found 1000"),
        ({"covariates": [*[""] * 7, {"a": 1}, *[""] * 5]}, "age must be a number; found an object of 1"),
        ({"covariates": [*[""] * 7, "9" * 5000, *[""] * 5]}, "age must be a number; found '999"),
        ({"states": ["dead", ""]}, "os must be one of unknown, free, event; found 'dead'"),
        ({"states": [["event"], ""]}, "found a list of 1"),
        ({"states": ["event", ""], "times": ["-1", ""]}, "the time of os must not be negative; found -1"),
        ({"states": ["event", ""], "times": ["soon", ""]}, "the time of os must be a number; found 'soon'"),
        (
            {"states": ["event", ""], "times": ["1e6", ""]},
            "the time of os must be at most 961.314, 10 times the last observed time; found 1e+06",
        ),
        ({"times": None}, "a list of 2 times; found None"),
    ],
)
def test_what_makes_no_sense_is_refused_with_its_field(schema, page, change, message):
    with pytest.raises(ValueError) as refused:  # noqa: PT011 - the text is compared below
        parse_form(schema, {**page.form(), **change})
    assert message in str(refused.value)
    assert len(str(refused.value)) < 200
    assert "\n" not in str(refused.value)


def test_unusual_values_are_taken_with_a_hint(schema, page):
    patient = parse_form(schema, page.form({"age": "120"}, {"os": "event", "rfs": "free"}, {"rfs": "500"}))
    assert patient.hints == (
        "age: 120 is outside of what was seen in training, 36 to 83",
        "os: enter a time",
        "rfs: 500 is beyond the last observed time in training, 96.1314",
    )
    assert patient.known == ((0.0, np.inf), (500.0, np.inf))


def test_grids_times_and_labels_are_bounded():
    for n in (0, 1, 201, 10**9, "10000000", "x", None, 3.5, True, [60]):
        with pytest.raises(ValueError, match="2 to 200 times on each side"):
            checked_grid(n)
    assert checked_times(" 12, 24;12 ") == [12.0, 24.0]
    for text in ("1," * 100, "x", "-1", 5, ["12"]):
        with pytest.raises(ValueError, match="time"):
            checked_times(text)
    assert checked_label("  ", "A") == "A"
    assert len(checked_label("x" * 10_000, "A")) == 60
    with pytest.raises(ValueError, match="a label must be text"):
        checked_label({"a": 1}, "A")


def test_figures_are_figures_and_show_names_as_text(odd_model):
    schema = Schema.of(odd_model)
    nobody = curves_of(odd_model, schema, [Patient.unknown(schema)])
    drawn = figures.patient_figure(schema, nobody, nobody)
    go.Figure(drawn)
    assert drawn["data"][-2]["name"] == "&lt;img src=x onerror=alert(2)&gt;"
    go.Figure(figures.comparison_figure(schema, ["<b>a</b>"], [2], nobody, nobody, 1))
    X = pd.DataFrame({column.name: [None] for column in schema.columns})
    fields = figures.fields_figure(odd_model.receptive_fields(X))
    go.Figure(fields)
    assert "<" not in str(fields["layout"])
    lines = [trace["line"] for trace in drawn["data"]]
    assert len({(line["color"], line["dash"]) for line in lines}) == len(lines)


def test_silence_about_an_endpoint_is_pointed_out(schema):
    form = {"covariates": [None] * len(schema.columns), "states": ["unknown", "event"], "times": [None, "8"]}
    assert parse_form(schema, form).hints == ("os before 8 is not excluded; if there was none, say: no event until 8",)
    assert parse_form(schema, {**form, "states": ["unknown", "unknown"]}).hints == ()
