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

from hypothesis import HealthCheck, settings  # noqa: E402

# How long an example takes depends on what else the machine does, and on what has to be compiled first.
_ANY_SPEED = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("default", derandomize=True, print_blob=True, max_examples=40, **_ANY_SPEED)
settings.register_profile("quick", settings.get_profile("default"), max_examples=15)  # make quick
settings.register_profile("thorough", derandomize=False, print_blob=True, max_examples=400, **_ANY_SPEED)  # make thorough
settings.load_profile("default")
