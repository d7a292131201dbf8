"""The expected-failures file: strict to read, careful to write."""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance.cli.known_failures import dump_expected_failures, load_expected_failures, updated
from conformance.contract.yaml.source import MalformedContract
from conformance.trial.check import KnownFailure

SCHEMA = Path(__file__).parents[3] / "spec" / "schema" / "expected-failures.schema.json"
REASON, ISSUE = "the tail is not done yet", "https://example.org/issues/1"
ENTRY = f"check: 'A::b::c'\n  reason: {REASON}\n  issue: {ISSUE}\n"


def load(tmp_path: Path, text: str) -> tuple[KnownFailure, ...]:
    file = tmp_path / "expected.yaml"
    file.write_text(text, encoding="utf-8")
    return load_expected_failures(file, SCHEMA)


@pytest.mark.parametrize(
    ("text", "place"),
    [
        (f"- {ENTRY}  until: tomorrow\n", "4:3: X002 unknown key 'until'"),
        (f"- check: A\n  reason: {REASON}\n  issue: {ISSUE}\n", "1:10: X002"),
        (f"- check: A::b\n  reason: {REASON}\n", "1:3: X002 0 lacks 'issue'"),
        (f"- check: A::b\n  reason: none\n  issue: {ISSUE}\n", "2:11: X002 0.reason is too short: it needs at least"),
        (f"- check: A::b\n  reason: TO BE EXPLAINED\n  issue: {ISSUE}\n", "2:11: X002"),
        (f"- check: A::b\n  reason: todo later on\n  issue: {ISSUE}\n", "2:11: X002"),
        (f"- check: A::b\n  reason: {REASON}\n  issue: soon\n", "3:10: X002"),
        (f"- {ENTRY}- {ENTRY}", "4:10: X003 A::b::c is listed twice"),
        (f"- {ENTRY}  check: again\n", "4:3: C001 duplicate key 'check'"),
        ("check: A::b\n", "1:1: X002"),
    ],
)
def test_what_is_wrong_is_named_with_its_place(tmp_path: Path, text: str, place: str) -> None:
    with pytest.raises(MalformedContract) as raised:
        load(tmp_path, text)
    assert f"expected.yaml:{place}" in str(raised.value)


def test_a_missing_file_says_how_to_begin(tmp_path: Path) -> None:
    with pytest.raises(MalformedContract, match="X001 there is no such file"):
        load_expected_failures(tmp_path / "none.yaml", SCHEMA)


def test_what_is_written_reads_back_whatever_the_ids_hold(tmp_path: Path) -> None:
    entries = tuple(
        KnownFailure(id_, 'a "quoted" reason: with # signs', ISSUE)
        for id_ in ("A.B_v1#law::one: two", "A.B_v1!pure", "A.B_v1?fuzz", "A.B_v1::group::*")
    )
    assert load(tmp_path, dump_expected_failures(entries)) == entries
    assert load(tmp_path, dump_expected_failures(())) == ()


def test_an_update_keeps_the_words_of_entries_that_still_fail_and_drops_the_others() -> None:
    listed = [KnownFailure("A::x::*", "an old reason", ISSUE), KnownFailure("B::gone", "fixed", ISSUE)]
    entries = updated(listed, ["A::x::1", "A::x::2", "C::new"], "a new reason", ISSUE)
    assert [(entry.check, entry.reason) for entry in entries] == [
        ("A::x::*", "an old reason"),
        ("C::new", "a new reason"),
    ]
