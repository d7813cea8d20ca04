"""Rubin's rules: one estimate with its uncertainty from analyses of several imputed tables."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import t as student

from harmonium.errors import first_offender

__all__ = ["pool"]


def pool(estimates: Any, variances: Any, confidence: float = 0.95, complete_degrees_of_freedom: float = np.inf) -> pd.DataFrame:
    r"""Pool estimates from multiply imputed tables by Rubin's rules.

    Of m draws with estimates :math:`Q_i` and variances :math:`U_i`, the pooled estimate is the mean of the :math:`Q_i`. With W, the
    mean of the :math:`U_i`, and B, the sample variance of the :math:`Q_i`, its variance and the share of it due to gaps are

    .. math:: T = W + (1 + 1/m) B, \qquad \lambda = (1 + 1/m) B / T.

    Intervals are those of Student's distribution with :math:`\nu_m = (m - 1) / \lambda^2` degrees of freedom (Rubin 1987), or
    :math:`\nu` where the complete table would leave no more than :math:`\nu_c` (Barnard and Rubin 1999):

    .. math:: \frac{1}{\nu} = \frac{1}{\nu_m} + \frac{1}{\nu_o}, \qquad \nu_o = \frac{\nu_c + 1}{\nu_c + 3} \nu_c (1 - \lambda).

    The fraction of missing information is :math:`\lambda + 2 (1 - \lambda) / (\nu_m + 3)`, as Rubin has it, whatever :math:`\nu_c` is.

    Parameters
    ----------
    estimates : array_like of shape (n_draws,) or (n_draws, n_parameters)
        What the analysis of each imputed table found: an array, a DataFrame with a row for each draw, or a list with a Series for each
        draw. It should be on a scale on which errors are about normal: pool the logarithm of a hazard ratio, and log(-log) of a
        survival probability.
    variances : array_like
        Squares of the standard errors, in the shape of the estimates.
    confidence : float
        Of the intervals.
    complete_degrees_of_freedom : float
        Those of the analysis had the table no gaps, such as the number of rows less that of coefficients. The default suits large
        tables.

    Returns
    -------
    pandas.DataFrame
        A row for each parameter, under its name if there is one. Columns ``estimate``, ``standard_error``, ``lower``, ``upper``,
        ``degrees_of_freedom``, ``missing_information`` (a fraction), ``within`` (W) and ``between`` (B).

    References
    ----------
    Rubin, Multiple imputation for nonresponse in surveys, Wiley (1987), chapter 3.

    Barnard and Rubin, Small-sample degrees of freedom with multiple imputation, Biometrika 86 (1999).

    Examples
    --------
    >>> import pandas as pd
    >>> log_hazard_ratio = pd.DataFrame({"age": [0.2, 0.4, 0.3], "stage II": [0.7, 0.7, 0.7]})
    >>> variance = pd.DataFrame({"age": [0.04, 0.05, 0.06], "stage II": [0.09, 0.09, 0.09]})
    >>> pool(log_hazard_ratio, variance)[["estimate", "standard_error", "lower", "upper", "missing_information"]].round(3)
              estimate  standard_error  lower  upper  missing_information
    age            0.3           0.252 -0.207  0.807                0.243
    stage II       0.7           0.300  0.112  1.288                0.000
    """
    drawn = _numbers(estimates, "estimates")
    errors = _matching(_numbers(variances, "variances"), drawn)
    n_draws = len(drawn)
    if n_draws < 2:
        raise ValueError(f"pooling needs at least 2 draws, since only their spread tells what the gaps leave open; found {n_draws}")
    _refuse(errors < 0.0, errors, "variances must not be negative")
    if not 0.0 < confidence < 1.0:
        raise ValueError(f"confidence must lie between 0 and 1; found {confidence}")
    if not complete_degrees_of_freedom > 0.0:
        raise ValueError(f"complete_degrees_of_freedom must be positive; found {complete_degrees_of_freedom}")

    estimate, within, between = drawn.mean(), errors.mean(), drawn.var(ddof=1)
    due_to_gaps = (1.0 + 1.0 / n_draws) * between
    total = within + due_to_gaps
    share = (due_to_gaps / total).where(total > 0.0, 0.0)
    reciprocal = share**2 / (n_draws - 1)  # of the degrees of freedom, which may be infinite
    missing_information = share + 2.0 * (1.0 - share) * reciprocal / (1.0 + 3.0 * reciprocal)
    if np.isfinite(complete_degrees_of_freedom):
        observed = (1.0 - 2.0 / (complete_degrees_of_freedom + 3.0)) * complete_degrees_of_freedom * (1.0 - share)
        reciprocal = reciprocal + 1.0 / observed
    standard_error = np.sqrt(total)
    quantile = student.ppf(0.5 + 0.5 * confidence, 1.0 / reciprocal)
    margin = standard_error * np.where(np.isinf(reciprocal), np.inf, quantile)  # without degrees of freedom, nothing is known
    return pd.DataFrame(
        {
            "estimate": estimate,
            "standard_error": standard_error,
            "lower": estimate - margin,
            "upper": estimate + margin,
            "degrees_of_freedom": 1.0 / reciprocal,
            "missing_information": missing_information,
            "within": within,
            "between": between,
        }
    )


def _numbers(values: Any, what: str) -> pd.DataFrame:
    """A row for each draw, a column for each parameter; columns are numbered if they have no names."""
    if isinstance(values, list | tuple) and values and all(isinstance(draw, pd.Series) for draw in values):
        values = pd.DataFrame(list(values))
    try:
        frame = values.astype(float) if isinstance(values, pd.DataFrame) else pd.DataFrame(np.asarray(values, dtype=float))
    except (TypeError, ValueError) as error:
        raise ValueError(f"{what} must be numbers of shape (n_draws,) or (n_draws, n_parameters): {error}") from None
    _refuse(~np.isfinite(frame), frame, f"{what} must be finite")
    return frame


def _matching(errors: pd.DataFrame, drawn: pd.DataFrame) -> pd.DataFrame:
    """Variances with the columns of the estimates, by name where both have names."""
    if errors.shape != drawn.shape:
        raise ValueError(f"estimates and variances must have the same shape; found {drawn.shape} and {errors.shape}")
    if drawn.columns.has_duplicates:
        raise ValueError(f"names of parameters must be unique; found {list(drawn.columns)}")
    if any(isinstance(frame.columns, pd.RangeIndex) for frame in (drawn, errors)):
        return errors.set_axis(drawn.columns, axis=1)
    apart = drawn.columns.symmetric_difference(errors.columns, sort=False)
    if len(apart):
        raise ValueError(f"estimates and variances must be of the same parameters; {apart[0]!r} is in one of them only")
    return errors[drawn.columns]


def _refuse(wrong: pd.DataFrame, frame: pd.DataFrame, rule: str) -> None:
    where = first_offender(wrong.to_numpy())
    if where:
        draw, parameter = where
        raise ValueError(f"{rule}; found {frame.iloc[draw, parameter]:g} for parameter {frame.columns[parameter]!r} in draw {draw}")
