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

from harmonium.compilation import compiled
from harmonium.streams import open_uniform

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
def _piece(tangent: tuple[float, float, float], lower: float, upper: float) -> Piece:
    """The part of a tangent (point, log density, slope) over [lower, upper]."""
    p, f, slope = tangent
    length = max(upper - lower, 0.0)
    steepness = abs(slope)
    peak = upper if slope > 0.0 else lower
    direction = -1.0 if slope > 0.0 else 1.0
    if length == 0.0:
        return Piece(peak, direction, f, steepness, 0.0, 0.0, 0.0)
    height = f + slope * (peak - p)
    if steepness * length < _FLAT:
        return Piece(peak, direction, height, 0.0, length, 0.0, exp(height) * length)
    fall = expm1(-steepness * length)
    return Piece(peak, direction, height, steepness, length, fall, -exp(height) * fall / steepness)


@compiled(inline=True)
def _draw_from_piece(piece: Piece, u: float) -> tuple[float, float]:
    """The point below which a share u of the piece lies, counted from its peak, and the hat's log height there."""
    distance = u * piece.length if piece.fall == 0.0 else min(-log1p(u * piece.fall) / piece.steepness, piece.length)
    return piece.peak + piece.direction * distance, piece.height - piece.steepness * distance


@compiled()
def draw_exponential(slope: float, lower: float, upper: float, stream: NDArray[np.uint64]) -> float:
    """Draw x from the density proportional to e^(slope x) on [lower, upper]."""
    x, _ = _draw_from_piece(_piece((lower, 0.0, slope), lower, upper), open_uniform(stream))
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

    ``left``, ``mode`` and ``right`` are points of contact in ascending order, each as (point, log density, slope). An end of the
    interval may be infinite.
    """
    first = _crossing(left, mode)
    second = _crossing(mode, right)
    return Hat(_piece(left, lower, first), _piece(mode, first, second), _piece(right, second, upper))


@compiled(inline=True)
def draw_from_hat(hat: Hat, stream: NDArray[np.uint64]) -> tuple[float, float]:
    """Draw a proposal; return it with the hat's log height there."""
    u = open_uniform(stream) * (hat.left.area + hat.middle.area + hat.right.area)
    if u < hat.left.area:
        return _draw_from_piece(hat.left, u / hat.left.area)
    u -= hat.left.area
    if u < hat.middle.area or hat.right.area == 0.0:
        return _draw_from_piece(hat.middle, min(u / hat.middle.area, 1.0))
    return _draw_from_piece(hat.right, min((u - hat.middle.area) / hat.right.area, 1.0))


@compiled(inline=True)
def accept(log_ratio: float, stream: NDArray[np.uint64]) -> bool:
    """True with probability e^log_ratio, for a ratio of at most one."""
    u = open_uniform(stream)
    return u <= 1.0 + log_ratio or u <= exp(log_ratio)  # e^z >= 1 + z: the exponential is seldom needed
