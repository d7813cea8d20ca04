"""Products of small matrices: those of NumPy, and the same bits whatever the number of threads."""

import os
import subprocess
import sys

import numpy as np
import pytest

from harmonium.numerics.products import FEWEST_FOR_BLAS, add_products, add_sums_of_products, product

HASHES = """
import hashlib, sys
import numpy as np
from harmonium.numerics.products import add_sums_of_products, product
rng, digest = np.random.default_rng(0), hashlib.sha256()
for rows, terms, columns in ((128, 12, 100), (500, 40, 128), (2, 3000, 128), (1000, 64, 128)):
    left, right, out = rng.normal(size=(rows, terms)), rng.normal(size=(terms, columns)), np.empty((rows, columns))
    product(left, right, out)
    digest.update(out.tobytes())
    product(left.T.copy().T, right, out)
    digest.update(out.tobytes())
    sums = np.zeros((rows, columns))
    add_sums_of_products(left, right.T.copy(), sums)
    digest.update(sums.tobytes())
print(digest.hexdigest())
"""


@pytest.mark.parametrize("shape", [(2, 4, 3), (128, 12, 100), (300, 64, 128), (4, 3000, 100)])
@pytest.mark.parametrize("order", ["C", "F"])
def test_products_are_those_of_numpy(shape, order):
    rows, terms, columns = shape
    rng = np.random.default_rng(0)
    left, right, out = rng.normal(size=(rows, terms)), rng.normal(size=(terms, columns)), np.empty((rows, columns))
    product(left.copy(order), right, out)
    np.testing.assert_allclose(out, left @ right, atol=1e-11)


def test_products_of_listed_rows_and_places():
    rng = np.random.default_rng(0)
    weights, terms, out = rng.normal(size=(6, 9)), rng.normal(size=(9, 21)), rng.normal(size=(6, 21))
    rows, places = np.array([4, 1]), np.array([8, 0, 3, 5])
    expected = out.copy()
    expected[rows] += weights[np.ix_(rows, places)] @ terms[places]
    add_products(weights, rows, places, terms, out)
    np.testing.assert_allclose(out, expected, atol=1e-12)


@pytest.mark.parametrize("n_right", [4, 64, 800])
def test_sums_of_products(n_right):
    rng = np.random.default_rng(0)
    left, right, out = rng.normal(size=(6, 101)), rng.normal(size=(n_right, 101)), rng.normal(size=(6, n_right))
    expected = out + left @ right.T
    add_sums_of_products(left, right, out)
    np.testing.assert_allclose(out, expected, atol=1e-11)
    assert left.size * 4 < FEWEST_FOR_BLAS < left.size * 64  # both ways are taken


def test_the_number_of_threads_changes_no_bit():
    def digest(n_threads):
        environment = {**os.environ, "OPENBLAS_NUM_THREADS": str(n_threads)}
        return subprocess.run([sys.executable, "-c", HASHES], env=environment, capture_output=True, text=True, check=True).stdout

    assert digest(1) == digest(2) == digest(4)
