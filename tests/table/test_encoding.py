"""From tables to cells: times on their scales, entries, horizons."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import harmonium as hm
from harmonium.cells import Cells, Layout
from harmonium.table.encoding import Encoding
from harmonium.table.endpoints import Endpoints, parse_endpoints
from harmonium.table.learned_endpoint import ObservedCounts
from harmonium.table.time_scale import TIME_SCALES
from harmonium.training.objective import conditioned_cells
from harmonium.training.ties import ties_as_intervals
from harmonium.units import TruncatedGamma
from tests.table.learning import stored_and_read

INF, NAN = np.inf, np.nan


def table(lower, upper, entry=None):
    """One endpoint."""
    lower, upper = np.array(lower, dtype=float)[:, None], np.array(upper, dtype=float)[:, None]
    return Endpoints(("os",), lower, upper, np.zeros_like(lower) if entry is None else np.array(entry, dtype=float)[:, None])


def fit(y, scale="linear", horizon=None, X=None):
    X = pd.DataFrame(index=range(len(y.lower))) if X is None else X
    return Encoding.learn(X, y, None, scale, horizon)[0]


def cells_of(y, encoding):
    lower, upper = encoding.times(y)
    return list(zip(lower[:, 0].tolist(), upper[:, 0].tolist(), strict=True))


def accepted(lower, upper):
    """Whether the engine takes them."""
    Cells.from_bounds(Layout([TruncatedGamma()] * lower.shape[1]), lower, upper)
    return True


# --- cells ---


def test_events_are_points_censored_times_intervals_and_unknown_ones_free():
    y = table([2.0, 4.0, 2.0, 0.0, 0.0], [2.0, INF, 6.0, 5.0, INF])
    cells = cells_of(y, fit(y, horizon=10.0))
    np.testing.assert_allclose(cells, [(0.2, 0.2), (0.4, 1.0), (0.2, 0.6), (0.0, 0.5), (NAN, NAN)])


@pytest.mark.parametrize("scale", TIME_SCALES)
def test_an_event_at_zero_has_happened_before_the_first_observed_time(scale):
    y = table([0.0, 2.0, 1.0, 5.0], [0.0, 2.0, INF, 5.0])
    encoding = fit(y, scale)
    assert encoding.endpoints[0].first_time == 1.0
    assert cells_of(y, encoding)[0] == (0.0, pytest.approx(float(encoding.scales[0].to_unit(np.array(1.0)))))


def test_a_censoring_at_zero_is_a_free_cell():
    y = table([0.0, 2.0], [INF, 2.0])
    assert np.isnan(cells_of(y, fit(y))[0]).all()


@pytest.mark.parametrize("scale", TIME_SCALES)
def test_beyond_the_horizon_the_censored_wait_for_the_end_and_events_take_place_there(scale):
    encoding = fit(table([1.0, 2.0, 3.0], [1.0, INF, 3.0]), scale, 10.0)
    late = table([10.0, 11.0, 10.0, 11.0, 9.0, 12.0], [INF, INF, 10.0, 11.0, 20.0, 13.0])
    lower, upper = encoding.times(late)
    assert accepted(lower, upper)
    assert (lower[[0, 1, 5]] > 0.999999).all()
    assert (upper[[0, 1, 4, 5]] == 1.0).all()
    assert (lower[[2, 3]] == 1.0).all()
    assert (upper[[2, 3]] == 1.0).all()


def test_far_beyond_the_last_event_the_kaplan_meier_scale_still_gives_valid_cells():
    encoding = fit(table([1.0, 2.0, 3.0], [1.0, INF, 3.0]), "kaplan-meier")
    assert accepted(*encoding.times(table([1e6, 1e6, 1e6], [INF, 1e6, 2e6], [0.0, 1e5, 1e5])))


def test_a_point_stays_a_point_and_an_interval_an_interval_however_narrow():
    y = table([5.0, 5.0, 1e-300, 1e-300, 1e-300], [5.0, 5.0 + 1e-12, 1e-300, INF, 2e-300])
    lower, upper = fit(y).times(y)
    assert (lower == upper)[:, 0].tolist() == [True, False, True, False, False]
    assert accepted(lower, upper)


KINDS = ("event", "censored", "interval", "left", "unknown", "event at 0")


@st.composite
def tables(draw):
    """Any table of two endpoints that endpoints would let through, with a scale."""
    n = draw(st.integers(1, 25))
    number = st.one_of(st.sampled_from([1.0, 2.0, 3.0, 10.0]), st.floats(1e-6, 1e9))
    lower, upper, entry = np.zeros((n, 2)), np.full((n, 2), INF), np.zeros((n, 2))
    for place in np.ndindex(n, 2):
        kind, t = draw(st.sampled_from(KINDS)), draw(number)
        if kind in ("event", "censored", "interval"):
            lower[place] = t
        if kind == "event at 0":
            upper[place] = 0.0
        elif kind not in ("censored", "unknown"):
            upper[place] = t * (1.0 if kind == "event" else draw(st.floats(1.0, 3.0)))
        if kind != "event at 0":
            entry[place] = t * draw(st.sampled_from([0.0, 0.0, 0.3, 0.999]))
    y = pd.concat(
        {(f"e{e}", k): pd.Series(v[:, e]) for e in range(2) for k, v in (("lower", lower), ("upper", upper), ("entry", entry))}, axis=1
    )
    return parse_endpoints(y), draw(st.sampled_from(TIME_SCALES)), draw(st.integers(1, n))


@pytest.mark.filterwarnings("ignore::harmonium.errors.EndpointWarning")
@given(tables())
def test_the_engine_accepts_every_encoded_table(drawn):
    y, scale, n_training = drawn
    training = Endpoints(y.names, y.lower[:n_training], y.upper[:n_training], y.entry[:n_training])
    assume(not training.unknown.all(axis=0).any())
    encoding = fit(training, scale)
    for known in (y, ties_as_intervals(y)):
        lower, upper = encoding.times(known)
        assert accepted(lower, upper)
        assert (np.isnan(lower) == y.unknown).all()
        entry = encoding.entry(known)
        assert ((entry >= 0.0) & (entry < 1.0)).all()
        assert (np.isnan(lower) | (entry <= lower)).all()
        late = entry > 0.0
        assert accepted(np.where(late, entry, NAN), np.where(late, 1.0, NAN))


@pytest.mark.filterwarnings("ignore::harmonium.errors.EndpointWarning")
@given(tables())
def test_encoded_bounds_keep_their_order(drawn):
    y, scale, _ = drawn
    assume(not y.unknown.all(axis=0).any())
    encoding = fit(y, scale)
    lower, _ = encoding.times(y)
    for e in range(2):
        rows = np.flatnonzero(~np.isnan(lower[:, e]) & (y.upper[:, e] > 0.0))
        order = rows[np.argsort(y.lower[rows, e])]
        assert (np.diff(lower[order, e]) >= -1e-8).all()


# --- entry ---


def test_entries_are_positions_on_the_scale():
    y = table([4.0, 6.0, 8.0], [4.0, INF, 8.0], [2.0, 0.0, 5.0])
    np.testing.assert_allclose(fit(y, horizon=10.0).entry(y), [[0.2], [0.0], [0.5]])


def test_who_entered_late_and_was_lost_at_once_carries_no_information():
    df = pd.DataFrame({"t": [5.0, 2.0, None, 8.0], "e": [1, 0, None, 1], "s": [1.0, 2.0, 3.0, 0.0], "x": [1.0, 2.0, 3.0, 4.0]})
    y = parse_endpoints(hm.endpoints(df, os={"time": "t", "event": "e", "entry": "s"}))
    encoding = fit(y, X=df[["x"]])
    cells = encoding.cells(encoding.covariates(df), y)
    given_entry = conditioned_cells(cells, encoding.entry(y))
    for recorded, entered in zip(cells.outcomes, given_entry.outcomes, strict=True):
        np.testing.assert_array_equal(recorded[1:3], entered[1:3])


# --- horizons ---


def two_endpoints():
    return hm.endpoints(pd.DataFrame({"t": [1.0, 2.0], "u": [5.0, 7.0], "e": [1, 0]}), os=("t", "e"), pfs=("u", "e"))


def test_a_horizon_may_be_given_for_each_endpoint():
    y = parse_endpoints(two_endpoints())
    assert [scale.horizon for scale in fit(y, horizon={"pfs": 9.0, "os": 3.0}).scales] == [3.0, 9.0]
    assert [scale.horizon for scale in fit(y, horizon={"pfs": 9.0}).scales] == [pytest.approx(2.002), 9.0]
    assert [scale.horizon for scale in fit(y, horizon=8).scales] == [8.0, 8.0]


def test_a_horizon_of_an_unknown_endpoint_is_refused():
    with pytest.raises(ValueError, match="there is no endpoint 'ps' to have a horizon; there are 'os', 'pfs'"):
        fit(parse_endpoints(two_endpoints()), horizon={"os": 3.0, "ps": 9.0})


def test_a_horizon_before_the_last_observed_time_names_the_endpoint():
    with pytest.raises(ValueError, match="endpoint 'pfs': the horizon must not lie before the last observed time, 7; found 6"):
        fit(parse_endpoints(two_endpoints()), horizon=6.0)


# --- all of it ---


def test_cells_are_views_of_what_was_encoded():
    X = pd.DataFrame({"age": [1.0, 2.0, 3.0, 4.0], "sex": [0, 1, 0, 1], "arm": list("abca"), "bmi": [4.0, 3.0, 2.0, 1.0]})
    y = table([1.0, 2.0, 3.0, 4.0], [1.0, 2.0, INF, INF])
    encoding = fit(y, X=X)
    covariates = encoding.covariates(X)
    cells = encoding.cells(covariates, y)
    assert cells.n_rows == 4
    assert all(np.shares_memory(part, covariates) for part in (*cells.lower[:-1], *cells.upper[:-1]))
    np.testing.assert_array_equal(cells.outcomes, encoding.times(y))
    Cells.from_bounds(encoding.layout, *cells.bounds())


def test_an_encoding_survives_storage_with_its_scales():
    y = table([1.0, 2.0, 3.0, 4.0], [1.0, 2.0, INF, INF])
    encoding = fit(y, "kaplan-meier", X=pd.DataFrame({"age": [1.0, 2.0, 3.0, 4.0]}))
    again = stored_and_read(encoding)
    assert again == encoding
    np.testing.assert_array_equal(again.times(y), encoding.times(y))


def test_what_the_training_table_held_is_remembered():
    table = pd.DataFrame(
        {"a": [1.0, None, 2.0, 3.0], "lower": [1.0, 2.0, 0.0, 3.0], "upper": [1.0, 4.0, np.inf, np.inf], "entry": [0.5, 0.0, 0.0, 1.0]}
    )
    y = parse_endpoints(hm.endpoints(table, e={"lower": "lower", "upper": "upper", "entry": "entry"}))
    encoding = Encoding.learn(table[["a"]], y, None, "linear", None)[0]
    assert encoding.columns[0].missing == 0.25
    assert encoding.endpoints[0].counts == ObservedCounts(rows=3, events=1, intervals=1, censored=1, late_entries=2)
    assert stored_and_read(encoding) == encoding


def test_a_covariate_that_holds_observed_times_is_warned_of():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"time": rng.exponential(10.0, 40), "event": 1, "age": rng.normal(60.0, 10.0, 40)})
    y = parse_endpoints(hm.endpoints(table, death=("time", "event")))
    Encoding.learn(table[["age"]], y, None, "linear", None)[0]
    with pytest.warns(hm.errors.LeakageWarning, match="column 'time' equals the observed time of endpoint 'death' in 40 of 40 rows"):
        Encoding.learn(table[["age", "time"]], y, None, "linear", None)[0]
