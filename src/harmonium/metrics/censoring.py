"""Follow-up of subjects with several endpoints: until when each was observed, or would have been had the event not come first."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from harmonium.table.endpoints import Endpoints
from harmonium.table.product_limit import ProductLimit
from harmonium.typing import Array, Booleans

__all__ = ["CensoringDistribution", "last_contact"]


class CensoringDistribution(NamedTuple):
    """Distribution of the time at which a subject's follow-up ends, as probabilities of its possible ends.

    A subject's last contact is its last observed time, of an event or not. Follow-up has *ended* there if an endpoint was censored at
    that time; otherwise it is longer. From both, the distribution is estimated by Kaplan and Meier's method; what is left of it beyond
    the last contact of all goes there. If nobody's follow-up has ended, it never ends. Subjects that entered late count from their
    first entry on.

    Parameters
    ----------
    ends : ndarray
        Increasing.
    probabilities : ndarray
    """

    ends: Array
    probabilities: Array

    @classmethod
    def fit(cls, known: Endpoints) -> CensoringDistribution:
        """Estimate the distribution.

        Examples
        --------
        >>> import numpy as np
        >>> from harmonium.table.endpoints import parse_endpoints
        >>> y = np.array([(False, 1.0), (True, 2.0), (False, 3.0), (True, 4.0)], dtype=[("event", bool), ("time", float)])
        >>> CensoringDistribution.fit(parse_endpoints(y))
        CensoringDistribution(ends=array([1., 3., 4.]), probabilities=array([0.25 , 0.375, 0.375]))
        """
        contact, ended = last_contact(known)
        if not ended.any():
            return cls(np.array([np.inf]), np.ones(1))
        entry = np.where(known.unknown, np.inf, known.entry).min(axis=1)
        entry = np.where(np.isinf(entry), 0.0, entry)
        curve = ProductLimit.of_events(contact, ended, entry if (entry > 0.0).any() else None)
        probabilities = -np.diff(curve.survival, prepend=1.0)
        probabilities[-1] += curve.survival[-1]
        possible = probabilities > 0.0
        return cls(curve.times[possible], probabilities[possible])

    @property
    def horizon(self) -> float:
        """Beyond this time nobody is observed."""
        return float(self.ends[-1])

    def quantiles_after(self, time: float, n: int) -> Array:
        """The middles of n equally likely parts of the distribution, given that follow-up lasted at least until ``time``."""
        later = self.ends >= min(time, self.horizon)
        cumulative = np.cumsum(self.probabilities[later])
        levels = (np.arange(n) + 0.5) / n
        out: Array = self.ends[later][np.searchsorted(cumulative, levels * cumulative[-1])]
        return out


def last_contact(known: Endpoints) -> tuple[Array, Booleans]:
    """Each subject's last observed time, and whether follow-up ended there."""
    contact = known.lower.max(axis=1)
    censored = np.isinf(known.upper) & ~known.unknown
    ended: Booleans = (censored & (known.lower == contact[:, None])).any(axis=1)
    return contact, ended
