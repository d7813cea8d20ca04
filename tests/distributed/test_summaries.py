"""Summaries of parts, merged, say what the whole table says."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import harmonium as hm
from harmonium.cells import Cells
from harmonium.errors import TableError
from harmonium.model.endpoint_tables import (
    EndpointSettings,
    conclude_form,
    conclude_scales,
    endpoint_tables,
    known_rows,
    summarise_positions,
    summarise_sojourns,
)
from harmonium.table.column_summary import summarise_column
from harmonium.table.columns import conclude_column, learn_column
from harmonium.table.encoding import Encoding, conclude_endpoints
from harmonium.table.endpoint_summary import EndpointSummary, summarise_endpoints
from harmonium.table.endpoints import Endpoints, parse_endpoints
from harmonium.table.ordered_endpoints import conclude_ordered, summarise_ordered
from harmonium.table.row_weights import UNWEIGHTED
from harmonium.training.statistics import StatisticsSummary
from harmonium.training.ties import TiedTimes, ties_as_intervals
from tests.distributed.tables import CAUSES, OF_TRIAL, TERMINAL, both, cohort, trial
from tests.models import EVERY_UNIT, random_cells


def merged(parts):
    out = parts[0]
    for part in parts[1:]:
        out = out.merged(part)
    return out


def assert_same_column(found, whole):
    exact = {name: value for name, value in vars(whole).items() if name not in ("mean", "deviation")}
    assert {name: vars(found)[name] for name in exact} == exact
    np.testing.assert_allclose([found.mean, found.deviation], [whole.mean, whole.deviation], rtol=1e-12, atol=1e-12 * whole.deviation)


@pytest.mark.parametrize("role", [None, "ignored"])
@pytest.mark.parametrize("name", ["age", "arm", "stage", "visits", "smokes"])
def test_a_column_is_learned_from_its_parts(name, role):
    series = cohort()[name]
    parts = [series.iloc[:5], series.iloc[5:5], series.iloc[5:300], series.iloc[300:]]
    found = conclude_column(merged([summarise_column(part, role, i)[0] for i, part in enumerate(parts)]), role)
    assert_same_column(found, learn_column(series, role)[0])


@given(st.lists(st.lists(st.floats(-1e12, 1e12), max_size=5), min_size=1, max_size=6), st.sampled_from([1.0, 1e-200, 1e200]))
def test_numbers_of_any_size_are_merged(parts, unit):
    parts = [pd.Series(np.array(part, dtype=float) * unit, name="x") for part in parts]
    whole = conclude_column(summarise_column(pd.concat(parts), None)[0])
    found = conclude_column(merged([summarise_column(part)[0] for part in parts]))
    assert (found.role, found.levels, found.lowest, found.highest) == (whole.role, whole.levels, whole.lowest, whole.highest)
    size = max(abs(whole.lowest), abs(whole.highest)) if whole.role == "numeric" else 1.0
    assert found.mean == pytest.approx(whole.mean, rel=1e-12, abs=1e-12 * size)
    assert found.deviation == pytest.approx(whole.deviation, rel=1e-6, abs=1e-12 * size)
    assert found.scale == whole.scale


@pytest.mark.parametrize(
    ("first", "second", "role", "kind"),
    [
        (pd.Series([1, 2, 3]), pd.Series([0.5, 2.5]), "numeric", "float64"),
        (pd.Series([1, 2, 3], dtype="Int64"), pd.Series([4, 5]), "numeric", "Int64"),
        (pd.Series([None, None], dtype=object), pd.Series([1.5, 2.5, 3.5]), "numeric", "float64"),
        (pd.Series([np.nan, np.nan]), pd.Series(["a", "b"]), "binary", "object"),
        (pd.Series(["a"]), pd.Series(["b", "c"]), "categorical", "object"),
        (pd.Series([True]), pd.Series([False, None], dtype="boolean"), "binary", "boolean"),
        (pd.Series([0, 1]), pd.Series([0.0, 1.0]), "binary", "float64"),
        (pd.Series([True, False]), pd.Series([1, 0]), "binary", "float64"),
        (pd.Series(["x"], dtype="category"), pd.Series(["y"], dtype="category"), "binary", "category"),
        (pd.Series(["x"], dtype="category"), pd.Series(["y"]), "binary", "object"),
        (pd.Series([5, 5]), pd.Series([5]), "ignored", "int64"),
        (pd.Series([0, 1]), pd.Series([2, 3]), "numeric", "int64"),
    ],
)
def test_parts_of_other_types_are_one_column(first, second, role, kind):
    column = conclude_column(merged([summarise_column(part.rename("x"))[0] for part in (first, second)]))
    assert (column.role, column.kind) == (role, kind)


def test_text_in_one_part_and_numbers_in_another_are_refused():
    parts = [summarise_column(pd.Series(values, name="crp"), None, number)[0] for number, values in ((3, [1.0, 2.0]), (7, ["low"]))]
    with pytest.raises(TableError, match="column 'crp' holds numbers in part 3 of the table and text in part 7"):
        merged(parts)


def assert_same_endpoints(found, whole):
    assert found == whole
    for mine, theirs in zip(found, whole, strict=True):
        np.testing.assert_array_equal(mine.event_times, theirs.event_times)


def rows(y, part):
    return Endpoints(y.names, y.lower[part], y.upper[part], y.entry[part])


@pytest.mark.parametrize("scale", ["kaplan-meier", "linear", "log"])
@pytest.mark.parametrize("ties", [False, True])
def test_endpoints_are_learned_from_their_parts(scale, ties):
    X, y = both(cohort(ties=ties))
    known = parse_endpoints(y)
    parts = [summarise_endpoints(rows(known, part)) for part in (slice(0, 3), slice(3, 3), slice(3, 410), slice(410, None))]
    found = [merged(own) for own in zip(*parts, strict=True)]
    assert_same_endpoints(conclude_endpoints(found, scale, None), Encoding.learn(X, known, None, scale, None)[0].endpoints)
    widened = ties_as_intervals(rows(known, slice(100, 200)), [TiedTimes.of(own) for own in found])
    whole = ties_as_intervals(known)
    np.testing.assert_array_equal(widened.lower, whole.lower[100:200])
    np.testing.assert_array_equal(widened.upper, whole.upper[100:200])
    assert ties == bool((widened.lower != known.lower[100:200]).any())


PARTS = slice(0, 3), slice(3, 3), slice(3, 180), slice(180, None)


@pytest.mark.parametrize("definitions", [TERMINAL, CAUSES])
def test_ordered_endpoints_are_learned_from_their_parts(definitions):
    frame = trial(ties=True)
    known = parse_endpoints(hm.endpoints(frame, **definitions))
    parts = [summarise_ordered(known.part(part)) for part in PARTS]
    whole = Encoding.learn(frame[OF_TRIAL], known)[0].ordered
    assert conclude_ordered(merged(parts), None) == whole
    assert conclude_ordered(merged(parts[:-1]), None) != whole


def form_of_parts(study, known, endpoint, settings, parts):
    """How an endpoint's rows are encoded, from summaries of parts of the table."""
    graph, own = study.ordered.graph, [known_rows(study, known.part(part))[endpoint] for part in parts]
    found = merged([summarise_sojourns(graph, rows) for rows in own])
    scales = conclude_scales(graph, found, settings)
    return conclude_form(study, endpoint, scales, found, merged([summarise_positions(scales, rows) for rows in own]), settings)


@pytest.mark.parametrize("scale", ["kaplan-meier", "log"])
@pytest.mark.parametrize("definitions", [TERMINAL, CAUSES])
def test_tables_of_endpoints_are_learned_from_their_parts(scale, definitions):
    frame = trial(ties=True)
    known, settings = parse_endpoints(hm.endpoints(frame, **definitions)), EndpointSettings(1.0, scale, None, "scores")
    study, covariates = Encoding.learn(frame[OF_TRIAL], known, None, scale)
    for e, table in enumerate(endpoint_tables(study, covariates, known, UNWEIGHTED, settings)):
        found, whole = form_of_parts(study, known, e, settings, PARTS), table.form
        assert (found.scales, found.columns) == (whole.scales, whole.columns)
        assert_same_endpoints(found.encoding.endpoints, whole.encoding.endpoints)
        for mine, theirs in zip(found.encoding.columns, whole.encoding.columns, strict=True):
            assert_same_column(mine, theirs)
        np.testing.assert_array_equal(found.tied.first, whole.tied.first)
        np.testing.assert_array_equal(found.tied.lower, whole.tied.lower)
        assert found.tied.first.size
        assert form_of_parts(study, known, e, settings, PARTS[:-1]).scales != whole.scales


def test_states_that_hardly_anybody_left_share_a_scale_wherever_they_were_seen():
    """Of six deaths in two rare states, three each, no part alone has five."""
    names, n = ("a", "b", "death"), 60
    rng = np.random.default_rng(0)
    death = rng.uniform(5.0, 40.0, n)
    lower, upper = np.tile(death[:, None], 3), np.full((n, 3), np.inf)
    upper[:, 2] = np.where(np.arange(n) % 20 < 2, np.inf, death)
    for column in (0, 1):  # three of each had that event, one in each part
        rows = np.arange(3 + column, n, 20)
        lower[rows, column] = upper[rows, column] = 0.5 * death[rows]
    known = Endpoints(names, lower, upper, np.zeros((n, 3)), ("death",))
    study = Encoding.learn(pd.DataFrame({"x": rng.normal(size=n)}), known)[0]
    settings = EndpointSettings(1.0, "kaplan-meier", None, "scores")
    found = form_of_parts(study, known, 2, settings, [slice(0, 20), slice(20, 40), slice(40, None)]).scales
    assert found[1] == found[2] != found[0]
    assert found[1].end == pytest.approx(0.5 * death[np.isin(np.arange(n) % 20, [3, 4])].max())
    assert found == endpoint_tables(study, np.zeros((n, 1)), known, UNWEIGHTED, settings)[2].form.scales


def test_many_times_are_cut_and_hardly_move_the_scale():
    rng = np.random.default_rng(0)
    time, event = rng.weibull(1.3, 40_000) * 20.0, rng.random(40_000) < 0.6
    upper = np.where(event, time, np.inf)
    parts = [EndpointSummary.of("os", time[part], upper[part]) for part in np.array_split(np.arange(40_000), 7)]
    found, other = parts[0], parts[-1]
    for part in parts[1:]:
        found = found.merged(part, most=5_000)
    for part in parts[-2::-1]:
        other = other.merged(part, most=5_000)
    assert found.is_cut
    assert found.count.size <= 5_000
    assert (found.n_rows, found.first, found.last) == (40_000, time.min(), time.max())
    np.testing.assert_array_equal(found.lower, other.lower)  # the order of merging does not matter
    np.testing.assert_array_equal(found.count, other.count)
    assert not TiedTimes.of(found).first.size
    (cut,), (exact,) = (conclude_endpoints([own], "kaplan-meier", None) for own in (found, EndpointSummary.of("os", time, upper)))
    assert (cut.counts, cut.first_time) == (exact.counts, exact.first_time)
    at = np.linspace(0.1, 60.0, 50)
    np.testing.assert_allclose(cut.scale.to_unit(at), exact.scale.to_unit(at), atol=2.0**-found.digits * 10)


def test_statistics_are_merged():
    cells = random_cells(EVERY_UNIT, 200, np.random.default_rng(0))
    whole = StatisticsSummary.of(cells)
    found = merged([StatisticsSummary.of(cells.part(part)) for part in (slice(0, 7), slice(7, 7), slice(7, 90), slice(90, None))])
    np.testing.assert_array_equal(found.n, whole.n)
    np.testing.assert_allclose(found.mean, whole.mean, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(found.scale, whole.scale, rtol=1e-12)
    for mine, theirs in zip(found.counts, whole.counts, strict=True):
        np.testing.assert_array_equal(mine, theirs)


def test_an_empty_table_has_no_scale():
    empty = StatisticsSummary.of(Cells.all_free(EVERY_UNIT, 0))
    np.testing.assert_array_equal(empty.scale, 1.0)
