"""Tables whose fidelity is known."""

import numpy as np
import pandas as pd

import harmonium as hm

INF = np.inf


def halves(X, y, seed=0):
    half = np.random.default_rng(seed).permutation(len(X)) < len(X) // 2
    return (X[half], y[half]), (X[~half], y[~half])


def table(n=300, seed=0, effect=1.0):
    """Covariates of every kind, missing values, and two censored endpoints that depend on them."""
    rng = np.random.default_rng(seed)
    age, stage = rng.normal(60.0, 8.0, n), rng.integers(0, 3, n)
    X = pd.DataFrame(
        {
            "age": age,
            "bmi": 25.0 + 0.3 * (age - 60.0) + rng.normal(0.0, 2.0, n),
            "female": rng.integers(0, 2, n),
            "stage": pd.Categorical.from_codes(stage, ["I", "II", "III"]),
            "grade": np.where(rng.random(n) < 0.8, np.array(["low", "middle", "high"])[stage], "low"),
            "smoker": pd.array(rng.random(n) < 0.4, dtype="boolean"),
        }
    )
    X.loc[rng.random(n) < 0.1, "bmi"] = np.nan
    X.loc[rng.random(n) < 0.1, "smoker"] = pd.NA
    hazard = np.exp(effect * (0.08 * (age - 60.0) + 0.5 * (stage - 1)))
    death, relapse, end = rng.exponential(20.0 / hazard), rng.exponential(12.0 / hazard), rng.uniform(5.0, 40.0, n)
    times = pd.DataFrame({"os": np.minimum(death, end), "dead": death <= end, "rfs": np.minimum(relapse, end), "relapse": relapse <= end})
    return X, hm.endpoints(times, os=("os", "dead"), rfs=("rfs", "relapse"))


def one_endpoint(bounds, seed=0):
    """A table of one covariate and the bounds of one endpoint."""
    lower, upper = np.transpose(bounds)
    X = pd.DataFrame({"x": np.random.default_rng(seed).normal(size=len(lower))})
    return X, hm.endpoints(pd.DataFrame({"a": lower, "b": upper}), os={"lower": "a", "upper": "b"})


def covariate(real, synthetic):
    """The marginal row of one covariate, repeated to have enough rows."""
    real, synthetic = pd.concat([real] * 5, ignore_index=True), pd.concat([synthetic] * 5, ignore_index=True)
    tables = [(series.to_frame("x"), one_endpoint([(1.0, 1.0)] * len(series))[1]) for series in (real, synthetic)]
    return hm.fidelity(*tables).marginals.loc["x"]


REAL = table()
