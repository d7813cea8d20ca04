"""Runs what documents show: Python blocks, with their results, and commands.

Blocks of a document share one namespace and one empty folder, and run in order. A block marked ``text`` is not run; a test sees to it that
every block has a language that is known here.
"""

from __future__ import annotations

import doctest
import os
import re
import shlex
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path
from typing import Any

from sybil import Example, Sybil
from sybil.evaluators.doctest import NUMBER, OutputChecker
from sybil.parsers.markdown import CodeBlockParser, PythonCodeBlockParser

ROOT = Path(__file__).resolve().parents[1]
DOCUMENTS = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *sorted((ROOT / "docs").glob("*.md")),
    *sorted((ROOT / "docs/tutorials").glob("*.md")),
]
RUN = {"python", "sh"}
SHOWN = {"text"}


class Roughly(OutputChecker):
    """Numbers agree within a few units of the last digit that is written, or five per cent.

    Where a likelihood has several maxima of nearly the same height, rounding decides which of them a fit reaches, and rounding differs
    between processors.
    """

    def _remove_unwanted_precision(self, want: str, got: str) -> str:
        wanted, found = ([*self._number_re.finditer(text)] for text in (want, got))
        if len(wanted) != len(found):
            return got
        for w, g in reversed([*zip(wanted, found, strict=True)]):
            last_digit = 10.0 ** -len(w.group("fraction") or "")
            if abs(float(w.group()) - float(g.group())) <= max(3.5 * last_digit, 0.05 * abs(float(w.group()))):
                got = got[: g.start()] + w.group() + got[g.end() :]
        return got


def enter_empty_folder(namespace: dict[str, Any]) -> None:
    """Documents write where they stand."""
    namespace["__name__"] = "__main__"  # compiled functions are kept, and found again, by the name of a module that can be imported
    namespace["_home"], namespace["_folder"] = Path.cwd(), tempfile.TemporaryDirectory()
    os.chdir(namespace["_folder"].name)


def leave_folder(namespace: dict[str, Any]) -> None:
    """Go back, leave nothing behind."""
    plt = sys.modules.get("matplotlib.pyplot")
    if plt is not None:
        plt.close("all")
    os.chdir(namespace["_home"])
    namespace["_folder"].cleanup()


def run_commands(example: Example) -> None:
    """Run a block of commands, as in a shell whose first program folder is the environment's.

    What cannot be run is checked instead: of ``make`` that the target exists, of ``pip install`` that the extras do. A command that serves
    a page is awaited until it says so, then ended.
    """
    commands = re.sub(r"\\\n\s*", " ", example.parsed)
    for command in filter(None, (line.split(" #")[0].strip() for line in commands.splitlines())):
        words = shlex.split(command)
        if words[0] == "make":
            run(f"make -C {ROOT} --dry-run {shlex.join(words[1:])}")
        elif words[:2] == ["pip", "install"]:
            assert_extras_exist(words[2:])
        elif words[:2] == ["harmonium", "explore"]:
            serve(words)
        else:
            run(command)


def environment() -> dict[str, str]:
    return {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}", "COLUMNS": "100", "MPLBACKEND": "agg"}


def run(command: str) -> None:
    done = subprocess.run(["bash", "-euc", command], capture_output=True, text=True, env=environment(), check=False)
    assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"


def assert_extras_exist(words: list[str]) -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    for word in words:
        for extra in re.findall(r"\[(.*)\]", word):
            assert set(extra.split(",")) <= set(extras), word


def serve(words: list[str]) -> None:
    command = [*words, "--port", "0", "--no-browser"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment()) as server:
        assert server.stdout is not None
        seen = []
        for line in server.stdout:
            seen.append(line)
            if "http://127.0.0.1:" in line:
                break
        server.kill()
    assert any("http://127.0.0.1:" in line for line in seen), "".join(seen)


python = PythonCodeBlockParser(doctest_optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS | NUMBER)
python.doctest_parser.evaluator.runner._checker = Roughly()

documents = Sybil(
    parsers=[
        python,
        CodeBlockParser(language="sh", evaluator=run_commands),
    ],
    path=str(ROOT),
    patterns=[str(path.relative_to(ROOT)) for path in DOCUMENTS],
    setup=enter_empty_folder,
    teardown=leave_folder,
)
