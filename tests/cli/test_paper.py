"""The commands that show what this is about: demo, reproduce, benchmark, and the report of a fit."""

import json

import pandas as pd
import pytest
from PIL import Image

from tests.cli.conftest import UNORDERED
from tests.processes import ROOT, harmonium_command


@pytest.mark.slow
def test_demo_writes_a_page_and_a_summary(tmp_path):
    done = harmonium_command("demo", "-o", "shown", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    page = (tmp_path / "shown" / "report.html").read_text()
    assert "<script" not in page
    assert "http" not in page.replace("data:image/png;base64,", "")
    scores = pd.DataFrame(found["scores"]).set_index("model")
    assert scores.loc["harmonium at month 12, and what is known by then", "C-index"] > scores["C-index"].iloc[:3].max() + 0.1
    assert found["medians"]["if the cancer came back at month 8"] < found["medians"]["at the operation"]
    assert [path.name for path in (tmp_path / "shown").iterdir()] == ["report.html"]


@pytest.mark.slow
def test_the_three_way_figure_is_drawn_once(tmp_path):
    done = harmonium_command("reproduce", "three-way", "-o", "fig1.png", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert all(p > 0.05 for p in found["p_values"].values())
    with Image.open(tmp_path / "fig1.png") as image:
        assert min(image.size) > 500
    again = harmonium_command("reproduce", "three-way", "-o", "fig1.png", cwd=tmp_path)
    assert (again.returncode, len(again.stderr.splitlines())) == (2, 1)
    assert "use --force" in again.stderr


@pytest.mark.slow
def test_the_contrastive_fit_is_drawn_beside_the_exact_one(tmp_path):
    done = harmonium_command("reproduce", "three-way", "--contrastive", 200, "-o", "both.png", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    modes = pd.DataFrame(json.loads(done.stdout)["modes"])
    assert list(modes.columns) == ["colour", "t1", "t2", "generator", "closed form", "learned", "contrastive"]
    # After 200 epochs of 60,000 the modes have not been found: this is no copy of the exact fit.
    assert (modes["learned"] > 0.5 * modes["generator"]).all()
    assert (modes["contrastive"] < 0.5 * modes["generator"]).any()
    with Image.open(tmp_path / "both.png") as image:
        assert image.size[0] > 2.5 * image.size[1]


@pytest.mark.slow
def test_a_small_benchmark_leaves_table_and_figure(tmp_path):
    small = [
        "benchmark",
        "--datasets",
        "ncctg",
        "--rivals",
        ROOT / "benchmarks" / "rivals.py",
        "--models",
        "svm,harmonium-default",
        "--folds",
        2,
        "--candidates",
        1,
        "--jobs",
        1,
        "-o",
        "b",
    ]
    done = harmonium_command(*small, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "nested cross-validation" in done.stdout
    assert len(pd.read_csv(tmp_path / "b" / "scores.csv")) == 4
    assert (tmp_path / "b" / "scores.png").stat().st_size > 10_000
    assert {path.name for path in (tmp_path / "b" / "results").iterdir()} == {"ncctg-svm.csv", "ncctg-harmonium-default.csv"}
    planned = harmonium_command(*small, "--candidates", "svm=3", "--dry-run", "--json", cwd=tmp_path)
    assert planned.returncode == 0, planned.stderr
    work = pd.DataFrame(json.loads(planned.stdout)["work"]).set_index("model")
    assert work.loc["svm", ["done", "left"]].tolist() == [6, 8]
    assert work.loc["harmonium-default", ["done", "left"]].tolist() == [2, 0]
    assert work.loc["svm", "hours left"] > 0.0


def test_mistyped_studies_models_and_figures_are_refused(run, tmp_path):
    for arguments, message in [
        (["benchmark", "--datasets", "nvalt9", "-o", tmp_path / "x"], "did you mean 'nvalt8'?"),
        (["benchmark", "--models", "coks", "-o", tmp_path / "x"], "did you mean 'cox'?"),
        (["benchmark", "--candidates", "none", "-o", tmp_path / "x"], "must be a positive number or MODEL=NUMBER"),
        (["benchmark", "--candidates", "coks=3", "-o", tmp_path / "x"], "did you mean 'cox'?"),
        (["reproduce", "four-way", "-o", tmp_path / "x.png"], "three-way"),
        (["reproduce", "three-way", "-o", tmp_path / "x.jpeg"], "must end with .png, .pdf, .svg"),
    ]:
        done = run(*arguments)
        assert (done.code, len(done.err.splitlines())) == (2, 1), done.err
        assert message in done.err
    assert not any(tmp_path.iterdir())


@pytest.mark.slow
def test_a_fit_can_be_reported(run, csv, tmp_path):
    quick = ["--hidden", 1, "--starts", 1, "--drop", "patient", "-o", tmp_path / "m.harmonium"]
    done = run("fit", csv, *UNORDERED, *quick, "--report", tmp_path / "page.html")
    assert done.code == 0, done.err
    page = (tmp_path / "page.html").read_text()
    assert "data.csv: os and rfs" in page
    assert "FDG-PET SUVmax&gt;=10" in page
    found = json.loads(run("info", tmp_path / "m.harmonium", "--json").out)["evaluation"]
    assert found["method"] == "5-fold cross-validation"
    assert f"{found['scores']['os']['concordance']:.3f}" in page
    assert "predictions, by 5-fold cross-validation" in run("info", tmp_path / "m.harmonium").out
    refused = run("fit", csv, *UNORDERED, *quick[:-1], tmp_path / "n.harmonium", "--report", tmp_path / "page.html")
    assert (refused.code, refused.err.count("\n")) == (2, 1)
    assert not (tmp_path / "n.harmonium").exists()
