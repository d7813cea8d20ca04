"""Without a place to keep compiled code the library works all the same, and says once what it costs."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

USE = """
import warnings
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    from harmonium.numerics.exponential import exponentials
    from harmonium.units.truncated_gamma import interval_mass
import numpy as np
out = np.empty(2)
exponentials(np.array([0.0, 1.0]), out)
print(out.round(3).tolist(), exponentials.signatures != [], exponentials._cache.cache_path)
for warning in caught:
    print(warning.filename, warning.category.__name__, warning.message)
"""

FIT = """
import warnings
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    import harmonium as hm
    import pandas as pd
    table = pd.DataFrame({"age": [50.0, None, 70.0, 65.0], "months": [1.0, 2.0, 3.0, 4.0], "died": [1, 0, 1, 1]})
    y = hm.endpoints(table, os=("months", "died"))
    model = hm.SurvivalHarmonium(1, trainer=hm.Exact(n_starts=1), random_state=0, n_jobs=1).fit(table[["age"]], y)
    risk = model.predict(table[["age"]])
print(model.converged_, risk.shape, risk.max() < 0.0)
for warning in caught:
    print(warning.filename, warning.category.__name__, warning.message)
"""


@pytest.fixture
def unwritable(tmp_path):
    """A copy of the package where no cache directory can be made: files stand where Numba would make directories.

    Permissions would not do, since root may write anywhere.
    """
    file = tmp_path / "file"
    file.touch()
    package = tmp_path / "src" / "harmonium"
    shutil.copytree(ROOT / "src" / "harmonium", package, ignore=shutil.ignore_patterns("__pycache__"))
    for folder in (package, *package.rglob("*/")):
        (folder / "__pycache__").touch()
    below = str(file / "below")
    places = {"NUMBA_CACHE_DIR": below, "HOME": below, "XDG_CACHE_HOME": below, "PYTHONPATH": str(tmp_path / "src")}
    return {**os.environ, **places, "PYTHONDONTWRITEBYTECODE": "1"}


def run(environment, code=USE):
    done = subprocess.run([sys.executable, "-c", code], env=environment, cwd="/", capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_where_nothing_can_be_written_code_is_compiled_in_memory(unwritable):
    """Version 0.1 could not be imported: "cannot cache function ...: no locator available for file ..."."""
    result, *warned = run(unwritable)
    assert result == "[1.0, 2.718] True None"
    assert len(warned) == 1
    assert warned[0].startswith("<string> CompilationWarning compiled code cannot be kept")
    assert "NUMBA_CACHE_DIR" in warned[0]


@pytest.mark.compiles
def test_where_nothing_can_be_written_a_whole_fit_says_once_that_it_compiles(unwritable):
    result, *warned = run({**unwritable, "NUMBA_OPT": "0"}, FIT)  # not optimised, which takes most of the time
    assert result == "True (4,) True"
    assert len(warned) == 1
    assert warned[0].startswith("<string> CompilationWarning compiled code cannot be kept")


@pytest.mark.slow
def test_where_something_can_be_written_nothing_is_said(unwritable, tmp_path):
    result, *warned = run({**unwritable, "NUMBA_CACHE_DIR": str(tmp_path / "cache")})
    assert result.startswith("[1.0, 2.718] True /")
    assert warned == []
