"""The HTML page in Chromium: used with mouse and keyboard, accessible, and obeying nothing that a record says."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from conformance.report.html import html_page
from conformance.report.html_tables import SuiteStrength, UntestedRequirement
from conformance.report.record import Record
from conformance.tests.browser import Opened, opened
from conformance.tests.runs import BATCH, EXCUSE, MAP, ORDER, check, failed, lost, passed, record
from conformance.trial.check import Diagnosis, Difference, Kind, Result, Verdict
from conformance.trial.mutants.floor import PassRate

PHONE = {"viewport": {"width": 390, "height": 844}}
LEVELS = {"asked": "posix", "reached": "kill", "sampled": True}
OBSERVED = {
    "seconds": 1.5,
    "calls": 40,
    "durations": {f"{MAP}::tail-blocks::pass-1": 0.25, f"{BATCH}::tail-blocks::one": 1.0},
    "crash_states": {f"{MAP}%two-files": {"kill": {"total": 9, "tried": 9, "bad": 0}}},
    "stderr": {f"{MAP}::tail-blocks::boom": "Traceback\nboom"},
}
PROOF = SuiteStrength(
    kills={"frozen vectors": PassRate(9, 10)},
    floor={"echo": PassRate(0, 40)},
    limit=0.05,
    single_clauses=("ensures:Halve_v1#half",),
    single_mutants=1,
    reference_only=(UntestedRequirement("C52", "Traces stay the same.", "No operator is a kernel."),),
    excluded=(UntestedRequirement("Q1", "It is fast.", "Nothing measures it."),),
)
HOSTILE = [
    "<script>window.hit = 1</script>",
    '"><img src=x onerror="window.hit = 1">',
    "</script><script>window.hit = 1</script>",
    "<!--<script>",
    "</script x",
    "{{ 7 * 7 }} {% raw %}",
    "\x1b[31m\x07\x00",
    "\u202egnp.exe\u2066",
    "\u2028\ud800",
]


def good(text: str = "javascript") -> Record:
    return record(*(passed(BATCH, f"case-{k}") for k in range(3)), passed(MAP, "boom"), backend=text)


def bad() -> Record:
    sequence = {"result": {"batch_sample_indices": [str(k) for k in range(40)]}}
    wrong = failed(BATCH, "one", 33)
    assert wrong.call is not None
    wrong = failed(BATCH, "one", 33, call=type(wrong.call)(BATCH, wrong.call.inputs, sequence))
    return record(
        wrong,
        failed(BATCH, "two", 34),
        failed(ORDER, "excused"),
        lost(MAP, "boom"),
        *(passed(MAP, f"pass-{k}") for k in range(120)),
        passed(MAP, "bijection", Kind.LAW),
        Result(check(ORDER, "absent"), Verdict.NOT_APPLICABLE),
        crash={f"{MAP}%two-files": LEVELS},
        diagnosis=Diagnosis(True, False, ("tail-permuted",), "permutes the tail", ("N12",)),
        expected_failures=(EXCUSE,),
    )


def shown(started: Any, folder: Path, *records: Record, **view: Any) -> Opened:
    file = folder / "report.html"
    observed = [OBSERVED, *[None] * (len(records) - 1)]
    file.write_text(html_page(records, observed, PROOF), "utf-8")
    return opened(started, file, **view)


def violations(found: Opened) -> list[str]:
    from axe_playwright_python.sync_playwright import Axe

    response = Axe().run(found.page).response
    assert len(response["passes"]) > 20
    return [f"{one['id']}: {one['nodes'][0]['html']}" for one in response["violations"]]


@pytest.mark.parametrize(
    ("view", "others"),
    [
        pytest.param({}, [], id="light"),
        pytest.param({**PHONE, "color_scheme": "dark"}, [], id="phone, dark"),
        pytest.param({"color_scheme": "dark"}, ["javascript", "node acme.js " * 9], id="three, dark"),
        pytest.param(PHONE, ["javascript"], id="two, phone"),
    ],
)
def test_the_page_is_accessible_complains_of_nothing_and_fits(
    started: Any, tmp_path: Path, view: dict[str, Any], others: list[str]
) -> None:
    found = shown(started, tmp_path, bad(), *map(good, others), **view)
    found.page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
    assert violations(found) == []
    assert found.complaints == []
    assert found.asked == [(tmp_path / "report.html").as_uri()]
    assert found.overflow <= 0
    colour = found.page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (colour == "rgb(23, 22, 20)") is ("color_scheme" in view)


def test_the_list_is_filtered_by_text_by_verdict_and_by_a_cell_of_the_matrix(started: Any, tmp_path: Path) -> None:
    found = shown(started, tmp_path, bad())
    page, rows = found.page, found.page.locator("#rows tr")
    assert found.count == "126 of 126 checks"
    assert rows.count() == 50
    page.click("#more")
    assert rows.count() == 100
    page.fill("#query", "pass-11 N12")
    assert found.count == "11 of 126 checks"
    page.fill("#query", "no such check")
    assert found.count == "0 of 126 checks"
    page.fill("#query", "")
    page.select_option("#verdict", "e")
    assert rows.locator(".id").all_inner_texts() == [f"{MAP}::tail-blocks::boom"]
    page.click(f".matrix tr:has-text('{BATCH}') a.score")
    assert found.count == "2 of 126 checks"
    assert page.input_value("#verdict") == "fe"
    assert found.complaints == []


def test_a_backend_of_several_is_filtered_by_its_own_verdicts(started: Any, tmp_path: Path) -> None:
    found = shown(started, tmp_path, bad(), good())
    found.page.select_option("#verdict", "e")
    assert found.count == "1 of 129 checks"
    found.page.select_option("#backend", label="javascript")
    assert found.count == "0 of 129 checks"
    found.page.select_option("#verdict", "p")
    assert found.count == "4 of 129 checks"


def test_a_failure_opens_with_the_keyboard_and_from_the_list(started: Any, tmp_path: Path) -> None:
    found = shown(started, tmp_path, bad())
    page = found.page
    first, second = page.locator("#failure-1-1"), page.locator("#failure-1-2")
    first.locator("> summary").focus()
    page.keyboard.press("Enter")
    assert first.get_attribute("open") == ""
    for fact in ("batch_sample_indices[33]", "A short final block has its own modulus.", "N12 (§ 5,6.8)", "NA18",
                 "The first 33 of 40 elements agree.", "tally run --backend 'node acme.js' -k"):
        assert fact in first.inner_text()
    assert first.locator(".near .here").all_inner_texts() == ["33", "33"]
    assert first.locator(".near .right").inner_text() == "243"
    page.keyboard.press("/")
    page.keyboard.type("boom")
    page.keyboard.press("Tab")
    page.locator("#rows a").focus()
    page.keyboard.press("Enter")
    page.locator("#failure-1-2[open]").wait_for()  # the page hears of its new address later
    assert "Traceback\nboom" in second.inner_text()
    assert page.evaluate("document.activeElement.closest('details').id") == "failure-1-2"
    assert found.complaints == []


def test_without_javascript_everything_but_the_list_is_there(started: Any, tmp_path: Path) -> None:
    found = shown(started, tmp_path, bad(), java_script_enabled=False)
    found.page.locator("#failure-1-1 > summary").click()
    assert "batch_sample_indices[33]" in found.page.locator("#failure-1-1").inner_text()
    assert found.page.locator("noscript p").is_visible()
    assert not found.page.locator("#filter").is_visible()


def hostile(text: str) -> Iterator[Result]:
    yield failed(BATCH, text, difference=Difference(text, text, f"{text}!"), message=text, broken=(text,))
    lines = [f"OPERATOR {text}", "- {step: one}"]
    yield failed(MAP, f"{text}-2", details={"trace": lines, "guards": {}}, step=text)


def test_what_a_backend_says_is_shown_and_not_obeyed(started: Any, tmp_path: Path) -> None:
    whole = "".join(HOSTILE)
    results = [result for text in HOSTILE for result in hostile(text)]
    judged = record(*results, backend=whole, unattributed=HOSTILE, expected_failures=(EXCUSE,), selection=whole)
    found = shown(started, tmp_path, judged, record(*results, backend=HOSTILE[0]))
    assert found.complaints == []
    found.page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
    assert found.page.evaluate("window.hit") is None
    assert found.page.locator("img").count() == 0
    assert found.page.locator("script").count() == 2
    said = found.page.locator("body").inner_text()
    assert not {"\x1b", "\x07", "\x00", "\u202e", "\u2066", "\u2028", "\ud800"} & {*said}
    for text in HOSTILE:
        assert (text if text.isprintable() else text.encode("unicode_escape").decode()) in said
    assert found.count == "18 of 18 checks"


def test_the_policy_lets_no_other_script_or_style_act(started: Any, tmp_path: Path) -> None:
    found = shown(started, tmp_path, bad())
    found.page.evaluate("""() => {
        const script = document.createElement("script");
        script.textContent = "window.hit = 1";
        document.body.append(script);
        document.body.insertAdjacentHTML("beforeend",
            "<p style='color: red' id='painted'>x</p><img src='https://example.org/x.png'>");
    }""")
    assert found.page.evaluate("window.hit") is None
    assert found.page.evaluate("getComputedStyle(document.getElementById('painted')).color") != "rgb(255, 0, 0)"
    assert all("Content Security Policy" in complaint for complaint in found.complaints)
    for part in ("script-src", "style-src", "img-src"):
        assert any(part in complaint for complaint in found.complaints)


def test_a_message_of_ten_megabytes_is_cut(started: Any, tmp_path: Path) -> None:
    found = shown(started, tmp_path, record(failed(BATCH, "long", message="<b>" * (4 << 20))))
    assert (tmp_path / "report.html").stat().st_size < 1 << 17
    assert "(12582912 characters; the record has them all)" in found.page.locator("body").inner_text()
    assert found.complaints == []
