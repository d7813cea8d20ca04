"""Reports: self-contained pages whose numbers are the library's."""

import re
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest

import harmonium as hm
from harmonium.report import study_report
from harmonium.report.cross_validation import cross_validated
from harmonium.report.page import Page
from harmonium.report.study import N_STEPS, evaluated, table_of_columns, table_of_endpoints
from harmonium.studies.three_way import closed_form, reproduce_three_way

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
    """Names with markup, quotes and other scripts; a rare level; missing values."""
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
    return X, hm.endpoints(table, death=("t", "e"), **{"<i>relapse</i>": ("s", "f")})


@pytest.mark.slow
def test_a_report_holds_everything_and_fetches_nothing(odd_study):
    X, y = odd_study
    model = hm.SurvivalHarmonium(**QUICK).fit(X, y)
    steps = []
    page, method, scores = study_report(model, X, y, "A <study>", done=lambda: steps.append(1))
    assert len(steps) == N_STEPS
    parser = Addresses()
    parser.feed(page)
    assert parser.found
    assert all(address.startswith("data:image/png;base64,") for address in parser.found)
    assert not parser.tags & {"script", "b", "i", "link", "iframe", "object"}
    assert "url(" not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert "A &lt;study&gt;" in page
    for heading in ("What was inferred", "Training", "cross-validation", "Survival of three", "Dependence", "hidden units stand for"):
        assert heading in page
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
    page = Page("x")
    page.table(pd.DataFrame({"a": [1.23456, np.nan], "b": ["<td>", "y"]}), digits=2)
    assert re.findall(r"<td[^>]*>([^<]*)</td>", page.html()) == ["1.23", "&lt;td&gt;", "-", "y"]


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
