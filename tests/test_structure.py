"""The house stays one that can be walked through: short functions, nothing written twice, no special cases by type."""

import ast
import inspect
import re
from pathlib import Path

import pytest

import harmonium as hm

SOURCE = Path(__file__).resolve().parents[1] / "src" / "harmonium"
FILES = sorted(SOURCE.rglob("*.py"))
_LONGEST_BODY, _LONGEST_REPETITION, _MOST_SETTINGS = 60, 12, 15


def name_of(path):
    return str(path.relative_to(SOURCE))


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_functions_fit_a_screen(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            body = node.body[1:] if ast.get_docstring(node) and len(node.body) > 1 else node.body
            assert body[-1].end_lineno - body[0].lineno + 1 <= _LONGEST_BODY, f"{node.name} is too long"


def test_nothing_is_written_twice():
    """No run of more than twelve lines of code stands in two places; imports, blank lines and comments aside."""
    seen = {}
    twice = []
    for path in FILES:
        lines = [(number, line.strip()) for number, line in enumerate(path.read_text().splitlines(), 1)]
        code = [(number, line) for number, line in lines if line and not line.startswith(("#", "import ", "from ", '"""', "@"))]
        for start in range(len(code) - _LONGEST_REPETITION):
            window = tuple(line for _, line in code[start : start + _LONGEST_REPETITION + 1])
            if sum(len(line) > 6 for line in window) < _LONGEST_REPETITION // 2:
                continue  # brackets and single names
            place = f"{name_of(path)}:{code[start][0]}"
            if window in seen:
                twice.append(f"{seen[window]} ~ {place}")
            seen.setdefault(window, place)
    assert not twice


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_no_layer_looks_at_types_or_at_the_names_of_parameters(path):
    if path.parent.name == "units" or "studies" in path.parts:
        return
    text = "\n".join(line for line in path.read_text().splitlines() if not line.lstrip().startswith(">>>"))
    assert not re.search(r"isinstance\((unit|u|block\.unit), (?!type\b)", text)
    assert "blocks[-1]" not in text
    assert not re.search(r"""\[["'](W|V|a|c|sigma)["']\]""", text)


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_the_library_imports_no_scikit_survival(path):
    assert not re.search(r"^\s*(import|from)\s+sksurv", path.read_text(), re.MULTILINE)


def test_the_constructor_keeps_what_describes_the_model():
    for estimator in (hm.SurvivalHarmonium, hm.SurvivalHarmoniumCV):
        assert len(inspect.signature(estimator).parameters) <= _MOST_SETTINGS


def test_everything_after_x_is_said_by_name():
    for name, method in inspect.getmembers(hm.Fitted, inspect.isfunction):
        if name.startswith("predict"):
            kinds = [parameter.kind for parameter in list(inspect.signature(method).parameters.values())[2:]]
            assert all(kind is inspect.Parameter.KEYWORD_ONLY for kind in kinds), name
