"""Models side by side."""

import numpy as np
import pandas as pd

import harmonium as hm


class Memoriser:
    """Remembers the times of the rows it has seen, and knows nothing of others. Has no ``get_params``, and ``fit`` returns itself."""

    def fit(self, X, y):
        name = y.columns[0][0]
        self.times = dict(zip(X["id"], y[name, "lower"], strict=True))
        return self

    def predict(self, X, endpoint):
        return np.array([-self.times.get(number, 0.0) for number in X["id"]])

    def predict_survival_function(self, X, endpoint, times, return_array):
        return np.full((len(X), len(times)), 0.5)


def test_a_model_without_settings_is_copied_for_every_fold():
    """One object for all folds would have seen four fifths of the rows that it is asked about."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"id": np.arange(200.0)})
    y = hm.endpoints(pd.DataFrame({"t": rng.exponential(size=200), "e": 1}), death=("t", "e"))
    found = hm.compare(X, y, models={"memory": Memoriser()}, random_state=0)
    assert found.loc[("death", "memory"), "concordance"] == 0.5
