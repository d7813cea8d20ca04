"""CDISC's ADTTE: one row for each subject and parameter becomes one row for each subject, with an endpoint for each parameter.

====================  =============================================================================================
``USUBJID``           the subject
``PARAMCD``           the parameter: an endpoint
``AVAL``, ``AVALU``   the time and its unit; without a unit, that in the parentheses of ``PARAM``: "Overall Survival (Months)"
``STARTDT``, ``ADT``  dates, from which the time is taken where there is no ``AVAL``; both days count, as ADaM has it
``CNSR``              0 means an event, 1 and more that the time is censored, each for a reason of its own
``EVNTDESC``          what happened, an event or the reason for censoring; and ``CNSDTDSC``, what the date of censoring is
====================  =============================================================================================

Covariates of subjects from CDISC's ADSL, or from the columns that a dataset of another kind has of them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from harmonium.errors import EndpointWarning, Problem, TableError, collecting_problems, warn
from harmonium.table.dates import dates_of, looks_like_dates
from harmonium.table.endpoints import endpoints
from harmonium.table.files.opening import read_table
from harmonium.table.frames import columns_of, did_you_mean, numbers_of, row_of, to_pandas
from harmonium.table.time_units import UNITS, unit_called
from harmonium.typing import Array

__all__ = ["Adtte", "covariates_of", "read_adtte"]

_SUBJECT, _PARAMETER, _STATUS = "USUBJID", "PARAMCD", "CNSR"
_CENSORED = re.compile(r"(?i)censor|alive|last (?:contact|known|seen|assess)|ongoing|no event|cut.?off")
_PERHAPS_CENSORED = re.compile(rf"{_CENSORED.pattern}|lost to|withdr|completed")  # which may be events of discontinuation
_DESCRIPTIONS = ("EVNTDESC", "CNSDTDSC")


class Adtte(NamedTuple):
    """What is read from ADTTE: covariates, endpoints, and what ended the observation of each.

    Attributes
    ----------
    X : DataFrame
        Covariates, a row for each subject.
    y : DataFrame
        What :func:`harmonium.endpoints` returns.
    reasons : DataFrame
        For each subject and endpoint the description of the event, or of the reason for censoring; without a description, the code.
    """

    X: pd.DataFrame
    y: pd.DataFrame
    reasons: pd.DataFrame


def read_adtte(
    adtte: Any,
    adsl: Any = None,
    *,
    parameters: Sequence[str] | Mapping[str, str] | None = None,
    covariates: Sequence[str] | None = None,
    unit: str | None = None,
    terminal: Any = None,
    including: Mapping[str, str] | None = None,
) -> Adtte:
    """Read a CDISC ADTTE dataset, and covariates from ADSL.

    Parameters
    ----------
    adtte : str, Path or DataFrame
        The dataset, or a file that has it, such as ``adtte.xpt``.
    adsl : str, Path or DataFrame, optional
        Subjects and their covariates; by default, what ADTTE itself has of them.
    parameters : sequence of str or mapping, optional
        Which ``PARAMCD`` to take, in this order; a mapping gives them names: ``{"OS": "death"}``. By default all.
    covariates : sequence of str, optional
        Columns of ADSL. By default all that tell something about a subject beforehand: identifiers, dates, population flags, numeric twins
        of a text (``AGEGR1N``) and what is known only afterwards (``DTHFL``, ``EOSSTT``, ``TRTDURD``, ...) are left out.
    unit : str, optional
        Of time; by default that of the first parameter. Others are converted.
    terminal : str or tuple of str, optional
        As in :func:`harmonium.endpoints`.
    including : mapping, optional
        Composites, and the terminal endpoint that is a part of each: ``{"PFS": "OS"}``, each by its ``PARAMCD`` or by its name.

    Returns
    -------
    Adtte
        A named tuple of ``X``, ``y`` and ``reasons``, all indexed by subject.

    Examples
    --------
    >>> import pandas as pd
    >>> adtte = pd.DataFrame({
    ...     "USUBJID": ["01", "02"], "PARAMCD": "OS", "AVAL": [365.25, 730.5], "AVALU": "DAYS", "CNSR": [0, 2],
    ...     "EVNTDESC": ["Death", "Lost to follow-up"], "AGE": [61, 58],
    ... })
    >>> X, y, reasons = read_adtte(adtte, unit="months")
    >>> y
               OS
            lower upper    unit
    USUBJID
    01       12.0  12.0  months
    02       24.0   inf  months
    >>> reasons["OS"].tolist(), list(X)
    (['Death', 'Lost to follow-up'], ['AGE'])
    """
    table = _dataset(adtte)
    columns_of(table, [_SUBJECT, _PARAMETER, _STATUS])
    names = _names(table, parameters)
    composites = _composites(names, including or {})
    taken = table[table[_PARAMETER].isin(list(names))]
    _refuse_repeated(taken)
    subjects = list(dict.fromkeys(taken[_SUBJECT]))
    wide, definitions = pd.DataFrame(index=pd.Index(subjects, name=_SUBJECT)), {}
    reasons = wide.copy()
    with collecting_problems() as problems:
        for code, name in names.items():
            with problems.catching():
                rows = taken[taken[_PARAMETER] == code].set_index(_SUBJECT)
                times, own_unit = _times(code, rows)
                wide[f"{name} (AVAL)"], wide[f"{name} (event)"] = times, _events(code, rows, times)
                reasons[name] = _reasons(rows)
                definitions[name] = {"time": f"{name} (AVAL)", "event": f"{name} (event)"}
                definitions[name] |= {"unit": own_unit} if own_unit else {}
                definitions[name] |= {"including": composites[name]} if name in composites else {}
        with problems.catching():
            own = table if adsl is None else _dataset(adsl)
            X = covariates_of(own, subjects, covariates, _SUBJECT, one_row_each=adsl is not None)
    y = endpoints(wide, terminal=terminal, unit=unit, **definitions)
    return Adtte(X, y, reasons)


def _dataset(source: Any) -> pd.DataFrame:
    """With names of columns in capitals, and rows that are numbered."""
    frame = read_table(source) if isinstance(source, str | Path) else to_pandas(source)
    return to_pandas(frame.rename(columns=lambda name: str(name).upper())).reset_index(drop=True)


def _names(table: pd.DataFrame, parameters: Sequence[str] | Mapping[str, str] | None) -> dict[str, str]:
    """Names of endpoints by ``PARAMCD``."""
    found = list(dict.fromkeys(table[_PARAMETER].dropna()))
    chosen = found if parameters is None else [parameters] if isinstance(parameters, str) else list(parameters)
    missing = [code for code in chosen if code not in found]
    if missing:
        raise TableError(Problem(f"there is no PARAMCD {code!r}; there are {', '.join(map(repr, found))}", _PARAMETER) for code in missing)
    names = {code: parameters[code] if isinstance(parameters, Mapping) else str(code) for code in chosen}
    for code, name in names.items():
        alike = [other for other, own in names.items() if own == name]
        if alike[0] != code:
            raise TableError(
                f"PARAMCD {alike[0]!r} and {code!r} have the same name, {name!r}; give each a name of its own", column=_PARAMETER
            )
    return names


def _composites(names: Mapping[str, str], including: Mapping[str, str]) -> dict[str, str]:
    """What each composite includes, by the names of endpoints; both may be given by name or by ``PARAMCD``."""

    def named(given: str) -> str:
        if given not in names.values() and given not in names:
            known = dict.fromkeys([*names, *names.values()])
            raise TableError(
                f"including names {given!r}, which is neither a PARAMCD nor the name of an endpoint{did_you_mean(str(given), known)}; "
                f"there are {', '.join(map(repr, known))}",
                column=_PARAMETER,
            )
        return given if given in names.values() else names[given]

    return {named(composite): named(part) for composite, part in including.items()}


def _refuse_repeated(taken: pd.DataFrame) -> None:
    again = taken.duplicated([_SUBJECT, _PARAMETER])
    row = row_of(again)
    if row is not None:
        subject, code = taken.iloc[row][[_SUBJECT, _PARAMETER]]
        raise TableError(
            f"there must be one row for each subject and PARAMCD; found subject {subject!r} and {code!r} again in row {taken.index[row]}",
            column=_SUBJECT,
            row=int(taken.index[row]),
        )


def _times(code: str, rows: pd.DataFrame) -> tuple[pd.Series, str | None]:
    """Times of a parameter, by subject, and their unit, if it is known."""
    has_dates = {"STARTDT", "ADT"} <= set(rows.columns)
    aval = numbers_of(rows["AVAL"], "times") if "AVAL" in rows else np.full(len(rows), np.nan)
    if "AVAL" not in rows and not has_dates:
        raise TableError("ADTTE must have AVAL, or STARTDT and ADT", column="AVAL")
    unit = _stated_unit(code, rows)
    lacking = np.isnan(aval)
    if has_dates and lacking.any():
        if unit is None and not lacking.all():
            raise TableError(f"PARAMCD {code!r}: AVAL is missing in some rows, and AVALU does not say in which unit it is in the others")
        unit, days = unit or "days", _days(rows)
        row = row_of(lacking & ~np.isnan(days))
        if row is not None and unit not in UNITS:
            raise TableError(
                f"PARAMCD {code!r}: AVAL is missing for subject {rows.index[row]!r}, and cannot be taken from dates, since its unit is "
                f"{unit!r}; use one of {', '.join(UNITS)}",
                column="AVAL",
            )
        aval = np.where(lacking, days / UNITS.get(unit, np.nan), aval)
    _refuse_impossible(code, rows, aval)
    return pd.Series(aval, index=rows.index), unit


def _refuse_impossible(code: str, rows: pd.DataFrame, times: Array) -> None:
    """Refuse times that are negative or infinite."""
    for wrong, rule in ((times < 0.0, "must not hold negative times"), (np.isinf(times), "must hold finite times")):
        row = row_of(wrong)
        if row is not None:
            taken = "AVAL" if "AVAL" in rows and not np.isnan(numbers_of(rows["AVAL"])[row]) else "AVAL, from STARTDT to ADT,"
            raise TableError(f"PARAMCD {code!r}: {taken} {rule}; found {times[row]:g} for subject {rows.index[row]!r}", column="AVAL")


def _stated_unit(code: str, rows: pd.DataFrame) -> str | None:
    """By ``AVALU``, or in the parentheses of ``PARAM``."""
    if "AVALU" in rows and rows["AVALU"].notna().any():
        units = {unit_called(str(unit)) for unit in rows["AVALU"].dropna()}
        if len(units) > 1:
            raise TableError(f"PARAMCD {code!r}: AVALU must be the same in all rows; found {', '.join(sorted(units))}", column="AVALU")
        return units.pop()
    text = str(rows["PARAM"].dropna().iloc[0]) if "PARAM" in rows and rows["PARAM"].notna().any() else ""
    named = [unit_called(part) for part in re.findall(r"\(([^)]*)\)", text)]
    return next((unit for unit in named if unit in UNITS), None)


def _days(rows: pd.DataFrame) -> Array:
    """From ``STARTDT`` to ``ADT``, both of which count; as dates, or as SAS's numbers of days."""
    start, end = rows["STARTDT"], rows["ADT"]
    numbers = all(pd.api.types.is_numeric_dtype(own.dtype) for own in (start, end))
    if numbers and not all(looks_like_dates(own.dropna().unique()) for own in (start, end)):
        return numbers_of(end) - numbers_of(start) + 1.0
    first, last = dates_of([start, end])
    return np.asarray((last - first) / np.timedelta64(1, "D") + 1.0)


def _events(code: str, rows: pd.DataFrame, times: pd.Series) -> pd.Series:
    """1 where ``CNSR`` is 0, and 0 where it is a reason for censoring."""
    status = numbers_of(rows[_STATUS], "0 for an event, or a reason for censoring")
    wrong = (status < 0.0) | (status != np.floor(status)) | (np.isnan(status) & times.notna().to_numpy())
    row = row_of(wrong & ~(np.isnan(status) & times.isna().to_numpy()))
    if row is not None:
        raise TableError(
            f"PARAMCD {code!r}: CNSR must be 0 for an event, or a positive whole number that is a reason for censoring; found "
            f"{status[row]:g} for subject {rows.index[row]!r}",
            column=_STATUS,
        )
    _check_inverted(code, rows, status == 0.0)
    return pd.Series(np.where(np.isnan(status), np.nan, status == 0.0), index=rows.index)


def _check_inverted(code: str, rows: pd.DataFrame, event: Any) -> None:
    """Refuse a ``CNSR`` that is 0 where descriptions speak of censoring, and not where they speak of events; doubt it where they may."""
    for column in _DESCRIPTIONS:
        if column not in rows:
            continue
        texts = _written(rows[column])
        filled = texts.notna().to_numpy()
        for words in (_CENSORED, _PERHAPS_CENSORED):
            like = texts.astype(str).str.contains(words).to_numpy() & filled if column == "EVNTDESC" else filled
            if not _mostly_of_events(like, event):
                continue
            row = int(np.flatnonzero(like & event)[0])
            message = (
                f"PARAMCD {code!r}: CNSR seems to be inverted: it is 0, which means an event, for subject {rows.index[row]!r}, of whom "
                f"{column} says {texts.iloc[row]!r}; if 1 means an event, write adtte.assign(CNSR=1 - adtte['CNSR'])"
            )
            if words is _CENSORED:
                raise TableError(f"{message}; if 0 does, leave {column} out: adtte.drop(columns={column!r})", column=_STATUS)
            warn(message, EndpointWarning)


def _mostly_of_events(like: Any, event: Any) -> bool:
    """Whether descriptions that speak of censoring are those of most events, and of fewer censored times."""
    return bool(
        like[event].sum() > 0.5 * max(1, int(event.sum())) and like[event].mean() > (like[~event].mean() if (~event).any() else 0.0)
    )


def _written(series: pd.Series) -> pd.Series:
    """Text, of which nothing but blanks is missing."""
    texts = series.astype(object)
    return texts.where(texts.notna() & (texts.astype(str).str.strip() != ""), None)


def _reasons(rows: pd.DataFrame) -> pd.Series:
    """What ended the observation, in the words of the dataset, or by its code."""
    status = numbers_of(rows[_STATUS])
    out = pd.Series(["event" if code == 0.0 else None if np.isnan(code) else f"censored ({code:g})" for code in status], index=rows.index)
    for column in reversed(_DESCRIPTIONS):
        if column in rows:
            texts = _written(rows[column])
            out = texts.where(texts.notna(), out)
    return out


_IDENTIFIERS = {"STUDYID", "USUBJID", "SUBJID", "SITEID", "INVID", "INVNAM", "SRCSEQ", "SRCDOM", "SRCVAR", "ASEQ"}
_DATES = re.compile(r".*(DT|DTM|DTC|TM|DTF|TMF|DY)$")
_FLAGS = re.compile(r"(SAF|ITT|FAS|PPROT|COMPLT|RAND|ENRL|EVAL|MITT|SCREEN|ANL\d\d)(FL|FN)$")
_AFTERWARDS = re.compile(r"(DTH|EOS|EOT|EOP|DCS|DCT|DCP|LST|TRTDUR|TRTE|TR\d\dE|AP\d\dE|CUMDOS|AVGDOS|DISCON|COMPL|DURDIS|DEATH).*")
_OF_ADTTE = re.compile(
    r"PARAM(CD|N|TYP)?|PARCAT\d*N?|AVAL(U|C|CA?T?\d+N?)?|M?CRIT\d+.*|DTYPE|ANL\d.*|EVNT.*|CNS(R|DT|DESC).*|STARTDT|ADT|ADY"
)  # CNSMETS are metastases of the central nervous system


def covariates_of(
    frame: pd.DataFrame, subjects: Sequence[Any], chosen: Sequence[str] | None, subject: str, *, one_row_each: bool
) -> pd.DataFrame:
    """A row for each subject, in order; by default of all columns that tell something about subjects beforehand.

    In ADSL there is one row for each, and a second is refused. In other datasets there may be more, and what differs among them is no
    covariate.
    """
    columns_of(frame, [subject])
    row = row_of(frame[subject].duplicated()) if one_row_each else None
    if row is not None:
        raise TableError(
            f"there must be one row for each subject in ADSL; found {frame[subject].iloc[row]!r} again in row {row}",
            column=subject,
            row=row,
        )
    names = [str(name).upper() for name in chosen] if chosen is not None else _beforehand(frame, subject)
    columns_of(frame, names)
    lacking = [own for own in subjects if own not in set(frame[subject])]
    if lacking:
        raise TableError(
            f"{len(lacking)} subject{'s' * (len(lacking) > 1)} of ADTTE {'is' if len(lacking) == 1 else 'are'} not in ADSL, the first "
            f"of them {lacking[0]!r}",
            column=subject,
        )
    by_subject = frame.groupby(subject, sort=False)
    differing = [name for name in names if (by_subject[name].nunique() > 1).any()]
    if differing and chosen is not None:
        raise TableError(f"column {differing[0]!r} must have one value for each subject", column=differing[0])
    kept = [name for name in names if name not in differing]
    rows = frame.drop_duplicates(subject).set_index(subject)
    return rows.loc[list(subjects), kept]


def _beforehand(frame: pd.DataFrame, subject: str) -> list[str]:
    return [
        name
        for name in map(str, frame.columns)
        if name not in _IDENTIFIERS | {subject}
        and not _OF_ADTTE.fullmatch(name)
        and not _DATES.fullmatch(name)
        and not _FLAGS.fullmatch(name)
        and not _AFTERWARDS.fullmatch(name)
        and not (name.endswith("N") and name[:-1] in frame.columns)
        and not pd.api.types.is_datetime64_any_dtype(frame[name].dtype)
    ]
