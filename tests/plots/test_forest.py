"""The forest plot of effects, and bands around curves."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

import harmonium as hm


def test_a_forest_has_a_mark_and_a_line_for_every_effect(nvalt8):
    model, X, _ = nvalt8
    table = model.summary(X[:30], time=24.0, until=36.0)
    ax = hm.plots.effects(table)
    marks = [line for line in ax.lines if line.get_marker() in ("o", "^")]
    wanted = [*table.xs("os", level=2)["difference"], *table.xs("rfs", level=2)["difference"]]
    np.testing.assert_array_equal(np.concatenate([line.get_xdata() for line in marks]), wanted)
    spans = [segment for lines in ax.collections for segment in lines.get_segments()]
    assert len(spans) == len(table)
    assert len(ax.get_yticks()) == len(table) // 2
    assert [text.get_text() for text in ax.get_legend().texts] == ["os", "rfs"]
    assert ax.get_xlabel() == "Difference in the probability of no event until 24"
    assert (table["difference_lower"] > -1.0).all()


def test_endpoints_with_times_of_their_own_have_them_beside_their_names(nvalt8):
    model, X, _ = nvalt8
    table = model.summary(X[:5], interval=None)
    ax = hm.plots.effects(table, unit="months")
    times = {name: table.xs(name, level="endpoint")["time"].iloc[0] for name in ("os", "rfs")}
    assert [text.get_text() for text in ax.get_legend().texts] == [f"{name}, until {time:.3g} months" for name, time in times.items()]
    assert ax.get_xlabel() == "Difference in the probability of no event"


def test_one_endpoint_needs_no_legend_and_means_have_a_unit(nvalt8):
    model, X, _ = nvalt8
    table = model.summary(X[:10], interval=None).xs("os", level="endpoint", drop_level=False)
    _, ax = plt.subplots()
    assert hm.plots.effects(table, measure="mean_difference", unit="months", ax=ax) is ax
    assert ax.get_legend() is None
    assert ax.get_xlabel() == f"Difference in restricted mean (months) until {table['until'].iloc[0]:.3g} months"


def test_what_is_no_table_of_effects_is_refused(nvalt8):
    model, X, _ = nvalt8
    table = model.summary(X[:5], interval=None)
    with pytest.raises(ValueError, match="measure must be one of"):
        hm.plots.effects(table, measure="ratio")
    with pytest.raises(ValueError, match="no effects"):
        hm.plots.effects(table[:0])


def test_bands_are_the_intervals_of_the_curves(nvalt8):
    model, X, y = nvalt8
    given = hm.landmark(y[:2], 12)
    ax = hm.plots.survival_curves(model, X[:2], given=given, until=24, interval=0.9)
    assert len(ax.collections) == 2
    times = ax.lines[0].get_xdata()
    wanted = model.prognosis(X[:2], given=given).survival("os", times, interval=0.9)
    drawn = ax.collections[0].get_paths()[0].vertices
    assert drawn[:, 1].min() == pytest.approx(wanted.lower[0].min(), abs=1e-9)
