"""Quantiles of the normal distribution agree with SciPy's."""

import numpy as np
from scipy.special import ndtri

from harmonium.numerics.normal_quantile import normal_quantile


def test_quantiles_are_scipys():
    share = np.concatenate([np.linspace(0.0, 1.0, 10_001), np.geomspace(1e-300, 0.1, 1_000), 1.0 - np.geomspace(1e-15, 0.1, 1_000)])
    np.testing.assert_allclose(normal_quantile(share), ndtri(share), rtol=1e-13, atol=1e-15)
