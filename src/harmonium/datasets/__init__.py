"""Data to try things on: the paper's six studies and its three-way problem, each as ``(X, y)``."""

from harmonium.datasets.studies import load_arrest, load_democracy, load_gbsg2, load_ncctg, load_nvalt8, load_nvalt11
from harmonium.datasets.three_way import make_three_way

__all__ = ["load_arrest", "load_democracy", "load_gbsg2", "load_ncctg", "load_nvalt8", "load_nvalt11", "make_three_way"]
