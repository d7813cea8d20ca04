"""After training: time scales on which a model that knows nothing of a subject says what was observed.

Endpoints in one harmonium are calibrated by what the model says of a subject with all covariates missing. Harmoniums of ordered endpoints
are not: times in several states have one harmonium, and the product-limit estimate of all of them together is not its average.

A share of events that was observed, whoever was censored, is right only if censoring has nothing to do with covariates. Where it has, as
with customers whose total charges tell how long they have been with us, bending time to that share would be a mistake, and the training
rows say so: given their covariates they are less likely on the bent scale. If they are by more than twice the standard error of the sum,
the scale is left as it is. They are asked if a share would move by more than three standard errors of one, and always if there are many.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from harmonium.cells import Cells
from harmonium.engine.covariate_units import CovariateUnits, incomplete_rows
from harmonium.engine.exact import log_mass
from harmonium.engine.parameters import Parameters
from harmonium.engine.states import EXACT_LIMIT
from harmonium.model.cell_answers import find_rows
from harmonium.model.scale_change import moved_cells
from harmonium.table.encoding import Encoding
from harmonium.table.time_scale import TimeScale
from harmonium.training.objective import Objective
from harmonium.typing import Array

__all__ = ["calibrated", "calibrated_to_generate"]

_POSITIONS = np.linspace(0.0, 1.0, 129)
_MOST_JUDGES, _ENOUGH_JUDGES = 2000, 50
_DOUBTFUL, _AGAINST = 3.0, 2.0  # standard errors: of a share that is moved further, and by which training rows may speak against it


def calibrated(
    encoding: Encoding,
    parameters: Parameters,
    units: CovariateUnits | None,
    rows: Objective,
    n_threads: int | None = None,
) -> Encoding:
    """An encoding with time scales that are calibrated for some parameters, which were learned on the scales of training.

    ``rows`` are of training, on these scales. Beyond enumeration what a model says would be a sample's, and scales are left as they are.
    """
    model = _Model(encoding.in_training(), parameters, units, n_threads)
    out, chance = model.encoding, _DOUBTFUL * 0.5 / np.sqrt(rows.n_rows) if rows.n_rows < _MOST_JUDGES else 0.0
    before: Array | None = None
    for place, scale, distance in model.bent_scales():
        if distance > chance:
            judges, weights = _judges(rows)
            before = model.log_mass(judges) if before is None else before
            if not model.agrees(_with_scale(model.encoding, place, scale), place, judges, weights, before):
                continue
        out = _with_scale(out, place, scale)
    return out


def calibrated_to_generate(encoding: Encoding, parameters: Parameters, n_threads: int | None = None) -> Encoding:
    """The same for other parameters, which cohorts and imputations are drawn with.

    So is what was not calibrated for predictions, and an endpoint whose observation another one ends: what is observed of it in a drawn
    cohort depends on how the two go together, and Kaplan and Meier's estimate is not its share of events.
    """
    model = _Model(encoding.in_training(), parameters, None, n_threads)
    out, observation = model.encoding, encoding.observation
    for place, scale, _ in model.bent_scales():
        ended = observation is not None and bool(observation.ended_by[place])
        if not ended and encoding.timed[place].scale != model.encoding.timed[place].scale:
            out = _with_scale(out, place, scale)
    return out


@dataclass(frozen=True)
class _Model:
    """Parameters that were learned on an encoding's time scales."""

    encoding: Encoding
    parameters: Parameters
    units: CovariateUnits | None
    n_threads: int | None

    def bent_scales(self) -> Iterator[tuple[int, TimeScale, float]]:
        """Places among the times, the scales on which shares of events are those that were observed, and how far they were from these."""
        timed = self.encoding.timed
        places = [place for place, own in enumerate(timed) if own.calibration is not None]
        if self.parameters.n_hidden > EXACT_LIMIT or not places:
            return
        shares = dict(zip(places, self._shares(places), strict=True))
        for place, share in shares.items():
            calibration = timed[place].calibration
            if calibration is not None:
                observed = timed[place].scale.position_on(calibration.observed, _POSITIONS)
                within = timed[place].scale.reach >= _POSITIONS
                yield place, calibration.bent(_POSITIONS, share), float(np.abs(share - observed)[within].max())

    def agrees(self, candidate: Encoding, place: int, cells: Cells, weights: Array, before: Array) -> bool:
        """Whether rows, given their covariates, are about as likely with another scale of one time as they were ``before``."""
        change = self.log_mass(moved_cells(cells, self.encoding, candidate)) - before
        lower, upper = cells.column(self.encoding.column_of(place))
        seen = lower == upper
        old, new = (encoding.timed[place].scale for encoding in (self.encoding, candidate))
        at = old.from_unit(lower[seen])
        change[seen] += new.log_slope(at) - old.log_slope(at)
        change *= weights
        return bool(change.sum() >= -_AGAINST * np.sqrt(np.sum(change**2)))

    def log_mass(self, cells: Cells) -> Array:
        """Of every row, but for what depends on its covariates alone."""
        if self.units is None:
            return log_mass(self.parameters, cells, self.n_threads)
        return self.units.log_mass_given_covariates(self.parameters, cells, self.n_threads)

    def _shares(self, places: Sequence[int]) -> list[Array]:
        """The share of subjects with an event before each position, for each of some times."""
        nothing, alive = Cells.all_free(self.encoding.layout), np.zeros((len(places), _POSITIONS.size))
        for part in find_rows(self.parameters, nothing, 0, self.n_threads, self.units):
            for number, place in enumerate(places):
                alive[number] += part.rows.survival(self.encoding.column_of(place), _POSITIONS).mean[0]
        return list(1.0 - alive)


def _with_scale(encoding: Encoding, place: int, scale: TimeScale) -> Encoding:
    timed = list(encoding.timed)
    timed[place] = replace(timed[place], scale=scale)
    return encoding.with_timed(tuple(timed))


def _judges(rows: Objective) -> tuple[Cells, Array]:
    """Rows that are asked about bent scales, and their weights: those without gaps if there are enough, since others take longer."""
    complete = np.flatnonzero(~incomplete_rows(rows.recorded))
    chosen = complete if complete.size >= _ENOUGH_JUDGES else np.arange(rows.n_rows)
    chosen = chosen[np.unique(np.linspace(0, chosen.size - 1, _MOST_JUDGES).astype(int))]
    return rows.recorded.part(chosen), rows.row_weights[chosen]
