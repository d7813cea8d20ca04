"""Random orders from a stream."""

import numpy as np

from harmonium.numerics.streams import permutation, spawn


def test_all_orders_are_equally_likely():
    streams, n = spawn(np.random.default_rng(0), 1), 24_000
    found, counts = np.unique([permutation(streams, 4) for _ in range(n)], axis=0, return_counts=True)
    np.testing.assert_array_equal(np.sort(found, axis=1), np.broadcast_to(np.arange(4), (24, 4)))
    assert np.abs(counts - n / 24).max() < 4.5 * np.sqrt(n / 24)


def test_an_order_holds_every_number_once():
    for n in (0, 1, 2, 686):
        np.testing.assert_array_equal(np.sort(permutation(spawn(np.random.default_rng(0), 1), n)), np.arange(n))
