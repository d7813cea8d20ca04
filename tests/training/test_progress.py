"""Progress is said on standard error, on a terminal and elsewhere."""

import harmonium as hm
from harmonium.training import progress as progress_module


def fit(verbose, sample_rows="auto"):
    X, y = hm.datasets.make_three_way(60, random_state=0)
    hm.SurvivalHarmonium(
        n_hidden=1, trainer=hm.Exact(n_starts=1, max_iter=5, sample_rows=sample_rows), verbose=verbose, random_state=0
    ).fit(X, y)


def test_a_fit_off_a_terminal_says_where_it_ended(capsys):
    fit(verbose=True)
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.startswith("fitting: ")
    assert "iterations, objective" in told.err
    assert told.err.endswith(" s\n")
    assert "\r" not in told.err


def test_a_long_fit_says_so_now_and_then(capsys, monkeypatch):
    monkeypatch.setattr(progress_module, "_ELSEWHERE", 0.0)
    fit(verbose=True)
    assert len(capsys.readouterr().err.splitlines()) > 3


def test_a_fit_in_stages_says_which_rows_it_is_about(capsys, monkeypatch):
    monkeypatch.setattr(progress_module, "_ELSEWHERE", 0.0)
    fit(verbose=True, sample_rows=40)
    said = capsys.readouterr().err
    assert said.index("now on a sample, objective") < said.index("now on all rows, objective")


def test_a_terminal_has_one_line_that_is_rewritten(capsys, monkeypatch):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    monkeypatch.setattr(progress_module, "_ON_TERMINALS", 0.0)
    fit(verbose=True)
    told = capsys.readouterr().err
    assert told.count("\r") > 3
    assert told.count("\n") == 1


def test_nothing_is_said_unless_it_is_asked_for(capsys):
    fit(verbose=False)
    assert capsys.readouterr().err == ""
