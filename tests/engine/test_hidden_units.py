"""Draws and means of hidden units given their fields."""

import numpy as np
from scipy.special import expit

from harmonium.engine.hidden_units import draw_hidden, expect_hidden
from harmonium.numerics.streams import spawn

FIELDS = np.array([-800.0, -30.0, -4.0, -1.0, 0.0, 0.3, 2.0, 5.0, 30.0, 800.0])


def test_means():
    found = np.repeat(FIELDS[:, None], 7, axis=1)
    expect_hidden(found)
    np.testing.assert_allclose(found, np.repeat(expit(-FIELDS)[:, None], 7, axis=1), rtol=2e-12, atol=1e-150)


def test_draws_have_their_probabilities_and_are_independent():
    n = 200_000
    drawn = np.repeat(FIELDS[:, None], n, axis=1)
    draw_hidden(drawn, spawn(np.random.default_rng(0), n))
    assert np.isin(drawn, [0.0, 1.0]).all()
    p = expit(-FIELDS)
    assert (np.abs(drawn.mean(axis=1) - p) <= 4.0 * np.sqrt(p * (1.0 - p) / n)).all()
    between = np.corrcoef(drawn[2:8])
    assert np.abs(between - np.eye(6)).max() < 5.0 / np.sqrt(n)


def test_a_chain_draws_from_its_own_stream():
    fields = np.random.default_rng(0).normal(size=(6, 33))
    streams = spawn(np.random.default_rng(1), 33)
    alone_streams, together, alone = streams[:, 20:21].copy(), fields.copy(), fields[:, 20:21].copy()
    draw_hidden(together, streams)
    draw_hidden(alone, alone_streams)
    np.testing.assert_array_equal(together[:, 20], alone[:, 0])
    np.testing.assert_array_equal(streams[:, 20], alone_streams[:, 0])
