"""The command, in processes of its own."""

import json
import signal
import subprocess
import time
from importlib.metadata import entry_points

import pandas as pd
import pytest

from harmonium.cli import main
from harmonium.table.files.formats import PART_ROWS
from tests.cli.conftest import ENDPOINTS, UNORDERED
from tests.processes import COMMAND, ENVIRONMENT, harmonium_command

pytestmark = pytest.mark.slow


def test_the_installed_command_is_the_one_tested_here():
    (script,) = entry_points(group="console_scripts", name="harmonium")
    assert script.load() is main


def test_a_study_from_fit_to_cohort(csv, tmp_path):
    fit = ["fit", csv, *UNORDERED, "--drop", "patient", "--hidden", 1, "--starts", 1, "--objective", 0.95, "-o", "m.harmonium"]
    commands = [
        fit,
        ["info", "m.harmonium", "--json"],
        ["predict", "m.harmonium", csv, "--times", "12,24", "-o", "predicted.csv"],
        ["evaluate", "m.harmonium", csv, *ENDPOINTS, "--json"],
        ["impute", "m.harmonium", csv, *ENDPOINTS, "--draws", 2, "-o", "imputed.parquet"],
        ["sample", "m.harmonium", "-n", 30, "-o", "-"],
    ]
    done = {command[0]: harmonium_command(*command, cwd=tmp_path) for command in commands}
    for name, process in done.items():
        assert process.returncode == 0, (name, process.stderr)
        assert "\x1b" not in process.stdout + process.stderr
    assert json.loads(done["info"].stdout)["rows"] == 200
    assert 0.5 < json.loads(done["evaluate"].stdout)["endpoints"]["os"]["concordance"] < 0.9
    assert len(pd.read_csv(tmp_path / "predicted.csv")) == 200
    assert len(pd.read_parquet(tmp_path / "imputed.parquet")) == 400
    assert done["sample"].stdout.count("\n") == 31
    again = harmonium_command(*fit, cwd=tmp_path)
    assert (again.returncode, again.stdout) == (2, "")
    assert again.stderr == "error: m.harmonium exists; use --force to overwrite it\n"


@pytest.fixture(scope="module")
def large(study, tmp_path_factory):
    """Twelve parts, so that a test that waits for the first may be late."""
    path = tmp_path_factory.mktemp("large") / "large.csv"
    header, rows = study.to_csv(index=False).split("\n", 1)
    path.write_text(f"{header}\n{rows * (12 * PART_ROWS // len(study))}")
    return path


@pytest.fixture
def interruptible():
    """A process that ignores Ctrl-C, as those in the background of a script do, has children that ignore it too."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL, signal.SIGINT])
def test_a_predict_that_is_killed_leaves_no_output(large, model_file, tmp_path, how):
    command = [*COMMAND, "predict", model_file, large, "--times", "12,24,36", "-o", "out.csv"]
    with subprocess.Popen(command, cwd=tmp_path, env=ENVIRONMENT, stderr=subprocess.PIPE, text=True) as process:
        while process.poll() is None and not any(path.stat().st_size for path in tmp_path.iterdir()):
            time.sleep(0.01)
        process.send_signal(how)
        _, err = process.communicate()
    assert process.returncode == {signal.SIGTERM: 143, signal.SIGKILL: -9, signal.SIGINT: 130}[how]
    assert "Traceback" not in err
    assert not (tmp_path / "out.csv").exists()
    assert len(list(tmp_path.iterdir())) == (how == signal.SIGKILL)  # nobody is left to remove the temporary file


def test_a_reader_that_has_enough_is_no_error(large, model_file, tmp_path):
    command = [*COMMAND, "predict", model_file, large, "--median"]
    with subprocess.Popen(command, cwd=tmp_path, env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "os_risk,os_median,rfs_risk,rfs_median\n"
        process.stdout.close()
        assert process.stderr.read() == ""
    assert process.returncode == 1


def test_bad_input_is_one_line_and_exit_code_2(run, csv, model_file, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty.csv").write_text("")
    (tmp_path / "damaged.harmonium").write_bytes(model_file.read_bytes()[:-50])
    (tmp_path / "taken.csv").write_text("mine")
    fit = ["fit", csv, "--drop", "patient"]
    commands = [
        ["fit", "nowhere.csv", *UNORDERED, "-o", "m.harmonium"],
        [*fit, "-e", "os=os_month,os_event", "-o", "m.harmonium"],
        [*fit, "-e", "os", "-o", "m.harmonium"],
        [*fit, "-e", "os=os_mth,arm", "-o", "m.harmonium"],
        [*fit, *UNORDERED, "-o", "no/such/folder/m.harmonium"],
        ["fit", "empty.csv", *UNORDERED, "-o", "m.harmonium"],
        ["info", "damaged.harmonium"],
        ["predict", model_file, csv, "--endpoint", "pfs"],
        ["predict", model_file, csv, "--times", "12,soon"],
        ["predict", model_file, csv, "-o", "taken.csv"],
        ["evaluate", model_file, csv, "-e", "os=os_event,os_mth"],
        ["impute", model_file, csv, "--draws", 0, "-o", "x.csv"],
        ["sample", model_file, "-n", 5, "-o", "x.docx"],
        ["reproduce", "four-way"],
        ["benchmark", "--models", "coks"],
        ["explore", "nowhere.harmonium", "--no-browser"],
        ["predikt"],
    ]
    for command in commands:
        done = run(*command)
        assert (done.code, len(done.err.splitlines())) == (2, 1), (command, done.err)
        assert done.err.startswith("error: ")
        assert done.out == "" or command[0] == "fit"
    process = harmonium_command(*commands[0], cwd=tmp_path)
    assert (process.returncode, process.stdout, len(process.stderr.splitlines())) == (2, "", 1)
    assert {path.name for path in tmp_path.iterdir()} == {"empty.csv", "damaged.harmonium", "taken.csv"}
    assert (tmp_path / "taken.csv").read_text() == "mine"
