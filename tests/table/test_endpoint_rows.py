"""The table of one endpoint: a row for every state in which a subject was at risk of it."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from harmonium.table.endpoints import Endpoints
from harmonium.table.histories import endpoint_rows, histories_of
from harmonium.table.state_graph import StateGraph

GRAPH = StateGraph(("recurrence", "death"), ("death",))


def seen(recurrence: float, death: float, end: float) -> tuple[list[float], list[float]]:
    """What is seen of a subject until the end of follow-up."""
    last = min(death, end)
    lower = [min(recurrence, last), last]
    return lower, [recurrence if recurrence < last else np.inf, death if death <= end else np.inf]


def table(subjects: list[tuple[float, float, float]]) -> Endpoints:
    bounds = [seen(*subject) for subject in subjects]
    lower, upper = (np.array([bound[k] for bound in bounds]) for k in (0, 1))
    return Endpoints(GRAPH.names, lower, upper, np.zeros_like(lower), ("death",))


times = st.floats(0.1, 20.0)


@given(st.lists(st.tuples(times, times, times), min_size=1, max_size=20))
def test_time_at_risk_and_events_are_those_of_the_study(subjects: list[tuple[float, float, float]]) -> None:
    y = table(subjects)
    found = histories_of(GRAPH, y)
    recurrence, death = (endpoint_rows(GRAPH, found, y, e) for e in (0, 1))
    n = len(subjects)
    at_risk = np.bincount(death.rows, death.times.lower[:, 0], minlength=n)
    assert np.allclose(at_risk, y.lower[:, 1])  # of death, as long as anybody was followed
    assert np.allclose(recurrence.times.lower[:, 0], y.lower[:, 0])
    assert np.isfinite(recurrence.times.upper).sum() == np.isfinite(y.upper[:, 0]).sum()
    assert np.isfinite(death.times.upper).sum() == np.isfinite(y.upper[:, 1]).sum()
    assert (death.entered[death.state == 1] == y.upper[death.rows[death.state == 1], 0]).all()


def test_a_recurrence_between_two_visits_ends_the_state_at_the_second() -> None:
    y = Endpoints(GRAPH.names, np.array([[4.0, 9.0]]), np.array([[6.0, 9.0]]), np.zeros((1, 2)), ("death",))
    found = histories_of(GRAPH, y)
    death = endpoint_rows(GRAPH, found, y, 1)
    assert np.array_equal(death.times.lower[:, 0], [6.0, 3.0])
    assert np.array_equal(death.times.upper[:, 0], [np.inf, 3.0])
    recurrence = endpoint_rows(GRAPH, found, y, 0)
    assert (recurrence.times.lower[0, 0], recurrence.times.upper[0, 0]) == (4.0, 6.0)


def test_late_entry_is_that_of_the_first_state() -> None:
    y = Endpoints(GRAPH.names, np.array([[5.0, 9.0]]), np.array([[5.0, 9.0]]), np.full((1, 2), 2.0), ("death",))
    death = endpoint_rows(GRAPH, histories_of(GRAPH, y), y, 1)
    assert np.array_equal(death.times.entry[:, 0], [2.0, 0.0])
