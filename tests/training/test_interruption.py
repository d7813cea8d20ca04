"""Ctrl-C is not lost, wherever it arrives."""

import _thread
import ctypes
import itertools
import signal
import sys
import threading
import time

import numpy as np
import pytest

from harmonium.errors import InterruptionWarning
from harmonium.training import interruption
from harmonium.training.contrastive import Contrastive
from harmonium.training.exact import Exact
from harmonium.training.history import History
from harmonium.training.interruption import interruptible
from harmonium.training.objective import Objective
from tests.models import EVERY_UNIT, random_cells

REMINDER = interruption._Reminder


@ctypes.CFUNCTYPE(None)
def interrupted_callback():
    """What LLVM's callbacks are to Python: an exception in here cannot travel through C."""
    raise KeyboardInterrupt


@ctypes.CFUNCTYPE(None)
def broken_callback():
    raise ZeroDivisionError


def ctrl_c():
    """Python runs the handler when this call returns, as it does between byte codes after a real one."""
    _thread.interrupt_main()


@pytest.fixture(autouse=True)
def handler():
    """What raises KeyboardInterrupt; tests that run in the background of a script have a parent that ignores Ctrl-C."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield signal.default_int_handler
    signal.signal(signal.SIGINT, before)


@pytest.fixture(autouse=True)
def ignored(monkeypatch):
    """What was handed to the hook that was there before."""
    seen = []
    monkeypatch.setattr(sys, "unraisablehook", seen.append)
    yield seen
    assert [one.exc_type for one in seen if one.exc_type is not ZeroDivisionError] == []


def assert_left_behind_nothing(hook):
    for _ in range(3):
        ordinary_code()  # an interrupt that is still on its way would be raised here
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert sys.unraisablehook == hook
    assert not [thread for thread in threading.enumerate() if isinstance(thread, REMINDER)]


def ordinary_code():
    return None


def wait_for_the_interrupt():
    """For at most a minute: the bound is not a statement about speed."""
    for _ in range(12_000):
        time.sleep(0.005)


class ByHand:
    """A reminder that calls its function when a test, or one of its own methods, says so."""

    def __init__(self, remind):
        self.remind = remind
        self.started = self.stopped = False

    def start(self):
        assert not self.started
        self.started = True

    def stop(self):
        self.stopped = True


class WhileItStarts(ByHand):
    def start(self):
        self.remind()
        super().start()
        self.remind()


class BeforeItIsStopped(ByHand):
    def stop(self):
        self.remind()
        super().stop()


class InterruptedWhileItStarts(ByHand):
    def start(self):
        ctrl_c()
        super().start()
        ctrl_c()


@pytest.fixture
def reminders(monkeypatch):
    made = []

    def make(remind):
        made.append(ByHand(remind))
        return made[-1]

    monkeypatch.setattr(interruption, "_Reminder", make)
    return made


@pytest.mark.parametrize("trainer", [Exact(l2=1.0, n_starts=1, tol=0.0, max_iter=100_000), Contrastive(n_epochs=100_000)])
def test_an_interrupt_inside_a_callback_ends_training(trainer):
    """Version 0.1 printed "Exception ignored on calling ctypes callback function" and went on."""
    cells = random_cells(EVERY_UNIT, 60, np.random.default_rng(0))

    def listener(row):
        if row["iteration"] == 12:
            interrupted_callback()
        if row["iteration"] == 13:
            wait_for_the_interrupt()

    history, before = History(listener=listener), sys.unraisablehook
    with pytest.warns(InterruptionWarning, match="interrupted"):
        fit = trainer.fit(Objective(cells, np.zeros((60, 2)), 0.0), 2, rng=np.random.default_rng(0), history=history)
    assert len(history.rows) in (13, 14)
    fit.parameters.check(EVERY_UNIT)
    assert_left_behind_nothing(before)


def test_an_interrupt_in_the_last_moment_is_raised_all_the_same():
    before = sys.unraisablehook
    with pytest.raises(KeyboardInterrupt), interruptible():
        interrupted_callback()
    assert_left_behind_nothing(before)


def test_an_interrupt_that_hits_callback_after_callback_is_raised_in_the_end(reminders):
    """The last one in ordinary code, in the middle of the block."""
    reached = []

    def work():
        interrupted_callback()
        reminded_callback = ctypes.CFUNCTYPE(None)(reminders[0].remind)
        for _ in range(3):
            reminded_callback()
        reached.append("the end of the callbacks")
        reminders[0].remind()
        reached.append("the end of the block")

    with pytest.raises(KeyboardInterrupt), interruptible():
        work()
    assert reached == ["the end of the callbacks"]
    assert [(reminder.started, reminder.stopped) for reminder in reminders] == [(True, True)]


def test_work_that_goes_on_is_interrupted():
    def work():
        interrupted_callback()
        wait_for_the_interrupt()
        raise AssertionError("nothing has interrupted the work")

    before = sys.unraisablehook
    with pytest.raises(KeyboardInterrupt) as caught, interruptible():
        work()
    assert caught.value.__cause__ is None
    assert_left_behind_nothing(before)


@pytest.mark.parametrize("second", ["reminder", "user"])
def test_what_was_raised_is_not_raised_again(reminders, second):
    """However often the reminder comes while the work cleans up; the user's second Ctrl-C may have been faster than the reminder."""
    cleaned_up = []

    def work():
        interrupted_callback()
        try:
            reminders[0].remind() if second == "reminder" else ctrl_c()
        finally:
            reminders[0].remind()
            cleaned_up.append(True)

    with pytest.raises(KeyboardInterrupt), interruptible():
        work()
    assert cleaned_up == [True]


REMINDERS = [REMINDER, ByHand, WhileItStarts, BeforeItIsStopped, InterruptedWhileItStarts]


class InterruptAt:
    """Ctrl-C at the n-th byte code of interruption.py, or line of threading.py, that the main thread comes to."""

    def __init__(self, n):
        self.n, self.seen = n, 0

    def trace(self, frame, event, argument):
        if frame.f_code.co_filename not in (interruption.__file__, threading.__file__):
            return None
        frame.f_trace_opcodes = frame.f_code.co_filename == interruption.__file__
        self.seen += 1
        if self.seen == self.n:
            ctrl_c()
        return self.trace

    def __enter__(self):
        self.before = sys.gettrace()
        sys.settrace(self.trace)
        return self

    def __exit__(self, *error):
        sys.settrace(self.before)


def swallowed_and_reminded():
    interrupted_callback()
    sys.unraisablehook.__self__._remind()  # as the reminder's thread does, but here it can be interrupted at every byte code


@pytest.mark.parametrize("reminder", REMINDERS)
@pytest.mark.parametrize("work", [ordinary_code, interrupted_callback, swallowed_and_reminded])
def test_an_interrupt_at_any_byte_code_is_raised_and_not_afterwards(monkeypatch, work, reminder):
    """In the hook, while the reminder starts, calls or is stopped, at the first and the last instruction of each method."""
    monkeypatch.setattr(interruption, "_Reminder", reminder)
    monkeypatch.setattr(interruption, "_DELAY", 3600.0)  # the thread is started and stopped, but what it does is done by hand
    before = sys.unraisablehook
    for n in itertools.count(1):
        interrupt, raised = InterruptAt(n), False
        try:
            with interrupt, interruptible():
                work()
        except KeyboardInterrupt:
            raised = True
        assert raised == (work is not ordinary_code or interrupt.seen >= n), n
        assert_left_behind_nothing(before)
        if interrupt.seen < n:
            break
    assert n > 30  # versions of Python differ in how many byte codes there are, and in whether they can be traced


def test_blocks_may_be_nested():
    """An interrupt that the inner block has kept is raised in the outer one."""
    reached, before = [], sys.unraisablehook

    def work():
        with interruptible():
            interrupted_callback()
            reached.append("the end of the inner block")
        reached.append("after the inner block")

    with pytest.raises(KeyboardInterrupt), interruptible():
        work()
    assert "after the inner block" not in reached
    assert_left_behind_nothing(before)


def test_a_handler_of_the_users_own_is_asked_as_before():
    arrived = []
    signal.signal(signal.SIGINT, lambda number, frame: arrived.append(number))
    with interruptible():
        ctrl_c()
        assert arrived == [signal.SIGINT]
    with pytest.raises(KeyboardInterrupt), interruptible():
        interrupted_callback()  # raised by something else, then, and still not lost
    assert arrived == [signal.SIGINT]


def test_where_ctrl_c_is_ignored_it_stays_ignored():
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with interruptible():
        assert signal.getsignal(signal.SIGINT) == signal.SIG_IGN
    with pytest.raises(KeyboardInterrupt), interruptible():
        interrupted_callback()
    assert signal.getsignal(signal.SIGINT) == signal.SIG_IGN


def test_an_error_that_follows_from_the_interrupt_does_not_hide_it():
    """Numba cannot go on if its callback was interrupted: "no compiled object yet for ..."."""

    def work():
        interrupted_callback()
        raise RuntimeError("no compiled object yet")

    before = sys.unraisablehook
    with pytest.raises(KeyboardInterrupt) as caught, interruptible():
        work()
    assert isinstance(caught.value.__cause__, RuntimeError)
    assert_left_behind_nothing(before)


def test_other_exceptions_go_where_they_went_before(ignored):
    with interruptible():
        broken_callback()
    assert [one.exc_type for one in ignored] == [ZeroDivisionError]


def test_other_threads_are_left_alone():
    before, inside = sys.unraisablehook, []

    def work():
        with interruptible():
            inside.append(sys.unraisablehook)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert inside == [before]
