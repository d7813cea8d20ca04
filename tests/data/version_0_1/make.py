"""Made the files beside this one, with version 0.1 (commit e49ca44); kept to show where the numbers come from.

    git worktree add ../version_0_1 e49ca44
    PYTHONPATH=../version_0_1/src python tests/data/version_0_1/make.py

For each of the six studies: parameters of a fit, and what version 0.1 answers with these parameters.
"""

import json
import warnings
from pathlib import Path

import numpy as np
import pandas as pd

import harmonium as hm

HERE = Path(__file__).parent
SETTINGS = {
    "arrest": {"n_hidden": 3},
    "democracy": {"n_hidden": 4},
    "gbsg2": {"n_hidden": 4},
    "ncctg": {"n_hidden": 4, "objective": 0.9},
    "nvalt8": {"n_hidden": 4},
    "nvalt11": {"n_hidden": 5, "objective": "joint", "time_scale": "linear"},
}


def as_json(frame):
    """A table with every digit; None where missing."""
    columns = ["|".join(map(str, c)) if isinstance(c, tuple) else str(c) for c in frame.columns]
    values = [
        [None if pd.isna(v) else v.item() if isinstance(v, np.generic) else v for v in frame.iloc[:, i]] for i in range(frame.shape[1])
    ]
    return {
        name: [str(v) if isinstance(v, float) and np.isinf(v) else v for v in column] for name, column in zip(columns, values, strict=True)
    }


def answers(model, X, y):
    """Arrays by name."""
    rows = np.unique(np.concatenate([np.arange(12), np.flatnonzero(X.isna().any(axis=1))[:8]]))
    part, known = X.iloc[rows], y.iloc[rows]
    out = {"rows": rows, "log_likelihood": model.log_likelihood(X, y), "joint_log_likelihood": model.log_likelihood(X, y, "joint")}
    out["codes"] = model.transform(X, y)
    out["fields"] = model.receptive_fields(X, y).to_numpy()
    for e, name in enumerate(model.endpoint_names_):
        times = np.quantile(y[name, "lower"], [0.02, 0.2, 0.4, 0.6, 0.8, 0.97])
        givens = {"": None, ".given": hm.landmark(known, float(times[2]))}
        out[f"{e}.times"] = times
        for word, given in givens.items():
            out[f"{e}.survival{word}"] = model.predict_survival_function(part, name, times, given=given, return_array=True)
            out[f"{e}.density{word}"] = model.predict_density(part, name, times, given=given)
            out[f"{e}.cumulative_hazard{word}"] = model.predict_cumulative_hazard_function(
                part, name, times, given=given, return_array=True
            )
            out[f"{e}.hazard{word}"] = model.predict_hazard(part, name, times, given=given)
            out[f"{e}.quantile{word}"] = model.predict_quantile(part, 0.25, name, given=given)
            out[f"{e}.median{word}"] = model.predict_median(part, name, given=given)
            out[f"{e}.risk{word}"] = model.predict(part, name, given=given)
    if len(model.endpoint_names_) > 1:
        grid = {name: out[f"{e}.times"][[1, 3]] for e, name in enumerate(model.endpoint_names_)}
        out["joint_survival"] = model.predict_joint_survival(part, grid)
        out["joint_density"] = model.predict_joint_density(part, grid)
        out["dependence"] = model.dependence(X).to_numpy()
    out["draws"] = model.draw_times(part, 3, given=hm.landmark(known, float(out["0.times"][1])), random_state=1)
    return out


def tables(model, X, y):
    """A completed table and a cohort."""
    completed, times = model.impute(X.iloc[:60], y.iloc[:60], random_state=2)[0]
    cohort, drawn = model.sample(20, censored=True, random_state=3)
    return {"completed": as_json(completed), "times": as_json(times), "cohort": as_json(cohort), "drawn": as_json(drawn)}


def main():
    """Write a file of arrays and one of tables for each study."""
    warnings.simplefilter("ignore")
    for study, settings in SETTINGS.items():
        X, y = hm.datasets.load_study(study)
        model = hm.SurvivalHarmonium(**settings, n_starts=2, max_iter=200, random_state=0).fit(X, y)
        parameters = {"parameter.b": model.parameters_.hidden_bias}
        for i, block in enumerate(model.parameters_.blocks):
            parameters |= {f"parameter.{i}.{name}": values for name, values in block.items()}
        np.savez_compressed(HERE / f"{study}.npz", **parameters, **answers(model, X, y))
        (HERE / f"{study}.json").write_text(json.dumps({"settings": settings, **tables(model, X, y)}))
        print(study, model.n_iter_)


if __name__ == "__main__":
    main()
