"""The search by exchange of hidden units: what it changes, when it ends, and that it finds what starts alone miss."""

from itertools import count

import numpy as np
from scipy.optimize import OptimizeResult

from harmonium.training.search import Search, distinct, exchanged, n_followed
from tests.training.test_samples import joint, table

N_HIDDEN = 3
COORDINATES = joint(table(n_rows=60), 1.0).coordinates(N_HIDDEN)


def drawn(number):
    return COORDINATES.within_bounds(np.random.default_rng(number).normal(size=COORDINATES.size))


def units(z):
    biases, couplings, _ = COORDINATES.split(z)
    return np.vstack([biases, couplings]).T


def test_an_exchange_changes_one_hidden_unit():
    z, fresh = drawn(0), drawn(1)
    before = z.copy()
    out = exchanged(COORDINATES, z, fresh, 1)
    np.testing.assert_array_equal(z, before)
    np.testing.assert_array_equal(units(out), [units(z)[0], units(fresh)[1], units(z)[2]])
    np.testing.assert_array_equal(COORDINATES.split(out)[2], COORDINATES.split(z)[2])


def test_ends_with_the_same_value_are_one():
    ends = [OptimizeResult(fun=value) for value in (2.0, 1.0 + 1e-9, 1.0, 1.5)]
    assert [end.fun for end in distinct(ends)] == [1.0, 1.5, 2.0]


class Rugged:
    """Every hidden unit is good or bad by itself, one in two draws being good, and no run changes that."""

    def __init__(self):
        self.n_runs = self.n_settled = 0

    def value(self, z):
        return float(np.sum(units(z)[:, 0] <= 0.0))

    def run(self, z, max_iter):
        self.n_runs += 1
        return OptimizeResult(x=z, fun=self.value(z))

    def settle(self, z):
        self.n_settled += 1
        return OptimizeResult(x=z, fun=self.value(z))


def test_exchange_finds_what_starts_miss():
    task = Rugged()
    search = Search(COORDINATES, task.run, task.settle, 100)
    search.follow([drawn(number) for number in (0, 2, 3, 4)], n_followed(4))
    assert task.n_settled == 3
    assert search.best(1)[0].fun > 0.0
    search.exchange(map(drawn, count(5)))
    assert search.best(1)[0].fun == 0.0  # one in 8 starts is as good
    assert task.n_runs < 50


def test_the_search_ends_where_nothing_is_better():
    task = Rugged()
    search = Search(COORDINATES, task.run, task.settle, 100)
    search.follow([drawn(0)])
    search.settled[0].fun = -1.0
    search.exchange(map(drawn, count(1)))
    assert task.n_runs == 1 + 2 * N_HIDDEN
    assert search.best(3)[0].fun == -1.0
    assert len(search.best(3)) <= 3
