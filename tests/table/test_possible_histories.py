"""Histories of which a part was not seen: a row becomes all that it may have had, with the shares that hazards give them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad

import harmonium as hm
from harmonium.errors import TableError
from harmonium.table.endpoints import Endpoints
from harmonium.table.histories import histories_of
from harmonium.table.possible_histories import completed
from harmonium.table.row_weights import RowWeights
from harmonium.table.state_graph import StateGraph

GRAPH = StateGraph(("recurrence", "death"), ("death",))
INF = np.inf


def table(*rows, graph=GRAPH):
    bounds = np.array(rows, dtype=float)
    return Endpoints(graph.names, bounds[..., 0], bounds[..., 1], np.zeros(bounds.shape[:2]), graph.terminal)


def simulated(n, seed, hazards=(0.10, 0.04, 0.25), visits_end=4.0, register_ends=8.0):
    """Recurrences are looked for until the last visit, deaths until the register ends; with the truth of every row."""
    rng = np.random.default_rng(seed)
    to_recurrence, to_death, after = (rng.exponential(1.0 / hazard, n) for hazard in hazards)
    recurs = to_recurrence < to_death
    death = np.where(recurs, to_recurrence + after, to_death)
    visit = rng.uniform(0.5, 2.0 * visits_end, n) if np.isfinite(visits_end) else np.full(n, register_ends)
    lower, upper = np.empty((n, 2)), np.full((n, 2), INF)
    seen, dead = recurs & (to_recurrence < visit), death < register_ends
    lower[:, 0] = np.where(seen, to_recurrence, np.minimum(visit, death))
    upper[seen, 0] = to_recurrence[seen]
    lower[:, 1], upper[dead, 1] = np.minimum(death, register_ends), death[dead]
    return Endpoints(GRAPH.names, lower, upper, np.zeros((n, 2)), GRAPH.terminal), recurs & (to_recurrence < register_ends)


# --- laws ---


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000), st.booleans())
def test_shares_of_a_row_add_up_to_its_weight_and_histories_agree_with_what_was_seen(seed, weighted):
    y, _ = simulated(60, seed, hazards=(0.1, 0.2, 0.25))
    weights = RowWeights(np.random.default_rng(seed).uniform(0.2, 3.0, 60)) if weighted else RowWeights()
    found = completed(y, weights)
    values = np.ones(found.rows.size) if found.weights.values is None else found.weights.values
    np.testing.assert_allclose(np.bincount(found.rows, values), np.ones(60) if weights.values is None else weights.values, rtol=1e-12)
    np.testing.assert_array_equal(found.y.lower[:, 1], y.lower[found.rows, 1])
    assert (found.y.lower >= y.lower[found.rows]).all()
    assert (found.y.upper <= y.upper[found.rows]).all()
    assert completed(found.y).y is found.y  # nothing is left open
    assert found.weights.smallest == weights.smallest


def test_a_table_of_which_all_was_seen_is_the_same():
    y = table([(3, 3), (8, 8)], [(6, INF), (6, 6)], [(5, INF), (5, INF)])
    found = completed(y)
    assert found.y is y
    assert found.weights.values is None
    free = Endpoints(("recurrence", "death"), y.lower, y.upper, y.entry)
    assert completed(free).y is free


# --- shares ---


def test_shares_are_those_of_constant_hazards():
    """Against the integrals over the time that was not seen, by adaptive quadrature; beside many rows, from which hazards are learned."""
    recurrence, death, after = 0.3, 0.1, 0.5
    whole, _ = simulated(20_000, 0, hazards=(recurrence, death, after), visits_end=INF)
    rows = table([(2, INF), (7, 7)], [(2, INF), (7, INF)])
    lower, upper = (np.concatenate(own) for own in ((rows.lower, whole.lower), (rows.upper, whole.upper)))
    found = completed(Endpoints(GRAPH.names, lower, upper, np.zeros_like(lower), GRAPH.terminal))
    for row, dies in ((0, True), (1, False)):
        without = np.exp(-(recurrence + death) * 5.0) * (death if dies else 1.0)
        rate = after if dies else 1.0
        with_one, _ = quad(lambda u, r=rate: np.exp(-(recurrence + death) * (u - 2.0) - after * (7.0 - u)) * recurrence * r, 2.0, 7.0)
        own = found.weights.values[(found.rows == row) & np.isfinite(found.y.upper[:, 0])].sum()
        np.testing.assert_allclose(own, with_one / (with_one + without), atol=0.02)


def test_shares_are_right_on_average():
    """Of subjects whose recurrence was not looked for to the end, as many had one as the shares say."""
    y, recurred = simulated(4000, seed=1)
    found = completed(y)
    known = histories_of(GRAPH, y)
    unseen = np.flatnonzero((known.ended < 0) & (np.minimum(known.alive, known.dead) > known.until) & np.isinf(y.upper[:, 0]))
    assert unseen.size > 1000
    with_one = np.isfinite(found.y.upper[:, 0])
    share = np.bincount(found.rows[with_one], found.weights.values[with_one], minlength=4000)
    for rows in (unseen[np.isfinite(y.upper[unseen, 1])], unseen[np.isinf(y.upper[unseen, 1])]):
        error = np.sqrt(np.sum(share[rows] * (1.0 - share[rows]))) / rows.size
        assert abs(share[rows].mean() - recurred[rows].mean()) < 4.0 * error


def test_an_event_that_was_never_seen_is_not_thought_of():
    y = table([(3, INF), (3, 3)], [(5, INF), (5, 5)], [(2, INF), (6, 6)], [(0, INF), (4, INF)])
    found = completed(y)
    np.testing.assert_array_equal(found.rows, np.arange(4))
    np.testing.assert_array_equal(found.y.lower[:, 0], [3, 5, 6, 4])
    assert found.weights.values is None


def test_with_whole_rows_each_has_its_likeliest_history():
    y, _ = simulated(200, seed=3)
    every, whole = completed(y), completed(y, whole=True)
    np.testing.assert_array_equal(whole.rows, np.arange(200))
    assert whole.weights.values is None
    best = [np.flatnonzero(every.rows == row)[np.argmax(every.weights.values[every.rows == row])] for row in range(200)]
    np.testing.assert_array_equal(whole.y.lower, every.y.lower[best])


def test_of_several_intermediate_events_one_is_thought_of():
    graph = StateGraph(("response", "relapse", "death"), ("death",))
    seen = [[(1, 1), (3, 3), (5, 5)], [(2, 2), (4, 4), (6, 6)], [(4, INF), (2, 2), (7, 7)], [(1, 1), (8, INF), (8, 8)]]
    y = table(*seen, [(1, 1), (2, INF), (9, 9)], [(5, 5), (2, INF), (9, 9)], graph=graph)
    found = completed(y)
    last = found.rows >= 4
    assert (np.isfinite(found.y.upper[last]).sum(axis=1) <= 3).all()
    np.testing.assert_allclose(np.bincount(found.rows, found.weights.values), 1.0)


# --- visits ---


def inspected(n, every, part, seed=0):
    """Leaks that are looked for at visits in a part of the rows, and failures that are known at their time; beside what really happened."""
    rng = np.random.default_rng(seed)
    leak, direct = 9000.0 * rng.exponential(size=n) ** 0.7, 30_000.0 * rng.exponential(size=n) ** 0.8
    after = 5000.0 * rng.exponential(size=n)
    failure = np.where(leak < direct, leak + after, direct)
    leak = np.where(leak < direct, leak, INF)
    end = rng.uniform(9000.0, 15_000.0, n)
    until, failed = np.minimum(failure, end), failure <= end
    seen = np.column_stack([np.where(leak <= until, leak, until), until])
    whole = Endpoints(("leak", "failure"), seen, np.column_stack([np.where(leak <= until, leak, INF), np.where(failed, until, INF)]),
                      np.zeros((n, 2)), ("failure",))  # fmt: skip
    first = rng.uniform(0.0, every, n)
    last, found = (first + np.floor((until - first) / every) * every), first + np.ceil(np.maximum(leak - first, 0.0) / every) * every
    visited, at_visit = rng.random(n) < part, found <= until
    lower, upper = whole.lower.copy(), whole.upper.copy()
    lower[visited, 0] = np.where(at_visit, np.maximum(found - every, 0.0), np.maximum(last, 0.0))[visited]
    upper[visited, 0] = np.where(at_visit, found, INF)[visited]
    return Endpoints(whole.names, lower, upper, whole.entry, whole.terminal), whole


def failed_without_leak(y, weights, times):
    """Aalen and Johansen's estimate, from histories that are known."""
    known = histories_of(StateGraph(y.names, y.terminal), y)
    first = np.where(known.source[:, 0] == 0, known.lower[:, 0], known.until)
    order = np.argsort(first, kind="stable")
    left, direct = (known.source[:, 0] == 0)[order], ((known.ended == 1) & (known.state == 0))[order]
    own = weights[order]
    hazard = own / np.cumsum(own[::-1])[::-1]
    staying = np.append(1.0, np.cumprod(1.0 - hazard * left)[:-1])
    return np.append(0.0, np.cumsum(staying * hazard * direct))[np.searchsorted(first[order], times, side="right")]


@pytest.mark.parametrize(("every", "part"), [(100, 0.5), (100, 0.9), (100, 1.0), (500, 0.9), (500, 1.0), (2000, 0.5), (2000, 0.9)])
def test_deaths_without_an_intermediate_event_are_found_where_it_is_looked_for_at_visits(every, part):
    seen, whole = inspected(3000, every, part)
    found, times = completed(seen), np.array([3000.0, 7500.0, 12_000.0])
    truth = failed_without_leak(whole, np.ones(3000), times)
    np.testing.assert_allclose(failed_without_leak(found.y, found.weights.values, times), truth, atol=0.02)


def test_the_denser_the_visits_the_nearer_is_the_table_that_was_fully_observed():
    times = np.linspace(1000.0, 12_000.0, 12)
    distance = []
    for every in (800, 200, 50, 5):
        seen, whole = inspected(1500, every, 1.0)
        found = completed(seen)
        own = failed_without_leak(found.y, np.ones(len(found.rows)) if found.weights.values is None else found.weights.values, times)
        distance.append(np.abs(own - failed_without_leak(whole, np.ones(1500), times)).max())
    assert distance[-1] < 0.002
    assert distance[-2] < 0.005


def test_visits_that_are_too_far_apart_in_all_rows_are_refused_with_what_is_needed():
    seen, _ = inspected(1500, 2000, 1.0)
    with pytest.raises(TableError, match=r"'leak' came before 'failure' cannot be told .* 0 are known to have had none.*at least 5 rows"):
        completed(seen)


# --- models ---


@pytest.mark.slow
def test_a_model_does_not_forget_deaths_after_the_last_visit():
    """Mean survival against the truth; without these deaths it would be .05 too high and more."""
    y, _ = simulated(1200, seed=5)
    x = np.random.default_rng(0).normal(size=(1200, 1))
    frame = y.to_frame()
    model = hm.SurvivalHarmonium(2, trainer=hm.Exact(n_starts=2), n_covariate_units=0, random_state=0).fit(x, frame)
    times = np.array([2.0, 4.0, 7.0])
    free = np.exp(-0.14 * times)
    after = 0.10 / (0.25 - 0.14) * (np.exp(-0.14 * times) - np.exp(-0.25 * times))
    predicted = model.predict_survival_function(x, endpoint="death", times=times, return_array=True).mean(axis=0)
    np.testing.assert_allclose(predicted, free + after, atol=0.035)
    incidence = model.predict_cumulative_incidence(x, endpoint="recurrence", times=times).mean(axis=0)
    np.testing.assert_allclose(incidence, 0.10 / 0.14 * (1.0 - free), atol=0.03)


def test_training_by_sampling_takes_whole_rows():
    y, _ = simulated(80, seed=7)
    trainer = hm.Contrastive(n_epochs=2)
    model = hm.SurvivalHarmonium(2, trainer=trainer, random_state=0).fit(np.zeros((80, 1)) + np.arange(80)[:, None], y.to_frame())
    assert np.isfinite(model.predict(np.ones((1, 1)))).all()
