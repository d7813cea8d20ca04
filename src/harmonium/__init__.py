"""Survival harmoniums: several endpoints and covariates with gaps, modelled jointly."""

from harmonium import units

__all__ = ["units"]

__version__ = "0.1.0"
