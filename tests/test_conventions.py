"""scikit-learn's own checks of an estimator."""

import numpy as np
import pytest
from sklearn.utils.estimator_checks import check_estimator

import harmonium as hm

# Checks that cannot apply, and why.
CANNOT_APPLY = {
    "check_estimators_empty_data_messages": "a model of endpoints alone, without covariates, is legal",
    "check_supervised_y_2d": "y is a table; the column of numbers of this check is turned into times here, in the test",
}


def as_times(y):
    """The checks' plain targets as event times."""
    if y is None or (isinstance(y, np.ndarray) and y.dtype.names):
        return y
    y = np.asarray(y)
    if y.dtype.kind not in "iuf":
        y = np.unique(y, return_inverse=True)[1]
    times = np.abs(y.reshape(len(y), -1)[:, 0].astype(float)) + 1.0
    return np.array([(True, time) for time in times], dtype=[("event", bool), ("time", float)])


class PlainTarget(hm.SurvivalHarmonium):
    """A harmonium that takes the checks' targets."""

    def fit(self, X, y=None, sample_weight=None):
        return super().fit(X, as_times(y), sample_weight)

    def partial_fit(self, X, y=None, sample_weight=None):
        return super().partial_fit(X, as_times(y), sample_weight)

    def score(self, X, y=None, sample_weight=None):
        return super().score(X, as_times(y), sample_weight)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_the_checks_of_scikit_learn_pass():
    model = PlainTarget(n_hidden=1, trainer=hm.Exact(n_starts=1, max_iter=3), random_state=0)
    results = check_estimator(model, expected_failed_checks=CANNOT_APPLY, on_fail=None, on_skip=None)
    failed = {result["check_name"]: str(result["exception"])[:200] for result in results if result["status"] == "failed"}
    assert not failed
    assert sum(result["status"] == "passed" for result in results) >= 35
