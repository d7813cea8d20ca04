"""The environment of the peer, ``harmoniums`` 0.1.2: built once, on demand, away from ours.

The peer needs a Numba of 2023, which in turn needs Python 3.11 and old versions of NumPy, SciPy and pandas. None of these
may leak into our own environment, so the peer gets one of its own, and :mod:`benchmarks.peer` talks to it through a pipe.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

__all__ = ["PEER_DIRECTORY", "PeerError", "ensure_environment"]

PEER_DIRECTORY = Path(__file__).resolve().parent.parent / ".cache" / "peer-venv"

_PYTHON = (3, 11)
_DEPENDENCIES = (
    "numba==0.57.*",
    "numba-scipy==0.4.*",
    "scipy==1.10.*",
    "numpy<1.25",
    "pandas<2",
    "lifelines<0.28",
    "scikit-survival<0.22",
)
# Without its dependencies: those that it declares itself no longer resolve.
_PEER = "harmoniums==0.1.2"
_FINISHED = "finished.txt"  # written last; holds the requirements, so that changing a pin rebuilds the environment
_REQUIREMENTS = "\n".join([*_DEPENDENCIES, _PEER]) + "\n"


class PeerError(RuntimeError):
    """The peer could not be built, could not be started, or reported an error."""


def ensure_environment(directory: str | Path = PEER_DIRECTORY) -> Path:
    """Build the environment of the peer unless it is there already.

    The first call takes minutes and needs a package index that pip can reach. The environment is built under another name
    and only takes its own once it is finished, so that an interrupted build leaves nothing that looks ready.

    Parameters
    ----------
    directory : path, optional
        Where the environment lives; ``.cache/peer-venv`` in the repository unless told.

    Returns
    -------
    pathlib.Path
        The Python interpreter of the environment.

    Raises
    ------
    PeerError
        When there is no Python 3.11, or when pip fails.
    """
    directory = Path(directory)
    if not _is_finished(directory):
        _build(directory)
    return _interpreter(directory)


def _interpreter(directory: Path) -> Path:
    """Where a virtual environment keeps its interpreter."""
    return directory / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def _is_finished(directory: Path) -> bool:
    """Whether an environment was built to the end, from the requirements of today, and still has its interpreter."""
    marker = directory / _FINISHED
    return marker.is_file() and marker.read_text(encoding="utf-8") == _REQUIREMENTS and _interpreter(directory).exists()


def _build(directory: Path) -> None:
    """Build next to ``directory`` and move the finished environment there.

    The scripts of a moved environment (``bin/pip``) still point to its old name; the interpreter, all that is used, does not.
    """
    python = _find_python()
    directory.parent.mkdir(parents=True, exist_ok=True)
    print(f"building the environment of {_PEER} in {directory} (once, a few minutes) ...", file=sys.stderr, flush=True)
    building = Path(tempfile.mkdtemp(prefix=f"{directory.name}.building-", dir=directory.parent))
    try:
        _run([python, "-m", "venv", str(building)])
        pip = [str(_interpreter(building)), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        _run([*pip, *_DEPENDENCIES])
        _run([*pip, "--no-deps", _PEER])
        (building / _FINISHED).write_text(_REQUIREMENTS, encoding="utf-8")
        if _is_finished(directory):  # another process was faster
            return
        if directory.exists():  # outdated or broken
            shutil.rmtree(directory)
        building.rename(directory)
    finally:
        shutil.rmtree(building, ignore_errors=True)


def _find_python() -> str:
    """Find an interpreter that the peer's version of Numba supports."""
    if sys.version_info[:2] == _PYTHON:
        return sys.executable
    name = "python{}.{}".format(*_PYTHON)
    found = shutil.which(name)
    if found is None:
        raise PeerError(
            f"{_PEER} needs Python {_PYTHON[0]}.{_PYTHON[1]} (its Numba supports nothing newer), but this is Python "
            f"{sys.version.split()[0]} and there is no {name} on the PATH. Install Python {_PYTHON[0]}.{_PYTHON[1]}, or "
            "start the benchmark with it."
        )
    return found


def _run(command: list[str]) -> None:
    """Run one step of the build; the end of its output goes into the error if it fails."""
    step = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", check=False)
    if step.returncode != 0:
        tail = "\n".join(step.stdout.splitlines()[-15:])
        raise PeerError(f"building the peer's environment failed at `{' '.join(command)}` (exit {step.returncode}):\n{tail}")
