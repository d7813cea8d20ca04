"""A command never overwrites what it reads, under whatever name and with whatever force."""

import os
import shutil

import pytest

OS = ["os=os_mth,os_event"]


@pytest.fixture
def here(folder, tmp_path, monkeypatch):
    """A directory of one's own with the study's files."""
    for name in ("data.csv", "model.harmonium"):
        shutil.copy(folder / name, tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def symlink(source, target):
    target.symlink_to(source.name)


def hard_link(source, target):
    os.link(source, target)


COMMANDS = {
    "predict": (["predict", "model.harmonium", "data.csv"], "-o", ".csv"),
    "impute": (["impute", "model.harmonium", "data.csv"], "-o", ".csv"),
    "sample": (["sample", "model.harmonium", "--given-covariates", "data.csv"], "-o", ".csv"),
    "fit": (["fit", "data.csv", "-e", *OS, "--drop", "patient"], "-o", ".harmonium"),
    "report": (["fit", "data.csv", "-e", *OS, "--drop", "patient", "-o", "new.harmonium"], "--report", ".html"),
}


READ = [(command, name) for command, (arguments, *_) in COMMANDS.items() for name in arguments if name in ("data.csv", "model.harmonium")]


@pytest.mark.parametrize("link", [symlink, hard_link])
@pytest.mark.parametrize("force", [[], ["--force"]])
@pytest.mark.parametrize(("command", "source"), READ)
def test_a_link_to_an_input_is_refused(run, here, command, source, force, link):
    arguments, option, ending = COMMANDS[command]
    target = here / f"linked{ending}"
    link(here / source, target)
    assert_refused(run, here, [*arguments, option, target.name, *force], target.name)


@pytest.mark.parametrize("force", [[], ["--force"]])
@pytest.mark.parametrize("name", ["data.csv", "./data.csv", "inside/../data.csv"])
@pytest.mark.parametrize("command", ["predict", "impute", "sample"])
def test_an_input_itself_is_refused(run, here, command, name, force):
    (here / "inside").mkdir()
    assert_refused(run, here, [*COMMANDS[command][0], "-o", name, *force], name)


def assert_refused(run, here, arguments, output):
    before = {path.name: path.read_bytes() for path in here.iterdir() if path.is_file()}
    done = run(*arguments)
    assert (done.code, done.out) == (2, "")
    assert done.err == f"error: {output} is an input of this command; choose another output\n"
    assert {path.name: path.read_bytes() for path in here.iterdir() if path.is_file()} == before
