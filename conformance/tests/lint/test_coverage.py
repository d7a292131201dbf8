"""The lines of a source: the requirements that cover them, and texts that changed after they were mapped."""

from collections.abc import Callable
from pathlib import Path

import pytest

from conformance.cli.main import status_of
from conformance.contract.family import Coverage
from conformance.contract.library import load_library
from conformance.contract.suite import Suite
from conformance.contract.yaml.source import MalformedContract
from conformance.lint.coverage import coverage_findings, drift, text_of, updated
from conformance.tests import counter_spec

LINES = ("# Counting", "", "A counter has room.", "It counts up.", "It counts down.", "", "Why it counts.", "Reading.")
TEXT = "".join(f"{line}\n" for line in LINES)
MAPPED = """\
# Lines of the counter's page.
document: counter.md
passages:
  - {lines: [1, 3], requirements: [K01, K02]}
  - {lines: [4, 4], requirements: [K03]}
  - {lines: [5, 6], requirements: [K04]}
  - {lines: [7, 7], excluded: "It says why, and asks for nothing."}
  - {lines: [8, 8], requirements: [K05]}
"""


def house(root: Path, mapped: str = MAPPED) -> Suite:
    suite = counter_spec.write(root)
    (suite.spec / "count" / "coverage.yaml").write_text(mapped, encoding="utf-8")
    return suite


def coverage_of(suite: Suite) -> Coverage:
    return load_library(suite).coverage["count"]


def filled(root: Path) -> Suite:
    """A house whose coverage has the digests of TEXT."""
    suite = house(root)
    text = updated(coverage_of(suite), text_of("counter.md", TEXT.encode()))
    (suite.spec / "count" / "coverage.yaml").write_text(text, encoding="utf-8")
    return suite


def said(suite: Suite, text: str) -> list[str]:
    return [str(one) for one in drift(coverage_of(suite), text_of("counter.md", text.encode()))]


def test_a_source_that_is_where_init_puts_it_is_named_with_its_path(tmp_path: Path) -> None:
    suite = house(tmp_path)
    for folder, path in (("elsewhere", "counter.md"), ("docs", "docs/counter.md")):
        (suite.root / folder).mkdir()
        (suite.root / folder / "counter.md").write_text(TEXT)
        hints = [one.hint for one in coverage_findings(load_library(suite))]
        assert len(hints) == 6
        assert all(f"`tally lint --coverage --source {path} --update`" in hint for hint in hints)


def test_a_map_without_digests_is_filled_in_and_then_clean(tmp_path: Path) -> None:
    messages = [one.message for one in coverage_findings(load_library(house(tmp_path / "bare")))]
    assert messages[0] == "the line count or the SHA-256 of counter.md is missing"
    assert messages[1:] == [f"{where} no digest" for where in
                            ("lines 1-3 of counter.md have", "line 4 of counter.md has", "lines 5-6 of counter.md have",
                             "line 7 of counter.md has", "line 8 of counter.md has")]  # fmt: skip
    suite = filled(tmp_path / "filled")
    assert list(coverage_findings(load_library(suite))) == []
    assert said(suite, TEXT) == []
    assert (suite.spec / "count" / "coverage.yaml").read_text("utf-8").startswith("# Lines of the counter's page.\n")
    assert coverage_of(suite).passages[1].begins == "It counts up."


def test_a_family_without_a_map_is_told(tmp_path: Path) -> None:
    suite = house(tmp_path)
    (suite.spec / "count" / "coverage.yaml").unlink()
    messages = [one.message for one in coverage_findings(load_library(suite))]
    assert messages == ["no coverage.yaml says what carries each line of counter"]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("[4, 4]", "[4, 5]", "(.It counts down..) begin inside or before an earlier passage, which ends at line 5"),
        ("[5, 6]", "[6, 6]", "no passage covers lines 5-5 of counter.md"),
        ("[8, 8]", "[8, 9]", "the passages end at line 9, counter.md at line 8"),
        ("[5, 6]", "[6, 5]", "lines 6-5 (.It counts down..) end before they begin"),
        ("[K05]", "[K04]", "no passage of counter.md names K05"),
        ("document: counter.md", "document: other.md", "the document is other.md, but the requirements are those of"),
    ],
)  # fmt: skip
def test_a_map_that_is_no_map_of_every_line_is_told(tmp_path: Path, old: str, new: str, message: str) -> None:
    suite = filled(tmp_path)
    file = suite.spec / "count" / "coverage.yaml"
    text = file.read_text("utf-8")
    assert text.count(old) == 1
    file.write_text(text.replace(old, new), encoding="utf-8")
    messages = [one.message.replace("'", ".") for one in coverage_findings(load_library(suite))]
    assert any(message in one for one in messages), messages


@pytest.mark.parametrize(
    "passage",
    [
        "{lines: [8, 8]}",
        '{lines: [8, 8], requirements: [K05], excluded: "It is both carried and not."}',
        "{lines: [8, 8], requirements: []}",
        "{lines: [8], requirements: [K05]}",
        '{lines: [8, 8], excluded: "short"}',
    ],
)
def test_a_passage_without_one_clear_carrier_is_malformed(tmp_path: Path, passage: str) -> None:
    with pytest.raises(MalformedContract, match=r"coverage\.yaml:8:\d+: C002"):
        load_library(house(tmp_path, MAPPED.replace("{lines: [8, 8], requirements: [K05]}", passage)))


def test_a_changed_line_is_told_at_its_place_with_what_was_mapped(tmp_path: Path) -> None:
    told = said(filled(tmp_path), TEXT.replace("It counts up.", "It counts up by two."))
    assert "counter.md:4:1: L402 lines 4-4 are not what was mapped as line 4 ('It counts up.')" in told
    assert len(told) == 2
    assert told[0].startswith("counter.md:1:1: L402 the text is not the one that was mapped: 8 lines then, 8 now, 0")


def test_a_new_line_is_a_hole_and_the_rest_has_moved(tmp_path: Path) -> None:
    told = said(filled(tmp_path), TEXT.replace("It counts down.", "It never stops.\nIt counts down."))
    assert told[1:] == ["counter.md:5:1: L402 no passage covers lines 5-5: 'It never stops.'"]
    assert "8 lines then, 9 now, 3 passages at other lines, 0 not found" in told[0]


def test_a_line_that_is_gone_is_told_where_it_was(tmp_path: Path) -> None:
    told = said(filled(tmp_path), TEXT.replace("It counts up.\n", ""))
    assert told[1:] == ["counter.md:4:1: L402 gone: line 4 ('It counts up.')"]


def test_lines_in_another_order_are_not_what_was_mapped(tmp_path: Path) -> None:
    told = said(filled(tmp_path), TEXT.replace("Why it counts.\nReading.", "Reading.\nWhy it counts."))
    assert "1 passage at other lines, 1 not found" in told[0]
    assert "counter.md:7:1: L402 no passage covers lines 7-7: 'Reading.'" in told[1:]
    assert "counter.md:8:1: L402 gone: line 8 ('Reading.')" in told[1:]


@pytest.mark.parametrize("text", ["", "\n\n\n", "Nothing of it.\n", TEXT[:-1], TEXT + "\n", TEXT.replace("\n", "\r\n")])
def test_any_other_text_is_told(tmp_path: Path, text: str) -> None:
    assert said(filled(tmp_path), text)


def test_an_update_moves_what_has_moved_and_leaves_a_change_red(tmp_path: Path) -> None:
    suite = filled(tmp_path)
    newer = text_of("counter.md", TEXT.replace("It counts up.", "It\ncounts up.").encode())
    file = suite.spec / "count" / "coverage.yaml"
    file.write_text(updated(coverage_of(suite), newer), encoding="utf-8")
    assert [(one.first, one.last) for one in coverage_of(suite).passages] == [(1, 3), (4, 5), (6, 7), (8, 8), (9, 9)]
    told = [one.message for one in drift(coverage_of(suite), newer)]
    assert told == ["lines 4-5 are not what was mapped as lines 4-5 ('It counts up.')"]
    digest = coverage_of(suite).passages[1].digest
    file.write_text(file.read_text("utf-8").replace(f'digest: "{digest}", ', ""), encoding="utf-8")
    file.write_text(updated(coverage_of(suite), newer), encoding="utf-8")
    assert drift(coverage_of(suite), newer) == ()


def test_the_command_compares_a_text_and_says_so_by_its_status(
    tmp_path: Path, look_at: Callable[[Path], None], capsys: pytest.CaptureFixture[str]
) -> None:
    look_at(house(tmp_path / "house").root)
    source = tmp_path / "counter.md"
    source.write_text(TEXT, encoding="utf-8")
    assert status_of(["lint", "--coverage"]) == 1
    assert status_of(["lint", "--source", str(source), "--update"]) == 0
    capsys.readouterr()
    assert status_of(["lint", "--coverage", "--source", str(source)]) == 0
    counted = "7 carried by requirements, 0 by rulings alone, 1 excluded with a reason"
    rows = "5 requirements, 0 excluded with a reason"
    assert capsys.readouterr().out == f"counter.md: 8 lines in 5 passages: {counted}; {rows}\n"
    source.write_text(TEXT + "More.\n", encoding="utf-8")
    assert status_of(["lint", "--coverage", "--source", str(source)]) == 1
    assert f"{source}:9:1: L402 no passage covers lines 9-9: 'More.'" in capsys.readouterr().out
    other = tmp_path / "other.md"
    other.write_text(TEXT, encoding="utf-8")
    assert status_of(["lint", "--coverage", "--source", str(other)]) == 2
    assert "the documents of coverage.yaml are counter.md" in capsys.readouterr().err
    assert status_of(["lint", "--update"]) == 2
