"""Threads are counted as joblib counts jobs."""

import joblib
import pytest

from harmonium.engine.threads import thread_count


@pytest.mark.parametrize("n_jobs", [1, 2, 7, -1, -2, -3, -1000])
def test_threads_are_counted_as_joblib_does(n_jobs):
    """Version 0.1 refused -1, scikit-learn's word for all cores."""
    assert thread_count(n_jobs) == joblib.effective_n_jobs(n_jobs)


def test_none_means_all_cores():
    assert thread_count(None) == thread_count(-1) == joblib.cpu_count()


@pytest.mark.parametrize("n_jobs", [0, 1.5, "all"])
def test_other_numbers_are_refused(n_jobs):
    with pytest.raises(ValueError, match=f"-1 or None for all cores, -2 for all but one; found {n_jobs!r}"):
        thread_count(n_jobs)
