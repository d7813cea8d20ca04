"""Covariates of subjects from CDISC's ADSL, or from the columns that a dataset of another kind has of them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import pandas as pd

from harmonium.errors import TableError
from harmonium.table.frames import columns_of, row_of

__all__ = ["covariates_of"]

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
