"""The shipped specification passes every rule, and every rule finds what it is for."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import pytest

from conformance.lint.catalogue import RULES, lint, rule_with
from conformance.lint.coverage import coverage_findings, coverage_lines
from conformance.lint.mutation import Fault
from conformance.lint.rule import Rule, sentence
from conformance.lint.seeded import faults, lines, score
from conformance.tests.processes import python
from conformance.tests.shipped import shipped_library, shipped_subject
from conformance.tests.small_spec import SHIPPED

CODES = [rule.code for rule in RULES]


@cache
def seeds() -> Mapping[str, tuple[Fault, ...]]:
    return faults(shipped_subject())


@pytest.mark.parametrize("rule", RULES, ids=CODES)
def test_the_shipped_specification_passes(rule: Rule) -> None:
    assert [str(finding) for finding in lint(shipped_subject(), [rule])] == []


@pytest.mark.parametrize("code", CODES)
def test_a_rule_catches_every_fault_that_is_seeded_for_it(code: str) -> None:
    (one,) = score(shipped_subject(), {code: seeds()[code]})
    assert one.seeded >= 10
    assert one.missed == ()
    assert str(one) == f"rule {code}: caught {one.seeded}/{one.seeded}"


def test_the_score_names_what_was_missed() -> None:
    (one,) = score(shipped_subject(), {"L110": seeds()["L110"]}, rules=[])
    assert lines([one])[0] == f"rule L110: caught 0/{one.seeded}"
    assert len(lines([one])) == 1 + one.seeded


def test_codes_and_names_are_unique_and_every_rule_is_one_sentence() -> None:
    assert sorted(set(CODES)) == CODES
    assert len({rule.name for rule in RULES}) == len(RULES)
    for rule in RULES:
        assert re.fullmatch(r"L\d{3}", rule.code)
        assert re.fullmatch(r"[a-z]+(?:-[a-z]+)*", rule.name)
        assert rule.level in ("error", "warning")
        assert re.fullmatch(r"[^a-z ].*\.", sentence(rule)), sentence(rule)
        assert rule_with(rule.code) is rule


def test_every_rule_has_its_paragraph_in_the_readme_of_the_specification() -> None:
    text = (SHIPPED.spec / "README.md").read_text(encoding="utf-8")
    for rule in RULES:
        assert f"**{rule.code} {rule.name}**" in text


def test_findings_come_in_the_same_order_whatever_the_order_of_the_rules() -> None:
    page = next(iter(seeds()["L106"])).subject()
    rules = [rule_with(code) for code in ("L104", "L106", "L107", "L401", "L402")]
    assert lint(page, rules) == lint(page, reversed(rules))


_PROGRAM = """
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from conformance.lint.output import as_json
from conformance.lint.catalogue import lint
from conformance.tests.small_corpus import subject
sys.stdout.write(as_json(lint(subject(Path(sys.argv[1])))))
"""


def test_findings_do_not_hang_on_the_hash_seed(tmp_path: Path) -> None:
    told = [python("-c", _PROGRAM, str(tmp_path / seed), PYTHONHASHSEED=seed).stdout for seed in "123"]
    assert told[0].count('"code"') > len(RULES) + 3
    assert told[0] == told[1] == told[2]


def test_every_line_of_every_source_is_carried_or_excluded_with_a_reason() -> None:
    library = shipped_library()
    assert list(coverage_findings(library)) == []
    told = [line.split(".md: ")[0] for line in coverage_lines(library)]
    assert sorted(told) == sorted(page.seed for page in library.requirements.values())
