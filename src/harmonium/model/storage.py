"""One safe model file: safetensors, so that loading runs no code.

The tensors are the parameters, all of them float64: ``b``, then each block's own by number and name (``0.W``, ``0.a``, ...), and
``event_times.<endpoint's number>``. The metadata has one key, ``harmonium``, which holds a JSON document:

==================  ===================================================================================================
``format``          always "harmonium model"
``format_version``  raised whenever an older library could misread the file
``library_version``
``settings``        the estimator's parameters; a random state that is not a number or null is not kept
``encoding``        roles and encodings of columns, time scales of endpoints
``fitted``          a summary of training
``checksum``        SHA-256 of the document without it and with ``tensors``, the tensors' shapes by name, as JSON with sorted
                    keys and no spaces, followed by the tensors' bytes in the order of their names
==================  ===================================================================================================

JSON has fewer types than Python: ``{"$float": "inf"}``, ``{"$tuple": [...]}`` and ``{"$mapping": [[key, value], ...]}`` stand for
the others, so that a level comes back as what it was.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import secrets
import shutil
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version
from itertools import pairwise
from pathlib import Path
from typing import Any, NoReturn, TypeVar

import numpy as np
import pandas as pd
from safetensors import SafetensorError, deserialize
from safetensors.numpy import save as to_safetensors
from sklearn.utils.validation import check_is_fitted

from harmonium.cells import Layout
from harmonium.engine.parameters import Parameters
from harmonium.table.columns import ROLES, Column
from harmonium.table.encoding import Encoding
from harmonium.table.time_scale import TimeScale
from harmonium.typing import Array

__all__ = ["ModelFileError", "load_model", "save_model"]

Estimator = TypeVar("Estimator")  # SurvivalHarmonium, which is above this module and hands itself in

_KEY = "harmonium"
_FORMAT = "harmonium model"
_FORMAT_VERSION = 1
_DECODING_ERRORS = (KeyError, TypeError, ValueError, OverflowError, RecursionError)  # what malformed JSON can cause, and no more


class ModelFileError(ValueError):
    """A file that holds no model, or none that can be read."""


def save_model(model: Any, path: str | os.PathLike[str]) -> None:
    """Write a fitted model to one file, whole or not at all.

    Parameters
    ----------
    model : SurvivalHarmonium
        A fitted one.
    path : path-like
        A file that exists is replaced, once the new one is complete.

    Raises
    ------
    TypeError
        If a column's name or level, or a setting, is of a type that the file cannot hold, such as a date.

    Examples
    --------
    >>> import harmonium as hm, tempfile
    >>> X, y = hm.datasets.make_three_way(100, random_state=0)
    >>> model = hm.SurvivalHarmonium(n_hidden=1, n_starts=1, max_iter=5, random_state=0).fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_model(model, f"{folder}/model.harmonium")
    ...     again = load_model(f"{folder}/model.harmonium", hm.SurvivalHarmonium)
    >>> bool((again.predict(X) == model.predict(X)).all())
    True
    """
    check_is_fitted(model, "parameters_")
    content = _pack(_document(model), _tensors(model))
    _unpack(content, type(model))  # never write what cannot be read
    _write_whole(Path(os.path.realpath(path)), content)


def load_model(path: str | os.PathLike[str], estimator: type[Estimator]) -> Estimator:
    """Read a fitted model that :func:`save_model` has written. Executes no code from the file.

    Parameters
    ----------
    path : path-like
    estimator : type
        The class of the model: SurvivalHarmonium.

    Returns
    -------
    SurvivalHarmonium
        With the same predictions to the last bit; its ``history_`` is empty.

    Raises
    ------
    FileNotFoundError
    ModelFileError
        If the file is damaged, of another origin, or of a newer format.
    """
    path = Path(path)
    try:
        return _unpack(_read(path), estimator)
    except ModelFileError as error:
        raise ModelFileError(f"cannot read {path}: {error}") from error


# --- the file ---


def _write_whole(path: Path, content: bytes) -> None:
    """Write next to the target, then rename: a reader sees the old file or the new one."""
    if not path.parent.is_dir():
        raise FileNotFoundError(f"there is no directory {path.parent} to save the model in")
    temporary = path.with_name(f".harmonium-{secrets.token_hex(8)}.tmp")
    try:
        with open(temporary, "xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        if path.exists():
            shutil.copymode(path, temporary)
        os.replace(temporary, path)
    except BaseException:  # Ctrl-C leaves nothing behind either
        with suppress(FileNotFoundError):
            temporary.unlink()
        raise


def _read(path: Path) -> bytes:
    if path.is_dir():
        raise ModelFileError("it is a directory")
    with open(path, "rb") as file:
        beginning = file.read(9)
        if not beginning:
            raise ModelFileError("the file is empty")
        if beginning[8:] != b"{":  # a look before reading a large file of something else
            raise ModelFileError("it is not a safetensors file, or its beginning is damaged")
        return beginning + file.read()


def _pack(document: dict[str, Any], tensors: dict[str, Array]) -> bytes:
    """The content of a file."""
    shapes = {name: list(tensor.shape) for name, tensor in tensors.items()}
    checksum = _checksum(document, shapes, {name: tensor.tobytes() for name, tensor in tensors.items()})
    content: bytes = to_safetensors(tensors, {_KEY: json.dumps({**document, "checksum": checksum}, allow_nan=False)})
    return content


def _unpack(content: bytes, estimator: type[Estimator]) -> Estimator:
    """The model in the content of a file."""
    header_end = 8 + int.from_bytes(content[:8], "little")
    if len(content) < header_end:
        raise ModelFileError("the file is cut short, or its beginning is damaged")
    try:
        tensors = dict(deserialize(content))  # type: ignore[no-untyped-call]
    except SafetensorError as error:
        raise ModelFileError(f"the file is cut short or damaged ({error})") from error
    document = _our_document(_parse_json(content[8:header_end]))
    try:
        shapes = {name: list(tensor["shape"]) for name, tensor in tensors.items()}
        data = {name: bytes(tensor["data"]) for name, tensor in tensors.items()}
        intact = document.pop("checksum") == _checksum(document, shapes, data)
    except _DECODING_ERRORS as error:
        raise ModelFileError(f"its description of the model is damaged ({_reason(error)})") from error
    if not intact:
        raise ModelFileError("its checksum does not match its content; the file is damaged or was changed by hand")
    arrays = {name: _array(name, tensor) for name, tensor in tensors.items()}
    try:
        return _model(document, arrays, estimator)
    except ModelFileError:
        raise
    except _DECODING_ERRORS as error:
        raise ModelFileError(f"its content makes no sense ({_reason(error)})") from error


def _our_document(header: Any) -> dict[str, Any]:
    """The JSON document in a safetensors header, if the file is ours and of a format that is known here."""
    metadata = header.get("__metadata__") if isinstance(header, dict) else None
    if not isinstance(metadata, dict) or not isinstance(metadata.get(_KEY), str):
        raise ModelFileError("it is a safetensors file, but not one that harmonium has written")
    document = _parse_json(metadata[_KEY])
    if not isinstance(document, dict) or document.get("format") != _FORMAT:
        raise ModelFileError("it is a safetensors file, but not a model of harmonium")
    found = document.get("format_version")
    if type(found) is not int or found < 1:
        raise ModelFileError(f"its format must be a positive whole number; found {found!r}")
    if found > _FORMAT_VERSION:
        raise ModelFileError(f"it was written by a newer version of harmonium (format {found}); this one reads format {_FORMAT_VERSION}")
    return document


def _parse_json(text: str | bytes) -> Any:
    def refuse(constant: str) -> NoReturn:
        raise ValueError(f"found {constant}")

    try:
        return json.loads(text.decode() if isinstance(text, bytes) else text, parse_constant=refuse)
    except (ValueError, RecursionError) as error:
        raise ModelFileError(f"its header is damaged ({error})") from error


def _checksum(document: Mapping[str, Any], shapes: Mapping[str, list[int]], data: Mapping[str, bytes]) -> str:
    described = json.dumps({**document, "tensors": shapes}, sort_keys=True, separators=(",", ":"), allow_nan=False)
    total = hashlib.sha256(described.encode())
    for name in sorted(data):
        total.update(data[name])
    return total.hexdigest()


def _array(name: str, tensor: Mapping[str, Any]) -> Array:
    """A tensor of the file as an array of its own."""
    if tensor["dtype"] != "F64":
        raise ModelFileError(f"all tensors must be float64; found {tensor['dtype']} in {name!r}")
    try:
        return np.array(np.frombuffer(bytes(tensor["data"]), dtype="<f8").reshape(tensor["shape"]), dtype=np.float64)
    except (ValueError, OverflowError) as error:  # an empty tensor may claim any shape
        raise ModelFileError(f"the shape {list(tensor['shape'])} of tensor {name!r} is not possible") from error


def _reason(error: Exception) -> str:
    return f"{error} is missing" if isinstance(error, KeyError) else str(error)


# --- the model ---


def _document(model: Any) -> dict[str, Any]:
    """All but the tensors."""
    return {
        "format": _FORMAT,
        "format_version": _FORMAT_VERSION,
        "library_version": _library_version(),
        "settings": {name: _stored_setting(name, value) for name, value in model.get_params(deep=False).items()},
        "encoding": _stored_encoding(model.encoding_),
        "fitted": {
            "l2": _to_json(model.l2_),
            "n_evaluations": _to_json(model.n_evaluations_),
            "n_iter": _to_json(model.n_iter_),
            "n_features_in": _to_json(model.n_features_in_),
            "named_features": hasattr(model, "feature_names_in_"),
            "endpoint_names": list(model.endpoint_names_),
            "n_rows": _to_json(model.n_rows_),
            "evaluation": _to_json(model.evaluation_),
        },
    }


def _tensors(model: Any) -> dict[str, Array]:
    parameters = model.parameters_
    tensors = {"b": parameters.hidden_bias}
    tensors |= {f"{i}.{name}": values for i, block in enumerate(parameters.blocks) for name, values in block.items()}
    tensors |= {f"event_times.{e}": model.event_times_[name] for e, name in enumerate(model.endpoint_names_)}
    return {name: np.ascontiguousarray(values, dtype="<f8") for name, values in tensors.items()}


def _model(document: dict[str, Any], tensors: dict[str, Array], estimator: type[Estimator]) -> Estimator:
    """A fitted model from a file's document and tensors, all of it checked."""
    model: Any = estimator(**_from_json(document["settings"]))
    encoding = Encoding.from_dict(_from_json(document["encoding"]))
    _check_encoding(encoding)
    fitted = _from_json(document["fitted"])
    names = encoding.endpoint_names
    _require(tuple(fitted["endpoint_names"]) == names, "the summary and the encoding name different endpoints")
    _require(fitted["n_features_in"] == len(encoding.columns), "the summary and the encoding count different columns")
    _check_numbers("l2", fitted["l2"].values() if isinstance(fitted["l2"], dict) else [fitted["l2"]], least=0.0)
    _check_numbers("n_evaluations", [fitted["n_evaluations"], fitted["n_iter"]], least=0)
    _check_numbers("n_rows", [fitted["n_rows"]], least=0)
    _check_evaluation(fitted["evaluation"], names)
    model.encoding_ = encoding
    model.event_times_ = {name: _event_times(tensors, e) for e, name in enumerate(names)}
    model.parameters_ = _parameters(tensors, encoding.layout)
    _require(not tensors, f"there are tensors of no use: {', '.join(map(repr, sorted(tensors)))}")
    model.endpoint_names_ = names
    model.l2_ = fitted["l2"]
    model.n_evaluations_, model.n_iter_ = fitted["n_evaluations"], fitted["n_iter"]
    model.n_features_in_ = len(encoding.columns)
    if fitted["named_features"]:
        model.feature_names_in_ = np.array([column.name for column in encoding.columns], dtype=object)
    model.n_rows_, model.evaluation_ = fitted["n_rows"], fitted["evaluation"]
    model.history_ = pd.DataFrame()
    restored: Estimator = model
    return restored


def _event_times(tensors: dict[str, Array], endpoint: int) -> Array:
    name = f"event_times.{endpoint}"
    times = tensors.pop(name)
    _require(times.ndim == 1, f"the tensor {name!r} must have one axis; found the shape {times.shape}")
    _require(bool(np.isfinite(times).all() and (times >= 0.0).all()), f"the times in tensor {name!r} must be finite and not negative")
    _require(bool((np.diff(times) > 0.0).all()), f"the times in tensor {name!r} must ascend")
    return times


def _parameters(tensors: dict[str, Array], layout: Layout) -> Parameters:
    """Take the parameters out of the tensors."""
    hidden_bias = tensors.pop("b")
    _require(hidden_bias.ndim == 1, f"the tensor 'b' must have one axis; found the shape {hidden_bias.shape}")
    blocks = []
    for i, block in enumerate(layout.blocks):
        own = {}
        for name, shape in block.unit.parameter_shapes(hidden_bias.size).items():
            own[name] = tensors.pop(f"{i}.{name}")
            expected = (block.n_columns, *shape)
            _require(own[name].shape == expected, f"the tensor '{i}.{name}' must have the shape {expected}; found {own[name].shape}")
        blocks.append(own)
    parameters = Parameters(layout, hidden_bias, tuple(blocks))
    parameters.check(layout)
    return parameters


def _library_version() -> str:
    try:
        return version("harmonium")
    except PackageNotFoundError:
        return "unknown"


# --- checks of what was read ---


def _require(holds: bool, rule: str) -> None:
    if not holds:
        raise ModelFileError(rule)


def _check_numbers(what: str, values: Iterable[Any], least: float = -math.inf) -> None:
    for value in values:
        right = type(value) in (int, float) and math.isfinite(value) and value >= least
        limit = "" if least == -math.inf else f" of at least {least:g}"
        _require(right, f"{what} must be a finite number{limit}; found {value!r}")


def _check_evaluation(evaluation: Any, endpoints: tuple[str, ...]) -> None:
    if evaluation is None:
        return
    _require(type(evaluation["method"]) is str, "it must be told how the model was evaluated")
    _require(type(evaluation["scores"]) is dict and tuple(evaluation["scores"]) == endpoints, "there must be scores of each endpoint")
    for scores in evaluation["scores"].values():
        right = type(scores) is dict and scores and all(type(name) is str and type(score) is float for name, score in scores.items())
        _require(bool(right), f"scores must be numbers by name; found {scores!r}")


def _check_encoding(encoding: Encoding) -> None:
    """Refuse an encoding that could not have been fitted."""
    for column in encoding.columns:
        _check_column(column)
    _require(len({column.name for column in encoding.columns}) == len(encoding.columns), "column names must be unique")
    names = encoding.endpoint_names
    _require(all(type(name) is str for name in names), f"names of endpoints must be text; found {names}")
    _require(0 < len(names) == len(set(names)), f"there must be endpoints with unique names; found {names}")
    _require(len(encoding.scales) == len(encoding.first_recordings) == len(names), "there must be one time scale for each endpoint")
    for scale in encoding.scales:
        _check_scale(scale)
    _check_numbers("the first recording of an endpoint", encoding.first_recordings, least=0.0)
    _require(0.0 not in encoding.first_recordings, "the first recording of an endpoint must not be at 0")
    _require(len(encoding.follow_up) == len(names), "there must be one follow-up for each endpoint")
    for follow_up in encoding.follow_up:
        quantiles = follow_up.quantiles
        ascending = len(quantiles) >= 2 and all(0.0 <= a <= b for a, b in pairwise(quantiles))
        _require(ascending, "the quantiles of follow-up must be at least two ascending times")
    _require(len(encoding.recordings) == len(names), "there must be one count of recordings for each endpoint")
    for recordings in encoding.recordings:
        counts = asdict(recordings).values()
        _require(all(type(count) is int and count >= 0 for count in counts), f"recordings must be counted; found {recordings}")


def _check_column(column: Column) -> None:
    where = f"column {column.name!r}"
    _require(column.role in ROLES, f"the role of {where} must be one of {', '.join(ROLES)}; found {column.role!r}")
    _require(type(column.kind) is str, f"the kind of {where} must be text; found {column.kind!r}")
    distinct = len(set(column.levels))
    _require(distinct == len(column.levels), f"the levels of {where} must be unique")
    _require(len(set(column.categories)) == len(column.categories), f"the categories of {where} must be unique")
    enough = {"binary": distinct == 2, "categorical": distinct >= 2}.get(column.role, True)
    _require(enough, f"the {column.role} {where} cannot have {distinct} levels")
    _check_numbers(f"the mean of {where}", [column.mean])
    ranged = column.role != "numeric" or (type(column.lowest) is type(column.highest) is float and column.lowest <= column.highest)
    _require(ranged, f"the range of {where} must be two ascending numbers; found {column.lowest!r} and {column.highest!r}")
    _check_numbers(f"the scale of {where}", [column.scale], least=0.0)
    _check_numbers(f"the share of gaps of {where}", [column.missing, 1.0 - column.missing], least=0.0)
    _require(column.scale > 0.0, f"the scale of {where} must not be 0")


def _check_scale(scale: TimeScale) -> None:
    knots, values = scale.knots, scale.values
    _require(type(scale.name) is str, f"a time scale's name must be text; found {scale.name!r}")
    _check_numbers("the knots of a time scale", (*knots, *values), least=0.0)
    _check_numbers("the unit of a time scale", [scale.unit], least=0.0)
    _require(len(knots) == len(values) >= 2, f"a time scale needs two knots and as many values; found {len(knots)} and {len(values)}")
    _require(knots[0] == values[0] == 0.0 and values[-1] <= 1.0, "a time scale must begin at 0 and not exceed 1")
    ascending = all(a < b for a, b in pairwise(knots)) and all(a <= b for a, b in pairwise(values))
    _require(ascending and values[-1] > 0.0, "a time scale must ascend")
    endless = scale.horizon == math.inf and values[-1] < 1.0
    right = endless or (type(scale.horizon) is float and 0.0 < scale.horizon < math.inf)
    _require(right, f"the horizon of a time scale must be a positive number; found {scale.horizon!r}")


# --- values in JSON ---


def _to_json(value: Any) -> Any:
    """A value in JSON's types, from which :func:`_from_json` makes an equal one of the same type."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or type(value) in (bool, int, str):
        return value
    if type(value) is float:
        return value if math.isfinite(value) else {"$float": repr(value)}
    if type(value) is list:
        return [_to_json(item) for item in value]
    if type(value) is tuple:
        return {"$tuple": [_to_json(item) for item in value]}
    if isinstance(value, Mapping):
        if all(type(key) is str and not key.startswith("$") for key in value):
            return {key: _to_json(item) for key, item in value.items()}
        return {"$mapping": [[_to_json(key), _to_json(item)] for key, item in value.items()]}
    raise TypeError(f"a model file cannot hold {value!r}, a {type(value).__name__}")


def _from_json(stored: Any) -> Any:
    if isinstance(stored, list):
        return [_from_json(item) for item in stored]
    if not isinstance(stored, dict):
        return stored
    if not any(key.startswith("$") for key in stored):
        return {key: _from_json(item) for key, item in stored.items()}
    ((tag, content),) = stored.items()
    if tag == "$float" and content in ("inf", "-inf", "nan"):
        return float(content)
    if tag == "$tuple":
        return tuple(_from_json(item) for item in content)
    if tag == "$mapping":
        return {_from_json(key): _from_json(item) for key, item in content}
    raise ValueError(f"found {stored!r}")


def _stored_setting(name: str, value: Any) -> Any:
    try:
        return _to_json(value)
    except TypeError as error:
        if name == "random_state":  # a generator's state is not worth keeping: fitting has moved it on
            return None
        raise TypeError(f"the setting {name} cannot be saved: {error}") from None


def _stored_encoding(encoding: Encoding) -> Any:
    for column in encoding.columns:
        try:
            _to_json(column.to_dict())
        except TypeError as error:
            raise TypeError(f"column {column.name!r} cannot be saved: {error}; turn it into text or numbers before fitting") from None
    return _to_json(encoding.to_dict())
