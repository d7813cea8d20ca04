"""Descents in compiled code are those step by step."""

from dataclasses import replace

import numpy as np
import pytest

from harmonium.training.descent import descended
from tests.training.test_strip_loss import problem


@pytest.mark.parametrize("conditional", [0.0, 1.0])
@pytest.mark.parametrize("max_iter", [7, 25, 200])
def test_the_same_iterates_in_compiled_code_and_step_by_step(conditional, max_iter, monkeypatch):
    likelihood, z = problem(conditional, 2)
    other = replace(problem(conditional, 2)[0])
    compiled, stepwise = [], []

    def note_in(seen, of):
        return lambda at: seen.append((at.x.copy(), at.fun, of.n_evaluations))

    found = descended(likelihood, z, max_iter, 1e-9, note_in(compiled, likelihood))
    monkeypatch.setattr("harmonium.training.descent._several_steps", lambda *_: (0, False))
    expected = descended(other, z, max_iter, 1e-9, note_in(stepwise, other))
    assert (found.nit, found.nfev, found.status) == (expected.nit, expected.nfev, expected.status)
    assert found.nfev == likelihood.n_evaluations
    assert len(compiled) == found.nit > 3
    for ours, theirs in zip(compiled, stepwise, strict=True):
        np.testing.assert_array_equal(ours[0], theirs[0])
        assert ours[1:] == theirs[1:]


def test_what_a_listener_raises_ends_it_at_that_iterate():
    likelihood, z = problem(1.0, 2)
    seen = []

    def note(at):
        seen.append(at.x)
        if len(seen) == 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        descended(likelihood, z, 100, 1e-9, note)
    assert len(seen) == 4
    assert likelihood.n_evaluations < 10


def test_rows_that_the_tables_do_not_represent_do_not_stop_it():
    likelihood, z = problem(1.0, 2)
    _, couplings, _ = likelihood.coordinates.split(z)
    couplings[likelihood.coordinates.of_outcomes] *= 20.0
    start = likelihood.coordinates.within_bounds(z)
    found = descended(likelihood, start, 300, 1e-7)
    assert found.success
    assert found.fun < likelihood.loss(start)[0]
    assert likelihood.total._prepared.plan.grid.halvings.max() > 0
