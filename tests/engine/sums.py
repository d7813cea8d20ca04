"""Sums of log masses, and what they must agree with."""

from hypothesis import strategies as st

from harmonium.cells import Cells
from harmonium.engine.enumeration import expectations
from harmonium.engine.exact import LogMassSum, Term

seeds = st.integers(0, 2**32 - 1)


def by_enumeration(parameters, cells):
    return expectations(parameters.natural(), cells.layout, *cells.bounds())


def signed_sum(cells, rng, n_threads=None):
    """A conditional objective with random weights and a joint term: every kind of term there is."""
    terms = [
        Term(cells, rng.normal(size=cells.n_rows)),
        Term.uniform(cells.freeing_outcomes(), -1.0),
        Term.uniform(Cells.all_free(cells.layout), -3.0),
    ]
    return LogMassSum(terms, n_threads)
