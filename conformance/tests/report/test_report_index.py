"""The page that a visitor of a folder of reports opens first, as a browser shows it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from conformance.report.certificate.evidence import read_envelope
from conformance.report.certificate.keys import new_pair, read_signing
from conformance.report.certificate.statement import SCHEMA, read_statement
from conformance.report.html import Reported, index_page
from conformance.tests.browser import opened
from conformance.tests.certificates import Certifier, evidence
from conformance.tests.report.test_report_html_browser import PHONE, PROOF, violations
from conformance.tests.runs import BATCH, MAP, failed, passed, record
from conformance.tests.small_spec import SHIPPED

STEPS = [("check it", "tally verify acme/certificate.intoto.json --key acme.pub"), ("again", "nox -s reports")]
FILES = [("Report", "acme/report.html"), ("Record", "acme/record.json")]
HOSTILE = "<script>window.hit = 1</script>"


def index(acme: Certifier, name: str = "acme", test: bool = False) -> str:
    """A page about a backend with a certificate, and one that is wrong and has none."""
    files, public = acme.files, acme.public
    if test:
        public = new_pair(acme.folder / "test", test=True)
        files = evidence(read_signing(acme.folder / "test.key"), acme.artifact)
        for half in ("test.key", "test.pub"):
            (acme.folder / half).unlink()
    envelope = read_envelope(files["certificate.intoto.json"], "acme")
    statement = read_statement(envelope.payload, "acme", SHIPPED.spec / "schema" / SCHEMA)
    good = Reported(name, record(passed(MAP, "a"), backend=name), FILES, (statement, public))
    bad = Reported("other", record(failed(BATCH, "one")), [("Report", "other/report.html")])
    return index_page("Reports", [good, bad], STEPS, PROOF, "both.html")


def test_it_says_the_verdicts_links_the_files_and_tells_how_to_verify(acme: Certifier) -> None:
    page = index(acme)
    assert page == index(acme)
    for text in ("CONFORMANT", "NOT CONFORMANT", 'href="acme/record.json"', 'href="both.html"', STEPS[0][1], "9 of 10",
                 acme.artifact.digest[:16], acme.public.id[:16], "NOT ESTABLISHED"):
        assert text in page
    assert page.count("Its certificate") == 1
    assert "test key" not in page
    assert "Signed with the test key" in index(acme, test=True)


@pytest.mark.parametrize(
    "view",
    [pytest.param({}, id="light"), pytest.param({**PHONE, "color_scheme": "dark"}, id="phone, dark")],
)
def test_it_is_accessible_complains_of_nothing_and_fits(
    view: dict[str, Any], started: Any, acme: Certifier, tmp_path: Path
) -> None:
    (tmp_path / "index.html").write_text(index(acme, HOSTILE, test=True), "utf-8")
    found = opened(started, tmp_path / "index.html", **view)
    assert violations(found) == []
    assert found.complaints == []
    assert found.asked == [(tmp_path / "index.html").as_uri()]
    assert found.overflow <= 0
    assert found.page.evaluate("window.hit") is None
    assert HOSTILE in found.page.locator("body").inner_text()
