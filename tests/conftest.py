"""Settings shared by all tests."""

import hashlib
import os
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def _source_hash() -> str:
    digest = hashlib.sha256()
    for path in sorted((ROOT / "src").rglob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


# A cached caller is not compiled again when a function that it calls in another file has changed, so the cache is kept by source.
# This must happen before Numba is imported.
os.environ.setdefault("NUMBA_CACHE_DIR", str(ROOT / ".cache" / f"numba-{_source_hash()}"))

from hypothesis import settings  # noqa: E402

settings.register_profile("default", deadline=None, derandomize=True, print_blob=True)
settings.register_profile("quick", settings.get_profile("default"), max_examples=15)  # make quick
settings.load_profile("default")
