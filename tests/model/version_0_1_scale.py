"""The Kaplan-Meier time scale of version 0.1: a monotone cubic through twelve knots, then exponential. Kept to repeat its answers."""

import numpy as np
from scipy.interpolate import CubicHermiteSpline, PchipInterpolator

from harmonium.table.product_limit import product_limit


class OldScale:
    """As a time scale of today, for the questions that these tests ask."""

    name, end, reach, horizon = "kaplan-meier", np.inf, 1.0, np.inf

    def __init__(self, times):
        self.knots, self.values = _knots(times)
        self.spline = CubicHermiteSpline(self.knots, self.values, _slopes(self.knots, self.values))
        self.slope = self.spline.derivative()
        self.last, self.left = self.knots[-1], 1.0 - self.values[-1]
        self.rate = float(self.slope(self.last)) / self.left

    def is_timed(self, time):
        return np.ones(np.shape(time), dtype=bool)

    def to_unit(self, time):
        tail = 1.0 - self.left * np.exp(-self.rate * (np.maximum(time, self.last) - self.last))
        return np.where(time <= self.last, self.spline(np.clip(time, 0.0, self.last)), tail)

    def from_unit(self, position):
        low, high = np.zeros(np.shape(position)), np.full(np.shape(position), self.last)
        for _ in range(60):
            middle = 0.5 * (low + high)
            below = self.spline(middle) < position
            low, high = np.where(below, middle, low), np.where(below, high, middle)
        z = 0.5 * (low + high)
        z = np.maximum(z - (self.spline(z) - position) / self.slope(z), 0.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            tail = self.last - np.log((1.0 - position) / self.left) / self.rate
        return np.where(position > self.values[-1], tail, z)

    def log_slope(self, time):
        inside = np.log(self.slope(np.clip(time, 0.0, self.last)))
        return np.where(time <= self.last, inside, np.log(self.slope(self.last)) - self.rate * (np.maximum(time, self.last) - self.last))


def _knots(times):
    ends = ~times.censored
    middle = np.where(ends, 0.5 * (times.lower + np.where(ends, times.upper, 0.0)), times.lower)
    event, n_rows = ends & (middle > 0.0), int(times.count.sum())
    time = np.unique(middle[event])
    share = (1.0 - product_limit(middle, event, time, count=times.count)) * (n_rows / (n_rows + 1.0))
    values = np.linspace(0.0, share[-1], int(np.clip(np.sqrt(time.size), 2, 12)) + 1)
    knots = np.interp(values, np.concatenate([[0.0], share]), np.concatenate([[0.0], time]))
    keep = np.concatenate([[True], np.diff(knots) > 1e-9 * knots[-1]])
    knots, values = knots[keep], values[keep]
    if _slopes(knots, values)[-1] / (1.0 - values[-1]) * (times.last_time - knots[-1]) > 1.0:
        knots, values = np.append(knots, times.last_time), np.append(values, 0.5 * (1.0 + values[-1]))
    return knots, values


def _slopes(knots, values):
    chord = np.diff(values) / np.diff(knots)
    gentlest = np.minimum(np.concatenate([chord[:1], chord]), np.concatenate([chord, chord[-1:]]))
    slopes = PchipInterpolator(knots, values).derivative()(knots)
    least = 0.1 * values[-1] / knots[-1]
    slopes[[0, -1]] = np.maximum(slopes[[0, -1]], np.maximum(0.1 * gentlest[[0, -1]], least))
    return np.minimum(slopes, 2.0 * gentlest)
