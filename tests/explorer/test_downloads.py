"""Downloads: what a spreadsheet would run becomes text, and numbers stay numbers."""

import csv
import io

import pandas as pd
import pytest

from harmonium.explorer.downloads import as_csv

FORMULAS = ["=1+1", "+a1", "-a1", "@sum(a1)", "\t=1", "\r=1", "\n=1", "-", "-1+2", '=a,"b"']
HARMLESS = ["-5", "+5", "-.5", "-5e-3", "5", "a=1", "'=1"]


@pytest.mark.parametrize("text", FORMULAS + HARMLESS)
def test_what_a_spreadsheet_would_run_becomes_text(text):
    written = as_csv(pd.DataFrame({text: [text], "risk": [-0.5]}))
    expected = f"'{text}" if text in FORMULAS else text
    assert list(csv.reader(io.StringIO(written, newline=""))) == [[expected, "risk"], [expected, "-0.5"]]
