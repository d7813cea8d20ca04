"""Probabilities of all paths, where an endpoint is terminal: those of one model, and averages over the models of a mixture."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import numpy as np

from harmonium.model.hidden import Enumerated
from harmonium.model.known_rows import KnownRows
from harmonium.model.mixture_prognosis import MixturePrognosis
from harmonium.model.model_prognosis import ModelPrognosis
from harmonium.model.path_pairs import PathPairs
from harmonium.model.path_rates import PathRates
from harmonium.model.path_rows import PathRows
from harmonium.model.path_tables import PathTables
from harmonium.model.state_prognosis import StatePrognosis
from harmonium.table.endpoints import Endpoints
from harmonium.table.histories import Histories
from harmonium.typing import Array, Integers

__all__ = ["EpisodeMixture", "EpisodePrognosis"]

_Rows = TypeVar("_Rows", bound=PathRows)


class EpisodePrognosis(StatePrognosis, ModelPrognosis):
    """The prognosis of one model."""

    @property
    def histories(self) -> Histories:
        """What is known of every row's course."""
        assert self.encoding.episodes is not None
        if not hasattr(self, "_histories"):
            known = self.known or Endpoints.nothing(self.encoding.endpoint_names, self.n_rows)
            self._histories = self.encoding.episodes.histories(known)
        return self._histories

    def _paths(self, times: Array, rows: Integers | None = None) -> Array:
        chosen = np.arange(self.n_rows) if rows is None else rows
        return self._by_part(PathRows, chosen, lambda own: own.probabilities(times))

    def _rates(self, times: Array, rows: Integers | None = None) -> Array:
        chosen = np.arange(self.n_rows) if rows is None else rows
        return self._by_part(PathRates, chosen, lambda own: own.rates(times))

    def _both(self, e: int, end: int, first: Array, last: Array, rows: Integers | None = None) -> Array:
        chosen = np.arange(self.n_rows) if rows is None else rows

        def answer(own: PathPairs) -> Array:
            return own.both(e, end, first, last).reshape(1, len(own.weights), first.size * last.size)

        return self._by_part(PathPairs, chosen, answer).reshape(chosen.size, first.size, last.size)

    def _after(self, state: int, e: int, times: Array, rows: Integers | None = None) -> Array:
        chosen = np.arange(self.n_rows) if rows is None else rows

        def answer(own: PathRows) -> Array:
            alive = own.tables.survival(own.tables.course.after(state, e), times)
            happened = (own.known.kind == e).any(axis=1, keepdims=True)  # its probability in a hidden state is then no news
            weights = own.weights * np.where(happened, 1.0, own.tables.kind(state, e))
            return np.asarray(((weights / weights.sum(axis=1, keepdims=True)) @ alive)[None])

        return np.asarray(self._by_part(PathRows, chosen, answer)[0])

    def _by_part(self, kind: type[_Rows], chosen: Integers, question: Callable[[_Rows], Array]) -> Array:
        """Answers (anything, chosen rows, times), part by part."""
        out: Array | None = None
        position = np.full(self.n_rows, -1)
        position[chosen] = np.arange(chosen.size)
        episodes = self.encoding.episodes
        assert episodes is not None
        for part in self._parts():
            asked = np.flatnonzero(position[part.places] >= 0)
            if chosen.size and not asked.size:
                continue
            assert isinstance(part.rows, KnownRows)
            assert isinstance(part.rows.hidden, Enumerated)
            hidden, places = part.rows.hidden, part.places[asked]
            tables = PathTables(episodes, part.rows.natural, self.encoding.layout, hidden.states)
            weights = hidden.weights if asked.size == len(hidden.weights) else hidden.weights[asked]
            answer = question(kind(tables, weights, self.histories.part(places)))
            if asked.size == chosen.size and (position[places] == np.arange(chosen.size)).all():
                out = answer
                if chosen.size < self.n_rows:
                    break
                continue  # so that hidden states are kept, which they are once all parts have been asked
            out = np.empty((len(answer), chosen.size, answer.shape[2])) if out is None else out
            out[:, position[places]] = answer
        assert out is not None
        return out


class EpisodeMixture(StatePrognosis, MixturePrognosis):
    """Of a mixture: probabilities of paths are averages over its components."""

    @property
    def histories(self) -> Histories:
        """What is known of every row's course."""
        return _with_episodes(self.parts[0]).histories

    def _paths(self, times: Array, rows: Integers | None = None) -> Array:
        return self._mean(lambda part: part._paths(times, rows).swapaxes(0, 1), rows).swapaxes(0, 1)

    def _rates(self, times: Array) -> Array:
        return self._mean(lambda part: part._rates(times).swapaxes(0, 1)).swapaxes(0, 1)

    def _after(self, state: int, e: int, times: Array) -> Array:
        return self._mean(lambda part: part._after(state, e, times))

    def _both(self, e: int, end: int, first: Array, last: Array) -> Array:
        return self._mean(lambda part: part._both(e, end, first, last))

    def _mean(self, question: Callable[[EpisodePrognosis], Array], rows: Integers | None = None) -> Array:
        """The average over components of answers, rows first."""
        return self._average(lambda part: question(_with_episodes(part)), rows)


def _with_episodes(part: ModelPrognosis) -> EpisodePrognosis:
    assert isinstance(part, EpisodePrognosis)
    return part
