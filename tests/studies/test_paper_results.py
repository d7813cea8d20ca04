"""The documentation's tables are those of the stored results."""

import shutil

import pandas as pd
import pytest

from benchmarks import paper
from harmonium.datasets.studies import STUDIES
from harmonium.studies.benchmark.summary import ORDER, mean_and_deviation
from tests.processes import ROOT

PAGE = (ROOT / "docs" / "reproduction.md").read_text(encoding="utf-8")


def rows_of(page):
    begin = page.index("<!-- scores:")
    lines = page[begin : page.index("<!-- end of scores")].splitlines()
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("| ")][2:]


def test_the_tables_are_those_of_the_stored_results():
    assert paper.document(PAGE) == PAGE


def test_there_is_a_row_for_every_study_and_model():
    assert {(row[0], row[1]) for row in rows_of(PAGE)} == {(study, model) for study in STUDIES for model in ORDER}


def test_the_numbers_are_means_over_the_stored_folds():
    """By a shorter way: the line of an outer fit in the file of its study and model."""
    protocol, results = paper.stored()
    table = mean_and_deviation(paper.complete_scores(protocol, results))
    study, model, kind = next(index for index in table.index if index[1] == "harmonium-default")
    lines = pd.read_csv(paper.FOLDER / f"{study}-{model}.csv", comment="#")
    fits = lines[lines["inner"] == -1][f"{kind} brier"]
    assert len(fits) == 5
    row = next(row for row in rows_of(PAGE) if row[:3] == [study, model, ""])
    assert row[4] == f"{fits.mean():.3f} ± {fits.std():.3f}"


@pytest.mark.slow
def test_without_a_result_its_row_says_so(tmp_path):
    shutil.copytree(paper.FOLDER, tmp_path / "paper")
    changed = tmp_path / "paper" / "ncctg-harmonium-default.csv"
    lines = changed.read_text().splitlines()
    changed.write_text("\n".join(line for line in lines if not line.startswith("3,")) + "\n")
    page = paper.document(PAGE, tmp_path / "paper")
    assert [row[3:] for row in rows_of(page) if row[:2] == ["ncctg", "harmonium-default"]] == [["not run", "", ""]]
