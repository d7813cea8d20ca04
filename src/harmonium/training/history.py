"""What happened during training, and when to stop."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from harmonium.engine.parameters import Parameters

__all__ = ["History", "StopTraining"]

_EVERY = 10  # iterations between two looks at the validation data


class StopTraining(Exception):  # noqa: N818 - not an error
    """Raised by a history to end training early; trainers catch it."""


@dataclass
class History:
    """Rows of progress, one for each iteration or epoch.

    Parameters
    ----------
    listener : callable, optional
        Called with every row; a progress bar, for example.
    validate : callable, optional
        Metrics of parameters on validation data, "validation" (higher is better) among them; called every ten rows.
    patience : int, optional
        Training stops once the validation metric has not improved this many times in a run of the optimiser.

    Attributes
    ----------
    best : Parameters or None
        Those with the best validation metric, if there was validation.
    """

    listener: Callable[[dict[str, Any]], None] | None = None
    validate: Callable[[Parameters], dict[str, float]] | None = None
    patience: int | None = None
    rows: list[dict[str, Any]] = field(default_factory=list)
    best: Parameters | None = None
    _best_value: float = -np.inf
    _best_of_run: float = -np.inf
    _n_worse: int = 0
    _may_stop: bool = True

    def begin_run(self, *, may_stop: bool = True) -> None:
        """The optimiser begins again, perhaps far from the best so far: patience counts from here on, or not at all in this run."""
        self._best_of_run, self._n_worse, self._may_stop = -np.inf, 0, may_stop

    def add(self, current: Callable[[], Parameters], **row: Any) -> None:
        """Append a row; ``current`` gives the parameters, if they are looked at."""
        row = {"iteration": len(self.rows), **row}
        if self.validate is not None and len(self.rows) % _EVERY == 0:
            parameters = current()
            row.update(self.validate(parameters))
            self._judge(row["validation"], parameters)
        self.rows.append(row)
        if self.listener is not None:
            self.listener(row)
        if self.patience is not None and self._may_stop and self._n_worse >= self.patience:
            raise StopTraining

    def _judge(self, value: float, parameters: Parameters) -> None:
        if value > self._best_value:
            self.best, self._best_value = parameters, value
        if value > self._best_of_run:
            self._best_of_run, self._n_worse = value, 0
        else:
            self._n_worse += 1

    def to_frame(self) -> pd.DataFrame:
        """All rows as a table."""
        return pd.DataFrame(self.rows)
