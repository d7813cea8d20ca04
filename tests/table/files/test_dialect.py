"""How a CSV is written is found out: its encoding, its separator and its decimal sign."""

import bz2
import gzip
import lzma
import zipfile

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harmonium.errors import FileWarning, TableError
from harmonium.table.files.dialect import SEPARATORS, dialect_of
from harmonium.table.files.opening import read_table
from harmonium.table.files.sources import Source

TEXT = "Größe{0}Stadium{0}Jahre\n1{1}72{0}IIa{0}3\n1{1}8{0}„neu“{0}\n"
FRAME = pd.DataFrame({"Größe": [1.72, 1.8], "Stadium": ["IIa", "„neu“"], "Jahre": pd.array([3, None], dtype="Int64")})
ENCODINGS = ("utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "cp1252")


def found(content):
    return dialect_of(Source("a.csv", held=content))


@pytest.mark.filterwarnings("ignore::harmonium.errors.FileWarning")
@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("separator", SEPARATORS)
@pytest.mark.parametrize("decimal", [".", ","])
def test_every_encoding_separator_and_decimal_sign_is_read(tmp_path, encoding, separator, decimal):
    text = TEXT.format(separator, decimal)
    if separator == decimal:
        text = text.replace("1,72", '"1,72"').replace("1,8", '"1,8"')
    (tmp_path / "a.csv").write_bytes(text.encode(encoding))
    pd.testing.assert_frame_equal(read_table(tmp_path / "a.csv"), FRAME)


def test_text_that_is_not_utf_8_gives_a_warning():
    with pytest.warns(FileWarning, match=r"a\.csv is not text in UTF-8, and is read as Windows-1252"):
        assert found("Größe,b\n1,2\n".encode("cp1252")).names == ("Größe", "b")
    with pytest.warns(FileWarning, match="read as Latin-1"):
        assert found(b"a,b\n\x81,2\n").encoding == "latin-1"


@pytest.mark.parametrize("ending", [".csv.gz", ".csv.bz2", ".csv.xz", ".csv.zip", ".csv", ".zip"])
@pytest.mark.parametrize("compress", [gzip.compress, bz2.compress, lzma.compress, None])
def test_the_content_tells_how_it_is_compressed_and_not_the_name(tmp_path, ending, compress):
    path, content = tmp_path / f"a{ending}", TEXT.format(";", ",").encode()
    if compress is None:
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("inside.csv", content)
            archive.writestr("__MACOSX/._inside.csv", b"whatever")
    else:
        path.write_bytes(compress(content))
    pd.testing.assert_frame_equal(read_table(path), FRAME)


def test_an_archive_with_several_files_is_refused(tmp_path):
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        for name in ("one.csv", "two.csv"):
            archive.writestr(name, "a,b\n1,2\n")
    with pytest.raises(ValueError, match=r"must hold one file; found 2: one\.csv, two\.csv"):
        read_table(tmp_path / "a.zip")


def test_the_separator_is_that_which_divides_all_lines_alike():
    assert found(b"height, in m;weight;stage\n1,5;60,5;II\n2,5;70;III\n").separator == ";"
    assert found(b"a,b\n1;2,3\n4;5,6\n").separator == ","
    assert found(b"alone\n1\n2\n").names == ("alone",)
    assert found(b'a;b,c\n"1;2",3\n"4;5",6\n').separator == ","


def test_dates_and_versions_are_no_decimals():
    assert found(b"a;b\n01.02.2020;1.2.3\n03.04.2020;2,5\n").decimal == ","
    assert found(b"a;b\n01.02.2020;7\n").decimal == "."


def test_one_column_with_another_decimal_sign_does_not_decide():
    assert found(b'a,b,c\n"1,5",1.5,2.5\n"2,5",3.5,2.5\n').decimal == "."
    assert found(b"a;b;c\n1.5;1,5;2,5\n").decimal == ","


def test_all_names_that_are_there_twice_are_reported():
    with pytest.raises(TableError) as error:
        found(b"age,sex,age,sex,bmi\n1,2,3,4,5\n")
    assert [problem.column for problem in error.value.problems] == ["age", "sex"]


def test_all_lines_with_too_many_fields_are_reported(tmp_path):
    lines = ["a,b", *("1,2" for _ in range(5)), "1,2,3", "4,5", "1,2,3,4", *("1,2,3" for _ in range(30))]
    (tmp_path / "a.csv").write_text("\n".join(lines))
    with pytest.raises(TableError) as error:
        read_table(tmp_path / "a.csv")
    messages = [problem.message.partition(": ")[2] for problem in error.value.problems]
    assert messages[:2] == [
        "line 7 has 3 fields, more than the header has names (2)",
        "line 9 has 4 fields, more than the header has names (2)",
    ]
    assert messages[-1] == "22 more lines have more fields than the header has names"


NUMBERS = st.floats(-1e6, 1e6).map(lambda number: round(number, 3) + 0.0)


@settings(max_examples=50, deadline=None)
@given(
    st.lists(st.tuples(NUMBERS, st.sampled_from(["a", "b;c", "d,e", "f|g", "1,5 mg", 'say "h"']), NUMBERS), min_size=3, max_size=20),
    st.sampled_from([(",", "."), (";", ","), (";", "."), ("\t", ","), ("|", ",")]),
    st.sampled_from(["utf-8", "utf-8-sig", "utf-16"]),
)
def test_what_was_written_is_read(tmp_path_factory, rows, signs, encoding):
    rows = [(0.5, "a", 1.5), *rows]  # a number that shows the decimal sign
    frame = pd.DataFrame(rows, columns=["first", "second", "third"])
    path = tmp_path_factory.mktemp("written") / "a.csv"
    frame.to_csv(path, index=False, sep=signs[0], decimal=signs[1], encoding=encoding)
    pd.testing.assert_frame_equal(read_table(path), frame)
