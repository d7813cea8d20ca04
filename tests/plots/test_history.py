"""Progress of training."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.figure import Figure

import harmonium as hm


def of_all_lines(lines):
    return np.concatenate([line.get_xydata() for line in lines])


def test_the_exact_trainers_objective_is_drawn_in_runs(nvalt8):
    model, _, _ = nvalt8
    ax = hm.plots.training_history(model)
    np.testing.assert_array_equal(of_all_lines(ax.lines), model.history_[["evaluations", "objective"]])
    assert all((np.diff(line.get_ydata()) >= 0.0).all() for line in ax.lines)
    assert len(ax.lines) == 1 + (np.diff(model.history_["objective"]) < 0.0).sum() > 1
    assert ax.get_ylim()[1] > model.history_["objective"].max()
    assert len(ax.figure.axes) == 1


def test_validation_stands_below_with_its_best_ringed(three_way):
    _, X, y = three_way
    model = hm.SurvivalHarmonium(n_hidden=1, trainer=hm.Exact(n_starts=2, max_iter=25), random_state=0)
    model.fit(X[:100], y[:100], validation=(X[100:], y[100:]))
    ax = hm.plots.training_history(model, ax=Figure().add_subplot())
    _, below = ax.figure.axes
    *runs, ring = below.lines
    looked = model.history_[["evaluations", "validation"]].dropna()
    np.testing.assert_array_equal(of_all_lines(runs), looked)
    assert ring.get_ydata() == [looked["validation"].max()]
    for axis, (low, high) in ((ax, (0.55, 1.0)), (below, (0.0, 0.45))):
        bottom, top = axis.get_ylim()
        ticks = (axis.get_yticks() - bottom) / (top - bottom)
        assert ((ticks >= low - 1e-9) & (ticks <= high + 1e-9)).all()
    ax.figure.canvas.draw()
    assert plt.get_fignums() == []


def test_the_contrastive_trainers_gradient_is_drawn_by_epochs(three_way):
    _, X, y = three_way
    model = hm.SurvivalHarmonium(n_hidden=2, trainer=hm.Contrastive(n_epochs=12), random_state=0).fit(X, y)
    ax = hm.plots.training_history(model)
    np.testing.assert_array_equal(of_all_lines(ax.lines), model.history_[["iteration", "gradient_norm"]])
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("Epoch", "Norm of the gradient")


def test_without_history_there_is_nothing_to_draw(one_endpoint, tmp_path):
    one_endpoint[0].save(tmp_path / "model")
    for model in (hm.SurvivalHarmonium(), hm.load(tmp_path / "model")):
        with pytest.raises(ValueError, match="the model has no history"):
            hm.plots.training_history(model)
    assert plt.get_fignums() == []
