"""The command line, ``harmonium``: from tables in files to models, predictions and cohorts in files. No modelling logic.

A command is one file. What takes long to import is imported when a command runs, so that help is there at once.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code; without typer and rich, say what to install."""
    try:
        from harmonium.cli.app import main as run
    except ModuleNotFoundError as error:
        if error.name not in ("typer", "rich"):
            raise
        sys.stderr.write("error: the command line needs typer and rich: pip install 'harmonium[cli]'\n")
        return 2
    return run(arguments)
