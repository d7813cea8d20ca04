"""Without an optional package, what needs it says in one line what to install, before it begins to work."""

import pytest

from tests.cli.conftest import UNORDERED
from tests.processes import python

WITHOUT = """
import sys
for name in sys.argv[1].split(","):
    sys.modules[name] = None
"""
COMMAND = f"""{WITHOUT}
from harmonium.cli import main
sys.exit(main(sys.argv[2:]))
"""


@pytest.mark.parametrize("missing", ["typer", "rich", "typer,rich"])
def test_the_command_line_needs_typer_and_rich(missing):
    done = python(COMMAND, missing, "--help")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "error: the command line needs typer and rich: pip install 'harmonium[cli]'\n"


@pytest.mark.parametrize("statement", ["import harmonium.plots", "import harmonium as hm; hm.plots", "import harmonium.plots.curves"])
def test_figures_need_matplotlib(statement):
    done = python(f"{WITHOUT}\n{statement}", "matplotlib")
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == "ModuleNotFoundError: figures need matplotlib: pip install 'harmonium[plots]'"


@pytest.mark.slow
def test_everything_but_figures_works_without_matplotlib():
    statements = "import harmonium as hm; hm.SurvivalHarmonium, hm.load, hm.evaluate, hm.datasets.load_nvalt8()"
    assert python(f"{WITHOUT}\n{statements}", "matplotlib,typer,rich,dash,pyarrow.parquet").returncode == 0


@pytest.mark.slow
def test_commands_say_what_to_install_and_write_nothing(csv, folder, model_file, tmp_path):
    fit = ["fit", csv, *UNORDERED, "--drop", "patient", "-o", "m.harmonium"]
    figures, page, parquet = (
        "figures need matplotlib: pip install 'harmonium[plots]'",
        "the page needs Dash: pip install 'harmonium[explorer]'",
        "Parquet files need pyarrow: pip install 'harmonium[files]'",
    )
    commands = [
        ("dash", ["explore", model_file, "--no-browser"], page),
        ("matplotlib", [*fit, "--report", "page.html"], figures),
        ("matplotlib", ["demo"], figures),
        ("matplotlib", ["reproduce", "three-way"], figures),
        ("matplotlib", ["benchmark", "--quick"], figures),
        ("pyarrow", ["fit", folder / "data.parquet", *UNORDERED, "-o", "m.harmonium"], parquet),
        ("pyarrow", ["predict", model_file, csv, "-o", "out.parquet"], parquet),
        ("pyarrow", ["sample", model_file, "-n", 5, "-o", "out.pq"], parquet),
    ]
    for missing, command, message in commands:
        done = python(COMMAND, missing, *command, cwd=tmp_path)
        assert (done.returncode, done.stdout, done.stderr) == (2, "", f"error: {message}\n"), command
    assert not any(tmp_path.iterdir())
