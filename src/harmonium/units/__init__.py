"""Visible units: one small file for each kind of variable, all with the contract of :mod:`harmonium.units.contract`."""

from harmonium.units import truncated_gamma
from harmonium.units.bernoulli import Bernoulli
from harmonium.units.categorical import Categorical
from harmonium.units.contract import Unit
from harmonium.units.gaussian import Gaussian
from harmonium.units.truncated_gamma import TruncatedGamma

__all__ = ["Bernoulli", "Categorical", "Gaussian", "TruncatedGamma", "Unit", "truncated_gamma"]
