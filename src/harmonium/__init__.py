"""Survival harmoniums: several endpoints and covariates with gaps, modelled jointly.

Public names are imported when they are first used, so that ``import harmonium`` itself takes no time.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from harmonium import datasets, metrics, plots, units
    from harmonium.estimator import SurvivalHarmonium, load
    from harmonium.metrics.fidelity import fidelity
    from harmonium.pooling import pool
    from harmonium.search import SurvivalHarmoniumCV
    from harmonium.table.endpoints import endpoints
    from harmonium.table.landmark import landmark

__all__ = [
    "SurvivalHarmonium",
    "SurvivalHarmoniumCV",
    "datasets",
    "endpoints",
    "fidelity",
    "landmark",
    "load",
    "metrics",
    "plots",
    "pool",
    "units",
]

__version__ = "0.1.0"

_HOMES = {
    "SurvivalHarmonium": "harmonium.estimator",
    "SurvivalHarmoniumCV": "harmonium.search",
    "endpoints": "harmonium.table.endpoints",
    "fidelity": "harmonium.metrics.fidelity",
    "landmark": "harmonium.table.landmark",
    "load": "harmonium.estimator",
    "pool": "harmonium.pooling",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    if name in __all__:
        return import_module(f"harmonium.{name}")
    raise AttributeError(f"module 'harmonium' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
