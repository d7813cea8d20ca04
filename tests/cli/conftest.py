"""The NVALT-8 trial in files, a small model of it, and the command line in this process."""

from typing import NamedTuple

import pytest

import harmonium as hm
from harmonium.cli import main

ENDPOINTS = ["--endpoint", "os=os_mth,os_event", "--endpoint", "rfs=rfs_mth,rfs_event"]
UNORDERED = [*ENDPOINTS, "--terminal", "none"]  # for fit, as the paper has it


class Done(NamedTuple):
    code: int
    out: str
    err: str


@pytest.fixture
def run(capsys, monkeypatch):
    """Run a command; arguments may be anything that has a text."""
    monkeypatch.setenv("COLUMNS", "140")  # of tables, whatever runs the tests

    def command(*arguments):
        capsys.readouterr()
        code = main([str(argument) for argument in arguments])
        return Done(code, *capsys.readouterr())

    return command


@pytest.fixture(scope="session")
def study():
    """A table as somebody may have it: an identifier with leading zeros, covariates, times and events."""
    X, y = hm.datasets.load_nvalt8()
    frame = X.copy()
    frame.insert(0, "patient", [f"{number:04d}" for number in range(len(X))])
    for name in ("os", "rfs"):
        known = (y[name, "lower"] > 0.0) | (y[name, "upper"] < float("inf"))
        frame[f"{name}_mth"] = y[name, "lower"].where(known)
        frame[f"{name}_event"] = (y[name, "lower"] == y[name, "upper"]).astype(int).where(known)
    return frame


@pytest.fixture(scope="session")
def folder(tmp_path_factory, study):
    """Files that no test changes: data.csv, data.parquet and model.harmonium."""
    folder = tmp_path_factory.mktemp("study")
    study.to_csv(folder / "data.csv", index=False)
    study.to_parquet(folder / "data.parquet", index=False)
    settings = ["--hidden", 2, "--objective", 0.95, "--starts", 1, "--drop", "patient", "--quiet"]
    assert main([str(a) for a in ["fit", folder / "data.csv", *UNORDERED, *settings, "-o", folder / "model.harmonium"]]) == 0
    return folder


@pytest.fixture(scope="session")
def csv(folder):
    return folder / "data.csv"


@pytest.fixture(scope="session")
def model_file(folder):
    return folder / "model.harmonium"


@pytest.fixture(scope="session")
def model(model_file):
    return hm.load(model_file)


@pytest.fixture(scope="session", name="X")
def covariates(study):
    return study.drop(columns=["patient", "os_mth", "os_event", "rfs_mth", "rfs_event"])


@pytest.fixture(scope="session")
def y(study):
    return hm.endpoints(study, os=("os_mth", "os_event"), rfs=("rfs_mth", "rfs_event"), terminal=())
