"""Receptive fields."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

import harmonium as hm


def test_cells_and_numbers_are_those_of_the_table(nvalt8):
    model, X, y = nvalt8
    ax = hm.plots.receptive_fields(model, X, given=y)
    table = model.receptive_fields(X, given=y)
    np.testing.assert_allclose(np.concatenate([np.asarray(mesh.get_array()) for mesh in ax.collections]), table.to_numpy())
    measures = list(dict.fromkeys(table.index.get_level_values("measure")))
    texts = [text.get_text() for text in ax.texts if text.get_text() not in measures]
    numbers = [float(text.replace("\N{MINUS SIGN}", "-")) for text in texts]
    np.testing.assert_allclose(numbers, table.to_numpy().ravel(), atol=0.00501)
    assert "\N{MINUS SIGN}0.00" not in texts
    assert [label.get_text() for label in ax.get_xticklabels()] == ["hidden0", "hidden1"]


def test_measures_have_scales_of_their_own(nvalt8):
    model, X, y = nvalt8
    ax = hm.plots.receptive_fields(model, X, given=y)
    table = model.receptive_fields(X, given=y)
    wanted = table.abs().groupby(level="measure", sort=False).max().max(axis=1)
    assert list(dict.fromkeys(mesh.norm.vmax for mesh in ax.collections)) == pytest.approx(list(wanted))
    assert all(mesh.norm.vmin == -mesh.norm.vmax for mesh in ax.collections)


def test_rows_are_beside_their_labels_and_within_the_axes(nvalt8):
    model, X, y = nvalt8
    ax = hm.plots.receptive_fields(model, X, given=y)
    middles = np.concatenate([mesh.get_coordinates()[:-1, 0, 1] + 0.5 for mesh in ax.collections])
    np.testing.assert_allclose(ax.get_yticks(), middles)
    assert ax.get_ylim()[0] == pytest.approx(middles[-1] + 0.5)
    labels = [label.get_text() for label in ax.get_yticklabels()]
    assert labels[labels.index("smoker: current") + 1] == "former"
    assert labels[-2:] == ["os", "rfs"]


def test_cells_of_columns_that_an_endpoints_harmonium_does_not_have_are_empty():
    X, y = hm.datasets.load_nvalt8(terminal=True)
    X = X[["stage", "age"]]
    model = hm.SurvivalHarmonium(2, trainer=hm.Exact(n_starts=1), random_state=0).fit(X, y)
    ax, table = hm.plots.receptive_fields(model, X, given=y), model.receptive_fields(X, given=y)
    values = np.ma.concatenate([mesh.get_array() for mesh in ax.collections])
    assert table.isna().any(axis=None)
    by_measure = pd.concat([block for _, block in table.groupby(level="measure", sort=False)])
    np.testing.assert_array_equal(np.ma.getmaskarray(values), by_measure.isna().to_numpy())
    measures = table.index.get_level_values("measure").unique()
    assert sum(text.get_text() not in measures for text in ax.texts) == table.count().sum()
    assert [label.get_text() for label in ax.get_xticklabels()][-1] == "death\nhidden1"
    assert all(np.isfinite(mesh.norm.vmax) for mesh in ax.collections)


def test_small_axes_get_small_numbers(one_endpoint):
    model, X, _ = one_endpoint
    ax = Figure(figsize=(0.5, 0.5)).add_subplot()
    assert hm.plots.receptive_fields(model, X, ax=ax) is ax
    assert min(text.get_fontsize() for text in ax.texts) == 4.0
    assert plt.get_fignums() == []


def test_a_model_without_hidden_units_has_none():
    X, y = hm.datasets.make_three_way(50, random_state=0)
    model = hm.SurvivalHarmonium(n_hidden=0, trainer=hm.Exact(max_iter=5), random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="no hidden units"):
        hm.plots.receptive_fields(model, X, given=y)
    assert plt.get_fignums() == []
