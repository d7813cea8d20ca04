"""Joint densities."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

import harmonium as hm

END = 0.89  # within follow-up
UNIT = np.linspace(0.0, END, 161)[1:]
"""The times at which densities are drawn."""


def contours(axes):
    """Line contours of every group: levels and vertices."""
    sets = [c for c in axes.joint.collections if not c.filled]
    return [(c.levels, [path.vertices for path in c.get_paths()]) for c in sets]


def test_contours_have_the_densities_they_claim(three_way):
    model, _, _ = three_way
    axes = hm.plots.joint_density(model, endpoints=("t1", "t2"), by="colour", until=(END, END))
    found = contours(axes)
    assert len(found) == 2
    for colour, (levels, vertices) in zip(("blue", "red"), found, strict=True):
        row = pd.DataFrame({"colour": [colour]})
        highest = model.prognosis(row).joint_density({"t1": UNIT, "t2": UNIT}).max()
        for level, points in zip(levels, vertices, strict=True):
            assert len(points) > 20
            some = points[:: len(points) // 10]
            density = [model.prognosis(row).joint_density({"t1": [a], "t2": [b]})[0, 0, 0] for a, b in some]
            np.testing.assert_allclose(density, level, atol=0.01 * highest)


def test_contours_hold_their_parts_of_the_probability(three_way):
    model, X, _ = three_way
    probabilities = (0.25, 0.5, 0.9)
    ((levels, _),) = contours(hm.plots.joint_density(model, X[:1], until=(END, END), probabilities=probabilities))
    density = model.predict_joint_density(X[:1], times={"t1": UNIT, "t2": UNIT})[0]
    held = [density[density >= level].sum() / density.sum() for level in levels]
    np.testing.assert_allclose(held, probabilities[::-1], atol=0.02)


def test_marginals_are_averages_over_each_group(nvalt8):
    model, X, _ = nvalt8
    axes = hm.plots.joint_density(model, X, endpoints=("rfs", "os"), by="gender_female")
    for k, sex in enumerate((0, 1)):
        rows = X[X["gender_female"] == sex]
        months, density = axes.above.lines[k].get_data()
        np.testing.assert_allclose(density, model.predict_density(rows, endpoint="rfs", times=months).mean(axis=0))
        density, months = axes.beside.lines[k].get_data()
        np.testing.assert_allclose(density, model.predict_density(rows, endpoint="os", times=months).mean(axis=0))
    assert axes.above.lines[0].get_linestyle() != axes.above.lines[1].get_linestyle()
    assert [text.get_text() for text in axes.above.get_legend().texts] == ["gender_female: 0", "gender_female: 1"]
    assert axes.joint.get_xlabel() == "rfs"


def test_many_rows_are_averaged_in_parts(three_way):
    model, X, _ = three_way
    assert len(X) > 128
    axes = hm.plots.joint_density(model, X, until=(END, END))
    np.testing.assert_allclose(axes.above.lines[0].get_ydata(), model.predict_density(X, endpoint="t1", times=UNIT).mean(axis=0))
    (levels, _), density = contours(axes)[0], model.predict_joint_density(X, times={"t1": UNIT, "t2": UNIT}).mean(axis=0)
    assert levels.max() < density.max()


def test_without_covariates_they_are_integrated_out(nvalt8):
    model, X, _ = nvalt8
    axes = hm.plots.joint_density(model, by="smoker")
    nothing_else = pd.DataFrame(None, index=range(3), columns=X.columns, dtype=object).assign(smoker=["current", "former", "never"])
    for k in range(3):
        months, density = axes.above.lines[k].get_data()
        np.testing.assert_allclose(density, model.predict_density(nothing_else[k : k + 1], endpoint="os", times=months)[0])
    assert len(hm.plots.joint_density(model).above.lines) == 1


def test_what_is_given_counts(nvalt8):
    model, X, y = nvalt8
    given = hm.landmark(y, 24).loc[[1]]
    axes = hm.plots.joint_density(model, X.loc[[1]], given=given)
    months, density = axes.above.lines[0].get_data()
    assert (density[months <= 24] == 0.0).all()
    np.testing.assert_allclose(density, model.predict_density(X.loc[[1]], endpoint="os", times=months, given=given)[0])
    everybody = hm.plots.joint_density(model, by="arm", given=given)
    assert (everybody.above.lines[1].get_ydata()[months <= 24] == 0.0).all()


def test_observed_subjects_are_dots_or_crosses_by_group(three_way):
    model, X, y = three_way
    axes = hm.plots.joint_density(model, by="colour", observed=(X, y), until=(END, END))
    seen = (y.xs("lower", axis=1, level=1) == y.xs("upper", axis=1, level=1)).all(axis=1)
    blocks = [(colour, both) for colour in ("blue", "red") for both in (True, False)]
    assert len(axes.joint.lines) == 4
    for line, (colour, both) in zip(axes.joint.lines, blocks, strict=True):
        rows = y[(X["colour"] == colour) & (seen == both)]
        np.testing.assert_array_equal(line.get_xdata(), rows["t1", "lower"])
        np.testing.assert_array_equal(line.get_ydata(), rows["t2", "lower"])
    assert [line.get_marker() for line in axes.joint.lines] == ["o", "x", "^", "+"]
    assert [text.get_text() for text in axes.beside.get_legend().texts] == ["both seen", "censored"]


def test_intervals_are_marked_in_their_middle_and_the_unknown_not_at_all(three_way):
    model, _, _ = three_way
    bounds = pd.DataFrame({"l": [0.2, 0.0, 0.3], "u": [0.4, None, 0.3]})
    y = hm.endpoints(bounds, t1={"lower": "l", "upper": "u"}, t2={"lower": "l", "upper": "u"})
    dots, crosses = hm.plots.joint_density(model, observed=(None, y)).joint.lines
    np.testing.assert_allclose(dots.get_xydata(), [[0.3, 0.3]])
    np.testing.assert_allclose(crosses.get_xydata(), [[0.3, 0.3]])


@pytest.mark.parametrize("kind", ["figure", "subfigure", "cell", "nested cell"])
def test_it_fits_anywhere(three_way, kind):
    model, X, _ = three_way
    figure = Figure(figsize=(8, 4), layout="constrained")
    if kind == "figure":
        place = figure
    elif kind == "subfigure":
        place = figure.subfigures(1, 2)[1]
    else:
        place = figure.add_gridspec(1, 2)[1]
        place = place.subgridspec(2, 1)[0] if kind == "nested cell" else place
    axes = hm.plots.joint_density(model, X[:1], figure=place, filled=False)
    assert len(figure.axes) == 3
    assert set(axes) == set(figure.axes)
    assert not any(c.filled for c in axes.joint.collections)
    figure.canvas.draw()
    assert plt.get_fignums() == []


def test_wrong_input_is_refused(nvalt8, one_endpoint):
    model, X, y = nvalt8
    draw = hm.plots.joint_density
    with pytest.raises(ValueError, match="a joint density is of two endpoints; the model has only 't1'"):
        draw(one_endpoint[0])
    with pytest.raises(ValueError, match=r"a joint density is of two endpoints; found \('os', 'os'\)"):
        draw(model, endpoints=("os", "os"))
    with pytest.raises(ValueError, match="no endpoint 'pfs'"):
        draw(model, endpoints=("os", "pfs"))
    with pytest.raises(ValueError, match="the model has no column 'sex' to group by"):
        draw(model, by="sex")
    with pytest.raises(ValueError, match="by must be a binary or categorical column; 'age' is numeric"):
        draw(model, by="age")
    with pytest.raises(ValueError, match="at most 5 groups can be distinguished; column 'age'"):
        draw(model, X, by="age")
    with pytest.raises(ValueError, match="an event time of 'os' or 'rfs' is given exactly"):
        draw(model, X[:1], given=y[:1])
    with pytest.raises(ValueError, match="given must have as many rows as X; found 3 and 2"):
        draw(model, X[:2], given=y[:3])
    with pytest.raises(ValueError, match="without X, given must have one row"):
        draw(model, given=y[:3])
    with pytest.raises(ValueError, match="X has no rows"):
        draw(model, X[:0])
    with pytest.raises(ValueError, match="probabilities must be some numbers between 0 and 1; found 3"):
        draw(model, X[:1], probabilities=3)
    with pytest.raises(ValueError, match="until must be a pair"):
        draw(model, X[:1], until=[1.0])
    with pytest.raises(ValueError, match="observed must be a pair"):
        draw(model, X[:1], observed=y)
    with pytest.raises(ValueError, match="observed endpoints must have 'rfs'; found 'os'"):
        draw(model, X[:1], observed=(X, y[["os"]]))
    with pytest.raises(ValueError, match="must have as many rows; found 10 and 200"):
        draw(model, by="arm", observed=(X[:10], y))
    with pytest.raises(TypeError, match="figure must be a Matplotlib Figure, SubFigure or SubplotSpec; found Axes"):
        draw(model, X[:1], figure=Figure().add_subplot())
    assert plt.get_fignums() == []
