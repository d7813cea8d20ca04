"""Packages that only some commands need."""

from __future__ import annotations

from harmonium.errors import require_package

__all__ = ["require_matplotlib", "require_pyarrow"]


def require_matplotlib() -> None:
    """For figures."""
    require_package("matplotlib", "figures need matplotlib", "plots")


def require_pyarrow() -> None:
    """For Parquet files."""
    require_package("pyarrow", "Parquet files need pyarrow", "files")
