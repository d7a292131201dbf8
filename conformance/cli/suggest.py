"""`tally vectors suggest`: the cases that an operator lacks, as text to paste into its contract."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from conformance.cli.case_text import difference_from, natural_inputs, yaml_lines
from conformance.codec.codebook import Codebook, OperatorForms
from conformance.contract.library import Library
from conformance.contract.model import Contract
from conformance.contract.syntax import size_limits
from conformance.contract.types import walk
from conformance.lint.call import FrozenCall
from conformance.trial.generator import Native
from conformance.trial.suggestion import Suggestion, suggestions
from conformance.trial.wanted import Wanted
from conformance.vectors.case import Asked, Case, ExpectedFailure, Question
from conformance.vectors.draft import Draft, Place, Unusable
from conformance.vectors.expand import expand
from conformance.vectors.freeze import freeze
from conformance.vectors.notable import axes_of

BASE: Final = "plain"  # the base that is suggested where the contract has none
_UNCONFIRMED: Final = "V003"  # whether anything confirms the value is the suite's affair
_NO_CASE: Final = Case("a question", "", "", "", (), (), "quick", ())


@dataclass(slots=True)
class Page:
    """What is printed: the lines to paste, and in words what could not be found."""

    lines: list[str] = field(default_factory=list)
    groups: list[tuple[str, str]] = field(default_factory=list)  # requirement, group
    left: list[str] = field(default_factory=list)


def page_of(contract: Contract, library: Library, codebook: Codebook, frozen: Sequence[FrozenCall]) -> Page:
    """The cases that an operator lacks; `frozen` are its calls in the vectors of all operators.

    Raises MalformedContract, BackendNotFound, BadHello or LostBackend.
    """
    forms = codebook[contract.operator]
    roots = dict.fromkeys(forms.roots, "a")
    questions = expand(contract, codebook)
    ids = {question.id for question in questions}
    frozen = [call for call in frozen if call.case.operator != contract.operator or call.case.id in ids]
    known = [*_calls(forms, [call for question in questions for call in question.calls]), *frozen]
    bases = {name: wire for name in contract.bases for wire in [_base(contract, name)] if wire is not None}
    starts = [_native(forms, wire) for wire in bases.values()]
    found, missing, accepted = suggestions(forms, known, starts)
    page = Page()
    found = (*found, *_refused_later(contract, codebook, accepted, frozen, page))
    wires = {k: {**forms.inputs.from_native(one.native), **_places(roots)} for k, one in enumerate(found)}
    good = dict(_that_freeze(contract, codebook, found, wires, page))
    page.left += [f"{one.what}: no such call was found; an earlier guard may imply it" for one in missing]
    naturals = {k: natural_inputs(contract.inputs, wires[k], forms.roots) for k in good}
    plain = {name: natural_inputs(contract.inputs, wire, forms.roots) for name, wire in bases.items()}
    if not plain and naturals:
        first = next((k for k in good if contract.refusal(found[k].native) is None), next(iter(good)))
        plain = {BASE: naturals[first]}
        page.lines += ["bases:", *yaml_lines(BASE, naturals[first], "  "), "vectors:"]
    writer = _Writer(contract, plain, page)
    for part in dict.fromkeys(shown.part for one in good.values() for shown in one.shows[:1]):
        writer.group(part, [(one, naturals[k]) for k, one in good.items() if one.shows[0].part == part])
    writer.whole_groups()
    return page


def _calls(forms: OperatorForms, asked: Sequence[Asked]) -> Iterator[FrozenCall]:
    """The calls of an operator whose inputs are written in the contract as they are."""
    for step in asked:
        if step.operator == forms.contract.operator and not re.search(r"'(from|generated)':", repr(step.inputs)):
            yield FrozenCall(_NO_CASE, step.name, step.operator, _native(forms, step.inputs))


def _native(forms: OperatorForms, wire: Mapping[str, Any]) -> Any:
    texts = {name: "/".join(wire[name].values()) for name in forms.roots if isinstance(wire.get(name), Mapping)}
    return forms.inputs.to_native(forms.inputs.check({**wire, **texts}))


def _places(roots: Mapping[str, str]) -> dict[str, Any]:
    return {name: {"root": root} for name, root in roots.items()}


def _base(contract: Contract, name: str) -> Mapping[str, Any] | None:
    """The complete inputs that a base is; None where it is complete only with what its groups set."""
    draft, place = Draft(contract), Place(contract.source, ("bases", name))
    try:
        draft.base(name, place)
        return draft.wire(place)
    except Unusable:
        return None


def _that_freeze(
    contract: Contract,
    codebook: Codebook,
    found: Sequence[Suggestion],
    wires: Mapping[int, Mapping[str, Any]],
    page: Page,
) -> Iterator[tuple[int, Suggestion]]:
    """The suggestions that a build would freeze: the reference answers them as the contract says."""
    questions = [_question(contract, str(k), wires[k]) for k in range(len(found))]
    problems = freeze(questions, codebook).problems if questions else ()
    for k, one in enumerate(found):
        id_ = questions[k].id
        about = [one for one in problems if one.code != _UNCONFIRMED and re.match(rf"{id_}[:,]", one.message)]
        if about:
            page.left.append(f"{one.shows[0].what}: {about[0].message.removeprefix(id_).lstrip(':, ')}")
        else:
            yield k, one


def _question(contract: Contract, name: str, wire: Mapping[str, Any]) -> Question:
    asked, operator = Asked("call", contract.operator, wire), contract.operator
    return Question(f"{operator}::suggested::{name}", operator, "", "", (), (), "quick", contract.position, (asked,))


def _refused_later(
    contract: Contract, codebook: Codebook, accepted: Sequence[Native], known: Sequence[FrozenCall], page: Page
) -> Iterator[Suggestion]:
    """For every failure that no guard foresees and no case has, the first call that the reference refuses with it."""
    forms = codebook[contract.operator]
    missing = sorted(contract.later_codes - {call.code for call in known})
    if not missing:
        return
    places = _places(dict.fromkeys(forms.roots, "a"))
    wires = [{**forms.inputs.from_native(native), **places} for native in accepted]
    cases = freeze([_question(contract, str(k), wire) for k, wire in enumerate(wires)], codebook).cases
    for code in missing:
        part, needs = f"refusal {code}", next(one.requirements for one in contract.refuses if one.code == code)
        one = Wanted(part, "refused", f"the call fails with {code}", needs, lambda *_: False)
        for k, native in enumerate(accepted):
            case = cases.get(f"{contract.operator}::suggested::{k}")
            expected = case.calls[0].expected if case is not None else None
            if isinstance(expected, ExpectedFailure) and expected.code == code:
                yield Suggestion(native, (one,))
                break
        else:
            page.left.append(f"{one.what}: the reference refuses none of {len(accepted)} calls that no guard refuses")


class _Writer:
    """Writes groups in the style of the contract."""

    def __init__(self, contract: Contract, bases: Mapping[str, Mapping[str, Any]], page: Page) -> None:
        self.contract, self.bases, self.page = contract, bases, page
        self.names = {group.name for group in contract.groups}
        after = re.search(r"^vectors:\n( *)- ", contract.source.text, re.MULTILINE)
        self.indent = after[1] if after else ""

    def group(self, part: str, some: Sequence[tuple[Suggestion, Mapping[str, Any]]]) -> None:
        """One group of explicit cases."""
        name = self.named(f"suggested-{part.rpartition(' ')[2]}")
        kind, _, subject = part.rpartition(" ")
        why = {
            "guard": f"Both sides of the guard {subject}.",
            "edge case": f"The edge case {subject} and what lies beside it.",
            "refusal": f"A call that fails with {subject} although every guard is true.",
        }.get(kind, "A call that no guard refuses.")
        base = self.nearest([inputs for _, inputs in some])
        lines = self.head(name, why, some[0][0].shows[0].requirements, base)
        lines.append(f"{self.indent}  cases:")
        ids: set[str] = set()
        for one, inputs in some:
            id_ = next(word for word in _numbered(one.shows[0].name) if word not in ids)
            ids.add(id_)
            lines += [f"{self.indent}  # {shown.what}" for shown in one.shows]
            lines.append(f"{self.indent}  - id: {id_}")
            changed, gone = difference_from(self.bases.get(base, {}), inputs, self.contract.inputs)
            lines += yaml_lines("set", changed, f"{self.indent}    ") if changed else []
            lines += yaml_lines("unset", gone, f"{self.indent}    ") if gone else []
        self.page.lines += lines

    def whole_groups(self) -> None:
        """The groups that lint asks for as a whole: along an axis, and beside the limit of a size."""
        contract = self.contract
        needs = next((one.requirements for one in (*contract.ensures, *contract.requires) if one.requirements), ())
        base = next(iter(self.bases), "")
        walked = {group.body["axis"] for group in contract.groups if "axis" in group.body}
        for axis in sorted(axes_of(contract.inputs) - walked - contract.axes.keys()):
            self.page.lines += self.head(self.named(axis), _AXES[axis], needs, base)
            self.page.lines.append(f"{self.indent}  axis: {axis}")
        limited = {group.body.get("limit") for group in contract.groups}
        paths = {path for path, _ in walk(contract.inputs)}
        for guard in contract.requires:
            for limit in size_limits(guard.expression.text):
                subject = limit.subject.removeprefix("bytes(").removesuffix(")")
                if guard.id not in limited and subject in paths:
                    name = self.named(f"limit-{guard.id}")
                    why = f"The longest value that {guard.id} lets through, and one more."
                    self.page.lines += self.head(name, why, guard.requirements, base)
                    self.page.lines += [f"{self.indent}  limit: {guard.id}", f"{self.indent}  grow: {subject}"]

    def head(self, name: str, why: str, requirements: Sequence[str], base: str) -> list[str]:
        """The first lines of a group."""
        self.page.groups += [(one, name) for one in requirements]
        needs = requirements[0] if len(requirements) == 1 else f"[{', '.join(requirements)}]"
        lines = [f"- group: {name}", f"  why: {why}", f"  requirement: {needs}"]
        return [f"{self.indent}{line}" for line in [*lines, *([f"  base: {base}"] if base else [])]]

    def named(self, name: str) -> str:
        """A name that no group has."""
        free = next(word for word in _numbered(name) if word not in self.names)
        self.names.add(free)
        return free

    def nearest(self, some: Sequence[Mapping[str, Any]]) -> str:
        """The base from which least is to be set."""

        def distance(name: str) -> int:
            return sum(len(repr(difference_from(self.bases[name], one, self.contract.inputs))) for one in some)

        return min(self.bases, key=distance, default="")


_AXES: Final[Mapping[str, str]] = {
    "representation": "A carrier that narrows or rounds one value of a call is noticed at the values that it changes.",
    "size": "Texts, bytes and lists at the sizes that a narrow counter cannot count.",
}


def _numbered(name: str) -> Iterator[str]:
    yield name
    yield from (f"{name}-{k}" for k in range(2, 1000))


def shown(page: Page, operator: str) -> list[str]:
    """The page as comments and YAML; no line where nothing is missing."""
    lines: list[str] = []
    if page.lines:
        lines += [f"# Cases that {operator} lacks: paste them below `vectors:` of its contract.", *page.lines]
        lines.append("# In requirements.yaml, add to the checks of each row:")
        lines += [f"#   {row}: group:{operator}::{group}" for row, group in page.groups]
    lines += [f"# not found: {one}" for one in page.left]
    return lines

