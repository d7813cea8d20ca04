"""Comparisons that several tests of fidelity look at."""

import numpy as np
import pytest

import harmonium as hm
from tests.metrics.fidelity_tables import REAL, table


@pytest.fixture
def unclassified(monkeypatch):
    """For tests that do not look at the AUC, which takes most of the time."""
    monkeypatch.setattr("harmonium.metrics.fidelity._auc", lambda *_: np.nan)


@pytest.fixture(scope="module")
def alike():
    return hm.fidelity(REAL, table(seed=1))
