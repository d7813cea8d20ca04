"""Documents are tests: see tests/documents.py."""

from tests.documents import documents

pytest_collect_file = documents.pytest()
collect_ignore_glob = ["docs/*.py", "docs/_*", "docs/gallery/*", "docs/api/generated/*"]
