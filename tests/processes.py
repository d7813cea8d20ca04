"""Processes of their own that see the library as the tests see it, whatever is installed beside it."""

import os
import subprocess
import sys
from pathlib import Path

import harmonium

SOURCE = Path(harmonium.__file__).resolve().parents[1]
ROOT = Path(__file__).resolve().parents[1]
ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join([str(SOURCE), str(ROOT)]), "COLUMNS": "140"}
COMMAND = [sys.executable, "-m", "harmonium.cli"]
"""The command line: what the console script ``harmonium`` calls."""


def harmonium_command(*arguments, cwd):
    """Run the command line and wait for it."""
    return subprocess.run([*COMMAND, *map(str, arguments)], cwd=cwd, env=ENVIRONMENT, capture_output=True, text=True, check=False)


def python(code, *arguments, cwd=None):
    """Run some lines of Python and wait for them."""
    command = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.run(command, cwd=cwd, env=ENVIRONMENT, capture_output=True, text=True, check=False)
