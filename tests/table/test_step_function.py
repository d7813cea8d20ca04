"""Step functions: scikit-survival's values, and usable where its own are."""

import pickle

import numpy as np
import pytest
import sksurv.functions
from hypothesis import given
from hypothesis import strategies as st

from harmonium.table.step_function import StepFunction, as_step_functions

FINITE = st.floats(-100.0, 100.0)


@st.composite
def functions(draw):
    """Settings of a step function, and points inside its domain."""
    x = np.array(sorted(draw(st.sets(FINITE, min_size=1, max_size=8))))
    y = np.array(draw(st.lists(FINITE, min_size=x.size, max_size=x.size)))
    lower = draw(st.sampled_from([None, float(x[0]) - 3.0]))
    upper = draw(st.sampled_from([None, float(x[-1])]))
    inside = st.one_of(st.sampled_from(list(x)), st.floats(x[0] if lower is None else lower, x[-1]))
    points = draw(st.lists(inside, min_size=1, max_size=6))
    return (x, y), {"a": draw(FINITE), "b": draw(FINITE), "domain": (lower, upper)}, points


@given(functions())
def test_it_is_that_of_scikit_survival(function):
    points, settings, at = function
    ours, theirs = StepFunction(*points, **settings), sksurv.functions.StepFunction(*points, **settings)
    assert ours.domain == theirs.domain
    np.testing.assert_array_equal(ours(at), theirs(at))
    assert np.ndim(ours(at[0])) == np.ndim(theirs(at[0])) == 0
    for name in ("x", "y", "a", "b"):
        np.testing.assert_array_equal(getattr(ours, name), getattr(theirs, name))


@pytest.mark.parametrize("point", [-0.1, 4.1, np.nan, np.inf, [1.0, 5.0]])
def test_outside_the_domain_it_is_an_error_as_in_scikit_survival(point):
    for kind in (StepFunction, sksurv.functions.StepFunction):
        function = kind(np.array([1.0, 4.0]), np.array([0.5, 0.2]))
        with pytest.raises(ValueError, match="x must be"):
            function(point)


def test_points_and_values_must_go_together():
    with pytest.raises(ValueError, match=r"same number of points, at least one; found \(2,\) and \(1,\)"):
        StepFunction([1.0, 2.0], [0.5])
    with pytest.raises(ValueError, match="at least one"):
        StepFunction([], [])


def test_equal_functions_are_equal_and_survive_a_pickle():
    function = StepFunction([1.0, 2.0], [0.5, 0.2])
    assert function == pickle.loads(pickle.dumps(function)) == StepFunction(np.array([1.0, 2.0]), np.array([0.5, 0.2]))
    assert function != StepFunction([1.0, 2.0], [0.5, 0.3])
    assert function != "a curve"
    assert repr(function).startswith("StepFunction(x=array([1., 2.])")


def test_curves_become_one_function_per_row_whatever_the_order_of_times():
    times, curves = np.array([6.0, 1.0, 3.0]), np.array([[0.2, 0.9, 0.5], [0.1, 0.8, 0.7]])
    found = as_step_functions(times, curves)
    assert found.shape == (2,)
    assert found.dtype == object
    for function, row in zip(found, curves, strict=True):
        np.testing.assert_array_equal(function(times), row)
        assert function.domain == (0.0, 6.0)
        assert function(0.0) == row[1]
    assert as_step_functions(times, np.empty((0, 3))).shape == (0,)
