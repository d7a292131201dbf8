"""One edit of the files of a root: a byte, a file, a link or a field of a declared format."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from fnmatch import fnmatchcase
from random import Random
from typing import Any, Final

from conformance.contract.family import FileFormat
from conformance.trial.bystanders import near_misses
from conformance.vectors.case import FileStep
from conformance.vectors.files.damage import RESHAPES
from conformance.vectors.files.filecodec import codec_for

Edit = tuple[FileStep, ...]  # a swap takes three steps
Sizes = Mapping[str, int]  # of the regular files of one root, by path
_SWAPPED: Final = ".swapped-by-the-harness"


def drawn_edit(random: Random, root: str, files: Sizes, fixed: Sizes, formats: Mapping[str, FileFormat]) -> Edit:
    """One edit of the files of a root, which must have files; only `fixed` ones are edited byte by byte."""
    found = [(name, place) for name, form in sorted(formats.items()) for place in places_of(form, files)]
    if found and random.random() < 0.4:
        name, place = random.choice(found)
        edit = random.choice(list(formats[name].edits))
        return (file_step("damage", root, path=place, format=name, edit=edit),)
    name = random.choice([one for one in _EDITS if fixed or one not in _BYTEWISE])
    return _EDITS[name](random, root, fixed if name in _BYTEWISE else files)


def reshapes(root: str, files: Sizes, formats: Mapping[str, FileFormat]) -> Iterator[Edit]:
    """The edits that leave an array as large as it was: its axes swapped, merged, split, one more; elements of another
    type that are as wide. They are tried at every declared list, and beside it."""
    for name, form in sorted(formats.items()):
        lists = {at.rpartition(".")[0] for at in form.fields if at.endswith(".0")}
        beside = {at.rpartition(".")[0] for at in lists}
        for path in sorted((path for path in places_of(form, files) if path in files), key=lambda one: -files[one])[:1]:
            tried = [f"{at} {kind}" for at in sorted(lists & form.fields.keys()) for kind in RESHAPES]
            tried += [f"{at} retyped" for at in form.fields if at.rpartition(".")[0] in beside and at not in lists]
            yield from ((file_step("damage", root, path=path, format=name, edit=edit),) for edit in tried)


def places_of(form: FileFormat, files: Sizes) -> list[str]:
    """The places of a format among files: the folders that hold its anchor, or, where it is a single file, each file
    whose name fits the anchor."""
    if len(form.files) == 1 and form.anchor:
        return sorted(path for path in files if form.anchor == "." or fnmatchcase(path.rpartition("/")[2], form.anchor))
    if not form.anchor:
        return []
    endings = (path for path in sorted(files) if f"/{path}".endswith(f"/{form.anchor}"))
    return [path[: -len(form.anchor)].rstrip("/") or "." for path in endings]


_FIXED: Final = "(bytes that no backend chooses)"


def file_is_exposed(edits: Iterable[Edit], free: Iterable[str], decode: Mapping[str, str]) -> bool:
    """Whether a file whose bytes a backend may choose gets a name under which its bytes would be compared.

    That is a name without a codec, or a name whose codec is not that of the file.
    """
    made = {path: codec_for(path, decode) for path in free}
    for step in (step for edit in edits for step in edit):
        if step.action == "rename":
            source, target = step.body["from"], step.body["to"]
            moved = made.pop(source, _FIXED)
            made.pop(target, None)
            made |= {} if moved is _FIXED else {target: moved}
        elif step.action == "link" and not step.body["symbolic"] and step.body["target"] in made:
            made[step.subject] = made[step.body["target"]]
    return any(of_file is None or codec_for(path, decode) != of_file for path, of_file in made.items())


def _flip(random: Random, root: str, files: Sizes) -> Edit:
    path = random.choice(sorted(files))
    if not files[path]:
        return (file_step("put", root, path=path, bytes="00"),)
    offset = random.choice((0, -1, random.randrange(files[path])))
    return (file_step("flip", root, path=path, offset=offset, mask=1 << random.randrange(8)),)


def _truncate(random: Random, root: str, files: Sizes) -> Edit:
    path = random.choice(sorted(files))
    size = random.choice((0, files[path] // 2, max(0, files[path] - 1)))
    return (file_step("truncate", root, path=path, size=size),)


def _delete(random: Random, root: str, files: Sizes) -> Edit:
    path = random.choice(sorted(files))
    folder = path.rpartition("/")[0]
    return (file_step("delete", root, path=folder if folder and random.random() < 0.2 else path),)


def _rename(random: Random, root: str, files: Sizes) -> Edit:
    path = random.choice(sorted(files))
    target = random.choice((random.choice(list(near_misses(path))), random.choice(sorted(files))))
    return (file_step("rename", root, **{"from": path, "to": target}),)


def _swap(random: Random, root: str, files: Sizes) -> Edit:
    one, other = random.choice(sorted(files)), random.choice(sorted(files))
    if one == other:
        return _delete(random, root, files)
    pairs = ((one, _SWAPPED), (other, one), (_SWAPPED, other))
    return tuple(file_step("rename", root, **{"from": source, "to": target}) for source, target in pairs)


def _link(random: Random, root: str, files: Sizes) -> Edit:
    """A file replaced by a link to its own content, or a link beside it."""
    path = random.choice(sorted(files))
    symbolic = random.random() < 0.7
    if random.random() < 0.5:
        beside = random.choice(list(near_misses(path)))
        return (file_step("link", root, path=beside, target=path, symbolic=symbolic),)
    moved = f"{path}.moved"
    return (
        file_step("rename", root, **{"from": path, "to": moved}),
        file_step("link", root, path=path, target=moved, symbolic=symbolic),
    )


def _extra(random: Random, root: str, files: Sizes) -> Edit:
    path = random.choice(list(near_misses(random.choice(sorted(files)))))
    return (file_step("put", root, path=path, bytes=random.choice(("", "00", "a0", "80", random.randbytes(9).hex()))),)


def file_step(action: str, root: str, **body: Any) -> FileStep:
    """One step on the files of a root."""
    return FileStep(action, {"root": root, **body})


_EDITS: Final[Mapping[str, Callable[[Random, str, Sizes], Edit]]] = {
    "flip": _flip,
    "truncate": _truncate,
    "delete": _delete,
    "rename": _rename,
    "swap": _swap,
    "link": _link,
    "extra": _extra,
}
_BYTEWISE: Final = ("flip", "truncate")
