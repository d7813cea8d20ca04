"""Times that were recorded in another unit than the model's are converted wherever the two meet."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import harmonium as hm
from harmonium.metrics import scorers

DAYS = 365.25 / 12.0


@pytest.fixture(scope="module")
def study():
    """Covariates, endpoints in months and in days, and a model in months."""
    X, y = hm.datasets.load_nvalt8()
    times = {f"{name}_{kind}": value for name in ("os", "rfs") for kind, value in recorded(y[name]).items()}
    forms = {name: (f"{name}_time", f"{name}_event") for name in ("os", "rfs")}
    frame = pd.DataFrame(times)
    months = hm.endpoints(frame, unit="months", terminal=(), **forms)
    in_days = frame.assign(**{f"{name}_time": frame[f"{name}_time"] * DAYS for name in ("os", "rfs")})
    days = hm.endpoints(in_days, unit="days", terminal=(), **forms)
    X = X.iloc[:, :2]
    model = hm.SurvivalHarmonium(1, trainer=hm.Exact(n_starts=1), random_state=0).fit(X, months)
    return X, months, days, model


def recorded(bounds):
    return {"time": bounds["lower"], "event": bounds["lower"] == bounds["upper"]}


@pytest.mark.parametrize(
    "scorer",
    [
        scorers.concordance_index_scorer,
        scorers.concordance_index_ipcw_scorer,
        scorers.neg_integrated_brier_score_scorer,
        scorers.neg_d_calibration_scorer,
        scorers.local_concordance_scorer,
        scorers.neg_energy_score_scorer,
    ],
)
def test_scorers(study, scorer):
    X, months, days, model = study
    assert scorer(model, X, days) == pytest.approx(scorer(model, X, months), rel=1e-9)


def test_a_pipeline_has_the_unit_of_its_last_step(study):
    X, months, days, model = study
    pipeline = make_pipeline(FunctionTransformer(), model)
    found = hm.evaluate(pipeline, X, days, likelihood=False)
    np.testing.assert_allclose(found, hm.evaluate(model, X, months, likelihood=False), rtol=1e-9)


def test_figures(study):
    X, months, days, model = study
    drawn = [hm.plots.calibration(model, X, y, time=20.0, n_bins=3) for y in (months, days)]
    of_cohort = [hm.plots.survival_curves(model, X[:1], cohort=y) for y in (months, days)]
    for one, other in (drawn, of_cohort):
        for mine, theirs in zip(one.lines, other.lines, strict=True):
            np.testing.assert_allclose(mine.get_xydata(), theirs.get_xydata(), rtol=1e-9)
    plt.close("all")
