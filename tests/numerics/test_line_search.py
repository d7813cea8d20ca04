"""The line search ends where the function is lower and its slope flatter, or a minimum near, after few trials."""

from math import exp, inf, sin

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harmonium.numerics.line_search import ENDED, SEARCH, begin_search, judge


def searched(function, slope, first, longest=1e10, most=30):
    """Step and number of trials."""
    at = np.zeros(1, SEARCH)
    begin_search(at[0], function(0.0), slope(0.0), first, longest)
    for n in range(1, most + 1):
        step = float(at["step"][0])
        assert 0.0 <= step <= longest
        if judge(at[0], function(step), slope(step)) == ENDED:
            return step, n
    return inf, most


# The first three functions of Moré and Thuente's table, with slopes that are hard to meet.
HARD = {
    "one minimum": (lambda a: -a / (a * a + 2.0), lambda a: (a * a - 2.0) / (a * a + 2.0) ** 2),
    "a steep end": (lambda a: (a + 0.004) ** 5 - 2.0 * (a + 0.004) ** 4, lambda a: 5.0 * (a + 0.004) ** 4 - 8.0 * (a + 0.004) ** 3),
    "waves": (lambda a: exp(-a) - 0.1 * sin(20.0 * a), lambda a: -exp(-a) - 2.0 * np.cos(20.0 * a)),
}


@pytest.mark.parametrize("first", [1e-3, 0.1, 10.0, 1e3])
@pytest.mark.parametrize("name", HARD)
def test_it_ends_lower_and_flatter_or_near_a_minimum(name, first):
    function, slope = HARD[name]
    step, n = searched(function, slope, first)
    assert n <= 20
    assert function(step) <= function(0.0) + 1e-3 * step * slope(0.0)
    flatter = abs(slope(step)) <= 0.9 * abs(slope(0.0))
    assert flatter or slope(0.9 * step) < 0.0 < slope(1.1 * step)


@given(curvature=st.floats(1e-4, 1e4), minimum=st.floats(1e-3, 1e3))
def test_a_parabola_takes_few_trials_from_anywhere(curvature, minimum):
    step, n = searched(lambda a: 0.5 * curvature * (a - minimum) ** 2, lambda a: curvature * (a - minimum), 1.0)
    assert n <= 12
    assert abs(step - minimum) <= 0.9 * minimum * (1.0 + 1e-9)


def test_a_line_without_end_is_followed_to_the_longest_step():
    step, _ = searched(lambda a: -a, lambda a: -1.0, 1.0, longest=50.0)
    assert step == 50.0


def test_where_there_are_no_numbers_it_does_not_pretend_to_have_found_something():
    step, _ = searched(lambda a: 0.0 if a == 0.0 else float("nan"), lambda a: -1.0 if a == 0.0 else float("nan"), 1.0)
    assert step == inf
