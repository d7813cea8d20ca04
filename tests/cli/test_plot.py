"""``harmonium plot``: a figure for each kind, and nothing written where it cannot be drawn."""

import pytest

from tests.cli.conftest import UNORDERED

OS = ["-e", "os=os_mth,os_event"]
ORDERED = ["-e", "recurrence=rfs_mth,rfs_event,including=death", "-e", "death=os_mth,os_event"]


@pytest.fixture(scope="module")
def ordered(folder):
    """A model with a terminal endpoint."""
    from harmonium.cli import main

    small = ["--drop", "patient", "--hidden", "1", "--starts", "1", "--iterations", "5", "--covariate-units", "0", "-q"]
    path = folder / "ordered.harmonium"
    assert main(["fit", str(folder / "data.csv"), *ORDERED, "--terminal", "death", *small, "-o", str(path)]) == 0
    return path


def is_figure(path):
    start = path.read_bytes()[:200]
    return {".png": start.startswith(b"\x89PNG"), ".pdf": start.startswith(b"%PDF"), ".svg": b"<?xml" in start}[path.suffix]


@pytest.mark.parametrize("ending", [".png", ".pdf", ".svg"])
def test_every_kind_is_drawn(run, csv, model_file, ordered, tmp_path, ending):
    commands = {
        "kaplan-meier": [csv, *UNORDERED, "--by", "arm", "--unit", "months", "--until", 60],
        "curves": [model_file, csv, "--rows", "0,7", "--endpoint", "rfs"],
        "incidence": [ordered, csv, *ORDERED, "--until", 60],
        "states": [ordered, csv, "--rows", 3],
        "effects": [model_file, csv, "--time", 24],
        "calibration": [model_file, csv, *OS, "--time", 24, "--groups", 3],
    }
    for kind, arguments in commands.items():
        output = tmp_path / f"{kind}{ending}"
        done = run("plot", kind, *arguments, "-o", output)
        assert done.code == 0, done.err
        assert done.err.endswith(f"wrote {output}\n")
        assert is_figure(output)


def test_curves_of_an_endpoint_that_death_prevents_are_incidences(run, csv, ordered, tmp_path):
    done = run("plot", "curves", ordered, csv, "--rows", "0,7", "-e", "recurrence", "-o", tmp_path / "a.svg")
    assert done.code == 0, done.err
    assert "<!-- Cumulative incidence (recurrence) -->" in (tmp_path / "a.svg").read_text()


def test_calibration_of_an_endpoint_that_death_prevents_names_the_command(run, csv, ordered, tmp_path):
    done = run("plot", "calibration", ordered, csv, *ORDERED, "--time", 24, "-o", tmp_path / "a.png")
    assert done.code == 2
    assert "harmonium plot incidence" in done.err


def test_numbers_make_thirds(run, csv, tmp_path):
    done = run("plot", "kaplan-meier", csv, *UNORDERED, "--by", "age", "-o", tmp_path / "a.svg")
    assert done.code == 0, done.err
    assert "<!-- Number at risk, by age -->" in (tmp_path / "a.svg").read_text()


BAD = {
    "no column to group by": (["kaplan-meier", "CSV", *OS, "--by", "arms"], "did you mean 'arm'?"),
    "a row that is not there": (
        ["curves", "MODEL", "CSV", "--rows", "1,200"],
        "must be numbers from 0 to 199, such as 0,3; found '200'",
    ),
    "an unknown endpoint": (["curves", "MODEL", "CSV", "-e", "oss"], "there is no endpoint 'oss'"),
    "no states": (["states", "MODEL", "CSV"], "has no terminal endpoint, and so no states; fit it with --terminal NAME"),
    "no time": (["calibration", "MODEL", "CSV", *OS], "--time"),
    "a time beyond": (["calibration", "MODEL", "CSV", *OS, "--time", 500], "nothing was observed at 500"),
    "an unknown kind": (["forest"], "forest"),
}


@pytest.mark.parametrize("case", BAD)
def test_what_cannot_be_drawn_is_refused(run, csv, model_file, tmp_path, case):
    arguments, fragment = BAD[case]
    output = ["-o", tmp_path / "a.png"] if len(arguments) > 1 else []
    done = run("plot", *[{"CSV": csv, "MODEL": model_file}.get(argument, argument) for argument in arguments], *output)
    assert (done.code, done.out) == (2, "")
    (error,) = [line for line in done.err.splitlines() if not line.startswith("warning: ")]
    assert fragment in error
    assert not any(tmp_path.iterdir())


def test_another_ending_is_refused(run, csv, tmp_path):
    done = run("plot", "kaplan-meier", csv, *OS, "-o", tmp_path / "a.xlsx")
    assert (done.code, done.err) == (2, f"error: the output must end with .png, .pdf, .svg; found '{tmp_path / 'a.xlsx'}'\n")
