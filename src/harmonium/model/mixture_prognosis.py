"""The prognosis of a mixture of models, whose answers are averages over its components.

Components have the same encoding, so that positions on the time scale mean the same to all of them. What is given counts: a component
that found it unlikely has a smaller weight.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from harmonium.engine.choice_of_method import CLOSED_FORM, ENUMERATE, INTEGRATE, SAMPLE
from harmonium.model.deviations import Question
from harmonium.model.hidden import Answer
from harmonium.model.model_prognosis import ModelPrognosis
from harmonium.model.prognosis import Prognosis
from harmonium.model.quantiles import invert_survival
from harmonium.typing import Array, Booleans, Integers

__all__ = ["MixturePrognosis", "parts_of"]


class MixturePrognosis(Prognosis):
    """Averages of the prognoses of all components.

    Parameters
    ----------
    parts : sequence of ModelPrognosis
        One for each component, of the same rows.
    weights : ndarray of shape (n_components, n_rows)
    """

    def __init__(self, parts: Sequence[ModelPrognosis], weights: Array) -> None:
        super().__init__(parts[0].encoding, parts[0].known)
        self.parts = tuple(parts)
        self.weights = weights

    @property
    def n_rows(self) -> int:
        """How many rows."""
        return self.parts[0].n_rows

    @property
    def methods(self) -> Any:
        """How each row is answered: by the component that is furthest from a closed form."""
        order = np.array([CLOSED_FORM, ENUMERATE, INTEGRATE, SAMPLE])
        ranks = [np.argmax(part.methods[:, None] == order, axis=1) for part in self.parts]
        return order[np.max(ranks, axis=0)]

    def deviations(self, question: Question, *, thorough: bool = False) -> tuple[Array, Iterator[Array]]:
        """The answer to a question; components deviate from it as well as each along its own directions."""
        for part in self.parts:
            part.warns = False
        base = question(self)
        return base, self._along(question, base, thorough)

    def _along(self, question: Question, base: Array, thorough: bool) -> Iterator[Array]:
        for weight, part in zip(self.weights, self.parts, strict=True):
            own, deviations = part.deviations(question, thorough=thorough)
            root = np.sqrt(weight).reshape(-1, *[1] * (own.ndim - 1))
            yield root * (own - base)
            for deviation in deviations:
                yield root * deviation

    def correction(self, question: Question) -> Array:
        """How far the answers of components move with what shrinkage has taken from them, on average."""
        return self._average(lambda part: part.correction(question))

    def _average(self, question: Callable[[ModelPrognosis], Array], rows: Integers | None = None) -> Array:
        total: Array | None = None
        for weight, part in zip(self.weights if rows is None else self.weights[:, rows], self.parts, strict=True):
            answer = question(part)
            scaled = weight.reshape(-1, *[1] * (answer.ndim - 1)) * answer
            total = scaled if total is None else total + scaled
        assert total is not None
        return total

    def _survival(self, e: int, positions: Array) -> Answer:
        answers = [part._survival(e, positions) for part in self.parts]
        weights = self.weights[:, :, None]
        variance = sum(w**2 * a.standard_error**2 for w, a in zip(weights, answers, strict=True))
        mean = sum(w * a.mean for w, a in zip(weights, answers, strict=True))
        return Answer(np.asarray(mean), np.sqrt(variance), np.max([a.r_hat for a in answers], axis=0))

    def _survival_at(self, e: int, positions: Array) -> Array:
        return self._average(lambda part: part._survival_at(e, positions))

    def _density(self, e: int, positions: Array) -> Array:
        return self._average(lambda part: part._density(e, positions))

    def _hazard(self, e: int, positions: Array) -> Array:
        """Hazards weighted by survival: every component counts by how many of its subjects are still at risk."""
        alive = np.stack([part._survival(e, positions).mean for part in self.parts]) * self.weights[:, :, None]
        hazards = np.stack([part._hazard(e, positions) for part in self.parts])
        total = alive.sum(axis=0)
        share = np.where(total > 0.0, alive / np.where(total > 0.0, total, 1.0), self.weights[:, :, None])
        return np.asarray(np.sum(np.where(share > 0.0, share * hazards, 0.0), axis=0))

    def _quantile(self, e: int, level: float) -> Array:
        def curves(chosen: Booleans, positions: Array) -> tuple[Array, Array]:
            return self._survival(e, positions).mean[chosen], self._density(e, positions)[chosen]

        lower, upper = self.parts[0].cells.column(self.encoding.column_of(e))
        found = invert_survival(curves, self.n_rows, level, exact=True)
        return np.where(lower == upper, lower, found)

    def _restricted_mean(self, e: int, until: float) -> Array:
        return self._average(lambda part: part._restricted_mean(e, until))

    def _risk(self, e: int) -> Array:
        return self._average(lambda part: part._risk(e))

    def _joint(self, question: Callable[..., Answer], places: list[int], positions: list[Array]) -> Array:
        return self._average(lambda part: part._joint(question, places, positions))


def parts_of(prognosis: Prognosis) -> tuple[ModelPrognosis, ...]:
    """The prognoses of the components; of a single model, its own."""
    if isinstance(prognosis, MixturePrognosis):
        return prognosis.parts
    assert isinstance(prognosis, ModelPrognosis)
    return (prognosis,)
