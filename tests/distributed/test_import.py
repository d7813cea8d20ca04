"""The package says what it needs."""

from tests.processes import python


def test_without_dask_the_extra_is_named():
    found = python("import sys; sys.modules['distributed'] = None; import harmonium.distributed")
    assert found.returncode != 0
    assert "pip install 'harmonium[distributed]'" in found.stderr
