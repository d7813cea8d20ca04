"""Survival harmoniums: several endpoints and covariates with missing values, modelled jointly.

Public names are imported when they are first used, so that ``import harmonium`` itself takes no time.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from harmonium.version import __version__

if TYPE_CHECKING:
    from harmonium import datasets, errors, metrics, plots, units
    from harmonium.estimator import SurvivalHarmonium
    from harmonium.metrics.evaluation import evaluate
    from harmonium.metrics.fidelity import fidelity
    from harmonium.model.fitted import Fitted
    from harmonium.model.loading import load
    from harmonium.pooling import pool
    from harmonium.report.writing import write_report
    from harmonium.search import SurvivalHarmoniumCV
    from harmonium.studies.comparison import compare
    from harmonium.table.cdisc import read_adtte
    from harmonium.table.endpoints import endpoints
    from harmonium.table.files.opening import read_table
    from harmonium.table.landmark import landmark
    from harmonium.training.contrastive import Contrastive
    from harmonium.training.exact import Exact

__all__ = [
    "Contrastive",
    "Exact",
    "Fitted",
    "SurvivalHarmonium",
    "SurvivalHarmoniumCV",
    "__version__",
    "compare",
    "datasets",
    "endpoints",
    "errors",
    "evaluate",
    "fidelity",
    "landmark",
    "load",
    "metrics",
    "plots",
    "pool",
    "read_adtte",
    "read_table",
    "units",
    "write_report",
]

_HOMES = {
    "Contrastive": "harmonium.training.contrastive",
    "Exact": "harmonium.training.exact",
    "Fitted": "harmonium.model.fitted",
    "SurvivalHarmonium": "harmonium.estimator",
    "SurvivalHarmoniumCV": "harmonium.search",
    "compare": "harmonium.studies.comparison",
    "endpoints": "harmonium.table.endpoints",
    "evaluate": "harmonium.metrics.evaluation",
    "fidelity": "harmonium.metrics.fidelity",
    "landmark": "harmonium.table.landmark",
    "load": "harmonium.model.loading",
    "pool": "harmonium.pooling",
    "read_adtte": "harmonium.table.cdisc",
    "read_table": "harmonium.table.files.opening",
    "write_report": "harmonium.report.writing",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    if name in __all__:
        return import_module(f"harmonium.{name}")
    raise AttributeError(f"module 'harmonium' has no attribute {name!r}")


def __dir__() -> list[str]:
    return list(__all__)
