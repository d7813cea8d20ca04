"""One study in every format: the same table, the same model; what is wrong with a file is said in one run."""

import gzip
import io
import subprocess
import sys

import numpy as np
import pandas as pd
import pyreadstat
import pytest

import harmonium as hm
from harmonium.cli import main
from harmonium.errors import TableError
from harmonium.table.files.opening import open_table, read_table
from tests.processes import COMMAND, ENVIRONMENT
from tests.table.files.sas import write_sas7bdat

NAMES = ["arm", "age", "bmi", "stage", "female", "os_mth", "os_event"]


@pytest.fixture(scope="module")
def study():
    """Text, whole numbers, decimal numbers and booleans as 0 and 1; values are missing in each."""
    X, y = hm.datasets.load_nvalt8()
    age = X["age"].round().astype("Int64").mask(np.arange(len(X)) % 17 == 0)
    female = X["gender_female"].astype("Int64").mask(np.arange(len(X)) % 23 == 0)
    event = (y["os", "lower"] == y["os", "upper"]).astype(int)
    columns = [X["arm"], age, X["bmi"].round(2), X["stage"], female, y["os", "lower"], event]
    return pd.DataFrame(dict(zip(NAMES, columns, strict=True))).reset_index(drop=True)


def comma(frame, folder):
    frame.to_csv(folder / "a.csv", index=False)
    return "a.csv"


def semicolon(frame, folder):
    frame.to_csv(folder / "semicolon.csv", index=False, sep=";", decimal=",")
    return "semicolon.csv"


def utf_16(frame, folder):
    frame.to_csv(folder / "utf16.txt", index=False, sep="\t", encoding="utf-16")
    return "utf16.txt"


def latin_1(frame, folder):
    frame.to_csv(folder / "latin.csv", index=False, sep="|", encoding="latin-1")
    return "latin.csv"


def zipped(frame, folder):
    (folder / "a.csv.gz").write_bytes(gzip.compress(frame.to_csv(index=False).encode()))
    return "a.csv.gz"


def excel(frame, folder):
    frame.to_excel(folder / "a.xlsx", index=False)
    return "a.xlsx"


def second_sheet(frame, folder):
    with pd.ExcelWriter(folder / "b.xlsx") as file:
        pd.DataFrame({"about": ["this study"]}).to_excel(file, sheet_name="Notes", index=False)
        frame.to_excel(file, sheet_name="Data", index=False)
    return "b.xlsx#Data"


def stata(frame, folder):
    pyreadstat.write_dta(frame, str(folder / "a.dta"))
    return "a.dta"


def spss(frame, folder):
    pyreadstat.write_sav(frame, str(folder / "a.sav"))
    return "a.sav"


def xport(frame, folder):
    pyreadstat.write_xport(frame, str(folder / "a.xpt"), file_format_version=5)
    return "a.xpt"


def sas7bdat(frame, folder):
    write_sas7bdat(frame, folder / "a.sas7bdat")
    return "a.sas7bdat"


def parquet(frame, folder):
    frame.to_parquet(folder / "a.parquet", index=False)
    return "a.parquet"


def feather(frame, folder):
    frame.to_feather(folder / "a.feather")
    return "a.feather"


FORMATS = [comma, semicolon, utf_16, latin_1, zipped, excel, second_sheet, stata, spss, xport, sas7bdat, parquet, feather]


@pytest.mark.parametrize("write", FORMATS)
def test_every_format_gives_the_same_table(study, tmp_path, write):
    found = read_table(tmp_path / write(study, tmp_path))
    expected = study.astype({"arm": object, "stage": object})
    expected[["arm", "stage"]] = expected[["arm", "stage"]].where(expected[["arm", "stage"]].notna(), None)
    pd.testing.assert_frame_equal(found, expected, rtol=1e-15)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("formats")


def fit(folder, name, output, **options):
    command = [
        "fit",
        name,
        "-e",
        "os=os_mth,os_event",
        "--hidden",
        "2",
        "--starts",
        "1",
        "--covariate-units",
        "0",
        "--iterations",
        "9",
        "-q",
        "-o",
        output,
    ]
    if options:
        done = subprocess.run([*COMMAND, *command], cwd=folder, env=ENVIRONMENT, check=False, **options)
        return done.returncode
    return main([argument if argument != name else str(folder / name) for argument in command])


@pytest.fixture(scope="module")
def usual(study, folder):
    """The model of the study as the usual CSV."""
    assert fit(folder, comma(study, folder), str(folder / "usual.harmonium")) == 0
    return hm.load(folder / "usual.harmonium")


def assert_same(model, usual, X):
    assert model.encoding == usual.encoding
    alive = [m.predict_survival_function(X, times=[12, 36, 60], return_array=True) for m in (model, usual)]
    np.testing.assert_array_equal(*alive)


@pytest.mark.slow
@pytest.mark.parametrize("write", FORMATS[1:])
def test_every_format_gives_the_same_model(study, folder, usual, write):
    output = folder / f"{write.__name__}.harmonium"
    assert fit(folder, write(study, folder), str(output)) == 0
    assert_same(hm.load(output), usual, study)


@pytest.mark.slow
def test_standard_input_gives_the_same_model(study, folder, usual):
    content = study.to_csv(index=False, sep=";", decimal=",", encoding="utf-8").encode("utf-16")
    assert fit(folder, "-", "piped.harmonium", input=content) == 0
    assert_same(hm.load(folder / "piped.harmonium"), usual, study)


@pytest.mark.parametrize("n_rows", [3, 1000])
def test_lines_that_end_too_early_are_named(tmp_path, n_rows):
    lines = ["a,b,c", *(f"{k},{k},{k}" for k in range(n_rows)), "1,2", "", '5,"6', '7"', "8,9,0"]
    (tmp_path / "a.csv").write_text("\n".join(lines))
    with pytest.warns(hm.errors.FileWarning, match=rf"line {n_rows + 2} has 2 fields, fewer than the header has names \(3\), and 1 more"):
        found = read_table(tmp_path / "a.csv")
    assert found["c"].isna().sum() == 2
    table = open_table(tmp_path / "a.csv")
    assert table.lines(n_rows + 2)[-3:] == [n_rows + 2, n_rows + 4, n_rows + 6]
    with pytest.warns(hm.errors.FileWarning, match="fields"):
        assert sum(len(part.frame) for part in table.parts(["a", "c"])) == n_rows + 3


def test_missing_values_at_the_end_of_a_line_are_no_short_line(tmp_path):
    (tmp_path / "a.csv").write_text("a,b,c\n1,2,\n1,2,3\n")
    assert read_table(tmp_path / "a.csv")["c"].isna().tolist() == [True, False]


def test_labels_take_the_place_of_codes_but_not_in_endpoints(study, tmp_path, capsys):
    words = {"female": {0.0: "male", 1.0: "female"}, "os_event": {0.0: "alive", 1.0: "dead"}}
    pyreadstat.write_sav(study, str(tmp_path / "a.sav"), variable_value_labels=words)
    found = read_table(tmp_path / "a.sav", codes=["os_event"])
    assert found["female"].dropna().unique().tolist() == ["male", "female"]
    assert found["os_event"].tolist() == study["os_event"].tolist()
    for endpoint in ("os=os_mth,os_event", "os=os_mth,os_event:dead"):
        assert main(["fit", str(tmp_path / "a.sav"), "-e", endpoint, "--dry-run", "--json"]) == 0
        out = capsys.readouterr().out
        assert f'"events": {study["os_event"].sum()}' in out
        assert '"male"' in out


def test_codes_without_a_label_stay_codes(tmp_path):
    frame = pd.DataFrame({"pain": [0.0, 1.0, 7.0], "grade": [1.0, 2.0, 1.0]})
    labels = {"pain": {0.0: "none", 1.0: "some"}, "grade": {1.0: "low", 2.0: "low"}}
    pyreadstat.write_dta(frame, str(tmp_path / "a.dta"), variable_value_labels={"pain": {0: "none", 1: "some"}})
    pyreadstat.write_sav(frame, str(tmp_path / "a.sav"), variable_value_labels=labels)
    for name in ("a.dta", "a.sav"):
        assert read_table(tmp_path / name)["pain"].tolist() == [0, 1, 7]
    assert read_table(tmp_path / "a.sav")["grade"].tolist() == [1, 2, 1], "two codes with one label are two codes"


def test_rows_and_columns_of_a_sheet_that_are_only_formatted_are_left_out(tmp_path):
    frame = pd.DataFrame({"a": [1, 2, None, None], "b": ["x", None, None, None], None: [None] * 4})
    frame.to_excel(tmp_path / "a.xlsx", index=False)
    assert read_table(tmp_path / "a.xlsx").shape == (2, 2)


@pytest.mark.parametrize("write", FORMATS)
def test_none_is_a_word_in_every_format(tmp_path, write):
    frame = pd.DataFrame({"prior": ["None", "null", "Surgery", None], "age": [61, 58, 70, 49]})
    assert read_table(tmp_path / write(frame, tmp_path))["prior"].tolist() == ["None", "null", "Surgery", None]


@pytest.mark.parametrize("write", [comma, excel])
def test_words_for_a_missing_value(tmp_path, write):
    words = ["NA", "N/A", "n/a", "#N/A", "NaN", "nan", "NULL", "."]
    found = read_table(tmp_path / write(pd.DataFrame({"bmi": [24.5, *words], "stage": ["II", *words]}, dtype=object), tmp_path))
    assert (found["bmi"].dtype, found.notna().sum().tolist()) == (np.dtype(float), [1, 1])


def of_cells(path, rows):
    pd.DataFrame(rows, dtype=object).to_excel(path, index=False, header=False)
    return path


def test_names_in_excel_may_stand_below_empty_rows(tmp_path):
    rows = [[None, None, None], [None, None, None], ["age", "arm", "bmi"], [61, "A", 24.5], [58, "B", None]]
    found = read_table(of_cells(tmp_path / "a.xlsx", rows))
    pd.testing.assert_frame_equal(found, pd.DataFrame({"age": [61, 58], "arm": ["A", "B"], "bmi": [24.5, None]}), check_dtype=False)
    alone = read_table(of_cells(tmp_path / "b.xlsx", [[None], ["age"], [61], [58]]))
    assert (list(alone), alone["age"].tolist()) == (["age"], [61, 58])


def test_a_value_beside_the_table_in_excel_is_refused_with_its_row(tmp_path):
    path = of_cells(tmp_path / "a.xlsx", [["age", "arm", None], [61, "A", None], [58, "B", "check this"]])
    with pytest.raises(TableError, match=r"a\.xlsx: row 3 of the sheet holds 'check this' to the right of the last column that has a name"):
        read_table(path)


def sheet_twice(path):
    pd.DataFrame([[1, 2]], columns=["a", "a"]).to_excel(path, index=False)


BAD = {
    "a.xls": (lambda path: path.write_bytes(b"\xd0\xcf"), "Excel's old format; save it again as .xlsx"),
    "a.ods": (lambda path: path.write_bytes(b"PK"), "save it again as .xlsx or .csv"),
    "a.docx": (lambda path: path.write_bytes(b"PK"), "a table must end with .csv"),
    "a.xlsx": (lambda path: path.write_text("a,b\n"), "is not an Excel file, or damaged"),
    "twice.xlsx": (sheet_twice, "column names must be unique; found 'a' more than once"),
    "none.xlsx": (lambda path: pd.DataFrame().to_excel(path), "is empty"),
    "header.xlsx": (lambda path: pd.DataFrame(columns=["a"]).to_excel(path, index=False), "has a header but no rows"),
    "a.dta": (lambda path: path.write_text("a,b\n"), "is not a Stata file, or damaged"),
    "a.sav": (lambda path: path.write_text("a,b\n"), "is not a SPSS file, or damaged"),
    "a.xpt": (lambda path: path.write_text("a,b\n"), "is not a SAS file, or damaged"),
    "a.sas7bdat": (lambda path: path.write_text("a,b\n"), "is not a SAS file, or damaged"),
    "a.feather": (lambda path: path.write_text("a,b\n"), "is not a Feather file, or damaged"),
    "a.parquet": (lambda path: path.write_text("a,b\n"), "is not a Parquet file, or damaged"),
    "none.sav": (lambda path: pyreadstat.write_sav(pd.DataFrame({"a": [1.0]})[:0], str(path)), "has no rows"),
    "a.csv": (lambda path: path.write_text(""), "is empty"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_file_that_is_not_what_it_seems_is_refused_by_name(tmp_path, name):
    write, message = BAD[name]
    write(tmp_path / name)
    with pytest.raises(ValueError, match=r"^[^\n]*$") as error:
        open_table(tmp_path / name)
    assert name in str(error.value)
    assert message in str(error.value)


def test_a_sheet_that_is_not_there_is_refused(study, tmp_path):
    second_sheet(study, tmp_path)
    with pytest.raises(ValueError, match=r"has no sheet 'Dta'; it has 'Notes', 'Data'"):
        read_table(tmp_path / "b.xlsx#Dta")


@pytest.mark.parametrize(
    ("package", "write", "what"),
    [("openpyxl", excel, "Excel"), ("pyreadstat", stata, "Stata"), ("pyreadstat", spss, "SPSS"), ("pyreadstat", xport, "SAS"),
     ("pyarrow", feather, "Feather"), ("pyarrow", parquet, "Parquet")],
)  # fmt: skip
def test_what_to_install_is_said(study, tmp_path, monkeypatch, package, write, what):
    name = write(study, tmp_path)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ImportError, match=rf"{what} files need {package}: pip install 'harmonium\[files\]'"):
        open_table(tmp_path / name)


def test_parts_are_the_whole(study, tmp_path, monkeypatch):
    monkeypatch.setattr("harmonium.table.files.formats.PART_ROWS", 64)
    for write in (semicolon, spss, excel, parquet, feather):
        table = open_table(tmp_path / write(study, tmp_path))
        parts = list(table.parts(NAMES))
        assert [part.first for part in parts] == [0, 64, 128, 192]
        assert parts[-1].fraction == pytest.approx(1.0)
        joined = pd.concat([part.frame for part in parts], ignore_index=True)
        np.testing.assert_array_equal(joined["bmi"].to_numpy(float), study["bmi"].to_numpy(float))


def test_a_missing_number_may_be_a_point(tmp_path):
    (tmp_path / "a.csv").write_text("a,b\n.,1\n2,.\n")
    assert read_table(tmp_path / "a.csv").isna().to_numpy().tolist() == [[True, False], [False, True]]


def test_standard_input_is_read_once(monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"a;b\n1;2\n")))
    assert read_table("-").to_dict("list") == {"a": [1], "b": [2]}
