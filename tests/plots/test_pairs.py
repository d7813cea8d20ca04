"""Dependence between endpoints."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

import harmonium as hm


def table(bootstrap=True):
    index = pd.MultiIndex.from_tuples([("a", "b"), ("a", "c"), ("b", "c")])
    out = pd.DataFrame({"tau": [0.5, -0.2, 0.0], "tau_given_covariates": [0.4, -0.1, 0.1]}, index=index)
    if bootstrap:
        for name in ("tau", "tau_given_covariates"):
            out[f"{name}_lower"], out[f"{name}_upper"] = out[name] - 0.1, out[name] + 0.2
    return out


@pytest.mark.parametrize("bootstrap", [False, True])
def test_points_and_intervals_are_those_of_the_table(bootstrap):
    wanted = table(bootstrap)
    ax = Figure().add_subplot()
    assert hm.plots.dependence(wanted, ax=ax) is ax
    zero, *points = ax.lines
    assert zero.get_xdata() == [0.0, 0.0]
    assert len(ax.collections) == (2 if bootstrap else 0)
    for k, name in enumerate(("tau", "tau_given_covariates")):
        np.testing.assert_array_equal(points[k].get_xdata(), wanted[name])
        if bootstrap:
            segments = np.array(ax.collections[k].get_segments())
            np.testing.assert_array_equal(segments[:, :, 0], wanted[[f"{name}_lower", f"{name}_upper"]])
            np.testing.assert_array_equal(segments[:, 0, 1], points[k].get_ydata())
    assert [label.get_text() for label in ax.get_yticklabels()] == ["a and b", "a and c", "b and c"]
    assert ax.get_xlabel().startswith("← repel")
    assert ax.get_xlabel().endswith("attract →")
    assert points[0].get_marker() != points[1].get_marker()
    assert plt.get_fignums() == []


def test_a_models_answer_can_be_drawn(nvalt8):
    model, X, _ = nvalt8
    answer = model.dependence(X)
    ax = hm.plots.dependence(answer)
    assert ax.lines[1].get_xdata() == answer["tau"].tolist()


@pytest.mark.parametrize("wrong", [None, pd.DataFrame({"tau": [0.1]}), table()[:0]])
def test_another_table_is_refused(wrong):
    with pytest.raises(ValueError, match="what the model's dependence returns"):
        hm.plots.dependence(wrong)
    assert plt.get_fignums() == []
