"""Version 0.1, whose source is in the repository's history: what the present code is compared with, in a process of its own."""

from __future__ import annotations

import io
import os
import subprocess
import tarfile
from pathlib import Path

__all__ = ["ROOT", "SOURCE", "environment", "unpack"]

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / ".cache" / "version-0.1" / "src"

_COMMIT = "e49ca44"


def unpack() -> Path:
    """Its source, taken from the history once."""
    if not SOURCE.exists():
        archive = subprocess.run(["git", "archive", _COMMIT, "src"], cwd=ROOT, capture_output=True, check=True).stdout
        with tarfile.open(fileobj=io.BytesIO(archive)) as files:
            files.extractall(SOURCE.parent, filter="data")
    return SOURCE


def environment(source: Path) -> dict[str, str]:
    """Variables of a process that imports ``harmonium`` from some source, with compiled code of its own."""
    return {**os.environ, "PYTHONPATH": str(source), "NUMBA_CACHE_DIR": str(source.parent / ".cache" / "compared")}
