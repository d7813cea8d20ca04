"""The paper's six studies. Four come with lifelines (install ``harmonium[bench]``), the two NVALT trials are bundled (see NOTICE)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib.resources import files
from typing import Any

import pandas as pd

from harmonium.table.endpoints import endpoints

__all__ = ["STUDIES", "Study", "load_arrest", "load_democracy", "load_gbsg2", "load_ncctg", "load_nvalt8", "load_nvalt11", "load_study"]

Study = tuple[pd.DataFrame, pd.DataFrame]


def _from_lifelines(loader: str) -> pd.DataFrame:
    try:
        import lifelines.datasets  # noqa: PLC0415 - an optional dependency
    except ImportError as error:
        raise ImportError("this dataset comes with lifelines: pip install 'harmonium[bench]'") from error
    frame: pd.DataFrame = getattr(lifelines.datasets, loader)()
    return frame


def _bundled(name: str) -> pd.DataFrame:
    return pd.read_csv(files("harmonium.datasets") / "data" / name)


def _split(frame: pd.DataFrame, dropped: list[str], terminal: Any = (), **definitions: Any) -> Study:
    used = {column for form in definitions.values() for column in (form if isinstance(form, tuple) else (form["time"], form["event"]))}
    return frame.drop(columns=[*used, *dropped]), endpoints(frame, terminal=terminal, **definitions)


def load_arrest() -> Study:
    """Recidivism of 432 convicts released from prison: weeks to the next arrest.

    Examples
    --------
    >>> X, y = load_arrest()
    >>> X.shape
    (432, 7)
    """
    return _split(_from_lifelines("load_rossi"), [], arrest=("week", "arrest"))


def load_democracy() -> Study:
    """Duration in years of 1808 political regimes, by continent and type."""
    frame = _from_lifelines("load_dd")[["un_continent_name", "regime", "duration", "observed"]]
    return _split(frame, [], end=("duration", "observed"))


def load_gbsg2() -> Study:
    """Days to relapse or death of 686 women with breast cancer."""
    return _split(_from_lifelines("load_gbsg2"), [], rfs=("time", "cens"))


def load_ncctg() -> Study:
    """Days to death of 228 patients with advanced lung cancer; some covariates have missing values."""
    return _split(_from_lifelines("load_lung"), ["inst"], os=("time", "status"))


def load_nvalt8(*, terminal: bool = False) -> Study:
    """Months to death and to recurrence of 200 patients after surgery for lung cancer; some covariates have missing values.

    Parameters
    ----------
    terminal : bool
        Endpoints that know each other, ``recurrence`` and ``death``, rather than the paper's ``os`` and ``rfs``: death is terminal, and
        recurrence-free survival is taken apart.

    Examples
    --------
    >>> X, y = load_nvalt8()
    >>> X.shape, y.columns.levels[0].tolist()
    ((200, 13), ['os', 'rfs'])
    """
    frame = _bundled("nvalt8.csv")
    if terminal:
        recurrence = {"time": "rfs_mth", "event": "rfs_event", "including": "death"}
        return _split(frame, ["Patient ID"], "death", recurrence=recurrence, death=("os_mth", "os_event"))
    return _split(frame, ["Patient ID"], os=("os_mth", "os_event"), rfs=("rfs_mth", "rfs_event"))


def load_nvalt11(*, terminal: bool = False) -> Study:
    """Months to death and to symptomatic brain metastases of 174 patients with lung cancer; some covariates have missing values.

    Parameters
    ----------
    terminal : bool
        Endpoints that know each other, ``metastases`` and ``death``, rather than the paper's ``os`` and ``sbmfs``: death is terminal. One
        patient, who was followed for metastases beyond death, is so until death.
    """
    frame = _bundled("nvalt11.csv")
    other = [f"{name}_{part}" for name in ("bmet", "nsymp", "pfs") for part in ("mth", "event")]
    if terminal:
        until = frame["sympbmets_mth"].clip(upper=frame["os_mth"].where(frame["os_event"] == 1))
        definitions = {"metastases": ("sympbmets_mth", "sympbmets_event"), "death": ("os_mth", "os_event")}
        return _split(frame.assign(sympbmets_mth=until), ["Patient ID", *other], "death", **definitions)
    return _split(frame, ["Patient ID", *other], os=("os_mth", "os_event"), sbmfs=("sympbmets_mth", "sympbmets_event"))


STUDIES: Mapping[str, Callable[[], Study]] = {
    "arrest": load_arrest,
    "democracy": load_democracy,
    "gbsg2": load_gbsg2,
    "ncctg": load_ncctg,
    "nvalt8": load_nvalt8,
    "nvalt11": load_nvalt11,
}
"""The loaders by the names that the paper gives its studies."""


def load_study(name: str) -> Study:
    """Load one of ``STUDIES`` by its name.

    Examples
    --------
    >>> X, y = load_study("nvalt11")
    >>> len(X)
    174
    """
    if name not in STUDIES:
        raise ValueError(f"there is no study {name!r}; there are {', '.join(map(repr, STUDIES))}")
    return STUDIES[name]()
