"""One safe model file: safetensors, so that loading runs no code.

The metadata has one key, ``harmonium``, which holds a JSON document (:mod:`harmonium.model.json_values` says how values are written):

==================  ===================================================================================================
``format``          always "harmonium model"
``format_version``  raised whenever an older library could misread the file
``library_version``
``encoding``        roles and encodings of columns, time scales of endpoints
``training``        the summary of training
``endpoints``       where endpoints are ordered, a description of each endpoint's harmonium
``checksum``        SHA-256 of the document without it and with ``tensors``, the tensors' shapes by name, as JSON with sorted
                    keys and no spaces, followed by the tensors' bytes in the order of their names
==================  ===================================================================================================

The tensors, all of them float64, are the event times of every endpoint, ``event_times.<number>``, and the parameters, whose names are those
of :mod:`harmonium.model.component_tensors`; harmoniums of single endpoints are described in :mod:`harmonium.model.stored_endpoints`.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import shutil
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from harmonium.errors import ModelFileError
from harmonium.model.component_tensors import n_covariate_units, read_tensors, tensors_of
from harmonium.model.file_checks import check_encoding, check_training, require
from harmonium.model.json_values import from_json, to_json
from harmonium.model.stored_endpoints import (
    StoredEndpoint,
    endpoint_documents,
    endpoint_tensors,
    read_transitions,
    stored_endpoints,
)
from harmonium.model.training_summary import TrainingSummary
from harmonium.table.encoding import Encoding
from harmonium.typing import Array
from harmonium.version import __version__

if TYPE_CHECKING:
    from harmonium.model.answering import Answering
    from harmonium.model.component_tensors import Parts
    from harmonium.model.transitions import Transitions

__all__ = ["Contents", "naming", "read_contents", "save_model"]

_KEY = "harmonium"
_FORMAT = "harmonium model"
_FORMAT_VERSION = 10
_DECODING_ERRORS = (KeyError, TypeError, ValueError, OverflowError, RecursionError, AttributeError)  # what malformed JSON can cause


@dataclass(frozen=True)
class Contents:
    """A model file that has been read and checked as far as that goes without numerical code.

    Attributes
    ----------
    encoding : Encoding
    training : TrainingSummary
    tensors : dict
        Parameters, by block and name.
    endpoints : tuple of StoredEndpoint or None
        Where endpoints are ordered, the harmonium of each.
    """

    encoding: Encoding
    training: TrainingSummary
    tensors: dict[str, Array]
    endpoints: tuple[StoredEndpoint, ...] | None

    def parameters(self) -> Parts:
        """Shapes and values are checked."""
        return read_tensors(dict(self.tensors), self.encoding.layout)

    def transitions(self) -> Transitions | None:
        """Checked likewise."""
        return read_transitions(self.endpoints, self.encoding)

    @property
    def n_hidden(self) -> int:
        """How many prognostic units, at most in one harmonium."""
        return max(own["b"].size for own in (self.tensors, *(one.tensors for one in self.endpoints or ())))

    @property
    def n_covariate_units(self) -> int:
        """How many units couple to covariates only."""
        return n_covariate_units(self.tensors)


def save_model(model: Answering, path: str | os.PathLike[str]) -> None:
    """Write a fitted model to one file, whole or not at all.

    Parameters
    ----------
    model : Fitted
    path : path-like
        A file that exists is replaced, once the new one is complete.

    Raises
    ------
    TypeError
        If a column's name or level, or a setting, is of a type that the file cannot hold, such as a date.
    """
    content = _pack(_document(model), _tensors(model))
    contents = _unpack(content)
    contents.parameters(), contents.transitions()  # never write what cannot be read
    _write_whole(Path(os.path.realpath(path)), content)


def read_contents(path: str | os.PathLike[str]) -> Contents:
    """Read and check a file without building the model: enough to say what is in it."""
    with naming(path):
        return _unpack(_read(Path(path)))


class naming:  # noqa: N801 - a context manager that reads as a word
    """Errors that name the file, and say that its content makes no sense where that is so."""

    def __init__(self, path: Any) -> None:
        self._path = path

    def __enter__(self) -> None:
        return None

    def __exit__(self, _: Any, error: BaseException | None, __: Any) -> None:
        if isinstance(error, ModelFileError):
            raise ModelFileError(f"cannot read {self._path}: {error}") from error
        if isinstance(error, _DECODING_ERRORS):
            raise ModelFileError(f"cannot read {self._path}: its content makes no sense ({_reason(error)})") from error


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
    from safetensors.numpy import save  # noqa: PLC0415 - not needed for reading

    shapes = {name: list(tensor.shape) for name, tensor in tensors.items()}
    checksum = _checksum(document, shapes, {name: tensor.tobytes() for name, tensor in tensors.items()})
    content: bytes = save(tensors, {_KEY: json.dumps({**document, "checksum": checksum}, allow_nan=False)})
    return content


def _unpack(content: bytes) -> Contents:
    """The checked content of a file."""
    from safetensors import SafetensorError, deserialize  # noqa: PLC0415 - as above

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
        return _contents(document, arrays)
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
    if found < _FORMAT_VERSION:
        raise ModelFileError(f"it was written by an early version of harmonium (format {found}); fit the model again with this one")
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


def _reason(error: BaseException) -> str:
    return f"{error} is missing" if isinstance(error, KeyError) else str(error)


# --- the model ---


def _document(model: Answering) -> dict[str, Any]:
    """All but the tensors."""
    return {
        "format": _FORMAT,
        "format_version": _FORMAT_VERSION,
        "library_version": __version__,
        "encoding": _stored_encoding(model.encoding),
        "training": to_json(_stored_training(model.training)),
        "endpoints": to_json(endpoint_documents(model.transitions)),
    }


def _tensors(model: Answering) -> dict[str, Array]:
    tensors = {f"event_times.{e}": endpoint.event_times for e, endpoint in enumerate(model.encoding.endpoints)}
    tensors |= tensors_of(model) | endpoint_tensors(model.transitions)
    return {name: np.ascontiguousarray(values, dtype="<f8") for name, values in tensors.items()}


def _contents(document: dict[str, Any], tensors: dict[str, Array]) -> Contents:
    """A file's document and tensors, all of it checked but for the shapes of parameters."""
    stored = from_json(document["encoding"])
    event_times = [tensors.pop(f"event_times.{e}") for e in range(len(stored["endpoints"]))]
    encoding = Encoding.from_dict(stored, event_times)
    check_encoding(encoding)
    training = TrainingSummary(**from_json(document["training"]))
    endpoints = stored_endpoints(from_json(document["endpoints"]), tensors, encoding)
    require("b" in tensors and tensors["b"].ndim == 1, "there must be a tensor 'b' with one axis")
    contents = Contents(encoding, training, tensors, endpoints)
    check_training(training, contents.n_hidden, encoding.endpoint_names)
    return contents


def _stored_training(training: TrainingSummary) -> dict[str, Any]:
    summary = asdict(training)
    summary["settings"] = {name: _stored_setting(name, value) for name, value in training.settings.items()}
    return summary


def _stored_setting(name: str, value: Any) -> Any:
    try:
        to_json(value)
    except TypeError as error:
        if name == "random_state":  # a generator's state is not worth keeping: fitting has moved it on
            return None
        raise TypeError(f"the setting {name} cannot be saved: {error}") from None
    return value


def _stored_encoding(encoding: Encoding) -> Any:
    for column in encoding.columns:
        try:
            to_json(column.to_dict())
        except TypeError as error:
            raise TypeError(f"column {column.name!r} cannot be saved: {error}; turn it into text or numbers before fitting") from None
    return to_json(encoding.to_dict())
