"""Every rule is documented, and findings are the same in every process.

That the shipped specification passes every rule is what `tally lint` tells, which CI runs, and `tally run` asks for.
"""

from __future__ import annotations

import re
from pathlib import Path

from conformance.lint.catalogue import RULES, rule_with
from conformance.lint.coverage import coverage_findings, coverage_lines
from conformance.tests.processes import python
from conformance.tests.shipped import shipped_library

CODES = [rule.code for rule in RULES]


def test_codes_and_names_are_unique_and_every_rule_is_one_sentence() -> None:
    assert sorted(set(CODES)) == CODES
    assert len({rule.name for rule in RULES}) == len(RULES)
    for rule in RULES:
        assert re.fullmatch(r"L\d{3}", rule.code)
        assert re.fullmatch(r"[a-z]+(?:-[a-z]+)*", rule.name)
        assert rule.level in ("error", "warning")
        assert re.fullmatch(r"[^a-z ].*\.", rule.sentence), rule.sentence
        assert rule_with(rule.code) is rule


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
