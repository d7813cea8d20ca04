"""Version 0.1, whose source is in the repository's history: a program runs with it, or with today's source, in a process of its own."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Any

__all__ = ["ROOT", "TODAY", "VERSION_0_1", "environment", "result_of", "unpack"]

_COMMIT = "e49ca44"
ROOT = Path(__file__).resolve().parent.parent

TODAY = ROOT / "src"
VERSION_0_1 = ROOT / ".cache" / "version-0.1" / "src"


def unpack() -> Path:
    """Version 0.1's source, taken from the history once."""
    if not VERSION_0_1.exists():
        archive = subprocess.run(["git", "archive", _COMMIT, "src"], cwd=ROOT, capture_output=True, check=True).stdout
        with tarfile.open(fileobj=io.BytesIO(archive)) as files:
            files.extractall(VERSION_0_1.parent, filter="data")
    return VERSION_0_1


def environment(source: Path) -> dict[str, str]:
    """Variables of a process that imports ``harmonium`` from a source; version 0.1 has compiled code of its own."""
    own = {"NUMBA_CACHE_DIR": str(source.parent / "compiled")} if source == VERSION_0_1 else {}
    return {**os.environ, "PYTHONPATH": str(source), **own}


def result_of(program: str, source: Path, *arguments: str) -> Any:
    """What a program that imports ``harmonium`` from a source prints, as JSON."""
    unpack()
    command = [sys.executable, "-c", program, *arguments]
    done = subprocess.run(command, cwd=source, env=environment(source), capture_output=True, text=True, check=True)
    return json.loads(done.stdout)
