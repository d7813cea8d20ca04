"""Survival from shared integrals is survival from one integral at a time."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harmonium.model.endpoint_states import EndpointStates, log_survival_table
from harmonium.units.truncated_gamma import interval_mass


def by_integrals(shape, rate, positions, within):
    lower, upper = within
    start = np.clip(positions, lower, upper)
    inside = start < upper
    out = np.full((shape.size, positions.size), -np.inf)
    beyond, total = (interval_mass(shape[:, None], rate[:, None], at, upper)[0] for at in (start[inside], lower))
    out[:, inside] = beyond - total
    return out


@given(st.integers(0, 10**6))
@settings(max_examples=60, deadline=None)
def test_the_table_agrees_with_single_integrals(seed):
    rng = np.random.default_rng(seed)
    shape = 1.0 + rng.choice([0.0, 0.3, 5.0, 60.0, 300.0]) * rng.random(20)
    rate = rng.choice([1.0, 20.0, 300.0]) * rng.normal(size=20)
    lower = float(rng.choice([0.0, 0.0, rng.uniform(0.0, 0.9)]))
    within = (lower, float(rng.choice([1.0, rng.uniform(lower + 0.01, 1.0)])))
    positions = np.concatenate([[0.0, 1.0, 1e-9], rng.random(30), rng.random(3) ** 8])
    table = log_survival_table(shape, rate, positions, within)
    exact = by_integrals(shape, rate, positions, within)
    known = ~np.isnan(table)
    np.testing.assert_allclose(table[known], exact[known], rtol=1e-10, atol=1e-11)
    assert (exact[~known] < -600.0).all()


@pytest.mark.parametrize("rate", [900.0, -900.0, 30_000.0])
def test_steep_states_and_vanishing_tails_are_integrated_one_by_one(rate):
    states = EndpointStates(np.full(50, 2.5), np.full(50, rate))
    positions = np.linspace(0.0, 1.0, 21)
    np.testing.assert_allclose(states.log_survival(positions), by_integrals(states.shape, states.rate, positions, (0.0, 1.0)), rtol=1e-9)
