"""Names for the arrays that go through every layer."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["Array", "Booleans", "Integers"]

Array = NDArray[np.float64]
Booleans = NDArray[np.bool_]
Integers = NDArray[np.int64]
