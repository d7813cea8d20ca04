"""What was known of each endpoint at a given time."""

from __future__ import annotations

from dataclasses import replace
from numbers import Real
from typing import Any

import numpy as np
import pandas as pd

from harmonium.table.endpoints import parse_endpoints

__all__ = ["landmark"]


def landmark(y: Any, time: float) -> pd.DataFrame:
    """Cut a table of endpoints to what was known at a time.

    Events before or at the time stay as they are; of everything else it is known only that there was no event until then, or until
    the subject was last seen.

    Parameters
    ----------
    y : DataFrame
        What :func:`harmonium.endpoints` returns.
    time : float

    Returns
    -------
    DataFrame
        Of the same form, to be given to the model's predictions.

    Examples
    --------
    >>> import pandas as pd, harmonium as hm
    >>> df = pd.DataFrame({"os_mth": [30.0, 9.0], "dead": [1, 0], "rfs_mth": [8.0, 9.0], "relapse": [1, 0]})
    >>> hm.landmark(hm.endpoints(df, os=("os_mth", "dead"), rfs=("rfs_mth", "relapse")), 12.0)
         os         rfs
      lower upper lower upper
    0  12.0   inf   8.0   8.0
    1   9.0   inf   9.0   inf
    """
    known = parse_endpoints(y)
    if not (isinstance(time, Real) and 0.0 <= time < np.inf):
        raise ValueError(f"a landmark must be a time that is not negative; found {time!r}")
    seen = known.upper <= time
    lower, upper = np.where(seen, known.lower, np.minimum(known.lower, time)), np.where(seen, known.upper, np.inf)
    cut = replace(known, lower=lower, upper=upper, entry=np.zeros_like(lower))
    return cut.to_frame(y.index if hasattr(y, "index") else None)
