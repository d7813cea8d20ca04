"""Writes ``sas7bdat``, which pyreadstat does not: by the C library inside it (ReadStat), which can."""

import ctypes
import pathlib

import pandas as pd
import pyreadstat
import pytest

_STRING, _DOUBLE = 0, 5  # ReadStat's readstat_type_t
_Writer = ctypes.CFUNCTYPE(ctypes.c_ssize_t, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p)


def _compiled():
    found = [path for path in pathlib.Path(pyreadstat.__file__).parent.glob("_readstat_writer*") if path.suffix in (".so", ".pyd")]
    library = ctypes.CDLL(str(found[0]))
    if not hasattr(library, "readstat_begin_writing_sas7bdat"):
        pytest.skip("this build of pyreadstat hides ReadStat's writer of sas7bdat")
    return library


def write_sas7bdat(frame, path):
    """Text and numbers, missing where the frame has none."""
    library = _compiled()
    library.readstat_writer_init.restype = ctypes.c_void_p
    library.readstat_add_variable.restype = ctypes.c_void_p
    content = bytearray()

    @_Writer
    def collect(data, size, _):
        content.extend(ctypes.string_at(data, size))
        return size

    writer = ctypes.c_void_p(library.readstat_writer_init())
    library.readstat_set_data_writer(writer, collect)
    variables = []
    for name in frame.columns:
        text = not pd.api.types.is_numeric_dtype(frame[name].dtype)
        width = int(frame[name].dropna().str.len().max()) if text else 0
        kind = _STRING if text else _DOUBLE
        variables.append(ctypes.c_void_p(library.readstat_add_variable(writer, name.encode(), kind, ctypes.c_size_t(width))))
    assert library.readstat_begin_writing_sas7bdat(writer, None, ctypes.c_long(len(frame))) == 0
    for row in frame.itertuples(index=False):
        assert library.readstat_begin_row(writer) == 0
        for variable, value in zip(variables, row, strict=True):
            if pd.isna(value):
                done = library.readstat_insert_missing_value(writer, variable)
            elif isinstance(value, str):
                done = library.readstat_insert_string_value(writer, variable, value.encode())
            else:
                done = library.readstat_insert_double_value(writer, variable, ctypes.c_double(value))
            assert done == 0
        assert library.readstat_end_row(writer) == 0
    assert library.readstat_end_writing(writer) == 0
    library.readstat_writer_free(writer)
    pathlib.Path(path).write_bytes(bytes(content))
