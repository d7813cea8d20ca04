"""How a benchmark measures, shows and keeps its numbers.

A timing is worth nothing without the machine and the versions behind it, so both are written next to the rows.
"""

from __future__ import annotations

import json
import math
import os
import platform
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

__all__ = ["RESULTS", "best_of", "print_table", "write_result"]

RESULTS = Path(__file__).resolve().parent / "results"

_PACKAGES = ("numpy", "scipy", "numba", "harmonium")
_SHORTEST = 0.05  # seconds; shorter measurements are mostly the clock and the scheduler


def best_of(function: Callable[[], object], repeats: int) -> float:
    """Time a function: the best of some repeats, in wall seconds per call.

    A function that takes less than 0.05 s is called in a loop long enough to take that. The calls which find the length of
    the loop also warm the function up, so compilation does not count.

    Parameters
    ----------
    function : callable
        Called without arguments.
    repeats : int
        Measurements, at least one.

    Returns
    -------
    float
        Seconds per call.

    Examples
    --------
    >>> best_of(lambda: sum(range(10)), repeats=3) < 1e-3
    True
    """
    if repeats < 1:
        raise ValueError(f"repeats must be at least 1, got {repeats}")
    _seconds(function, 1)  # compile
    calls = 1
    while (elapsed := _seconds(function, calls)) < _SHORTEST:
        # Aim a fifth beyond the threshold, at most tenfold at once: the first estimates are poor.
        calls = min(10 * calls, max(calls + 1, math.ceil(1.2 * calls * _SHORTEST / max(elapsed, 1e-9))))
    return min([elapsed, *(_seconds(function, calls) for _ in range(repeats - 1))]) / calls


def _seconds(function: Callable[[], object], calls: int) -> float:
    """Wall seconds of a number of calls."""
    begin = time.perf_counter()
    for _ in range(calls):
        function()
    return time.perf_counter() - begin


def write_result(
    name: str,
    rows: Sequence[Mapping[str, Any]],
    results_dir: str | Path = RESULTS,
    *,
    peer_versions: Mapping[str, str] | None = None,
) -> Path:
    """Write the rows of a benchmark with their date, versions and machine.

    The file appears at once or not at all: an interrupted run leaves the previous result in place.

    Parameters
    ----------
    name : str
        Name of the benchmark and, with ``.json``, of the file.
    rows : sequence of mappings
        One measurement each. NumPy's scalars and arrays are allowed; a number that is not finite becomes null.
    results_dir : path, optional
        Where results live; ``benchmarks/results`` unless told.
    peer_versions : mapping, optional
        What the peer's ``versions`` reported, if it took part.

    Returns
    -------
    pathlib.Path
        The file written.
    """
    if not name or Path(name).name != name:
        raise ValueError(f"name must be a plain file name without extension or folder, got {name!r}")
    record: dict[str, Any] = {
        "name": name,
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "versions": _versions(),
        "machine": _machine(),
        "rows": [_plain(dict(row)) for row in rows],
    }
    if peer_versions is not None:
        record["peer_versions"] = dict(peer_versions)
    text = json.dumps(record, indent=2, allow_nan=False) + "\n"
    return _write_at_once(Path(results_dir) / f"{name}.json", text)


def _write_at_once(path: Path, text: str) -> Path:
    """Write a file under another name, then give it its own."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile("w", dir=path.parent, prefix=f".{path.name}.", delete=False, encoding="utf-8") as file:
        temporary = Path(file.name)
        try:
            file.write(text)
            file.close()
            temporary.chmod(0o644)  # temporary files are private; a result is not
            os.replace(temporary, path)
        except BaseException:
            file.close()
            temporary.unlink(missing_ok=True)
            raise
    return path


def _plain(value: Any) -> Any:
    """Reduce a value to what JSON knows."""
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if hasattr(value, "tolist"):  # NumPy
        return _plain(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def _versions() -> dict[str, str]:
    """Versions of Python and of the packages that matter, as far as they are installed."""
    found = {"python": platform.python_version()}
    for package in _PACKAGES:
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return found


def _machine() -> dict[str, Any]:
    """The processor, its cores and the memory; None for what the platform does not tell."""
    try:
        memory = round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1)
    except (AttributeError, OSError, ValueError):
        memory = None
    return {"cpu": _cpu_model(), "cores": os.cpu_count(), "memory_gib": memory, "platform": platform.platform(terse=True)}


def _cpu_model() -> str | None:
    """The processor's name for itself."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, None) or platform.processor() or platform.machine() or None


def print_table(title: str, rows: Sequence[Mapping[str, Any]]) -> None:
    """Print rows as an aligned plain text table: numbers to the right, text to the left.

    Examples
    --------
    >>> print_table("Draws", [{"who": "us", "seconds": 1.5e-07}, {"who": "peer", "seconds": None}])
    Draws
    who   seconds
    ----  -------
    us    1.5e-07
    peer        -
    """
    print(title)
    if not rows:
        print("(no rows)")
        return
    columns = list(dict.fromkeys(column for row in rows for column in row))
    texts = [[_cell(row.get(column)) for column in columns] for row in rows]
    widths = [max(len(column), *(len(line[i]) for line in texts)) for i, column in enumerate(columns)]
    to_left = [any(isinstance(row.get(column), str) for row in rows) for column in columns]
    for line in [columns, ["-" * width for width in widths], *texts]:
        cells = (text.ljust(w) if left else text.rjust(w) for text, w, left in zip(line, widths, to_left, strict=True))
        print("  ".join(cells).rstrip())


def _cell(value: Any) -> str:
    """Show one value: four digits of a float, a dash for what is missing."""
    if value is None:
        return "-"
    if isinstance(value, float) or (hasattr(value, "dtype") and getattr(value.dtype, "kind", "") == "f" and value.ndim == 0):
        return f"{value:.4g}"
    return str(value)
