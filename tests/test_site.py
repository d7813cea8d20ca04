"""The documentation is built without a warning, and its pages ask nobody for anything."""

import re
import subprocess
import sys

import pytest

from tests.documents import ROOT


@pytest.mark.slow
def test_the_documentation_builds_and_stands_alone(tmp_path):
    command = [sys.executable, "-m", "sphinx", "--fail-on-warning", "--keep-going", "--quiet", "docs", str(tmp_path)]
    built = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stdout + built.stderr
    pages = list(tmp_path.rglob("*.html"))
    assert len(pages) > 50
    for page in pages:
        fetched = re.findall(r'<(?:script|link|img|iframe|source)\b[^>]*\b(?:src|href)="((?:https?:)?//[^"]+)"', page.read_text())
        assert fetched == [], page.name
    numbers = re.findall(r'class="eqno">\((\d+)\)', (tmp_path / "model.html").read_text())
    assert numbers == [str(number) for number in range(1, len(numbers) + 1)]
    assert len(numbers) >= 5
