"""Where a search begins must not depend on how a table is coded, and where it ends hardly."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import harmonium as hm
from harmonium.cells import Cells, Layout
from harmonium.training.coordinates import Coordinates
from harmonium.training.starts import Directions
from harmonium.units import Bernoulli, Categorical, Gaussian, TruncatedGamma

UNITS = (Bernoulli(), Categorical(3), Gaussian(), Gaussian(), Bernoulli())


def start(units, table, times, number=0, design=0):
    """Natural couplings of a start, by column."""
    layout = Layout([*units, *[TruncatedGamma()] * times.shape[1]], n_outcomes=times.shape[1])
    cells = Cells.from_bounds(layout, np.hstack([table, times]))
    coordinates = Coordinates.of_data(cells, 3, conditional=1.0)
    natural = coordinates.to_natural(Directions.of(cells, coordinates).start(number, design))
    return [natural.coupling[a:b] for a, b in zip(layout.offsets[:-1], layout.offsets[1:], strict=True)]


def random_table(seed):
    rng = np.random.default_rng(seed)
    n = 40
    shared = rng.normal(size=n)
    columns = [
        (shared + rng.normal(size=n) > 0.3).astype(float),
        rng.integers(0, 3, n).astype(float),
        shared + rng.normal(size=n),
        rng.gamma(2.0, size=n),
        (rng.random(n) < 0.4).astype(float),
    ]
    table = np.column_stack(columns)
    table[rng.random(table.shape) < 0.05] = np.nan
    return table, rng.uniform(0.05, 0.95, (n, 2))


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=25)
def test_a_start_does_not_depend_on_the_coding(seed):
    table, times = random_table(seed)
    expected = start(UNITS, table, times)
    order, rows = [2, 4, 0, 3, 1], np.random.default_rng(seed).permutation(len(table))
    recoded = table.copy()
    recoded[:, 0] = 1.0 - table[:, 0]
    recoded[:, 1] = (table[:, 1] + 1.0) % 3.0
    recoded[:, 2] = -7.0 * table[:, 2] + 3.0
    found = start([UNITS[i] for i in order], recoded[rows][:, order], times[rows][:, ::-1])
    by_column = {column: found[place] for place, column in enumerate(order)}
    close = {"rtol": 1e-6, "atol": 1e-8}
    np.testing.assert_allclose(by_column[0], -expected[0], **close)
    np.testing.assert_allclose(np.roll(by_column[1], -1, axis=0), expected[1], **close)
    np.testing.assert_allclose(-7.0 * by_column[2][:1], expected[2][:1], **close)
    np.testing.assert_allclose(by_column[3], expected[3], **close)
    np.testing.assert_allclose(by_column[4], expected[4], **close)
    np.testing.assert_allclose(found[5], expected[6], **close)
    np.testing.assert_allclose(found[6], expected[5], **close)


def test_designs_have_no_start_in_common():
    table, times = random_table(0)
    starts = [np.concatenate(start(UNITS, table, times, number, design)) for design in range(3) for number in range(4)]
    distances = [np.abs(a - b).max() for i, a in enumerate(starts) for b in starts[:i]]
    assert min(distances) > 0.1


def test_a_table_without_covariates_has_starts():
    _, times = random_table(0)
    assert len(start((), np.empty((40, 0)), times)) == 2


@pytest.fixture(scope="module")
def gbsg2():
    X, y = hm.datasets.load_gbsg2()
    return X, y, np.quantile(y["rfs", "lower"] if "rfs" in y else y.iloc[:, 0], [0.1, 0.3, 0.5, 0.7, 0.9])


def predicted(X, y, times, seed=0):
    model = hm.SurvivalHarmonium(random_state=seed).fit(X, y)
    return model.predict_survival_function(X, times=times, return_array=True)


def test_a_seed_decides_nothing(gbsg2):
    X, y, times = gbsg2
    np.testing.assert_array_equal(predicted(X, y, times, 1), predicted(X, y, times, 2))


def test_the_order_of_columns_does_not_matter_to_the_last_bit():
    X, y = hm.datasets.load_nvalt8()
    order = np.random.default_rng(0).permutation(X.columns)
    first, second = (hm.SurvivalHarmonium(2, trainer=hm.Exact(n_starts=1, max_iter=20)).fit(table, y) for table in (X, X[order]))
    gaps = X.mask(np.random.default_rng(1).random(X.shape) < 0.3)
    np.testing.assert_array_equal(first.predict(gaps), second.predict(gaps))
    np.testing.assert_array_equal(first.predict(gaps), second.predict(gaps[order]))


@pytest.mark.parametrize("coding", ["columns", "signs", "rows", "unit"])
def test_predictions_hardly_depend_on_the_coding(gbsg2, coding):
    X, y, times = gbsg2
    expected = predicted(X, y, times)
    if coding == "columns":
        found = predicted(X[X.columns[::-1]], y, times)
    elif coding == "signs":
        numbers = [name for name in X if pd.api.types.is_numeric_dtype(X[name])]
        found = predicted(X.assign(**{name: -X[name] for name in numbers}), y, times)
    elif coding == "rows":
        found = predicted(X[::-1], y[::-1], times)[::-1]
    else:
        found = predicted(X, y * 30.44, times * 30.44)
    np.testing.assert_allclose(found, expected, atol=0.01)
