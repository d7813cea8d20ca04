"""Columns and encodings learned from a few values."""

import json

import numpy as np
import pandas as pd

from harmonium.model.stored_values import from_json, to_json, typed
from harmonium.table.columns import infer_column
from harmonium.table.encoding import Encoding
from harmonium.table.endpoints import Endpoints

NAN = np.nan


def column(values, dtype=None, role=None, name="x"):
    return infer_column(pd.Series(values, dtype=dtype, name=name), role)


def encoding_of(X, roles=None):
    n = len(X)
    time = np.arange(1.0, n + 1.0)[:, None]
    return Encoding.learn(X, Endpoints(("os",), time, time, np.zeros((n, 1))), roles, "linear", None)[0]


def stored_and_read(value):
    tensors = {}
    stored = json.loads(json.dumps(to_json(value, tensors)))
    return typed(from_json(stored, tensors), type(value))
