"""The compiled road between the paper's parameters and natural ones is the one the units describe."""

import numpy as np
import pytest

from harmonium.cells import Layout
from harmonium.engine.parameters import Natural
from harmonium.training.own_coordinates import own_coordinates, pull_back_to_own, to_natural
from harmonium.units import Bernoulli, Categorical, Gaussian, TruncatedGamma
from tests.models import random_parameters

LAYOUT = Layout([*[Bernoulli()] * 2, *[Categorical(3)] * 2, Categorical(2), *[Gaussian()] * 2, *[TruncatedGamma()] * 2], n_outcomes=2)


@pytest.mark.parametrize("n_hidden", [0, 1, 3])
def test_both_directions_agree_with_the_units(n_hidden):
    rng = np.random.default_rng(0)
    parameters = random_parameters(LAYOUT, n_hidden, rng)
    vector, table, natural = parameters.to_vector(), own_coordinates(parameters), parameters.natural()
    bias, coupling = np.empty(LAYOUT.n_statistics), np.empty((LAYOUT.n_statistics, n_hidden))
    to_natural(vector, table, bias, coupling)
    np.testing.assert_allclose(bias, natural.bias, rtol=1e-13)
    np.testing.assert_allclose(coupling, natural.coupling, rtol=1e-13)
    gradient = Natural(rng.normal(size=bias.shape), rng.normal(size=coupling.shape), rng.normal(size=n_hidden), 0.0)
    out = np.empty(vector.size)
    pull_back_to_own(vector, table, bias, coupling, gradient.bias, gradient.coupling, gradient.hidden_bias, out)
    np.testing.assert_allclose(out, parameters.pull_back(gradient).to_vector(), rtol=1e-10, atol=1e-12)
