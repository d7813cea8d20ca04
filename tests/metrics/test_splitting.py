"""Folds have their share of events for every endpoint."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import BaseEstimator, clone
from sklearn.model_selection import cross_validate

import harmonium as hm
from harmonium.metrics import MultiEndpointStratifiedKFold, scorers
from harmonium.table.endpoints import parse_endpoints
from tests.metrics.tables import INF, STUDIES, structured, study, table


def of_patterns(had_event):
    """Endpoints whose events are given as an array of booleans (rows, endpoints)."""
    return table(**{f"t{e}": [(1.0, 1.0 if h else INF) for h in column] for e, column in enumerate(np.transpose(had_event))})


def folds(cv, y):
    return [test for _, test in cv.split(np.zeros((len(y), 1)), y)]


def spread(counts):
    """By how much folds differ at most."""
    return np.ptp(np.asarray(counts), axis=0).max()


@st.composite
def patterns(draw):
    n_endpoints = draw(st.integers(1, 4))
    row = st.sampled_from(list(product([False, True], repeat=n_endpoints)))
    return np.array(draw(st.lists(row, min_size=5, max_size=60)))


@given(patterns(), st.integers(2, 5), st.booleans())
def test_folds_differ_as_little_as_promised(had_event, n_splits, shuffle):
    cv = MultiEndpointStratifiedKFold(n_splits, shuffle=shuffle, random_state=0 if shuffle else None)
    tests = folds(cv, of_patterns(had_event))
    np.testing.assert_array_equal(np.sort(np.concatenate(tests)), np.arange(len(had_event)))
    assert spread([[len(test)] for test in tests]) <= 1
    n_endpoints = had_event.shape[1]
    assert spread([had_event[test].sum(axis=0) for test in tests]) <= max(1, 2 ** (n_endpoints - 2))
    code = had_event @ 2 ** np.arange(n_endpoints)
    assert spread([np.bincount(code[test], minlength=2**n_endpoints) for test in tests]) <= 1


@pytest.mark.parametrize("name", STUDIES)
def test_folds_of_the_studies_are_balanced_on_every_endpoint(name):
    _, y = study(name)
    event = parse_endpoints(y).event
    for n_splits in (3, 5, 10):
        tests = folds(MultiEndpointStratifiedKFold(n_splits, shuffle=True, random_state=0), y)
        assert spread([event[test].sum(axis=0) for test in tests]) <= 1


def test_training_and_test_rows_are_complementary():
    _, y = hm.datasets.load_nvalt8()
    for train, test in MultiEndpointStratifiedKFold(3).split(y, y):
        np.testing.assert_array_equal(np.sort(np.concatenate([train, test])), np.arange(len(y)))


def test_unless_shuffled_rows_with_the_same_events_are_dealt_as_they_come():
    had_event = np.arange(200)[:, None] % 2 == 0
    first = folds(MultiEndpointStratifiedKFold(4), of_patterns(had_event))[0]
    np.testing.assert_array_equal(first, np.sort([*range(0, 200, 8), *range(1, 200, 8)]))


def test_the_same_seed_gives_the_same_folds_and_another_seed_others():
    _, y = hm.datasets.load_nvalt11()
    first, again, other = (np.concatenate(folds(MultiEndpointStratifiedKFold(shuffle=True, random_state=s), y)) for s in (0, 0, 1))
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()


def test_an_interval_is_an_event_and_nothing_known_is_none():
    y = table(os=[(1, 2), (3, 3), (0, INF), (2, INF)])
    assert [sorted(np.isfinite(y["os", "upper"].iloc[test])) for test in folds(MultiEndpointStratifiedKFold(2), y)] == [[False, True]] * 2


def test_structured_arrays_are_split_too():
    y = structured([True, False, True, False], [1.0, 2.0, 3.0, 4.0])
    assert [int(y["event"][test].sum()) for test in folds(MultiEndpointStratifiedKFold(2), y)] == [1, 1]


def test_scikit_learn_takes_it():
    class Age(BaseEstimator):
        def fit(self, X, y):
            return self

        def predict(self, X, endpoint=None):
            return X["age"].to_numpy()

    X, y = hm.datasets.load_nvalt8()
    cv = MultiEndpointStratifiedKFold(4, shuffle=True, random_state=0)
    assert cv.get_n_splits() == 4
    assert cross_validate(Age(), X, y, cv=cv, scoring=scorers.global_concordance_scorer)["test_score"].shape == (4,)
    assert repr(clone(cv, safe=False)) == "MultiEndpointStratifiedKFold(n_splits=4, random_state=0, shuffle=True)"


def test_there_must_be_enough_rows_and_folds():
    with pytest.raises(ValueError, match="at least as many rows as folds; found 2 and 3"):
        folds(MultiEndpointStratifiedKFold(3), structured([True, True], [1.0, 2.0]))
    with pytest.raises(ValueError, match="n_splits must be at least 2; found 1"):
        MultiEndpointStratifiedKFold(1)
