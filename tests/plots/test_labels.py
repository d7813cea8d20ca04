"""Names are drawn as they are, and labels do not overlap."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.figure import Figure

from harmonium.plots.labels import label_ends, spread
from harmonium.plots.style import axes_or_new, plain


@given(st.lists(st.floats(0.0, 1.0), min_size=1, max_size=9), st.floats(0.0, 0.1))
def test_labels_are_spread_in_order_and_within_limits(heights, gap):
    heights = np.array(heights)
    placed = spread(heights, gap, 0.0, 1.0)
    in_order = placed[np.argsort(heights, kind="stable")]
    assert (np.diff(in_order) >= gap - 1e-12).all()
    assert -1e-12 <= in_order[0] <= in_order[-1] <= 1.0 + 1e-12


def test_labels_that_are_far_apart_stay_where_they_are():
    np.testing.assert_allclose(spread(np.array([0.9, 0.1, 0.5]), 0.1, 0.0, 1.0), [0.9, 0.1, 0.5])


def test_too_many_labels_share_the_room():
    np.testing.assert_allclose(spread(np.full(5, 0.3), 1.0, 0.0, 1.0), [0.0, 0.25, 0.5, 0.75, 1.0])


def test_a_label_points_at_its_end():
    ax = Figure().add_subplot()
    label_ends(ax, [(1.0, 0.5), (1.0, 0.5)], ["a", "b"], ["red", "blue"])
    assert [text.get_text() for text in ax.texts] == ["a", "b"]
    assert [text.xy for text in ax.texts] == [(1.0, 0.5)] * 2
    assert ax.texts[0].get_position()[1] < ax.texts[1].get_position()[1]


@pytest.mark.parametrize("name", ["$x_1$", "$", "a$b", r"\$", r"\frac{", "<b>", "100 %", "naïve β₂", "_x", "", "a\nb\tc", 7])
def test_names_are_drawn_literally(name):
    figure = Figure()
    text = figure.text(0.5, 0.5, plain(name))
    drawn, is_math = text._preprocess_math(text.get_text())
    assert drawn == " ".join(str(name).split())
    assert not is_math
    figure.canvas.draw()


def test_long_names_keep_both_ends():
    assert plain("a" * 100 + "b", 9) == "aaaaa…aab"


def test_what_is_no_axes_is_refused():
    with pytest.raises(TypeError, match="ax must be Matplotlib axes; found str"):
        axes_or_new("ax", (1.0, 1.0))
