"""One safe model file: safetensors, so that loading runs no code.

The metadata has one key, ``harmonium``, which holds a JSON document (:mod:`harmonium.model.stored_values` says how values are written):

==================  ===================================================================================================
``format``          always "harmonium model"
``format_version``  raised whenever an older library could misread the file
``library_version``
``model``           the fields of :class:`harmonium.model.contents.Contents`
``checksum``        SHA-256 of the document without it and with ``tensors``, the tensors' shapes by name, as JSON with sorted
                    keys and no spaces, followed by the tensors' bytes in the order of their names
==================  ===================================================================================================

All tensors are float64.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from harmonium.errors import ModelFileError
from harmonium.model.contents import Contents
from harmonium.model.stored_values import from_json, require, to_json, typed
from harmonium.typing import Array
from harmonium.version import __version__

if TYPE_CHECKING:
    from harmonium.model.answering import Answering

__all__ = ["naming", "read_contents", "save_model"]

_KEY = "harmonium"
_FORMAT = "harmonium model"
_FORMAT_VERSION = 11
_DECODING_ERRORS = (LookupError, TypeError, ValueError, OverflowError, RecursionError, AttributeError)  # what malformed JSON can cause


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
    content = _pack(model)
    contents = _unpack(content)
    for one in (contents, *contents.endpoints):
        one.parts()  # never write what cannot be read
    _write_whole(Path(os.path.realpath(path)), content)


def read_contents(path: str | os.PathLike[str]) -> Contents:
    """Read and check a file without building the model: enough to say what is in it."""
    with naming(path):
        return _unpack(_read(Path(path)))


@contextmanager
def naming(path: Any) -> Iterator[None]:
    """Errors that name the file, and say that its content makes no sense where that is so."""
    try:
        yield
    except ModelFileError as error:
        raise ModelFileError(f"cannot read {path}: {error}") from error
    except _DECODING_ERRORS as error:
        reason = f"{error} is missing" if isinstance(error, KeyError) else str(error)
        raise ModelFileError(f"cannot read {path}: its content makes no sense ({reason})") from error


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


def _pack(model: Answering) -> bytes:
    """The content of a file."""
    from safetensors.numpy import save  # noqa: PLC0415 - not needed for reading

    tensors: dict[str, Array] = {}
    stored = to_json(Contents.of_model(model), tensors)
    document = {"format": _FORMAT, "format_version": _FORMAT_VERSION, "library_version": __version__, "model": stored}
    sealed = json.dumps({**document, "checksum": _checksum(document, tensors)}, allow_nan=False)
    content: bytes = save(tensors, {_KEY: sealed})
    return content


def _unpack(content: bytes) -> Contents:
    """The checked content of a file; the shapes of parameters are not checked."""
    from safetensors import SafetensorError, deserialize  # noqa: PLC0415 - as above

    header_end = 8 + int.from_bytes(content[:8], "little")
    require(len(content) >= header_end, "the file is cut short, or its beginning is damaged")
    try:
        found = deserialize(content)  # type: ignore[no-untyped-call]
    except SafetensorError as error:
        raise ModelFileError(f"the file is cut short or damaged ({error})") from error
    document = _our_document(json.loads(content[8:header_end]))
    tensors = {name: _array(name, tensor) for name, tensor in found}
    intact = document.pop("checksum") == _checksum(document, tensors)
    require(intact, "its checksum does not match its content; the file is damaged or was changed by hand")
    contents: Contents = typed(from_json(document["model"], tensors), Contents)
    require(not tensors, f"there are tensors of no use: {', '.join(map(repr, sorted(tensors)))}")
    return contents


def _our_document(header: Any) -> dict[str, Any]:
    """The JSON document in a safetensors header, if the file is ours and of a format that is known here."""
    text = (header.get("__metadata__") or {}).get(_KEY, "")
    require(text, "it is a safetensors file, but not one that harmonium has written")
    document = json.loads(text)
    ours = isinstance(document, dict) and document.get("format") == _FORMAT
    require(ours, "it is a safetensors file, but not a model of harmonium")
    version = document.get("format_version")
    require(type(version) is int and version > 0, f"its format must be a positive whole number; found {version!r}")
    newer = f"it was written by a newer version of harmonium (format {version}); this one reads format {_FORMAT_VERSION}"
    require(version <= _FORMAT_VERSION, newer)
    older = f"it was written by an early version of harmonium (format {version}); fit the model again with this one"
    require(version == _FORMAT_VERSION, older)
    return dict(document)


def _array(name: str, tensor: Mapping[str, Any]) -> Array:
    """A tensor of the file as an array of its own."""
    require(tensor["dtype"] == "F64", f"all tensors must be float64; found {tensor['dtype']} in {name!r}")
    values = np.array(np.frombuffer(bytes(tensor["data"]), dtype="<f8").reshape(tensor["shape"]), dtype=np.float64)
    require(bool(np.isfinite(values).all()), f"the tensor {name!r} must be finite")
    return values


def _checksum(document: Mapping[str, Any], tensors: Mapping[str, Array]) -> str:
    shapes = {name: tensor.shape for name, tensor in tensors.items()}
    described = json.dumps({**document, "tensors": shapes}, sort_keys=True, separators=(",", ":"), allow_nan=False)
    total = hashlib.sha256(described.encode())
    for name in sorted(tensors):
        total.update(tensors[name].astype("<f8").tobytes())
    return total.hexdigest()
