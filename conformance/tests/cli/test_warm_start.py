"""A second command over the same files says what the first one said, and one over other files what is in those."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import conformance.contract.library as library_module
import conformance.contract.yaml.parser as parser_module
from conformance.cli.lint_outcome import require_clean_contracts
from conformance.cli.main import status_of
from conformance.contract.library import Library
from conformance.contract.suite import Suite
from conformance.contract.yaml.source import MalformedContract
from conformance.lint.catalogue import lint
from conformance.tests import small_house
from conformance.tests.cli.test_cli_house import edit
from conformance.tests.counter_spec import write as write_counter
from conformance.tests.small_corpus import rule_with
from conformance.tests.small_spec import CONTRACT, NAME, suite_at, write_spec
from conformance.vectors.case import Case
from conformance.vectors.frozen import corpus as corpus_module
from conformance.vectors.frozen.corpus import CorruptedCorpus, outline_of
from conformance.vectors.frozen.lock import contract_digest
from conformance.vectors.frozen.vector_file import case_of

pytestmark = pytest.mark.usefixtures("cache")

Capture = pytest.CaptureFixture[str]
OPERATOR = "UML_OS.Data.Halve_v1"


def load(root: Path) -> Library:
    """The library of a copy of `root`, which this process has never seen: entries go by content."""
    copy = root.with_name(f"{root.name}-{len(list(root.parent.iterdir()))}")
    shutil.copytree(root, copy)
    return library_module.load_library(Suite(copy))


def problems(root: Path) -> list[str]:
    with pytest.raises(MalformedContract) as caught:
        load(root)
    return [str(problem) for problem in caught.value.problems]


def unused(*_: object) -> None:
    raise AssertionError("this was known already")


def test_a_warm_library_says_what_a_cold_one_says(tmp_path: Path) -> None:
    write_counter(tmp_path / "spec-of-machine")
    for root in (write_spec(tmp_path / "plain").root, tmp_path / "spec-of-machine"):
        cold, warm = load(root), load(root)
        assert list(cold.contracts) == list(warm.contracts)
        assert cold.machines == warm.machines
        assert cold.declarable == warm.declarable
        assert (cold.types, cold.errors, cold.rulings) == (warm.types, warm.errors, warm.rulings)
        for name, contract in cold.contracts.items():
            other = warm.contracts[name]
            assert contract.source == other.source
            assert contract_digest(contract) == contract_digest(other)
            assert (contract.requires, contract.ensures, contract.groups) == (
                other.requires,
                other.ensures,
                other.groups,
            )
            assert (contract.machine, contract.position) == (other.machine, other.position)


def test_a_known_file_is_neither_parsed_nor_validated_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = write_spec(tmp_path / "house").root
    load(root)
    for name in ("parse", "read"):
        monkeypatch.setattr(parser_module, name, unused)
    made = load(root)
    monkeypatch.setattr(library_module, "contract_from", unused)
    assert list(made.contracts) == [OPERATOR]
    with pytest.raises(AssertionError, match="known already"):
        assert made.contracts[OPERATOR]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("whole % 2u", "whole % 2"),
        ("state: none", "state: none\nstatus: fine"),
        ("rest == 0u", "leftover == 0u"),
        ("ordering: {}", "ordering: {"),
    ],
)
def test_a_malformed_contract_is_found_cold_and_warm_alike(old: str, new: str, tmp_path: Path) -> None:
    assert CONTRACT.count(old) == 1
    root = write_spec(tmp_path / "house", CONTRACT.replace(old, new)).root
    cold = problems(root)
    assert problems(root) == cold
    (root / "spec" / "data" / NAME).write_text(CONTRACT, "utf-8")
    load(root)
    (root / "spec" / "data" / NAME).write_text(CONTRACT.replace(old, new), "utf-8")
    assert problems(root) == cold


def test_what_spoils_a_known_contract_from_another_file_is_found(tmp_path: Path) -> None:
    root = write_spec(tmp_path / "house").root
    load(root)
    types = root / "spec" / "types.yaml"
    types.write_text(types.read_text("utf-8").replace("default_failure", "another_failure"), "utf-8")
    assert ["unknown record" in one for one in problems(root)] == [True]


def test_a_changed_schema_is_looked_at(tmp_path: Path) -> None:
    root = write_spec(tmp_path / "house").root
    load(root)
    schema = root / "spec" / "schema" / "contract.schema.json"
    body = json.loads(schema.read_text("utf-8"))
    body["required"].append("colour")
    schema.write_text(json.dumps(body), "utf-8")
    assert "'colour'" in problems(root)[0]


def test_a_damaged_cache_changes_nothing(tmp_path: Path, cache: Path) -> None:
    root = write_spec(tmp_path / "house").root
    cold = load(root).contracts[OPERATOR].source
    for file in cache.iterdir():
        file.write_bytes(file.read_bytes()[:-3] + b"abc")
    assert load(root).contracts[OPERATOR].source == cold


def test_a_contract_that_is_changed_while_a_command_runs_stays_what_it_was(tmp_path: Path, cache: Path) -> None:
    root = write_spec(tmp_path / "house").root
    load(root)
    warm = load(root)
    (warm.suite.spec / "data" / NAME).write_text("changed: true", "utf-8")
    shutil.rmtree(cache)
    assert warm.contracts[OPERATOR].operator == OPERATOR


def test_cases_are_read_when_they_are_asked_for(built: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cold = corpus_module.load_corpus(Suite(built))
    operator = small_house.OPERATOR
    copy = built.with_name("again")
    shutil.copytree(built, copy)
    with monkeypatch.context() as patch:
        patch.setattr(corpus_module._CaseFiles, "_read", unused)
        warm = corpus_module.load_corpus(Suite(copy))
        assert len(warm) == len(cold) == 74
        assert list(outline_of(warm.cases, operator)) == [(one.id, one.profile) for one in cold.cases[operator]]
    assert warm == cold


def test_a_part_of_the_cases_is_what_it_is_among_all(built: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a file that was verified before, a few cases are made without the others, whichever they are."""
    whole = corpus_module.load_corpus(Suite(built)).cases[small_house.OPERATOR]
    copy = built.with_name("again")
    shutil.copytree(built, copy)
    made: list[Case] = []

    def counted(body: Mapping[str, Any]) -> Case:
        made.append(case_of(body))
        return made[-1]

    monkeypatch.setattr(corpus_module, "case_of", counted)
    warm = corpus_module.load_corpus(Suite(copy))
    for case in whole:
        assert warm.find(case.id) == case
    assert warm.some(small_house.OPERATOR, {whole[3].id, whole[40].id, "no-such-case"}) == (whole[3], whole[40])
    assert warm.some(small_house.OPERATOR, ()) == ()
    assert len(made) == len(whole) + 2
    assert warm.some(small_house.OPERATOR, {case.id for case in whole[:40]}) == whole[:40]
    assert len(made) == 2 * len(whole) + 2


def test_a_spoilt_case_is_found_cold_and_warm_alike(built: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def said() -> str:
        with pytest.raises(CorruptedCorpus) as caught:
            corpus_module.load_corpus(Suite(built))
        return str(caught.value)

    corpus_module.load_corpus(Suite(built))
    file = built / small_house.VECTORS
    file.write_text(file.read_text("utf-8").replace('"4"', '"5"', 1), "utf-8")
    warm = said()
    assert "has the digest" in warm
    monkeypatch.setenv("TALLY_CACHE", "off")
    assert said() == warm


@pytest.fixture
def one_rule(monkeypatch: pytest.MonkeyPatch) -> None:
    """The small house is clean by this rule; it has no requirements, which other rules say."""
    monkeypatch.setattr("conformance.cli.lint.lint", lambda subject: lint(subject, [rule_with("L106")]))


@pytest.mark.usefixtures("one_rule")
def test_a_clean_lint_does_not_outlive_a_change(built: Path, capsys: Capture) -> None:
    def linted() -> tuple[int, str]:
        return status_of(["lint"]), capsys.readouterr().out

    clean = linted()
    assert clean == linted()
    assert clean[0] == 0
    assert clean[1].startswith("0 findings in")
    contract = built / small_house.CONTRACT
    before = contract.read_text("utf-8")
    edit(contract, "else: CONTRACT_VIOLATION", "else: NO_SUCH_CODE")
    assert linted()[0] == 2
    contract.write_text(before, "utf-8")
    edit(built / "spec" / "contracts.lock", '"cases": 74', '"cases": 75')
    dirty = linted()
    assert dirty[0] == 1
    assert dirty == linted()
    edit(built / "spec" / "contracts.lock", '"cases": 75', '"cases": 74')
    assert linted() == clean


@pytest.mark.usefixtures("one_rule")
def test_a_lock_of_other_cases_is_a_finding(built: Path, capsys: Capture) -> None:
    file = built / "spec" / "contracts.lock"
    lock = json.loads(file.read_text("utf-8"))
    (contract,) = lock["contracts"].values()
    group = min(contract["groups"])
    contract["groups"][group] = "0" * 16
    file.write_text(json.dumps(lock), "utf-8")
    assert status_of(["lint"]) == 1
    assert f"L502 the cases of group {group!r} differ from the lock" in capsys.readouterr().out


@pytest.mark.usefixtures("one_rule")
def test_the_second_lint_runs_no_rule(built: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    assert status_of(["lint"]) == 0
    monkeypatch.setattr("conformance.cli.lint.lint", unused)
    assert status_of(["lint"]) == 0
    (built / "reports").mkdir()
    (built / "reports" / "kill-matrix.json").write_text('{"format": 2, "cases": {}, "mutants": {}}', "utf-8")
    assert status_of(["lint"]) == 2  # a mistake in tally itself: the rules ran, because they may look at this
    assert "known already" in capsys.readouterr().err


@pytest.mark.usefixtures("one_rule")
def test_a_damaged_kill_matrix_is_no_missing_one(built: Path, capsys: Capture) -> None:
    assert status_of(["lint"]) == 0
    assert "warning: no kill matrix" in capsys.readouterr().err
    file = built / "reports" / "kill-matrix.json"
    file.parent.mkdir()
    for text in ("", "{}", "[]", '{"mutants": 3}', '{"format": 2, "cases": {}, "mutants": 3}'):
        file.write_text(text, "utf-8")
        assert status_of(["lint"]) == 2
        said = capsys.readouterr()
        assert said.err.startswith(f"{file}: T004 it is damaged, or no report of format 2 (")
        assert said.err.endswith("\n    hint: run `tally mutants --write`\n")
        assert said.out == ""


@pytest.mark.usefixtures("one_rule")
def test_a_run_after_a_clean_lint_runs_no_rule(built: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def required() -> None:
        suite = suite_at(built)
        require_clean_contracts(library_module.load_library(suite), corpus_module.load_corpus(suite), "standard")

    (built / "reports").mkdir()  # lint reads the kill matrix, a run does not
    (built / "reports" / "kill-matrix.json").write_text('{"format": 2, "cases": {}, "mutants": {}}', "utf-8")
    assert status_of(["lint"]) == 0
    monkeypatch.setattr("conformance.cli.lint.lint", unused)
    required()
    edit(built / small_house.CONTRACT, "purpose: ", "purpose: Once more. ")
    with pytest.raises(AssertionError, match="known already"):
        required()


def test_a_run_records_the_same_cold_and_warm(
    built_once: Path, tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    records: list[bytes] = []
    for number, folder in enumerate(("off", str(cache), str(cache))):
        monkeypatch.setenv("TALLY_CACHE", folder)
        copy = tmp_path / str(number)
        shutil.copytree(built_once, copy)
        records.append(small_house.record(copy, "reference", "quick"))
    assert len(set(records)) == 1
