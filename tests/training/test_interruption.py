"""Ctrl-C is not lost, wherever it arrives."""

import ctypes
import sys
import threading
import time

import numpy as np
import pytest

from harmonium.errors import InterruptionWarning
from harmonium.training.contrastive import Contrastive
from harmonium.training.exact import Exact
from harmonium.training.history import History
from harmonium.training.interruption import interruptible
from harmonium.training.objective import Objective
from tests.models import EVERY_UNIT, random_cells


@ctypes.CFUNCTYPE(None)
def interrupted_callback():
    """What LLVM's callbacks are to Python: an exception in here cannot travel through C."""
    raise KeyboardInterrupt


@ctypes.CFUNCTYPE(None)
def broken_callback():
    raise ZeroDivisionError


@pytest.mark.parametrize("trainer", [Exact(l2=1.0, n_starts=1, tol=0.0, max_iter=100_000), Contrastive(n_epochs=100_000)])
def test_an_interrupt_inside_a_callback_ends_training(trainer):
    """Version 0.1 printed "Exception ignored on calling ctypes callback function" and went on."""
    cells = random_cells(EVERY_UNIT, 60, np.random.default_rng(0))

    def listener(row):
        if row["iteration"] == 12:
            interrupted_callback()
        if row["iteration"] > 12:
            time.sleep(0.001)

    history, before = History(listener=listener), sys.unraisablehook
    with pytest.warns(InterruptionWarning, match="interrupted"):
        fit = trainer.fit(Objective(cells, np.zeros((60, 2)), 0.0), 2, rng=np.random.default_rng(0), history=history)
    assert 12 < len(history.rows) < 200
    fit.parameters.check(EVERY_UNIT)
    assert sys.unraisablehook is before


def test_an_interrupt_in_the_last_moment_is_raised_all_the_same():
    with pytest.raises(KeyboardInterrupt), interruptible():
        interrupted_callback()
    time.sleep(0.02)  # and only once


@pytest.mark.slow
def test_an_interrupt_that_hits_callback_after_callback_is_raised_in_the_end():
    def work():
        for _ in range(3):
            interrupted_callback()
        time.sleep(5.0)

    with pytest.raises(KeyboardInterrupt), interruptible():
        work()


def test_an_error_that_follows_from_the_interrupt_does_not_hide_it():
    """Numba cannot go on if its callback was interrupted: "no compiled object yet for ..."."""

    def work():
        interrupted_callback()
        raise RuntimeError("no compiled object yet")

    with pytest.raises(KeyboardInterrupt) as caught, interruptible():
        work()
    assert isinstance(caught.value.__cause__, RuntimeError)
    time.sleep(0.02)


def test_other_exceptions_go_where_they_went_before(monkeypatch):
    seen = []
    monkeypatch.setattr(sys, "unraisablehook", seen.append)
    with interruptible():
        broken_callback()
    assert [one.exc_type for one in seen] == [ZeroDivisionError]


def test_other_threads_are_left_alone():
    before, inside = sys.unraisablehook, []

    def work():
        with interruptible():
            inside.append(sys.unraisablehook)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert inside == [before]
