"""`tally vectors suggest`: the cases that an operator lacks, as text to paste into its contract."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Final

from conformance.cli.case_text import difference_from, natural_inputs, yaml_lines
from conformance.codec.codebook import Codebook, OperatorForms
from conformance.codec.form import form_of
from conformance.contract.cel.syntax import size_limits
from conformance.contract.library import Library
from conformance.contract.model import Contract, Group
from conformance.contract.types import ListOf, Type, walk
from conformance.contract.yaml.source import MalformedContract
from conformance.contract.yaml.steps import kebab
from conformance.lint.call import FrozenCall
from conformance.trial.fuzz.program import Program, natural, steps_of, trace_lines
from conformance.trial.generator import Native
from conformance.trial.missing_calls import MissingCall
from conformance.trial.suggestion import Suggestion, machine_suggestions, suggestions
from conformance.vectors.case import Case, ExpectedFailure, HarnessStep, Question, QuestionCall
from conformance.vectors.draft import Draft, Unusable, YamlPlace
from conformance.vectors.frozen.freeze import freeze
from conformance.vectors.notable import axes_of
from conformance.vectors.place import empty_value
from conformance.vectors.questions.expand import expand
from conformance.vectors.questions.filedraft import roots_of
from conformance.vectors.questions.group import Expansion
from conformance.vectors.questions.machine_trace import given_steps

BASE: Final = "plain"  # the suggested base if the contract has none
_UNCONFIRMED: Final = "V003"  # whether anything confirms the value is the suite's affair
_NO_CASE: Final = Case("a question", "", "", "", (), (), "quick", ())


@dataclass(slots=True)
class Page:
    """The printed text: the lines to paste, and sentences on the cases that were not found."""

    lines: list[str] = field(default_factory=list)
    groups: list[tuple[str, str]] = field(default_factory=list)  # requirement, group
    left: list[str] = field(default_factory=list)


def page_of(contract: Contract, library: Library, codebook: Codebook, frozen: Sequence[FrozenCall]) -> Page:
    """The cases that an operator lacks; `frozen` are its calls in the vectors of all operators.

    Raises MalformedContract, BackendNotFound or BadHello.
    """
    if contract.machine is not None:
        return _machine_page(contract, library, codebook, frozen)
    forms = codebook[contract.operator]
    questions = expand(contract, codebook)
    ids = {question.id for question in questions}
    frozen = [call for call in frozen if call.case.operator != contract.operator or call.case.id in ids]
    known = [*_calls(forms, [call for question in questions for call in question.calls]), *frozen]
    bases = {name: wire for name in contract.bases for wire in [_base(contract, name)] if wire is not None}
    starts = [_native(forms, wire) for wire in bases.values()]
    found, missing, accepted = suggestions(forms, known, starts)
    page = Page()
    found = (*found, *_refused_later(contract, codebook, accepted, frozen, page))
    wires = {k: {**forms.inputs.from_native(one.native), **_places(forms)} for k, one in enumerate(found)}
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
    writer.whole_groups(partial(_refused_along, replace(contract, bases=contract.bases or plain), codebook))
    return page


def _refused_along(contract: Contract, codebook: Codebook, axis: str, base: str) -> tuple[int, int]:
    """Of the cases of a group along an axis: how many have refused calls alone, and how many there are.

    A backend that refuses everything passes the former.
    """
    body = {"axis": axis, **({"base": base} if base in contract.bases else {})}
    group = Group(axis, "", (), (), "quick", body, None, (), contract.position)
    try:
        questions = expand(replace(contract, groups=(group,)), codebook)
    except MalformedContract:
        return 0, 0
    cases = freeze(questions, codebook).cases.values()
    refused = sum(all(isinstance(call.expected, ExpectedFailure) for call in case.calls) for case in cases)
    return refused, len(cases)


def _machine_page(contract: Contract, library: Library, codebook: Codebook, frozen: Sequence[FrozenCall]) -> Page:
    """The traces that a machine or one of its operations lacks, one group each."""
    assert contract.machine is not None
    whole = library.contracts[contract.machine.name]
    wanted = [contract.operator] if contract.method is not None else list(contract.machine.methods)
    ids = {question.id for question in expand(whole, codebook)}
    cases = tuple({call.case.id: call.case for call in frozen if call.case.id in ids}.values())
    calls = [call for call in frozen if call.case.operator != whole.operator or call.case.id in ids]
    known = {name: [call for call in calls if call.operator == name] for name in wanted}
    found, missing = machine_suggestions(whole, codebook, cases, known)
    page = Page()
    writer = _Writer(whole, {}, page)
    steps = [trace_of(one.program, whole, codebook) for one in found]
    asked = [_question(whole, str(k), *some) for k, some in enumerate(steps)]
    for one, some, said in zip(found, steps, _freeze_problems(asked, codebook), strict=True):
        short = one.operator.removeprefix(f"{whole.operator}.")
        if said:
            page.left.append(f"{short}: {one.shows[0].what}: {said}")
        else:
            writer.trace(short, one.shows, trace_lines(some, codebook, whole))
    page.left += [f"{name}: {one.what}: {_UNSEEN}" for name, one in missing]
    walked = {group.body["axis"] for group in whole.groups if "axis" in group.body}
    inputs = [codebook[name].contract.inputs for name in contract.machine.methods]
    lacking = sorted(axes_of(*inputs) - walked - whole.axes.keys()) if contract.method is None else ()
    page.left += [f"a group along the axis {axis}: say which trace of yours it varies, see Axes" for axis in lacking]
    return page


_UNSEEN: Final = "no drawn sequence has such a call; it may need another example, or be implied by an earlier guard"


def trace_of(program: Program, whole: Contract, codebook: Codebook) -> tuple[QuestionCall | HarnessStep, ...]:
    """The calls of a program, after the file steps that its machine needs."""
    calls = steps_of(program, codebook)
    expansion = Expansion(whole, whole.groups[0], codebook)
    return (*given_steps(expansion, roots_of(expansion, {call.name: call for call in calls})), *calls)


def _calls(forms: OperatorForms, asked: Sequence[QuestionCall]) -> Iterator[FrozenCall]:
    """The calls of an operator whose inputs are plain values, neither generated nor taken from other answers."""
    for step in asked:
        if step.operator == forms.contract.operator and not re.search(r"'(from|generated)':", repr(step.inputs)):
            yield FrozenCall(_NO_CASE, step.name, step.operator, _native(forms, step.inputs))


def _native(forms: OperatorForms, wire: Mapping[str, Any]) -> Any:
    texts = {name: "/".join(wire[name].values()) for name in forms.roots if isinstance(wire.get(name), Mapping)}
    return forms.inputs.to_native(forms.inputs.check({**wire, **texts}))


def _places(forms: OperatorForms) -> dict[str, Any]:
    return {name: {"root": "a"} for name in forms.roots}


def _base(contract: Contract, name: str) -> Mapping[str, Any] | None:
    """The complete inputs of a base; None if they are complete only with the values that its groups set."""
    draft, place = Draft(contract), YamlPlace(contract.source, ("bases", name))
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
    questions = [_question(contract, str(k), _call(contract, wires[k])) for k in range(len(found))]
    for k, (one, said) in enumerate(zip(found, _freeze_problems(questions, codebook), strict=True)):
        if said:
            page.left.append(f"{one.shows[0].what}: {said}")
        else:
            yield k, one


def _freeze_problems(questions: Sequence[Question], codebook: Codebook) -> Iterator[str]:
    """For each question, why a build would not freeze it; empty if it would."""
    problems = freeze(questions, codebook).problems if questions else ()
    for id_ in [question.id for question in questions]:
        about = [one for one in problems if one.code != _UNCONFIRMED and re.match(rf"{id_}[:,]", one.message)]
        yield about[0].message.removeprefix(id_).lstrip(":, ") if about else ""


def _question(contract: Contract, name: str, *steps: QuestionCall | HarnessStep) -> Question:
    operator = contract.operator
    return Question(f"{operator}::suggested::{name}", operator, "", "", (), (), "quick", contract.position, steps)


def _call(contract: Contract, wire: Mapping[str, Any]) -> QuestionCall:
    return QuestionCall("call", contract.operator, wire)


def _refused_later(
    contract: Contract, codebook: Codebook, accepted: Sequence[Native], known: Sequence[FrozenCall], page: Page
) -> Iterator[Suggestion]:
    """For every failure code without a guard and without a case, the first call that the reference refuses with it."""
    forms = codebook[contract.operator]
    missing = sorted(contract.later_codes - {call.code for call in known})
    if not missing:
        return
    wires = [{**forms.inputs.from_native(native), **_places(forms)} for native in accepted]
    cases = freeze([_question(contract, str(k), _call(contract, wire)) for k, wire in enumerate(wires)], codebook).cases
    for code in missing:
        part, needs = f"refusal {code}", next(one.requirements for one in contract.refuses if one.code == code)
        one = MissingCall(part, "refused", f"the call fails with {code}", needs, lambda *_: False)
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

    def trace(self, operation: str, shows: Sequence[MissingCall], lines: Sequence[str]) -> None:
        part = shows[0].part.rpartition(" ")[2]
        name = self.named(f"suggested-{kebab(operation)}-{part}-{shows[0].name}")
        why = f"{operation}: {'; '.join(one.what for one in shows)}."
        needs = tuple(dict.fromkeys(one for shown in shows for one in shown.requirements))
        self.page.lines += self.head(name, json.dumps(why, ensure_ascii=False), needs, "")
        self.page.lines += [f"{self.indent}  trace:", *(f"{self.indent}  {line}" for line in lines)]

    def whole_groups(self, refused_along: Callable[[str, str], tuple[int, int]]) -> None:
        """The groups that lint requires as a whole: along an axis, and next to the limit of a size.

        If all cases along an axis are refused (`refused_along` counts them), they become one: they raise the floor.
        """
        contract = self.contract
        named = [*(one.requirements for one in contract.ensures), *(one.requirements for one in contract.requires)]
        named += [one.requirements for one in contract.refuses]
        needs = next(filter(None, named), ())
        base = next(iter(self.bases), "")
        walked = {group.body["axis"] for group in contract.groups if "axis" in group.body}
        for axis in sorted(axes_of(contract.inputs) - walked - contract.axes.keys()):
            self.along(axis, base, needs, *refused_along(axis, base))
        limited = {group.body.get("limit") for group in contract.groups}
        paths = dict(reversed([*walk(contract.inputs)]))
        for guard in contract.requires:
            for limit in size_limits(guard.expression.text):
                subject = limit.subject.removeprefix("bytes(").removesuffix(")")
                if guard.id not in limited and subject in paths:
                    name = self.named(f"limit-{guard.id}")
                    why = f"The longest value that {guard.id} lets through, and one more."
                    self.page.lines += self.head(name, why, guard.requirements, base)
                    self.page.lines += [f"{self.indent}  limit: {guard.id}", f"{self.indent}  grow: {subject}"]
                    self.page.lines += self.one_item(subject, paths[subject], base)

    def along(self, axis: str, base: str, needs: Sequence[str], refused: int, cases: int) -> None:
        """One group along an axis; many cases of refusals alone become one."""
        name = self.named(axis)
        self.page.lines += [*self.head(name, _AXES[axis], needs, base), f"{self.indent}  axis: {axis}"]
        if 1 < refused == cases:
            self.page.lines.append(f"{self.indent}  packed: true")
            refused = cases = 1
        if refused:
            passes = f"A backend that refuses everything passes {refused} of {cases} cases here"
            self.page.lines.append(f"{self.indent}  # {passes}: put cases that answer beside them.")

    def one_item(self, path: str, type_: Type, base: str) -> list[str]:
        """Lines that set one item in the list at a path if the base has none, so that it can be repeated."""
        value: Any = self.bases.get(base, {})
        for step in path.split("."):
            value = value.get(step) if isinstance(value, Mapping) else None
        if value or not isinstance(type_, ListOf):
            return []
        item = natural(type_.item, form_of(type_.item).from_native(empty_value(type_.item)))
        return yaml_lines("set", {path: [item]}, f"{self.indent}  ")

    def head(self, name: str, why: str, requirements: Sequence[str], base: str) -> list[str]:
        self.page.groups += [(one, name) for one in requirements]
        needs = requirements[0] if len(requirements) == 1 else f"[{', '.join(requirements)}]"
        lines = [f"- group: {name}", f"  why: {why}", f"  requirement: {needs}"]
        return [f"{self.indent}{line}" for line in [*lines, *([f"  base: {base}"] if base else [])]]

    def named(self, name: str) -> str:
        free = next(word for word in _numbered(name) if word not in self.names)
        self.names.add(free)
        return free

    def nearest(self, some: Sequence[Mapping[str, Any]]) -> str:

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


def page_lines(page: Page, operator: str) -> list[str]:
    """The page as comments and YAML; no line if nothing is missing."""
    lines: list[str] = []
    if page.lines:
        lines += [f"# Cases that {operator} lacks: paste them below `vectors:` of its contract.", *page.lines]
        lines.append("# In requirements.yaml, add to the checks of each row:")
        lines += [f"#   {row}: group:{operator}::{group}" for row, group in page.groups]
    lines += [f"# not found: {one}" for one in page.left]
    return lines

