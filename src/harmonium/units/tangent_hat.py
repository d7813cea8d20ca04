"""Rejection sampling under three tangents of a log-concave density.

A concave function lies below each of its tangents, so the lowest of three tangents is a hat for the log density: three
exponential pieces, cheap to draw from. With one tangent at the mode and the others where the log density has dropped by
about one, nearly nine proposals in ten are accepted whatever the density (docs/numerics.md, section 2).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from harmonium.numerics.compilation import compiled
from harmonium.numerics.elementary import exponential, exponential_minus_one, logarithm_of_one_plus
from harmonium.numerics.streams import open_uniform

__all__ = ["MOST_PROPOSALS", "Hat", "Piece", "draw_exponential", "is_accepted", "make_hat", "propose"]

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
def _piece(peak: float, direction: float, height: float, top: float, steepness: float, length: float, fall: float) -> Piece:
    """A piece from e^height = ``top``, with ``fall`` as if it were not flat."""
    if steepness * length < _FLAT:
        return Piece(peak, direction, height, steepness, length, 0.0, top * length)
    return Piece(peak, direction, height, steepness, length, fall, -top * fall / steepness)


@compiled(inline=True)
def _draw_from_piece(piece: Piece, u: float) -> tuple[float, float]:
    """The point below which a fraction u of the piece lies, counted from its peak, and the hat's log height there."""
    distance = u * piece.length if piece.fall == 0.0 else min(-logarithm_of_one_plus(u * piece.fall) / piece.steepness, piece.length)
    return piece.peak + piece.direction * distance, piece.height - piece.steepness * distance


@compiled()
def draw_exponential(slope: float, lower: float, upper: float, streams: NDArray[np.uint64], i: int) -> float:
    """Draw x from the density proportional to e^(slope x) on [lower, upper]."""
    rising = slope > 0.0
    steepness, length = abs(slope), upper - lower
    fall = exponential_minus_one(-steepness * length)
    piece = _piece(upper if rising else lower, -1.0 if rising else 1.0, 0.0, 1.0, steepness, length, fall)
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
    An end of the interval may be infinite. The mode is the highest point on it, so that it slopes at an end of the interval only.
    """
    first, second = _crossing(left, mode), _crossing(mode, right)
    slope = mode[2]
    at_first, at_second = slope * (first - mode[0]), slope * (second - mode[0])
    change = exponential_minus_one(at_first + at_second)  # the mode's tangent is level, or begins or ends at the mode: one of them is 0
    rising, falling = slope > 0.0, slope < 0.0
    steepness_left, steepness_right = max(left[2], 0.0), max(-right[2], 0.0)
    length_left, length_right = max(first - lower, 0.0), max(upper - second, 0.0)
    fall_left, fall_right = exponential_minus_one(-steepness_left * length_left), exponential_minus_one(-steepness_right * length_right)
    return Hat(
        _piece(first, -1.0, at_first, 1.0 + change if rising else 1.0, steepness_left, length_left, fall_left),
        _piece(second if rising else first, -1.0 if rising else 1.0, 0.0, 1.0, abs(slope), second - first, change),
        _piece(second, 1.0, at_second, 1.0 + change if falling else 1.0, steepness_right, length_right, fall_right),
    )


@compiled(inline=True)
def propose(hat: Hat, uniform: float) -> tuple[float, float]:
    """The proposal that a uniform number stands for, with the hat's log height there."""
    u = uniform * (hat.left.area + hat.middle.area + hat.right.area)
    beyond_left = u - hat.left.area
    in_left, in_middle = beyond_left < 0.0, beyond_left < hat.middle.area or hat.right.area == 0.0
    piece = hat.left if in_left else hat.middle if in_middle else hat.right
    part = u if in_left else beyond_left if in_middle else beyond_left - hat.middle.area
    return _draw_from_piece(piece, min(part / piece.area, 1.0))


@compiled(inline=True)
def is_accepted(log_ratio: float, uniform: float) -> bool:
    """True for a fraction e^log_ratio of uniform numbers, for a ratio of at most one."""
    return uniform <= 1.0 + log_ratio or uniform <= exponential(log_ratio)  # e^z >= 1 + z: the exponential is seldom needed
