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

__all__ = ["TODAY", "VERSION_0_1", "result_of"]

_COMMIT = "e49ca44"
_ROOT = Path(__file__).resolve().parent.parent

TODAY = _ROOT / "src"
VERSION_0_1 = _ROOT / ".cache" / "version-0.1" / "src"


def result_of(program: str, source: Path, *arguments: str) -> Any:
    """What a program that imports ``harmonium`` from a source prints, as JSON."""
    _unpack()
    environment = {**os.environ, "PYTHONPATH": str(source)}
    if source == VERSION_0_1:
        environment["NUMBA_CACHE_DIR"] = str(source.parent / "compiled")
    command = [sys.executable, "-c", program, *arguments]
    done = subprocess.run(command, cwd=source, env=environment, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def _unpack() -> None:
    """Version 0.1's source, once."""
    if not VERSION_0_1.exists():
        archive = subprocess.run(["git", "archive", _COMMIT, "src"], cwd=_ROOT, capture_output=True, check=True).stdout
        with tarfile.open(fileobj=io.BytesIO(archive)) as files:
            files.extractall(VERSION_0_1.parent, filter="data")
