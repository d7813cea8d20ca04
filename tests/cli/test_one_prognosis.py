"""However much is asked of a row, it is encoded once and its hidden states are found once."""

from collections import Counter

import pytest

from harmonium.model import known_rows
from harmonium.table.encoding import Encoding
from harmonium.table.files import formats


@pytest.fixture
def calls(monkeypatch):
    """How often rows were encoded, and hidden states found."""
    counted = Counter()

    def counting(owner, name):
        original = getattr(owner, name)

        def call(*arguments, **named):
            counted[name] += 1
            return original(*arguments, **named)

        monkeypatch.setattr(owner, name, call)

    counting(Encoding, "covariates")
    counting(known_rows, "hidden_given")
    return counted


@pytest.mark.parametrize("given", [[], ["--given", "rfs=rfs_mth,rfs_event", "--given", "os=os_mth,os_event", "--landmark", 12]])
def test_all_predictions_of_both_endpoints_come_from_one_prognosis(run, csv, model_file, calls, tmp_path, given):
    done = run("predict", model_file, csv, "--times", "12,24,36", "--median", *given, "-o", tmp_path / "out.csv")
    assert done.code == 0, done.err
    assert "wrote 200 rows and 10 columns" in done.err
    assert calls == {"covariates": 1, "hidden_given": 1}


def test_a_table_in_parts_has_one_prognosis_for_each(run, csv, model_file, calls, tmp_path, monkeypatch):
    monkeypatch.setattr(formats, "PART_ROWS", 50)
    assert run("predict", model_file, csv, "--times", "12,24", "--median", "-o", tmp_path / "out.csv").code == 0
    assert calls == {"covariates": 4, "hidden_given": 4}
