"""Help, information and complaints wait for nothing that takes long to import."""

import pytest

from tests.cli.conftest import ENDPOINTS, UNORDERED
from tests.processes import python

CODE = """
import sys
from harmonium.cli import main
code = main(sys.argv[1:])
print(*sorted({name.partition(".")[0] for name in sys.modules}), file=sys.stderr)
sys.exit(code)
"""
SLOW = {"numba", "scipy", "sklearn", "matplotlib", "lifelines", "sksurv", "dash", "joblib", "narwhals"}


def imported(done):
    return set(done.stderr.splitlines()[-1].split())


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["--help"],
        ["--version"],
        ["fit", "--help"],
        ["predict", "--help"],
        ["benchmark", "--help"],
        ["compare", "--help"],
        ["plot", "curves", "--help"],
    ],
)
def test_help_does_not_even_need_numpy(arguments):
    done = python(CODE, *arguments)
    assert done.returncode == 0
    assert not imported(done) & (SLOW | {"numpy", "pandas"})


def test_information_about_a_model_is_there_at_once(model_file):
    for arguments in (["info", model_file], ["info", model_file, "--json"]):
        done = python(CODE, *arguments)
        assert done.returncode == 0
        assert not imported(done) & SLOW


@pytest.mark.slow
def test_a_mistake_is_reported_at_once(csv, model_file, study, tmp_path):
    study.drop(columns="age").to_csv(tmp_path / "short.csv", index=False)
    study.assign(os_event=2).to_csv(tmp_path / "bad.csv", index=False)
    (tmp_path / "damaged.harmonium").write_bytes(model_file.read_bytes()[:-50])
    commands = [
        ["fit", csv, "-e", "os=os_month,os_event", "-o", "m.harmonium"],
        ["fit", "bad.csv", *UNORDERED, "-o", "m.harmonium"],
        ["fit", csv, *UNORDERED, "-o", "m.docx"],
        ["predict", model_file, "short.csv", "-o", "out.csv"],
        ["predict", model_file, csv, "-e", "pfs"],
        ["evaluate", model_file, "short.csv", *ENDPOINTS],
        ["impute", model_file, "short.csv", "-o", "out.csv"],
        ["sample", model_file, "--given-covariates", "nowhere.csv", "-o", "out.csv"],
        ["compare", csv, "-e", "os=os_month,os_event"],
        ["plot", "kaplan-meier", csv, "-e", "os=os_month,os_event", "-o", "a.png"],
        ["plot", "curves", model_file, "short.csv", "-o", "a.png"],
        ["info", "damaged.harmonium"],
        ["explore", "damaged.harmonium", "--no-browser"],
        ["reproduce", "three-way", "-o", "figure.docx"],
    ]
    for command in commands:
        done = python(CODE, *command, cwd=tmp_path)
        assert done.returncode == 2, (command, done.stderr)
        assert not imported(done) & SLOW, command
