"""Small tables with weights, for tests of what weights mean."""

import numpy as np
import pandas as pd
from hypothesis import strategies as st

import harmonium as hm


@st.composite
def tables(draw, smallest=0):
    """Covariates of all kinds, endpoints of all kinds, and whole weights, of which at least six are positive."""
    rng = np.random.default_rng(draw(st.integers(0, 10_000)))
    n = draw(st.integers(10, 30))
    coarse, late, between, gaps = (draw(st.booleans()) for _ in range(4))
    X = pd.DataFrame(
        {
            "age": rng.normal(60.0, 10.0, n),
            "nodes": rng.integers(0, 4, n).astype(float),
            "sex": np.array(["f", "m"])[rng.integers(0, 2, n)],
            "stage": np.array(["I", "II", "III"])[rng.integers(0, 3, n)],
        }
    )
    if gaps:
        X = X.mask(rng.random(X.shape) < 0.15)
    weights = rng.integers(smallest, 4, n).astype(float)
    weights[:6] = np.maximum(weights[:6], 1.0)
    return X, _endpoints(rng, n, coarse, late, between), weights


def _endpoints(rng, n, coarse, late, between):
    columns = {}
    for name in ("relapse", "death"):
        time, event = rng.exponential(20.0, n) + 2.0, rng.random(n) < 0.6
        time = np.ceil(time / 4.0) * 4.0 if coarse else time
        columns[name, "lower"], columns[name, "upper"] = time, np.where(event, time, np.inf)
        if between:
            wide = event & (rng.random(n) < 0.3)
            columns[name, "lower"] = np.where(wide, 0.5 * time, time)
        if late:
            columns[name, "entry"] = np.where(rng.random(n) < 0.3, 1.0, 0.0)
    return pd.DataFrame(columns)


def repeated(weights, *tables):
    """Every row as often as its weight says."""
    rows = np.repeat(np.arange(len(weights)), weights.astype(int))
    return tuple(table.iloc[rows].reset_index(drop=True) for table in tables)


def present(weights, *tables):
    """Without the rows of weight zero."""
    return tuple(table[weights > 0.0] for table in tables)


def states(n, seed=0):
    """A table of recurrence and death, which is terminal, with whole weights."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({"age": rng.normal(size=n), "arm": rng.integers(0, 2, n)})
    first, second = rng.exponential(10.0, (2, n))
    end = rng.uniform(5.0, 40.0, n)
    frame = pd.DataFrame({"r": np.minimum(first, end), "re": first <= end})
    frame["d"] = np.minimum(np.where(frame["re"], first + second, 3.0 * second), end)
    frame["de"] = frame["d"] < end
    frame["re"] &= frame["r"] <= frame["d"]
    frame["r"] = np.minimum(frame["r"], frame["d"])
    y = hm.endpoints(frame, recurrence=("r", "re"), death=("d", "de"), terminal="death")
    return X, y, rng.integers(0, 4, n).astype(float)
