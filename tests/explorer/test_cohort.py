"""Dropped files: the answers and the errors of the command line."""

import base64
import gzip
import io
import re
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import harmonium as hm
from harmonium.errors import ExtrapolationWarning
from harmonium.explorer.answers import ask
from harmonium.explorer.cohort import cohort_answers, follow_up_in, known_of, most_rows, notes_on_times, read_cohort


def as_url(content):
    content = content.encode() if isinstance(content, str) else content
    return "data:text/csv;base64," + base64.b64encode(content).decode()


def csv_of(frame, **options):
    text = io.StringIO()
    frame.to_csv(text, **{"index": False, **options})
    return text.getvalue()


@pytest.fixture(scope="module")
def X():  # noqa: N802
    return hm.datasets.load_nvalt8()[0]


def test_answers_are_those_of_the_library(model, schema, X):
    frame, notes = read_cohort(schema, "a.csv", as_url(csv_of(X, index=True, index_label="patient")), 1000)
    assert not notes
    answers = cohort_answers(model, schema, frame, [12.0])
    assert list(answers) == ["row", "patient", "os_risk", "os_survival_12", "os_median", "rfs_risk", "rfs_survival_12", "rfs_median"]
    np.testing.assert_allclose(answers["os_median"], model.predict_median(X, endpoint="os"), rtol=1e-9)
    np.testing.assert_allclose(answers["rfs_risk"], model.predict(X, endpoint="rfs"), rtol=1e-9)


def test_follow_up_in_the_file_is_used(model, schema, X):
    _, y = hm.datasets.load_nvalt8()
    seen = hm.landmark(y, 12)
    written = X.assign(months=y["rfs", "lower"].clip(upper=12.0), seen=seen["rfs", "upper"].lt(np.inf).map({True: "yes", False: "no"}))
    url = as_url(csv_of(written, sep=";", decimal=","))
    frame, _ = read_cohort(schema, "a.csv", url, 1000)
    given = follow_up_in(model, "a.csv", url, "rfs=months,seen:yes")
    answers = cohort_answers(model, schema, frame, [24.0], given)
    expected = ask(model, X, seen[["rfs"]]).survival("os", [24.0])[:, 0]
    np.testing.assert_allclose(answers["os_survival_24"], expected, rtol=1e-9)
    assert np.ptp(answers["os_survival_24"] - cohort_answers(model, schema, frame, [24.0])["os_survival_24"]) > 0.05
    known = known_of(schema, given)
    row = int(np.flatnonzero(written["seen"] == "yes")[0])
    assert [known["states"][e][row] for e in (0, 1)] == ["", "event"]
    assert float(known["times"][1][row]) == written["months"].iloc[row]


def test_without_columns_nothing_is_known(model, schema, X):
    assert follow_up_in(model, "a.csv", as_url(csv_of(X)), " ;") is None
    assert known_of(schema, None) == {"states": [], "times": []}


def with_unit(y, unit):
    names = y.columns.get_level_values(0).unique()
    return pd.concat([y, pd.DataFrame({(name, "unit"): unit for name in names}, index=y.index)], axis=1)


def test_follow_up_in_another_unit_is_refused_or_converted(page, X):
    """In a model of months, days would be far beyond all that training has seen: all risks would be the same."""
    _, y = hm.datasets.load_nvalt8()
    model = hm.SurvivalHarmonium(1, trainer=hm.Exact(n_starts=1), random_state=0).fit(X, with_unit(y, "months")).fitted_
    months, seen = y["os", "lower"].clip(upper=36.0), (y["os", "upper"] <= 36.0).astype(int)
    url = as_url(csv_of(X.assign(days=months * 30.4375, months=months, seen=seen)))
    with pytest.raises(ValueError, match=r"'days' and 'seen': times of os range from .* in training ended at 96.1 months; .*,unit=days"):
        follow_up_in(model, "a.csv", url, "os=days,seen")
    for columns in ("os=days,seen,unit=days", "os=months,seen"):
        given = follow_up_in(model, "a.csv", url, columns)
        np.testing.assert_allclose(given["os", "lower"], months, rtol=1e-12)
        assert not notes_on_times(model, given, [24.0])
    response = page.post(page.cohort({"name": "a.csv", "contents": url}, given="os=days,seen"))
    assert "follow-up in training ended at 96.1; are they" in response.json["response"]["cohort-message"]["children"]


def test_times_beyond_training_are_pointed_out(model, X):
    late = hm.endpoints(pd.DataFrame({"t": [400.0, 5.0], "e": [0, 0]}), rfs=("t", "e"))
    assert notes_on_times(model, late, []) == [
        "follow-up in the file lasts until 400, beyond the last observed time of rfs in training, 96.1; is it in another unit?"
    ]
    found = notes_on_times(model, None, [12.0, 365.0])
    assert found[0] == "365 is beyond the last observed time of os in training, 96.1; predictions there are bounds"
    with pytest.warns(ExtrapolationWarning, match="400 lies beyond .* another unit than those of training"):
        model.predict(X[:2], given=late)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ("rfs=month,seen", "column 'month' is missing"),
        ("pfs=age,gender_female", "there is no endpoint 'pfs'"),
        ("rfs", "an endpoint must be written"),
        ("rfs=age,stage", "'stage' must hold 0 and 1"),
        (7, "must be a line of text"),
    ],
)
def test_follow_up_that_cannot_be_read_is_refused(model, X, columns, message):
    with pytest.raises(ValueError, match=message):
        follow_up_in(model, "a.csv", as_url(csv_of(X)), columns)


def test_levels_come_back_as_they_were_in_training(schema, X):
    written = X.assign(gender_female=X["gender_female"].map({0: "false", 1: "1.0"}), stage="unheard of")
    frame, notes = read_cohort(schema, "a.csv", as_url(csv_of(written)), 1000)
    assert frame["gender_female"].tolist() == X["gender_female"].tolist()
    assert notes == ["column 'stage': 200 values not seen in training ('unheard of'), treated as missing"]


@pytest.mark.parametrize("dialect", [{"sep": ";", "decimal": ","}, {"sep": "\t"}, {"sep": "|"}])
def test_any_usual_separator_will_do(schema, X, dialect):
    usual, _ = read_cohort(schema, "a.csv", as_url(csv_of(X)), 1000)
    found, notes = read_cohort(schema, "a.csv", as_url(csv_of(X, **dialect).encode("utf-16")), 1000)
    pd.testing.assert_frame_equal(found, usual)
    assert not notes


BAD = {
    "a typo": lambda X: csv_of(X.rename(columns={"age": "agee"})),
    "text among numbers": lambda X: csv_of(X.astype({"age": object}).assign(age=["old", *X["age"][1:]])),
    "nothing": lambda X: "",
    "only a header": lambda X: csv_of(X[:0]),
    "no text": lambda X: bytes(range(256)) * 9,
    "a column twice": lambda X: csv_of(pd.concat([X, X[["age"]]], axis=1)),
    "too many fields": lambda X: csv_of(X).replace("\n", ",1,2\n").replace(",1,2\n", "\n", 1),
    "a ragged row": lambda X: csv_of(X) + ",".join("1" * 30) + "\n",
    "an infinity": lambda X: csv_of(X.assign(bmi=[np.inf, *X["bmi"][1:]])),
}


@pytest.mark.parametrize("what", BAD)
def test_bad_files_get_the_errors_of_the_command_line(what, model, page, X, tmp_path, capsys):
    from harmonium.cli import main

    content = BAD[what](X)
    content = content.encode() if isinstance(content, str) else content
    (tmp_path / "bad.csv").write_bytes(content)
    model.save(tmp_path / "model.harmonium")
    assert main(["predict", str(tmp_path / "model.harmonium"), str(tmp_path / "bad.csv"), "-o", str(tmp_path / "out.csv")]) == 2
    expected = capsys.readouterr().err.strip().removeprefix("error: ").replace(f"{tmp_path}/", "").removeprefix("bad.csv: ")
    expected = re.sub(r" \(line \d+\)", "", expected)  # the command line can look at the file once more

    response = page.post(page.cohort({"name": "bad.csv", "contents": as_url(content)}))
    assert response.status_code == 200
    found = response.json["response"]["cohort-message"]["children"]
    assert found.removeprefix("bad.csv: ") == expected


def test_nothing_is_unpacked(schema, X):
    with pytest.raises(ValueError, match=r"a\.csv is not text"):
        read_cohort(schema, "a.csv", as_url(gzip.compress(csv_of(X).encode())), 1000)


def test_sizes_are_bounded(schema, X):
    content = as_url(csv_of(X))
    with pytest.raises(ValueError, match="more than 100 rows"):
        read_cohort(schema, "a.csv", content, 100)
    with pytest.raises(ValueError, match=r"a.csv is too large: at most 20 MB"):
        read_cohort(schema, "a.csv", "data:text/csv;base64," + "A" * 30_000_000, 100)
    with pytest.raises(ValueError, match=r"must end with \.csv; found a\.xlsx"):
        read_cohort(schema, "a.xlsx", content, 100)
    for contents in (None, 3, "", "data:,%%%", "x" * 500, {"a": 1}):
        with pytest.raises(ValueError, match=r"did not arrive|is empty"):
            read_cohort(schema, "a.csv", contents, 100)


def test_larger_models_answer_fewer_rows():
    assert [most_rows(SimpleNamespace(n_hidden=n, n_covariate_units=0)) for n in (2, 9, 10, 14, 15)] == [20_000, 20_000, 16_384, 1_024, 200]


def test_names_may_hold_anything(odd_model):
    from harmonium.explorer.schema import Schema

    schema = Schema.of(odd_model)
    first, second = (column.name for column in schema.columns)
    frame, _ = read_cohort(schema, "a.csv", as_url(csv_of(pd.DataFrame({first: [0.5, None], second: ["ü.{x}", None]}))), 100)
    assert len(cohort_answers(odd_model, schema, frame, [])) == 2
