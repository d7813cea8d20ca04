"""Whatever rows a fold has, a metric is a number, or NaN with a warning that says why; it never fails."""

from collections import Counter

import numpy as np
import pytest

from harmonium import metrics
from tests.metrics.tables import INF, only_metric_warnings, structured, table

N_FOLDS = 400


def random_times(rng):
    """A fold of one to nine subjects, or none, most of them degenerate in some way."""
    n_rows = rng.integers(0, 10)
    time = rng.choice([0.0, 1.0, 2.0, 2.5, 4.0, 8.0], n_rows) if rng.random() < 0.7 else rng.exponential(3.0, n_rows)
    event = rng.random(n_rows) < rng.choice([0.0, 0.3, 0.7, 1.0])
    kind = rng.random(n_rows)
    lower = np.where(kind < 0.1, 0.0, time)
    upper = np.where(kind < 0.1, INF, np.where(event, np.where(kind > 0.9, time + 1.0, time), INF))
    entry = np.where(rng.random(n_rows) < 0.5, 0.0, lower / 2.0) if rng.random() < 0.3 else np.zeros(n_rows)
    return np.column_stack([lower, upper, entry]).reshape(n_rows, 3)


def random_predictions(rng, shape):
    out = rng.integers(0, 4, shape) / 3.0 if rng.random() < 0.5 else rng.random(shape)
    if rng.random() < 0.05:
        out[rng.random(shape) < 0.3] = rng.choice([np.nan, 1.0])
    return out


def single_endpoint_values(rng):
    """Every metric of one endpoint on a random fold."""
    recorded, training = random_times(rng), random_times(rng)
    if rng.random() < 0.5:
        y, y_train = table(os=recorded.tolist()) if len(recorded) else structured([], []), None
    else:  # as scikit-survival has it, with training rows
        y, y_train = (structured(rows[:, 0] == rows[:, 1], rows[:, 0]) for rows in (recorded, training))
    n_rows = len(recorded)
    times = np.sort(rng.choice([0.0, 0.5, 1.0, 2.0, 3.0, 4.0, 8.0, 9.0], rng.integers(1, 5)))
    risk, curves, survival = (random_predictions(rng, shape) for shape in (n_rows, (n_rows, times.size), n_rows))
    tau = None if rng.random() < 0.7 else rng.choice([0.0, 2.0, 100.0])
    return {
        "concordance_index": lambda: metrics.concordance_index(y, risk),
        "concordance_index_ipcw": lambda: metrics.concordance_index_ipcw(y, risk, y_train=y_train, tau=tau),
        "brier_score": lambda: metrics.brier_score(y, curves, times, y_train=y_train),
        "integrated_brier_score": lambda: metrics.integrated_brier_score(y, curves, times, y_train=y_train),
        "d_calibration": lambda: metrics.d_calibration(y, survival, n_bins=4).statistic,
    }


def several_endpoint_values(rng):
    """Every metric of several endpoints on a random fold."""
    n_rows = 0
    while n_rows == 0:
        rows = [random_times(rng), random_times(rng)]
        n_rows = min(map(len, rows))
    y = table(os=rows[0][:n_rows].tolist(), rfs=rows[1][:n_rows].tolist())
    y_train = None if rng.random() < 0.5 else y.iloc[: rng.integers(1, n_rows + 1)]
    predicted, draws = random_predictions(rng, (n_rows, 2)), 5.0 * random_predictions(rng, (3, n_rows, 2))
    return {
        "global_concordance": lambda: metrics.global_concordance(y, predicted),
        "joint_concordance": lambda: metrics.joint_concordance(y, predicted),
        "local_concordance": lambda: metrics.local_concordance(y, predicted),
        "energy_score": lambda: metrics.energy_score(y, draws, y_train=y_train),
    }


@pytest.mark.slow
@pytest.mark.parametrize("values", [single_endpoint_values, several_endpoint_values])
def test_hundreds_of_random_folds(values):
    rng = np.random.default_rng(0)
    numbers, nothing = Counter(), Counter()
    for _ in range(N_FOLDS):
        for name, compute in values(rng).items():
            with only_metric_warnings() as caught:
                value = np.asarray(compute())
            assert not np.isinf(value).any(), name
            assert caught or not np.isnan(value).any(), name
            numbers[name] += np.isfinite(value).any()
            nothing[name] += np.isnan(value).all()
    assert min(numbers.values()) > N_FOLDS / 10, numbers  # both outcomes were seen, of every metric
    assert min(nothing.values()) > N_FOLDS / 50, nothing
