"""How many threads may be used."""

from __future__ import annotations

import os

__all__ = ["available_cores"]


def available_cores() -> int:
    """Cores this process may run on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
