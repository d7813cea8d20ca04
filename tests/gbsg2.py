"""The German breast cancer study as cells: seven covariates of three units and one right-censored time."""

import numpy as np
from sksurv.datasets import load_gbsg2

from harmonium.cells import Cells, Layout
from harmonium.units import Bernoulli, Categorical, Gaussian, TruncatedGamma

LAYOUT = Layout([Bernoulli(), Bernoulli(), Categorical(3), *[Gaussian()] * 5, TruncatedGamma()], n_outcomes=1)


def gbsg2_cells():
    """Numbers standardised, time divided by a horizon just beyond the last recording."""
    X, y = load_gbsg2()
    numbers = X[["age", "estrec", "pnodes", "progrec", "tsize"]].to_numpy(dtype=float)
    lower = np.column_stack(
        [
            X["horTh"] == "yes",
            X["menostat"] == "Post",
            X["tgrade"].map({"I": 0, "II": 1, "III": 2}),
            (numbers - numbers.mean(axis=0)) / numbers.std(axis=0),
            y["time"] / (1.001 * y["time"].max()),
        ]
    ).astype(float)
    upper = lower.copy()
    upper[~y["cens"], -1] = 1.0
    return Cells.from_bounds(LAYOUT, lower, upper)
