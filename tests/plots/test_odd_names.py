"""Names that Matplotlib would take for something else."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

import harmonium as hm

LONG = "a very long name that somebody typed into a spreadsheet, $units$ included"
ENDPOINTS = ("$t_1$", LONG, "_t")


@pytest.fixture(scope="module")
def odd():
    rng = np.random.default_rng(0)
    n = 120
    X = pd.DataFrame(
        {
            "$x_1$": rng.normal(size=n),
            "<b>": rng.choice(["yes", "$no$"], n),
            LONG: rng.choice(["_under", "β₂ ≥ 3", "naïve\nlines", "100 %", LONG], n),
            7: rng.integers(0, 2, n),
            r"\frac{": rng.normal(size=n),
            "$unbalanced": rng.normal(size=n),
        }
    )
    times = pd.DataFrame({"time": rng.exponential(size=n), "seen": rng.random(n) < 0.7})
    y = hm.endpoints(times, **dict.fromkeys(ENDPOINTS, ("time", "seen")))
    return hm.SurvivalHarmonium(n_hidden=2, trainer=hm.Exact(n_starts=1, max_iter=10), objective=0.9, random_state=0).fit(X, y), X, y


def draw(figure):
    figure.canvas.draw()
    return figure


def test_curves(odd):
    model, X, y = odd
    names = ["$a$", "_b", "<i>c</i>", LONG, "$d", r"\frac{1}"]
    ax = hm.plots.survival_curves(model, X[:6], endpoint=ENDPOINTS[0], given=hm.landmark(y[:6], 0.5), labels=names, cohort=y)
    draw(ax.figure)
    assert ax.texts[1].get_text() == r"\$a\$"


@pytest.mark.parametrize("by", ["<b>", LONG, 7])
def test_joint_density(odd, by):
    model, X, y = odd
    axes = hm.plots.joint_density(model, X, endpoints=ENDPOINTS[1:], by=by, observed=(X, y), until=(2.0, 2.0))
    draw(axes.joint.figure)
    legend = axes.above.get_legend()
    assert len(legend.texts) == X[by].nunique()
    assert max(len(text.get_text()) for text in legend.texts) < 40


def test_everything_else(odd):
    model, X, y = odd
    draw(hm.plots.calibration(model, X, y, endpoint=LONG, time=1.0).figure)
    draw(hm.plots.training_history(model).figure)
    draw(hm.plots.dependence(model.dependence(X)).figure)
    figure = draw(hm.plots.receptive_fields(model, X, given=y).figure)
    assert figure.axes[0].get_window_extent().width > 150  # names leave room for the cells
    plt.close("all")
