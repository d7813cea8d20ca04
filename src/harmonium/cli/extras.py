"""Packages that only some commands need."""

from __future__ import annotations

from importlib.util import find_spec

__all__ = ["require", "require_matplotlib", "require_pyarrow"]


def require(module: str, what: str, extra: str) -> None:
    """Say what to install, before work begins, if a package is not there.

    Examples
    --------
    >>> require("no_such_package", "the moon needs a rocket", "rockets")
    Traceback (most recent call last):
    ImportError: the moon needs a rocket: pip install 'harmonium[rockets]'
    """
    if find_spec(module) is None:
        raise ImportError(f"{what}: pip install 'harmonium[{extra}]'")


def require_matplotlib() -> None:
    """For figures."""
    require("matplotlib", "figures need matplotlib", "plots")


def require_pyarrow() -> None:
    """For Parquet files."""
    require("pyarrow", "Parquet files need pyarrow", "files")
