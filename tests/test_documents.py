"""Documents are whole: links lead somewhere, code blocks are run, equations that are cited exist. Their code runs by tests/documents.py."""

import ast
import re

import pytest

from tests.documents import DOCUMENTS, ROOT, RUN, SHOWN

MODEL = (ROOT / "docs" / "model.md").read_text()


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_what_documents_link_to_is_there(document):
    for target in re.findall(r"\]\(([^)#:]+)\)", document.read_text()):
        example = re.fullmatch(r"(?:\.\./)*gallery/(?:images/sphx_glr_)?(\w+?)(?:_\d+\.png|\.rst)", target)
        made = "README.rst" if example and example[1] == "index" else example and f"{example[1]}.py"
        path = ROOT / "examples" / made if made else document.parent / target
        assert path.exists(), target


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_code_block_is_run(document):
    fences = re.findall(r"^ *```+(.*)$", document.read_text(), flags=re.MULTILINE)
    languages = {opening.strip() for opening in fences[::2] if not opening.startswith("{")}
    assert languages <= RUN | SHOWN, "a block must say python, sh or text"


def test_equations_are_numbered_in_order():
    labels = re.findall(r"^\$\$ \((.*)\)$", MODEL, flags=re.MULTILINE)
    assert labels == [f"eq-{number}" for number in range(1, len(labels) + 1)]


def test_every_cited_equation_exists():
    numbers = {int(number) for number in re.findall(r"\(eq-(\d+)\)", MODEL)}
    cited = [
        (path, int(number))
        for folder in ("src", "tests", "benchmarks", "docs")
        for path in (ROOT / folder).rglob("*.[pm][yd]")
        if "_build" not in path.parts and "generated" not in path.parts
        for citation in re.findall(r"\beqs?\. (\d+(?:(?:, | and |, and )\d+)*)|\{eq\}`eq-(\d+)`", path.read_text())
        for number in re.findall(r"\d+", " ".join(citation))
    ]
    assert len(cited) > 20
    assert not [f"{path}: eq. {number}" for path, number in cited if number not in numbers]


def test_every_equation_is_cited():
    docstrings = [
        ast.get_docstring(node) or ""
        for path in (ROOT / "src").rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
    ]
    cited = {int(number) for text in docstrings for number in re.findall(r"\beq\. (\d+)", text)}
    assert cited == {int(number) for number in re.findall(r"\(eq-(\d+)\)", MODEL)}


def test_every_cited_section_exists():
    headings = set(re.findall(r"^## (\d+)\.", MODEL, flags=re.MULTILINE))
    cited = {
        number
        for path in (ROOT / "src").rglob("*.py")
        for number in re.findall(r"model\.md,\s+section\s+(\d+)", re.sub(r"\n\s*", " ", path.read_text()))
    }
    assert cited
    assert cited <= headings
