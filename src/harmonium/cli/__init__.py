"""The command line, ``harmonium``: from tables in files to models, predictions and cohorts in files. No modelling logic.

A command is one file. What takes long to import is imported when a command runs, so that help is there at once.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.util import find_spec

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code; without typer and rich, say what to install."""
    if find_spec("typer") is None or find_spec("rich") is None:
        sys.stderr.write("error: the command line needs typer and rich: pip install 'harmonium[cli]'\n")
        return 2
    from harmonium.cli.app import main as run

    return run(arguments)
