"""Survival harmoniums: several endpoints and covariates with gaps, modelled jointly."""

from harmonium import datasets, units
from harmonium.estimator import SurvivalHarmonium
from harmonium.table.endpoints import endpoints

__all__ = ["SurvivalHarmonium", "datasets", "endpoints", "units"]

__version__ = "0.1.0"
