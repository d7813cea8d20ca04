"""A made-up ADTTE with ADSL: several parameters, reasons for censoring, dates; and what is wrong with others."""

import numpy as np
import pandas as pd
import pyreadstat
import pytest

import harmonium as hm
from harmonium.errors import EndpointWarning, TableError
from harmonium.table.endpoints import parse_endpoints


def made_up(n=60):
    """Overall and progression-free survival of some subjects, in days and in months, as ADaM has them."""
    rng = np.random.default_rng(0)
    subjects = [f"ST-{number:03d}" for number in range(n)]
    progression, death, cut = rng.exponential(300, n).round() + 1, rng.exponential(500, n).round() + 2, np.full(n, 700.0)
    cut[::7] = 200.0  # who is lost to follow-up
    start = pd.Timestamp("2019-01-01") + pd.to_timedelta(rng.integers(0, 300, n), unit="D")
    rows = []
    for name, time in (("OS", death), ("PFS", np.minimum(progression, death))):
        seen = time <= cut
        days = np.where(seen, time, cut)
        lost = cut < 700.0
        event = np.where(time == death, "DEATH", "PROGRESSION")
        rows.append(
            pd.DataFrame(
                {
                    "STUDYID": "ST",
                    "USUBJID": subjects,
                    "PARAMCD": name,
                    "PARAM": {"OS": "Overall Survival", "PFS": "Progression-Free Survival"}[name],
                    "AVAL": days if name == "OS" else days / (365.25 / 12),
                    "AVALU": "DAYS" if name == "OS" else "MONTHS",
                    "CNSR": np.where(seen, 0, np.where(lost, 2, 1)),
                    "EVNTDESC": np.where(seen, event, np.where(lost, "LOST TO FOLLOW-UP", "ALIVE AT CUT-OFF")),
                    "STARTDT": start,
                    "ADT": start + pd.to_timedelta(days - 1, unit="D"),
                    "TRTP": np.where(np.arange(n) % 2, "Active", "Placebo"),
                }
            )
        )
    adsl = pd.DataFrame(
        {
            "STUDYID": "ST",
            "USUBJID": subjects[::-1],
            "SITEID": "7",
            "AGE": rng.integers(40, 80, n)[::-1],
            "SEX": np.where(np.arange(n) % 3, "F", "M"),
            "AGEGR1": np.where(np.arange(n) % 2, "<65", ">=65"),
            "AGEGR1N": np.arange(n) % 2,
            "TRT01P": np.where(np.arange(n) % 2, "Active", "Placebo"),
            "ITTFL": "Y",
            "RANDDT": start,
            "TRTDURD": rng.integers(1, 300, n),
            "DTHFL": np.where(np.arange(n) % 2, "Y", ""),
            "EOSSTT": "COMPLETED",
        }
    )
    return pd.concat(rows, ignore_index=True), adsl, death, progression, cut


@pytest.fixture(scope="module")
def study():
    return made_up()


def test_every_parameter_is_an_endpoint_in_one_unit(study):
    adtte, adsl, death, progression, cut = study
    X, y, reasons = hm.read_adtte(adtte, adsl, unit="months", terminal=())
    known = parse_endpoints(y)
    assert (known.names, known.unit) == (("OS", "PFS"), "months")
    first = np.minimum(progression, death)
    np.testing.assert_allclose(known.lower[:, 0], np.minimum(death, cut) / (365.25 / 12))
    np.testing.assert_allclose(known.lower[:, 1], np.minimum(first, cut) / (365.25 / 12))
    np.testing.assert_array_equal(known.event, np.column_stack([death <= cut, first <= cut]))
    assert reasons["OS"].value_counts()["LOST TO FOLLOW-UP"] == ((cut < 700) & (death > cut)).sum()
    assert X.index.equals(y.index)
    assert X.index.equals(reasons.index)


def test_covariates_are_joined_by_subject_and_only_what_is_known_beforehand_is_one(study):
    adtte, adsl, *_ = study
    X = hm.read_adtte(adtte, adsl, terminal=()).X
    assert list(X.columns) == ["AGE", "SEX", "AGEGR1", "TRT01P"]
    ages = adsl.set_index("USUBJID")["AGE"]
    assert X["AGE"].tolist() == ages[X.index].tolist()
    assert list(hm.read_adtte(adtte, adsl, covariates=["age", "DTHFL"], terminal=()).X.columns) == ["AGE", "DTHFL"]
    assert list(hm.read_adtte(adtte, terminal=()).X.columns) == ["TRTP"], "without ADSL, what ADTTE has"


def test_dates_stand_in_for_times(study):
    adtte, adsl, *_ = study
    with_times = hm.read_adtte(adtte, adsl, unit="days", terminal=()).y
    sas = (adtte[["STARTDT", "ADT"]] - pd.Timestamp("1960-01-01")).apply(lambda days: days.dt.days)
    text = adtte[["STARTDT", "ADT"]].apply(lambda days: days.dt.strftime("%d%b%Y"))
    compact = adtte[["STARTDT", "ADT"]].apply(lambda days: days.dt.strftime("%Y%m%d").astype(int))
    for dates in ({}, sas.to_dict("series"), text.to_dict("series"), compact.to_dict("series")):
        without = hm.read_adtte(adtte.drop(columns=["AVAL", "AVALU"]).assign(**dates), adsl, terminal=()).y
        np.testing.assert_allclose(parse_endpoints(without).lower, parse_endpoints(with_times).lower)
    some = adtte.assign(AVAL=adtte["AVAL"].where(adtte.index % 2 == 0))
    np.testing.assert_allclose(parse_endpoints(hm.read_adtte(some, unit="days", terminal=()).y).lower, parse_endpoints(with_times).lower)


def test_files_of_sas_are_read(study, tmp_path):
    adtte, adsl, *_ = study
    for name, frame in (("adtte", adtte), ("adsl", adsl)):
        pyreadstat.write_xport(frame, str(tmp_path / f"{name}.xpt"), file_format_version=5)
    X, y, reasons = hm.read_adtte(tmp_path / "adtte.xpt", str(tmp_path / "adsl.xpt"), terminal=())
    expected = hm.read_adtte(adtte, adsl, terminal=())
    np.testing.assert_allclose(parse_endpoints(y).lower, parse_endpoints(expected.y).lower)
    pd.testing.assert_frame_equal(reasons, expected.reasons)
    pd.testing.assert_frame_equal(X, expected.X, check_dtype=False)


def test_composites_are_taken_apart_and_parameters_renamed(study):
    adtte, adsl, death, progression, cut = study
    names = {"PFS": "progression", "OS": "death"}
    y = hm.read_adtte(adtte, adsl, parameters=names, unit="days", terminal="death", including={"progression": "death"}).y
    known = parse_endpoints(y)
    assert known.names == ("progression", "death")
    assert known.terminal == ("death",)
    np.testing.assert_array_equal(known.event[:, 0], (progression < death) & (progression <= cut))
    model = hm.SurvivalHarmonium(1, trainer=hm.Exact(n_starts=1, max_iter=3)).fit(hm.read_adtte(adtte, adsl, terminal=()).X, y)
    assert model.fitted_.encoding.unit == "days"


def test_composites_are_named_by_parameter_or_by_name(study):
    adtte, *_ = study
    names = {"PFS": "progression", "OS": "death"}
    expected, *others = (
        hm.read_adtte(adtte, parameters=names, terminal="death", including=including).y
        for including in ({"progression": "death"}, {"PFS": "OS"}, {"PFS": "death"})
    )
    for found in others:
        pd.testing.assert_frame_equal(found, expected)
    for wrong in ({"PSF": "OS"}, {"PFS": "SO"}):
        with pytest.raises(
            TableError, match=r"including names '(PSF|SO)', which is neither a PARAMCD nor the name of an endpoint .*'death'"
        ):
            hm.read_adtte(adtte, parameters=names, terminal="death", including=wrong)


def test_two_parameters_have_two_names(study):
    with pytest.raises(TableError, match="PARAMCD 'PFS' and 'OS' have the same name, 'x'; give each a name of its own"):
        hm.read_adtte(study[0], parameters={"PFS": "x", "OS": "x"})


def test_what_tells_of_the_outcome_is_no_covariate(study):
    adtte = study[0][study[0]["PARAMCD"] == "OS"]
    outcome = ["AVALCAT1", "AVALCA1N", "CRIT1", "CRIT1FL", "DTYPE", "PARCAT1", "PARCAT2", "PARAMTYP", "EVNTDESC", "CNSRREAS", "ANL01FL"]
    known = adtte.assign(**dict.fromkeys(outcome, "Y"), CNSMETS="N")
    assert list(hm.read_adtte(known, terminal=()).X) == ["TRTP", "CNSMETS"]


def test_a_subject_is_once_in_adsl(study):
    adtte, adsl, *_ = study
    twice = pd.concat([adsl, adsl[:1].assign(AGE=99)])
    with pytest.raises(TableError, match="one row for each subject in ADSL; found 'ST-059' again in row 60"):
        hm.read_adtte(adtte, twice)


def test_blank_descriptions_are_none(study):
    adtte, *_ = study
    events = adtte[(adtte["CNSR"] == 0) & (adtte["PARAMCD"] == "OS")]
    blank = hm.read_adtte(events.assign(EVNTDESC=" ", CNSDTDSC=""), terminal=())
    assert set(blank.reasons["OS"]) == {"event"}


def test_leaving_a_study_may_be_an_event(study):
    adtte, *_ = study
    left = adtte[adtte["PARAMCD"] == "OS"].assign(EVNTDESC=lambda own: np.where(own["CNSR"] == 0, "WITHDRAWAL BY SUBJECT", "IN STUDY"))
    with pytest.warns(EndpointWarning, match="CNSR seems to be inverted.*EVNTDESC says 'WITHDRAWAL BY SUBJECT'"):
        y = hm.read_adtte(left, terminal=()).y
    np.testing.assert_array_equal(parse_endpoints(y).event[:, 0], left["CNSR"] == 0)


def test_a_unit_may_stand_in_the_name_of_the_parameter(study):
    adtte, *_ = study
    own = adtte[adtte["PARAMCD"] == "PFS"].drop(columns="AVALU").assign(PARAM="Progression-Free Survival (Months)")
    assert parse_endpoints(hm.read_adtte(own).y).unit == "months"


def test_a_parameter_that_a_subject_lacks_is_unknown(study):
    adtte, *_ = study
    known = parse_endpoints(hm.read_adtte(adtte.drop(index=0), terminal=()).y)
    assert known.unknown.sum() == 1
    codes = adtte.drop(columns="EVNTDESC")
    assert set(hm.read_adtte(codes, terminal=()).reasons["OS"]) == {"event", "censored (1)", "censored (2)"}


# --- what is wrong ---


def test_an_inverted_status_is_caught(study):
    adtte, *_ = study
    upside_down = adtte.assign(CNSR=(adtte["CNSR"] == 0).astype(int))
    with pytest.raises(TableError, match=r"CNSR seems to be inverted.*EVNTDESC says 'ALIVE AT CUT-OFF'.*1 - adtte\['CNSR'\]") as error:
        hm.read_adtte(upside_down)
    assert len(error.value.problems) == 2, "one for each parameter"
    dates = np.where(adtte["CNSR"] > 0, "LAST CONTACT DATE", None)
    with pytest.raises(TableError, match="CNSDTDSC says 'LAST CONTACT DATE'"):
        hm.read_adtte(upside_down.drop(columns="EVNTDESC").assign(CNSDTDSC=dates))
    with pytest.warns(EndpointWarning, match="early times are mostly censored and late ones mostly events"):
        hm.read_adtte(upside_down.drop(columns="EVNTDESC"), parameters=["OS"])
    with pytest.warns(EndpointWarning, match="column 'CNSR' is used as an event, and its name says that 1 means censored"):
        hm.endpoints(adtte[adtte["PARAMCD"] == "OS"].assign(CNSR=lambda own: own["CNSR"].clip(upper=1)), os=("AVAL", "CNSR"))


BAD = {
    "no subject": (lambda t: t.drop(columns="USUBJID"), "column 'USUBJID' is missing"),
    "no status": (lambda t: t.drop(columns="CNSR"), "column 'CNSR' is missing"),
    "a row twice": (lambda t: pd.concat([t, t[:1]]), "found subject 'ST-000' and 'OS' again in row 120"),
    "a status of text": (lambda t: t.assign(CNSR="Y"), "column 'CNSR' must hold 0 for an event"),
    "a negative status": (lambda t: t.assign(CNSR=-1), "found -1 for subject 'ST-000'"),
    "a status that is missing": (lambda t: t.assign(CNSR=np.nan), "found nan for subject 'ST-000'"),
    "no time": (lambda t: t.drop(columns=["AVAL", "ADT"]), "ADTTE must have AVAL, or STARTDT and ADT"),
    "two units": (
        lambda t: t.assign(AVALU=np.where(t.index % 2, "DAYS", "MONTHS")),
        "AVALU must be the same in all rows; found days, months",
    ),
    "a unit that is lacking": (
        lambda t: t.assign(AVALU=None, AVAL=t["AVAL"].where(t.index % 2 == 0)),
        "AVAL is missing in some rows, and AVALU does not say",
    ),
    "a negative time": (lambda t: t.assign(AVAL=-1.0), "PARAMCD 'PFS': AVAL must not hold negative times; found -1 for subject 'ST-000'"),
    "an end before the start": (
        lambda t: t.assign(AVAL=np.nan, ADT=t["STARTDT"] - pd.Timedelta(days=9)),
        "AVAL, from STARTDT to ADT, must not hold negative times; found -8 for subject 'ST-000'",
    ),
    "a unit that is no unit of time": (
        lambda t: t.assign(AVALU="CYCLES", AVAL=t["AVAL"].where(t.index % 60 != 3)),
        "PARAMCD 'OS': AVAL is missing for subject 'ST-003', and cannot be taken from dates, since its unit is 'CYCLES'",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_datasets_are_refused(study, case):
    change, message = BAD[case]
    with pytest.raises(TableError) as error:
        hm.read_adtte(change(study[0]))
    assert message in str(error.value)


def test_subjects_and_parameters_that_are_not_there_are_named(study):
    adtte, adsl, *_ = study
    with pytest.raises(TableError, match=r"there is no PARAMCD 'DOR'; there are 'OS', 'PFS'"):
        hm.read_adtte(adtte, parameters=["OS", "DOR"])
    with pytest.raises(TableError, match="2 subjects of ADTTE are not in ADSL, the first of them 'ST-05"):
        hm.read_adtte(adtte, adsl[2:])
    with pytest.raises(TableError, match="column 'EGE' is missing; did you mean 'AGE'"):
        hm.read_adtte(adtte, adsl, covariates=["EGE"])
