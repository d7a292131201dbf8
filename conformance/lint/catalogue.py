"""Every rule in the order of the codes, run over one subject, and one finding for each cause.

It is separate from the rules because it imports them all.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Final

from conformance.contract.library import Library
from conformance.contract.suggest import with_sign
from conformance.contract.yaml.companions import ENDING as CASES
from conformance.contract.yaml.source import Position
from conformance.lint import (
    checks,
    coverage,
    determinism,
    governance,
    guards,
    names,
    postconditions,
    requirements,
)
from conformance.lint.checks import (
    check_of,
    check_text,
    claimable,
    meant,
    renamed_row,
    requirement_ids,
    rows,
    rows_to_paste,
    unresolved,
)
from conformance.lint.governance import CHANGED
from conformance.lint.rule import Finding, LintTarget, Rule
from conformance.lint.valueless import is_valueless

_MODULES: Final = (checks, coverage, determinism, governance, guards, names, postconditions, requirements)
_OTHERS: Final = [rule for module in _MODULES for rule in vars(module).values() if isinstance(rule, Rule)]
# A requirement may name any rule as its check, even the rule that resolves checks.
_CODES: Final = frozenset({"L106", *(rule.code for rule in _OTHERS)})
RULES: Final = tuple(sorted((*_OTHERS, checks.checks_resolve(_CODES)), key=lambda rule: rule.code))


def lint(subject: LintTarget, rules: Iterable[Rule] = RULES) -> tuple[Finding, ...]:
    """Every finding of every rule, once, by file, line, column and code."""
    return tuple(sorted({finding for rule in rules for finding in rule.check(subject)}))


# -- leaves findings that only follow from another one out of the list that people read

# These rules judge frozen cases, so their findings about a contract without cases are true but useless.
_JUDGE_CASES: Final = frozenset(
    {"L108", "L301", "L302", "L303", "L304", "L305", "L306", "L307", "L308", "L309", "L411", "L412", "L502"}
)
# If a group is not built yet, or the cases have other inputs or outputs, these rules miss cases.
_MISS_CASES: Final = frozenset({"L108", "L301", "L302", "L303", "L306", "L307", "L309", "L412"})
# These rules find a name in the text of a contract; the text is not final until it is corrected.
_FIND_NAMES: Final = frozenset({"L101", "L102", "L103"})
# A guard or postcondition without a value is not true, so these rules find more about the same operator.
_JUDGE_VALUES: Final = frozenset({"L301", "L303", "L304", "L305", "L306", "L411", "L412"})


def told_once(subject: LintTarget, findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """The findings without those that follow from another: a contract that was never built, or was changed since it
    was; a condition without a value; a requirement without a row, with a renamed one, or with two; a check, a law or a
    requirement whose name is misspelt; a contract in a file of another name; a guard that decides nothing; frozen
    results that a postcondition contradicts.

    The exit status of a command does not change: each omitted finding follows from one that is kept.
    """
    known = sorted(findings)
    unbuilt, stale = _unbuilt(subject), {one.about for one in known if one.code == "L502"}
    waiting = {one.about for one in known if one.code == "L108"} & stale
    unmet, misplaced = _unmet(subject), dict(_misplaced(subject))
    misnamed, unknown_laws = _misnamed(subject.library), _unknown_laws(subject)
    untested = _untested_with(subject.library, unbuilt | {*misplaced.values()})
    unfinished = {one.position.file for one in known if one.code in _FIND_NAMES}
    renamed = tuple(
        f"{check_text(contract, 'law', use.law)!r}, an unknown law"
        for contract in subject.contracts
        for use in contract.laws
    )  # of these, the contract's place is told
    missed = _missed(subject, {one.about for one in known if one.code == "L104"})
    changed_ids = {renamed_row(subject.library, name) for name in unmet.values()}
    idle = {one.position for one in known if one.code == "L301"}
    contradicted = {one.about for one in known if one.code == "L305"}
    without_value = {one.about for one in known if is_valueless(one) and one.code != "L302"}
    twice = any(one.code == "L401" and one.message.endswith("comes twice") for one in known)
    kept: list[Finding] = []
    for one in known:
        if one.code in ("L303", "L411", "L412") and one.position in idle:
            continue
        if one.code == "L306" and one.about in contradicted:
            continue
        if one.about in without_value and one.code in _JUDGE_VALUES and not is_valueless(one):
            continue
        if is_valueless(one) and any(is_valueless(other) and other.position == one.position for other in kept):
            continue  # two expressions use one let
        if twice and one.code in ("L104", "L107", "L402", "L411"):
            continue
        if any(_follows(one, *names) for names in misplaced.items()):
            continue
        if one.about in unbuilt and one.code in _JUDGE_CASES:
            continue
        if one.about in waiting and one.code in _MISS_CASES:
            continue
        if one.code in ("L401", "L411") and one.about in untested:
            continue
        if one.code == "L107" and one.position in (misnamed | unknown_laws.keys() | unmet.keys()):
            continue
        if one.code == "L411" and (one.position in misnamed or one.about in missed):
            continue
        if one.code in ("L402", "L411") and one.about in changed_ids:
            continue
        if one.code == "L106" and one.position in unknown_laws.values():
            continue
        if one.code == "L104" and one.message.rpartition(_NAMES_UNKNOWN)[2] in unmet.values():
            continue
        if one.code == "L103" and one.message.endswith(renamed):
            continue
        if one.code == "L502" and one.message == CHANGED and one.position.file in unfinished:
            continue
        kept.append(one)
    never_built = {subject.library.contracts[name].position: name for name in unbuilt}
    found = [_never_built(one, never_built) if one.code == "V010" else one for one in kept]
    once = _first_of_each(found, subject.library)
    return tuple(sorted(replace(one, hint=with_sign(one.message, one.hint)) for one in once))


def _misplaced(subject: LintTarget) -> Iterator[tuple[str, str]]:
    """The operators in files of another name, each with the name of its file."""
    for contract in subject.contracts:
        stem = contract.position.file.rpartition("/")[2].removesuffix(".yaml")
        if stem != (contract.machine.name if contract.machine is not None else contract.operator):
            yield contract.operator, stem


def _follows(one: Finding, operator: str, stem: str) -> bool:
    """Whether a finding follows from the name of an operator in the file of another; L110 reports that."""
    here = one.position.file.endswith(f"/{stem}.yaml")
    return one.code != "L110" and (here or bool({operator, stem} & set(re.findall(r"[\w.]+", one.message))))


def _unbuilt(subject: LintTarget) -> frozenset[str]:
    """The operators without any frozen case, including methods of machines."""
    found = set()
    for name, contract in subject.library.contracts.items():
        bearer = contract.machine.name if contract.machine is not None else name
        if not subject.cases.get(bearer):
            found.add(name)
    return frozenset(found)


def _never_built(one: Finding, unbuilt: Mapping[Position, str]) -> Finding:
    """The finding that a contract has too few cases, with another hint if it is new and has none."""
    if one.position not in unbuilt or _NEW not in one.message:
        return one
    hint = "run `tally vectors build`; after that, lint looks at the cases too"
    return replace(one, message=f"{unbuilt[one.position]} was never built: it has no frozen case", hint=hint)


_NEW: Final = "at least 1"  # the lock's demand for a contract that it does not list


def _untested_with(library: Library, unbuilt: frozenset[str]) -> frozenset[str]:
    """The requirements with a check of a contract that was never built."""
    return frozenset(row.id for row in rows(library) if any(check_of(text).operator in unbuilt for text in row.checks))


def _unmet(subject: LintTarget) -> Mapping[Position, str]:
    """The places where a part of a contract names a requirement without a row; L104 reports these."""
    known = requirement_ids(subject.library)
    return {
        position: name
        for contract in subject.contracts
        for _, _, named, position in claimable(contract)
        for name in named or ()
        if name not in known
    }


def _misnamed(library: Library) -> frozenset[Position]:
    """The parts of contracts that a requirement calls by a wrong name; L106 reports these."""
    found = set()
    for check, id_ in unresolved(library):
        near = meant(check, library)
        for contract in library.contracts.values():
            own = contract.operator == check.operator
            for kind, name, named, position in claimable(contract):
                if check_text(contract, kind, name) in near or (own and kind == check.kind and id_ in (named or ())):
                    found.add(position)
    return frozenset(found)


def _unknown_laws(subject: LintTarget) -> Mapping[Position, Position | None]:
    """The places where a contract applies an unknown law, each with the requirement's check that means the same."""
    found: dict[Position, Position | None] = {}
    for contract in subject.contracts:
        for use in contract.laws:
            if use.law not in subject.known_laws:
                found[use.position] = _check_of_law(subject.library, contract.operator, use.law, use.requirements)
    return found


def _missed(subject: LintTarget, named_by: Collection[str]) -> frozenset[str]:
    """The requirements that mutants break whose own requirement has no row; `named_by` are those mutants, and more."""
    mutants = [one for id_, one in subject.library.mutants.items() if id_ in named_by]
    broken = {text for one in mutants for text in (*one.breaks, *(subject.evidence or {}).get(one.id, ()))}
    return frozenset(row.id for row in rows(subject.library) if broken & set(row.checks))


def _check_of_law(library: Library, operator: str, law: str, requirements: tuple[str, ...]) -> Position | None:
    for family in library.requirements.values():
        for k, row in enumerate(family.requirements):
            for n, check in enumerate(map(check_of, row.checks)):
                if check.kind == "law" and check.operator == operator and check.name != law and row.id in requirements:
                    return family.source.at(("requirements", k, "checks", n))
    return None


def _first_of_each(findings: list[Finding], library: Library) -> Iterator[Finding]:
    """The findings, with one for all unknown requirements of a contract, and one for each ruling, law or check that
    several places name and nothing has."""
    requirements: dict[str, list[Finding]] = {}
    named: dict[tuple[str, str], list[Finding]] = {}
    for one in sorted(findings):
        if one.code == "L104" and one.message.startswith(_UNKNOWN):
            requirements.setdefault(one.position.file.replace(CASES, ".yaml"), []).append(one)
        elif found := _NAMED.search(one.message) if one.code in ("L103", "L105", "L106") else None:
            named.setdefault((one.code, found[0]), []).append(one)
        else:
            yield one
    for same in named.values():
        first = next((one for one in same if _RESTS in one.message), same[0])
        more = f", named in {len(same)} places" if len(same) > 1 else ""
        yield replace(first, message=f"{first.message}{more}")
    for same in requirements.values():
        yield _all_unknown(same, library)


_RESTS: Final = " rests on "  # a requirement; a mutant names a check only if a requirement does
_NAMED: Final = re.compile(r"\Aunknown (?:ruling|law) .*|'[^']*': (?:no such|the (?:contract|file) has no such) .*")
_UNKNOWN: Final = "unknown requirement "
_NAMES_UNKNOWN: Final = f" names {_UNKNOWN}"  # a passage, a ruling or a mutant


def _all_unknown(same: list[Finding], library: Library) -> Finding:
    """One finding for the unknown requirements of a contract, with their rows to paste."""
    same = sorted(same, key=lambda one: one.position.file.endswith(CASES))
    first, lines = same[0], dict[str, list[str]]()
    for one in same:
        file, line = one.position.file, f"line {one.position.line}"
        place = line if file == first.position.file else f"{line} of {file.rpartition('/')[2]}"
        lines.setdefault(one.message.removeprefix(_UNKNOWN), []).append(place)
    if len(lines) == 1:
        more = f", named in {len(same)} places" if len(same) > 1 else ""
        return replace(first, message=f"{first.message}{more}")
    names = ", ".join(f"{name} ({places[0]})" for name, places in lines.items())
    family = library.contracts[first.about].family
    block = rows_to_paste(library, family, list(lines))
    hint = f"correct the ids, or add their rows to {family}/requirements.yaml:\n{block}"
    return replace(first, message=f"unknown requirements {names}", hint=hint)
