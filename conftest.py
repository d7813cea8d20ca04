"""Documents are tests: see tests/documents.py."""

from tests.documents import documents

pytest_collect_file = documents.pytest()
collect_ignore_glob = ["docs/*.py", "docs/_*", "docs/gallery/*", "docs/api/generated/*"]


def pytest_configure(config):
    """Hand files to the processes in the order below, not by their number of tests: those with a few long tests would come last."""
    if hasattr(config.option, "loadscopereorder"):
        config.option.loadscopereorder = False


def pytest_collection_modifyitems(config, items):
    """With several processes, begin with files that take long, so that none of them is still running when all others are done."""
    if hasattr(config, "workerinput"):
        slow = {item.path for item in items if item.get_closest_marker("slow")}
        items.sort(key=lambda item: (item.path not in slow, item.path.suffix != ".md"))
