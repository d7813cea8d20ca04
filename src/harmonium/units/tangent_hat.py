"""Rejection sampling under three tangents of a log-concave density.

A concave function lies below each of its tangents, so the lowest of three tangents is a hat for the log density: three
exponential pieces, cheap to draw from. With one tangent at the mode and the others where the log density has dropped by
about one, nearly nine proposals in ten are accepted whatever the density (docs/numerics.md, section 2).
"""

from __future__ import annotations

from math import exp, expm1, log1p
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from harmonium.numerics.compilation import compiled
from harmonium.numerics.streams import open_uniform

__all__ = ["MOST_PROPOSALS", "Hat", "Piece", "accept", "draw_exponential", "draw_from_hat", "make_hat"]

MOST_PROPOSALS = 10_000
"""A right hat needs more than a hundred with probability below 1e-80; numbers that overflow or are NaN would never end."""

_FLAT = 1e-12  # a piece that changes by less than this is uniform


class Piece(NamedTuple):
    """e^(height - steepness d) for distances d from ``peak`` into the piece, which ends after ``length``.

    ``direction`` is +1 if the piece extends to the right of its peak, -1 if to the left; ``fall`` is e^(-steepness length) - 1.
    """

    peak: float
    direction: float
    height: float
    steepness: float
    length: float
    fall: float
    area: float


class Hat(NamedTuple):
    """Three neighbouring pieces."""

    left: Piece
    middle: Piece
    right: Piece


@compiled(inline=True)
def _piece(peak: float, direction: float, height: float, steepness: float, length: float) -> Piece:
    top = 1.0 if height == 0.0 else exp(height)  # 0 is common: an inner mode's tangent is level
    if not length > 0.0:
        return Piece(peak, direction, height, 0.0, 0.0, 0.0, 0.0)
    if steepness * length < _FLAT:
        return Piece(peak, direction, height, 0.0, length, 0.0, top * length)
    fall = expm1(-steepness * length)
    return Piece(peak, direction, height, steepness, length, fall, -top * fall / steepness)


@compiled(inline=True)
def _draw_from_piece(piece: Piece, u: float) -> tuple[float, float]:
    """The point below which a fraction u of the piece lies, counted from its peak, and the hat's log height there."""
    distance = u * piece.length if piece.fall == 0.0 else min(-log1p(u * piece.fall) / piece.steepness, piece.length)
    return piece.peak + piece.direction * distance, piece.height - piece.steepness * distance


@compiled()
def draw_exponential(slope: float, lower: float, upper: float, streams: NDArray[np.uint64], i: int) -> float:
    """Draw x from the density proportional to e^(slope x) on [lower, upper]."""
    rising = slope > 0.0
    piece = _piece(upper if rising else lower, -1.0 if rising else 1.0, 0.0, abs(slope), upper - lower)
    x, _ = _draw_from_piece(piece, open_uniform(streams, i))
    return min(max(x, lower), upper)


@compiled(inline=True)
def _crossing(tangent: tuple[float, float, float], following: tuple[float, float, float]) -> float:
    """Where two neighbouring tangents meet: between their points of contact."""
    p, f, slope = tangent
    next_p, next_f, next_slope = following
    difference = slope - next_slope
    if not difference > 0.0:
        return p
    x = p + (next_f - f - next_slope * (next_p - p)) / difference
    return min(max(x, p), next_p)


@compiled(inline=True)
def make_hat(
    left: tuple[float, float, float], mode: tuple[float, float, float], right: tuple[float, float, float], lower: float, upper: float
) -> Hat:
    """The lowest of three tangents on [lower, upper].

    ``left``, ``mode`` and ``right`` are points of contact in ascending order, each as (point, log density relative to the mode, slope).
    An end of the interval may be infinite.
    """
    first, second = _crossing(left, mode), _crossing(mode, right)
    slope = mode[2]
    at_first, at_second = slope * (first - mode[0]), slope * (second - mode[0])
    rising = slope > 0.0
    return Hat(
        _piece(first, -1.0, at_first, max(left[2], 0.0), first - lower),
        _piece(second if rising else first, -1.0 if rising else 1.0, at_second if rising else at_first, abs(slope), second - first),
        _piece(second, 1.0, at_second, max(-right[2], 0.0), upper - second),
    )


@compiled(inline=True)
def draw_from_hat(hat: Hat, streams: NDArray[np.uint64], i: int) -> tuple[float, float]:
    """Draw a proposal; return it with the hat's log height there."""
    u = open_uniform(streams, i) * (hat.left.area + hat.middle.area + hat.right.area)
    if u < hat.left.area:
        return _draw_from_piece(hat.left, u / hat.left.area)
    u -= hat.left.area
    if u < hat.middle.area or hat.right.area == 0.0:
        return _draw_from_piece(hat.middle, min(u / hat.middle.area, 1.0))
    return _draw_from_piece(hat.right, min((u - hat.middle.area) / hat.right.area, 1.0))


@compiled(inline=True)
def accept(log_ratio: float, streams: NDArray[np.uint64], i: int) -> bool:
    """True with probability e^log_ratio, for a ratio of at most one."""
    u = open_uniform(streams, i)
    return u <= 1.0 + log_ratio or u <= exp(log_ratio)  # e^z >= 1 + z: the exponential is seldom needed
