"""Turns the file steps of a trace from the contract's form into wire form; checks their paths and codecs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any, Final

from conformance.codec.scalar import IllTyped
from conformance.contract.types import FIXED_BYTES, Scalar, Struct, Tensor, Value, members_of
from conformance.vectors.case import FileStep, QuestionCall, TreeStep
from conformance.vectors.conversation.exchange import ANSWERED
from conformance.vectors.draft import ROOT_NAME, YamlPlace, inside, to_wire
from conformance.vectors.files.file_steps import ACTIONS, codec_of
from conformance.vectors.files.filecodec import Unencodable, codec_for, encode_file
from conformance.vectors.files.temp_roots import fault_of
from conformance.vectors.questions.group import Expansion

FILE_STEPS: Final = (*ACTIONS, "tree")
# A value of these codecs is written in the same form for a put as for a look at the file.
_AS_PUT: Final = frozenset({"npz", "pt", "pickle2", "cbor"})
_IN_PATHS: Final = frozenset({"string", "bytes", *FIXED_BYTES, "uint8", "uint16", "uint32", "uint64"})


def action_of(body: Mapping[str, Any]) -> str:
    """The action of a file step's body; empty for a call or a restart."""
    return next((action for action in FILE_STEPS if action in body), "")


def roots_of(expansion: Expansion, calls: Mapping[str, QuestionCall]) -> tuple[str, ...]:
    """The names of the roots that the calls of a trace are given, in the order of the calls."""
    found: dict[str, None] = {}
    for asked in calls.values():
        for member in members_of(expansion.codebook[asked.operator].contract.inputs, "root"):
            if isinstance(name := asked.inputs.get(member), Mapping):
                found[name["root"]] = None
    return tuple(found)


@dataclass(frozen=True, slots=True)
class FileDraft:
    """One file step under construction; `roots` are those of the whole trace, `earlier` the calls before the step."""

    expansion: Expansion
    place: YamlPlace
    roots: tuple[str, ...]
    earlier: Mapping[str, QuestionCall]

    def step(self, body: Mapping[str, Any]) -> FileStep | TreeStep:
        """The step that `body` describes; raises Unusable."""
        action = action_of(body)
        own: Mapping[str, Any] = body[action]
        here = FileDraft(self.expansion, self.place / action, self.roots, self.earlier)
        root = here.root(own, "root") if "root" in own else here.only_root()
        if action == "tree":
            decode = own.get("decode", {})
            pinned = here.pinned(own["pin"], decode) if "pin" in own else None
            return TreeStep(root, here.path_or_top(own), decode, pinned)
        return FileStep(action, {"root": root, **here.step_body(action, own)})

    def pinned(self, tree: Mapping[str, Any], decode: Mapping[str, str]) -> dict[str, Any]:
        """The entries of a pinned tree, in wire form; a decoded content may be written as in a `put`."""
        entries = {}
        for path, entry in tree.items():
            codec = codec_for(path, decode)
            if codec in _AS_PUT and isinstance(entry, Mapping) and entry.keys() == {"decoded"}:
                try:
                    entry = {"decoded": _content(codec, entry["decoded"])}
                except IllTyped as error:
                    here = self.place / "pin" / path
                    raise here.problem("C009", f"ill-typed content: {error}", "see docs/language.md") from None
            entries[path] = entry
        return entries

    def only_root(self) -> str:
        """The root of a trace that has only one."""
        if len(self.roots) != 1:
            known = ", ".join(self.roots) or "none"
            raise self.place.problem("C015", "the step does not say in which root", f"roots of the trace: {known}")
        return self.roots[0]

    def root(self, body: Mapping[str, Any], key: str) -> str:
        """The name of a root."""
        name = body[key]
        if not isinstance(name, str) or not ROOT_NAME.match(name):
            hint = "lower-case words joined by -"
            raise (self.place / key).problem("C015", f"{name!r:.80} is no name of a root", hint)
        return name

    def path(self, body: Mapping[str, Any], key: str) -> str:
        """A path below the root; `{step.output}` in it represents the answer of an earlier step."""
        path = body[key]
        if not isinstance(path, str):
            raise (self.place / key).problem("C015", f"{path!r:.80} is no path", "put it in quotes")
        if fault := fault_of(ANSWERED.sub("answered", path)):
            hint = "a path is relative to the root and cannot leave it"
            raise (self.place / key).problem("C015", f"{path!r}: {fault}", hint)
        for match in ANSWERED.finditer(path):
            self._answered(match[1], match[2], self.place / key)
        return path

    def path_or_top(self, body: Mapping[str, Any]) -> str:
        """The `path` of a step that may be about the root itself."""
        return "." if body.get("path", ".") == "." else self.path(body, "path")

    def _answered(self, step: str, output: str, place: YamlPlace) -> None:
        if step not in self.earlier:
            known = ", ".join(self.earlier) or "none"
            raise place.problem("C010", f"{step!r} is no earlier step", f"steps so far: {known}")
        outputs = self.expansion.codebook[self.earlier[step].operator].contract.outputs
        type_ = place.typed(outputs, output, f"{step} has no output {output!r}", "C010")
        if not isinstance(type_, Scalar) or type_.name not in _IN_PATHS or is_volatile(outputs, output):
            hint = "use text, bytes or a number that is the same in every run"
            raise place.problem("C010", f"{output} is {type_}, which is no part of a path", hint)

    def number(self, body: Mapping[str, Any], key: str, low: int | None = None, high: int | None = None) -> int:
        """A whole number within bounds."""
        number = body[key]
        wrong = type(number) is not int or (low is not None and number < low) or (high is not None and number > high)
        if wrong:
            bounds = f" from {low} to {high}" if low is not None else ""
            raise (self.place / key).problem("C015", f"{key} is {number!r:.80}", f"write a whole number{bounds}")
        return int(number)

    def step_body(self, action: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """The body of a file step, but for its root."""
        match action:
            case "put":
                return {"path": self.path(body, "path"), codec_of(body): self.content(body)}
            case "flip":
                mask = self.number(body, "mask", 1, 255) if "mask" in body else 1
                return {"path": self.path(body, "path"), "offset": self.number(body, "offset"), "mask": mask}
            case "truncate":
                return {"path": self.path(body, "path"), "size": self.number(body, "size")}
            case "rename":
                later = {"after_ms": body["after_ms"]} if "after_ms" in body else {}
                return {"from": self.path(body, "from"), "to": self.path(body, "to"), **later}
            case "link":
                symbolic = body.get("symbolic", False)
                link = {"path": self.path(body, "path"), "target": self.path(body, "target"), "symbolic": symbolic}
                return {**link, "target_root": self.root(body, "target_root")} if "target_root" in body else link
            case "damage":
                name, edit = body["format"], body["edit"]
                refuse_unknown_damage(self.expansion, name, edit, self.place)
                return {"path": self.path_or_top(body), "format": name, "edit": edit}
        return {"path": self.path(body, "path")}

    def content(self, body: Mapping[str, Any]) -> Any:
        """The content that a `put` writes, in wire form."""
        codec = codec_of(body)
        try:
            value = _content(codec, body[codec])
            encode_file(codec, value)
        except IllTyped as error:
            raise (self.place / codec).problem("C009", f"ill-typed content: {error}", "see docs/language.md") from None
        except Unencodable as error:
            raise (self.place / codec).problem("C009", str(error), "see docs/language.md") from None
        return value


def refuse_unknown_damage(expansion: Expansion, name: str, edit: str, place: YamlPlace) -> None:
    """Refuse a format that is not declared, and an edit that the format does not declare."""
    form = expansion.codebook.formats.get(name)
    if form is None:
        known = ", ".join(sorted(expansion.codebook.formats)) or "none"
        raise (place / "format").problem("C015", f"there is no format {name!r}", f"formats: {known}")
    if edit not in form.edits:
        hint = f"write one that the format declares, for example {next(form.edits)!r}"
        raise (place / "edit").problem("C015", f"{edit!r} is no damage of the format {name}", hint)


def refuse_unstable(steps: Sequence[object], place: YamlPlace) -> None:
    """Refuse a tree that would freeze the bytes of a database, which depend on the version of SQLite."""
    databases: dict[str, set[str]] = {}
    for k, step in enumerate(steps):
        if isinstance(step, FileStep):
            written = databases.setdefault(step.body["root"], set())
            written -= {step.subject} if step.action in ("put", "delete") else set()
            written |= {step.subject} if "sqlite" in step.body else set()
        elif isinstance(step, TreeStep):
            for path in sorted(databases.get(step.root, ())):
                inner = path if step.path == "." else path.removeprefix(f"{step.path}/")
                seen = step.path in (".", path) or inner != path
                inner = "." if step.path == path else inner
                if seen and not any(fnmatchcase(inner, pattern) for pattern in step.decode):
                    hint = f"decode it: {{tree: {{decode: {{{inner!r}: sqlite}}}}}}"
                    message = f"the bytes of the database {path!r} differ from SQLite to SQLite"
                    raise (place / k).problem("C015", message, hint)


def is_volatile(struct: Struct, path: str) -> bool:
    """Whether there is a volatile member on a dotted path of outputs."""
    type_: Any = struct
    for step in path.split("."):
        if not isinstance(type_, Struct):
            return False
        member = type_.field(step)
        if member.volatile:
            return True
        type_ = member.type
    return False


def _content(codec: str, value: Any) -> Any:
    """The content that a `put` writes, in wire form; raises IllTyped."""
    if codec in ("cbor", "pickle2"):
        return to_wire(Value(), value)
    if codec in ("bytes", "text"):
        return to_wire(Scalar("string" if codec == "text" else "bytes"), value)
    if type(value) is not list:
        raise IllTyped("a list", value)
    if codec == "sqlite":
        return [inside(k, Scalar("string"), statement) for k, statement in enumerate(value)]
    if codec == "pt":
        return [_entry(k, entry) for k, entry in enumerate(value)]
    return [_named(k, member, _MEMBER) for k, member in enumerate(value)]


_MEMBER: Final[Mapping[str, Any]] = {"tensor": Tensor(), "text": Scalar("string"), "bytes": Scalar("bytes")}


def _entry(index: int, entry: Any) -> dict[str, Any]:
    if isinstance(entry, dict) and set(entry) == {"name", "tensors"} and type(entry["tensors"]) is list:
        tensors = [_named(k, one, {"tensor": Tensor()}) for k, one in enumerate(entry["tensors"])]
        return {"name": inside(index, Scalar("string"), entry["name"]), "tensors": tensors}
    return _named(index, entry, {"tensor": Tensor(), "value": Value()})


def _named(index: int, member: Any, types: Mapping[str, Any]) -> dict[str, Any]:
    keys = set(member) if isinstance(member, dict) else set()
    if "name" not in keys or len(keys) != 2 or not keys - {"name"} <= types.keys():
        raise IllTyped(f"{{name, {' | '.join(types)}}}", member, (index,))
    (kind,) = keys - {"name"}
    return {"name": inside(index, Scalar("string"), member["name"]), kind: inside(index, types[kind], member[kind])}
