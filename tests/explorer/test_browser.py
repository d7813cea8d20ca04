"""The page in a real browser, headless, with its network watched."""

import os
import shutil

import numpy as np
import pandas as pd
import pytest

import harmonium as hm
from harmonium.explorer.app import make_app
from harmonium.explorer.schema import number

from .conftest import QUOTES, SCRIPT
from .test_downloads import FORMULAS, HARMLESS

CHROMIUM = os.environ.get("CHROMIUM", "/usr/bin/chromium")
if not shutil.which(CHROMIUM):
    pytest.skip(f"BROWSER TESTS DID NOT RUN: there is no {CHROMIUM}; install chromium, or set CHROMIUM", allow_module_level=True)
sync_api = pytest.importorskip("playwright.sync_api", reason="BROWSER TESTS DID NOT RUN: pip install playwright")

ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]

pytestmark = pytest.mark.slow

_PATIENCE = 120_000  # milliseconds; bounds a hang, and says nothing about speed


@pytest.fixture(scope="module")
def browser():
    with sync_api.sync_playwright() as playwright:
        sync_api.expect.set_options(timeout=_PATIENCE)
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=[*ARGUMENTS, "--no-first-run"], timeout=_PATIENCE)
        yield browser
        browser.close()


@pytest.fixture
def visit(browser):
    """Open a page; in the end it has asked nobody else for anything, and has not complained."""
    pages = []

    def go(address, width=1280):
        page = browser.new_page(viewport={"width": width, "height": 900}, accept_downloads=True)
        page.set_default_timeout(_PATIENCE)
        requests, complaints = [], []
        page.on("request", lambda request: requests.append(request.url))
        page.on("console", lambda line: complaints.append(line.text) if line.type in ("error", "warning") else None)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("dialog", lambda dialog: (complaints.append(f"dialog: {dialog.message}"), dialog.dismiss()))
        pages.append((page, address.partition("#")[0], requests, complaints))
        page.goto(address)
        page.wait_for_selector("#patient-figure .legend")
        return page

    yield go
    for page, address, requests, complaints in pages:
        page.close()
        assert len(requests) > 5
        assert [url for url in requests if not url.startswith((address, "blob:", "data:"))] == []
        assert complaints == []


@pytest.fixture(scope="module")
def address(app, serve):
    return serve(app)


def open_tab(page, name):
    page.get_by_role("navigation").get_by_role("button", name=name).click()


def test_a_recurrence_changes_the_median_as_the_library_says(visit, address, model):
    page = visit(address)
    page.get_by_label("age", exact=True).fill("70")
    page.get_by_label("stage", exact=True).select_option("IIIb")
    X, _ = hm.datasets.load_nvalt8()
    one = pd.DataFrame({name: [None] for name in X.columns}).assign(age=70.0, stage="IIIb")
    before = number(model.predict_median(one, endpoint="os")[0])
    medians = page.locator("#medians tbody tr").nth(0).locator("td").nth(1)
    sync_api.expect(medians).to_have_text(before)
    page.get_by_label("rfs", exact=True).select_option("event at")
    page.get_by_label("time of rfs").fill("8")
    known = pd.DataFrame({("os", "lower"): [0.0], ("os", "upper"): [np.inf], ("rfs", "lower"): [8.0], ("rfs", "upper"): [8.0]})
    after = number(model.predict_median(one, endpoint="os", given=known)[0])
    sync_api.expect(medians).to_have_text(after)
    sync_api.expect(page.locator("#change")).to_have_text(f"rfs event at 8 months: median os {before} → {after} months")
    page.get_by_label("age", exact=True).fill("seventy")
    sync_api.expect(page.locator("#patient-message")).to_have_text("age must be a number; found 'seventy'")
    for place in ("#patient-figure", "#medians", "#change"):  # those of another patient
        sync_api.expect(page.locator(place)).to_be_hidden()
    page.get_by_role("button", name="Everything unknown").click()
    sync_api.expect(page.locator("#patient-message")).to_have_text("")
    sync_api.expect(page.locator("#patient-figure")).to_be_visible()
    sync_api.expect(page.locator("#change")).to_contain_text("everything unknown")
    assert page.get_by_label("stage", exact=True).input_value() == ""


def test_scenarios_are_compared_and_taken_home(visit, address, model, tmp_path):
    page = visit(address)
    page.get_by_role("button", name="Copy to A").click()
    page.get_by_label("time of rfs").wait_for()
    page.get_by_label("rfs", exact=True).select_option("event at")
    page.get_by_label("time of rfs").fill("8")
    page.get_by_role("button", name="Copy to B").click()
    open_tab(page, "Compare")
    page.get_by_label("Label of B").fill("relapsed <i>")
    rows = page.locator("#compare-table tbody tr")
    sync_api.expect(rows.nth(1)).to_contain_text("relapsed <i>")
    X, _ = hm.datasets.load_nvalt8()
    nobody = pd.DataFrame({name: [None] for name in X.columns})
    known = pd.DataFrame({("os", "lower"): [0.0], ("os", "upper"): [np.inf], ("rfs", "lower"): [8.0], ("rfs", "upper"): [8.0]})
    expected = model.predict_median(nobody, endpoint="os", given=known)[0]
    sync_api.expect(rows.nth(1).locator("td").nth(1)).to_have_text(number(expected))
    sync_api.expect(page.locator("#compare-figure .legend")).to_contain_text("relapsed <i>")
    with page.expect_download() as csv:
        page.get_by_role("button", name="Download numbers").click()
    csv.value.save_as(tmp_path / "scenarios.csv")
    numbers = pd.read_csv(tmp_path / "scenarios.csv")
    assert list(numbers["scenario"].unique()) == ["Scenario A", "relapsed <i>"]
    assert numbers.loc[(numbers["scenario"] == "relapsed <i>") & (numbers["endpoint"] == "os"), "median"].iloc[0] == pytest.approx(expected)
    with page.expect_download() as svg:
        page.get_by_role("button", name="Download figure").click()
    svg.value.save_as(tmp_path / "scenarios.svg")
    assert "<svg" in (tmp_path / "scenarios.svg").read_text(encoding="utf-8")
    page.get_by_role("button", name="Remove A").click()
    sync_api.expect(rows).to_have_count(2)


def test_two_endpoints_together(visit, address):
    page = visit(address, width=420)
    open_tab(page, "Together")
    page.wait_for_selector("#together-figure .heatmaplayer image")
    page.get_by_label("What", exact=True).select_option("survival")
    sync_api.expect(page.locator("#together-figure .cbtitle")).to_have_text("survival")
    assert page.evaluate("document.documentElement.scrollWidth") <= 420
    open_tab(page, "Patient")
    page.get_by_label("rfs", exact=True).select_option("event at")
    page.get_by_label("time of rfs").fill("8")
    open_tab(page, "Together")
    sync_api.expect(page.locator("#together-figure .cbtitle")).to_have_text("survival")
    page.get_by_label("What", exact=True).select_option("density")
    sync_api.expect(page.locator("#together-known")).to_contain_text("The event of rfs is known, so there is no density")
    sync_api.expect(page.locator("#together-figure .cbtitle")).to_have_text("survival")
    open_tab(page, "Model")
    sync_api.expect(page.get_by_text("Kendall's tau")).to_be_visible()
    row = page.get_by_role("region", name="Covariates").get_by_role("row").filter(has_text="bmi")
    sync_api.expect(row.get_by_role("cell").last).to_have_text("2.5%")
    metrics = page.get_by_role("region", name="Predictions, by 5-fold cross-validation").get_by_role("row")
    sync_api.expect(metrics.nth(1)).to_contain_text("0.613")
    assert page.evaluate("document.documentElement.scrollWidth") <= 420


def test_a_cohort_is_answered_sorted_filtered_and_taken_home(visit, address, model, tmp_path):
    X, _ = hm.datasets.load_nvalt8()
    X = X.iloc[:120].copy()
    X.loc[3, ["age", "stage"]] = None
    X.to_csv(tmp_path / "missing.csv", index_label="patient")
    X.rename(columns={"age": "agee"}).to_csv(tmp_path / "typo.csv", index=False)
    page = visit(address)
    open_tab(page, "Cohort")
    page.set_input_files("#drop input[type=file]", tmp_path / "typo.csv")
    sync_api.expect(page.locator("#cohort-message")).to_have_text("typo.csv: column 'age' is missing; did you mean 'agee'?")
    page.set_input_files("#drop input[type=file]", tmp_path / "missing.csv")
    sync_api.expect(page.locator("#cohort-count")).to_have_text("Rows 1 to 50 of 120")
    sync_api.expect(page.locator("#cohort-message")).to_have_text("")
    page.get_by_role("button", name="os_median").click()
    medians = model.predict_median(X, endpoint="os")
    first = page.locator("#cohort-view tbody tr").first
    sync_api.expect(first.locator("td").nth(1)).to_have_text(str(int(np.argmin(medians))))
    page.get_by_label("Filter in").select_option("os_median")
    page.get_by_label("Filter", exact=True).fill("< 60")
    sync_api.expect(page.locator("#cohort-count")).to_contain_text(f"of {(medians < 60).sum()} that pass the filter, of 120")
    with page.expect_download() as csv:
        page.get_by_role("button", name="Download table").click()
    csv.value.save_as(tmp_path / "predictions.csv")
    np.testing.assert_allclose(pd.read_csv(tmp_path / "predictions.csv")["os_median"], np.sort(medians[medians < 60]), rtol=1e-9)
    (tmp_path / "large.csv").write_bytes(b"x" * (50 * 2**20))
    page.set_input_files("#drop input[type=file]", tmp_path / "large.csv")
    sync_api.expect(page.locator("#cohort-size")).to_contain_text("large.csv is too large: at most 20 MB")


def test_a_row_of_a_cohort_opens_as_a_patient(visit, address, model, tmp_path):
    X, _ = hm.datasets.load_nvalt8()
    X.iloc[:5].to_csv(tmp_path / "five.csv", index_label="patient")
    page = visit(address)
    page.get_by_label("rfs", exact=True).select_option("event at")
    page.get_by_label("time of rfs").fill("8")
    open_tab(page, "Cohort")
    page.set_input_files("#drop input[type=file]", tmp_path / "five.csv")
    page.locator("#cohort-view tbody tr").nth(2).click()
    medians = page.locator("#medians tbody tr").nth(0).locator("td").nth(1)
    sync_api.expect(medians).to_have_text(number(model.predict_median(X.iloc[[2]], endpoint="os")[0]))
    assert page.get_by_label("stage", exact=True).locator("option:checked").inner_text() == X["stage"].iloc[2]
    assert page.get_by_label("time of rfs").input_value() == ""


def test_follow_up_of_a_cohort_is_used_and_opens_with_the_row(visit, address, model, tmp_path):
    X, _ = hm.datasets.load_nvalt8()
    X.iloc[:5].assign(months=8.0, back=1).to_csv(tmp_path / "five.csv", index_label="patient")
    page = visit(address)
    open_tab(page, "Cohort")
    page.set_input_files("#drop input[type=file]", tmp_path / "five.csv")
    sync_api.expect(page.locator("#cohort-count")).to_have_text("Rows 1 to 5 of 5")
    row = page.locator("#cohort-view tbody tr").nth(2)
    without = row.text_content()
    page.locator("#cohort-given").fill("rfs=months,back")
    page.locator("#cohort-given").press("Enter")
    sync_api.expect(row).not_to_have_text(without)
    row.click()
    sync_api.expect(page.get_by_label("time of rfs")).to_have_value("8")
    medians = page.locator("#medians tbody tr")
    sync_api.expect(medians.nth(1).locator("td").nth(1)).to_have_text("event at 8")
    given = hm.endpoints(pd.DataFrame({"months": [8.0], "back": [1]}), rfs=("months", "back"))
    with hm.errors.silenced(hm.errors.UnknownEndpointWarning):
        median = model.prognosis(X.iloc[[2]], given=given).median("os")[0]
    sync_api.expect(medians.nth(0).locator("td").nth(1)).to_have_text(number(median))


@pytest.fixture(scope="module")
def ordered_address(ordered_model, serve):
    return serve(make_app(ordered_model, unit="months", title="ordered"))


def describe_relapsed(page):
    page.get_by_label("age", exact=True).fill("70")
    page.get_by_label("stage", exact=True).select_option("IIIb")
    page.get_by_label("recurrence", exact=True).select_option("event at")
    page.get_by_label("time of recurrence").fill("8")
    sync_api.expect(page.locator("#change")).to_contain_text("recurrence event at 8 months")


def test_ordered_endpoints_have_states(visit, ordered_address):
    page = visit(ordered_address, width=420)
    describe_relapsed(page)
    sync_api.expect(page.locator("#patient-figure .scatterlayer .js-fill")).to_have_count(2)  # bands, which come later
    open_tab(page, "States")
    sync_api.expect(page.locator("#states-known")).to_have_text("Given: age 70; stage IIIb; recurrence event at 8 months.")
    page.wait_for_selector("#states-figure .scatterlayer .js-fill")
    sync_api.expect(page.locator("#states-table tbody tr")).to_have_count(4)
    sync_api.expect(page.locator("#states-table tbody tr").nth(2).locator("td").nth(1)).to_have_text("0.00")
    assert page.evaluate("document.documentElement.scrollWidth") <= 420
    open_tab(page, "Patient")
    page.get_by_label("death", exact=True).select_option("event at")
    page.get_by_label("time of death").fill("6")
    sync_api.expect(page.locator("#patient-message")).to_contain_text("an event of recurrence at 8 cannot be: death was at 6")
    open_tab(page, "Model")
    sync_api.expect(page.get_by_role("region", name="Endpoints")).to_be_visible()
    assert not page.get_by_text("Kendall's tau").count()


def test_a_link_opens_the_same_patient_in_another_browser(visit, ordered_address):
    page = visit(ordered_address)
    describe_relapsed(page)
    sync_api.expect(page).to_have_url(f"{ordered_address}#x.age=70&x.stage=IIIb&y.recurrence=event+8")
    other = visit(page.url)
    sync_api.expect(other.locator("#medians")).to_have_text(page.locator("#medians").inner_text(), use_inner_text=True)
    assert other.get_by_label("stage", exact=True).locator("option:checked").inner_text() == "IIIb"
    assert other.get_by_label("time of recurrence").input_value() == "8"
    other.get_by_role("button", name="Everything unknown").click()
    sync_api.expect(other).to_have_url(ordered_address)


def test_a_patient_is_explained(visit, ordered_address):
    page = visit(ordered_address)
    page.get_by_role("button", name="Explain").click()
    sync_api.expect(page.locator("#why-words")).to_have_text("No covariate is known, so there is nothing to explain.")
    describe_relapsed(page)
    page.locator("#why-endpoint").select_option("death")
    page.get_by_role("button", name="Explain").click()
    sync_api.expect(page.locator("#why-words")).to_contain_text("Probability of a death event until")
    page.wait_for_selector("#why-figure .barlayer")


def test_a_link_with_names_that_the_model_does_not_know_says_so(visit, ordered_address):
    page = visit(f"{ordered_address}#x.age=70&x.colour=red&x.stage=IX")
    sync_api.expect(page.locator("#linked")).to_have_text("The link says what this model does not know: colour red; stage IX")
    sync_api.expect(page.get_by_label("age", exact=True)).to_have_value("70")


def test_a_patient_is_printed_on_one_page(visit, ordered_address):
    page = visit(ordered_address)
    describe_relapsed(page)
    pages = page.pdf(format="A4").count(b"/Type /Page\n")
    assert pages == 1
    page.emulate_media(media="print")
    sync_api.expect(page.locator("#patient-known")).to_be_visible()
    sync_api.expect(page.locator("#patient-known")).to_have_text("Known: age 70; stage IIIb; recurrence event at 8 months.")
    sync_api.expect(page.get_by_role("navigation")).not_to_be_visible()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious_in_any_tab(visit, ordered_address, scheme):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    page = visit(ordered_address)
    page.emulate_media(color_scheme=scheme)
    for tab in ("Patient", "Compare", "States", "Cohort", "Model"):
        open_tab(page, tab)
        found = axe.run(page).response["violations"]
        serious = [(own["id"], [node["html"] for node in own["nodes"]]) for own in found if own["impact"] in ("serious", "critical")]
        assert serious == [], tab


def test_a_download_holds_no_formulas(visit, address, tmp_path):
    X, _ = hm.datasets.load_nvalt8()
    texts = [text for text in (*FORMULAS, *HARMLESS) if text.isprintable()]
    X.iloc[: len(texts)].set_axis(texts).to_csv(tmp_path / "formulas.csv", index_label="=patient")
    page = visit(address)
    open_tab(page, "Cohort")
    page.set_input_files("#drop input[type=file]", tmp_path / "formulas.csv")
    sync_api.expect(page.locator("#cohort-view tbody tr").first.locator("td").nth(1)).to_have_text("=1+1")
    with page.expect_download() as csv:
        page.get_by_role("button", name="Download table").click()
    csv.value.save_as(tmp_path / "predictions.csv")
    found = pd.read_csv(tmp_path / "predictions.csv", dtype={"'=patient": str})
    assert found["'=patient"].tolist() == [f"'{text}" if text in FORMULAS else text for text in texts]
    assert (found["os_risk"] < 0.0).all()


def test_odd_names_are_shown_as_they_are(visit, serve, odd_model):
    page = visit(serve(make_app(odd_model, title=SCRIPT)))
    page.get_by_label(SCRIPT, exact=True).fill("0.5")
    page.get_by_label(QUOTES, exact=True).select_option(SCRIPT)
    sync_api.expect(page.locator("#change")).to_contain_text(f"{QUOTES} {SCRIPT}: median <img src=x onerror=alert(2)>")
    sync_api.expect(page.locator("#patient-figure .legend")).to_contain_text("<img src=x onerror=alert(2)>")
    sync_api.expect(page.locator("h1")).to_have_text(SCRIPT)
    open_tab(page, "Model")
    sync_api.expect(page.get_by_text("was not measured when it was made")).to_be_visible()
    sync_api.expect(page.get_by_role("cell", name=SCRIPT, exact=True).first).to_be_visible()
    sync_api.expect(page.locator("#fields-figure")).to_contain_text("<script>")
    assert page.evaluate("document.querySelectorAll('img, script[src=x]').length") == 0


def test_every_control_has_a_label_and_is_reached_by_keyboard(visit, address):
    page = visit(address)
    unnamed = page.evaluate(
        "[...document.querySelectorAll('input:not([type=file]), select')].filter((control) => !control.labels.length).map((c) => c.id)"
    )
    assert unnamed == []
    reached = []
    for _ in range(9):
        page.keyboard.press("Tab")
        reached.append(page.evaluate("document.activeElement.id"))
    assert [name for name in reached if '"tab"' in name] == reached[:5]
    assert reached[5:7] == ['{"index":0,"type":"state"}', '{"index":1,"type":"state"}']
    page.get_by_role("button", name="Compare", exact=True).focus()
    page.keyboard.press("Enter")
    sync_api.expect(page.get_by_role("heading", name="Scenarios side by side")).to_be_visible()
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
