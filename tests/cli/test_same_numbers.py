"""The same predictions have the same metrics wherever they are shown: no façade computes its own."""

import json
import re

import pytest

import harmonium as hm
from harmonium.metrics import scorers
from harmonium.report.cross_validation import cross_validated
from harmonium.report.html import as_html
from harmonium.report.study import study_report
from tests.cli.conftest import ENDPOINTS, UNORDERED

SCORERS = {
    "concordance": (scorers.concordance_index_scorer, 1.0),
    "concordance_ipcw": (scorers.concordance_index_ipcw_scorer, 1.0),
    "integrated_brier_score": (scorers.neg_integrated_brier_score_scorer, -1.0),
    "d_calibration": (scorers.neg_d_calibration_scorer, -1.0),
}


def assert_same(scores, model, X, y):
    """Digit for digit those of ``evaluate`` and of the scorers."""
    table = hm.evaluate(model, X, y)
    assert list(scores) == list(table.index)
    for name, own in scores.items():
        assert own == pytest.approx(table.loc[name].to_dict(), rel=0.0, abs=0.0)
        for metric, (scorer, sign) in SCORERS.items():
            assert own[metric] == sign * scorer(model, X, y, endpoint=name)


def test_the_command_shows_what_the_library_computes(run, csv, model_file, model, X, y):
    found = json.loads(run("evaluate", model_file, csv, *ENDPOINTS, "--json").out)
    assert_same(found["endpoints"], model, X, y)
    assert found["log_likelihood"] == scorers.log_likelihood_scorer(model, X, y)
    shown = run("evaluate", model_file, csv, *ENDPOINTS).out
    for own in found["endpoints"].values():
        for metric in ("concordance", "concordance_ipcw", "integrated_brier_score", "log_likelihood"):
            assert f"{own[metric]:.4f} ±{own[f'{metric}_se']:.3f}" in shown
        assert f"{own['kaplan_meier_ibs']:.4f}" in shown


@pytest.fixture(scope="module")
def quick(X, y):
    return hm.SurvivalHarmonium(n_hidden=1, trainer=hm.Exact(n_starts=1, max_iter=10), random_state=0).fit(X, y)


@pytest.mark.slow
def test_the_report_shows_what_the_library_computes(quick, X, y):
    report = study_report(quick, X, y, "NVALT-8")
    assert_same(report.scores, cross_validated(quick, X, y, 5), X, y)
    cells = re.findall(r"<td[^>]*>([^<]*)</td>", as_html(report.document))
    for own in report.scores.values():
        for metric in ("concordance", "concordance_ipcw", "integrated_brier_score"):
            assert f"{own[metric]:.3f} ±{own[f'{metric}_se']:.3f}" in cells
        assert f"{own['kaplan_meier_ibs']:.3f}" in cells
        assert f"{own['d_calibration_p']:.3f}" in cells


@pytest.mark.slow
def test_a_model_file_remembers_the_scores_of_its_report(run, csv, quick, X, y, tmp_path):
    small = ["--hidden", 1, "--starts", 1, "--iterations", 10, "--drop", "patient"]
    done = run("fit", csv, *UNORDERED, *small, "-o", tmp_path / "m.harmonium", "--report", tmp_path / "page.html")
    assert done.code == 0, done.err
    found = json.loads(run("info", tmp_path / "m.harmonium", "--json").out)["evaluation"]
    assert_same(found["scores"], cross_validated(quick, X, y, 5), X, y)
    shown = run("info", tmp_path / "m.harmonium").out
    for own in found["scores"].values():
        assert f"{own['concordance']:.4f} ±{own['concordance_se']:.3f}" in shown
