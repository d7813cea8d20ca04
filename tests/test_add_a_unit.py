"""The worked example of docs/add_a_unit.md is real: its files and changes, made to a copy of the package, pass the contract test."""

import hashlib
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.documents import ROOT

pytestmark = pytest.mark.slow  # the copy is compiled, and run in processes of its own

PAGE = ROOT / "docs" / "add_a_unit.md"
TESTS = ["__init__.py", "conftest.py", "models.py", "brute_force.py", "units/__init__.py", "units/test_contract.py"]


def blocks():
    return re.findall(r"^```(?:python|text)\n(.*?)^```$", PAGE.read_text(), flags=re.DOTALL | re.MULTILINE)


def make_copy(folder):
    """The package and the tests of units, with what the page adds."""
    shutil.copytree(ROOT / "src" / "harmonium", folder / "src" / "harmonium", ignore=shutil.ignore_patterns("__pycache__"))
    for name in TESTS:
        (folder / "tests" / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / "tests" / name, folder / "tests" / name)
    shutil.copy(ROOT / "pyproject.toml", folder)
    added, changed = [], []
    for block in blocks():
        first, _, rest = block.partition("\n")
        if named := re.fullmatch(r"# ((?:src|tests)/\S+\.py)", first):
            (folder / named[1]).write_text(rest)
            added.append(named[1])
        elif first.startswith("--- a/"):
            done = subprocess.run(
                ["git", "apply", "--unidiff-zero", "-"], input=block, cwd=folder, text=True, capture_output=True, check=False
            )
            assert done.returncode == 0, f"a change that the page shows does not fit any more:\n{done.stderr}{block}"
            changed += re.findall(r"^--- a/(\S+)$", block, flags=re.MULTILINE)
    return added, changed


def keep(made):
    """Bring a copy to where compiled code is found again: places differ by sources, and a file that did not change is not touched."""
    files = {path.relative_to(made): path.read_bytes() for path in sorted(made.rglob("*")) if path.is_file()}
    digest = hashlib.sha256(b"".join(content for content in files.values() if b"@compiled" in content)).hexdigest()[:16]
    kept = ROOT / ".cache" / f"added_unit-{digest}"
    for name, content in files.items():
        path = kept / name
        if not path.exists() or path.read_bytes() != content:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
    return kept


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    made = tmp_path_factory.mktemp("copy")
    added, changed = make_copy(made)
    assert added == ["src/harmonium/units/score.py", "tests/units/test_score.py"]
    assert changed[:2] == ["src/harmonium/units/registry.py", "tests/units/test_contract.py"]
    return keep(made)


def run(copy, *arguments):
    paths = os.pathsep.join([str(copy / "src"), str(copy)])
    environment = {**os.environ, "PYTHONPATH": paths, "NUMBA_CACHE_DIR": str(copy / "numba"), "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run([sys.executable, *arguments], cwd=copy, env=environment, text=True, capture_output=True, check=False)


def test_the_copy_is_what_runs(copy):
    assert Path(run(copy, "-c", "import harmonium; print(harmonium.__file__)").stdout).is_relative_to(copy)


def test_the_new_unit_passes_the_contract_test(copy):
    done = run(copy, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", "Score or every_unit", "tests/units/test_contract.py")
    assert done.returncode == 0, done.stdout
    assert int(re.search(r"(\d+) passed", done.stdout)[1]) > 15


@pytest.mark.compiles
def test_a_user_can_ask_for_it(copy):
    done = run(copy, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/units/test_score.py")
    assert done.returncode == 0, done.stdout
    assert "1 passed" in done.stdout
