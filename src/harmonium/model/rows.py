"""What can be asked of some rows, whichever way their hidden units were dealt with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from harmonium.cells import Cells
from harmonium.model.hidden import Answer
from harmonium.typing import Array, Booleans

__all__ = ["Rows"]


class Rows(Protocol):
    """Some rows and what is known of them, of which anything can be asked on the time scale.

    :class:`~harmonium.model.known_rows.KnownRows` averages over hidden states, enumerated or drawn;
    :class:`~harmonium.model.integrated_rows.IntegratedRows` has integrated the unobserved cells.
    """

    @property
    def cells(self) -> Cells:
        """What is known."""

    @property
    def exact(self) -> bool:
        """Whether answers are free of sampling error."""

    def part(self, rows: Booleans) -> Rows:
        """Some of the rows."""

    def expected_hidden(self) -> Array:
        """p(h = 1) of every hidden unit, (rows, hidden)."""

    def survival(self, column: int, positions: Array) -> Answer:
        """P(x > u) of a column, (rows, positions)."""

    def density(self, column: int, positions: Array) -> Answer:
        """Density of a column, (rows, positions); NaN where the event time is known."""

    def hazard(self, column: int, positions: Array) -> Array:
        """Density over survival, (rows, positions)."""

    def mean_position(self, column: int) -> Answer:
        """Mean of a column, (rows, 1)."""

    def joint_survival(self, columns: Sequence[int], positions: Sequence[Array]) -> Answer:
        """P(x_1 > u_1, x_2 > u_2, ...), (rows, positions of the first column, of the second, ...)."""

    def joint_density(self, columns: Sequence[int], positions: Sequence[Array]) -> Answer:
        """The density at the points of a grid."""
