"""How a row's log mass is found: the engine's four ways, and which of them a row gets."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from harmonium.cells import Cells
from harmonium.engine.integration import integrable
from harmonium.engine.states import EXACT_LIMIT

__all__ = ["CLOSED_FORM", "ENUMERATE", "INTEGRATE", "SAMPLE", "methods_of"]

CLOSED_FORM, ENUMERATE, INTEGRATE, SAMPLE = "closed form", "enumerate", "integrate", "sample"


def methods_of(cells: Cells, n_hidden: int) -> NDArray[np.str_]:
    """The method for every row: "closed form", "enumerate", "integrate" or "sample".

    Nothing unobserved has a closed form. Up to 14 hidden units the states are enumerated. Beyond, x is integrated where little is
    unobserved (:func:`harmonium.engine.integration.integrable`), and everything else is sampled. An integral that turns out to need more
    nodes than it may have is sampled as well, which only the parameters can tell.

    Parameters
    ----------
    cells : Cells
    n_hidden : int

    Examples
    --------
    >>> import numpy as np
    >>> from harmonium.cells import Layout
    >>> from harmonium.units import Gaussian, TruncatedGamma
    >>> nan = np.nan
    >>> cells = Cells.from_bounds(Layout([Gaussian(), Gaussian(), TruncatedGamma()]), [[0.1, 0.2, 0.3], [0.1, 0.2, nan], [nan] * 3])
    >>> methods_of(cells, n_hidden=4).tolist()
    ['closed form', 'enumerate', 'enumerate']
    >>> methods_of(cells, n_hidden=40).tolist()
    ['closed form', 'integrate', 'sample']
    """
    lower, upper = cells.bounds()
    out = np.full(cells.n_rows, ENUMERATE if n_hidden <= EXACT_LIMIT else SAMPLE, dtype="<U11")
    if n_hidden > EXACT_LIMIT:
        out[integrable(cells, n_hidden)] = INTEGRATE
    out[(lower == upper).all(axis=1)] = CLOSED_FORM
    return out
